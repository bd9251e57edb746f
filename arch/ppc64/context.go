package ppc64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Context implements [reloc.Contexter]. These neighbours matter on Power:
//
//   - The word in front of the site is a prefix, of which the site is the suffix:
//     nothing executes it as an instruction of its own.
//   - An instruction of two words that lies across a 64-byte boundary causes an
//     alignment interrupt (Book I, 1.6). A copy elsewhere would not.
//   - Between a load and reserve and its store conditional any detour ends in a lost
//     reservation, since stores in between, and interrupts, may clear it: the loop
//     would never end (Book II, 1.7.4).
//   - The signature word of a restartable sequence stands in front of its abort
//     handler; who enters the handler comes from the kernel.
//   - A call whose target is a thunk that reads LR hands its own address to it.
func (a *Arch) Context(in *reloc.Insn, env *reloc.Env) error {
	if crossesLine(in) {
		return fixups.ReasonPrefixLine
	}
	if env.Code == nil {
		return nil
	}
	if before, ok := a.wordAt(env.Code, in.PC-wordLen); ok {
		switch {
		case before>>26 == prefixOp && pairRowOf(uint64(before)<<32|uint64(firstWord(in))) != 0:
			return fixups.ReasonSuffixWord
		case before == rseqSignature:
			in.Hazards |= fixups.HazardRSeq.Bit()
		}
	}
	if in.Class == fixups.ClassCall && a.readsLR(env.Code, in.Target) {
		in.Hazards |= fixups.HazardReadsPC.Bit()
	}
	if a.inWindow(in, env.Code) {
		in.Hazards |= fixups.HazardExclusive.Bit()
		return fixups.ReasonExclusive
	}
	return nil
}

// rseqSignature is twui r5,11, which Linux on Power expects in front of the abort
// handler of a restartable sequence.
const rseqSignature = 0x0fe5000b

// crossesLine reports whether in has two words on both sides of a 64-byte
// boundary.
func crossesLine(in *reloc.Insn) bool {
	return in.Len == pairLen && in.PC%lineBytes == lineBytes-wordLen
}

// firstWord is the first word of in, the prefix if it has two.
func firstWord(in *reloc.Insn) uint32 {
	if in.Len == pairLen {
		return uint32(in.Ext[0] >> 32)
	}
	return uint32(in.Ext[0])
}

// wordAt returns the word at pc, if all of it is known. Nothing in front of the
// text is asked for: what Code does not have is not there.
func (a *Arch) wordAt(code reloc.Code, pc uint64) (uint32, bool) {
	b := code.Bytes(pc)
	if len(b) < wordLen {
		return 0, false
	}
	return a.word(b), true
}

// readsLR reports whether the code at pc is mflr and blr: what compilers call to
// learn where they are.
func (a *Arch) readsLR(code reloc.Code, pc uint64) bool {
	b := code.Bytes(pc)
	return len(b) >= 2*wordLen && a.word(b)&^(31<<21) == mflr && a.word(b[wordLen:]) == blr
}

const (
	mflr = 0x7c0802a6 // mflr r0
	blr  = 0x4e800020
)
