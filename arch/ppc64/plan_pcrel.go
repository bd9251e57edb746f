package ppc64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// address moves addpcis, and paddi with R=1: they put an address that depends on pc
// into a register and touch nothing else.
//
// A step runs a copy, and Post puts the address right. A jump is re-encoded: addpcis
// where Slot - Site is a multiple of its unit, paddi anywhere within 8 GiB. Else the
// register is built: it is overwritten whatever happens and not read, nothing faults,
// and from the first part on the boundaries lead forward.
func (b *planner) address(step bool) fixups.Reason {
	if r := b.hazards(copyable | fixups.HazardReadsPC.Bit()); r != fixups.ReasonNone {
		return r
	}
	pcis := familyOf(b.in) == famAddPCIS
	switch {
	case step:
		return b.stepAddress()
	case pcis && b.near && !b.flat:
		b.p.Strategy = fixups.StrategyReEncode
		if r := b.ready(b.next()); r != fixups.ReasonNone {
			return r
		}
		b.putPCIS()
	case pcis:
		return b.constant()
	case b.wide:
		b.p.Strategy = fixups.StrategyReEncode
		if r := b.ready(b.next()); r != fixups.ReasonNone {
			return r
		}
		b.putRelative()
	case b.low():
		b.p.Strategy = fixups.StrategyAbsolute
		if r := b.ready(b.next()); r != fixups.ReasonNone {
			return r
		}
		b.putAbsolute()
	default:
		return b.constant()
	}
	b.tail()
	return fixups.ReasonNone
}

// keepOpcode appends the instruction with a displacement of 0: what it puts into its
// register is overwritten, but where the processor lacks it, it faults as the site
// does.
func (b *planner) keepOpcode() {
	if b.prefixed() {
		b.put2(b.w&^fieldD0, b.w2&^fieldD1)
		return
	}
	b.put(b.w &^ fieldPCIS)
}

// stepAddress steps a copy, whose register Post sets.
func (b *planner) stepAddress() fixups.Reason {
	b.p.Strategy = fixups.StrategyReEncode
	b.now(fixups.StateStart, gotoSite, nil)
	b.keepOpcode()
	b.p.CopyLen = uint16(b.off())
	b.p.Abort = gotoSite
	done := b.address1()
	b.now(fixups.StatePart, nil, done)
	b.stopper(b.next(), false)
	q := b.begin()
	q.skip(len(done), fixups.PC(), fixups.CondNE, fixups.SlotPlus(b.next()))
	for i := range done {
		*q.p.Add() = done[i]
	}
	b.p.Post = q.program()
	return fixups.ReasonNone
}

// address1 is the whole of the site as a program.
func (b *planner) address1() fixups.Program {
	q := b.begin()
	q.mov(fixups.R(b.rt()), fixups.SitePlus(b.target()))
	q.goTo(b.next())
	return q.program()
}

// pcisUnit is what the displacement of addpcis counts.
const pcisUnit = 1 << 16

// putPCIS appends addpcis with another displacement, which has three fields (Book I,
// 3.3.9: d0 at bits 16 to 25, d1 at 11 to 15, d2 at 31, of which d0 is the most
// significant). It names Slot + off + 4 + D·65536, so the slot has to be a multiple of
// 65536 from the site.
func (b *planner) putPCIS() {
	b.mark()
	at := int64(b.off()) + 4
	b.within(b.target()-at, pcisUnit<<15, pcisUnit)
	delta := b.target() - 4
	d0 := b.newReloc(6, 10, 22, delta)
	d0.PCRel, d0.Check = true, fixups.CheckSigned
	b.newReloc(16, 5, 17, delta).PCRel = true
	b.newReloc(0, 1, 16, delta).PCRel = true
	b.p.Reach.Align, b.p.Reach.Residue = pcisUnit, uint32(b.target()-at)%pcisUnit
	b.word(b.w &^ fieldPCIS)
}

// constant builds the register, behind the opcode itself. The way out of a far slot is
// made in it before. The stack pointer is not built in parts: a signal, or an interrupt
// of the kernel, takes what it is for the top of a stack.
func (b *planner) constant() fixups.Reason {
	if b.rt() == R1 {
		return fixups.ReasonNoScratch
	}
	var use reloc.RegUse
	b.a.Registers(&use, b.in)
	if !b.near {
		var ok bool
		if b.out, ok = b.exit(&use.Writes); !ok {
			return fixups.ReasonNoScratch
		}
		b.clobber(b.out)
	}
	b.p.Strategy = fixups.StrategyOwnDest
	b.now(fixups.StateStart, gotoSite, nil)
	b.keepOpcode()
	b.now(fixups.StatePart, nil, b.address1())
	if !b.near {
		b.build(b.rt(), b.next())
		b.put(wordMT(b.out, b.rt()))
	}
	b.build(b.rt(), b.target())
	b.tail()
	return fixups.ReasonNone
}
