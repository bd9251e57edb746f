package ppc64

import "github.com/xol-go/xol/fixups"

// copyable are the hazards that do not keep an instruction from running anywhere:
//
//   - monitor: wait and its like may go on at any time, so their users check;
//   - partial: load and store multiple, and string moves, start again at the copy as
//     they would at the site;
//   - unwind, rseq, exception-table, keyed-by-pc, context-unknown, reads-own-bytes:
//     properties of the site that a copy does not change. Where an operand names the
//     site, the copy's names the site too.
const copyable = fixups.Hazards(1<<fixups.HazardMonitor | 1<<fixups.HazardPartial | 1<<fixups.HazardUnwind |
	1<<fixups.HazardRSeq | 1<<fixups.HazardExceptionTable | 1<<fixups.HazardKeyedByPC | 1<<fixups.HazardContextUnknown |
	1<<fixups.HazardReadsOwnBytes)

// hazards refuses a copy whose hazards are not all in allowed.
func (b *planner) hazards(allowed fixups.Hazards) fixups.Reason {
	h := b.in.Hazards &^ allowed
	switch {
	case h == 0:
		return fixups.ReasonNone
	case h.Has(fixups.HazardAdjacent):
		return fixups.ReasonAdjacent
	case h.Has(fixups.HazardTransaction):
		return fixups.ReasonTransaction
	case h.Has(fixups.HazardExclusive):
		return fixups.ReasonExclusive
	}
	return fixups.ReasonUnknown
}

// plain copies an instruction that neither reads nor writes pc. One of two words may
// not have the last word of 64 bytes for its first (Book I, 1.6): put2 sees to it.
func (b *planner) plain(step bool) fixups.Reason {
	if r := b.hazards(copyable); r != fixups.ReasonNone {
		return r
	}
	return b.copyAs(step)
}

// copyAs is a plan whose copy is the site's instruction.
func (b *planner) copyAs(step bool) fixups.Reason {
	b.p.Strategy = fixups.StrategyCopy
	if step {
		b.now(fixups.StateStart, gotoSite, nil)
		b.copy()
		b.guard(b.next())
		b.p.Post, b.p.Abort = postCopy[b.in.Len][:], gotoSite
		return fixups.ReasonNone
	}
	if r := b.ready(b.next()); r != fixups.ReasonNone {
		return r
	}
	b.copy()
	b.tail()
	return fixups.ReasonNone
}
