package fixups

// State says how much of the site's work is done at a [Point].
type State uint8

const (
	// StateStart: nothing of the site has happened: back is possible.
	StateStart State = iota
	// StatePart: in between: only forward is possible.
	StatePart
	// StateDone: all of it has happened: only the way out is left.
	StateDone
)

var stateNames = [...]string{
	StateStart: "start",
	StatePart:  "part",
	StateDone:  "done",
}

// String returns the frozen spelling.
func (s State) String() string { return enumString("state", uint8(s), stateNames[:]) }

// AppendText implements [encoding.TextAppender].
func (s State) AppendText(dst []byte) ([]byte, error) {
	return enumAppend(dst, "state", uint8(s), stateNames[:])
}

// MarshalText implements [encoding.TextMarshaler].
func (s State) MarshalText() ([]byte, error) { return s.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *State) UnmarshalText(text []byte) error {
	n, err := enumParse("state", text, stateNames[:])
	*s = State(n)
	return err
}

// EscapeKind says how a slot address outlives the visit of a thread.
type EscapeKind uint8

const (
	// EscapeReturn: a return address in the slot was pushed or linked.
	EscapeReturn EscapeKind = iota
	// EscapeAbort: a transaction may resume in the slot.
	EscapeAbort
	// EscapeChild: a cloned child starts in the slot.
	EscapeChild
	// EscapeContext: a saved context (jmp_buf, signal frame) may hold it.
	EscapeContext
)

var escapeKindNames = [...]string{
	EscapeReturn:  "return-address",
	EscapeAbort:   "abort-pc",
	EscapeChild:   "child",
	EscapeContext: "context",
}

// String returns the frozen spelling.
func (e EscapeKind) String() string { return enumString("escape", uint8(e), escapeKindNames[:]) }

// AppendText implements [encoding.TextAppender].
func (e EscapeKind) AppendText(dst []byte) ([]byte, error) {
	return enumAppend(dst, "escape", uint8(e), escapeKindNames[:])
}

// MarshalText implements [encoding.TextMarshaler].
func (e EscapeKind) MarshalText() ([]byte, error) { return e.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (e *EscapeKind) UnmarshalText(text []byte) error {
	n, err := enumParse("escape", text, escapeKindNames[:])
	*e = EscapeKind(n)
	return err
}
