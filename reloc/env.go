package reloc

import "github.com/xol-go/xol/fixups"

// Env are the caller's facts and wishes. The zero value is the safe one: every
// plan that it allows is right whatever the facts are.
type Env struct {
	Forms fixups.Forms // zero: all, in the order emulate, jump, step
	Slots Slots        // zero: far, any slot

	// SlotMin and SlotMax are the signed range of Slot - Site, for SlotsRange.
	SlotMin, SlotMax int64

	Return fixups.Returns // zero: the callee sees the original return address

	Dead      fixups.RegSet // registers dead here, free as scratch
	Spill     bool          // registers may be saved below the zone
	Data      bool          // memory of the slot's own exists, free as scratch if Private
	ABI       ABI           // zero: nothing is dead by ABI
	AllowLost bool          // the destination of a load may serve as its own base in jump

	Zone Bytes // zero value: by ABI, see [Info.Zones]
	Kept Bytes

	DataOrder   DataOrder // zero: the ISA's
	ExecuteOnly bool      // slots cannot be read as data: no literal pools
	Mode        Mode      // zero: user
	Vendor      Vendor    // zero: unknown
	SHSTK       Switch    // shadow stack; zero: unknown, planned as if off, with a hazard
	IBT         Switch
	BTI         Switch
	GCS         Switch
	Features    Features // zero: none stated
	OS          OS       // zero: linux
	Lang        Lang     // zero: C
	// Private: slots may be private to a thread. A plan that keeps something in the
	// slot's data asks for it (Plan.Private): threads in the slot at once would share
	// the data.
	Private bool
	// Biased says that addresses are those of an object file, to which a load bias
	// is still added: no plan may depend on where its site or target is.
	Biased bool
	Short  bool // shorter plans restricted by Plan.Alias may be given
	// AllowUnknown admits regions that an unresolved indirect jump might enter.
	AllowUnknown bool
	Stop         fixups.Stop // zero: hardware single-step

	Code Code // the bytes around the site and of call targets; nil: none
}

// Slots says where slots can be.
type Slots uint8

// The kinds of slot.
const (
	SlotsFar   Slots = iota // any address
	SlotsNear               // within the ISA's direct-branch range
	SlotsRange              // Slot - Site in [Env.SlotMin, Env.SlotMax]
)

// Bytes is a number of bytes that may be left to the ABI.
type Bytes struct {
	N   int
	Set bool // else the ABI's
}

// ABI says what the platform ABI makes dead at the site.
type ABI uint8

// The kinds of site.
const (
	ABINone  ABI = iota
	ABIEntry     // first instruction of a function
	ABICall      // a call; where the site is none, only what no compiler allocates (TAR of Power) is dead
)

// Mode is the privilege the site runs with.
type Mode uint8

// The modes.
const (
	ModeUser Mode = iota
	ModeKernel
)

// Vendor is who made the processor.
type Vendor uint8

// The vendors.
const (
	VendorUnknown Vendor = iota
	VendorIntel
	VendorAMD
)

// Switch is a protection that may be on, off or unknown.
type Switch uint8

// The positions.
const (
	Unknown Switch = iota
	On
	Off
)

// OS is the operating system.
type OS uint8

// The systems.
const (
	Linux OS = iota
	Windows
	Darwin
)

// Lang is the language the site was compiled from.
type Lang uint8

// The languages.
const (
	LangC Lang = iota
	LangGo
)

// DataOrder is the byte order of the process's data.
type DataOrder uint8

// The orders.
const (
	DataDefault DataOrder = iota
	DataLittle
	DataBig
)

// Features are optional parts of an ISA that the caller knows to exist.
type Features uint64

// Code gives bytes at addresses, for context.
type Code interface {
	// Bytes returns the bytes from addr on, as many as are known; nil if none
	// are. The slice is read-only.
	Bytes(addr uint64) []byte
}

// Text is a [Code] of one run of bytes.
type Text struct {
	Addr uint64
	Data []byte
}

// Bytes implements [Code].
func (t *Text) Bytes(addr uint64) []byte {
	if d := addr - t.Addr; d < uint64(len(t.Data)) {
		return t.Data[d:]
	}
	return nil
}

// ZoneOf returns how many bytes below the stack pointer compilers use (zone),
// and how many signals or interrupts spare (kept), as env states or the ABI has
// it.
func (e *Env) ZoneOf(info *Info) (zone, kept int) {
	for i := range info.Zones {
		z := &info.Zones[i]
		if z.Mode == e.Mode && z.OS == e.OS && z.Lang == e.Lang {
			zone, kept = z.Zone, z.Kept
			break
		}
	}
	if e.Zone.Set {
		zone = e.Zone.N
	}
	if e.Kept.Set {
		kept = e.Kept.N
	}
	return zone, max(kept, zone)
}

// ruledOut are the hazards of protections that are known to be off.
func (e *Env) ruledOut(g Guards) (h fixups.Hazards) {
	var stack, pads Switch
	switch g {
	case GuardsCET:
		stack, pads = e.SHSTK, e.IBT
	case GuardsGCS:
		stack, pads = e.GCS, e.BTI
	}
	if stack == Off {
		h |= fixups.HazardShadowStack.Bit()
	}
	if pads == Off {
		h |= fixups.HazardLandingPad.Bit()
	}
	return h
}
