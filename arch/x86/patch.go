package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Patch implements [reloc.Patcher].
//
// A landing pad cannot be replaced by a branch where indirect branch tracking is
// on, or may be: whoever arrives by an indirect branch must find ENDBR. A trap is
// offered all the same: direct arrivals reach it, and who writes it must make
// indirect ones arrive elsewhere, as kprobes does by moving behind the pad.
//
// Behind an instruction that delays traps, a trap is reported late; such sites
// are refused by Context and have no patch. Sites that themselves delay traps can
// be entered by either: both transfers happen before they run.
func (a *Arch) Patch(in *reloc.Insn, env *reloc.Env) fixups.Patch {
	p := fixups.PatchTrap | fixups.PatchBranch
	switch {
	case in.Class == fixups.ClassInvalid || in.Hazards.Has(fixups.HazardAdjacent) || isRSeqSignature(in):
		return 0
	case isEndbr(in) && env.IBT != reloc.Off:
		p &^= fixups.PatchBranch
	}
	return p
}

// isEndbr reports whether in is ENDBR32 or ENDBR64.
func isEndbr(in *reloc.Insn) bool {
	l := lay(in)
	return l.opmap() == 1 && l.opcode() == 0x1e && l.enc() == encLegacy && l.pfx(pfxF3) &&
		(l.modrm() == 0xfa || l.modrm() == 0xfb)
}
