package fixups

import (
	"iter"
	"math/bits"
	"strings"
)

// View is a binary table where it lies, in memory or in a mapped file. It reads
// what [OpenBinary] has checked and allocates nothing. It is immutable and safe
// for concurrent use.
type View struct {
	head    Table
	sec     [numSections][]byte
	strings string
	entries int
	mask    uint64 // of the alignment
	shift   uint8
}

// Ref is one instruction of a [View].
type Ref struct {
	PC    uint64
	D     int64  // target - PC, 0 without a target
	Shape uint32 // equal shapes have the same class, hazards and plans up to D
	Len   uint8  // bytes
	Plain bool   // stored as a bit
	run   uint32
}

// Head returns what the table says of itself: Arch, File, BuildID, Base, Layout.
// Entries and Gaps are empty.
func (v *View) Head() Table { return v.head }

// Len returns the number of instructions.
func (v *View) Len() int { return v.entries }

// Find returns the instruction at pc, false if there is none.
func (v *View) Find(pc uint64) (Ref, bool) {
	i, ok := v.findRun(pc)
	if !ok {
		return Ref{}, false
	}
	r := v.run(i)
	off := pc - r.addr
	if off&v.mask != 0 || !v.starts(&r, off>>v.shift) {
		return Ref{}, false
	}
	return v.ref(&r, i, off, v.findSite(&r, uint32(off))), true
}

// All iterates over the instructions in the order of their addresses.
func (v *View) All() iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for i := range len(v.sec[secRuns]) / 64 {
			r := v.run(i)
			site := r.sites
			for w := range r.words(v.shift) {
				for word := le.Uint64(v.sec[secStarts][8*(uint64(r.starts)+w):]); word != 0; word &= word - 1 {
					off := (w<<6 + uint64(bits.TrailingZeros64(word))) << v.shift
					at := -1
					if site < r.sites+r.nsites && uint64(le.Uint32(v.sec[secSites][16*int(site):])) == off {
						at = int(site)
						site++
					}
					if !yield(v.ref(&r, i, off, at)) {
						return
					}
				}
			}
		}
	}
}

// Gaps iterates over the executable bytes about which nothing is said.
func (v *View) Gaps() iter.Seq[Range] {
	return func(yield func(Range) bool) {
		for b := v.sec[secGaps]; len(b) > 0; b = b[16:] {
			if !yield(Range{le.Uint64(b), le.Uint64(b[8:])}) {
				return
			}
		}
	}
}

// runView is a struct run.
type runView struct {
	addr, at, offset, text uint64
	size, name             uint32
	starts, sites, nsites  uint32
	entries, flags         uint32
}

func (v *View) run(i int) runView {
	b := v.sec[secRuns][64*i:][:64]
	return runView{
		addr: le.Uint64(b), size: le.Uint32(b[8:]), name: le.Uint32(b[12:]), at: le.Uint64(b[16:]), offset: le.Uint64(b[24:]),
		text: le.Uint64(b[32:]), starts: le.Uint32(b[40:]), sites: le.Uint32(b[44:]), nsites: le.Uint32(b[48:]),
		entries: le.Uint32(b[52:]), flags: le.Uint32(b[56:]),
	}
}

// words returns how many words of starts the run has.
func (r *runView) words(shift uint8) uint64 { return (uint64(r.size)>>shift + 63) / 64 }

// findRun returns the run that holds pc.
func (v *View) findRun(pc uint64) (int, bool) {
	b := v.sec[secRuns]
	lo, hi := 0, len(b)/64 // the first run above pc
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if le.Uint64(b[64*mid:]) <= pc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0, false
	}
	r := b[64*(lo-1):]
	return lo - 1, pc-le.Uint64(r) < uint64(le.Uint32(r[8:]))
}

// starts reports whether an instruction starts at unit i of the run.
func (v *View) starts(r *runView, i uint64) bool {
	return le.Uint64(v.sec[secStarts][8*(uint64(r.starts)+i>>6):])>>(i&63)&1 != 0
}

// findSite returns the number of the site at off, -1 if it is plain.
func (v *View) findSite(r *runView, off uint32) int {
	b := v.sec[secSites]
	lo, hi := int(r.sites), int(r.sites+r.nsites)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		switch o := le.Uint32(b[16*mid:]); {
		case o == off:
			return mid
		case o < off:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return -1
}

// ref makes the Ref of the instruction at off; site is its number or -1.
func (v *View) ref(r *runView, run int, off uint64, site int) Ref {
	ref := Ref{PC: r.addr + off, run: uint32(run)}
	if site >= 0 {
		b := v.sec[secSites][16*site:][:16]
		ref.Shape, ref.D = le.Uint32(b[4:]), int64(le.Uint64(b[8:]))
		ref.Len = v.sec[secShapes][120*int(ref.Shape)+1]
		return ref
	}
	ref.Plain = true
	ref.Len = uint8(v.next(r, off) - off)
	ref.Shape = le.Uint32(v.sec[secPlain][4*int(ref.Len):])
	return ref
}

// next returns the offset behind the instruction at off: that of the next set
// bit, or the end of the run.
func (v *View) next(r *runView, off uint64) uint64 {
	i := off>>v.shift + 1
	for n := uint64(r.size) >> v.shift; i < n; i = (i | 63) + 1 {
		if w := le.Uint64(v.sec[secStarts][8*(uint64(r.starts)+i>>6):]) >> (i & 63); w != 0 {
			return (i + uint64(bits.TrailingZeros64(w))) << v.shift
		}
	}
	return uint64(r.size)
}

// str returns the string at offset off.
func (v *View) str(off uint32) string {
	s := v.strings[off:]
	return s[:strings.IndexByte(s, 0)]
}

// Class returns the class of an instruction, without reading the rest of it.
func (v *View) Class(r Ref) Class { return Class(v.sec[secShapes][120*int(r.Shape)]) }

// Bytes returns the bytes of an instruction when the table was made. They are
// part of the table and read-only.
func (v *View) Bytes(r Ref) []byte {
	run := v.run(int(r.run))
	return v.sec[secText][run.text+(r.PC-run.addr):][:r.Len:r.Len]
}

// Entry reads all that the table says of r into e, whose storage it reuses.
// e.Bytes is part of the table and read-only; all else is e's own.
func (v *View) Entry(r Ref, e *Entry) {
	run := v.run(int(r.run))
	off := r.PC - run.addr
	e.PC, e.Text = r.PC, ""
	e.Bytes = v.sec[secText][run.text+off:][:r.Len:r.Len]
	e.Func, e.At = v.str(run.name), 0
	if e.Func != "" {
		e.At = run.at + off
	}
	e.InFile, e.Offset = run.flags&binInFile != 0, 0
	if e.InFile {
		e.Offset = run.offset + off
	}
	v.shape(r.Shape, r.D, e)
}
