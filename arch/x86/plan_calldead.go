package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// callDead is CALL m or CALL rsp with the original return address and a register
// that is dead here:
//
//	[mov r,&m]  mov r,m  push next  jmp r
//
// The target is read before anything is written, as the site's call does, so the
// operand may be the word that is pushed, and faults come in the order of the
// site's. Nothing is written that the call would not write, and no stack is needed
// that it would not need.
func (b *planner) callDead() bool {
	n := b.deadTarget()
	if n < 0 || b.halfPushed() {
		return false
	}
	code, relocs, points := len(b.p.Code), len(b.p.Relocs), len(b.p.Points)
	b.start()
	if b.farRIP() {
		b.movImm(n, b.target())
		b.start()
	}
	if !b.loadTarget(n) {
		b.p.Code, b.p.Relocs, b.p.Points = b.p.Code[:code], b.p.Relocs[:relocs], b.p.Points[:points]
		return false
	}
	b.p.Strategy = fixups.StrategyDeadReg
	b.p.Clobbers.Add(b.a.general(n))
	b.start()
	jump := 2 + n>>3
	if b.noTrack() {
		jump++
	}
	literal := b.pushWith(n, jump)
	b.targeted(n, fixups.StateDone)
	if b.noTrack() {
		b.bytes(0x3e)
	}
	if n > 7 {
		b.bytes(0x41)
	}
	b.bytes(0xff, 0xe0|byte(n&7))
	if literal {
		b.literal(b.next())
	}
	return true
}

// pushWith is pushNext with the target in register n. Between the two halves of a push
// the operand may be half overwritten, so the way out is forward.
func (b *planner) pushWith(n, gap int) (literal bool) {
	switch {
	case b.short():
		b.bytes(0x66, 0x68)
		b.abs(2, b.next())
	case b.a.m64 && b.env.ExecuteOnly:
		b.bytes(0x68)
		b.abs(4, b.next())
		b.targeted(n, fixups.StatePart)
		b.bytes(0xc7, 0x44, 0x24, 0x04)
		b.reloc(fixups.Reloc{Addend: b.next(), Size: 4, Bits: 32, Shift: 32, Check: fixups.CheckSigned})
	default:
		return b.pushNext(gap, 0)
	}
	return false
}

// targeted is a boundary behind the push, or its first half if part. Back is for a
// fault of the jump, as in unrestored: the word gets the target, which is what it held
// if it is the operand.
func (b *planner) targeted(n int, s fixups.State) {
	size := b.pushSize()
	back := b.begin()
	back.store(b.sp(), b.reg(n), size)
	back.add64(b.sp(), b.sp(), int64(size))
	back.mov(fixups.PC(), fixups.SitePlus(0))
	backward := back.program()
	q := b.begin()
	if s == fixups.StatePart {
		q.store(b.sp(), fixups.SitePlus(b.next()), size)
	}
	q.mov(fixups.PC(), b.reg(n))
	b.point(s, backward, q.program())
}

// deadTarget is the hardware number of a dead register that can hold the target, -1
// if there is none. The operand may not need it: it is read again if the thread goes
// back to the site.
func (b *planner) deadTarget() int {
	if b.env.Dead.IsEmpty() && b.env.ABI == reloc.ABINone {
		return -1
	}
	count := 8
	if b.a.m64 {
		count = 16
	}
	var use reloc.RegUse
	b.a.Registers(&use, b.in)
	for n := range count {
		r := b.a.general(n)
		if canBase(n) && b.isDead(r) && !use.Reads.Has(r) && !use.Writes.Has(r) {
			return n
		}
	}
	return -1
}

// loadTarget emits mov n,m with the site's operand, or mov n,rsp. The prefixes that
// make the address stay; with 16-bit operands the load is zero-extended. It is false
// if no instruction is that long.
func (b *planner) loadTarget(n int) bool {
	from := b.off()
	for _, c := range b.in.Bytes[:b.l.legacyEnd()] {
		switch c {
		case 0x26, 0x2e, 0x36, 0x64, 0x65, 0x67:
			b.bytes(c)
		}
	}
	if !b.loadOpcode(n) {
		return false
	}
	at := b.off()
	switch {
	case b.farRIP() && n&7 == 4:
		b.bytes(0x04, 0x24)
	case b.farRIP() && n&7 == 5:
		b.bytes(0x45, 0)
	case b.farRIP():
		b.bytes(byte(n & 7))
	case b.l.has(flagRIPRel):
		b.ripOperand()
	default:
		b.bytes(b.in.Bytes[b.l.modrmOff():b.in.Len]...)
	}
	b.p.Code[at] = b.p.Code[at]&^0x38 | byte(n&7)<<3
	return b.off()-from <= longest
}

// loadOpcode emits what stands between the address prefixes and ModRM of loadTarget.
// REX2 has no form with the opcode 0F B7 behind an escape.
func (b *planner) loadOpcode(n int) bool {
	l := b.l
	r, x, base := byte(n>>3), byte(l.x()), byte(l.b())
	high := byte(l.x4()<<5 | l.b4()<<4)
	if b.farRIP() {
		x, base, high = 0, r, 0
	}
	rex := r<<2 | x<<1 | base
	if b.a.m64 && !b.short() {
		rex |= 8
	}
	switch {
	case high != 0 && b.short():
		return false
	case high != 0:
		b.bytes(0xd5, high|rex)
	case rex != 0:
		b.bytes(0x40 | rex)
	}
	if b.short() {
		b.bytes(0x0f, 0xb7)
		return true
	}
	b.bytes(0x8b)
	return true
}
