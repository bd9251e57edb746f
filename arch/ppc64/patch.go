package ppc64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Patch implements [reloc.Patcher]. A trap and a branch are both one word, so each
// can replace any instruction; of two words the prefix is replaced, and the suffix
// behind it is never reached. The exceptions:
//
//   - The kernel compares the signature of a restartable sequence with the word in
//     front of the abort handler: no patch.
//   - Inside the window of a reservation a trap makes the store conditional fail for
//     ever, and so may a branch into a slot.
func (a *Arch) Patch(in *reloc.Insn, env *reloc.Env) fixups.Patch {
	switch {
	case in.Class == fixups.ClassInvalid, in.Len == wordLen && uint32(in.Ext[0]) == rseqSignature:
		return 0
	case in.Hazards.Has(fixups.HazardExclusive):
		return 0
	}
	return fixups.PatchTrap | fixups.PatchBranch
}
