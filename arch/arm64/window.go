package arm64

import (
	"encoding/binary"
	"math/bits"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// A window is what can be executed between a load exclusive and a store exclusive:
// the instructions that lie on a way from the one to the other which meets no third
// of either kind. Ways are followed through direct branches, both sides of
// conditional ones, and behind calls. They end at indirect branches, at CLREX, which
// gives the monitor up, and at calls of the kernel, whose return clears it (B2.12.2).

// windowWords is how far from the site, in words, a window is looked for. The
// manual asks for the two to be within 128 bytes if the loop is to end at all
// (B2.12.5).
const windowWords = 32

// inWindow reports whether the site, which is none of its ends, is in a window.
// Where no load exclusive is near, which is nearly everywhere, that is all that is
// looked at.
func inWindow(in *reloc.Insn, code reloc.Code) bool {
	if in.Class == fixups.ClassExclusive || endsWindow(uint32(in.Ext[0])) {
		return false // refused as what it is, or at the end of all ways
	}
	var w window
	if !w.load(code, in.PC) || !w.anyLoad() {
		return false
	}
	site := w.index(in.PC)
	return w.leads(site, -1) && w.reaches(site)
}

// isLoadExclusive reports whether w is LDXR, LDAXR, LDXP, LDAXP, of bytes and
// halfwords, or LDTXR, LDATXR (C4.1.94, Load/store exclusive register and pair,
// Load/store exclusive unprivileged).
func isLoadExclusive(w uint32) bool {
	switch {
	case w&0x3fe00000 == 0x08400000, w&0xbfe00000 == 0x88600000, w&0xbfe00000 == 0x89400000:
		return true
	}
	return false
}

// isStoreExclusive reports whether w is STXR, STLXR, STXP, STLXP, of bytes and
// halfwords, or STTXR, STLTXR.
func isStoreExclusive(w uint32) bool {
	switch {
	case w&0x3fe00000 == 0x08000000, w&0xbfe00000 == 0x88200000, w&0xbfe00000 == 0x89000000:
		return true
	}
	return false
}

// endsWindow reports whether w is CLREX, or SVC, HVC, SMC.
func endsWindow(w uint32) bool {
	return w&0xfffff0ff == 0xd503305f || w&0xffe0001c == 0xd4000000 && w&3 != 0
}

// window is the code around a site. What is not known ends a way.
type window struct {
	start uint64
	code  []byte // whole words
}

// load takes the code around pc, as far as it is known without a gap; false if not
// even the site is.
func (w *window) load(code reloc.Code, pc uint64) bool {
	for back := windowWords; back >= 0; back-- {
		w.start = pc - uint64(back)*wordLen
		w.code = code.Bytes(w.start)
		n := min(len(w.code)/wordLen, back+windowWords+1)
		w.code = w.code[:n*wordLen]
		if n > back {
			return true
		}
	}
	return false
}

func (w *window) word(i int) uint32 { return binary.LittleEndian.Uint32(w.code[i*wordLen:]) }

// index is where the word at pc is, -1 if it is not there.
func (w *window) index(pc uint64) int {
	if d := pc - w.start; d%wordLen == 0 && d < uint64(len(w.code)) {
		return int(d / wordLen)
	}
	return -1
}

// anyLoad reports whether there is a load exclusive. It looks at four words at a
// time, and first only at what all of them have in common: 00100 in bits 29 to 25, 0
// in bit 23 and 1 in bit 22.
func (w *window) anyLoad() bool {
	const step = 4 * wordLen
	b := w.code
	for ; len(b) >= step; b = b[step:] {
		x, y := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:step])
		if likeLoad(x)|likeLoad(y) != 0 && loadIn(b[:step]) {
			return true
		}
	}
	return loadIn(b)
}

// likeLoad is not zero if one of two words may be a load exclusive: if what they
// differ in from one is zero in either half.
func likeLoad(x uint64) uint64 {
	x = x&0x3ec00000_3ec00000 ^ 0x08400000_08400000
	return (x - 0x00000001_00000001) &^ x & 0x80000000_80000000
}

// loadIn reports whether a load exclusive is among the words of b.
func loadIn(b []byte) bool {
	for ; len(b) >= wordLen; b = b[wordLen:] {
		if isLoadExclusive(binary.LittleEndian.Uint32(b)) {
			return true
		}
	}
	return false
}

// places is a set of places in a window.
type places [2]uint64

// add puts i into the set; false if it was there.
func (s *places) add(i int) bool {
	w, bit := &s[i>>6], uint64(1)<<(i&63)
	isNew := *w&bit == 0
	*w |= bit
	return isNew
}

// take removes a place, -1 if there is none.
func (s *places) take() int {
	for k := range s {
		if s[k] != 0 {
			i := bits.TrailingZeros64(s[k])
			s[k] &= s[k] - 1
			return k<<6 + i
		}
	}
	return -1
}

// reaches reports whether a way from behind a load exclusive leads to site.
func (w *window) reaches(site int) bool {
	var done, todo places
	for i := range len(w.code) / wordLen {
		if isLoadExclusive(w.word(i)) && i+1 < len(w.code)/wordLen {
			todo.add(i + 1)
		}
	}
	return w.walk(&done, &todo, site)
}

// leads reports whether a way from a place leads to site, or where that is -1 to a
// store exclusive.
func (w *window) leads(from, site int) bool {
	var done, todo places
	todo.add(from)
	return w.walk(&done, &todo, site)
}

// walk follows all ways from the places in todo until one comes to site, or where
// that is -1 to a store exclusive, before any other end. No place is left twice.
func (w *window) walk(done, todo *places, site int) bool {
	for i := todo.take(); i >= 0; i = todo.take() {
		x := w.word(i)
		if i == site || site < 0 && isStoreExclusive(x) {
			return true
		}
		if !done.add(i) || isLoadExclusive(x) || isStoreExclusive(x) || endsWindow(x) {
			continue
		}
		next, target := w.successors(i)
		if next >= 0 {
			todo.add(next)
		}
		if target >= 0 {
			todo.add(target)
		}
	}
	return false
}

// successors are the places that may be executed after i: the one behind it and
// the target of a branch, -1 where there is none.
func (w *window) successors(i int) (next, target int) {
	next, target = -1, -1
	var in reloc.Insn
	if A64.Decode(&in, w.code[i*wordLen:], w.start+uint64(i)*wordLen) != nil {
		return next, target
	}
	if in.Class == fixups.ClassBranch || in.Class == fixups.ClassCondBranch {
		target = w.index(in.Target)
	}
	if in.Flags&reloc.Continues != 0 {
		next = w.index(in.Next())
	}
	return next, target
}
