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
	D     int64  // target - PC; without a target a number that its plans move with, often 0
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
	if off&v.mask != 0 || !r.isStart(off>>v.shift) {
		return Ref{}, false
	}
	return v.ref(&r, i, off, r.findSite(uint32(off))), true
}

// All iterates over the instructions in the order of their addresses.
func (v *View) All() iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for i := range len(v.sec[secRuns]) / binRun {
			r := v.run(i)
			site := uint32(0)
			for w := range r.words() {
				for word := r.word(w); word != 0; word &= word - 1 {
					off := (w<<6 + uint64(bits.TrailingZeros64(word))) << v.shift
					at := -1
					if site < r.nsites && uint64(r.siteOff(int(site))) == off {
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

// runView is a struct run, with its pieces of the body.
type runView struct {
	addr, at, offset uint64
	size, name       uint32
	nsites           uint32
	entries, flags   uint32
	starts           []byte // words
	sites            []byte
	text             []byte
}

func (v *View) run(i int) runView {
	r, at := v.runFields(i)
	v.pieces(&r, at)
	return r
}

// runFields reads run i and where in the body it is.
func (v *View) runFields(i int) (r runView, at uint64) {
	b := v.sec[secRuns][binRun*i:][:binRun]
	return runView{
		addr: le.Uint64(b), size: le.Uint32(b[8:]), name: le.Uint32(b[12:]), at: le.Uint64(b[16:]), offset: le.Uint64(b[24:]),
		nsites: le.Uint32(b[40:]), entries: le.Uint32(b[44:]), flags: le.Uint32(b[48:]),
	}, le.Uint64(b[32:])
}

// pieces finds what the run has in the body, from at on.
func (v *View) pieces(r *runView, at uint64) {
	n, s, _ := r.sizes(v.shift)
	b := v.sec[secBody][at:]
	r.starts, r.sites, r.text = b[:n:n], b[n:][:s:s], b[n+s:][:r.size:r.size]
}

// sizes are the bytes of the starts, the sites and the text, the last rounded up.
func (r *runView) sizes(shift uint8) (starts, sites, text uint64) {
	return (uint64(r.size)>>shift + 63) / 64 * 8, uint64(r.nsites) * binSite, (uint64(r.size) + 7) &^ 7
}

// words returns how many words of starts the run has.
func (r *runView) words() uint64 { return uint64(len(r.starts)) / 8 }

// word is word i of starts.
func (r *runView) word(i uint64) uint64 { return le.Uint64(r.starts[8*i:]) }

// siteOff is the offset of site i.
func (r *runView) siteOff(i int) uint32 { return le.Uint32(r.sites[binSite*i:]) }

// findRun returns the run that holds pc.
func (v *View) findRun(pc uint64) (int, bool) {
	b := v.sec[secRuns]
	lo, hi := 0, len(b)/binRun // the first run above pc
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if le.Uint64(b[binRun*mid:]) <= pc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0, false
	}
	r := b[binRun*(lo-1):]
	return lo - 1, pc-le.Uint64(r) < uint64(le.Uint32(r[8:]))
}

// isStart reports whether an instruction starts at unit i of the run.
func (r *runView) isStart(i uint64) bool { return r.word(i>>6)>>(i&63)&1 != 0 }

// findSite returns the number of the site at off, -1 if it is plain.
func (r *runView) findSite(off uint32) int {
	lo, hi := 0, int(r.nsites)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		switch o := r.siteOff(mid); {
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
		b := r.sites[binSite*site:][:binSite]
		ref.Shape, ref.D = le.Uint32(b[4:]), int64(le.Uint64(b[8:]))
		ref.Len = v.sec[secShapes][binShape*int(ref.Shape)+1]
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
		if w := r.word(i>>6) >> (i & 63); w != 0 {
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
func (v *View) Class(r Ref) Class { return Class(v.sec[secShapes][binShape*int(r.Shape)]) }

// Bytes returns the bytes of an instruction when the table was made. They are
// part of the table and read-only.
func (v *View) Bytes(r Ref) []byte {
	run := v.run(int(r.run))
	return run.text[r.PC-run.addr:][:r.Len:r.Len]
}

// Entry reads all that the table says of r into e, whose storage it reuses.
// e.Bytes is part of the table and read-only; all else is e's own.
func (v *View) Entry(r Ref, e *Entry) {
	run := v.run(int(r.run))
	off := r.PC - run.addr
	e.PC, e.Text = r.PC, ""
	e.Bytes = run.text[off:][:r.Len:r.Len]
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
