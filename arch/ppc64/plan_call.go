package ppc64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// A branch with LK=1 writes LR, taken or not (Book I, 2.4). So that the callee finds
// the site's return address, LR is made before the branch, which then has LK=0: by
// way of a general register, for there is no other way to give LR a value that is not
// the address of the slot. Emulated and stepped, LR is a program's.

// returnsToSlot reports whether the callee is to return to the slot. Go's runtime looks
// every return address up and knows no slot.
func (b *planner) returnsToSlot() (bool, fixups.Reason) {
	if b.env.Return != fixups.ReturnsSlot || b.readsReturn() {
		return false, fixups.ReasonNone
	}
	if b.env.Lang == reloc.LangGo {
		return false, fixups.ReasonReturnAddress
	}
	return true, fixups.ReasonNone
}

// readsReturn reports whether the call is known to be there for the address in LR,
// as a value: bcl 20,31, which processors take for no call (Book I, 2.4, programming
// note of bcl), a call of the next instruction, or of a function that does nothing but
// return it. A call to an unknown callee is a real call.
func (b *planner) readsReturn() bool {
	const getPC = 20<<21 | 31<<16
	if familyOf(b.in) == famBC && b.w&0x03ff0000 == getPC || b.in.HasTarget() && b.in.Target == b.in.Next() {
		return true
	}
	if b.env.Code == nil || !b.in.HasTarget() {
		return false
	}
	return b.a.returnsLR(b.env.Code.Bytes(b.in.Target))
}

// returnsLR reports whether code is mflr and blr.
func (a *Arch) returnsLR(code []byte) bool {
	if len(code) < 8 {
		return false
	}
	const mflr = wordMFSPR | 8<<16
	return a.word(code)&^(31<<21) == mflr && a.word(code[4:]) == wordBCLR|boUncond
}

// call is the jump form of b and bc with LK=1 that are always taken.
func (b *planner) call() fixups.Reason {
	slot, r := b.returnsToSlot()
	switch {
	case r != fixups.ReasonNone:
		return r
	case slot:
		return b.callFromSlot()
	}
	var h hold
	far := !b.near && !b.aa()
	if r = b.lend(&h, far, false); r != fixups.ReasonNone {
		return r
	}
	if far {
		b.aim(&h, b.target())
	}
	b.link(&h, b.givenBackTo(&h))
	b.now(fixups.StateDone, nil, b.jumpToDest())
	if b.aa() {
		b.absolute()
	} else {
		b.leave(b.target())
	}
	return fixups.ReasonNone
}

// link emits LR := end of the site by way of h, and gives h back. From the write of LR
// on part is what the boundaries offer: all of the site is still to be done but LR.
func (b *planner) link(h *hold, part fixups.Program) {
	b.build(h.reg, b.next())
	b.put(wordMT(LR, h.reg))
	b.now(fixups.StatePart, nil, part)
	b.give(h)
}

// callFromSlot calls the target and has it return to the slot: near by bl, far through
// LR, which the call overwrites anyway.
func (b *planner) callFromSlot() fixups.Reason {
	b.p.Returns = fixups.ReturnsSlot
	b.p.Strategy = fixups.StrategyReEncode
	switch {
	case b.aa():
		b.p.Strategy = fixups.StrategyCopy
		b.now(fixups.StateStart, gotoSite, nil)
		b.copy()
	case b.near:
		b.now(fixups.StateStart, gotoSite, nil)
		b.putB(wordB|1, b.target())
	default:
		var h hold
		if r := b.lend(&h, false, false); r != fixups.ReasonNone {
			return r
		}
		b.build(h.reg, b.target())
		b.put(wordMT(LR, h.reg))
		ret := int64(b.off() + b.giveSize(&h) + 4)
		b.now(fixups.StatePart, nil, b.calling(&h, ret))
		b.give(&h)
		b.now(fixups.StatePart, nil, b.calling(&h, ret))
		b.put(wordBCLR | boUncond | 1)
	}
	b.escape(fixups.EscapeReturn)
	return b.leaveAfter()
}

// calling is what the boundaries offer between the write of LR and the call through it:
// the call is made from here, with the slot's return address.
func (b *planner) calling(h *hold, ret int64) fixups.Program {
	q := b.begin()
	h.restore(&q)
	q.mov(fixups.R(LR), fixups.SlotPlus(ret))
	q.mov(fixups.PC(), b.dest())
	return q.program()
}

// condLink is the jump form of bc with LK=1 and a condition.
func (b *planner) condLink() fixups.Reason {
	var h hold
	far := !b.near && !b.aa()
	if r := b.lend(&h, far, false); r != fixups.ReasonNone {
		return r
	}
	if far {
		b.aim(&h, b.target())
	}
	q := b.begin()
	h.restore(&q)
	b.branchSteps(&q, b.dest())
	b.link(&h, q.program())
	q = b.begin()
	b.branchSteps(&q, b.dest())
	b.now(fixups.StatePart, nil, q.program())
	b.p.Strategy = max(b.p.Strategy, fixups.StrategyIsland)
	if b.aa() {
		b.absolute()
		b.leaveLinked()
		return fixups.ReasonNone
	}
	b.put(b.condTo(8))
	b.leaveLinked()
	b.now(fixups.StateDone, nil, b.jumpToDest())
	b.leave(b.target())
	return fixups.ReasonNone
}
