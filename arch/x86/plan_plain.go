package x86

import (
	"github.com/xol-go/xol/fixups"
)

// copyable are the hazards that do not keep a plain instruction from running
// anywhere:
//
//   - repeats: post tells a finished copy from an interrupted one by pc;
//   - landing-pad: the slot is entered by a jump of ours, and a pad that is not
//     branched to is a nop;
//   - shadow-stack: INCSSP and its like work on the shadow stack alone;
//   - vendor: the same processor runs site and copy; a length that differs is
//     refused before;
//   - x87-fip: declared in the plan;
//   - monitor: a monitor may be lost at any time, so its users check;
//   - kernel-entry: SENDUIPI, URDMSR and UWRMSR may be done by others, and come back
//     behind themselves;
//   - partial, unwind, rseq, exception-table, keyed-by-pc, context-unknown,
//     reads-own-bytes: properties of the site that a copy does not change. Where
//     an operand names the site, the copy's names the site too.
const copyable = fixups.Hazards(1<<fixups.HazardRepeats | 1<<fixups.HazardLandingPad |
	1<<fixups.HazardShadowStack | 1<<fixups.HazardVendor | 1<<fixups.HazardX87FIP |
	1<<fixups.HazardKernelEntry |
	1<<fixups.HazardMonitor | 1<<fixups.HazardPartial | 1<<fixups.HazardUnwind |
	1<<fixups.HazardRSeq | 1<<fixups.HazardExceptionTable | 1<<fixups.HazardKeyedByPC | 1<<fixups.HazardContextUnknown |
	1<<fixups.HazardReadsOwnBytes)

// hazards refuses a copy whose hazards are not all in allowed.
func (b *planner) hazards(allowed fixups.Hazards) fixups.Reason {
	h := b.in.Hazards &^ allowed
	switch {
	case b.in.AltLen != 0 && !b.vendorKnown():
		return fixups.ReasonVendor
	case h == 0:
		return fixups.ReasonNone
	case h.Has(fixups.HazardShadow), h.Has(fixups.HazardAdjacent):
		return fixups.ReasonAdjacent
	case h.Has(fixups.HazardTransaction):
		return fixups.ReasonTransaction
	case h.Has(fixups.HazardExclusive):
		return fixups.ReasonExclusive
	}
	return fixups.ReasonUnknown
}

// plain copies an instruction that neither reads nor writes pc. PUSHF, which
// shows the stepper's trap flag, is the one with work left after a step.
func (b *planner) plain(step bool) fixups.Reason {
	if b.isPopf() {
		return b.popf(step)
	}
	// PTWRITE, the one plain instruction that reads pc, tells it to a trace, to which
	// every branch of the slot tells its own.
	allowed := copyable | fixups.HazardReadsPC.Bit()
	if !step {
		// XTEST and what suspends load tracking look at the transaction alone. A step
		// would have ended it (plan_tsx.go).
		allowed |= fixups.HazardTransaction.Bit()
	}
	pushf := b.in.Hazards.Has(fixups.HazardSeesTF) && b.isPushf()
	if pushf {
		allowed |= fixups.HazardSeesTF.Bit()
	}
	if !step && b.isXTEST() {
		allowed |= fixups.HazardTransaction.Bit()
	}
	if r := b.hazards(allowed); r != fixups.ReasonNone {
		return r
	}
	b.p.Strategy = fixups.StrategyCopy
	b.p.X87 = b.in.Hazards.Has(fixups.HazardX87FIP)
	b.start()
	b.bytes(b.in.Bytes[:b.in.Len]...)
	if !step {
		return b.tail(b.next())
	}
	b.guard(b.next())
	b.p.Abort = gotoSite
	if pushf && b.env.Stop == fixups.StopHardware {
		b.stepPushf()
		return fixups.ReasonNone
	}
	b.p.Post = b.postCopy()
	return fixups.ReasonNone
}

// postCopy is Post of a copy that needs no other repair.
func (b *planner) postCopy() fixups.Program {
	n := b.in.Len
	switch {
	case b.env.Stop == fixups.StopTrap || b.p.CopyLen != uint16(n) || n > 15:
		break
	case b.mayRestart():
		break
	case b.a.m64:
		return postCopy[n][:]
	default:
		return postI386[n][:]
	}
	q := b.begin()
	b.afterCopy(&q)
	return q.program()
}

// afterCopy appends the decision by pc: at the end of the copy the site is done;
// at its start an unfinished rep has more to do, and the site goes on with it. So
// has a gather: traps may be taken between its elements, with those that are done
// taken out of the mask (SDM volume 2, VGATHERDPS), and AMD's do take the step's.
// A system call that the kernel sends back to its start goes on from the site, too.
// pc is read once, since the end of the site may be the start of the slot. After
// a trap pc is reported at the trap or behind it. t1 is used.
func (b *planner) afterCopy(q *steps) {
	n := int64(b.p.CopyLen)
	if b.env.Stop == fixups.StopTrap {
		q.op2(fixups.OpSub, fixups.T(1), fixups.PC(), fixups.SlotPlus(n))
		q.skip(1, fixups.T(1), fixups.CondA, fixups.Const(1), b.width())
		q.mov(fixups.PC(), fixups.SitePlus(b.next()))
		return
	}
	q.mov(fixups.T(1), fixups.PC())
	q.skip(1, fixups.T(1), fixups.CondNE, fixups.SlotPlus(n), b.width())
	q.mov(fixups.PC(), fixups.SitePlus(b.next()))
	if b.mayRestart() {
		q.skip(1, fixups.T(1), fixups.CondNE, fixups.SlotPlus(0), b.width())
		q.mov(fixups.PC(), fixups.SitePlus(0))
	}
}

// mayRestart reports whether a step may end at the start of the copy.
func (b *planner) mayRestart() bool {
	return b.in.Hazards.Has(fixups.HazardPartial) || b.in.Class == fixups.ClassKernelEntry
}

func (b *planner) isPushf() bool { return b.l.opmap() == 0 && b.l.opcode() == 0x9c }

// stepPushf puts the program's own trap flag, saved in t0, into the image that a
// stepped PUSHF has pushed.
func (b *planner) stepPushf() {
	const tf = 8
	b.p.Pre = b.p.Program(extract(fixups.T(0), b.flags(), tf, 1))
	q := b.begin()
	size := b.stackSize()
	q.load(fixups.T(2), b.sp(), size)
	q.insert(fixups.T(2), fixups.T(0), tf, 1)
	q.store(b.sp(), fixups.T(2), size)
	b.afterCopy(&q)
	b.p.Post = q.program()
}

// stackSize is the size in bytes of what a push or pop with this operand size
// moves: there are no 32-bit ones in 64-bit mode.
func (b *planner) stackSize() int {
	if b.l.opSize() == 2 {
		return 2
	}
	return b.word()
}
