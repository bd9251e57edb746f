package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Far jump forms of rip-relative instructions that use the stack pointer. Below,
// R is the stack pointer at the site and z the zone below it.

// spillSP serves instructions that use the stack pointer: PUSH and POP, and those
// whose other operand it is. n is a register they leave alone.
func (b *planner) spillSP(use *reloc.RegUse, n int) fixups.Reason {
	l := b.l
	if l.enc() != encLegacy && l.enc() != encREX2 || b.env.Lang == reloc.LangGo {
		return fixups.ReasonNoScratch
	}
	switch {
	case l.opmap() == 0 && l.opcode() == 0xff && l.reg() == 6 && b.stackSize() == 8:
		return b.pushRIP()
	case l.opmap() == 0 && l.opcode() == 0x8f && l.reg() == 0 && b.stackSize() == 8:
		return b.popRIP()
	case l.regField() != 4:
		return fixups.ReasonNoScratch
	}
	use.Reads.Add(b.a.general(n))
	n2 := scratch(use)
	switch {
	case n2 < 0:
		return fixups.ReasonNoScratch
	case use.Writes.Has(RSP):
		return b.standInWritten(n, n2)
	}
	return b.standIn(n, n2)
}

// standIn runs an instruction that reads the stack pointer with another register
// in its place, which holds its value: base is the address, r the stand-in.
func (b *planner) standIn(base, r int) fixups.Reason {
	z := b.zone()
	b.p.Stack = 16
	b.start()
	b.moveSP(-z)
	b.saveTwo(z, base, r)
	b.operand(base, r)
	b.spilled(fixups.StateDone, z, base, r)
	b.withReg(false, 0x58, r)
	b.spilled(fixups.StateDone, z, base)
	b.withReg(false, 0x58, base)
	b.spilled(fixups.StateDone, z)
	b.moveSP(z)
	return b.tail(b.next())
}

// saveTwo pushes base and r with the stack pointer at R - z and loads them with
// the address and R.
func (b *planner) saveTwo(z int64, base, r int) {
	b.spilled(fixups.StateStart, z)
	b.withReg(false, 0x50, base)
	b.spilled(fixups.StateStart, z, base)
	b.withReg(false, 0x50, r)
	b.spilled(fixups.StateStart, z, base, r)
	b.bytes(0x48, 0x8d, 0x84|byte(r)<<3, 0x24)
	b.constant(z+16, 4)
	b.spilled(fixups.StateStart, z, base, r)
	b.movImm(base, b.target())
	b.spilled(fixups.StateStart, z, base, r)
}

// operand emits the instruction with [base], and with r for ModRM.reg. Both are
// below 8, so no prefix changes.
func (b *planner) operand(base, r int) {
	at := b.off() + b.l.modrmOff()
	b.rebase(base)
	b.p.Code[at] = b.p.Code[at]&^0x38 | byte(r)<<3
}

// standInWritten is standIn for an instruction that writes the stack pointer. The
// new value waits in a third word and is popped last, so that at every boundary
// the words still needed are at or above the stack pointer.
func (b *planner) standInWritten(base, r int) fixups.Reason {
	z := b.zone() + 8
	b.p.Stack = 24
	b.start()
	b.moveSP(-z)
	b.saveTwo(z, base, r)
	b.operand(base, r)
	sp, t0, t1 := b.sp(), fixups.T(0), fixups.T(1)
	next := mov(fixups.PC(), fixups.SitePlus(b.next()))
	both := b.p.Program(
		mov(t0, b.reg(r)), load(b.reg(r), sp, 8),
		add(t1, sp, 8), load(b.reg(base), t1, 8), mov(sp, t0), next)
	b.point(fixups.StatePart, nil, both)
	b.bytes(0x48, 0x89, 0x44|byte(r)<<3, 0x24, 0x10)
	b.point(fixups.StatePart, nil, both)
	b.withReg(false, 0x58, r)
	b.point(fixups.StatePart, nil, b.p.Program(
		load(b.reg(base), sp, 8), add(t1, sp, 8), load(sp, t1, 8), next))
	b.withReg(false, 0x58, base)
	b.point(fixups.StatePart, nil, b.p.Program(load(sp, sp, 8), next))
	b.bytes(0x5c)
	return b.tail(b.next())
}

// readRAX moves the word at the operand's address into rax, whose old value is
// pushed at R - z.
func (b *planner) readRAX(z int64) {
	b.saveRAX(z)
	b.moffs(move{load: true, size: 8})
	b.spilled(fixups.StateStart, z, 0)
}

// pushRIP is PUSH [rip]. Where nothing lies below the stack pointer, rax waits in
// the very word that is pushed, else further down.
func (b *planner) pushRIP() fixups.Reason {
	z := b.zone()
	if z == 0 {
		b.readRAX(0)
		b.bytes(0x48, 0x87, 0x04, 0x24)
		return b.tail(b.next())
	}
	if z < 8 {
		return fixups.ReasonNoScratch
	}
	b.p.Stack = 8
	rax, sp := fixups.R(RAX), b.sp()
	next := mov(fixups.PC(), fixups.SitePlus(b.next()))
	b.readRAX(z)
	b.bytes(0x48, 0x89, 0x84, 0x24)
	b.constant(z, 4)
	b.point(fixups.StatePart, nil, b.p.Program(load(rax, sp, 8), add(sp, sp, z), next))
	b.bytes(0x58)
	if z != 8 {
		b.point(fixups.StateDone, nil, b.p.Program(add(sp, sp, z-8), next))
		b.moveSP(z - 8)
	}
	return b.tail(b.next())
}

