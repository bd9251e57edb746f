package corpus

import "github.com/xol-go/xol/fixups"

// File is a parsed text file.
type File struct {
	Comment []string // lines at the top, without the #
	Cases   []Case
}

// Case is some code at an address and what is right for it.
type Case struct {
	Comment []string // lines above the case, without the #
	Arch    string   // GOARCH spelling
	Name    string   // unique within Arch
	Source  string   // manual and section, or a public place
	PC      uint64
	Bytes   []byte // memory order, Rest included
	Lens    []int  // lengths of the instructions in bytes; what is behind them is the rest
	Slots   []uint64
	Mem     []Mem
	Given   []Fact
	Env     []string // words of relocgen's flags
	Insns   []Insn
	Wants   []Want
	Regions []Region
	After   []Fact
	Notes   []string
}

// Key is "arch/name".
func (c *Case) Key() string { return c.Arch + "/" + c.Name }

// Rest is what follows the instructions.
func (c *Case) Rest() []byte { return c.Bytes[c.codeLen():] }

func (c *Case) codeLen() int {
	n := 0
	for _, l := range c.Lens {
		n += l
	}
	return n
}

// LenAt returns the expected length of the instruction at an offset, 0 if none
// starts there.
func (c *Case) LenAt(off int) int {
	n := 0
	for _, l := range c.Lens {
		if n == off {
			return l
		}
		n += l
	}
	return 0
}

// Mem is memory before the run.
type Mem struct {
	Addr uint64
	Data []byte
}

// Fact is a value of a register, of pc, of flags or of memory.
type Fact struct {
	Name  string // rdx, pc, [0x401000]
	Value string // 0x4030201, rsp-8, "old rbx"
	When  string // condition, "" for always
}

// Insn is what is expected of one instruction. Fields that are not stated are
// not checked.
type Insn struct {
	Off     int           // bytes from Case.PC
	Reason  fixups.Reason // the bytes do not decode; then nothing else is set
	Class   fixups.Class
	Alt     int     // length on the other vendor's processors, 0 if not stated
	Target  *uint64 // direct target
	Address *uint64 // address of a pc-relative operand
	Pushes  *uint64 // return address
	When    string
	Hazards fixups.Hazards // a subset of those it has
}

// Want is the expected verdict for one form.
type Want struct {
	Off    int
	Form   fixups.Form
	Plan   bool
	Any    bool          // refused, for whatever reason
	Reason fixups.Reason // refused, unless Any
	With   []string      // env words beyond Case.Env
}

// Region is the expected verdict for a patch of N bytes.
type Region struct {
	Off, N int
	Plan   bool
	Any    bool
	Reason fixups.Reason
	Jump   *Jump // the branch that forbids it
}

// Jump is a branch from one address to another.
type Jump struct{ From, To uint64 }
