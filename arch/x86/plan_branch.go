package x86

import "github.com/xol-go/xol/fixups"

// jump moves JMP rel8 and rel32, and JMPABS and the far JMP, whose targets are
// constants.
//
// A stepped copy has a zero displacement, so it ends where any copy does and the
// branch is post's; self branches are no special case, and the copy keeps its
// length. A jumping copy is its own tail.
func (b *planner) jump(step bool) fixups.Reason {
	if r := b.vendor(); r != fixups.ReasonNone {
		return r
	}
	if !b.l.has(flagRelImm) {
		if b.isJMPABS() || b.isJMPF() {
			return b.asIs(step)
		}
		return fixups.ReasonUnknown
	}
	b.p.Strategy = fixups.StrategyReEncode
	b.start()
	if step {
		return b.stepJump()
	}
	if b.short() {
		b.bytes(0x66, 0xe9)
		b.rel16(b.target())
		return fixups.ReasonNone
	}
	if !b.near {
		b.p.Strategy = fixups.StrategyLiteral
	}
	return b.leave(b.target())
}

// copyZero emits the site's bytes with a zero displacement.
func (b *planner) copyZero() {
	b.bytes(b.in.Bytes[:b.l.immOff()]...)
	b.constant(0, b.l.immLen())
	b.bytes(b.in.Bytes[b.l.immOff()+b.l.immLen() : b.in.Len]...)
}

// copyWide is copyZero with a displacement of 8 bits and without 66, which in
// 32-bit mode would cut pc to 16 bits in the slot. The prefix 67 stays: it chooses
// the count register.
func (b *planner) copyWide(opcode byte) {
	if b.l.pfx(pfx67) {
		b.bytes(0x67)
	}
	b.bytes(opcode, 0)
}

// stepJump steps a copy with a zero displacement.
func (b *planner) stepJump() fixups.Reason {
	if b.short() {
		b.copyWide(0xeb)
	} else {
		b.copyZero()
	}
	b.guardTarget()
	b.p.Abort = gotoSite
	q := b.begin()
	q.mov(fixups.T(1), fixups.PC())
	b.stopped(&q, int64(b.p.CopyLen))
	b.p.Post = q.program()
	return fixups.ReasonNone
}

// stopped appends: if the copy was stopped at Slot + n, go to the target. pc is in
// t1, where it is put first: the target may be an address in the slot.
func (b *planner) stopped(q *steps, n int64) {
	q.atStop(b, n, 1)
	b.setPC(q)
}

// atStop appends: skip k steps unless t1 is the stop at Slot + n. After a trap pc
// is reported at the trap or behind it.
func (q *steps) atStop(b *planner, n int64, k int) {
	if b.p.Stop == fixups.StopTrap {
		q.op2(fixups.OpSub, fixups.T(2), fixups.T(1), fixups.SlotPlus(n))
		q.skip(k, fixups.T(2), fixups.CondA, fixups.Const(1), b.width())
		return
	}
	q.skip(k, fixups.T(1), fixups.CondNE, fixups.SlotPlus(n), b.width())
}

func (b *planner) isJMPF() bool {
	return !b.a.m64 && b.l.opmap() == 0 && b.l.opcode() == 0xea
}

func (b *planner) isJMPABS() bool { return b.l.enc() == encREX2 && b.l.opcode() == 0xa1 }

// condJump moves Jcc, and LOOP, LOOPE, LOOPNE and JRCXZ.
func (b *planner) condJump(step bool) fixups.Reason {
	if r := b.vendor(); r != fixups.ReasonNone {
		return r
	}
	if !b.l.has(flagRelImm) {
		return fixups.ReasonUnknown
	}
	if b.isLoop() && b.short() && b.repeatOverrides() {
		return fixups.ReasonVendor // the wide copy has no prefixes to go by
	}
	b.p.Strategy = fixups.StrategyReEncode
	b.start()
	switch {
	case step:
		return b.stepCond()
	case b.isLoop():
		return b.jumpLoop()
	case b.short():
		b.bytes(0x66, 0x0f, 0x80|b.cond())
		b.rel16(b.target())
	case b.near:
		b.p.Code = append(b.p.Code, 0x0f, 0x80|b.cond(), 0, 0, 0, 0)
		b.relAt(2, 0, b.target())
	default:
		return b.farCond()
	}
	return b.tail(b.next())
}

// isLoop reports whether the branch tests the count register.
func (b *planner) isLoop() bool { return b.l.opmap() == 0 && b.l.opcode()&0xfc == 0xe0 }

// cond is the condition of a Jcc, as in its opcode.
func (b *planner) cond() byte { return b.l.opcode() & 15 }

// farCond jumps over a long jump on the opposite condition.
func (b *planner) farCond() fixups.Reason {
	b.p.Strategy = fixups.StrategyIsland
	from := b.off()
	b.bytes(0x70|b.cond()^1, 0)
	if r := b.tail(b.target()); r != fixups.ReasonNone {
		return r
	}
	b.p.Code[from+1] = byte(b.off() - from - 2)
	return b.tail(b.next())
}

// jumpLoop keeps the opcode, whose displacement has 8 bits, and gives it two
// long jumps to choose from: fall through to the first, else to the second.
func (b *planner) jumpLoop() fixups.Reason {
	b.p.Strategy = fixups.StrategyIsland
	if b.short() {
		b.copyWide(b.l.opcode())
	} else {
		b.copyZero()
	}
	from := b.off()
	if r := b.tail(b.next()); r != fixups.ReasonNone {
		return r
	}
	b.p.Code[from-1] = byte(b.off() - from)
	if b.short() {
		b.tail16()
		return fixups.ReasonNone
	}
	return b.tail(b.target())
}

// stepCond lets the copy choose between two stops. Post tells by pc which it
// was. Between trap stops lies another trap, so that a pc that is reported
// behind the first is not taken for the second.
func (b *planner) stepCond() fixups.Reason {
	imm := b.l.immOff()
	if b.short() {
		opcode := 0x70 | b.cond()
		if b.isLoop() {
			opcode = b.l.opcode()
		}
		b.copyWide(opcode)
		imm = b.off() - 1
	} else {
		b.copyZero()
	}
	n := b.off()
	b.guard(b.next())
	stop := b.p.CopyLen
	if b.p.Tail == fixups.TailTrap {
		b.done(b.next())
		b.bytes(0xcc)
	}
	k := b.off()
	b.p.Code[imm] = byte(k - n)
	b.guardTarget()
	b.p.CopyLen = stop
	b.p.Abort = gotoSite
	q := b.begin()
	q.mov(fixups.T(1), fixups.PC())
	q.atStop(b, int64(n), 1)
	b.leaveTo(&q)
	b.stopped(&q, int64(k))
	b.p.Post = q.program()
	return fixups.ReasonNone
}

// asIs copies a transfer of control that does not depend on where it stands and
// never falls through. After a step pc is what the copy made of it. A trap behind
// the copy would not stop it.
func (b *planner) asIs(step bool) fixups.Reason {
	b.p.Strategy = fixups.StrategyCopy
	b.start()
	b.bytes(b.in.Bytes[:b.in.Len]...)
	return b.gone(step)
}

// gone ends a copy that has left the slot.
func (b *planner) gone(step bool) fixups.Reason {
	if !step {
		return fixups.ReasonNone
	}
	if b.p.Stop == fixups.StopTrap {
		return fixups.ReasonNoStop
	}
	b.guard(b.next())
	b.p.Abort = gotoSite
	return fixups.ReasonNone
}
