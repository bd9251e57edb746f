package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// call moves CALL rel32 under either policy: the callee finds the return address
// it would find without the probe (a push and a jump), or one in the slot (a call
// and a tail).
func (b *planner) call(step bool) fixups.Reason {
	if r := b.vendor(); r != fixups.ReasonNone {
		return r
	}
	if !b.l.has(flagRelImm) {
		return b.farCall(step)
	}
	b.p.IsCall = true
	b.p.Returns = b.env.Return
	if b.readsReturn() {
		b.p.Returns = fixups.ReturnsOriginal
	}
	slot := b.p.Returns == fixups.ReturnsSlot
	if r := b.slotReturn(); r != fixups.ReasonNone {
		return r
	}
	switch {
	case step && b.short():
		return b.stepCall16()
	case step:
		return b.stepCall()
	case slot:
		return b.callFromSlot()
	case b.short():
		return b.pushAndJump16()
	}
	return b.pushAndJump()
}

// shadowed reports whether the call pushes to the shadow stack: all do but CALL
// to the next instruction (SDM volume 2, CALL), which is how code asks for pc.
func (b *planner) shadowed() bool {
	return !b.l.has(flagRelImm) || signed(&b.in.Bytes, b.l.immOff(), b.l.immLen()) != 0
}

// slotReturn refuses a return address in the slot where none may be: Go's runtime
// looks every return address up, for tracebacks and when it moves stacks, and knows
// no slot; a call with 16-bit operands would cut it.
func (b *planner) slotReturn() fixups.Reason {
	if b.p.Returns == fixups.ReturnsSlot && (b.env.Lang == reloc.LangGo || b.short()) {
		return fixups.ReasonReturnAddress
	}
	return fixups.ReasonNone
}

// original refuses a push in place of a call where the shadow stack would miss
// it, and tells of it where that is not known.
func (b *planner) original() fixups.Reason {
	if !b.shadowed() {
		return fixups.ReasonNone
	}
	switch b.env.SHSTK {
	case reloc.On:
		return fixups.ReasonShadowStack
	case reloc.Unknown:
		b.in.Hazards |= fixups.HazardShadowStack.Bit()
	}
	return fixups.ReasonNone
}

// pushAndJump pushes the address behind the site and leaves to the target. Where
// code can be read the address is a literal behind the way out, pushed by one
// instruction; else it is pushed in two halves, of which the first has made sure
// that the second cannot fault.
func (b *planner) pushAndJump() fixups.Reason {
	if r := b.original(); r != fixups.ReasonNone {
		return r
	}
	b.p.Strategy = fixups.StrategyReEncode
	b.start()
	literal := b.pushNext(b.leaveSize(), 0)
	b.done(b.target())
	if r := b.leave(b.target()); r != fixups.ReasonNone {
		return r
	}
	if literal {
		b.p.Strategy = fixups.StrategyLiteral
		b.literal(b.next())
	}
	return fixups.ReasonNone
}

// pushNext pushes the address behind the site, where the stack pointer is depth
// below the site's. If it reports true, the caller puts the address as a literal
// gap bytes behind the push.
func (b *planner) pushNext(gap int, depth int64) (literal bool) {
	switch {
	case !b.a.m64:
		b.bytes(0x68)
		b.abs(4, b.next())
	case !b.env.ExecuteOnly:
		b.bytes(0xff, 0x35)
		b.constant(int64(gap), 4)
		return true
	default:
		b.bytes(0x68)
		b.abs(4, b.next())
		b.pushed(depth + 8)
		b.bytes(0xc7, 0x44, 0x24, 0x04)
		b.reloc(fixups.Reloc{Addend: b.next(), Size: 4, Bits: 32, Shift: 32, Check: fixups.CheckSigned})
	}
	return false
}

// pushed is a boundary with the stack pointer n below the site's and nothing else
// done.
func (b *planner) pushed(n int64) {
	if n == 0 {
		b.start()
		return
	}
	b.point(fixups.StateStart, b.p.Program(add(b.sp(), b.sp(), n), mov(fixups.PC(), fixups.SitePlus(0))), nil)
}

