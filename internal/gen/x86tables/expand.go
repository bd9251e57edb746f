package main

import (
	"errors"
	"fmt"
	"slices"
)

// Descriptors, as arch/x86/decode.go reads them (its constants desc*).
const (
	descShape     = 16 // 3 bits
	descModRM     = 1 << 20
	descNoModRM   = 1 << 21
	descImm       = 22 // 4 bits
	descSize      = 26 // 2 bits
	descVariants  = 1 << 28
	descModReg    = 1 << 29
	descMap4      = 1 << 30
	descCommon    = 1 << 31
	descCommonImm = 32 // 4 bits, and 4 more with REX.W
)

// Shapes: how ModRM selects a leaf, least table first.
var shapes = []struct {
	leaves int
	index  func(modrm int) int
}{
	{1, func(m int) int { return 0 }},
	{2, func(m int) int { return b2i(m >= 0xc0) }},
	{8, func(m int) int { return m >> 3 & 7 }},
	{16, func(m int) int { return m>>3&7 | b2i(m >= 0xc0)<<3 }},
	{72, func(m int) int {
		if m < 0xc0 {
			return m >> 3 & 7
		}
		return 8 + m&63
	}},
	{256, func(m int) int { return m }},
}

// page is one map under one prefix: a descriptor for each opcode.
type page [256]uint64

// model is what is emitted.
type model struct {
	rows     []*row
	leaves   []uint16
	leafAt   map[string]int
	variants []uint32
	varAt    map[string]int
	pages    []page
	pageAt   map[page]int
	modes    [2]map[pageKey]int
}

type pageKey struct {
	space space
	opmap int
	pp    int
}

func build(rows []*row, have map[source]bool, rex2 []exclusion) (*model, error) {
	m := &model{rows: rows, leafAt: map[string]int{}, varAt: map[string]int{}, pageAt: map[page]int{}}
	m.leaves = append(m.leaves, 0)
	var errs []error
	for mode := range m.modes {
		m.modes[mode] = map[pageKey]int{}
		for _, k := range keys(have) {
			for k.pp = range 4 {
				pg, err := m.page(mode == 1, k, rex2)
				errs = append(errs, err)
				m.modes[mode][k] = m.intern(pg)
			}
		}
	}
	for _, r := range rows {
		if !r.used {
			errs = append(errs, r.errorf("no encoding reaches this row"))
		}
	}
	return m, errors.Join(errs...)
}

// keys are the maps of the files that exist, and those that REX2 opens.
func keys(have map[source]bool) []pageKey {
	var ks []pageKey
	for _, s := range sources {
		k := pageKey{s.space, s.opmap, 0}
		if have[s] && !slices.Contains(ks, k) {
			ks = append(ks, k)
		}
	}
	return append(ks, pageKey{spaceREX2, 0, 0}, pageKey{spaceREX2, 1, 0})
}

func (m *model) intern(p page) int {
	if i, ok := m.pageAt[p]; ok {
		return i
	}
	m.pageAt[p] = len(m.pages)
	m.pages = append(m.pages, p)
	return len(m.pages) - 1
}

func (m *model) page(mode64 bool, k pageKey, rex2 []exclusion) (p page, err error) {
	if k.space == spaceREX2 && !mode64 {
		return p, nil
	}
	var errs []error
	for op := range 256 {
		pt := point{mode64: mode64, space: k.space, opmap: k.opmap, pp: k.pp, op: op}
		d, err := m.opcode(&pt, rex2)
		errs = append(errs, err)
		p[op] = d
	}
	return p, errors.Join(errs...)
}

// opcode makes the descriptor of one opcode, over all variants and all ModRM.
func (m *model) opcode(pt *point, rex2 []exclusion) (uint64, error) {
	var rows []*row
	var dims cond
	for _, r := range m.rows {
		if r.src.opmap == pt.opmap && r.holdsIn(pt.space) && r.isOp(pt.op) && in(r.cond.mode, b2i(pt.mode64)) && in(r.cond.pp, pt.pp) {
			rows = append(rows, r)
			dims.w |= r.cond.w
			dims.l |= r.cond.l
			dims.nd |= r.cond.nd
			dims.nf |= r.cond.nf
		}
	}
	if len(rows) == 0 {
		return 0, nil
	}
	if dims.w|dims.l|dims.nd|dims.nf == 0 {
		return m.variant(pt, rows, rex2)
	}
	return m.allVariants(pt, rows, dims, rex2)
}

// allVariants makes a descriptor for each value of W, L'L, ND and NF.
func (m *model) allVariants(pt *point, rows []*row, dims cond, rex2 []exclusion) (uint64, error) {
	n := 8
	if dims.nd|dims.nf != 0 {
		n = 32
	}
	ds := make([]uint32, n)
	var common uint64
	for v := range ds {
		pt.w, pt.l, pt.nd, pt.nf = v&1, v>>1&3, v>>3&1, v>>4&1
		d, err := m.variant(pt, rows, rex2)
		if err != nil {
			return 0, err
		}
		ds[v] = uint32(d &^ descCommon)
		common |= d & descModRM
	}
	if common != 0 { // reserved variants have the ModRM byte of their neighbours
		for v := range ds {
			ds[v] |= descModRM
		}
	}
	key := fmt.Sprint(ds)
	at, ok := m.varAt[key]
	if !ok {
		at = len(m.variants)
		m.varAt[key] = at
		m.variants = append(m.variants, ds...)
	}
	d := uint64(at) | descVariants | common
	if n == 32 {
		d |= descMap4
	}
	return d, nil
}

// variant makes the descriptor of one opcode with all that a prefix says known.
func (m *model) variant(pt *point, rows []*row, rex2 []exclusion) (uint64, error) {
	var ids [256]uint16
	var hit []*row
	for modrm := range ids {
		pt.modrm = modrm
		out := excluded(rex2, pt)
		for _, r := range rows {
			if r.matches(pt) && (!out || r.cond.rex2) {
				r.used = true
				ids[modrm] = uint16(r.id)
				if !slices.Contains(hit, r) {
					hit = append(hit, r)
				}
				break
			}
		}
	}
	if len(hit) == 0 {
		return 0, nil
	}
	d, err := describe(hit, pt)
	if err != nil {
		return 0, err
	}
	base, shape := m.leavesOf(&ids)
	if base >= 1<<16 {
		return 0, fmt.Errorf("more than 65536 leaves")
	}
	return d | uint64(base) | uint64(shape)<<descShape, nil
}

// leavesOf stores the rows of all ModRM values in the least shape that holds
// them.
func (m *model) leavesOf(ids *[256]uint16) (base, shape int) {
	for shape, s := range shapes {
		leaves := make([]uint16, s.leaves)
		for modrm, id := range ids {
			leaves[s.index(modrm)] = id
		}
		fits := true
		for modrm, id := range ids {
			fits = fits && leaves[s.index(modrm)] == id
		}
		if !fits {
			continue
		}
		key := fmt.Sprint(leaves)
		at, ok := m.leafAt[key]
		if !ok {
			at = len(m.leaves)
			m.leafAt[key] = at
			m.leaves = append(m.leaves, leaves...)
		}
		return at, shape
	}
	panic("the last shape holds everything")
}
