package arm64

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Context implements [reloc.Contexter]. These neighbours matter on A64:
//
//   - MOVPRFX in front of the site: the two may be executed as one, and behind a
//     MOVPRFX nothing may stand but an instruction that it allows (C8.2, MOVPRFX).
//     Apart from each other the one behind would be in the wrong place.
//   - PACM in front of the site: what signs or authenticates the link register next
//     takes another modifier, among them its own pc (D8.10, FEAT_PAuth_LR).
//   - Between a load exclusive and its store exclusive any detour through an
//     exception ends in a lost monitor (B2.12.2): the loop would never end.
//   - The signature word of a restartable sequence stands in front of its abort
//     handler; who enters the handler comes from the kernel.
//
// The memory copy and set instructions, of which three follow one another, are
// refused by themselves.
func (a *Arch) Context(in *reloc.Insn, env *reloc.Env) error {
	if env.Code == nil {
		return nil
	}
	if before, ok := wordAt(env.Code, in.PC-wordLen); ok {
		switch {
		case isPrefix(before):
			in.Hazards |= fixups.HazardAdjacent.Bit()
			return fixups.ReasonAdjacent
		case before == rseqSignature:
			in.Hazards |= fixups.HazardRSeq.Bit()
		}
	}
	if inWindow(in, env.Code) {
		in.Hazards |= fixups.HazardExclusive.Bit()
		return fixups.ReasonExclusive
	}
	return nil
}

// rseqSignature is BRK #0x45e0, which Linux on A64 expects in front of the abort
// handler of a restartable sequence.
const rseqSignature = 0xd428bc00

// isPrefix reports whether w is MOVPRFX, in either form, or PACM.
func isPrefix(w uint32) bool {
	return w&0xfffffc00 == 0x0420bc00 || w&0xff3ee000 == 0x04102000 || w == 0xd50324ff
}

// wordAt returns the word at pc, if all of it is known.
func wordAt(code reloc.Code, pc uint64) (uint32, bool) {
	b := code.Bytes(pc)
	if len(b) < wordLen {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b), true
}
