package ppc64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Fields of prefixed and other pc-relative instructions (Book I, 1.6.3 and 3.3.9).
const (
	fieldR    = 1 << 20   // prefix: relative to pc
	fieldD0   = 1<<18 - 1 // prefix: upper 18 bits of the displacement
	fieldD1   = 1<<16 - 1 // suffix: lower 16 bits
	fieldPCIS = 0x1fffc1  // d0, d1 and d2 of addpcis

	wideSpan = 1 << 33 // displacements are in [-wideSpan, wideSpan)
)

// blockEnd is the offset in 64 bytes where no prefix may be: an instruction of two
// words does not cross a multiple of 64 (Book I, 1.6).
const (
	block    = 64
	blockEnd = 60
)

// apart keeps a prefix off the end of a block, in a slot that begins with one.
func (b *planner) apart() {
	b.p.SlotAlign = block
	if b.off()%block == blockEnd {
		b.put(wordORI) // nop
	}
}

// operand moves a load or store with R=1. It is re-encoded within 8 GiB; elsewhere its
// operand does not depend on pc: as an absolute address of 34 bits, or in a register.
// The opcode stays, as does its fault where the processor lacks it.
func (b *planner) operand(step bool) fixups.Reason {
	if r := b.hazards(copyable | fixups.HazardReadsPC.Bit()); r != fixups.ReasonNone {
		return r
	}
	switch {
	case b.wide:
		b.p.Strategy = fixups.StrategyReEncode
	case b.low():
		b.p.Strategy = fixups.StrategyAbsolute
	case step:
		return b.stepBase()
	default:
		return b.farOperand()
	}
	b.now(fixups.StateStart, gotoSite, nil)
	if !step {
		if r := b.ready(b.next()); r != fixups.ReasonNone {
			return r
		}
	}
	if b.wide {
		b.putRelative()
	} else {
		b.putAbsolute()
	}
	if step {
		b.guard(b.next())
		b.p.Post, b.p.Abort = postCopy[b.in.Len][:], gotoSite
		return fixups.ReasonNone
	}
	b.tail()
	return fixups.ReasonNone
}

// low reports whether 34 bits name the address from anywhere. The field is checked when
// the plan is placed, for the site may have moved.
func (b *planner) low() bool { return !b.env.Biased && isLow(b.in.Target) }

// isLow reports whether 34 bits, sign-extended, hold an address.
func isLow(addr uint64) bool { return addr+wideSpan < 2*wideSpan }

// putRelative appends the instruction with R=1 and a displacement for the slot.
func (b *planner) putRelative() {
	b.apart()
	b.mark()
	off := int64(b.off())
	b.displacement(b.target(), b.target()+4).PCRel = true
	b.p.Relocs[len(b.p.Relocs)-2].PCRel = true
	b.within(b.target()-off, wideSpan, 1)
	b.word(b.w &^ fieldD0)
	b.word(b.w2 &^ fieldD1)
}

// putAbsolute appends the instruction with R=0 and RA=0.
func (b *planner) putAbsolute() {
	b.apart()
	b.mark()
	b.displacement(b.target(), b.target())
	b.word(b.w &^ (fieldR | fieldD0))
	b.word(b.w2 &^ fieldD1)
}

// displacement adds the two fields of a displacement and returns the second. What the
// first checks holds for both.
func (b *planner) displacement(delta0, delta1 int64) *fixups.Reloc {
	b.newReloc(0, 18, 16, delta0).Check = fixups.CheckSigned
	r := b.newReloc(0, 16, 0, delta1)
	r.Off += 4
	return r
}

// putBased appends the instruction with R=0, a displacement of 0 and a base.
func (b *planner) putBased(base, rt fixups.Reg) {
	b.put2(b.w&^(fieldR|fieldD0), b.w2&^(fieldD1|31<<21)|uint32(rt)<<21|uint32(base)<<16)
}

