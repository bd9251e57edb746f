package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Bits of the flags register.
const (
	bitCF = 0
	bitPF = 2
	bitZF = 6
	bitSF = 7
	bitOF = 11
)

// setPC appends pc := Site + target, cut to 16 bits by a 16-bit branch.
func (b *planner) setPC(q *steps) {
	pc := fixups.SitePlus(b.target())
	if b.short() {
		q.zext(fixups.PC(), pc, 16)
		return
	}
	q.mov(fixups.PC(), pc)
}

func (b *planner) emulateJump() fixups.Reason {
	if r := b.vendor(); r != fixups.ReasonNone {
		return r
	}
	q := b.begin()
	switch {
	case b.l.has(flagRelImm):
		b.setPC(&q)
	case b.isJMPABS() && b.l.immLen() == 8:
		q.mov(fixups.PC(), fixups.Const(signed(&b.in.Bytes, b.l.immOff(), 8)))
	default:
		return fixups.ReasonNotEmulated
	}
	b.p.Emulate = q.program()
	return fixups.ReasonNone
}

func (b *planner) emulateCond() fixups.Reason {
	if r := b.vendor(); r != fixups.ReasonNone {
		return r
	}
	if !b.l.has(flagRelImm) {
		return fixups.ReasonNotEmulated
	}
	if b.isLoop() && b.repeatOverrides() {
		return fixups.ReasonVendor
	}
	q := b.begin()
	if b.isLoop() {
		b.emulateLoop(&q)
	} else {
		c := b.condition(&q)
		b.leaveTo(&q)
		q.skip(1, fixups.T(0), c, fixups.Const(0), 64)
	}
	b.setPC(&q)
	b.p.Emulate = q.program()
	return fixups.ReasonNone
}

// condition appends the evaluation of a Jcc's condition into t0 and returns how
// t0 compares with 0 if the branch is not taken. Conditions come in pairs, the
// odd one the opposite of the even one.
func (b *planner) condition(q *steps) fixups.Cond {
	c := b.cond()
	t0, t1 := fixups.T(0), fixups.T(1)
	var mask int64
	switch c >> 1 {
	case 0:
		mask = 1 << bitOF
	case 1:
		mask = 1 << bitCF
	case 2:
		mask = 1 << bitZF
	case 3:
		mask = 1<<bitCF | 1<<bitZF
	case 4:
		mask = 1 << bitSF
	case 5:
		mask = 1 << bitPF
	default: // less: SF != OF; less or equal: that or ZF
		q.extract(t0, b.flags(), bitSF, 1)
		q.extract(t1, b.flags(), bitOF, 1)
		q.op2(fixups.OpXor, t0, t0, t1)
		if c>>1 == 7 {
			q.extract(t1, b.flags(), bitZF, 1)
			q.op2(fixups.OpOr, t0, t0, t1)
		}
	}
	if mask != 0 {
		q.op2(fixups.OpAnd, t0, b.flags(), fixups.Const(mask))
	}
	if c&1 == 0 {
		return fixups.CondEQ
	}
	return fixups.CondNE
}

// repeatOverrides reports whether a prefix asks LOOPE or LOOPNE for the other
// value of ZF. Manuals reserve F2 and F3 there; AMD's processors go by the prefix
// (Zen 3, executed), as if the instruction were a repeated string compare. Copies
// that keep the prefix are right on all.
func (b *planner) repeatOverrides() bool {
	switch b.l.opcode() {
	case 0xe0:
		return b.l.pfx(pfxF3)
	case 0xe1:
		return b.l.pfx(pfxF2)
	}
	return false
}

// emulateLoop counts down the register of the address size, which with 32 bits in
// 64-bit mode clears its upper half, and leaves out the branch if the count is
// then zero or, for LOOPE and LOOPNE, ZF is not as asked. JRCXZ only tests.
func (b *planner) emulateLoop(q *steps) {
	size := b.l.addrSize()
	width := uint8(8 * size)
	count, t0, t1 := b.reg(1), fixups.T(0), fixups.T(1)
	if b.l.opcode() == 0xe3 {
		q.mov(t0, count)
		b.leaveTo(q)
		q.skip(1, t0, fixups.CondNE, fixups.Const(0), width)
		return
	}
	q.add64(t0, count, -1)
	q.extract(t1, b.flags(), bitZF, 1)
	q.writeReg(count, t0, size, false)
	b.leaveTo(q)
	switch b.l.opcode() {
	case 0xe0:
		q.skip(2, t1, fixups.CondEQ, fixups.Const(1), 64)
		q.skip(1, t0, fixups.CondEQ, fixups.Const(0), width)
	case 0xe1:
		q.skip(2, t1, fixups.CondEQ, fixups.Const(0), 64)
		q.skip(1, t0, fixups.CondEQ, fixups.Const(0), width)
	default:
		q.skip(1, t0, fixups.CondEQ, fixups.Const(0), width)
	}
}

// callTo appends the push of the return address; the caller sets pc.
func (b *planner) callTo(q *steps) {
	b.p.IsCall = true
	size := b.pushSize()
	next := fixups.SitePlus(b.next())
	q.add64(fixups.T(7), b.sp(), -int64(size))
	q.store(fixups.T(7), next, size)
	if b.env.SHSTK == reloc.On && b.shadowed() {
		q.add(fixups.Step{Op: fixups.OpShPush, A: next})
		b.p.Needs |= fixups.NeedsShadowStack
	}
	q.mov(b.sp(), fixups.T(7))
}