// pushAndJump16 is a call with 16-bit operands: two bytes are
// pushed, and the target is cut to 16 bits whatever the slot.
func (b *planner) pushAndJump16() fixups.Reason {
	if r := b.original(); r != fixups.ReasonNone {
		return r
	}
	b.p.Strategy = fixups.StrategyReEncode
	b.start()
	b.bytes(0x66, 0x68)
	b.abs(2, b.next())
	b.point(fixups.StateDone, nil, b.p.Program(
		zext(fixups.T(0), fixups.SitePlus(b.target()), 16), mov(fixups.PC(), fixups.T(0))))
	b.bytes(0x66, 0xe9)
	b.rel16(b.target())
	return fixups.ReasonNone
}

// callFromSlot calls the target, near by rel32, far through a literal that lies
// behind the tail, so that the callee returns to the tail. A call to the next
// instruction, which does not touch the shadow stack, does not come here.
func (b *planner) callFromSlot() fixups.Reason {
	b.start()
	if b.near {
		b.p.Strategy = fixups.StrategyReEncode
		b.bytes(0xe8)
		b.rel(0, b.target())
		return b.returned()
	}
	switch {
	case b.tracked():
		return fixups.ReasonNoReach
	case b.env.ExecuteOnly && b.hasData():
		b.inData()
		b.constToData(b.target(), b.start)
		b.notrack()
		b.dataOp(0xff, 2, dataTarget, 0)
		return b.returned()
	case b.env.ExecuteOnly:
		return fixups.ReasonNoScratch
	}
	b.p.Strategy = fixups.StrategyLiteral
	b.notrack()
	b.bytes(0xff, 0x15)
	b.constant(int64(b.leaveSize()), 4)
	r := b.returned()
	b.literal(b.target())
	return r
}

// returned ends a call in the slot: the current offset is where it returns to.
func (b *planner) returned() fixups.Reason {
	b.escape()
	return b.tail(b.next())
}

// escape lists the current offset as a return address that is out.
func (b *planner) escape() {
	b.p.Escapes = append(b.p.Escapes, fixups.Escape{Off: uint16(b.off()), Kind: fixups.EscapeReturn})
}

// stepCall steps a copy that calls its own end. Post then puts the return address
// right (or leaves it: the guard is there) and goes to the target. A call to the
// next instruction does not touch the shadow stack, so the copy never has: post
// pushes what the site would have.
func (b *planner) stepCall() fixups.Reason {
	b.p.Strategy = fixups.StrategyReEncode
	b.start()
	b.copyZero()
	n := int64(b.off())
	ret := fixups.SitePlus(b.next())
	if b.p.Returns == fixups.ReturnsSlot {
		ret = fixups.SlotPlus(n)
		b.escape()
	}
	b.guard(b.next())
	b.p.Abort = gotoSite
	fix := b.begin()
	if ret.Kind == fixups.OperandSite {
		fix.store(b.sp(), ret, b.word())
	}
	if b.env.SHSTK == reloc.On && b.shadowed() {
		fix.add(fixups.Step{Op: fixups.OpShPush, A: ret})
		b.p.Needs |= fixups.NeedsShadowStack
	}
	fix.mov(fixups.PC(), fixups.SitePlus(b.target()))
	fixed := fix.program()
	q := b.begin()
	q.mov(fixups.T(1), fixups.PC())
	q.atStop(b, n, len(fixed))
	for i := range fixed {
		q.add(fixed[i])
	}
	b.p.Post = q.program()
	if ret.Kind == fixups.OperandSite {
		b.lastPoint(fixups.StatePart, fixed)
	}
	return fixups.ReasonNone
}

// stepCall16 steps a call with 16-bit operands. The copy is a push of
// two bytes, which faults as the call would; post puts the return address there.
func (b *planner) stepCall16() fixups.Reason {
	if r := b.original(); r != fixups.ReasonNone {
		return r
	}
	b.p.Strategy = fixups.StrategyReEncode
	b.start()
	b.bytes(0x66, 0x6a, 0)
	n := int64(b.off())
	b.guard(b.next())
	b.p.Abort = gotoSite
	fix := b.begin()
	fix.store(b.sp(), fixups.SitePlus(b.next()), 2)
	b.setPC(&fix)
	fixed := fix.program()
	q := b.begin()
	q.mov(fixups.T(1), fixups.PC())
	q.atStop(b, n, len(fixed))
	for i := range fixed {
		q.add(fixed[i])
	}
	b.p.Post = q.program()
	b.lastPoint(fixups.StatePart, fixed)
	return fixups.ReasonNone
}
