package arm64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// call moves BL under either policy: the callee finds the return address that it
// would find without the probe (x30 is loaded, and a branch), or one in the slot (a
// call and a tail). A call of the next instruction asks for pc, so it gets the
// site's.
func (b *planner) call(step bool) fixups.Reason {
	if r := b.hazards(transfers); r != fixups.ReasonNone {
		return r
	}
	if r := b.policy(); r != fixups.ReasonNone {
		return r
	}
	if b.target() == b.next() {
		b.p.Returns = fixups.ReturnsOriginal
	}
	switch {
	case step:
		return b.stepCall()
	case b.p.Returns == fixups.ReturnsSlot:
		return b.callFromSlot()
	}
	return b.linkAndBranch()
}

// policy says which return address a call leaves, and refuses one in the slot
// where none may be: Go's runtime looks every return address up, for tracebacks and
// when it moves stacks, and knows no slot.
func (b *planner) policy() fixups.Reason {
	b.p.IsCall = true
	b.p.Returns = b.env.Return
	if b.p.Returns == fixups.ReturnsSlot && b.env.Lang == reloc.LangGo {
		return fixups.ReasonReturnAddress
	}
	return fixups.ReasonNone
}

// original refuses a branch in place of a call where the guarded control stack
// would miss it, since the callee's return compares with that, and tells of it
// where that is not known.
func (b *planner) original() fixups.Reason {
	switch b.env.GCS {
	case reloc.On:
		return fixups.ReasonShadowStack
	case reloc.Unknown:
		b.in.Hazards |= fixups.HazardShadowStack.Bit()
	}
	return fixups.ReasonNone
}

// linkAndBranch loads x30 with the address behind the site and leaves to the
// target. The site overwrites x30 too, and nothing between faults, so all that a
// thread stopped half way needs is the rest.
func (b *planner) linkAndBranch() fixups.Reason {
	if r := b.original(); r != fixups.ReasonNone {
		return r
	}
	b.p.Strategy = fixups.StrategyReEncode
	if b.dist == distFar {
		b.p.Strategy = fixups.StrategyDeadReg
	}
	b.start()
	b.link(func() { b.linked(fixups.StatePart, fixups.SitePlus(b.target()), btypeNone) })
	b.done(b.target())
	return b.leave(b.target())
}

// link emits x30 := end of the site and calls mid at each boundary inside it.
func (b *planner) link(mid func()) {
	if b.dist == distShort {
		b.adr(lr, b.next())
		return
	}
	b.address(lr, b.next(), mid)
}

// linked is a boundary from which the call goes on to pc, with the return address
// of the site.
func (b *planner) linked(s fixups.State, pc fixups.Operand, btype int64) {
	q := b.begin()
	if s != fixups.StateDone {
		q.mov(xreg(lr), fixups.SitePlus(b.next()))
	}
	b.setBType(&q, btype)
	q.mov(fixups.PC(), pc)
	b.point(s, nil, q.program())
}

// callFromSlot calls the target. What BL does not reach, x30 can hold, since the
// call overwrites it: BLR x30 reads it first.
func (b *planner) callFromSlot() fixups.Reason {
	b.start()
	if b.dist != distFar {
		b.p.Strategy = fixups.StrategyReEncode
		b.relative(wordBL, b.target(), 0, 26)
		return b.returned()
	}
	if r := b.callPad(b.target()); r != fixups.ReasonNone {
		return r
	}
	b.p.Strategy = fixups.StrategyDeadReg
	ret := int64(8)
	if b.env.ExecuteOnly {
		ret = 20
	}
	mid := func() {
		q := b.begin()
		b.pushGCS(&q, fixups.SlotPlus(ret))
		q.mov(xreg(lr), fixups.SlotPlus(ret))
		q.mov(fixups.PC(), fixups.SitePlus(b.target()))
		b.point(fixups.StatePart, nil, q.program())
	}
	b.address(lr, b.target(), mid)
	mid()
	b.emit(wordBLR | lr<<5)
	return b.returned()
}

// pushGCS appends the push of a return address onto the guarded control stack, if
// there is one, for a program that calls.
func (b *planner) pushGCS(q *steps, ret fixups.Operand) {
	switch b.env.GCS {
	case reloc.On:
		q.shadow(fixups.OpShPush, fixups.Operand{}, ret)
		b.p.Needs |= fixups.NeedsShadowStack
	case reloc.Unknown:
		b.in.Hazards |= fixups.HazardShadowStack.Bit()
	}
}

// callPad refuses a call by a register in place of BL where pages are guarded: BL
// asks for no landing pad at its target, BLR does (Arm ARM, D8.4.6.2).
func (b *planner) callPad(delta int64) fixups.Reason {
	if b.env.BTI == reloc.On && !b.isCallPad(delta) {
		return fixups.ReasonNoReach
	}
	b.clobberBType()
	return fixups.ReasonNone
}

// returned ends a call in the slot: the current offset is where it returns to. A
// register that was dead before the call may hold a result behind it, but not x16
// and x17, which no procedure returns anything in (AAPCS64, 6.1.1).
func (b *planner) returned() fixups.Reason {
	b.escape()
	b.free()
	b.leaving &= 1<<ip0 | 1<<ip1
	return b.tail(b.next())
}

// escape lists the current offset as a return address that is out.
func (b *planner) escape() {
	b.p.Escapes = append(b.p.Escapes, fixups.Escape{Off: uint16(b.off()), Kind: fixups.EscapeReturn})
}

// stepCall steps a copy that calls its own end. Post then puts the return address
// right, on the guarded control stack too (or leaves it: the guard is there), and
// goes to the target.
func (b *planner) stepCall() fixups.Reason {
	b.p.Strategy = fixups.StrategyReEncode
	b.start()
	b.emit(wordBL | 1)
	original := b.p.Returns == fixups.ReturnsOriginal
	if original {
		q := b.begin()
		b.relink(&q)
		b.setBType(&q, btypeNone)
		q.mov(fixups.PC(), fixups.SitePlus(b.target()))
		b.point(fixups.StatePart, nil, q.program())
	} else {
		b.escape()
		b.done(b.next())
	}
	b.p.CopyLen = uint16(b.off())
	b.stopper(b.next())
	b.p.Abort = gotoSite
	q := b.begin()
	n := 1
	if original {
		n = 2
		if b.env.GCS == reloc.On {
			n = 4
		}
	}
	q.skip(n, fixups.PC(), fixups.CondNE, fixups.SlotPlus(4), 64)
	if original {
		b.relink(&q)
	}
	q.mov(fixups.PC(), fixups.SitePlus(b.target()))
	b.p.Post = q.program()
	return fixups.ReasonNone
}

// relink appends the repair of the return address behind a copy that has linked
// its own end: in x30, and on the guarded control stack if there is one.
func (b *planner) relink(q *steps) {
	next := fixups.SitePlus(b.next())
	q.mov(xreg(lr), next)
	switch b.env.GCS {
	case reloc.On:
		q.shadow(fixups.OpShPop, fixups.T(2), fixups.Operand{})
		q.shadow(fixups.OpShPush, fixups.Operand{}, next)
		b.p.Needs |= fixups.NeedsShadowStack
	case reloc.Unknown:
		b.in.Hazards |= fixups.HazardShadowStack.Bit()
	}
}
