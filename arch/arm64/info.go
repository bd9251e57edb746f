package arm64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// nearSpan leaves a page on either side of the ±128 MiB of a B, so that a plan's
// growth inside the slot cannot carry a field out of reach.
const nearSpan = 1<<27 - 4096

var infoA64 = reloc.Info{
	Name:      "arm64",
	ELF:       183, // EM_AARCH64
	Bits:      64,
	InsnOrder: fixups.LittleEndian,
	MinLen:    4,
	MaxLen:    4,
	Align:     4,
	Trap:      []byte{0x00, 0x00, 0x20, 0xd4}, // BRK #0; the exception's return address is its own (D1.3.5)
	Nops:      [][]byte{{0x1f, 0x20, 0x03, 0xd5}},
	Regs:      regs,
	SP:        SP,
	Flags:     NZCV,
	Branches: []reloc.Branch{
		{Name: "cb", Size: 4, Min: -1 << 10, Max: 1<<10 - 4, Cond: true},
		{Name: "tbz", Size: 4, Min: -1 << 15, Max: 1<<15 - 4, Cond: true},
		{Name: "b.cond", Size: 4, Min: -1 << 20, Max: 1<<20 - 4, Cond: true},
		{Name: "b", Size: 4, Min: -1 << 27, Max: 1<<27 - 4},
	},
	NearMin:  -nearSpan,
	NearMax:  nearSpan,
	Zones:    zones,
	Features: features,
	Guards:   reloc.GuardsGCS,
	PadRegs:  fixups.MakeRegSet(BTYPE),

	NeedsContext: true,
	Resync:       true,
}

// zones: the procedure call standard (AAPCS64, 6.4.5) gives nothing below the stack
// pointer to anybody; Apple's ABI gives compiled code 128 bytes, that of Windows
// 16, which its signals and exceptions spare.
var zones = []reloc.Zone{
	{Mode: reloc.ModeUser, OS: reloc.Darwin, Lang: reloc.LangC, Zone: 128, Kept: 128},
	{Mode: reloc.ModeUser, OS: reloc.Darwin, Lang: reloc.LangGo, Zone: 0, Kept: 128},
	{Mode: reloc.ModeUser, OS: reloc.Windows, Lang: reloc.LangC, Zone: 16, Kept: 16},
	{Mode: reloc.ModeUser, OS: reloc.Windows, Lang: reloc.LangGo, Zone: 0, Kept: 16},
}

var features = []reloc.Feature{
	{Name: "hbc", Bit: FeatureHBC, Doc: "FEAT_HBC: bc.cond"},
	{Name: "cmpbr", Bit: FeatureCMPBR, Doc: "FEAT_CMPBR: cb<cc>"},
	{Name: "tme", Bit: FeatureTME, Doc: "FEAT_TME: tstart"},
}

// Registers: DWARF numbers as AADWARF64 has them; those that have none have
// numbers of our own from 128 on.
//
// Number 31 in an instruction is SP or XZR; only SP is a register. V0 to V31 are
// two 64-bit parts, and a write of part 0 zeroes part 1, as one of Dn does. Of the
// scalable vectors nothing more is known than that they contain these.
const (
	X0  fixups.Reg = 0 // to X30 = 30
	X15 fixups.Reg = 15
	X16 fixups.Reg = 16 // IP0
	X17 fixups.Reg = 17 // IP1
	X18 fixups.Reg = 18 // platform register
	X29 fixups.Reg = 29 // frame pointer
	X30 fixups.Reg = 30 // link register
	SP  fixups.Reg = 31

	TPIDRRO fixups.Reg = 35 // TPIDRRO_EL0
	TPIDR   fixups.Reg = 36 // TPIDR_EL0
	FFR     fixups.Reg = 47
	P0      fixups.Reg = 48 // to P15 = 63, predicates
	V0      fixups.Reg = 64 // to V31 = 95

	NZCV   fixups.Reg = 128 // N Z C V are bits 31 to 28, as MRS of NZCV gives them (C5.2.10)
	BTYPE  fixups.Reg = 129 // bits 1 and 0, see PSTATE.BTYPE (D8.4.5)
	FPCR   fixups.Reg = 130
	FPSR   fixups.Reg = 131
	GCSPR  fixups.Reg = 132 // GCSPR_EL0, of the guarded control stack
	ZA     fixups.Reg = 133 // SME's array, tables and modes as one
	System fixups.Reg = 134 // all other system registers as one
)
