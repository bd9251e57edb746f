package ppc64

import "github.com/xol-go/xol/fixups"

// branches are the hazards of branches, calls and returns that their plans deal with.
const branchHazards = copyable | fixups.Hazards(1<<fixups.HazardPushesPC|1<<fixups.HazardReadsPC)

// branch moves b and bc: relative or absolute, with and without LK.
func (b *planner) branch(step bool) fixups.Reason {
	if r := b.hazards(branchHazards); r != fixups.ReasonNone {
		return r
	}
	direct := familyOf(b.in) == famB || b.always()
	b.p.IsCall = b.lk()
	switch {
	case step && direct:
		return b.stepBranch()
	case step:
		return b.stepCond()
	case b.lk() && direct:
		return b.call()
	case b.lk():
		return b.condLink()
	case direct:
		return b.jump()
	}
	return b.cond()
}

// jump is the jump form of a branch that is always taken.
func (b *planner) jump() fixups.Reason {
	b.now(fixups.StateStart, gotoSite, nil)
	switch {
	case b.aa():
		b.absolute()
	case b.near:
		b.p.Strategy = fixups.StrategyReEncode
		b.putB(wordB, b.target())
	default:
		if r := b.ready(b.target()); r != fixups.ReasonNone {
			return r
		}
		b.now(fixups.StateDone, nil, b.jumpToDest())
		b.leave(b.target())
	}
	return fixups.ReasonNone
}

// absolute copies a branch to an absolute address, which reaches it from every slot,
// without its LK.
func (b *planner) absolute() {
	b.p.Strategy = max(b.p.Strategy, fixups.StrategyCopy)
	b.put(b.w &^ 1)
}

// absoluteB is the ba to the same address.
func (b *planner) absoluteB() uint32 {
	if familyOf(b.in) == famB {
		return b.w &^ 1
	}
	return wordB | 2 | uint32(int32(int16(b.w&0xfffc)))&0x03fffffc
}

// cond is the jump form of a conditional branch. The opcode is kept, with its count of
// CTR and its hints, and chooses between two ways out: the condition is tested once.
func (b *planner) cond() fixups.Reason {
	b.now(fixups.StateStart, gotoSite, nil)
	switch {
	case b.aa():
		return b.condAbsolute()
	case b.near && b.close:
		b.p.Strategy = fixups.StrategyReEncode
		b.putBC(b.target())
		b.tail()
	case b.near:
		b.p.Strategy = fixups.StrategyIsland
		b.put(b.condTo(8))
		b.tail()
		b.now(fixups.StateDone, nil, b.jumpToDest())
		b.putB(wordB, b.target())
	default:
		return b.farCond()
	}
	return fixups.ReasonNone
}

// condTo is the branch without LK and AA, to d bytes ahead.
func (b *planner) condTo(d int) uint32 { return wordBC | b.w&0x03ff0000 | uint32(d) }

// Displacements of bc: a multiple of 4 in [-condSpan, condSpan).
const condSpan = 1 << 15

// putBC appends the branch itself, to Site + delta.
func (b *planner) putBC(delta int64) {
	b.mark()
	r := b.newReloc(2, 14, 2, delta)
	r.PCRel, r.Check = true, fixups.CheckSigned
	b.within(delta-int64(b.off()), condSpan, 4)
	b.word(b.condTo(0))
}

// condAbsolute copies: the target is the same from every slot.
func (b *planner) condAbsolute() fixups.Reason {
	if r := b.ready(b.next()); r != fixups.ReasonNone {
		return r
	}
	b.absolute()
	b.tail()
	return fixups.ReasonNone
}

// farCond has a register borrowed before the branch, which does not touch memory, and
// two ways out behind it, each of which gives it back.
func (b *planner) farCond() fixups.Reason {
	var h hold
	if r := b.lend(&h, true, false); r != fixups.ReasonNone {
		return r
	}
	b.p.Strategy = fixups.StrategyIsland
	at := b.off()
	b.put(b.condTo(0))
	again := h
	b.departHeld(&h, b.out, b.next())
	b.a.putWord(b.p.Code, at, b.condTo(b.off()-at))
	b.departHeld(&again, b.out, b.target())
	b.p.Tail = fixups.TailJump
	return fixups.ReasonNone
}

