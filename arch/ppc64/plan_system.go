package ppc64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// systemHazards are the hazards of privileged instructions of which a copy is made:
//
//   - changes-if: the bit that enables external interrupts is what it would be; the
//     consumer must not put another one in its place;
//   - sees-tf, changes-tf: mfmsr, mtmsr and the returns from interrupts, which fault in
//     user mode, and are stepped there alone.
const systemHazards = copyable | fixups.Hazards(1<<fixups.HazardChangesIF|1<<fixups.HazardChangesTF|
	1<<fixups.HazardSeesTF|1<<fixups.HazardKernelEntry|1<<fixups.HazardReadsPC|1<<fixups.HazardPushesPC)

// system moves the privileged instructions. In user mode they fault before they have
// done anything, which a copy does as well, and the point or Abort takes pc back to
// the site. The tail is there even so: a handler, or a kernel that emulates the
// instruction (Linux does that with mfspr of PVR), may step over it.
//
// In kernel mode those that go on elsewhere, or that turn translation, byte order or
// width under the slot, are refused; those that write what a step relies on, or show
// it, are not stepped.
func (b *planner) system(step bool) fixups.Reason {
	kernel, rule := b.env.Mode == reloc.ModeKernel, systemOf(b.in)
	switch {
	case rule == sysNever, kernel && rule == sysUser:
		return fixups.ReasonPrivileged
	case !kernel:
	case rule == sysJump && step:
		return fixups.ReasonNoStop
	}
	if r := b.hazards(systemHazards); r != fixups.ReasonNone {
		return r
	}
	return b.copyAs(step)
}

// rfebb copies the return from an event-based branch, a problem-state instruction: its
// target is in EBBRR, and it never falls through.
func (b *planner) rfebb(step bool) fixups.Reason {
	if r := b.hazards(systemHazards); r != fixups.ReasonNone {
		return r
	}
	b.p.Strategy = fixups.StrategyCopy
	b.now(fixups.StateStart, gotoSite, nil)
	b.copy()
	return b.gone(step)
}

// gone ends a copy that has left the slot, of an instruction that never falls
// through. A trap behind it would not stop it.
func (b *planner) gone(step bool) fixups.Reason {
	if !step {
		return fixups.ReasonNone
	}
	if b.p.Stop == fixups.StopTrap {
		return fixups.ReasonNoStop
	}
	b.guard(b.next())
	b.p.Abort = gotoSite
	return fixups.ReasonNone
}

// transaction moves what works inside a hardware transaction (ISA 2.07B, Book II,
// chapter 5). A step would have ended it. tbegin. leaves the address behind itself as
// the handler's, which is the slot's, where the transaction would come back to; as an
// immediate failure it has to set TEXASR, TFIAR and TFHAR, which no consumer can.
func (b *planner) transaction(f family, step bool) fixups.Reason {
	switch {
	case f == famTMPriv && b.env.Mode == reloc.ModeUser:
		if r := b.hazards(systemHazards | fixups.HazardTransaction.Bit()); r != fixups.ReasonNone {
			return r
		}
		return b.copyAs(step) // faults
	case f != famTM, step:
		return fixups.ReasonTransaction
	}
	if r := b.hazards(copyable | fixups.HazardTransaction.Bit()); r != fixups.ReasonNone {
		return r
	}
	return b.copyAs(false)
}