// farOperand has the address in a register: the destination, if the caller allows that
// its value is lost where the load faults, else one that is borrowed across the copy.
func (b *planner) farOperand() fixups.Reason {
	load := familyOf(b.in) == famPLoad
	if load && b.env.AllowLost && b.rt() != R0 && b.rt() != R1 {
		return b.ownBase()
	}
	var use reloc.RegUse
	b.a.Registers(&use, b.in)
	loadsSP := load && use.Writes.Has(R1)
	if loadsSP {
		b.words = 1
	}
	var h hold
	if r := b.lend(&h, !b.near, true); r != fixups.ReasonNone {
		return r
	}
	if !b.near {
		b.aim(&h, b.next())
	}
	b.build(h.reg, b.target())
	switch {
	case h.at != holdStack:
	case loadsSP:
		b.loadSP(&h)
		b.tail()
		return fixups.ReasonNone
	case use.Writes.Has(R1), h.move != 0 && use.Reads.Has(R1):
		return fixups.ReasonNoScratch // plq of r0 and r1; a store of r1 where it has moved
	}
	b.putBased(h.reg, b.rt())
	b.now(fixups.StateDone, nil, b.givenBack(&h, b.next()))
	b.give(&h)
	b.tail()
	return fixups.ReasonNone
}

// loadSP loads the stack pointer by way of the borrowed register, whose value waits
// below it: the new one waits beside, and is put in place last.
func (b *planner) loadSP(h *hold) {
	second := h.off - 8
	reg, sp, t0, t7 := fixups.R(h.reg), fixups.R(R1), fixups.T(0), fixups.T(7)
	b.putBased(h.reg, h.reg)
	q := b.begin()
	q.mov(t0, reg)
	q.add64(t7, sp, h.off)
	q.load(reg, t7, 8)
	q.mov(sp, t0)
	q.goTo(b.next())
	b.now(fixups.StatePart, nil, q.program())
	b.put(wordMem(wordSTD, h.reg, R1, second))
	b.put(wordMem(wordLD, h.reg, R1, h.off))
	q = b.begin()
	q.add64(t7, sp, second)
	q.load(sp, t7, 8)
	q.goTo(b.next())
	b.now(fixups.StatePart, nil, q.program())
	b.put(wordMem(wordLD, R1, R1, second))
}

// ownBase has the address in the destination of the load, whose value is lost if the
// load faults.
func (b *planner) ownBase() fixups.Reason {
	rt := b.rt()
	b.p.Strategy = fixups.StrategyOwnDest
	first := b.off()
	b.now(fixups.StateStart, gotoSite, nil)
	if !b.near {
		var use reloc.RegUse
		b.a.Registers(&use, b.in)
		var ok bool
		if b.out, ok = b.exit(&use.Writes); !ok {
			return fixups.ReasonNoScratch
		}
		b.clobber(b.out)
		b.build(rt, b.next())
		b.put(wordMT(b.out, rt))
	}
	b.build(rt, b.target())
	b.putBased(rt, rt)
	for i := range b.p.Points {
		if pt := &b.p.Points[i]; int(pt.Off) > first {
			pt.Lost.Add(rt)
		}
	}
	b.p.Lost.Add(rt)
	b.tail()
	return fixups.ReasonNone
}

// stepBase steps the instruction with a register that it does not use for its base:
// the register waits in t0.
func (b *planner) stepBase() fixups.Reason {
	var use reloc.RegUse
	b.a.Registers(&use, b.in)
	busy := use.Reads
	busy.Union(&use.Writes)
	base := fixups.RegNone
	for _, r := range scratchRegs {
		if r != R0 && !busy.Has(r) {
			base = r
			break
		}
	}
	b.p.Strategy = fixups.StrategyAbsolute
	reg, t0 := fixups.R(base), fixups.T(0)
	q := b.begin()
	q.mov(t0, reg)
	q.mov(reg, fixups.SitePlus(b.target()))
	b.p.Pre = q.program()
	q = b.begin()
	q.mov(reg, t0)
	q.goTo(0)
	b.p.Abort = q.program()
	q = b.begin()
	q.mov(reg, t0)
	q.skip(1, fixups.PC(), fixups.CondNE, fixups.SlotPlus(b.next()))
	q.goTo(b.next())
	b.p.Post = q.program()
	b.now(fixups.StateStart, gotoSite, nil) // the programs of points have no temporaries of the visit
	b.putBased(base, b.rt())
	b.guard(b.next())
	return fixups.ReasonNone
}