// stepBranch steps a copy that is taken to its own end, so that it stops where any
// copy does; the branch is Post's, and so is LR.
func (b *planner) stepBranch() fixups.Reason {
	b.p.Strategy = fixups.StrategyReEncode
	slot := false
	if b.lk() {
		var r fixups.Reason
		if slot, r = b.returnsToSlot(); r != fixups.ReasonNone {
			return r
		}
	}
	// Nobody can return to a trap.
	slot = slot && b.near && b.env.Stop == fixups.StopHardware
	b.now(fixups.StateStart, gotoSite, nil)
	b.put(wordB | 4)
	b.p.Abort = gotoSite
	done := b.branched(slot)
	q := b.begin()
	q.skip(len(done), fixups.PC(), fixups.CondNE, fixups.SlotPlus(4))
	for i := range done {
		*q.p.Add() = done[i]
	}
	b.p.Post = q.program()
	if slot {
		b.p.Returns = fixups.ReturnsSlot
		b.escape(fixups.EscapeReturn)
		b.guard(b.next())
		return fixups.ReasonNone
	}
	b.now(fixups.StatePart, nil, done)
	b.p.CopyLen = 4
	b.stopTarget()
	return fixups.ReasonNone
}

// stopTarget is the stop of a branch that is taken.
func (b *planner) stopTarget() {
	if b.aa() && !b.lk() && b.env.Stop == fixups.StopHardware {
		b.p.Tail = fixups.TailJump
		b.put(b.absoluteB())
		return
	}
	b.stopper(b.target(), !b.lk())
}

// branched is what is left when the copy has been stepped.
func (b *planner) branched(slot bool) fixups.Program {
	q := b.begin()
	switch {
	case slot:
		q.mov(fixups.R(LR), fixups.SlotPlus(4))
	case b.lk():
		q.mov(fixups.R(LR), fixups.SitePlus(b.next()))
	}
	q.mov(fixups.PC(), b.dest())
	return q.program()
}

// stepCond lets the copy choose between two stops, with neither LK nor AA. Post tells
// by pc which it was.
func (b *planner) stepCond() fixups.Reason {
	b.p.Strategy = fixups.StrategyReEncode
	b.now(fixups.StateStart, gotoSite, nil)
	b.put(b.condTo(8))
	b.p.CopyLen = 4
	b.p.Abort = gotoSite
	b.stopCond(fixups.SitePlus(b.next()))
	b.stopper(b.next(), !b.lk())
	b.stopCond(b.dest())
	if b.p.Tail == fixups.TailJump {
		b.stopTarget()
	} else {
		b.put(wordTrap)
	}
	t1 := fixups.T(1)
	q := b.begin()
	q.mov(t1, fixups.PC())
	q.skip(1, t1, fixups.CondNE, fixups.SlotPlus(4))
	q.goTo(b.next())
	q.skip(1, t1, fixups.CondNE, fixups.SlotPlus(8))
	q.mov(fixups.PC(), b.dest())
	if b.lk() {
		q.skip(1, t1, fixups.CondEQ, fixups.SlotPlus(0))
		q.mov(fixups.R(LR), fixups.SitePlus(b.next()))
	}
	b.p.Post = q.program()
	return fixups.ReasonNone
}

// stopCond says what the boundary of one of the two stops offers.
func (b *planner) stopCond(to fixups.Operand) {
	q := b.begin()
	b.state = fixups.StateDone
	if b.lk() {
		b.state = fixups.StatePart
		q.mov(fixups.R(LR), fixups.SitePlus(b.next()))
	}
	q.mov(fixups.PC(), to)
	b.now(b.state, nil, q.program())
}
