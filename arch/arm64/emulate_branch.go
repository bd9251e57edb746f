package arm64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Bits of NZCV.
const (
	bitV = 28
	bitC = 29
	bitZ = 30
	bitN = 31
)

// emulateCond is every conditional branch: t1 is where it goes, t0 what it tests.
func (b *planner) emulateCond(q *steps) {
	t0, t1 := fixups.T(0), fixups.T(1)
	next, target := fixups.SitePlus(b.next()), fixups.SitePlus(b.target())
	switch b.family() {
	case famBCond:
		c, always := b.condition(q)
		q.mov(t1, target)
		if !always {
			q.skip(1, t0, c, fixups.Const(0), 64)
			q.mov(t1, next)
		}
	case famCBZ:
		q.mov(t1, target)
		q.skip(1, zeroReg(b.rd()), zeroCond(b.w>>24&1), fixups.Const(0), b.regWidth())
		q.mov(t1, next)
	case famTBZ:
		bit := uint8(b.w>>19&31 | b.w>>31<<5)
		q.extract(t0, zeroReg(b.rd()), bit, 1)
		q.mov(t1, target)
		q.skip(1, t0, zeroCond(b.w>>24&1), fixups.Const(0), 64)
		q.mov(t1, next)
	default:
		c, y, width := b.comparison()
		q.mov(t1, target)
		q.skip(1, zeroReg(b.rd()), c, y, width)
		q.mov(t1, next)
	}
	b.leaveTo(q, t1, btypeNone)
}

// zeroCond is how what is tested compares with zero if the branch is taken: equal
// (CBZ, TBZ), or not (CBNZ, TBNZ).
func zeroCond(op uint32) fixups.Cond {
	if op == 0 {
		return fixups.CondEQ
	}
	return fixups.CondNE
}

// regWidth is the width in bits of the compared register, by sf.
func (b *planner) regWidth() uint8 {
	if b.w>>31 == 0 {
		return 32
	}
	return 64
}

// condition appends the evaluation of a condition into t0, and returns how t0
// compares with 0 if it holds. Conditions come in pairs, the odd one the opposite of
// the even one, except for the last, which are both always true (Arm ARM, C1.2.4).
func (b *planner) condition(q *steps) (holds fixups.Cond, always bool) {
	cond := b.w & 15
	t0, t1 := fixups.T(0), fixups.T(1)
	flag := func(dst fixups.Operand, bit uint8) { q.extract(dst, fixups.R(NZCV), bit, 1) }
	holds = fixups.CondNE
	switch cond >> 1 {
	case 0:
		flag(t0, bitZ)
	case 1:
		flag(t0, bitC)
	case 2:
		flag(t0, bitN)
	case 3:
		flag(t0, bitV)
	case 4: // C and not Z: the opposite is Z or not C
		flag(t0, bitZ)
		flag(t1, bitC)
		q.op2(fixups.OpXor, t1, t1, fixups.Const(1))
		q.op2(fixups.OpOr, t0, t0, t1)
		holds = fixups.CondEQ
	case 5, 6: // N = V, and for GT not Z either
		flag(t0, bitN)
		flag(t1, bitV)
		q.op2(fixups.OpXor, t0, t0, t1)
		if cond>>1 == 6 {
			flag(t1, bitZ)
			q.op2(fixups.OpOr, t0, t0, t1)
		}
		holds = fixups.CondEQ
	default:
		return holds, true
	}
	if cond&1 != 0 {
		holds ^= fixups.CondEQ ^ fixups.CondNE
	}
	return holds, false
}

// comparison is what CB<cc> compares its first register with, how if it branches,
// and in how many bits (Arm ARM, C6.2, CB<cc>; FEAT_CMPBR).
func (b *planner) comparison() (c fixups.Cond, y fixups.Operand, width uint8) {
	cc := b.w >> 21 & 7
	if b.family() == famCBImm {
		c = [8]fixups.Cond{fixups.CondGT, fixups.CondLT, fixups.CondA, fixups.CondB, 6: fixups.CondEQ, 7: fixups.CondNE}[cc]
		return c, fixups.Const(int64(b.w >> 15 & 63)), b.regWidth()
	}
	c = [8]fixups.Cond{fixups.CondGT, fixups.CondGE, fixups.CondA, fixups.CondAE, 6: fixups.CondEQ, 7: fixups.CondNE}[cc]
	width = b.regWidth()
	switch b.w >> 14 & 3 {
	case 2:
		width = 8
	case 3:
		width = 16
	}
	return c, zeroReg(b.rm()), width
}

// linkTo appends what a call leaves: the return address, on the guarded control
// stack too, if there is one.
func (b *planner) linkTo(q *steps) {
	b.p.IsCall = true
	next := fixups.SitePlus(b.next())
	b.pushGCS(q, next)
	q.mov(xreg(lr), next)
}

func (b *planner) emulateCall(q *steps) {
	b.linkTo(q)
	b.leaveTo(q, fixups.SitePlus(b.target()), btypeNone)
}

// emulateIndirect is BR and BLR. The target is read before x30 is written. What BR
// by another register than x16 and x17 makes of BTYPE depends on whether the page of
// the site is guarded, which not all pages are where pages may be, so it is left to
// the other forms there. Where that is not known it is taken for one that is not.
func (b *planner) emulateIndirect(q *steps) fixups.Reason {
	n := b.rn()
	if b.family() == famBLR {
		target := zeroReg(n)
		if n == lr {
			q.mov(fixups.T(0), target)
			target = fixups.T(0)
		}
		b.linkTo(q)
		b.leaveTo(q, target, btypeCall)
		return fixups.ReasonNone
	}
	if n != ip0 && n != ip1 {
		switch b.env.BTI {
		case reloc.On:
			return fixups.ReasonNotEmulated
		case reloc.Unknown:
			b.in.Hazards |= fixups.HazardBType.Bit()
		}
	}
	b.leaveTo(q, zeroReg(n), btypeJump)
	return fixups.ReasonNone
}

// emulateReturn is RET. With a guarded control stack it compares two addresses,
// which a program can read but not refuse.
func (b *planner) emulateReturn(q *steps) fixups.Reason {
	switch b.env.GCS {
	case reloc.On:
		return fixups.ReasonShadowStack
	case reloc.Unknown:
		b.in.Hazards |= fixups.HazardShadowStack.Bit()
	}
	b.leaveTo(q, zeroReg(b.rn()), btypeNone)
	return fixups.ReasonNone
}
