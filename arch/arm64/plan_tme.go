package arm64

import "github.com/xol-go/xol/fixups"

// Transactions (Arm ARM, FEAT_TME). Any trap makes one fail, a single-step included,
// so a stepped TSTART would always fail, and one that is meant to fail is better
// emulated: there is no step form of any of them.
//
// In a slot that is entered by a branch nothing traps. A transaction that fails
// goes on behind its TSTART, with all registers as they were but for the cause, so
// the end of the copy is an escape as long as the transaction lasts. At a boundary
// behind TSTART nobody finds a thread inside the transaction: who stops it finds
// it where it has failed.
func (b *planner) transaction(step bool) fixups.Reason {
	if step {
		return fixups.ReasonTransaction
	}
	b.p.Strategy = fixups.StrategyCopy
	b.start()
	b.emit(b.w)
	if b.family() == famTSTART {
		b.p.Escapes = append(b.p.Escapes, fixups.Escape{Off: uint16(b.off()), Kind: fixups.EscapeAbort})
	}
	return b.tail(b.next())
}
