package emu

import (
	"github.com/xol-go/xol/fixups"
)

// Target describes an instruction set to oracles and to the comparison. It is
// immutable.
type Target struct {
	Arch string // GOARCH spelling
	Bits int    // 32 or 64

	// Words is the register file: one entry for each 64-bit word of a state, in
	// the order of [State.Words].
	Words []Word

	SP, Flags fixups.Reg   // whole registers; no Flags where conditions are in another
	Counter   fixups.Reg   // counted down by loops and repeated instructions, RegNone without one
	Link      fixups.Reg   // where calls leave the return address, RegNone: on the stack
	Bases     []fixups.Reg // segment bases
	// SPAlign is what the stack pointer is a multiple of in all states; 0: a word,
	// and in some not even that.
	SPAlign uint64
	// AddrMask are the bits of the addresses that may have memory. Zero: all of them.
	AddrMask uint64
	// ZeroesUpper: writing part 0 of a vector register zeroes its other parts.
	ZeroesUpper bool
	// NoAddress are the exceptions that tell of an access to an address that is none
	// without saying where it is.
	NoAddress []uint16

	// Branch is what a branch makes of an address that it is given; nil: nothing.
	Branch func(addr uint64) uint64
	// Pads is the register that says at what landing pads the next instruction may
	// be, RegNone without one. It counts where Env says that pages are guarded, and
	// then the copy may be welcome at more of them, as Welcome says.
	Pads    fixups.Reg
	Welcome func(site, copy uint64) bool

	// X87 are the words that Plan.X87 leaves out: the last x87 instruction and
	// data pointers.
	X87 []fixups.Reg

	// Fill is what code memory holds where there is no code: an instruction that
	// ends a translation block, in memory order.
	Fill []byte

	Sites []Arena // where sites are put
	Slots []Arena // where slots are put
	Stack Arena   // the stack page

	// Key condenses an encoding to a number that [Limit] rows match with a mask.
	Key func(code []byte) uint64
	// Operand says how the memory operand of an instruction is addressed.
	Operand func(code []byte) Operand
	// Aim makes an operand that is relative to pc name addr, false if there is
	// none or it cannot. nil where no operand is.
	Aim func(code []byte, pc, addr uint64) bool
	// Random appends bytes that are likely to begin with an instruction.
	Random func(dst []byte, rnd func() uint64) []byte
}

// Word is one 64-bit word of the register file.
type Word struct {
	Reg     fixups.Reg // number of the whole register (RegPC for pc)
	Part    uint8      // which 64 bits of it
	Bits    uint8      // that exist in this word
	Name    string
	General bool // a general register: addresses and counts
	// ReadOnly words are compared and never set.
	ReadOnly bool
	// Const words are set to Value.
	Const bool
	Value uint64
	// Vary, if not zero, are the bits that states choose; the others are those of
	// Value. It is for registers with reserved bits.
	Vary uint64
}

// Arena is a run of addresses for one purpose.
type Arena struct {
	Name string
	Addr uint64
	Size uint64
	Data uint64 // data page that goes with a site arena; private data of a slot arena
}

// Operand is how an instruction addresses memory: Base + Index*Scale + Disp, and
// for a bit string the words that the bit offset in Bit leads away, cut to Size
// bytes, + Seg. Registers are RegNone where there are none.
type Operand struct {
	Has              bool
	Base, Index, Seg fixups.Reg
	Bit              fixups.Reg // signed number of a bit
	BitWord          uint8      // bytes of the word that is accessed, and of the offset
	Vector           fixups.Reg // of indices, one for each element
	VectorBits       uint8      // of an index
	Scale            uint8
	Size             uint8 // bytes of the address: 2, 4 or 8
	Read             uint8 // bytes that are read at most before anything is written
	PCRel            bool  // Disp is from the end of the instruction
	Disp             int64
}

// wordOf returns the position of a register (or of a part of one), -1 if the
// target does not have it.
func (t *Target) wordOf(r fixups.Reg) int {
	v, part, _ := r.Part()
	for i := range t.Words {
		if w := &t.Words[i]; w.Reg == v && int(w.Part) == part {
			return i
		}
	}
	return -1
}

// index is wordOf as a table: the position of part 0 of each register. The
// parts of a register are neighbours.
type index struct {
	at   [256]int16
	n    [256]uint8
	pc   int
	mask []uint64

	// How states choose words: fixed ones from here, general ones one by one,
	// the rest, which are neighbours, in one copy; then narrow ones are cut.
	template        []uint64
	general, narrow []int
	vary            []int
	noise           int // first of the rest, up to the end

	addrMask uint64
}

func newIndex(t *Target) *index {
	n := len(t.Words)
	x := &index{pc: t.wordOf(fixups.RegPC), mask: make([]uint64, n), template: make([]uint64, n), noise: n}
	for i := range x.at {
		x.at[i] = -1
	}
	x.addrMask = ^uint64(0)
	if t.AddrMask != 0 {
		x.addrMask = t.AddrMask
	}
	for i := range t.Words {
		w := &t.Words[i]
		x.mask[i] = ^uint64(0) >> (64 - w.Bits)
		switch {
		case w.Const || w.ReadOnly:
			x.template[i] = w.Value
			x.noise = n
		case w.General:
			x.general = append(x.general, i)
		case w.Vary != 0:
			x.template[i] = w.Value
			x.vary = append(x.vary, i)
			x.noise = n
		default:
			x.noise = min(x.noise, i)
			if w.Bits < 64 {
				x.narrow = append(x.narrow, i)
			}
		}
		if w.Reg < 256 {
			if w.Part == 0 {
				x.at[w.Reg] = int16(i)
			}
			x.n[w.Reg]++
		}
	}
	return x
}

func (x *index) word(r fixups.Reg) int {
	if r == fixups.RegPC {
		return x.pc
	}
	v, part, _ := r.Part()
	if v >= 256 || x.at[v] < 0 || part >= int(x.n[v]) {
		return -1
	}
	return int(x.at[v]) + part
}

// Plain returns the words of a state in which nothing is chosen: Value where
// there is one, else zero.
func (t *Target) Plain() []uint64 {
	words := make([]uint64, len(t.Words))
	for i := range t.Words {
		words[i] = t.Words[i].Value
	}
	return words
}

// WordOf returns the position of a word by its name, -1 if the target has none of
// that name.
func (t *Target) WordOf(name string) int {
	for i := range t.Words {
		if t.Words[i].Name == name {
			return i
		}
	}
	return -1
}

// FillAt writes what code memory holds at addr where there is no code to b.
func (t *Target) FillAt(b []byte, addr uint64) {
	n := uint64(len(t.Fill))
	for i := range b {
		if i == int(n) {
			break
		}
		b[i] = t.Fill[(addr+uint64(i))%n]
	}
	for k := int(n); k < len(b); k *= 2 {
		copy(b[k:], b[:k]) // in copies that double: a lap of a ring is a megabyte
	}
}
