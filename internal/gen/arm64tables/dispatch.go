package main

import "fmt"

// dispatch is how a word finds its row: a window of the word selects a node, which
// is a row, where the bits so far decide, a chain of rows, of which the first that
// matches holds, or where the chain would be long another window.
type dispatch struct {
	nodes  []node
	leaves []int // numbers of nodes
	chains []chain
}

// node is a window of a word that selects one of the leaves from base on; if it has
// no width, a row that is decided, or a chain.
type node struct {
	shift, width, base int
	decided            bool
	row, chain         int
}

// chain is a list of rows; start is its first place among the candidates.
type chain struct {
	rows  []*row
	start int
}

// windows are looked at one after the other: the bits that the encoding index
// goes by, then those of system instructions.
var windows = []struct{ shift, width int }{{21, 11}, {12, 9}, {5, 7}}

// longChain is how many rows are compared before another window pays.
const longChain = 6

func build(rows []*row) (*dispatch, error) {
	d := &dispatch{}
	reached := map[*row]bool{}
	b := builder{d: d, chains: map[string]int{}, nodes: map[string]int{}}
	b.node(rows, 0, 0, 0, reached)
	for _, r := range rows {
		if !reached[r] {
			return nil, r.errorf("no encoding reaches this row")
		}
	}
	n := 0
	for i := range d.chains {
		d.chains[i].start = n
		n += len(d.chains[i].rows) + 1
	}
	if len(d.leaves) > 1<<16 || n > 1<<14 || len(d.nodes) > 1<<14 || len(rows) >= 1<<14 {
		return nil, fmt.Errorf("%d leaves, %d candidates, %d nodes", len(d.leaves), n, len(d.nodes))
	}
	return d, nil
}

type builder struct {
	d             *dispatch
	chains, nodes map[string]int
}

// node makes the node for words with these bits and returns its number. The root
// is number 0 and always a window.
func (b *builder) node(rows []*row, mask, value uint32, depth int, reached map[*row]bool) int {
	list := matching(rows, mask, value)
	decided := len(list) == 0 || list[0].mask&^mask == 0
	k := key(list)
	if decided {
		k = "decided " + k
	}
	if n, ok := b.nodes[k]; ok && depth > 0 {
		return n
	}
	i := len(b.d.nodes)
	b.d.nodes = append(b.d.nodes, node{})
	if depth > 0 && (decided || len(list) <= longChain) || depth == len(windows) {
		for _, r := range list {
			reached[r] = true
		}
		n := &b.d.nodes[i]
		switch {
		case !decided:
			n.chain = b.chain(list)
		case len(list) > 0:
			n.row = list[0].id
		}
		n.decided = decided
		b.nodes[k] = i
		return i
	}
	w := windows[depth]
	n := node{shift: w.shift, width: w.width, base: len(b.d.leaves)}
	b.d.leaves = append(b.d.leaves, make([]int, 1<<w.width)...)
	for v := range uint32(1) << w.width {
		leaf := b.node(list, mask|(1<<w.width-1)<<w.shift, value|v<<w.shift, depth+1, reached)
		b.d.leaves[n.base+int(v)] = leaf
	}
	b.d.nodes[i] = n
	return i
}

func (b *builder) chain(list []*row) int {
	k := key(list)
	if i, ok := b.chains[k]; ok {
		return i
	}
	i := len(b.d.chains)
	b.d.chains = append(b.d.chains, chain{rows: list})
	b.chains[k] = i
	return i
}

// matching lists the rows that a word with these bits can match, up to the first
// that it must match.
func matching(rows []*row, mask, value uint32) (list []*row) {
	for _, r := range rows {
		if (r.value^value)&(r.mask&mask) != 0 || covered(r, list) {
			continue
		}
		list = append(list, r)
		if r.mask&^mask == 0 {
			break
		}
	}
	return list
}

// covered reports whether one of the rows before takes all that r has.
func covered(r *row, list []*row) bool {
	for _, b := range list {
		if b.mask&^r.mask == 0 && (b.value^r.value)&b.mask == 0 {
			return true
		}
	}
	return false
}

func key(rows []*row) string {
	s := ""
	for _, r := range rows {
		s += fmt.Sprintf("%s:%d ", r.file, r.line)
	}
	return s
}
