package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// emulate makes the emulate form: control flow, rip-relative loads, stores and
// addresses, nops and landing pads, push and pop, the flags in user mode, and the
// start of a transaction as its immediate abort. No arithmetic and nothing atomic
// is emulated.
//
// Every program loads first, then stores, and changes registers last, so a failed
// access has changed nothing. The segments other than fs and gs are taken for
// flat, as in every system that this package knows.
func (b *planner) emulate() fixups.Reason {
	if b.l.pfx(pfxLock) {
		return fixups.ReasonNotEmulated
	}
	var r fixups.Reason
	switch b.in.Class {
	case fixups.ClassPlain:
		r = b.emulatePlain()
	case fixups.ClassPCRelative:
		r = b.emulateMemory()
	case fixups.ClassBranch:
		r = b.emulateJump()
	case fixups.ClassCondBranch:
		r = b.emulateCond()
	case fixups.ClassCall:
		r = b.emulateCall()
	case fixups.ClassIndirectBranch, fixups.ClassIndirectCall:
		r = b.emulateIndirect()
	case fixups.ClassReturn:
		r = b.emulateReturn()
	case fixups.ClassTransaction:
		r = b.emulateXbegin()
	default:
		r = fixups.ReasonNotEmulated
	}
	return r
}

// emulatePlain serves the instructions of one byte-map row each that touch
// nothing but the stack, a register and pc.
func (b *planner) emulatePlain() fixups.Reason {
	l := b.l
	if b.isNop() {
		b.p.Emulate = b.jumpTo(b.next())
		return fixups.ReasonNone
	}
	if l.opmap() != 0 || l.enc() != encLegacy && l.enc() != encREX2 {
		return fixups.ReasonNotEmulated
	}
	q := b.begin()
	switch op := l.opcode(); {
	case op&0xf8 == 0x50:
		b.emulatePush(&q, b.reg(l.opcodeReg()))
	case op == 0x68 || op == 0x6a:
		b.emulatePush(&q, fixups.Const(signed(&b.in.Bytes, l.immOff(), l.immLen())))
	case op&0xf8 == 0x58:
		b.emulatePop(&q, l.opcodeReg())
	case op == 0xff && l.reg() == 6:
		b.pushOperand(&q)
	case op == 0x8f && l.reg() == 0:
		b.popOperand(&q)
	case op == 0x9c && b.env.Mode == reloc.ModeUser:
		b.emulatePushf(&q)
	case op == 0x9d && b.env.Mode == reloc.ModeUser:
		b.emulatePopf(&q)
	default:
		return fixups.ReasonNotEmulated
	}
	b.p.Emulate = q.program()
	return fixups.ReasonNone
}

// isNop recognises NOP, NOP Ev, PAUSE, ENDBR32 and ENDBR64, and those hint opcodes
// that with a register operand are nops on every processor (SDM volume 2, table
// A-3; APM volume 3, table A-3). 90 with an extended register is an exchange, 0F 1A
// and 0F 1B belong to the bounds, and 0F 1E with F3 and another operand to the
// shadow stack.
func (b *planner) isNop() bool {
	l := b.l
	if l.enc() != encLegacy && l.enc() != encREX2 {
		return false
	}
	switch l.opmap()<<8 | int(l.opcode()) {
	case 0x090:
		return l.opcodeReg() == 0
	case 0x11f:
		return true
	case 0x118, 0x119, 0x11c, 0x11d:
		return l.mod() == 3
	case 0x11e:
		if l.pfx(pfxF3) {
			return l.modrm() == 0xfa || l.modrm() == 0xfb
		}
		return l.mod() == 3
	}
	return false
}

// leaveTo ends a program: go to Site + next.
func (b *planner) leaveTo(q *steps) { q.mov(fixups.PC(), fixups.SitePlus(b.next())) }

// emulatePush pushes v, which is read before the stack pointer moves: PUSH rSP
// stores the old value.
func (b *planner) emulatePush(q *steps, v fixups.Operand) {
	size := b.stackSize()
	q.add64(fixups.T(7), b.sp(), -int64(size))
	q.store(fixups.T(7), v, size)
	q.mov(b.sp(), fixups.T(7))
	b.leaveTo(q)
}

// emulatePop pops into register n, which is written last: POP rSP keeps what it
// has read.
func (b *planner) emulatePop(q *steps, n int) {
	size := b.stackSize()
	q.load(fixups.T(0), b.sp(), size)
	q.add64(b.sp(), b.sp(), int64(size))
	q.writeReg(b.reg(n), fixups.T(0), size, false)
	b.leaveTo(q)
}

// pushOperand is PUSH m. PUSH r/m with a register operand is PUSH r.
func (b *planner) pushOperand(q *steps) {
	if b.l.mod() == 3 {
		b.emulatePush(q, b.reg(b.l.rmField()))
		return
	}
	b.address(q, 0)
	q.load(fixups.T(0), fixups.T(6), b.stackSize())
	b.emulatePush(q, fixups.T(0))
}

// popOperand is POP m. An address relative to the stack pointer is that of after
// the pop (SDM volume 2, POP).
func (b *planner) popOperand(q *steps) {
	if b.l.mod() == 3 {
		b.emulatePop(q, b.l.rmField())
		return
	}
	size := b.stackSize()
	b.address(q, int64(size))
	q.load(fixups.T(0), b.sp(), size)
	q.store(fixups.T(6), fixups.T(0), size)
	q.add64(b.sp(), b.sp(), int64(size))
	b.leaveTo(q)
}

