package arm64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Words of the instructions that take pc or a label as a modifier, in the forms
// that take it from a register (Arm ARM, C6.2; FEAT_PAuth_LR).
const (
	wordAUTPPCR = 0xdac1901e // autiasppcr xn: n in bits 9 to 5
	wordRETPPCR = 0xd65f0be0 // retaasppcr xm: m in bits 4 to 0
	wordPAC1715 = 0xdac18bfe // pacia171615
	bitLabelB   = 1 << 21    // key B in the forms with a label
	bitPad      = 1 << 13    // of PACIxSPPC: a landing pad, not so of PACNBIxSPPC
	maxLabel    = 1<<16 - 1  // words from the label to the instruction
)

// authPC moves AUTIxSPPC and RETAxSPPC. Their modifier is a label at or behind pc,
// as an unsigned number of words in front of the instruction, which is no field
// that grows with the distance of the slot, so it is filled in where that is known.
// Else a register that is dead, or the stepper's, holds the label. A spill would
// move the stack pointer, which is a modifier too.
func (b *planner) authPC(step bool) fixups.Reason {
	if r := b.hazards(transfers); r != fixups.ReasonNone {
		return r
	}
	returns := b.family() == famRETPPC
	switch {
	case b.dist == distShort:
		return b.reencodeLabel(step, returns)
	case step:
		return b.stepWithScratch(b.labelFrom, !returns)
	}
	n := b.scratch()
	if n < 0 {
		return fixups.ReasonNoScratch
	}
	b.p.Strategy = fixups.StrategyDeadReg
	b.clobber(n)
	b.start()
	b.address(n, b.target(), b.start)
	b.start()
	b.emit(b.labelFrom(n))
	if returns {
		return fixups.ReasonNone
	}
	return b.tail(b.next())
}

// reencodeLabel copies the instruction for a slot whose distance is known.
func (b *planner) reencodeLabel(step, returns bool) fixups.Reason {
	d := b.env.SlotMin
	words := (d - b.target()) >> 2
	if d != b.env.SlotMax || d&3 != 0 || words < 0 || words > maxLabel {
		return fixups.ReasonNoReach
	}
	b.p.Strategy = fixups.StrategyReEncode
	b.min, b.max = d, d
	b.start()
	b.emit(b.w&^(maxLabel<<5) | uint32(words)<<5)
	if returns {
		return b.gone(step)
	}
	return b.ended(step)
}

// labelFrom is the form with the modifier in xn.
func (b *planner) labelFrom(n int) uint32 {
	w := wordAUTPPCR | uint32(n)<<5
	if b.family() == famRETPPC {
		w = wordRETPPCR | uint32(n)
	}
	if b.w&bitLabelB != 0 {
		w |= bitKeyB
	}
	return w
}

// signPC moves PACIxSPPC and PACNBIxSPPC, which sign x30 with the stack pointer
// and their own pc. PACIx171615 signs x17 with x16 and x15, so it does the same
// with all three of them dead, or the stepper's. It is no landing pad, which the
// site may be.
func (b *planner) signPC(step bool) fixups.Reason {
	if r := b.hazards(transfers); r != fixups.ReasonNone {
		return r
	}
	b.p.Strategy = fixups.StrategyDeadReg
	w := uint32(wordPAC1715) | b.w&bitKeyB
	if step {
		return b.stepSign(w)
	}
	const three = 1<<15 | 1<<16 | 1<<17
	if b.free(); b.dead&three != three {
		return fixups.ReasonNoScratch
	}
	for n := 15; n < 18; n++ {
		b.clobber(n)
	}
	b.start()
	if b.w&bitPad != 0 {
		b.emit(wordBTIC)
		b.start()
	}
	b.emit(wordMOV | lr<<16 | 17)
	b.start()
	b.emit(wordADDI | 31<<5 | 16)
	b.start()
	b.address(15, 0, b.start)
	b.start()
	b.emit(w)
	b.start()
	b.emit(wordMOV | 17<<16 | lr)
	return b.tail(b.next())
}

// stepSign steps PACIx171615. What BTYPE the site was reached with counts as met:
// the copy is no landing pad.
func (b *planner) stepSign(w uint32) fixups.Reason {
	pad := b.w&bitPad != 0 && b.env.BTI != reloc.Off
	saved := [3]fixups.Operand{fixups.T(4), fixups.T(5), fixups.T(6)}
	b.point(fixups.StateStart, nil, nil)
	b.emit(w)
	b.guard(b.next())
	pt := &b.p.Points[1]
	pt.Forward, pt.HasForward = nil, false

	q := b.begin()
	for i, s := range saved {
		q.mov(s, xreg(15+i))
	}
	if pad {
		q.mov(fixups.T(7), fixups.R(BTYPE))
		q.mov(fixups.R(BTYPE), fixups.Const(btypeNone))
	}
	q.mov(xreg(15), fixups.SitePlus(0))
	q.mov(xreg(16), fixups.R(SP))
	q.mov(xreg(17), xreg(lr))
	b.p.Pre = q.program()

	q = b.begin()
	for i, s := range saved {
		q.mov(xreg(15+i), s)
	}
	if pad {
		q.mov(fixups.R(BTYPE), fixups.T(7))
	}
	q.mov(fixups.PC(), fixups.SitePlus(0))
	b.p.Abort = q.program()

	q = b.begin()
	q.skip(1, fixups.PC(), fixups.CondNE, fixups.SlotPlus(4), 64)
	q.mov(xreg(lr), xreg(17))
	for i, s := range saved {
		q.mov(xreg(15+i), s)
	}
	b.afterCopy(&q)
	b.p.Post = q.program()
	return fixups.ReasonNone
}
