package main

import (
	"bytes"
	"fmt"

	"github.com/xol-go/xol/internal/gen/bitrows"
)

// dispatch is how a word finds its row: the primary opcode says which bits of the
// word select a chain, a list of rows of which the first that matches holds. Two
// words select by the type in the prefix and the primary opcode of the suffix.
type dispatch struct {
	ops    [64]opcode
	leaves []int           // a row, or chainLeaf and the start of a chain
	chains []bitrows.Chain // Start is -1 if nobody needs it
	two    [256]int        // index of a chain in pairs
	pairs  []bitrows.Chain
}

// opcode says where the leaves of a primary opcode begin, and which bits of a word
// select one.
type opcode struct {
	base int
	mask uint64
}

// chainLeaf marks leaves that are no row.
const chainLeaf = 1 << 15

// indexBits are the bits of a word that may select a chain: the extended opcode
// is never further left.
const indexBits = 0x7ff

func build(rows []*bitrows.Row) (emit func(*bytes.Buffer), err error) {
	d := &dispatch{}
	var one [64][]*bitrows.Row
	var two []*bitrows.Row
	for _, r := range rows {
		switch {
		case r.Prefixed:
			two = append(two, r)
		case r.Value>>26 == 1:
			return nil, r.Errorf("a prefix alone")
		default:
			one[r.Value>>26] = append(one[r.Value>>26], r)
		}
	}
	reached := bitrows.Reached{}
	for op := range one {
		d.ops[op] = d.buildOp(one[op], reached)
	}
	index := map[string]int{}
	for i := range d.two {
		typ, sop := uint64(i>>6), uint64(i&63)
		list := bitrows.Matching(two, 3<<56|63<<26, typ<<56|sop<<26)
		reached.Add(list)
		d.two[i] = bitrows.Intern(&d.pairs, index, list)
	}
	if err := reached.All(rows); err != nil {
		return nil, err
	}
	if n := d.number(); n > chainLeaf || len(rows) >= chainLeaf || len(d.leaves) > 1<<16 {
		return nil, fmt.Errorf("%d candidates, %d rows, %d leaves", n, len(rows), len(d.leaves))
	}
	return d.emit, nil
}

// buildOp chooses the bits that at least two rows care for.
func (d *dispatch) buildOp(rows []*bitrows.Row, reached bitrows.Reached) opcode {
	var once, twice uint64
	for _, r := range rows {
		twice |= once & r.Mask
		once |= r.Mask
	}
	twice &= indexBits
	o := opcode{base: len(d.leaves), mask: twice}
	index := map[string]int{}
	for i, c := range d.chains {
		index[bitrows.Key(c.Rows)] = i
	}
	for i := range o.mask + 1 { // what has bits outside the mask is never looked up
		list := bitrows.Matching(rows, o.mask, i&o.mask)
		reached.Add(list)
		d.leaves = append(d.leaves, bitrows.Intern(&d.chains, index, list))
	}
	return o
}

// number gives each chain its place: a candidate a row, and one that stops. A leaf
// under which all words have one row, or none, has no need of a chain.
func (d *dispatch) number() (n int) {
	for i := range d.chains {
		d.chains[i].Start = -1
	}
	for _, o := range d.ops {
		looked := 63<<26 | o.mask
		for i := range o.mask + 1 {
			leaf := &d.leaves[o.base+int(i)]
			c := &d.chains[*leaf]
			switch {
			case len(c.Rows) == 0:
				*leaf = 0
				continue
			case len(c.Rows) == 1 && c.Rows[0].Mask&^looked == 0:
				*leaf = c.Rows[0].ID
				continue
			case c.Start < 0:
				c.Start = n
				n += len(c.Rows) + 1
			}
			*leaf = chainLeaf | c.Start
		}
	}
	pairs := 0
	for i := range d.pairs {
		d.pairs[i].Start = pairs
		pairs += len(d.pairs[i].Rows) + 1
	}
	return n
}

func (d *dispatch) emit(b *bytes.Buffer) {
	b.WriteString("// opcodes by primary opcode: the bits that select a leaf, and where its leaves are.\nvar opcodes = [64]uint32{\n")
	for _, o := range d.ops {
		fmt.Fprintf(b, "\t%#x,\n", uint32(o.mask)<<16|uint32(o.base))
	}
	b.WriteString("}\n\n// leaves are rows, or chainLeaf and a place in candidates.\nvar leaves = [...]uint16{\n")
	var list []string
	for _, l := range d.leaves {
		list = append(list, fmt.Sprint(l))
	}
	bitrows.Wrap(b, list, 24)
	b.WriteString("}\n\nvar candidates = [...]candidate{\n")
	for _, c := range d.chains {
		if c.Start >= 0 {
			c.Write(b)
		}
	}
	b.WriteString("}\n\n// pairLeaves are places in pairs, by type and primary opcode of the suffix.\nvar pairLeaves = [256]uint16{\n")
	list = nil
	for _, c := range d.two {
		list = append(list, fmt.Sprint(d.pairs[c].Start))
	}
	bitrows.Wrap(b, list, 24)
	b.WriteString("}\n\nvar pairs = [...]pair{\n")
	for _, c := range d.pairs {
		c.Write(b)
	}
	b.WriteString("}\n")
}
