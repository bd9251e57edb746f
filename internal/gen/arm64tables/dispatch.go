package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/xol-go/xol/internal/gen/bitrows"
)

// dispatch is how a word finds its row: a window of the word selects a node, which
// is a row, where the bits so far decide, a chain of rows, of which the first that
// matches holds, or where the chain would be long another window.
type dispatch struct {
	nodes  []node
	leaves []int // numbers of nodes
	chains []bitrows.Chain
}

// node is a window of a word that selects one of the leaves from base on; if it has
// no width, a row that is decided, or a chain.
type node struct {
	shift, width, base int
	decided            bool
	row, chain         int
}

// windows are looked at one after the other: the bits that the encoding index
// goes by, then those of system instructions.
var windows = []struct{ shift, width int }{{21, 11}, {12, 9}, {5, 7}}

// longChain is how many rows are compared before another window pays.
const longChain = 6

func build(rows []*bitrows.Row) (emit func(*bytes.Buffer), err error) {
	d := &dispatch{}
	reached := bitrows.Reached{}
	b := builder{d: d, chains: map[string]int{}, nodes: map[string]int{}}
	b.node(rows, 0, 0, 0, reached)
	if err := reached.All(rows); err != nil {
		return nil, err
	}
	n := 0
	for i := range d.chains {
		d.chains[i].Start = n
		n += len(d.chains[i].Rows) + 1
	}
	if len(d.leaves) > 1<<16 || n > 1<<14 || len(d.nodes) > 1<<14 || len(rows) >= 1<<14 {
		return nil, fmt.Errorf("%d leaves, %d candidates, %d nodes", len(d.leaves), n, len(d.nodes))
	}
	return d.emit, nil
}

type builder struct {
	d             *dispatch
	chains, nodes map[string]int
}

// node makes the node for words with these bits and returns its number. The root
// is number 0 and always a window.
func (b *builder) node(rows []*bitrows.Row, mask, value uint64, depth int, reached bitrows.Reached) int {
	list := bitrows.Matching(rows, mask, value)
	decided := len(list) == 0 || list[0].Mask&^mask == 0
	k := bitrows.Key(list)
	if decided {
		k = "decided " + k
	}
	if n, ok := b.nodes[k]; ok && depth > 0 {
		return n
	}
	i := len(b.d.nodes)
	b.d.nodes = append(b.d.nodes, node{})
	if depth > 0 && (decided || len(list) <= longChain) || depth == len(windows) {
		reached.Add(list)
		n := &b.d.nodes[i]
		switch {
		case !decided:
			n.chain = bitrows.Intern(&b.d.chains, b.chains, list)
		case len(list) > 0:
			n.row = list[0].ID
		}
		n.decided = decided
		b.nodes[k] = i
		return i
	}
	w := windows[depth]
	n := node{shift: w.shift, width: w.width, base: len(b.d.leaves)}
	b.d.leaves = append(b.d.leaves, make([]int, 1<<w.width)...)
	for v := range uint64(1) << w.width {
		leaf := b.node(list, mask|(1<<w.width-1)<<w.shift, value|v<<w.shift, depth+1, reached)
		b.d.leaves[n.base+int(v)] = leaf
	}
	b.d.nodes[i] = n
	return i
}

// emit writes leaves of the three kinds: a number of a row, of a candidate, or of a
// node that looks at another window.
func (d *dispatch) emit(b *bytes.Buffer) {
	number := map[int]int{} // of nodes that are windows
	var inner []int
	for i, n := range d.nodes {
		if n.width > 0 {
			number[i] = len(inner)
			inner = append(inner, i)
		}
	}
	b.WriteString("// nodes are windows of a word, the root first.\nvar nodes = [...]node{\n")
	for _, i := range inner {
		n := d.nodes[i]
		fmt.Fprintf(b, "\t{%d, %d, %#x},\n", n.base, n.shift, 1<<n.width-1)
	}
	b.WriteString("}\n\n// leaves are places in candidates, or with leafNode numbers of nodes.\nvar leaves = [...]uint16{\n")
	var list []string
	for _, i := range d.leaves {
		n := d.nodes[i]
		switch {
		case n.width > 0:
			list = append(list, fmt.Sprintf("leafNode|%d", number[i]))
		case n.decided:
			list = append(list, fmt.Sprint(n.row))
		default:
			list = append(list, strings.TrimSuffix(fmt.Sprintf("leafChain|%d", d.chains[n.chain].Start), "|0"))
		}
	}
	bitrows.Wrap(b, list, 24)
	b.WriteString("}\n\n// candidates: chains of rows, each ended by one that matches all and has no row.\nvar candidates = [...]candidate{\n")
	for _, c := range d.chains {
		c.Write(b)
	}
	b.WriteString("}\n")
}
