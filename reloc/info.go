package reloc

import "github.com/xol-go/xol/fixups"

// Info are the constants of an instruction set, as data.
type Info struct {
	Name      string // GOARCH spelling
	ELF       uint16 // e_machine
	Bits      int    // width of a word and of an address: 32 or 64
	BigEndian bool   // byte order of data
	InsnOrder fixups.End

	MinLen, MaxLen int // length of an instruction, bytes
	Align          int // alignment of an instruction, bytes

	// Resync: every encoding has its length, those without a row too, and Decode
	// tells it: what is behind one that is refused can be decoded.
	Resync bool

	Trap         []byte   // breakpoint instruction
	TrapAdvances int      // how far pc is past a trap when it is reported, bytes
	Nops         [][]byte // canonical nops, shortest first

	Regs  fixups.RegNames
	SP    fixups.Reg
	Flags fixups.Reg // flags register, RegNone if there is none

	Branches []Branch // direct branches, shortest reach first
	NearMin  int64    // Slot - Site that counts as near
	NearMax  int64
	NearOnly bool // every slot is near (386)

	Zones []Zone // first row that matches holds

	Guards   Guards    // which switches of Env speak of this ISA
	Features []Feature // optional parts that Env.Features can state

	// PadRegs are registers that nothing but landing pads looks at. A plan may
	// clobber them where these are off, or with the hazard landing-pad.
	PadRegs fixups.RegSet

	// NeedsContext: the ISA has exclusive windows or suffix words, so a plan
	// made without Env.Code carries the hazard context-unknown.
	NeedsContext bool
}

// Feature is an optional part of an ISA whose absence is a fault that a plan might
// otherwise drop.
type Feature struct {
	Name string   // as in relocgen's --features: lower case
	Bit  Features // a single bit
	Doc  string   // what it stands for, in a few words
}

// Feature returns the bit of a feature by its name.
func (i *Info) Feature(name string) (Features, bool) {
	for k := range i.Features {
		if i.Features[k].Name == name {
			return i.Features[k].Bit, true
		}
	}
	return 0, false
}

// Past returns how many of left bytes, with those that Decode refused and filled
// in with at their start, no instruction can begin in.
func (i *Info) Past(in *Insn, left int) int {
	if !i.Resync {
		return left
	}
	return min(max(int(in.Len), i.MinLen), left)
}

// Guards are the protections of control flow that an ISA has.
type Guards uint8

// The kinds.
const (
	GuardsNone Guards = iota
	GuardsCET         // shadow stack and indirect branch tracking: Env.SHSTK, Env.IBT
	GuardsGCS         // guarded control stack and branch targets: Env.GCS, Env.BTI
)

// Branch is a direct branch that the ISA has.
type Branch struct {
	Name     string // mnemonic
	Size     int    // bytes
	Min, Max int64  // displacement from the start of the branch
	Cond     bool
}

// Zone says how many bytes below the stack pointer belong to whom, for one mode,
// operating system and language. Where no row of an instruction set matches,
// nothing below the stack pointer belongs to anybody.
type Zone struct {
	Mode Mode
	OS   OS
	Lang Lang
	Zone int // compilers keep data here
	Kept int // signals or interrupts spare this much
}

// Order returns how [fixups.PlaceOrder] writes code for this ISA; dataBig
// overrides the byte order of data.
func (i *Info) Order(d DataOrder) fixups.Placing {
	o := fixups.Placing{Insn: i.InsnOrder}
	if i.BigEndian {
		o.Data = fixups.BigEndian
	}
	switch d {
	case DataLittle:
		o.Data = fixups.LittleEndian
	case DataBig:
		o.Data = fixups.BigEndian
	}
	return o
}
