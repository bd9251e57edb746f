package ppc64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// sc leaves nothing of pc in registers that the program sees: SRR0 has it, and the
// kernel returns there, in the child of clone, fork or vfork too. scv leaves the
// address behind itself in LR, and the MSR in CTR (Book I, 3.3.1; Book III, 4.3.1), and
// the kernel returns to LR; so the copy is followed by LR := end of the site, and
// every boundary from the end of the copy on has a program that does the same.
//
// A call that is restarted after a signal comes back at the start of the copy.

// callHazards are the hazards of system calls that plans deal with.
const callHazards = copyable | fixups.Hazards(1<<fixups.HazardKernelEntry|1<<fixups.HazardKernelSeesPC|
	1<<fixups.HazardPushesPC|1<<fixups.HazardReadsPC)

// escape lists the current offset as an address that outlives the visit.
func (b *planner) escape(k fixups.EscapeKind) {
	b.p.Escapes = append(b.p.Escapes, fixups.Escape{Off: uint16(b.off()), Kind: k})
}

// systemCall copies sc, also as the hypercall that kernels make. LR and TAR come back as
// they were; CTR, which the kernel may overwrite, is no way out of a far slot.
func (b *planner) systemCall(step bool) fixups.Reason {
	if r := b.hazards(callHazards); r != fixups.ReasonNone {
		return r
	}
	if !step {
		if r := b.ready(b.next()); r != fixups.ReasonNone {
			return r
		}
	} else {
		b.now(fixups.StateStart, gotoSite, nil)
	}
	b.p.Strategy = max(b.p.Strategy, fixups.StrategyCopy)
	b.copy()
	b.escape(fixups.EscapeChild)
	if !step {
		b.tail()
		return fixups.ReasonNone
	}
	b.guard(b.next())
	b.p.Abort = gotoSite
	q := b.begin()
	b.afterCall(&q)
	b.p.Post = q.program()
	return fixups.ReasonNone
}

// afterCall appends the decision by pc: behind the copy the site is done, at its start
// the call is to be made again. pc is read once, since the end of the site may be the
// start of the slot.
func (b *planner) afterCall(q *steps) {
	t1 := fixups.T(1)
	q.mov(t1, fixups.PC())
	q.skip(1, t1, fixups.CondNE, fixups.SlotPlus(int64(b.p.CopyLen)))
	q.goTo(b.next())
	q.skip(1, t1, fixups.CondNE, fixups.SlotPlus(0))
	q.goTo(0)
}

// systemCallVectored copies scv in user code. What the kernel overwrites, by the
// convention of the call, a register borrowed before it would have to fear, so one is
// borrowed behind it. What is in LR then is also the way out of a far slot.
func (b *planner) systemCallVectored(step bool) fixups.Reason {
	if b.env.Mode == reloc.ModeKernel {
		return fixups.ReasonPrivileged
	}
	if r := b.hazards(callHazards); r != fixups.ReasonNone {
		return r
	}
	b.p.Strategy = fixups.StrategyCopy
	b.now(fixups.StateStart, b.linked(0), nil)
	b.copy()
	b.escape(fixups.EscapeChild)
	if step {
		b.stepVectored()
		return fixups.ReasonNone
	}
	var h hold
	busy := allGeneral
	busy.Add(LR)
	busy.Add(CTR)
	if !b.borrow(&h, &fixups.RegSet{}, &busy, false) {
		return fixups.ReasonNoScratch
	}
	b.p.Strategy = h.strategy()
	b.now(fixups.StatePart, nil, b.linked(b.next()))
	b.putAway(&h)
	b.now(fixups.StatePart, nil, b.linkedHeld(&h))
	b.build(h.reg, b.next())
	b.put(wordMT(LR, h.reg))
	b.give(&h)
	b.leaveLinked()
	return fixups.ReasonNone
}

// linked is the program of a boundary before the call, delta 0, or behind it. Before
// it LR is the program's, unless the kernel has been entered from the slot and makes
// the call again: then it is what the site would have left.
func (b *planner) linked(delta int64) fixups.Program {
	q := b.begin()
	if delta == 0 {
		q.skip(1, fixups.R(LR), fixups.CondNE, fixups.SlotPlus(b.next()))
	}
	q.mov(fixups.R(LR), fixups.SitePlus(b.next()))
	q.goTo(delta)
	return q.program()
}

// linkedHeld is linked behind the call with a register borrowed.
func (b *planner) linkedHeld(h *hold) fixups.Program {
	q := b.begin()
	h.restore(&q)
	q.mov(fixups.R(LR), fixups.SitePlus(b.next()))
	q.goTo(b.next())
	return q.program()
}

// stepVectored ends the step form. The child of clone, which runs on unstepped, would
// need LR put right: its guard is a trap.
func (b *planner) stepVectored() {
	b.now(fixups.StatePart, nil, b.linked(b.next()))
	b.p.CopyLen = uint16(b.off())
	b.stopper(b.next(), false)
	q := b.begin()
	t1, lr := fixups.T(1), fixups.R(LR)
	q.mov(t1, fixups.PC())
	q.skip(1, lr, fixups.CondNE, fixups.SlotPlus(b.next()))
	q.mov(lr, fixups.SitePlus(b.next()))
	q.skip(1, t1, fixups.CondNE, fixups.SlotPlus(b.next()))
	q.goTo(b.next())
	q.skip(1, t1, fixups.CondNE, fixups.SlotPlus(0))
	q.goTo(0)
	b.p.Post = q.program()
	b.p.Abort = b.linked(0)
}
