package fixups

// Class says what an instruction does to control and to its surroundings. Every
// decoded instruction has exactly one; the more dangerous wins where two would
// fit (a branch inside a transaction start is a transaction).
type Class uint8

const (
	// ClassInvalid is the zero value: reserved, undefined or undecodable.
	ClassInvalid Class = iota
	// ClassPlain: neither reads nor writes pc, and depends on nothing around it.
	ClassPlain
	// ClassPCRelative: computes an address or value from pc (rip-relative operands,
	// ADR, addpcis).
	ClassPCRelative
	// ClassBranch: jumps to a fixed target.
	ClassBranch
	// ClassCondBranch: jumps to a fixed target or falls through.
	ClassCondBranch
	// ClassCall: calls a fixed target.
	ClassCall
	// ClassIndirectBranch: jumps to an address from a register or memory.
	ClassIndirectBranch
	// ClassIndirectCall: calls an address from a register or memory.
	ClassIndirectCall
	// ClassReturn: returns to an address from the stack or the link register.
	ClassReturn
	// ClassTrap: raises a debug or software exception (int3, ud2, BRK, tw).
	ClassTrap
	// ClassKernelEntry: enters the kernel or a supervisor (syscall, SVC, sc).
	ClassKernelEntry
	// ClassPrivileged: is defined for a more privileged mode only, or changes state
	// that only such a mode may change.
	ClassPrivileged
	// ClassExclusive: is part of a load-reserve/store-conditional sequence.
	ClassExclusive
	// ClassTransaction: starts, ends or aborts a hardware transaction.
	ClassTransaction
	// ClassPrefix: has a meaning only together with the word that follows it.
	ClassPrefix
)

var classNames = [...]string{
	ClassInvalid:        "invalid",
	ClassPlain:          "plain",
	ClassPCRelative:     "pc-relative",
	ClassBranch:         "branch",
	ClassCondBranch:     "cond-branch",
	ClassCall:           "call",
	ClassIndirectBranch: "indirect-branch",
	ClassIndirectCall:   "indirect-call",
	ClassReturn:         "return",
	ClassTrap:           "trap",
	ClassKernelEntry:    "kernel-entry",
	ClassPrivileged:     "privileged",
	ClassExclusive:      "exclusive",
	ClassTransaction:    "transaction",
	ClassPrefix:         "prefix",
}

// String returns the frozen spelling.
func (c Class) String() string { return enumString("class", uint8(c), classNames[:]) }

// AppendText implements [encoding.TextAppender].
func (c Class) AppendText(dst []byte) ([]byte, error) {
	return enumAppend(dst, "class", uint8(c), classNames[:])
}

// MarshalText implements [encoding.TextMarshaler].
func (c Class) MarshalText() ([]byte, error) { return c.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *Class) UnmarshalText(text []byte) error {
	n, err := enumParse("class", text, classNames[:])
	*c = Class(n)
	return err
}
