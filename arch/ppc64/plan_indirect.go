package ppc64

import "github.com/xol-go/xol/fixups"

// by is the register that holds the target.
func (b *planner) by() fixups.Reg {
	switch familyOf(b.in) {
	case famBCLR:
		return LR
	case famBCCTR:
		return CTR
	}
	return TAR
}

// indirect moves bclr, bcctr and bctar, with their hints. Without LK a copy is right
// anywhere; where it is not taken the slot's way out follows. bcctr with a count of CTR
// is an invalid form (Book I, 2.4): processors disagree about where it goes.
func (b *planner) indirect(step bool) fixups.Reason {
	if r := b.hazards(branchHazards); r != fixups.ReasonNone {
		return r
	}
	if familyOf(b.in) == famBCCTR && b.counts() {
		return fixups.ReasonReserved
	}
	b.p.IsCall = b.lk()
	switch {
	case step:
		return b.stepIndirect()
	case b.lk():
		return b.indirectCall()
	case b.always():
		b.p.Strategy = fixups.StrategyCopy
		b.now(fixups.StateStart, gotoSite, nil)
		b.copy()
		return fixups.ReasonNone
	}
	return b.copyAs(false)
}

// indirectCall is the jump form with LK=1. For bclrl the target leaves LR before the
// return address comes, for a register that is dead at the target. What is not taken
// goes to the address in LR as well, and needs no other way out.
func (b *planner) indirectCall() fixups.Reason {
	slot, r := b.returnsToSlot()
	switch {
	case r != fixups.ReasonNone:
		return r
	case slot && b.always():
		b.p.Returns = fixups.ReturnsSlot
		b.p.Strategy = fixups.StrategyCopy
		b.now(fixups.StateStart, gotoSite, nil)
		b.copy()
		b.escape(fixups.EscapeReturn)
		return b.leaveAfter()
	}
	var h hold
	by := b.by()
	if r := b.lend(&h, by == LR, false); r != fixups.ReasonNone {
		return r
	}
	if by == LR {
		by = b.out
		b.clobber(by)
		b.put(wordMF(h.reg, LR))
		b.put(wordMT(by, h.reg))
	}
	b.link(&h, b.indirectSteps(&h, by))
	b.now(fixups.StatePart, nil, b.indirectSteps(&h, by))
	w := branchBy(by) | b.w&^(maskXL|reservedXL)
	if b.by() == CTR && b.always() {
		b.p.Strategy = max(b.p.Strategy, fixups.StrategyReEncode)
	}
	b.put(w)
	if !b.always() {
		b.leaveLinked()
	}
	return fixups.ReasonNone
}

// indirectSteps is what is left of a branch to the address in by when LR is written.
func (b *planner) indirectSteps(h *hold, by fixups.Reg) fixups.Program {
	q := b.begin()
	h.restore(&q)
	q.op2(fixups.OpAnd, fixups.T(1), fixups.R(by), fixups.Const(^3))
	b.branchSteps(&q, fixups.T(1))
	return q.program()
}

// stepIndirect steps a copy. What it did is seen in the registers that it tested, so an
// address in the slot as its target is not taken for a branch that fell through.
// Behind the copy a trap would not stop it.
func (b *planner) stepIndirect() fixups.Reason {
	if b.env.Stop == fixups.StopTrap {
		return fixups.ReasonNoStop
	}
	slot := false
	if b.lk() {
		var r fixups.Reason
		if slot, r = b.returnsToSlot(); r != fixups.ReasonNone {
			return r
		}
		slot = slot && b.always() && b.near
	}
	b.p.Strategy = fixups.StrategyCopy
	b.now(fixups.StateStart, gotoSite, nil)
	b.copy()
	b.p.Abort = gotoSite
	if slot {
		b.p.Returns = fixups.ReturnsSlot
		b.escape(fixups.EscapeReturn)
		b.guard(b.next())
		return fixups.ReasonNone
	}
	q := b.begin()
	if b.lk() {
		q.mov(fixups.R(LR), fixups.SitePlus(b.next()))
	}
	if !b.always() {
		b.notTaken(&q)
	}
	if b.p.Post = q.program(); len(b.p.Post) == 0 {
		b.p.Post = nil
	}
	if !b.lk() {
		b.guard(b.next())
		return fixups.ReasonNone
	}
	q = b.begin()
	q.mov(fixups.R(LR), fixups.SitePlus(b.next()))
	q.goTo(b.next())
	b.now(fixups.StatePart, nil, q.program())
	b.p.CopyLen = uint16(b.off())
	b.stopper(b.next(), false)
	return fixups.ReasonNone
}
