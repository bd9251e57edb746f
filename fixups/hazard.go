package fixups

import (
	"iter"
	"math/bits"
)

// Hazard is a property of a site that a consumer must know, whatever the plan.
// docs/hazards.md explains each of them.
type Hazard uint8

const (
	// HazardReadsPC: the result depends on pc.
	HazardReadsPC Hazard = iota
	// HazardPushesPC: stores or links a return address.
	HazardPushesPC
	// HazardSeesTF: makes the stepper's trap flag visible (pushf, syscall).
	HazardSeesTF
	// HazardChangesTF: may set or clear the trap flag (popf, iret).
	HazardChangesTF
	// HazardChangesIF: may set or clear the interrupt flag.
	HazardChangesIF
	// HazardShadow: delays traps and interrupts by one instruction (mov ss, sti).
	HazardShadow
	// HazardRepeats: one execution may trap many times under a single-step (rep).
	HazardRepeats
	// HazardKernelEntry: leaves user code; signals and fork happen here.
	HazardKernelEntry
	// HazardKernelSeesPC: hands its own pc to the kernel.
	HazardKernelSeesPC
	// HazardTransaction: belongs to a hardware transaction.
	HazardTransaction
	// HazardExclusive: belongs to an exclusive sequence.
	HazardExclusive
	// HazardAdjacent: must stay next to a neighbour.
	HazardAdjacent
	// HazardLandingPad: is, or needs at its target, a landing pad (endbr64, BTI).
	HazardLandingPad
	// HazardBType: sets or tests PSTATE.BTYPE.
	HazardBType
	// HazardShadowStack: pushes to or pops from a shadow stack.
	HazardShadowStack
	// HazardVendor: means different things on processors of different vendors.
	HazardVendor
	// HazardX87FIP: leaves its own pc as the last x87 instruction pointer.
	HazardX87FIP
	// HazardMonitor: arms or waits on an address monitor.
	HazardMonitor
	// HazardRSeq: lies in or ends a restartable sequence.
	HazardRSeq
	// HazardExceptionTable: has an entry in an exception table.
	HazardExceptionTable
	// HazardUnwind: a table maps this pc for unwinders.
	HazardUnwind
	// HazardReadsOwnBytes: reads the bytes at its own address.
	HazardReadsOwnBytes
	// HazardPartial: may complete in part and restart.
	HazardPartial
	// HazardKeyedByPC: run-time tables name this pc.
	HazardKeyedByPC
	// HazardContextUnknown: neighbours could forbid moving it, and were not given.
	HazardContextUnknown
)

var hazardNames = [...]string{
	HazardReadsPC:        "reads-pc",
	HazardPushesPC:       "pushes-pc",
	HazardSeesTF:         "sees-tf",
	HazardChangesTF:      "changes-tf",
	HazardChangesIF:      "changes-if",
	HazardShadow:         "shadow",
	HazardRepeats:        "repeats",
	HazardKernelEntry:    "kernel-entry",
	HazardKernelSeesPC:   "kernel-sees-pc",
	HazardTransaction:    "transaction",
	HazardExclusive:      "exclusive",
	HazardAdjacent:       "adjacent",
	HazardLandingPad:     "landing-pad",
	HazardBType:          "btype",
	HazardShadowStack:    "shadow-stack",
	HazardVendor:         "vendor",
	HazardX87FIP:         "x87-fip",
	HazardMonitor:        "monitor",
	HazardRSeq:           "rseq",
	HazardExceptionTable: "exception-table",
	HazardUnwind:         "unwind",
	HazardReadsOwnBytes:  "reads-own-bytes",
	HazardPartial:        "partial",
	HazardKeyedByPC:      "keyed-by-pc",
	HazardContextUnknown: "context-unknown",
}

// String returns the frozen spelling.
func (h Hazard) String() string { return enumString("hazard", uint8(h), hazardNames[:]) }

// AppendText implements [encoding.TextAppender].
func (h Hazard) AppendText(dst []byte) ([]byte, error) {
	return enumAppend(dst, "hazard", uint8(h), hazardNames[:])
}

// MarshalText implements [encoding.TextMarshaler].
func (h Hazard) MarshalText() ([]byte, error) { return h.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *Hazard) UnmarshalText(text []byte) error {
	n, err := enumParse("hazard", text, hazardNames[:])
	*h = Hazard(n)
	return err
}

// Hazards is a set of [Hazard].
type Hazards uint64

// Bit returns the set that holds only h.
func (h Hazard) Bit() Hazards { return 1 << h }

// Has reports whether h is in the set.
func (s Hazards) Has(h Hazard) bool { return s>>h&1 != 0 }

// All iterates over the members in the order of their numbers.
func (s Hazards) All() iter.Seq[Hazard] {
	return func(yield func(Hazard) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(Hazard(bits.TrailingZeros64(uint64(s)))) {
				return
			}
		}
	}
}
