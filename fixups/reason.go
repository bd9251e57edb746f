package fixups

// Reason says why a form is refused or bytes do not decode. It is an error, and
// converting it to one does not allocate.
type Reason uint8

const (
	// ReasonNone is the zero value: nothing is refused.
	ReasonNone Reason = iota
	// ReasonUnknown: no table row covers the encoding, or none of its rows has a
	// plan of this kind yet.
	ReasonUnknown
	// ReasonReserved: the manual leaves the encoding undefined or makes it fault.
	ReasonReserved
	// ReasonTruncated: more bytes are needed to tell.
	ReasonTruncated
	// ReasonVendor: processors of different vendors disagree and Env.Vendor is not set.
	ReasonVendor
	// ReasonExclusive: belongs to an exclusive sequence that would be cut.
	ReasonExclusive
	// ReasonAdjacent: would be separated from the neighbour it depends on.
	ReasonAdjacent
	// ReasonTransaction: starts or lies in a hardware transaction.
	ReasonTransaction
	// ReasonPrefixLine: a prefixed instruction would cross a line the ISA forbids.
	ReasonPrefixLine
	// ReasonSuffixWord: the site is the second word of a prefixed instruction.
	ReasonSuffixWord
	// ReasonNoScratch: needs a free register or stack space that Env does not allow.
	ReasonNoScratch
	// ReasonNoReach: no slot of the asked kind can be in reach.
	ReasonNoReach
	// ReasonNotEmulated: has no emulation, by design (arithmetic, atomics, syscalls).
	ReasonNotEmulated
	// ReasonPrivileged: cannot run with the same effect in this mode.
	ReasonPrivileged
	// ReasonShadowStack: cannot keep stack and shadow stack equal.
	ReasonShadowStack
	// ReasonReturnIntoPatch: would return into bytes that a patch replaces.
	ReasonReturnIntoPatch
	// ReasonJumpIntoRegion: something jumps, or might jump, into the region.
	ReasonJumpIntoRegion
	// ReasonNoRoom: not enough whole instructions before the function ends.
	ReasonNoRoom
	// ReasonData: the bytes are data.
	ReasonData
	// ReasonUnlinkedField: the bytes hold a field that a linker has not filled in.
	ReasonUnlinkedField
	// ReasonForeignBreakpoint: somebody else's breakpoint is there.
	ReasonForeignBreakpoint
	// ReasonOverlap: overlaps bytes that another patch owns.
	ReasonOverlap
	// ReasonMidInstruction: the address is inside an instruction, as on instruction
	// sets of aligned words every address is that is not a multiple of their size.
	ReasonMidInstruction
	// ReasonReturnAddress: the return address must be the original one (a runtime
	// walks the stack by it), and the caller asks for one in the slot.
	ReasonReturnAddress
	// ReasonNoStop: the copy leaves the slot on its own, so the stop that is asked
	// for, a trap behind it, would never be reached.
	ReasonNoStop

	reasonLast = ReasonNoStop
)

var reasonNames = [...]string{
	ReasonNone:              "",
	ReasonUnknown:           "unknown",
	ReasonReserved:          "reserved",
	ReasonTruncated:         "truncated",
	ReasonVendor:            "vendor",
	ReasonExclusive:         "exclusive",
	ReasonAdjacent:          "adjacent",
	ReasonTransaction:       "transaction",
	ReasonPrefixLine:        "prefix-line",
	ReasonSuffixWord:        "suffix-word",
	ReasonNoScratch:         "no-scratch",
	ReasonNoReach:           "no-reach",
	ReasonNotEmulated:       "not-emulated",
	ReasonPrivileged:        "privileged",
	ReasonShadowStack:       "shadow-stack",
	ReasonReturnIntoPatch:   "return-into-patch",
	ReasonJumpIntoRegion:    "jump-into-region",
	ReasonNoRoom:            "no-room",
	ReasonData:              "data",
	ReasonUnlinkedField:     "unlinked-field",
	ReasonForeignBreakpoint: "foreign-breakpoint",
	ReasonOverlap:           "overlap",
	ReasonMidInstruction:    "mid-instruction",
	ReasonReturnAddress:     "return-address",
	ReasonNoStop:            "no-stop",
}

// String returns the frozen spelling.
func (r Reason) String() string { return enumString("reason", uint8(r), reasonNames[:]) }

// AppendText implements [encoding.TextAppender].
func (r Reason) AppendText(dst []byte) ([]byte, error) {
	return enumAppend(dst, "reason", uint8(r), reasonNames[:])
}

// MarshalText implements [encoding.TextMarshaler].
func (r Reason) MarshalText() ([]byte, error) { return r.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *Reason) UnmarshalText(text []byte) error {
	n, err := enumParse("reason", text, reasonNames[:])
	*r = Reason(n)
	return err
}

// Error implements error.
func (r Reason) Error() string { return r.String() }
