package ppc64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// A constant of 64 bits is made in a general register, and a branch to it goes by
// CTR, TAR or LR. So a far branch needs one of those that is dead at its target,
// and a general register that is dead, or whose value waits meanwhile: in another
// of the three that is dead, which touches no memory, or below the stack pointer.
//
// Nothing else will do: of a register that is not dead the value has to be in some
// register or in memory at every boundary, and the only other source of LR, a
// branch with LK=1, gives addresses in the slot.

// hold is a general register that is borrowed from the program.
type hold struct {
	reg  fixups.Reg
	at   holding
	spr  fixups.Reg // holdSPR: the register with its value
	off  int64      // holdStack: where its value is, from r1 as it then is
	move int64      // holdStack: how far r1 has moved down
	held bool       // the value is put away
}

// holding says where the value of a borrowed register waits.
type holding uint8

const (
	holdDead  holding = iota // nowhere, it is dead
	holdSPR                  // in TAR, CTR or LR
	holdStack                // below the zone
)

// scratchRegs are the general registers that are borrowed, in the order of
// preference: those first that linkage code uses. r1, r2 and r13 never are, and r0,
// which cannot be a base, only where none is needed.
var scratchRegs = [...]fixups.Reg{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 31, 30, 29, 28, 0}

// exits are the registers that branches go by, in the order of preference. No signal
// frame has TAR: a thread that a signal finds in the slot has to be taken out of it
// before the handler runs, which may come through a slot itself.
var exits = [...]fixups.Reg{CTR, LR, TAR}

// sprDead reports whether TAR, CTR or LR may be overwritten, which the caller or the
// ABI says. Both ABIs have CTR and TAR volatile across calls (ELFv2, 2.2.1.1), so
// CTR is dead at the entry of a function and at a direct call. TAR is in no
// compiler's register allocation, so the ABI makes it dead everywhere in user code; in
// a kernel it is the user's, saved when threads are switched and not before. Not every
// processor of the big-endian ABI has it, where it takes the feature as well.
func (b *planner) sprDead(r fixups.Reg) bool {
	switch {
	case b.env.Dead.Has(r):
		return true
	case b.env.ABI == reloc.ABINone:
		return false
	case r == TAR:
		return b.env.Mode == reloc.ModeUser && b.knows(since207)
	case r != CTR || b.env.Lang == reloc.LangGo:
		return false
	}
	return b.env.ABI == reloc.ABIEntry || b.in.Class == fixups.ClassCall
}

// gprDead reports whether a general register may be overwritten. At a call through a
// register r0 is dead by both ABIs: it is volatile and takes no part in the linkage
// (ELFv2, 2.2.1.1), as r11 and r12 do. At a direct call it is not: the functions
// that save and restore registers have their argument in it (ELFv2, 2.3.3). In Go
// code it is zero.
func (b *planner) gprDead(r fixups.Reg) bool {
	return b.env.Dead.Has(r) || r == R0 && b.env.ABI == reloc.ABICall &&
		b.in.Class == fixups.ClassIndirectCall && b.env.Lang != reloc.LangGo
}

// exit chooses the register by which a slot is left: dead, and not among not.
func (b *planner) exit(not *fixups.RegSet) (fixups.Reg, bool) {
	for _, r := range exits {
		if b.sprDead(r) && !not.Has(r) {
			return r, true
		}
	}
	return fixups.RegNone, false
}

// borrow chooses a general register and where its value waits: a dead one that is
// not busy, else one outside not, whose value waits in a dead register that is not
// busy, or below the zone. base asks for one that can be a base. It reports false if
// the caller allows none.
func (b *planner) borrow(h *hold, not, busy *fixups.RegSet, base bool) bool {
	*h = hold{reg: fixups.RegNone}
	for _, r := range scratchRegs {
		switch {
		case base && r == R0:
		case b.gprDead(r) && !busy.Has(r):
			h.reg, h.at = r, holdDead
			return true
		case h.reg == fixups.RegNone && !not.Has(r):
			h.reg = r
		}
	}
	if h.reg == fixups.RegNone {
		return false
	}
	if spr, ok := b.exit(busy); ok {
		h.at, h.spr = holdSPR, spr
		return true
	}
	h.at = holdStack
	return b.room(h, 1+b.words)
}

// maxStack is the largest displacement that spills use, far from the 16 bits that
// there are.
const maxStack = 1 << 14

