package fixups

// Form is how a consumer executes a copy.
type Form uint8

const (
	// FormEmulate: has no slot: the program [Plan.Emulate] does what the instruction
	// does, all or nothing.
	FormEmulate Form = iota
	// FormJump: is entered with the site's state, runs by itself and leaves by its
	// tail. A fault or signal with pc in the slot is resolved by its points.
	FormJump
	// FormStep: runs one instruction in the slot between [Plan.Pre] and [Plan.Post];
	// a hardware single-step or a trap behind the copy stops it. After a fault or a
	// signal [Plan.Abort] takes everything back.
	FormStep
	// FormRegion: is jump for several whole instructions.
	FormRegion
)

var formNames = [...]string{
	FormEmulate: "emulate",
	FormJump:    "jump",
	FormStep:    "step",
	FormRegion:  "region",
}

// String returns the frozen spelling.
func (f Form) String() string { return enumString("form", uint8(f), formNames[:]) }

// AppendText implements [encoding.TextAppender].
func (f Form) AppendText(dst []byte) ([]byte, error) {
	return enumAppend(dst, "form", uint8(f), formNames[:])
}

// MarshalText implements [encoding.TextMarshaler].
func (f Form) MarshalText() ([]byte, error) { return f.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (f *Form) UnmarshalText(text []byte) error {
	n, err := enumParse("form", text, formNames[:])
	*f = Form(n)
	return err
}

// Forms is a set of [Form]. The zero value means all single-instruction forms.
type Forms uint8

// Bit returns the set that holds only f.
func (f Form) Bit() Forms { return 1 << f }

// Has reports whether f is in the set; the empty set has emulate, jump and step.
func (s Forms) Has(f Form) bool {
	if s == 0 {
		return f <= FormStep
	}
	return s>>f&1 != 0
}

// Strategy names the technique of a plan.
type Strategy uint8

const (
	// StrategyNone is the zero value: no plan.
	StrategyNone Strategy = iota
	// StrategyCopy: the bytes are copied unchanged.
	StrategyCopy
	// StrategyReEncode: the same operation with a field that is filled in for the slot.
	StrategyReEncode
	// StrategyAbsolute: an operand form that does not depend on the slot.
	StrategyAbsolute
	// StrategyOwnDest: the destination register serves as scratch.
	StrategyOwnDest
	// StrategyDeadReg: a register that is dead here serves as scratch.
	StrategyDeadReg
	// StrategySpill: a register is saved below the stack pointer and restored.
	StrategySpill
	// StrategyLiteral: a constant beside the code, in the slot.
	StrategyLiteral
	// StrategyIsland: a branch over or to a longer branch in the slot.
	StrategyIsland
	// StrategyEmulate: a program, no code.
	StrategyEmulate
)

var strategyNames = [...]string{
	StrategyNone:     "",
	StrategyCopy:     "copy",
	StrategyReEncode: "re-encode",
	StrategyAbsolute: "absolute",
	StrategyOwnDest:  "own-dest",
	StrategyDeadReg:  "dead-reg",
	StrategySpill:    "spill",
	StrategyLiteral:  "literal",
	StrategyIsland:   "island",
	StrategyEmulate:  "emulate",
}

// String returns the frozen spelling.
func (s Strategy) String() string { return enumString("strategy", uint8(s), strategyNames[:]) }

// AppendText implements [encoding.TextAppender].
func (s Strategy) AppendText(dst []byte) ([]byte, error) {
	return enumAppend(dst, "strategy", uint8(s), strategyNames[:])
}

// MarshalText implements [encoding.TextMarshaler].
func (s Strategy) MarshalText() ([]byte, error) { return s.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Strategy) UnmarshalText(text []byte) error {
	n, err := enumParse("strategy", text, strategyNames[:])
	*s = Strategy(n)
	return err
}

// Tail is how slot code is left.
type Tail uint8

const (
	// TailNone: the copy itself leaves the slot on every path.
	TailNone Tail = iota
	// TailJump: a jump to the end of the site.
	TailJump
	// TailTrap: a trap instruction.
	TailTrap
)

var tailNames = [...]string{
	TailNone: "none",
	TailJump: "jump",
	TailTrap: "trap",
}

// String returns the frozen spelling.
func (t Tail) String() string { return enumString("tail", uint8(t), tailNames[:]) }

// AppendText implements [encoding.TextAppender].
func (t Tail) AppendText(dst []byte) ([]byte, error) {
	return enumAppend(dst, "tail", uint8(t), tailNames[:])
}

// MarshalText implements [encoding.TextMarshaler].
func (t Tail) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (t *Tail) UnmarshalText(text []byte) error {
	n, err := enumParse("tail", text, tailNames[:])
	*t = Tail(n)
	return err
}

// Stop is how a stepped copy is stopped.
type Stop uint8

const (
	// StopHardware: the processor's single-step.
	StopHardware Stop = iota
	// StopTrap: a trap instruction behind the copy.
	StopTrap
)

var stopNames = [...]string{
	StopHardware: "hardware",
	StopTrap:     "trap",
}

// String returns the frozen spelling.
func (s Stop) String() string { return enumString("stop", uint8(s), stopNames[:]) }

// AppendText implements [encoding.TextAppender].
func (s Stop) AppendText(dst []byte) ([]byte, error) {
	return enumAppend(dst, "stop", uint8(s), stopNames[:])
}

// MarshalText implements [encoding.TextMarshaler].
func (s Stop) MarshalText() ([]byte, error) { return s.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Stop) UnmarshalText(text []byte) error {
	n, err := enumParse("stop", text, stopNames[:])
	*s = Stop(n)
	return err
}

// Returns says which return address a call leaves.
type Returns uint8

const (
	// ReturnsOriginal: the address behind the site, as without the probe.
	ReturnsOriginal Returns = iota
	// ReturnsSlot: an address in the slot.
	ReturnsSlot
)

var returnsNames = [...]string{
	ReturnsOriginal: "original",
	ReturnsSlot:     "slot",
}

// String returns the frozen spelling.
func (r Returns) String() string { return enumString("return policy", uint8(r), returnsNames[:]) }

// AppendText implements [encoding.TextAppender].
func (r Returns) AppendText(dst []byte) ([]byte, error) {
	return enumAppend(dst, "return policy", uint8(r), returnsNames[:])
}

// MarshalText implements [encoding.TextMarshaler].
func (r Returns) MarshalText() ([]byte, error) { return r.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *Returns) UnmarshalText(text []byte) error {
	n, err := enumParse("return policy", text, returnsNames[:])
	*r = Returns(n)
	return err
}
