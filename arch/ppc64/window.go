package ppc64

import (
	"encoding/binary"
	"math/bits"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// A window is what can be executed between a load and reserve and a store
// conditional: the instructions that lie on a way from the one to the other which
// meets no third of either kind. Ways are followed through direct branches, both
// sides of conditional ones, and end at calls, indirect branches and system calls:
// no reservation is worth keeping across those.

// windowWords is how far from the site, in words, a window is looked for. The
// manual asks for short ones (Book II, B.1), and compilers' have some ten words.
const windowWords = 32

// inWindow reports whether the site, which is none of its ends, is in a window.
// Where no load and reserve is near, which is nearly everywhere, that is all that
// is looked at.
func (a *Arch) inWindow(in *reloc.Insn, code reloc.Code) bool {
	if in.Class == fixups.ClassExclusive {
		return false // refused as what it is
	}
	w := window{arch: a}
	if !w.load(code, in.PC) || !w.anyReserve() {
		return false
	}
	site := w.index(in.PC)
	return w.leads(site, func(i int) bool { return isStore(w.word(i)) }) && w.reaches(site)
}

// window is the code around a site. What is not known ends a way.
type window struct {
	arch  *Arch
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

func (w *window) word(i int) uint32 { return w.arch.word(w.code[i*wordLen:]) }

// index is where the word at pc is, -1 if it is not there.
func (w *window) index(pc uint64) int {
	if d := pc - w.start; d%wordLen == 0 && d < uint64(len(w.code)) {
		return int(d / wordLen)
	}
	return -1
}

// anyReserve reports whether there is a load and reserve. It looks at four words
// at a time, and only at their primary opcode and the five low bits of the
// extended one, which few others share.
func (w *window) anyReserve() bool {
	const step = 4 * wordLen
	b := w.code
	for ; len(b) >= step; b = b[step:] {
		x, y := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:step])
		if w.arch.big {
			x, y = bits.ReverseBytes64(x), bits.ReverseBytes64(y)
		}
		if likeReserve(x)|likeReserve(y) != 0 && w.arch.reserveIn(b[:step]) {
			return true
		}
	}
	return w.arch.reserveIn(b)
}

// likeReserve is not zero if one of two words may be a load and reserve: if what
// they differ in from one is zero in either half.
func likeReserve(x uint64) uint64 {
	x = x&0xfc00003e_fc00003e ^ 0x7c000028_7c000028
	return (x - 0x00000001_00000001) &^ x & 0x80000000_80000000
}

// reserveIn reports whether a load and reserve is among the words of b.
func (a *Arch) reserveIn(b []byte) bool {
	for ; len(b) >= wordLen; b = b[wordLen:] {
		if isReserve(a.word(b)) {
			return true
		}
	}
	return false
}

// isReserve reports whether w is lbarx, lharx, lwarx, ldarx or lqarx (Book II,
// 4.6.2): XO 20, 52, 84, 116, 276, with either EH.
func isReserve(w uint32) bool {
	switch w & 0xfc0007fe {
	case 0x7c000028, 0x7c000068, 0x7c0000a8, 0x7c0000e8, 0x7c000228:
		return true
	}
	return false
}

// isStore reports whether w is stbcx., sthcx., stwcx., stdcx. or stqcx.: XO 694,
// 726, 150, 214, 182, with the record bit.
func isStore(w uint32) bool {
	switch w & 0xfc0007ff {
	case 0x7c00056d, 0x7c0005ad, 0x7c00012d, 0x7c0001ad, 0x7c00016d:
		return true
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

// reaches reports whether a way from behind a load and reserve leads to site.
func (w *window) reaches(site int) bool {
	for i := range len(w.code) / wordLen {
		if !isReserve(w.word(i)) {
			continue
		}
		next, _ := w.successors(i)
		if next >= 0 && w.leads(next, func(k int) bool { return k == site }) {
			return true
		}
	}
	return false
}

// leads reports whether a way from a place leads to one for which end holds, before
// it leads to any other load and reserve or store conditional.
func (w *window) leads(from int, end func(int) bool) bool {
	var done, todo places
	todo.add(from)
	for i := todo.take(); i >= 0; i = todo.take() {
		if end(i) {
			return true
		}
		if x := w.word(i); !done.add(i) || isReserve(x) || isStore(x) {
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
	if w.arch.Decode(&in, w.code[i*wordLen:], w.start+uint64(i)*wordLen) != nil {
		return next, target
	}
	switch in.Class {
	case fixups.ClassBranch, fixups.ClassCondBranch:
		target = w.index(in.Target)
	case fixups.ClassCall, fixups.ClassIndirectCall, fixups.ClassKernelEntry:
		return next, target
	}
	if in.Flags&reloc.Continues != 0 {
		next = w.index(in.Next())
	}
	return next, target
}
