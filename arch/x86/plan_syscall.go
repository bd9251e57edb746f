package x86

import "github.com/xol-go/xol/fixups"

// SYSCALL leaves the address behind it in rcx and the flags in r11 (SDM volume 2,
// SYSCALL), and the kernel returns there, in the child of clone, fork or vfork too.
// So the copy is followed by rcx := end of the site, and every boundary from the
// end of the copy on has a program that does the same.
//
// A call that is restarted after a signal comes back at the start of the copy with
// rcx and r11 written: going back from there repairs them as well.
//
// A program with its own trap flag set traps behind the instruction that follows
// the call (Linux returns to it with the flag set). In the jump form that is the
// load of rcx, so the trap comes one instruction early; in the step form it comes
// where it would.
//
// In 32-bit mode the kernel does not return behind SYSCALL, nor behind SYSENTER in
// either mode, but to a place of its own beside the one SYSENTER that it knows.

const bitTF = 8

// syscall moves SYSCALL in user code of 64-bit mode.
func (b *planner) syscall(step bool) fixups.Reason {
	h := copyable | fixups.Hazards(1<<fixups.HazardKernelEntry|1<<fixups.HazardKernelSeesPC|
		1<<fixups.HazardPushesPC|1<<fixups.HazardSeesTF)
	if r := b.hazards(h); r != fixups.ReasonNone {
		return r
	}
	b.p.Strategy = fixups.StrategyLiteral
	b.syscallStart(step)
	b.bytes(b.in.Bytes[:b.in.Len]...)
	b.p.Escapes = append(b.p.Escapes, fixups.Escape{Off: uint16(b.in.Len), Kind: fixups.EscapeChild})
	if step {
		b.stepSyscall()
		return fixups.ReasonNone
	}
	b.point(fixups.StatePart, nil, b.p.Program(
		mov(fixups.R(RCX), fixups.SitePlus(b.next())), mov(fixups.PC(), fixups.SitePlus(b.next()))))
	b.movImm(1, b.next())
	return b.tail(b.next())
}

// syscallStart is the boundary before the copy.
func (b *planner) syscallStart(step bool) {
	q := b.begin()
	if tf := step && b.env.Stop == fixups.StopHardware; tf {
		q.extract(fixups.T(0), b.flags(), bitTF, 1)
		b.restarted(&q, tf)
	} else {
		b.restarted(&q, false)
	}
	q.mov(fixups.PC(), fixups.SitePlus(0))
	b.point(fixups.StateStart, q.program(), nil)
}

// restarted appends: if the kernel has been entered from the slot, rcx holds the
// address behind the copy, which no program knows by itself: put back what the
// site would have left.
func (b *planner) restarted(q *steps, tf bool) {
	n := 1
	if tf {
		n = 2
	}
	q.skip(n, fixups.R(RCX), fixups.CondNE, fixups.SlotPlus(b.next()), b.width())
	b.syscallRegs(q, tf)
}

// syscallRegs appends what the site leaves in rcx and, if the copy was stepped with
// the trap flag set, in r11: the program's own flag, which is in t0.
func (b *planner) syscallRegs(q *steps, tf bool) {
	q.mov(fixups.R(RCX), fixups.SitePlus(b.next()))
	if tf {
		q.insert(fixups.R(r11), fixups.T(0), bitTF, 1)
	}
}

const r11 fixups.Reg = 11

// stepSyscall ends the step form. The thread that is stepped stops at the end of
// the copy, or wherever the kernel took it (rt_sigreturn, execve); Post and Abort
// go by pc, as the signal that ends a call stops it there too. A child runs on,
// unstepped, through the guard, with the stepper's trap flag in r11: it is taken
// out by LEA, which leaves the flags alone. A program that has set its own trap flag
// has it in the flags as well, so the programs of the points take it from there;
// only the code of the guard cannot, in a child of a program that steps itself.
func (b *planner) stepSyscall() {
	tf := b.env.Stop == fixups.StopHardware
	if tf {
		b.p.Pre = b.p.Program(extract(fixups.T(0), b.flags(), bitTF, 1))
	}
	b.point(fixups.StatePart, nil, b.childLeaves(true, tf))
	b.p.CopyLen = uint16(b.off())
	if tf {
		b.movImm(1, b.next())
		b.point(fixups.StatePart, nil, b.childLeaves(false, tf))
		b.bytes(0x4d, 0x8d, 0x9b, 0x00, 0xff, 0xff, 0xff) // lea r11,[r11-0x100]
		b.done(b.next())
	}
	b.stopper(b.next())
	b.p.Post, b.p.Abort = b.syscallPost(tf, false), b.syscallPost(tf, true)
}

// childLeaves is the way out of the guard.
func (b *planner) childLeaves(rcx, tf bool) fixups.Program {
	q := b.begin()
	if rcx {
		q.mov(fixups.R(RCX), fixups.SitePlus(b.next()))
	}
	if tf {
		q.extract(fixups.T(0), b.flags(), bitTF, 1)
		q.insert(fixups.R(r11), fixups.T(0), bitTF, 1)
	}
	q.mov(fixups.PC(), fixups.SitePlus(b.next()))
	return q.program()
}

// syscallPost is Post and, with start, Abort. After a trap pc is reported at the
// trap or behind it, but a signal comes before the trap.
func (b *planner) syscallPost(tf, start bool) fixups.Program {
	t1 := fixups.T(1)
	n := 2
	if tf {
		n = 3
	}
	q := b.begin()
	q.mov(t1, fixups.PC())
	if start || tf {
		q.skip(n, t1, fixups.CondNE, fixups.SlotPlus(b.next()), b.width())
	} else {
		q.atStop(b, b.next(), n)
	}
	b.syscallRegs(&q, tf)
	q.mov(fixups.PC(), fixups.SitePlus(b.next()))
	q.skip(n+1, t1, fixups.CondNE, fixups.SlotPlus(0), b.width())
	b.restarted(&q, tf)
	q.mov(fixups.PC(), fixups.SitePlus(0))
	return q.program()
}
