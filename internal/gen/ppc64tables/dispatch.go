package main

import (
	"fmt"
	"math/bits"
)

// dispatch is how a word finds its row: the primary opcode says which bits of the
// word select a chain, a list of rows of which the first that matches holds. Two
// words select by the type in the prefix and the primary opcode of the suffix.
type dispatch struct {
	ops    [64]opcode
	leaves []int // index of a chain
	chains []chain
	two    [256]int // index of a chain in chains2
	pairs  []chain
}

// opcode says where the chains of a primary opcode stand in leaves.
type opcode struct {
	base, shift, width int
}

// chain is a list of rows; start is its first place among the candidates.
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
	number(d.chains)
	number(d.pairs)
	if n := len(d.leaves); n > 1<<16 {
		return nil, fmt.Errorf("%d leaves", n)
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
	o := opcode{base: len(d.leaves)}
	if twice != 0 {
		o.shift = bits.TrailingZeros64(twice)
		o.width = bits.Len64(twice) - o.shift
	}
	index := map[string]int{}
	for i, c := range d.chains {
		index[key(c.rows)] = i
	}
	for i := range 1 << o.width {
		list := matching(rows, (1<<o.width-1)<<o.shift, uint64(i)<<o.shift, reached)
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

// number gives each chain its place: a candidate a row, and one that stops.
func number(chains []chain) {
	n := 0
	for i := range chains {
		chains[i].start = n
		n += len(chains[i].rows) + 1
	}
}
