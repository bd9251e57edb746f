package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// callMem is CALL m with the original return address. The target is read before
// the return address is written, since the operand may be that very word; it then
// waits on the stack until the jump.
//
// An operand that cannot overlap that word is read twice. So is one of which the
// caller says that it does not: that is the short way, and restricted. Left in between
// the word is spoiled, for the site's call to write once more. Only if that never
// happens, since the target is not canonical and the jump faults, is it seen.
func (b *planner) callMem() fixups.Reason {
	farRIP := b.farRIP()
	z := b.zone()
	switch {
	case b.apart():
		return b.callMemTwice()
	case b.callDead():
		return fixups.ReasonNone
	case b.env.Short && !farRIP && b.l.mod() != 3 && !(b.spBased() && b.disp() < 0):
		b.p.Alias = true
		return b.callMemTwice()
	case b.short() && farRIP, b.short() && z != 0:
		return fixups.ReasonNoScratch
	case b.hasData() && !b.short() && !b.halfPushed():
		return b.dataCall(farRIP)
	case !b.spillable(), b.env.Lang == reloc.LangGo, b.halfPushed():
		return fixups.ReasonNoScratch
	case z == 0:
		return b.callMemTight(farRIP)
	case z < 8, !b.a.m64 && b.l.mod() == 3:
		return fixups.ReasonNoScratch
	}
	return b.callMemZone(farRIP, z)
}

// halfPushed reports whether the operand is known to overlap the word that the
// call writes without being it. Once that word is written, the operand could not
// be restored from the target alone, as unrestored does.
func (b *planner) halfPushed() bool {
	if !b.spBased() || b.in.Bytes[b.l.modrmOff()+1]>>3&7|byte(b.l.x()<<3|b.l.x4()<<4) != 4 {
		return false
	}
	w := int64(b.pushSize())
	d := b.disp()
	return -2*w < d && d < 0 && d != -w
}

// toTarget and unrestored are the ways out of a boundary at which the return
// address has been written, at least in part, with the target in memory at sp + at
// and the stack pointer depth below R.
//
// Forward does what is left. Back is for a fault of the jump, which a target that
// is not canonical causes: the word gets the target, which is what it held if it
// is the operand; if it is not, what it held is gone, as the site's call would
// have it.
func (b *planner) toTarget(at, depth int64) fixups.Program {
	w := int64(b.pushSize())
	q := b.begin()
	sp, t0, t1 := b.sp(), fixups.T(0), fixups.T(1)
	q.add64(t0, sp, at)
	q.load(t0, t0, int(w))
	q.add64(t1, sp, depth-w)
	q.store(t1, fixups.SitePlus(b.next()), int(w))
	q.mov(sp, t1)
	q.mov(fixups.PC(), t0)
	return q.program()
}

func (b *planner) unrestored(at, depth int64) fixups.Program {
	w := int64(b.pushSize())
	q := b.begin()
	sp, t0, t1 := b.sp(), fixups.T(0), fixups.T(1)
	q.add64(t0, sp, at)
	q.load(t0, t0, int(w))
	q.add64(t1, sp, depth-w)
	q.store(t1, t0, int(w))
	q.add64(sp, t1, w)
	q.mov(fixups.PC(), fixups.SitePlus(0))
	return q.program()
}

// callMemZone lets the target rest in what becomes the callee's zone:
//
//	lea rsp,[rsp-z]  push m  push next  pop [rsp+z]  lea rsp,[rsp+z]  jmp [rsp-z]
//
// With R the stack pointer at the site, the target is at R - word - z, which is z
// below the stack pointer that the callee gets: just inside.
func (b *planner) callMemZone(farRIP bool, z int64) fixups.Reason {
	w := int64(b.pushSize())
	b.p.Strategy = fixups.StrategySpill
	b.p.Stack = uint16(2 * w)
	if !b.pushTarget(farRIP, z) {
		return fixups.ReasonNoScratch
	}
	jump, op := [3]byte{0xff, 0x64, 0x24}, 1
	if z > 128 {
		jump[1], op = 0xa4, 4
	}
	gap := 7 + b.spMoveSize(z) + len(jump) + op
	if b.noTrack() {
		gap++
	}
	literal := b.pushNext(gap, z+w)
	b.pushed(z + 2*w)
	b.bytes(0x8f, 0x84, 0x24)
	b.constant(z, 4)
	b.point(fixups.StatePart, b.unrestored(0, z+w), b.toTarget(0, z+w))
	b.moveSP(z)
	b.point(fixups.StatePart, b.unrestored(-z, w), b.toTarget(-z, w))
	if b.noTrack() {
		b.bytes(0x3e)
	}
	b.bytes(jump[:]...)
	b.constant(-z, op)
	if literal {
		b.literal(b.next())
	}
	return fixups.ReasonNone
}

