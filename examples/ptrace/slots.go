//go:build linux && amd64

package main

import (
	"fmt"
	"sort"
)

// unit is what slots are measured in, in bytes. A slot begins at a multiple.
const unit = 16

// region is memory of the traced process that holds slots: readable and
// executable there, written only from here, through /proc/PID/mem.
type region struct {
	addr, size uint64
	next       uint64   // first free address
	owner      []*probe // by unit
}

// alloc reserves n bytes for p.
func (g *region) alloc(p *probe, n int) (addr uint64, ok bool) {
	size := (uint64(n) + unit - 1) &^ (unit - 1)
	if g == nil || g.next+size > g.addr+g.size {
		return 0, false
	}
	addr = g.next
	for range size / unit {
		g.owner = append(g.owner, p)
	}
	g.next += size
	return addr, true
}

// at returns the probe in whose slot pc lies.
func (g *region) at(pc uint64) *probe {
	if i := (pc - g.addr) / unit; pc >= g.addr && i < uint64(len(g.owner)) {
		return g.owner[i]
	}
	return nil
}

// nearSpan keeps a page off the ±2 GiB of a 32-bit displacement.
const nearSpan = 1<<31 - 1<<16

// place finds room for size bytes, all of which are within reach of all of lo to
// hi. Below comes first and with distance: above a program is its heap, which
// grows, and a region that must be above is put as far off as it can.
func place(maps []mapping, lo, hi, size uint64) (uint64, bool) {
	const gap = 64 << 20
	type free struct{ lo, hi uint64 }
	var frees []free
	end := uint64(1 << 20)
	for _, m := range maps {
		if m.start > end+size {
			frees = append(frees, free{end, m.start})
		}
		end = max(end, m.end)
	}
	if top := uint64(1<<47 - 1<<24); top > end {
		frees = append(frees, free{end, top})
	}
	lowest, highest := uint64(0), lo+nearSpan-size
	if hi > nearSpan {
		lowest = hi - nearSpan
	}
	sort.Slice(frees, func(i, j int) bool { return frees[i].lo > frees[j].lo })
	for _, below := range []bool{true, false} {
		for _, f := range frees {
			if below != (f.lo < lo) {
				continue
			}
			a, b := max(f.lo, lowest), min(f.hi-size, highest)
			if below && b > a+gap && f.hi <= lo {
				b -= gap
			}
			if a = (a + 0xfff) &^ 0xfff; a <= b {
				return b &^ 0xfff, true
			}
		}
	}
	return 0, false
}

// reserve maps slots near an object: sixteen bytes for each byte of its text, up
// to a bound. Pages that are not used cost nothing.
func (t *tracer) reserve(k *task, o *object) error {
	maps, err := readMaps(k.tid)
	if err != nil {
		return err
	}
	size := min((o.hi-o.lo)*unit, 256<<20)
	size = (size + 0xfff) &^ 0xfff
	addr, ok := place(maps, o.lo, o.hi, size)
	if !ok {
		return fmt.Errorf("no room for slots near %s", o.path)
	}
	const (
		private, anonymous, noReserve, noReplace = 0x02, 0x20, 0x4000, 0x100000
		readExec                                 = 1 | 4
	)
	got, err := t.inject(k, sysMmap, addr, size, readExec, private|anonymous|noReserve|noReplace, ^uint64(0), 0)
	if err != nil {
		return err
	}
	if got != addr {
		return fmt.Errorf("mmap of %#x bytes at %#x: %d", size, addr, int64(got))
	}
	o.slots = &region{addr: addr, size: size, next: addr}
	return nil
}
