package ppc64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// ready makes sure that the slot can be left for Site + delta behind the copy: in
// far slots the address goes to a register that branches go by, before the copy, so
// that all that can fault or be interrupted has the way back to the site, and what
// the copy does to the stack pointer is no matter. The boundaries then say that
// nothing has happened.
func (b *planner) ready(delta int64) fixups.Reason {
	if b.near {
		b.now(fixups.StateStart, gotoSite, nil)
		return fixups.ReasonNone
	}
	var h hold
	if r := b.lend(&h, true, false); r != fixups.ReasonNone {
		return r
	}
	b.aim(&h, delta)
	b.give(&h)
	b.now(fixups.StateStart, gotoSite, nil)
	return fixups.ReasonNone
}

// lend borrows a general register before the copy, and chooses the register of the
// slot's last branch if exit is set. keep says that h will hold an operand's address
// across the copy.
func (b *planner) lend(h *hold, exit, keep bool) fixups.Reason {
	var use reloc.RegUse
	b.a.Registers(&use, b.in)
	busy, not := use.Reads, fixups.RegSet{}
	busy.Union(&use.Writes)
	if keep {
		not = busy
	}
	if exit {
		r, ok := b.exit(&busy)
		if !ok {
			return fixups.ReasonNoScratch
		}
		b.out = r
		busy.Add(r)
	}
	if !b.borrow(h, &not, &busy, keep) {
		return fixups.ReasonNoScratch
	}
	b.p.Strategy = max(b.p.Strategy, h.strategy())
	b.take(h)
	return fixups.ReasonNone
}

// aim makes Site + delta the target of the slot's last branch, by way of h.
func (b *planner) aim(h *hold, delta int64) {
	b.clobber(b.out)
	b.build(h.reg, delta)
	b.put(wordMT(b.out, h.reg))
}

// leave emits the way out to Site + delta: b in near slots, else the branch that
// ready has aimed.
func (b *planner) leave(delta int64) {
	if b.near {
		b.putB(wordB, delta)
		return
	}
	b.put(branchBy(b.out) | boUncond)
}

// tail ends the code of the jump form: all of the site's work is done and its end
// comes next.
func (b *planner) tail() {
	b.now(fixups.StateDone, nil, b.jumpTo(b.next()))
	b.p.Tail = fixups.TailJump
	b.leave(b.next())
}

// leaveLinked is tail where LR has the end of the site, which needs no other register.
func (b *planner) leaveLinked() {
	b.now(fixups.StateDone, nil, b.jumpTo(b.next()))
	b.p.Tail = fixups.TailJump
	if b.near {
		b.putB(wordB, b.next())
		return
	}
	b.put(wordBCLR | boUncond)
}

// leaveAfter is the way out behind a call that has returned to the slot. In far slots
// the target cannot be made ready before it. Of the registers that are dead at the
// site only those serve that hold no result.
func (b *planner) leaveAfter() fixups.Reason {
	next := b.next()
	b.now(fixups.StateDone, nil, b.jumpTo(next))
	b.p.Tail = fixups.TailJump
	if b.near {
		b.putB(wordB, next)
		return fixups.ReasonNone
	}
	var h hold
	busy := allGeneral
	r, ok := b.exit(&busy)
	if !ok {
		return fixups.ReasonNoScratch
	}
	busy.Add(r)
	if !b.borrow(&h, &fixups.RegSet{}, &busy, false) {
		return fixups.ReasonNoScratch
	}
	b.p.Strategy = max(b.p.Strategy, h.strategy())
	b.depart(&h, r, next)
	return fixups.ReasonNone
}

// allGeneral are r0 to r31.
var allGeneral = fixups.RegSet{1<<32 - 1}

// depart leaves for Site + delta when the site's work is done: h is borrowed only
// from here on.
func (b *planner) depart(h *hold, exit fixups.Reg, delta int64) {
	b.now(fixups.StateDone, nil, b.jumpTo(delta))
	b.putAway(h)
	b.departHeld(h, exit, delta)
}

// departHeld is depart with h put away already.
func (b *planner) departHeld(h *hold, exit fixups.Reg, delta int64) {
	b.clobber(exit)
	b.now(fixups.StateDone, nil, b.givenBack(h, delta))
	b.build(h.reg, delta)
	b.put(wordMT(exit, h.reg))
	b.give(h)
	b.now(fixups.StateDone, nil, b.jumpTo(delta))
	b.put(branchBy(exit) | boUncond)
}

// guard ends the code of the step form. Where a trap stops the copy it is that
// trap; else it catches threads that nobody steps, and takes no scratch: in far
// slots, which no branch leaves without, it is a trap as well.
func (b *planner) guard(delta int64) {
	b.now(fixups.StateDone, nil, b.jumpTo(delta))
	b.p.CopyLen = uint16(b.off())
	b.stopper(delta, true)
}

// stopper is the last part of guard. exact says that a jump to Site + delta is all
// that a thread needs.
func (b *planner) stopper(delta int64, exact bool) {
	if b.env.Stop == fixups.StopTrap || !b.near || !exact {
		b.p.Tail = fixups.TailTrap
		b.put(wordTrap)
		return
	}
	b.p.Tail = fixups.TailJump
	b.putB(wordB, delta)
}
