package main

import (
	"fmt"
)

// dispatch is how a word finds its row: the primary opcode says which bits of the
// word select a chain, a list of rows of which the first that matches holds. Two
// words select by the type in the prefix and the primary opcode of the suffix.
type dispatch struct {
	ops    [64]opcode
	leaves []int // a row, or chainLeaf and the start of a chain
	chains []chain
	two    [256]int // index of a chain in chains2
	pairs  []chain
}

// opcode says where the leaves of a primary opcode begin, and which bits of a word
// select one.
type opcode struct {
	base int
	mask uint64
}

// chainLeaf marks leaves that are no row.
const chainLeaf = 1 << 15

// chain is a list of rows; start is its first place among the candidates, -1 if
// nobody needs it.
type chain struct {
	rows  []*row
	start int
}

// indexBits are the bits of a word that may select a chain: the extended opcode
// is never further left.
const indexBits = 0x7ff

func build(rows []*row) (*dispatch, error) {
	d := &dispatch{}
	var one [64][]*row
	var two []*row
	for _, r := range rows {
		switch {
		case r.prefixed:
			two = append(two, r)
		case r.value>>26 == 1:
			return nil, r.errorf("a prefix alone")
		default:
			one[r.value>>26] = append(one[r.value>>26], r)
		}
	}
	reached := map[*row]bool{}
	for op := range one {
		d.ops[op] = d.buildOp(one[op], reached)
	}
	index := map[string]int{}
	for i := range d.two {
		typ, sop := uint64(i>>6), uint64(i&63)
		list := matching(two, 3<<56|63<<26, typ<<56|sop<<26, reached)
		d.two[i] = intern(&d.pairs, index, list)
	}
	for _, r := range rows {
		if !reached[r] {
			return nil, r.errorf("no encoding reaches this row")
		}
	}
	if n := d.number(); n > chainLeaf || len(rows) >= chainLeaf || len(d.leaves) > 1<<16 {
		return nil, fmt.Errorf("%d candidates, %d rows, %d leaves", n, len(rows), len(d.leaves))
	}
	return d, nil
}

// buildOp chooses the bits that at least two rows care for.
func (d *dispatch) buildOp(rows []*row, reached map[*row]bool) opcode {
	var once, twice uint64
	for _, r := range rows {
		twice |= once & r.mask
		once |= r.mask
	}
	twice &= indexBits
	o := opcode{base: len(d.leaves), mask: twice}
	index := map[string]int{}
	for i, c := range d.chains {
		index[key(c.rows)] = i
	}
	for i := range o.mask + 1 { // what has bits outside the mask is never looked up
		list := matching(rows, o.mask, i&o.mask, reached)
		d.leaves = append(d.leaves, intern(&d.chains, index, list))
	}
	return o
}

// matching lists the rows that a word with these bits can match, up to the first
// that it must match.
func matching(rows []*row, mask, value uint64, reached map[*row]bool) (list []*row) {
	for _, r := range rows {
		if (r.value^value)&(r.mask&mask) != 0 || covered(r, list) {
			continue
		}
		list = append(list, r)
		reached[r] = true
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

// intern returns the index of the chain with these rows.
func intern(chains *[]chain, index map[string]int, rows []*row) int {
	k := key(rows)
	i, ok := index[k]
	if !ok {
		i = len(*chains)
		*chains = append(*chains, chain{rows: rows})
		index[k] = i
	}
	return i
}

// number gives each chain its place: a candidate a row, and one that stops. A leaf
// under which all words have one row, or none, has no need of a chain.
func (d *dispatch) number() (n int) {
	for i := range d.chains {
		d.chains[i].start = -1
	}
	for _, o := range d.ops {
		looked := 63<<26 | o.mask
		for i := range o.mask + 1 {
			leaf := &d.leaves[o.base+int(i)]
			c := &d.chains[*leaf]
			switch {
			case len(c.rows) == 0:
				*leaf = 0
				continue
			case len(c.rows) == 1 && c.rows[0].mask&^looked == 0:
				*leaf = c.rows[0].id
				continue
			case c.start < 0:
				c.start = n
				n += len(c.rows) + 1
			}
			*leaf = chainLeaf | c.start
		}
	}
	pairs := 0
	for i := range d.pairs {
		d.pairs[i].start = pairs
		pairs += len(d.pairs[i].rows) + 1
	}
	return n
}
