package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// transfers are the hazards of branches, calls and returns that their plans deal
// with, or that a copy has as the site has them.
const transfers = copyable | fixups.Hazards(1<<fixups.HazardPushesPC|1<<fixups.HazardReadsPC)

// indirect moves JMP r/m and the returns. None of them depends on where it
// stands, except by a rip-relative operand, so copies are right on every processor,
// whatever it takes a 66 prefix for. IRET and what leaves to another privilege are
// not among them.
func (b *planner) indirect(step bool) fixups.Reason {
	switch {
	case systemRules[b.in.Row] != 0:
		return b.system(step)
	case b.isIret():
		return b.iret(step)
	}
	if r := b.hazards(transfers); r != fixups.ReasonNone {
		return r
	}
	if b.l.opmap() != 0 {
		return fixups.ReasonUnknown
	}
	switch b.l.opcode() {
	case 0xc2, 0xc3, 0xca, 0xcb:
		return b.asIs(step)
	case 0xff:
	default:
		return fixups.ReasonUnknown
	}
	switch {
	case !b.l.has(flagRIPRel):
		return b.asIs(step)
	case b.near || b.l.pfx(pfx67):
		b.p.Strategy = fixups.StrategyReEncode
		b.start()
		b.copyRIP()
		return b.gone(step)
	case step:
		if b.p.Stop == fixups.StopTrap {
			return fixups.ReasonNoStop
		}
		return b.scratchStep()
	case b.elsewhere():
		return fixups.ReasonNone
	}
	if r := b.vendor(); r != fixups.ReasonNone {
		return r
	}
	return b.farJumpRIP()
}

// farRIP reports whether the operand is relative to rip and no displacement names
// it from every slot.
func (b *planner) farRIP() bool { return b.l.has(flagRIPRel) && !b.near && !b.l.pfx(pfx67) }

// elsewhere emits a branch with a rip-relative operand, with an operand that does
// not depend on the slot or on a dead register instead. All prefixes stay, so the
// copy is right on every processor.
func (b *planner) elsewhere() bool {
	if b.lowAbsolute() || b.lowAddr32() {
		return true
	}
	var use reloc.RegUse
	b.a.Registers(&use, b.in)
	return b.deadReg(&use)
}

// indirectCall moves CALL r/m.
func (b *planner) indirectCall(step bool) fixups.Reason {
	if r := b.hazards(transfers); r != fixups.ReasonNone {
		return r
	}
	if b.l.opmap() == 0 && b.l.opcode() == 0xff && b.l.reg() == 3 {
		return b.farCall(step)
	}
	if r := b.vendor(); r != fixups.ReasonNone {
		return r
	}
	if b.l.opmap() != 0 || b.l.opcode() != 0xff || b.l.reg() != 2 {
		return fixups.ReasonUnknown
	}
	b.p.IsCall = true
	b.p.Returns = b.env.Return
	slot := b.env.Return == fixups.ReturnsSlot
	if r := b.slotReturn(); r != fixups.ReasonNone {
		return r
	}
	switch {
	case step:
		return b.stepIndirectCall()
	case slot:
		return b.indirectFromSlot()
	}
	if r := b.original(); r != fixups.ReasonNone {
		return r
	}
	if b.l.mod() == 3 {
		return b.callReg()
	}
	return b.callMem()
}

// stepIndirectCall steps the call itself. It leaves Slot + n as the return
// address, in both stacks, and post puts it right.
func (b *planner) stepIndirectCall() fixups.Reason {
	switch {
	case b.p.Stop == fixups.StopTrap:
		return fixups.ReasonNoStop
	case b.short() && b.env.SHSTK == reloc.On:
		return fixups.ReasonShadowStack
	}
	if r := b.stepCopy(); r != fixups.ReasonNone || b.env.Return == fixups.ReturnsSlot {
		return r
	}
	q := b.begin()
	for i := range b.p.Post {
		q.add(b.p.Post[i])
	}
	q.store(b.sp(), fixups.SitePlus(b.next()), b.pushSize())
	if b.env.SHSTK == reloc.On {
		q.add(fixups.Step{Op: fixups.OpShPop, Dst: fixups.T(2)})
		q.add(fixups.Step{Op: fixups.OpShPush, A: fixups.SitePlus(b.next())})
		b.p.Needs |= fixups.NeedsShadowStack
	}
	b.p.Post = q.program()
	return fixups.ReasonNone
}

// stepCopy emits the call for a step. What it does to the operand's register is in
// Post.
func (b *planner) stepCopy() fixups.Reason {
	if b.farRIP() {
		if r := b.scratchStep(); r != fixups.ReasonNone {
			return r
		}
		// Who comes back to the slot later has no temporaries of this visit.
		b.lastPoint(fixups.StateDone, b.jumpTo(b.next()))
	} else {
		b.start()
		b.copyOperand()
		b.guard(b.next())
		b.p.Abort = gotoSite
	}
	if b.env.Return == fixups.ReturnsSlot {
		b.p.Escapes = append(b.p.Escapes, fixups.Escape{Off: b.p.CopyLen, Kind: fixups.EscapeReturn})
	}
	return fixups.ReasonNone
}

// copyOperand emits the instruction, with its displacement made to fit if it is
// rip-relative.
func (b *planner) copyOperand() {
	if b.l.has(flagRIPRel) {
		b.p.Strategy = fixups.StrategyReEncode
		b.copyRIP()
		return
	}
	b.p.Strategy = fixups.StrategyCopy
	b.bytes(b.in.Bytes[:b.in.Len]...)
}

// indirectFromSlot calls from the slot and returns to it.
func (b *planner) indirectFromSlot() fixups.Reason {
	if b.farRIP() {
		if b.elsewhere() {
			return b.returned()
		}
		return b.farCallRIP()
	}
	b.start()
	b.copyOperand()
	return b.returned()
}

// callReg pushes the return address and jumps to the register. The stack pointer
// as the target would be changed by the push, so it is treated as an operand in
// memory.
func (b *planner) callReg() fixups.Reason {
	n := b.l.rmField()
	if n == 4 {
		return b.callMem()
	}
	b.p.Strategy = fixups.StrategyReEncode
	b.start()
	var literal bool
	size := int64(b.word())
	if b.short() {
		size = 2
		b.bytes(0x66, 0x68)
		b.abs(2, b.next())
	} else {
		literal = b.pushNext(int(b.in.Len), 0)
	}
	pc := b.reg(n)
	back := b.p.Program(add(b.sp(), b.sp(), size), mov(fixups.PC(), fixups.SitePlus(0)))
	if b.short() {
		b.point(fixups.StateDone, back, b.p.Program(zext(fixups.T(0), pc, 16), mov(fixups.PC(), fixups.T(0))))
	} else {
		b.point(fixups.StateDone, back, b.p.Program(mov(fixups.PC(), pc)))
	}
	b.bytes(b.in.Bytes[:b.in.Len]...)
	b.p.Code[b.off()-1] = b.l.modrm()&^0x38 | 4<<3
	if literal {
		b.p.Strategy = fixups.StrategyLiteral
		b.literal(b.next())
	}
	return fixups.ReasonNone
}
