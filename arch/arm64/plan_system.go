package arm64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// systemHazards are the hazards of system instructions of which a copy is made:
//
//   - changes-if, changes-tf, sees-tf: DAIF and its like. In user mode they are
//     undefined unless the system lets user code mask interrupts, which the copy
//     does then; in kernel mode there is no step form;
//   - kernel-entry, kernel-sees-pc: HVC and SMC, which come back behind themselves.
const systemHazards = copyable | fixups.Hazards(1<<fixups.HazardChangesIF|1<<fixups.HazardChangesTF|
	1<<fixups.HazardSeesTF|1<<fixups.HazardKernelEntry|1<<fixups.HazardKernelSeesPC|
	1<<fixups.HazardPushesPC)

// system moves the instructions that have to do with exceptions and the state of
// the system, by family.
//
// In user mode they fault before they have done anything, which a copy does as
// well, and the point or Abort takes pc back to the site. Where the system does
// them for user code after all (reads of identification registers, cache
// maintenance, waits), it goes on behind them, and none reads or writes pc.
func (b *planner) system(step bool, f family) fixups.Reason {
	if r := b.hazards(systemHazards); r != fixups.ReasonNone {
		return r
	}
	kernel := b.env.Mode == reloc.ModeKernel
	switch f {
	case famSVC:
		if kernel {
			return fixups.ReasonPrivileged
		}
		return b.syscall(step)
	case famBRK, famHLT, famUDF, famDCPS:
		return b.trap(step)
	case famERET:
		if kernel {
			return fixups.ReasonPrivileged // where it goes, and with which masks, is in registers that a probe's trap has overwritten
		}
		return b.copied(step)
	case famHVC, famSMC, famWait:
		return b.copied(step)
	case famDAIF, famSPSel:
		if kernel && step {
			return fixups.ReasonNoStop
		}
		return b.copied(step)
	case famSystem:
		return b.systemRegister(step, kernel)
	}
	return fixups.ReasonUnknown
}

// systemRegister moves privileged MRS, MSR, SYS and their like. In kernel mode a
// trap or a step on the way overwrites the registers that say where an exception
// came from, so reads and writes of system registers have no step form; and a
// copy does not control the translation that its own slot is fetched through.
func (b *planner) systemRegister(step, kernel bool) fixups.Reason {
	if kernel && b.namesRegister() {
		switch {
		case step:
			return fixups.ReasonNoStop
		case b.controlsTranslation():
			return fixups.ReasonPrivileged
		}
	}
	return b.copied(step)
}

// Fields of the system instructions (Arm ARM, C5.1.2): op0 in bits 20 to 19, where
// 2 and 3 are registers and 1 is SYS; L, bit 21, is set where it reads.
const (
	bitRead  = 1 << 21
	shiftOp0 = 19
	shiftCRn = 12
)

func (b *planner) namesRegister() bool { return b.w>>shiftOp0&3 >= 2 }

// controlsTranslation reports whether the instruction writes a register with
// CRn 1, 2 or 10: SCTLR, TTBR, TCR, MAIR and others of virtual memory and of the
// system's control (Arm ARM, D23.2).
func (b *planner) controlsTranslation() bool {
	if b.w&bitRead != 0 || b.w>>shiftOp0&3 != 3 {
		return false
	}
	crn := b.w >> shiftCRn & 15
	return crn == 1 || crn == 2 || crn == 10
}
