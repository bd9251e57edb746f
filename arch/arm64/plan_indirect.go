package arm64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Values of PSTATE.BTYPE: what the next instruction has to be a landing pad for in
// a guarded page (Arm ARM, D8.4.6.2). Whatever is no branch by a register leaves
// 0, and so does RET.
const (
	btypeNone = 0 // nothing
	btypeJump = 1 // BR x16 and x17, and BR from a page that is not guarded
	btypeCall = 2 // BLR; BR by another register from a guarded page makes it 3
)

// Bits of BLRAA and its like (Arm ARM, C6.2, BLRAA).
const (
	bitModifier = 1 << 24 // a register is the modifier, else zero
	bitKeyB     = 1 << 10
)

// asIs copies a transfer of control that does not depend on where it stands and
// never falls through: BR, RET and those that authenticate their target, which may
// fault at that, before they have changed anything. After a step pc is what the
// copy made of it. A trap behind the copy would not stop it.
//
// BTYPE depends on whether the page of the branch is guarded, so the slot's has to
// be as the site's is.
func (b *planner) asIs(step bool) fixups.Reason {
	if r := b.hazards(transfers); r != fixups.ReasonNone {
		return r
	}
	b.p.Strategy = fixups.StrategyCopy
	b.start()
	b.emit(b.w)
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

// indirectCall moves BLR and the calls that authenticate their target.
func (b *planner) indirectCall(step bool) fixups.Reason {
	if r := b.hazards(transfers); r != fixups.ReasonNone {
		return r
	}
	if r := b.policy(); r != fixups.ReasonNone {
		return r
	}
	switch {
	case step:
		return b.stepIndirectCall()
	case b.p.Returns == fixups.ReturnsSlot:
		b.p.Strategy = fixups.StrategyCopy
		b.start()
		b.emit(b.w)
		return b.returned()
	}
	if r := b.original(); r != fixups.ReasonNone {
		return r
	}
	return b.linkAndBR()
}

// stepIndirectCall steps the call itself. It leaves Slot + 4 as the return
// address, and Post puts it right. BTYPE is what the call makes it.
func (b *planner) stepIndirectCall() fixups.Reason {
	if b.p.Stop == fixups.StopTrap {
		return fixups.ReasonNoStop
	}
	b.p.Strategy = fixups.StrategyCopy
	b.start()
	b.emit(b.w)
	if b.p.Returns == fixups.ReturnsSlot {
		b.escape()
	}
	b.guard(b.next())
	b.p.Abort = gotoSite
	if b.p.Returns == fixups.ReturnsOriginal {
		q := b.begin()
		b.relink(&q)
		b.p.Post = q.program()
	}
	return fixups.ReasonNone
}

// linkAndBR is a call by a register as x30 := end of the site, BR or RET.
//
// The target is read before x30 is written, so BLR x30 needs another register for
// it. So does a target that has to be authenticated, which may fault: x30 must not
// have been written by then.
//
// BR x16 and BR x17 are welcome at every landing pad that BLR is (at BTI j too,
// where the site would fault), other registers, from a guarded page, at none of
// functions. RET is welcome everywhere, and the guarded control stack, with which it
// would compare, is not on here.
func (b *planner) linkAndBR() fixups.Reason {
	n := b.rn()
	b.p.Strategy = fixups.StrategyReEncode
	b.start()
	if auth := b.family() == famBLRAuth; auth || n == lr {
		s := b.scratch()
		if s < 0 {
			return fixups.ReasonNoScratch
		}
		b.toScratch(s, n, auth)
		b.start()
		n = s
	}
	b.clobberBType()
	b.link(func() { b.linked(fixups.StatePart, zeroReg(n), btypeCall) })
	b.linked(fixups.StateDone, zeroReg(n), btypeCall)
	w := uint32(wordBR)
	if n != ip0 && n != ip1 && b.env.BTI != reloc.Off {
		w = wordRET
	}
	b.emit(w | uint32(n)<<5)
	return fixups.ReasonNone
}

// toScratch emits s := xn, authenticated if the site does that. s is dead, so the
// site may begin anew from every boundary.
func (b *planner) toScratch(s, n int, auth bool) {
	b.p.Strategy = fixups.StrategyDeadReg
	b.clobber(s)
	b.emit(wordMOV | uint32(n)<<16 | uint32(s))
	if !auth {
		return
	}
	b.start()
	w := wordAUT | uint32(s)
	if b.w&bitKeyB != 0 {
		w |= bitKeyB
	}
	if b.w&bitModifier != 0 {
		w |= (b.w & 31) << 5
	} else {
		w |= 1<<13 | zr<<5
	}
	b.emit(w)
}
