package arm64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// emulate makes the emulate form: control flow, addresses and loads relative to
// pc, no-operations and landing pads, and the start of a transaction as its
// immediate failure. No arithmetic is emulated, authentication included, and nothing
// atomic.
//
// Every program loads first and changes registers last, so a failed access has
// changed nothing. Each ends with BTYPE as the instruction leaves it: whoever comes
// to a site by a branch that asks for a landing pad has met it then.
//
// What not every processor has is emulated where Env says that this one does.
func (b *planner) emulate() fixups.Reason {
	if need := b.feature(); need&^b.env.Features != 0 {
		return fixups.ReasonNotEmulated
	}
	q := b.begin()
	r := fixups.ReasonNone
	switch b.family() {
	case famNop, famBTI, famPRFMLit:
		b.leaveTo(&q, fixups.SitePlus(b.next()), btypeNone)
	case famB:
		b.leaveTo(&q, fixups.SitePlus(b.target()), btypeNone)
	case famBCond, famCBZ, famTBZ, famCBReg, famCBImm:
		b.emulateCond(&q)
	case famBL:
		b.emulateCall(&q)
	case famBR, famBLR:
		r = b.emulateIndirect(&q)
	case famRET:
		r = b.emulateReturn(&q)
	case famADR, famADRP:
		if b.rd() != zr {
			q.mov(xreg(b.rd()), fixups.SitePlus(b.target()))
		}
		b.leaveTo(&q, fixups.SitePlus(b.next()), btypeNone)
	case famLDRLit:
		b.emulateLoad(&q)
	case famLDRVLit:
		b.emulateVector(&q)
	case famTSTART:
		b.emulateTSTART(&q)
	case famExclusive:
		r = fixups.ReasonExclusive
	case famPACM, famMOPS, famMOVPRFX:
		r = fixups.ReasonAdjacent
	default:
		r = fixups.ReasonNotEmulated
	}
	if r == fixups.ReasonNone {
		b.p.Emulate = q.program()
	}
	return r
}

// bitBC is set in BC.cond, and not in B.cond.
const bitBC = 1 << 4

// feature is what a processor needs to have the instruction, of those that are
// emulated. It faults without.
func (b *planner) feature() reloc.Features {
	switch b.family() {
	case famBCond:
		if b.w&bitBC != 0 {
			return FeatureHBC
		}
	case famCBReg, famCBImm:
		return FeatureCMPBR
	case famTSTART:
		return FeatureTME
	}
	return 0
}

// leaveTo ends a program.
func (b *planner) leaveTo(q *steps, pc fixups.Operand, btype int64) {
	b.setBType(q, btype)
	q.mov(fixups.PC(), pc)
}

// setBType appends the write of BTYPE. Where no page is guarded nothing looks at it,
// and that it is zero from here on is left out.
func (b *planner) setBType(q *steps, v int64) {
	if b.env.BTI != reloc.Off || v != btypeNone {
		q.mov(fixups.R(BTYPE), fixups.Const(v))
	}
}

// xreg is general register n.
func xreg(n int) fixups.Operand { return fixups.R(fixups.Reg(n)) }

// zeroReg is general register n, where number 31 reads as zero.
func zeroReg(n int) fixups.Operand {
	if n == zr {
		return fixups.Const(0)
	}
	return xreg(n)
}

// emulateLoad is LDR and LDRSW of a literal. A literal is data, in the byte order
// of data. What register 31 drops has been loaded all the same.
func (b *planner) emulateLoad(q *steps) {
	t0 := fixups.T(0)
	size := 4
	if b.w>>30 == opcLong {
		size = 8
	}
	q.load(t0, fixups.SitePlus(b.target()), size, b.dataOrder())
	if b.w>>30 == opcSign {
		q.sext(t0, t0, 32)
	}
	if b.rd() != zr {
		q.mov(xreg(b.rd()), t0)
	}
	b.leaveTo(q, fixups.SitePlus(b.next()), btypeNone)
}

// emulateVector is LDR S, D and Q of a literal. Writing part 0 clears what is above
// it. 16 bytes are one number, so where data is big-endian their first half is the
// high one. That is loaded first in either order: if neither half can be, it is the
// one that the instruction fails at.
func (b *planner) emulateVector(q *steps) {
	t0, t1 := fixups.T(0), fixups.T(1)
	v := V0 + fixups.Reg(b.rd())
	order := b.dataOrder()
	b.p.Needs |= fixups.NeedsVector
	switch first := fixups.SitePlus(b.target()); b.w >> 30 {
	case opcWord:
		q.load(t0, first, 4, order)
	case opcLong:
		q.load(t0, first, 8, order)
	default:
		lower, upper := t0, t1 // what lies at the lower address, and above it
		if order == fixups.BigEndian {
			lower, upper = t1, t0
		}
		q.load(lower, first, 8, order)
		q.load(upper, fixups.SitePlus(b.target()+8), 8, order)
	}
	q.mov(fixups.R(fixups.RegPart(v, 0)), t0)
	if b.w>>30 == opcSign {
		q.mov(fixups.R(fixups.RegPart(v, 1)), t1)
	}
	b.leaveTo(q, fixups.SitePlus(b.next()), btypeNone)
}

// causeDebug is the cause of a transaction that failed because of an exception
// that belongs to debugging, with no hint to try again (Arm ARM, C6.2, TSTART).
const causeDebug = 1 << 22

// emulateTSTART lets the transaction fail at once. A TSTART inside a transaction is
// not met: the probe's trap has made that one fail.
func (b *planner) emulateTSTART(q *steps) {
	if b.rd() != zr {
		q.mov(xreg(b.rd()), fixups.Const(causeDebug))
	}
	b.leaveTo(q, fixups.SitePlus(b.next()), btypeNone)
}
