package ppc64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// nearSpan leaves a page on either side of the ±32 MiB of a b, so that a plan's
// growth inside the slot cannot carry a field out of reach.
const nearSpan = 1<<25 - 4096

var infoBE = reloc.Info{
	Name:      "ppc64",
	ELF:       21, // EM_PPC64
	Bits:      64,
	BigEndian: true,
	InsnOrder: fixups.BigEndian,
	MinLen:    4,
	MaxLen:    8,
	Align:     4,
	Trap:      []byte{0x7f, 0xe0, 0x00, 0x08},
	Nops:      [][]byte{{0x60, 0x00, 0x00, 0x00}},
	Regs:      regs,
	SP:        R1,
	Flags:     CR,
	Branches:  branches,
	NearMin:   -nearSpan,
	NearMax:   nearSpan,
	Zones:     zones,
	Features:  features,

	NeedsContext: true,
	Resync:       true,
}

var infoLE = reloc.Info{
	Name:      "ppc64le",
	ELF:       21, // EM_PPC64
	Bits:      64,
	InsnOrder: fixups.LittleEndian,
	MinLen:    4,
	MaxLen:    8,
	Align:     4,
	Trap:      []byte{0x08, 0x00, 0xe0, 0x7f},
	Nops:      [][]byte{{0x00, 0x00, 0x00, 0x60}},
	Regs:      regs,
	SP:        R1,
	Flags:     CR,
	Branches:  branches,
	NearMin:   -nearSpan,
	NearMax:   nearSpan,
	Zones:     zones,
	Features:  features,

	NeedsContext: true,
	Resync:       true,
}

// The trap is tw 31,0,0, which debuggers and kernels write. It is reported with
// the address of the trap itself (Book III, 7.5.9), so TrapAdvances is 0. pnop is
// a nop of eight bytes, and not among Nops: it needs a processor of ISA 3.1 and
// a place that is not the last word of 64 bytes, which who pads cannot know.

// branches are the direct branches of Book I, 2.4.
var branches = []reloc.Branch{
	{Name: "bc", Size: 4, Min: -1 << 15, Max: 1<<15 - 4, Cond: true},
	{Name: "b", Size: 4, Min: -1 << 25, Max: 1<<25 - 4},
}

// zones: below the stack pointer compiled C keeps up to 288 bytes (ELFv2 ABI,
// 2.2.2.4; the same in ELFv1), and Go nothing. Linux delivers a signal 512 bytes below it in
// both ABIs, whatever the language, and takes an interrupt in kernel mode 288
// bytes below. Of other systems no more is known than what the ABI gives compilers.
var zones = []reloc.Zone{
	{Mode: reloc.ModeUser, OS: reloc.Linux, Lang: reloc.LangC, Zone: 288, Kept: 512},
	{Mode: reloc.ModeUser, OS: reloc.Linux, Lang: reloc.LangGo, Zone: 0, Kept: 512},
	{Mode: reloc.ModeKernel, OS: reloc.Linux, Lang: reloc.LangC, Zone: 288, Kept: 288},
	{Mode: reloc.ModeUser, OS: reloc.Windows, Lang: reloc.LangC, Zone: 288, Kept: 288},
	{Mode: reloc.ModeKernel, OS: reloc.Windows, Lang: reloc.LangC, Zone: 288, Kept: 288},
	{Mode: reloc.ModeUser, OS: reloc.Darwin, Lang: reloc.LangC, Zone: 288, Kept: 288},
	{Mode: reloc.ModeKernel, OS: reloc.Darwin, Lang: reloc.LangC, Zone: 288, Kept: 288},
}

var features = []reloc.Feature{
	{Name: "isa207", Bit: FeatureISA207, Doc: "ISA 2.07 and later: TAR"},
	{Name: "isa300", Bit: FeatureISA300, Doc: "ISA 3.0 and later: addpcis"},
	{Name: "isa310", Bit: FeatureISA310, Doc: "ISA 3.1 and later: instructions of two words"},
}

// Registers: DWARF numbers as the ELFv2 ABI (2.4) and, for CR as one register,
// the ELFv1 ABI have them; those that have none have numbers of our own from 120
// on.
//
// F0 to F31 are the vector-scalar registers vs0 to vs31, 128 bits wide, and go by
// the DWARF name: the floating-point register is the more significant half,
// doubleword 0 in the manual and [fixups.RegPart](F0+n, 1) here. vs32 to vs63 are
// V0 to V31. An accumulator of the matrix facility is four of F0 to F31.
const (
	R0  fixups.Reg = 0 // to R31 = 31
	R1  fixups.Reg = 1 // stack pointer
	R2  fixups.Reg = 2
	R11 fixups.Reg = 11
	R12 fixups.Reg = 12
	R13 fixups.Reg = 13

	F0     fixups.Reg = 32 // to F31 = 63
	CR     fixups.Reg = 64 // 32 bits; bit 0 of the manual is the most significant
	LR     fixups.Reg = 65
	CTR    fixups.Reg = 66
	XER    fixups.Reg = 76
	V0     fixups.Reg = 77 // to V31 = 108
	VRSAVE fixups.Reg = 109
	VSCR   fixups.Reg = 110
	TFHAR  fixups.Reg = 114
	TFIAR  fixups.Reg = 115
	TEXASR fixups.Reg = 116

	TAR   fixups.Reg = 120
	FPSCR fixups.Reg = 121
	MSR   fixups.Reg = 122
	EBB   fixups.Reg = 123 // BESCR, EBBHR and EBBRR as one
	SPR   fixups.Reg = 124 // all other special-purpose registers as one
)