// Flags that PUSHF and POPF treat in a way of their own (SDM volume 2, PUSHF,
// POPF), where user code runs them. The interrupt flag is popped if IOPL lets it.
const (
	flagsPushed = 0x00fcffff // not VM and RF, which PUSHF shows as 0
	flagsPopped = 1<<0 | 1<<2 | 1<<4 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11 | 1<<14 | 1<<18 | 1<<21
	flagIF      = 1 << 9
	flagRF      = 1 << 16
	bitIOPL     = 12
)

func (b *planner) emulatePushf(q *steps) {
	q.op2(fixups.OpAnd, fixups.T(0), b.flags(), fixups.Const(flagsPushed))
	b.emulatePush(q, fixups.T(0))
}

// emulatePopf changes what user code may change. That includes the interrupt flag
// if IOPL is 3, as systems set it that give user code the ports; IOPL itself stays,
// and so does what a pop of 16 bits does not reach.
func (b *planner) emulatePopf(q *steps) {
	size := b.stackSize()
	popped := int64(flagsPopped)
	if size == 2 {
		popped &= 0xffff
	}
	t0, t1 := fixups.T(0), fixups.T(1)
	q.load(t0, b.sp(), size)
	q.extract(t1, b.flags(), bitIOPL, 2)
	q.op2(fixups.OpXor, t0, t0, b.flags())
	q.skip(2, t1, fixups.CondEQ, fixups.Const(3), b.width())
	q.op2(fixups.OpAnd, t0, t0, fixups.Const(popped))
	q.skip(1, t1, fixups.CondNE, fixups.Const(3), b.width())
	q.op2(fixups.OpAnd, t0, t0, fixups.Const(popped|flagIF))
	q.op2(fixups.OpXor, t0, t0, b.flags())
	if size != 2 {
		q.op2(fixups.OpAnd, t0, t0, fixups.Const(^int64(flagRF)))
	}
	q.add64(b.sp(), b.sp(), int64(size))
	q.mov(b.flags(), t0)
	b.leaveTo(q)
}

// emulateMemory serves rip-relative LEA, moves of general registers and
// constants, PUSH and POP. Vector registers are left to the other forms.
func (b *planner) emulateMemory() fixups.Reason {
	if b.isNop() {
		b.p.Emulate = b.jumpTo(b.next())
		return fixups.ReasonNone
	}
	if !b.l.has(flagRIPRel) || b.l.enc() != encLegacy && b.l.enc() != encREX2 {
		return fixups.ReasonNotEmulated
	}
	q := b.begin()
	m, ok := b.move()
	switch op := b.l.opcode(); {
	case ok:
		b.emulateMove(&q, m)
	case b.movsxd16():
		return fixups.ReasonVendor
	case b.l.opmap() != 0:
		return fixups.ReasonNotEmulated
	case op == 0x8d:
		b.address(&q, 0)
		q.writeReg(b.reg(b.l.regField()), fixups.T(6), b.l.opSize(), false)
		b.leaveTo(&q)
	case op|1 == 0xc7 && b.l.reg() == 0 && !b.l.pfx(pfxF2|pfxF3):
		b.address(&q, 0)
		size := b.l.opSize()
		if op == 0xc6 {
			size = 1
		}
		q.store(fixups.T(6), fixups.Const(signed(&b.in.Bytes, b.l.immOff(), b.l.immLen())), size)
		b.leaveTo(&q)
	case op == 0xff && b.l.reg() == 6:
		b.pushOperand(&q)
	case op == 0x8f && b.l.reg() == 0:
		b.popOperand(&q)
	default:
		return fixups.ReasonNotEmulated
	}
	b.p.Emulate = q.program()
	return fixups.ReasonNone
}

// emulateMove moves between memory and a register, of which ah, ch, dh and bh
// are bits 8 to 15.
func (b *planner) emulateMove(q *steps, m move) {
	b.address(q, 0)
	r := b.reg(m.reg)
	if m.high {
		r = b.reg(m.reg - 4)
	}
	switch {
	case !m.load && m.high:
		q.extract(fixups.T(0), r, 8, 8)
		q.store(fixups.T(6), fixups.T(0), 1)
	case !m.load:
		q.store(fixups.T(6), r, m.size)
	default:
		q.load(fixups.T(0), fixups.T(6), m.size)
		q.extend(fixups.T(0), fixups.T(0), m)
		q.writeReg(r, fixups.T(0), m.wide, m.high)
	}
	b.leaveTo(q)
}

// extend appends dst := a, cut to m.size bytes and extended to m.wide.
func (q *steps) extend(dst, a fixups.Operand, m move) {
	width := uint8(8 * m.size)
	switch {
	case m.size == 8:
		q.mov(dst, a)
	case m.sign:
		q.sext(dst, a, width)
	default:
		q.zext(dst, a, width)
	}
}

// writeReg appends the write of size bytes to a register: 4 bytes clear the
// rest, 1 and 2 leave it.
func (q *steps) writeReg(r, v fixups.Operand, size int, high bool) {
	switch {
	case high:
		q.insert(r, v, 8, 8)
	case size == 8:
		q.mov(r, v)
	case size == 4:
		q.zext(r, v, 32)
	default:
		q.insert(r, v, 0, uint8(8*size))
	}
}

// emulateXbegin aborts the transaction at once, with no cause and no hint to
// retry (SDM volume 1, section 16.3.5): eax is the abort status. A displacement of
// 16 bits is extended, and the sum is not cut (SDM volume 2, XBEGIN, Operation).
func (b *planner) emulateXbegin() fixups.Reason {
	if !b.isXBEGIN() {
		return fixups.ReasonNotEmulated
	}
	b.p.Emulate = b.p.Program(mov(fixups.R(RAX), fixups.Const(0)), mov(fixups.PC(), fixups.SitePlus(b.target())))
	return fixups.ReasonNone
}
