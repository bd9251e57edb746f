package arm64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Patch implements [reloc.Patcher]. A trap and a branch are both one word, so each
// can replace any instruction. The exceptions:
//
//   - Inside the window of an exclusive access a trap clears the monitor for ever,
//     and so may a branch into a slot. CLREX, which does that itself, is not inside.
//   - Between the instructions of a memory copy or set, or behind a MOVPRFX or PACM,
//     nothing else may stand: what the next instruction does would change.
//   - The kernel compares the signature of a restartable sequence with the word in
//     front of the abort handler: no patch.
//   - What an indirect branch may lead to in a guarded page has to be a landing pad
//     (D8.4.5). BRK is taken before the branch type is looked at, a B is not, so
//     where pages are guarded, or may be, a pad is not replaced by a branch.
//   - In kernel mode a trap overwrites what the registers of exceptions say of the
//     last one, so who reads them is not entered by one.
func (a *Arch) Patch(in *reloc.Insn, env *reloc.Env) fixups.Patch {
	switch {
	case in.Class == fixups.ClassInvalid, uint32(in.Ext[0]) == rseqSignature:
		return 0
	case in.Hazards.Has(fixups.HazardExclusive) && !endsWindow(uint32(in.Ext[0])), in.Hazards.Has(fixups.HazardAdjacent):
		return 0
	case isPad(in) && env.BTI != reloc.Off:
		return fixups.PatchTrap
	case env.Mode == reloc.ModeKernel && readsException(uint32(in.Ext[0])):
		return fixups.PatchBranch
	}
	return fixups.PatchTrap | fixups.PatchBranch
}

// readsException reports whether w is MRS of what an exception to the kernel leaves:
// of exception levels 1 and 2, by either name, SPSR, ELR (CRn 4, CRm 0), AFSR and ESR
// (5), FAR and HPFAR (6) (C5.2, D23.2).
func readsException(w uint32) bool {
	if w&0xfff80000 != 0xd5380000 {
		return false
	}
	op1, crn, crm := w>>16&7, w>>shiftCRn&15, w>>8&15
	return (op1 == 0 || op1 == 4 || op1 == 5) && (crn == 4 && crm == 0 || crn == 5 || crn == 6)
}

// isPad reports whether an indirect branch can lead to in where pages are guarded:
// BTI with a target, and the instructions that sign the link register, but for
// PACNBIASPPC and PACNBIBSPPC.
func isPad(in *reloc.Insn) bool {
	w := uint32(in.Ext[0])
	switch familyOf(in) {
	case famBTI:
		return w != btiNone
	case famPACPPC:
		return w&bitPad != 0
	}
	return w&^0x40 == paciasp
}

const (
	btiNone = 0xd503241f
	paciasp = 0xd503233f // PACIBSP differs in bit 6
)
