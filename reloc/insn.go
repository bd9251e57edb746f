package reloc

import "github.com/xol-go/xol/fixups"

// Insn is a decoded instruction: a value without pointers, of fixed size. Its
// storage belongs to the caller.
type Insn struct {
	PC      uint64
	Target  uint64 // target of a direct branch or call, or the address a pc-relative operand names
	Hazards fixups.Hazards
	Bytes   [16]byte // the instruction in memory order, zeros behind it
	Row     uint32   // number of the table row
	Len     uint8    // length in bytes
	AltLen  uint8    // length on the other vendor's processors, 0 where they agree; see [VendorDecoder]
	Class   fixups.Class
	Flags   InsnFlags
	Ext     [2]uint64 // the port's own
}

// InsnFlags are facts about an [Insn].
type InsnFlags uint8

// The flags.
const (
	HasTarget InsnFlags = 1 << iota // Target is valid
	PCOperand                       // an operand (not a branch target) is pc-relative
	Continues                       // control may go on behind the instruction
	Accesses                        // may access memory beyond its own bytes (may fault)
)

// HasTarget reports whether Target is valid.
func (in *Insn) HasTarget() bool { return in.Flags&HasTarget != 0 }

// Next is the address behind the instruction.
func (in *Insn) Next() uint64 { return in.PC + uint64(in.Len) }

// Raw returns the bytes of the instruction. It aliases in.
func (in *Insn) Raw() []byte { return in.Bytes[:in.Len] }
