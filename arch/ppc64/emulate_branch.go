package ppc64

import "github.com/xol-go/xol/fixups"

// crBit is the place of bit n of CR, which the manual counts from the most significant
// of 32.
func crBit(n uint32) uint8 { return uint8(31 - n) }

// tested says how the condition of a branch is tested: the programs count CTR down
// first, and then look at 64 bits of it, as in 64-bit mode.
type tested struct {
	count   bool        // CTR is counted down and looked at
	ctrFail fixups.Cond // with 0, when the branch is not taken
	cr      bool        // a bit of CR is looked at
	crFail  fixups.Cond // with 0, when the branch is not taken
}

func (b *planner) tests() (t tested) {
	bo := b.bo()
	t.count, t.cr = bo&boKeep == 0, bo&boAnyCR == 0
	t.ctrFail, t.crFail = fixups.CondEQ, fixups.CondNE
	if bo&boZero != 0 {
		t.ctrFail = fixups.CondNE
	}
	if bo&boTrue != 0 {
		t.crFail = fixups.CondEQ
	}
	return t
}

// branchSteps appends the branch to target, an operand that stays what it is while CTR
// is counted down, or the way to the end of the site. t0 is used. LR is the caller's.
func (b *planner) branchSteps(q *steps, target fixups.Operand) {
	t := b.tests()
	t0, ctr := fixups.T(0), fixups.R(CTR)
	if t.count || t.cr {
		q.goTo(b.next())
	}
	if t.cr {
		q.extract(t0, fixups.R(CR), crBit(b.bi()), 1)
	}
	if t.count {
		n := 1
		if t.cr {
			n = 2
		}
		q.add64(ctr, ctr, -1)
		q.skip(n, ctr, t.ctrFail, fixups.Const(0))
	}
	if t.cr {
		q.skip(1, t0, t.crFail, fixups.Const(0))
	}
	q.mov(fixups.PC(), target)
}

// notTaken appends pc := end of the site if the branch that was stepped, and has
// counted CTR down, was not taken. t0 is used.
func (b *planner) notTaken(q *steps) {
	t := b.tests()
	t0, ctr := fixups.T(0), fixups.R(CTR)
	if t.cr {
		q.extract(t0, fixups.R(CR), crBit(b.bi()), 1)
	}
	switch {
	case t.count && t.cr:
		q.skip(1, ctr, t.ctrFail, fixups.Const(0))
		q.skip(1, t0, negate(t.crFail), fixups.Const(0))
	case t.count:
		q.skip(1, ctr, negate(t.ctrFail), fixups.Const(0))
	default:
		q.skip(1, t0, negate(t.crFail), fixups.Const(0))
	}
	q.goTo(b.next())
}

// negate is the opposite of eq or ne.
func negate(c fixups.Cond) fixups.Cond {
	if c == fixups.CondEQ {
		return fixups.CondNE
	}
	return fixups.CondEQ
}

// emulateBranch emulates b and bc.
func (b *planner) emulateBranch() fixups.Reason {
	q := b.begin()
	if b.lk() {
		q.mov(fixups.R(LR), fixups.SitePlus(b.next()))
	}
	if familyOf(b.in) == famB {
		q.mov(fixups.PC(), b.dest())
	} else {
		b.branchSteps(&q, b.dest())
	}
	b.p.Emulate = q.program()
	return fixups.ReasonNone
}

// emulateIndirect emulates bclr, bcctr and bctar: the target is read before LR is
// written and CTR counted, and its two lowest bits are not looked at.
func (b *planner) emulateIndirect() fixups.Reason {
	if familyOf(b.in) == famBCCTR && b.counts() {
		return fixups.ReasonReserved
	}
	q := b.begin()
	q.op2(fixups.OpAnd, fixups.T(1), fixups.R(b.by()), fixups.Const(^3))
	if b.lk() {
		q.mov(fixups.R(LR), fixups.SitePlus(b.next()))
	}
	b.branchSteps(&q, fixups.T(1))
	b.p.Emulate = q.program()
	return fixups.ReasonNone
}
