package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// What may be done with instructions of the system, by the attribute sys of their
// rows; tables/README.md says when a row has which. The generator demands one of
// every row that is privileged, a trap or an entry into the kernel, so that none of
// them is planned, or refused, because nobody thought of it.
const (
	_          = iota
	sysCopy    // a copy, in both modes
	sysJump    // in kernel mode it changes what a step relies on: a copy in the jump form only
	sysUser    // in user mode a copy; in kernel mode it does not come back, or the slot may not be there any more
	sysNever   // where it comes back to, or what it finds, depends on the site
	sysFault   // always faults
	sysTrap    // traps behind itself
	sysInt     // software interrupt
	sysSyscall // enters the kernel with the address behind it in a register
)

// system moves the instructions that have a rule.
//
// In user mode most of them fault before they have done anything, which a copy does
// as well, and the point or Abort takes pc back to the site. Where the system lets
// user code run them after all (port I/O by permission bitmap, CLI and STI with
// IOPL 3, MONITOR, hypercalls), none reads or writes pc, and a copy does what the
// site does.
func (b *planner) system(step bool) fixups.Reason {
	kernel := b.env.Mode == reloc.ModeKernel
	switch rule := systemRules[b.in.Row]; {
	case rule == sysCopy, rule == sysFault, rule == sysUser && !kernel, rule == sysJump && !(kernel && step):
		return b.systemCopy(step)
	case kernel && b.in.Hazards.Has(fixups.HazardShadow):
		return fixups.ReasonAdjacent
	case rule == sysJump:
		return fixups.ReasonNoStop
	case rule == sysTrap && !kernel:
		return b.trap(step)
	case rule == sysInt && !kernel:
		return b.softInt(step)
	case rule == sysSyscall && !kernel:
		return b.syscall(step)
	}
	return fixups.ReasonPrivileged
}

// systemHazards are the hazards of instructions with the rules of which a copy is
// made:
//
//   - changes-if: the interrupt flag is what it would be; the consumer must not put
//     another one in its place;
//   - changes-tf: only SYSRET, RSM and ERETx have it, which fault;
//   - shadow: STI in user mode. It holds back interrupts, which user code cannot
//     tell from none, and no single-step, unlike MOV SS (SDM volume 2, STI);
//   - kernel-entry: hypercalls, which come back behind themselves.
const systemHazards = copyable | fixups.Hazards(1<<fixups.HazardChangesIF|1<<fixups.HazardChangesTF|
	1<<fixups.HazardShadow|1<<fixups.HazardKernelEntry|1<<fixups.HazardReadsPC)

// systemCopy copies. The tail is there even behind what always faults: a handler
// may step over the instruction. A kernel's own UD2 or UD1 is an assertion: its
// handler looks up the address of it.
func (b *planner) systemCopy(step bool) fixups.Reason {
	if r := b.hazards(systemHazards); r != fixups.ReasonNone {
		return r
	}
	if b.in.Class == fixups.ClassTrap && b.env.Mode == reloc.ModeKernel {
		b.in.Hazards |= fixups.HazardKeyedByPC.Bit()
	}
	if b.l.has(flagRIPRel) && systemRules[b.in.Row] != sysFault {
		return b.pcRelative(step)
	}
	b.p.Strategy = fixups.StrategyCopy
	b.start()
	b.bytes(b.in.Bytes[:b.in.Len]...)
	if !step {
		return b.tail(b.next())
	}
	b.guard(b.next())
	b.p.Post, b.p.Abort = b.postCopy(), gotoSite
	return fixups.ReasonNone
}