func (b *planner) emulateCall() fixups.Reason {
	if r := b.vendor(); r != fixups.ReasonNone {
		return r
	}
	if !b.l.has(flagRelImm) {
		return fixups.ReasonNotEmulated
	}
	q := b.begin()
	b.callTo(&q)
	b.setPC(&q)
	b.p.Emulate = q.program()
	return fixups.ReasonNone
}

// emulateIndirect is near JMP and CALL r/m. The target is read before anything is
// pushed: it may be the stack pointer, or lie in the word that the push writes.
// Under indirect branch tracking a program cannot arm the tracker, so a branch
// that is tracked is left to the other forms.
func (b *planner) emulateIndirect() fixups.Reason {
	if r := b.vendor(); r != fixups.ReasonNone {
		return r
	}
	l := b.l
	isCall := l.reg() == 2
	if l.opmap() != 0 || l.opcode() != 0xff || !isCall && l.reg() != 4 {
		return fixups.ReasonNotEmulated
	}
	if b.env.IBT == reloc.On && !b.exempt() {
		return fixups.ReasonNotEmulated
	}
	q := b.begin()
	t5 := fixups.T(5)
	size := b.pushSize()
	if l.mod() == 3 {
		q.mov(t5, b.reg(l.rmField()))
	} else {
		b.address(&q, 0)
		q.load(t5, fixups.T(6), size)
	}
	if isCall {
		b.callTo(&q)
	}
	if size == 2 {
		q.zext(fixups.PC(), t5, 16)
	} else {
		q.mov(fixups.PC(), t5)
	}
	b.p.Emulate = q.program()
	return fixups.ReasonNone
}

// emulateReturn is near RET. With a shadow stack it compares two words, which a
// program can read but not refuse.
func (b *planner) emulateReturn() fixups.Reason {
	if r := b.vendor(); r != fixups.ReasonNone {
		return r
	}
	if b.l.opmap() != 0 || b.l.opcode()&0xfe != 0xc2 {
		return fixups.ReasonNotEmulated
	}
	if b.env.SHSTK == reloc.On {
		return fixups.ReasonShadowStack
	}
	size := b.pushSize()
	drop := int64(size)
	if b.l.opcode() == 0xc2 {
		drop += signed(&b.in.Bytes, b.l.immOff(), 2) & 0xffff
	}
	b.p.Emulate = b.p.Program(
		load(fixups.T(0), b.sp(), size),
		add(b.sp(), b.sp(), drop),
		mov(fixups.PC(), fixups.T(0)))
	return fixups.ReasonNone
}

// address appends the computation of the memory operand's address into t6. The
// stack pointer counts as spAdd more than it is.
func (b *planner) address(q *steps, spAdd int64) {
	l := b.l
	t6 := fixups.T(6)
	switch {
	case l.has(flagRIPRel):
		q.mov(t6, fixups.SitePlus(b.target()))
	case l.addrSize() == 2:
		b.address16(q)
	default:
		b.addressSIB(q, spAdd)
	}
	if n := l.addrSize(); n < b.word() {
		q.zext(t6, t6, uint8(8*n))
	}
	seg := l.seg()
	if b.isLEA() {
		seg = 0 // the offset alone is the result (SDM volume 2, LEA)
	}
	switch seg {
	case 5:
		q.op2(fixups.OpAdd, t6, t6, fixups.R(FSBase))
		b.p.Needs |= fixups.NeedsSegmentBase
	case 6:
		q.op2(fixups.OpAdd, t6, t6, fixups.R(GSBase))
		b.p.Needs |= fixups.NeedsSegmentBase
	}
}

// addressSIB is base, scaled index and displacement (SDM volume 2, tables 2-2
// and 2-3).
func (b *planner) addressSIB(q *steps, spAdd int64) {
	l := b.l
	t6, t7 := fixups.T(6), fixups.T(7)
	disp := b.disp()
	base, index, scale := l.rmField(), -1, uint(0)
	if l.has(flagSIB) {
		sib := b.in.Bytes[l.modrmOff()+1]
		base = int(sib&7) | l.b()<<3 | l.b4()<<4
		if x := int(sib>>3&7) | l.x()<<3 | l.x4()<<4; x != 4 {
			index, scale = x, uint(sib>>6)
		}
	}
	if l.mod() == 0 && base&7 == 5 {
		q.mov(t6, fixups.Const(disp))
	} else {
		if base == 4 {
			disp += spAdd
		}
		q.add64(t6, b.reg(base), disp)
	}
	if index >= 0 {
		q.op2(fixups.OpShl, t7, b.reg(index), fixups.Const(int64(scale)))
		q.op2(fixups.OpAdd, t6, t6, t7)
	}
}

// address16 is the 16-bit form (SDM volume 2, table 2-1).
func (b *planner) address16(q *steps) {
	const bx, bp, si, di = 3, 5, 6, 7
	l := b.l
	t6 := fixups.T(6)
	disp := b.disp()
	first := [8]int{bx, bx, bp, bp, si, di, bp, bx}[l.rm()]
	if l.rm() == 6 && l.mod() == 0 {
		q.mov(t6, fixups.Const(disp))
		return
	}
	q.add64(t6, b.reg(first), disp)
	if l.rm() < 4 {
		q.op2(fixups.OpAdd, t6, t6, b.reg([4]int{si, di, si, di}[l.rm()]))
	}
}
