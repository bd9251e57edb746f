// Package reloc is the contract between instruction sets and probe tools, and
// the engine over it: given the bytes of an instruction and the address it
// lives at, how can it be executed somewhere else with exactly the same effect?
//
// The promise: for any bytes at any address, on every instruction set, in every
// form, there is exactly one of three answers: a plan that is proved
// equivalent, a refusal with a typed [fixups.Reason], or
// [fixups.ReasonTruncated]: more bytes are needed. Nothing is copied because
// nobody thought of it.
//
// [Analyze] decodes and looks at the context, [Relocate] makes a plan,
// [Describe] says all that is known of a site with a verdict for each form,
// [Resume] says what to do with a thread whose pc is in a slot. All of it is
// pure, safe for concurrent use with storage of one's own, and allocates nothing
// once that storage (the [Plan], the entry) has grown to its size.
//
// What a port must do is in docs/porting.md.
package reloc

import "github.com/xol-go/xol/fixups"

// Plan is what [Relocate] makes. See [fixups.Plan].
type Plan = fixups.Plan

// Arch is an instruction set: the contract of a port. Values are immutable and
// safe for concurrent use. More that a port can say is found by assertion:
// [Registerer], [Contexter], [VendorDecoder], [Patcher], [Generator], [Describer],
// [Fielder], [Shaper].
type Arch interface {
	// Info returns the constants of the instruction set. Callers do not modify
	// it.
	Info() *Info

	// Decode decodes the instruction at the start of code, which lives at pc.
	// It never reads more than len(code) bytes and never more than
	// Info().MaxLen. At an address that is not a multiple of Info().Align there is no
	// instruction: [fixups.ReasonMidInstruction]. The error is a [fixups.Reason]; in.Len is then the number
	// of bytes that were enough to tell, at least 1 unless code is empty. On
	// success everything in in that does not depend on neighbours is set.
	Decode(in *Insn, code []byte, pc uint64) error

	// Plan makes the first plan for in, a decoded instruction, that env allows,
	// in the order of preference of [Env.Order]. The error is the
	// [fixups.Reason] of the last form tried; p is then empty.
	Plan(p *Plan, in *Insn, env *Env) error
}

// RegUse is what an instruction does to registers, implicit operands included.
type RegUse struct {
	Reads  fixups.RegSet // may be read
	Writes fixups.RegSet // may be written
	Kills  fixups.RegSet // wholly overwritten, whatever happens
}

// Registerer is implemented by ports that know registers. Registers are
// computed on demand, not in Decode.
type Registerer interface {
	Registers(use *RegUse, in *Insn)
}

// Contexter is implemented by ports whose instructions can depend on their
// neighbours. Context looks at env.Code around in, adds hazards and, if the
// site cannot be moved alone, returns the reason.
type Contexter interface {
	Context(in *Insn, env *Env) error
}

// VendorDecoder is implemented by ports with encodings that processors of
// different vendors take for different things. DecodeFor is Decode for a processor
// of vendor v; length, target and fields are that vendor's, and in.AltLen is the
// other's length. With [VendorUnknown] it is Decode.
type VendorDecoder interface {
	DecodeFor(in *Insn, code []byte, pc uint64, v Vendor) error
}

// Patcher is implemented by ports on which a site may not always be entered by
// a trap and by a branch.
type Patcher interface {
	Patch(in *Insn, env *Env) fixups.Patch
}

// Generator makes random valid encodings for fuzzing: it appends one
// instruction, drawn from the port's tables with the bits of rnd.
type Generator interface {
	AppendRandom(dst []byte, rnd func() uint64) []byte
}

// Row is what a port's tables say of one encoding.
type Row struct {
	ID      uint32 // number of the row, as in Insn.Row
	Pattern string // in the notation of the manual
	Name    string // mnemonic
	Class   fixups.Class
	Hazards fixups.Hazards
	Source  string // manual and section
}

// Describer is implemented by ports whose tables can be printed.
type Describer interface {
	Rows() []Row // all rows, in the order of their numbers
	Row(id uint32) (Row, bool)
	RowOf(in *Insn) (Row, bool) // the row that decoded in
}
