package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// callMem is CALL m with the original return address. The target is read before
// anything is pushed, since the operand may be the word that the push writes; it
// then waits on the stack until the jump.
//
// The short way pushes first. It is right unless the two overlap, and it leaves
// the word below the stack pointer spoiled if the operand faults, so it is only
// for code that has no zone there.
func (b *planner) callMem() fixups.Reason {
	if b.short() {
		return fixups.ReasonUnknown
	}
	farRIP := b.l.has(flagRIPRel) && !b.near && !b.l.pfx(pfx67)
	z := b.zone()
	switch {
	case b.env.Short && !farRIP && b.l.mod() != 3 && z == 0 && !(b.spBased() && b.disp() < 0):
		return b.callMemShort()
	case !b.env.Spill, b.env.Lang == reloc.LangGo:
		return fixups.ReasonNoScratch
	case z == 0:
		return b.callMemTight(farRIP)
	case z < 8, !b.a.m64 && b.l.mod() == 3:
		return fixups.ReasonNoScratch
	}
	return b.callMemZone(farRIP, z)
}

// callMemZone lets the target rest in what becomes the callee's zone:
//
//	lea rsp,[rsp-z]  push m  push next  pop [rsp+z]  lea rsp,[rsp+z]  jmp [rsp-z]
//
// With R the stack pointer at the site, the target is at R - word - z, which is z
// below the stack pointer that the callee gets: just inside.
func (b *planner) callMemZone(farRIP bool, z int64) fixups.Reason {
	w := int64(b.word())
	b.p.Strategy = fixups.StrategySpill
	b.p.Stack = uint16(2 * w)
	b.pushTarget(farRIP, z)
	jump, op := []byte{0xff, 0x64, 0x24}, 1
	if z > 128 {
		jump, op = []byte{0xff, 0xa4, 0x24}, 4
	}
	gap := 7 + b.spMoveSize(z) + len(jump) + op
	notrack := b.env.IBT == reloc.On && b.l.seg() == 4 // the site's own
	if notrack {
		gap++
	}
	literal := b.pushNext(gap, z+w)
	b.pushed(z + 2*w)
	b.bytes(0x8f, 0x84, 0x24)
	b.constant(z, 4)
	sp, t0 := b.sp(), fixups.T(0)
	b.point(fixups.StatePart, nil, b.p.Program(
		load(t0, sp, int(w)), add(sp, sp, z), mov(fixups.PC(), t0)))
	b.moveSP(z)
	b.point(fixups.StatePart,
		b.p.Program(add(sp, sp, w), mov(fixups.PC(), fixups.SitePlus(0))),
		b.p.Program(add(t0, sp, -z), load(t0, t0, int(w)), mov(fixups.PC(), t0)))
	if notrack {
		b.bytes(0x3e)
	}
	b.bytes(jump...)
	b.constant(-z, op)
	if literal {
		b.literal(b.next())
	}
	return fixups.ReasonNone
}

// spMoveSize is the size of what moveSP emits.
func (b *planner) spMoveSize(n int64) int {
	size := 7
	if n == int64(int8(n)) {
		size = 4
	}
	if b.a.m64 {
		size++
	}
	return size
}

// pushTarget pushes the operand, read with the stack pointer at R - z but meant
// with it at R. A register operand is the stack pointer itself.
func (b *planner) pushTarget(farRIP bool, z int64) {
	switch {
	case b.l.mod() == 3 && z != 0:
		b.saveRAX(z)
		b.bytes(0x48, 0x8d, 0x84, 0x24)
		b.constant(z+8, 4)
		b.spilled(fixups.StateStart, z, 0)
		b.bytes(0x48, 0x87, 0x04, 0x24)
	case b.l.mod() == 3:
		b.start()
		b.bytes(0x54)
	case farRIP:
		b.readRAX(z)
		b.bytes(0x48, 0x87, 0x04, 0x24)
	default:
		b.start()
		b.moveSP(-z)
		if z != 0 {
			b.pushed(z)
		}
		b.operandAs(6, z)
	}
	b.pushed(z + int64(b.word()))
}

// operandAs emits FF /ext with the site's operand. Where that is relative to the
// stack pointer, which is now spAdd lower, the displacement makes up for it.
func (b *planner) operandAs(ext byte, spAdd int64) {
	l := b.l
	m := l.modrmOff()
	at := b.off() + m
	switch {
	case l.has(flagRIPRel):
		b.copyRIP()
	case l.has(flagSIB) && l.rmFieldSIB(b.in.Bytes[m+1]) == 4 && spAdd != 0:
		b.bytes(b.in.Bytes[:m]...)
		b.bytes(0x80|l.modrm()&0x3f, b.in.Bytes[m+1])
		b.constant(b.disp()+spAdd, 4)
	default:
		b.bytes(b.in.Bytes[:b.in.Len]...)
	}
	b.p.Code[at] = b.p.Code[at]&^0x38 | ext<<3
}

// rmFieldSIB is the base that a SIB byte names.
func (l *layout) rmFieldSIB(sib byte) int { return int(sib&7) | l.b()<<3 | l.b4()<<4 }

// callMemTight serves code with nothing below the stack pointer, of which signals
// spare nothing either: return address and target lie one above the other, and
// RET takes the target.
//
//	push m  push [rsp]  mov [rsp+word],next  ret
func (b *planner) callMemTight(farRIP bool) fixups.Reason {
	w := int64(b.word())
	b.p.Strategy = fixups.StrategySpill
	b.p.Stack = uint16(2 * w)
	b.pushTarget(farRIP, 0)
	b.bytes(0xff, 0x34, 0x24)
	b.pushed(2 * w)
	b.bytes(0xc7, 0x44, 0x24, byte(w))
	b.abs(4, b.next())
	if w == 8 {
		b.pushed(2 * w)
		b.bytes(0xc7, 0x44, 0x24, byte(w)+4)
		b.reloc(fixups.Reloc{Addend: b.next(), Size: 4, Bits: 32, Shift: 32, Check: fixups.CheckSigned})
	}
	sp, t0 := b.sp(), fixups.T(0)
	b.point(fixups.StatePart,
		b.p.Program(add(sp, sp, 2*w), mov(fixups.PC(), fixups.SitePlus(0))),
		b.p.Program(load(t0, sp, int(w)), add(sp, sp, w), mov(fixups.PC(), t0)))
	b.bytes(0xc3)
	return fixups.ReasonNone
}

// callMemShort pushes first and reads the target after: shorter, and restricted.
func (b *planner) callMemShort() fixups.Reason {
	w := int64(b.word())
	b.p.Strategy = fixups.StrategyReEncode
	b.p.Alias = true
	b.start()
	gap := int(b.in.Len)
	if b.spBased() {
		gap = b.l.modrmOff() + 6
	}
	literal := b.pushNext(gap, 0)
	b.pushed(w)
	b.operandAs(4, w)
	if literal {
		b.literal(b.next())
	}
	return fixups.ReasonNone
}

// spBased reports whether the operand is relative to the stack pointer.
func (b *planner) spBased() bool {
	return b.l.has(flagSIB) && b.l.rmFieldSIB(b.in.Bytes[b.l.modrmOff()+1]) == 4
}
