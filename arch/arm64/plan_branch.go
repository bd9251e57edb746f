package arm64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// branch moves B. A stepped copy branches to its own end, so it stops where any
// copy does and the branch is Post's; a branch to itself is no special case. A
// jumping copy is its own tail.
func (b *planner) branch(step bool) fixups.Reason {
	if r := b.hazards(transfers); r != fixups.ReasonNone {
		return r
	}
	b.p.Strategy = fixups.StrategyReEncode
	b.start()
	if !step {
		if b.dist == distFar {
			b.p.Strategy = fixups.StrategyDeadReg
		}
		return b.leave(b.target())
	}
	b.emit(wordB | 1)
	b.guard(b.target())
	b.p.Abort, b.p.Post = gotoSite, b.postBranch()
	return fixups.ReasonNone
}

// postBranch goes to the target if the copy stopped behind itself.
func (b *planner) postBranch() fixups.Program {
	q := b.begin()
	q.skip(1, fixups.PC(), fixups.CondNE, fixups.SlotPlus(4), 64)
	q.mov(fixups.PC(), fixups.SitePlus(b.target()))
	return q.program()
}

// condBranch moves the conditional branches, opcode and condition as they are: an
// inverted one would never leave where the condition is AL or NV, which are both
// always true (Arm ARM, C1.2.4), and BC.cond says more than B.cond.
//
// The copy goes to one of two ways out, or to the only one that there is. Nothing
// is loaded before it has tested, so the tested register may be the scratch.
func (b *planner) condBranch(step bool) fixups.Reason {
	if r := b.hazards(transfers); r != fixups.ReasonNone {
		return r
	}
	b.start()
	lsb, bits := fieldOf(b.family())
	w := b.w &^ ((1<<bits - 1) << lsb)
	switch {
	case step:
		return b.stepCond(w, lsb)
	case b.dist == distShort:
		b.p.Strategy = fixups.StrategyReEncode
		b.relative(w, b.target(), lsb, bits)
		if b.always() {
			return fixups.ReasonNone
		}
		return b.tail(b.next())
	}
	b.p.Strategy = fixups.StrategyIsland
	b.emit(w)
	if b.always() {
		b.p.Code[0], b.p.Code[1] = field(w, lsb, b.off())
		return b.tail(b.target())
	}
	if r := b.tail(b.next()); r != fixups.ReasonNone {
		return r
	}
	b.p.Code[0], b.p.Code[1] = field(w, lsb, b.off())
	return b.tail(b.target())
}

// always reports whether the branch is always taken: the condition is AL or NV.
func (b *planner) always() bool { return b.in.Flags&reloc.Continues == 0 }

// field is the low half of w with a displacement of off bytes from bit lsb on.
func field(w uint32, lsb uint8, off int) (byte, byte) {
	w |= uint32(off) / 4 << lsb
	return byte(w), byte(w >> 8)
}

// stepCond lets the copy choose between two stops. Post tells by pc which it was.
func (b *planner) stepCond(w uint32, lsb uint8) fixups.Reason {
	b.p.Strategy = fixups.StrategyReEncode
	b.emit(w)
	b.p.Abort = gotoSite
	if b.always() {
		b.p.Code[0], b.p.Code[1] = field(w, lsb, b.off())
		b.guard(b.target())
		b.p.Post = b.postBranch()
		return fixups.ReasonNone
	}
	b.guard(b.next())
	stop := b.p.CopyLen
	k := b.off()
	b.p.Code[0], b.p.Code[1] = field(w, lsb, k)
	b.guard(b.target())
	b.p.CopyLen = stop
	t1 := fixups.T(1)
	q := b.begin()
	q.mov(t1, fixups.PC())
	q.skip(1, t1, fixups.CondNE, fixups.SlotPlus(int64(stop)), 64)
	q.mov(fixups.PC(), fixups.SitePlus(b.next()))
	q.skip(1, t1, fixups.CondNE, fixups.SlotPlus(int64(k)), 64)
	q.mov(fixups.PC(), fixups.SitePlus(b.target()))
	b.p.Post = q.program()
	return fixups.ReasonNone
}
