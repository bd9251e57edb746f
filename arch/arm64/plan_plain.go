package arm64

import "github.com/xol-go/xol/fixups"

// copyable are the hazards that do not keep a plain instruction from running
// anywhere:
//
//   - landing-pad, btype: the slot is entered by a branch of ours or by a consumer
//     that leaves BTYPE alone, and a pad that is not branched to is a no-op;
//   - shadow-stack: the GCS instructions work on the guarded control stack alone;
//   - monitor: a wait may end at any time, so its users check;
//   - kernel-entry: SVC comes back behind itself;
//   - exclusive: CLREX, which the site's context has looked at;
//   - partial, unwind, rseq, exception-table, keyed-by-pc, context-unknown,
//     reads-own-bytes: properties of the site that a copy does not change.
const copyable = fixups.Hazards(1<<fixups.HazardLandingPad | 1<<fixups.HazardBType |
	1<<fixups.HazardShadowStack | 1<<fixups.HazardMonitor | 1<<fixups.HazardPartial |
	1<<fixups.HazardExclusive |
	1<<fixups.HazardUnwind | 1<<fixups.HazardRSeq | 1<<fixups.HazardExceptionTable |
	1<<fixups.HazardKeyedByPC | 1<<fixups.HazardContextUnknown | 1<<fixups.HazardReadsOwnBytes)

// transfers are the hazards of branches, calls, returns and operands relative to
// pc that their plans deal with, or that a copy has as the site has them.
const transfers = copyable | fixups.Hazards(1<<fixups.HazardPushesPC|1<<fixups.HazardReadsPC)

// hazards refuses a copy whose hazards are not all in allowed.
func (b *planner) hazards(allowed fixups.Hazards) fixups.Reason {
	h := b.in.Hazards &^ allowed
	switch {
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

// plain copies an instruction that neither reads nor writes pc.
func (b *planner) plain(step bool) fixups.Reason {
	if r := b.hazards(copyable); r != fixups.ReasonNone {
		return r
	}
	return b.copied(step)
}

// copied is the copy of an instruction that goes on behind itself.
func (b *planner) copied(step bool) fixups.Reason {
	b.p.Strategy = fixups.StrategyCopy
	b.start()
	b.emit(b.w)
	return b.ended(step)
}

// ended ends a copy of one instruction behind which the site is done.
func (b *planner) ended(step bool) fixups.Reason {
	if !step {
		return b.tail(b.next())
	}
	b.guard(b.next())
	b.p.Post, b.p.Abort = b.postCopy(), gotoSite
	return fixups.ReasonNone
}

// postCopy is Post of a copy that needs no other repair.
func (b *planner) postCopy() fixups.Program {
	if b.p.CopyLen == 4 && !b.mayRestart() {
		return postCopy
	}
	q := b.begin()
	b.afterCopy(&q)
	return q.program()
}

// afterCopy appends the decision by pc: at the end of the copy the site is done;
// at its start there is more to do, and the site goes on with it. A trap is
// reported at the trap (Arm ARM, D1.3.1, preferred return address), so it makes
// no difference which stop it was. pc is read once, since the end of the site may
// be the start of the slot. t1 is used.
func (b *planner) afterCopy(q *steps) {
	n := int64(b.p.CopyLen)
	t1 := fixups.T(1)
	q.mov(t1, fixups.PC())
	q.skip(1, t1, fixups.CondNE, fixups.SlotPlus(n), 64)
	q.mov(fixups.PC(), fixups.SitePlus(b.next()))
	if b.mayRestart() {
		q.skip(1, t1, fixups.CondNE, fixups.SlotPlus(0), 64)
		q.mov(fixups.PC(), fixups.SitePlus(0))
	}
}

// mayRestart reports whether a step may end at the start of the copy: where the
// kernel restarts a system call, or what is done in part is gone on with.
func (b *planner) mayRestart() bool {
	return b.in.Hazards.Has(fixups.HazardPartial) || b.in.Class == fixups.ClassKernelEntry
}