// popRIP is POP [rip].
func (b *planner) popRIP() fixups.Reason {
	z := b.zone()
	b.p.Stack = 8
	rax, sp := fixups.R(RAX), b.sp()
	next := mov(fixups.PC(), fixups.SitePlus(b.next()))
	b.saveRAX(z)
	b.bytes(0x48, 0x8b, 0x84, 0x24)
	b.constant(z+8, 4)
	b.spilled(fixups.StateStart, z, 0)
	b.moffs(move{size: 8})
	b.point(fixups.StatePart, nil, b.p.Program(load(rax, sp, 8), add(sp, sp, z+16), next))
	b.bytes(0x58)
	b.point(fixups.StateDone, nil, b.p.Program(add(sp, sp, z+8), next))
	b.moveSP(z + 8)
	return b.tail(b.next())
}

// saveRAX begins a plan: it pushes rax at R - z.
func (b *planner) saveRAX(z int64) {
	b.pushed(0)
	b.moveSP(-z)
	if z != 0 {
		b.pushed(z)
	}
	b.bytes(0x50)
	b.pushed(z + 8)
}

// farJumpRIP is JMP [rip] through the slot's data, or else the target is put on the stack below the zone, and RET imm16 takes it and the
// zone off again. A shadow stack would object to that.
func (b *planner) farJumpRIP() fixups.Reason {
	z := b.zone()
	switch {
	case b.l.reg() != 4:
		return fixups.ReasonNoScratch
	case b.hasData():
		return b.dataJump()
	case !b.spillable(), z > 0x7ff8, b.env.Lang == reloc.LangGo && z != 0:
		return fixups.ReasonNoScratch
	}
	switch b.env.SHSTK {
	case reloc.On:
		return fixups.ReasonShadowStack
	case reloc.Unknown:
		b.in.Hazards |= fixups.HazardShadowStack.Bit()
	}
	if r := b.untracked(); r != fixups.ReasonNone {
		return r
	}
	b.p.Strategy = fixups.StrategySpill
	b.p.Stack = 8
	b.readRAX(z)
	b.bytes(0x48, 0x87, 0x04, 0x24)
	sp, t0 := b.sp(), fixups.T(0)
	b.point(fixups.StateDone,
		b.p.Program(add(sp, sp, z+8), mov(fixups.PC(), fixups.SitePlus(0))),
		b.p.Program(load(t0, sp, 8), add(sp, sp, z+8), mov(fixups.PC(), t0)))
	b.bytes(0xc2, byte(z), byte(z>>8))
	return fixups.ReasonNone
}

// farCallRIP is CALL [rip] that returns to the slot, through the slot's data, or
// else the target waits in the word that the call will
// overwrite with the return address, which only a zone keeps from signals.
func (b *planner) farCallRIP() fixups.Reason {
	z := b.zone()
	switch {
	case b.hasData():
		return b.dataCallFromSlot()
	case !b.spillable(), z < 8:
		return fixups.ReasonNoScratch
	}
	b.p.Strategy = fixups.StrategySpill
	b.p.Stack = 8
	b.readRAX(z)
	b.bytes(0x48, 0x89, 0x84, 0x24)
	b.constant(z, 4)
	ret := int64(b.off() + 1 + 8 + 4)
	if z <= 127 {
		ret -= 3
	}
	if b.noTrack() {
		ret++
	}
	b.calling(ret, z, true)
	b.bytes(0x58)
	b.calling(ret, z, false)
	b.moveSP(z)
	b.calling(ret, 0, false)
	if b.noTrack() {
		b.bytes(0x3e)
	}
	b.bytes(0xff, 0x54, 0x24, 0xf8)
	return b.returned()
}

// calling is a boundary of farCallRIP with the target at R - 8, the stack pointer
// depth below R, and rax on top if pushed. Forward does the call; after a fault
// of the call the word at R - 8 is the only thing that has changed, and the site's
// call overwrites it.
func (b *planner) calling(ret, depth int64, pushed bool) {
	sp, t0, t1 := b.sp(), fixups.T(0), fixups.T(1)
	back := b.begin()
	b.toSite(&back, depth, pushed)
	back.mov(fixups.PC(), fixups.SitePlus(0))
	backward := back.program()
	q := b.begin()
	b.toSite(&q, depth, pushed)
	q.add64(t0, sp, -8)
	q.load(t1, t0, 8)
	q.store(t0, fixups.SlotPlus(ret), 8)
	q.mov(sp, t0)
	q.mov(fixups.PC(), t1)
	b.point(fixups.StatePart, backward, q.program())
}

// toSite appends the way of the stack pointer back to R, and of rax.
func (b *planner) toSite(q *steps, depth int64, pushed bool) {
	if pushed {
		q.load(fixups.R(RAX), b.sp(), 8)
		depth += 8
	}
	if depth != 0 {
		q.add64(b.sp(), b.sp(), depth)
	}
}