// exempt reports whether the site's own branch is exempt from indirect branch
// tracking by 3E, which kernels do not enable (see tracked). Beside another segment
// prefix it is not counted on.
func (b *planner) exempt() bool {
	if !b.l.pfx(pfxSeg) || b.env.Mode == reloc.ModeKernel {
		return false
	}
	found := false
	for _, c := range b.in.Bytes[:b.l.legacyEnd()] {
		switch c {
		case 0x3e:
			found = true
		case 0x26, 0x2e, 0x36, 0x64, 0x65:
			return false
		}
	}
	return found
}

// noTrack reports whether a branch in the place of the site's must be exempt.
// Where tracking is off the prefix means nothing.
func (b *planner) noTrack() bool { return b.env.IBT != reloc.Off && b.exempt() }

// untracked refuses RET in place of a branch that indirect branch tracking looks
// after: a target without a landing pad would no longer fault. Where it is not
// known whether tracking is on, the site says so.
func (b *planner) untracked() fixups.Reason {
	switch {
	case b.noTrack():
	case b.env.IBT == reloc.On:
		return fixups.ReasonNoScratch
	case b.env.IBT == reloc.Unknown:
		b.in.Hazards |= fixups.HazardLandingPad.Bit()
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
// with it at R. A register operand is the stack pointer itself. False means that
// the operand cannot be named from there.
func (b *planner) pushTarget(farRIP bool, z int64) bool {
	switch {
	case b.l.mod() == 3 && z != 0:
		b.saveRAX(z)
		b.bytes(0x48, 0x8d, 0x84, 0x24)
		b.constant(z+8, 4)
		b.spilled(fixups.StateStart, z, 0)
		b.bytes(0x48, 0x87, 0x04, 0x24)
	case b.l.mod() == 3:
		b.start()
		if b.short() {
			b.bytes(0x66)
		}
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
		if !b.operandAs(6, z) {
			return false
		}
	}
	b.pushed(z + int64(b.pushSize()))
	return true
}

// operandAs emits FF /ext with the site's operand. Where that is relative to the
// stack pointer, which is now spAdd lower, the displacement makes up for it: it is
// false if no displacement can, or no instruction is that long. An address of 32
// bits or less wraps as the site's does.
//
// The prefix 66, which a near branch in 64-bit mode ignores on the processors for
// which there is a plan, would make a push one of 16 bits: it is left out, and
// with it every REX prefix that it made void.
func (b *planner) operandAs(ext byte, spAdd int64) bool {
	l := b.l
	m := l.modrmOff()
	from := b.off()
	b.branchPrefixes()
	at := b.off()
	switch {
	case l.has(flagRIPRel):
		b.ripOperand()
	case b.spBased() && spAdd != 0:
		d := b.disp() + spAdd
		if d != int64(int32(d)) && l.addrSize() == 8 {
			return false
		}
		b.bytes(0x80|l.modrm()&0x3f, b.in.Bytes[m+1])
		b.constant(d, 4)
	default:
		b.bytes(b.in.Bytes[m:b.in.Len]...)
	}
	b.p.Code[at] = b.p.Code[at]&^0x38 | ext<<3
	return b.off()-from <= longest
}

// legacyEnd is the offset behind the legacy prefixes and void REX prefixes of a
// legacy or REX2 encoding.
func (l *layout) legacyEnd() int {
	if l.enc() == encREX2 || l.pfx(pfxREX) {
		return l.prefixOff()
	}
	return l.opcodeOff()
}

// branchPrefixes emits what stands before ModRM of a branch, without 66 and void REX
// prefixes if the branch ignores 66.
func (b *planner) branchPrefixes() {
	l := b.l
	last := l.legacyEnd()
	for _, c := range b.in.Bytes[:last] {
		if !b.a.m64 || b.short() || c != 0x66 && c&0xf0 != 0x40 {
			b.bytes(c)
		}
	}
	b.bytes(b.in.Bytes[last:l.modrmOff()]...)
}

// rmFieldSIB is the base that a SIB byte names.
func (l *layout) rmFieldSIB(sib byte) int { return int(sib&7) | l.b()<<3 | l.b4()<<4 }

// callMemTight serves code with nothing below the stack pointer, of which signals
// spare nothing either: return address and target lie one above the other, and
// RET takes the target.
//
//	lea rsp,[rsp-word]  push m  mov [rsp+word],next  ret
//
// The word of the return address is left alone until the target is below it. The
// stack pointer as the target is no operand in memory and is simply pushed twice.
func (b *planner) callMemTight(farRIP bool) fixups.Reason {
	if r := b.untracked(); r != fixups.ReasonNone {
		return r
	}
	w := int64(b.pushSize())
	b.p.Strategy = fixups.StrategySpill
	b.p.Stack = uint16(2 * w)
	if b.l.mod() == 3 {
		b.pushTarget(false, 0)
		if w == 2 {
			b.bytes(0x66)
		}
		b.bytes(0xff, 0x34, 0x24)
		b.pushed(2 * w)
	} else if !b.pushTarget(farRIP, w) {
		return fixups.ReasonNoScratch
	}
	if w == 2 {
		b.bytes(0x66, 0xc7, 0x44, 0x24, byte(w))
		b.abs(2, b.next())
		b.point(fixups.StatePart, b.unrestored(0, 2*w), b.toTarget(0, 2*w))
		b.bytes(0x66, 0xc3)
		return fixups.ReasonNone
	}
	b.bytes(0xc7, 0x44, 0x24, byte(w))
	b.abs(4, b.next())
	if w == 8 {
		b.point(fixups.StatePart, b.unrestored(0, 2*w), b.toTarget(0, 2*w))
		b.bytes(0xc7, 0x44, 0x24, byte(w)+4)
		b.reloc(fixups.Reloc{Addend: b.next(), Size: 4, Bits: 32, Shift: 32, Check: fixups.CheckSigned})
	}
	b.point(fixups.StatePart, b.unrestored(0, 2*w), b.toTarget(0, 2*w))
	b.bytes(0xc3)
	return fixups.ReasonNone
}

// apart reports whether the operand is known not to overlap the word that the call
// writes: it lies at a constant distance from the stack pointer.
func (b *planner) apart() bool {
	l := b.l
	if !b.spBased() || l.seg() >= 5 || l.addrSize() != b.word() {
		return false
	}
	sib := b.in.Bytes[l.modrmOff()+1]
	if int(sib>>3&7)|l.x()<<3|l.x4()<<4 != 4 {
		return false
	}
	d, w := b.disp(), int64(b.pushSize())
	return (d >= 0 || d <= -w-int64(b.word())) && d+w == int64(int32(d+w))
}

// callMemTwice reads the target twice, so it needs no room but the word that the
// call writes, and no register. It is for operands that do not overlap that word:
//
//	push m  mov [rsp],next  jmp m
//
// PUSH reads the operand and then writes the word, as the call does, so the faults
// come in the order of the site's. From then on neither faults.
func (b *planner) callMemTwice() fixups.Reason {
	w := int64(b.pushSize())
	b.p.Strategy = fixups.StrategyReEncode
	b.start()
	b.operandAs(6, 0)
	b.pushed(w)
	if w == 2 {
		b.bytes(0x66)
	}
	b.bytes(0xc7, 0x04, 0x24)
	b.abs(min(int(w), 4), b.next())
	b.pushed(w)
	if w == 8 {
		b.bytes(0xc7, 0x44, 0x24, 0x04)
		b.reloc(fixups.Reloc{Addend: b.next(), Size: 4, Bits: 32, Shift: 32, Check: fixups.CheckSigned})
		b.pushed(w)
	}
	if !b.operandAs(4, w) {
		return fixups.ReasonNoScratch
	}
	return fixups.ReasonNone
}

// spBased reports whether the operand is relative to the stack pointer.
func (b *planner) spBased() bool {
	return b.l.has(flagSIB) && b.l.rmFieldSIB(b.in.Bytes[b.l.modrmOff()+1]) == 4
}
