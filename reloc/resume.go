package reloc

import "github.com/xol-go/xol/fixups"

// Why says why a thread was found with its pc in a slot.
type Why uint8

// The causes.
const (
	Fault  Why = iota // the instruction at pc faulted: synchronous
	Signal            // an asynchronous signal is about to be delivered, or the probe goes
)

// Resumption is what to do with a thread whose pc is in slot code.
type Resumption struct {
	Point   *fixups.Point
	Back    bool           // the program goes back to the site, else forward to its end
	Program fixups.Program // to be run with the slot's bases; then the thread is out of the slot
}

// Resume says how a thread that was stopped at pc, in the slot of p, leaves it:
// after a fault by the point's back program, so that the fault appears at the
// site; for a signal by back if nothing has happened yet, else by forward. ok is
// false if pc is not an instruction boundary of the slot code (then the thread
// is not stopped in this slot), or if the point has no program for the cause.
//
// Breakpoints and other traps are reported behind themselves. Where all of the
// site's work is done and there is no back, what is at the point is the way out,
// which cannot fault: a fault there is such a report of the instruction before,
// and leads forward.
//
// For the step form use [fixups.Plan.Abort] while the copy has not run, and
// [fixups.Plan.Post] once it has.
func Resume(p *Plan, pc, slot uint64, why Why) (r Resumption, ok bool) {
	pt := p.PointAt(pc - slot)
	if pt == nil {
		return r, false
	}
	r.Point = pt
	switch {
	case pt.State == fixups.StateStart, why == Fault && (pt.HasBack || pt.State != fixups.StateDone):
		r.Back, r.Program, ok = true, pt.Back, pt.HasBack
	default:
		r.Program, ok = pt.Forward, pt.HasForward
	}
	return r, ok
}