// room finds n words below the zone, one behind the other from h.off downwards. What
// signals spare is used as it is; where they spare no more than the zone, the stack
// pointer moves first, by an instruction that keeps its back chain.
func (b *planner) room(h *hold, n int64) bool {
	z, k := b.env.ZoneOf(b.a.info)
	zone, kept := (int64(z)+7)&^7, int64(k)
	// A Go leaf is only sure of the words that its own prologue has asked for.
	if !b.env.Spill || b.env.Lang == reloc.LangGo || z < 0 || zone > maxStack {
		return false
	}
	if zone+8*n <= kept {
		h.off, h.move = -zone-8, 0
		b.p.Stack = uint16(zone + 8*n - int64(z))
		return true
	}
	h.move = (zone + 8 + 8*n + 15) &^ 15
	h.off = h.move - zone - 8
	b.p.Stack = uint16(h.move - int64(z))
	return true
}

// strategy is that of a plan that borrows.
func (h *hold) strategy() fixups.Strategy {
	if h.at == holdStack {
		return fixups.StrategySpill
	}
	return fixups.StrategyDeadReg
}

// clobber declares r, one that is dead.
func (b *planner) clobber(r fixups.Reg) { b.p.Clobbers.Add(r) }

// take puts the value of the register away. Before that nothing has happened; from
// then on the boundaries lead back to the site with the value restored.
func (b *planner) take(h *hold) {
	b.now(fixups.StateStart, gotoSite, nil)
	b.putAway(h)
	b.now(fixups.StateStart, b.givenBack(h, 0), nil)
}

// putAway emits what take does, with boundaries as they are.
func (b *planner) putAway(h *hold) {
	switch h.at {
	case holdDead:
		b.clobber(h.reg)
	case holdSPR:
		b.clobber(h.spr)
		b.put(wordMT(h.spr, h.reg))
	case holdStack:
		if h.move != 0 {
			b.put(wordMem(wordSTDU, R1, R1, -h.move))
			b.now(b.state, b.moved(h, b.back), b.moved(h, b.forward))
		}
		b.put(wordMem(wordSTD, h.reg, R1, h.off))
	}
	h.held = h.at != holdDead
}

// moved is prog with the stack pointer put back before.
func (b *planner) moved(h *hold, prog fixups.Program) fixups.Program {
	if prog == nil {
		return nil
	}
	q := b.begin()
	q.add64(fixups.R(R1), fixups.R(R1), h.move)
	for i := range prog {
		*q.p.Add() = prog[i]
	}
	return q.program()
}

// give emits the way back of the register, and of the stack pointer. Until its end
// the boundaries are as they were: a program that restores the register may run
// again once it is back.
func (b *planner) give(h *hold) {
	switch h.at {
	case holdSPR:
		b.put(wordMF(h.reg, h.spr))
	case holdStack:
		b.put(wordMem(wordLD, h.reg, R1, h.off))
		if h.move != 0 {
			b.put(wordMem(wordADDI, R1, R1, h.move))
		}
	}
	h.held = false
}

// giveSize is the size in bytes of what give emits.
func (b *planner) giveSize(h *hold) int {
	switch {
	case h.at == holdDead:
		return 0
	case h.at == holdStack && h.move != 0:
		return 8
	}
	return 4
}

// restore appends to a program what give does.
func (h *hold) restore(q *steps) {
	if !h.held {
		return
	}
	switch h.at {
	case holdSPR:
		q.mov(fixups.R(h.reg), fixups.R(h.spr))
	case holdStack:
		q.add64(fixups.T(7), fixups.R(R1), h.off)
		q.load(fixups.R(h.reg), fixups.T(7), 8)
		if h.move != 0 {
			q.add64(fixups.R(R1), fixups.R(R1), h.move)
		}
	}
}

// givenBack is the program that restores the register and goes to Site + delta.
func (b *planner) givenBack(h *hold, delta int64) fixups.Program {
	if !h.held {
		return b.jumpTo(delta)
	}
	q := b.begin()
	h.restore(&q)
	q.goTo(delta)
	return q.program()
}

// givenBackTo is givenBack to the target of the branch.
func (b *planner) givenBackTo(h *hold) fixups.Program {
	q := b.begin()
	h.restore(&q)
	q.mov(fixups.PC(), b.dest())
	return q.program()
}
