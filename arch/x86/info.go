package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// nearSpan leaves a page on either side of the ±2 GiB of a rel32, so that a
// plan's growth inside the slot cannot carry a field out of reach.
const nearSpan = 1<<31 - 4096

var infoAMD64 = reloc.Info{
	Name:     "amd64",
	Guards:   reloc.GuardsCET,
	ELF:      62, // EM_X86_64
	Bits:     64,
	MinLen:   1,
	MaxLen:   15,
	Align:    1,
	Trap:     []byte{0xcc},
	Nops:     nops,
	Regs:     regsAMD64,
	SP:       RSP,
	Flags:    FLAGS,
	Branches: branches,
	NearMin:  -nearSpan,
	NearMax:  nearSpan,
	Zones:    zonesAMD64,

	TrapAdvances: 1,
}

var infoI386 = reloc.Info{
	Name:     "386",
	Guards:   reloc.GuardsCET,
	ELF:      3, // EM_386
	Bits:     32,
	MinLen:   1,
	MaxLen:   15,
	Align:    1,
	Trap:     []byte{0xcc},
	Nops:     nops32,
	Regs:     regsI386,
	SP:       ESP,
	Flags:    EFLAGS,
	Branches: branches,
	NearMin:  -nearSpan,
	NearMax:  nearSpan,
	NearOnly: true,
	Zones:    zonesI386,

	TrapAdvances: 1,
}

// branches are the direct branches; displacements count from their start.
var branches = []reloc.Branch{
	{Name: "jmp rel8", Size: 2, Min: 2 - 128, Max: 2 + 127},
	{Name: "jcc rel8", Size: 2, Min: 2 - 128, Max: 2 + 127, Cond: true},
	{Name: "jmp rel32", Size: 5, Min: 5 - 1<<31, Max: 5 + 1<<31 - 1},
	{Name: "jcc rel32", Size: 6, Min: 6 - 1<<31, Max: 6 + 1<<31 - 1, Cond: true},
}

// zonesAMD64: the System V red zone belongs to compiled C; signal delivery
// spares it whatever the language, so Go code, which does not use it, may be
// spilled to there. Windows and interrupts in kernel mode spare nothing.
var zonesAMD64 = []reloc.Zone{
	{Mode: reloc.ModeUser, OS: reloc.Linux, Lang: reloc.LangC, Zone: 128, Kept: 128},
	{Mode: reloc.ModeUser, OS: reloc.Linux, Lang: reloc.LangGo, Zone: 0, Kept: 128},
	{Mode: reloc.ModeUser, OS: reloc.Darwin, Lang: reloc.LangC, Zone: 128, Kept: 128},
	{Mode: reloc.ModeUser, OS: reloc.Darwin, Lang: reloc.LangGo, Zone: 0, Kept: 128},
}

// zonesI386 is empty: no 32-bit ABI has a red zone.
var zonesI386 []reloc.Zone

// nops are the forms that Intel recommends (SDM volume 2, NOP), lengthened
// beyond nine bytes by ignored 66 and segment prefixes.
var nops = [][]byte{
	{0x90},
	{0x66, 0x90},
	{0x0f, 0x1f, 0x00},
	{0x0f, 0x1f, 0x40, 0x00},
	{0x0f, 0x1f, 0x44, 0x00, 0x00},
	{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
	{0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
	{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	{0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	{0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	{0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	{0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	{0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	{0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
}

// nops32: the same bytes mean the same in 32-bit mode.
var nops32 = nops

// Registers of AMD64 (System V ABI, AMD64 supplement, figure 3.36); the rest
// are numbers of our own below 256. Vector registers go by their DWARF name,
// xmmN, and are 512 bits wide: a legacy SSE write is a partial one.
const (
	RAX    fixups.Reg = 0
	RDX    fixups.Reg = 1
	RCX    fixups.Reg = 2
	RBX    fixups.Reg = 3
	RSI    fixups.Reg = 4
	RDI    fixups.Reg = 5
	RBP    fixups.Reg = 6
	RSP    fixups.Reg = 7
	R8     fixups.Reg = 8 // to R15 = 15
	XMM0   fixups.Reg = 17
	ST0    fixups.Reg = 33
	MM0    fixups.Reg = 41
	FLAGS  fixups.Reg = 49
	ES     fixups.Reg = 50 // es cs ss ds fs gs
	CS     fixups.Reg = 51
	SS     fixups.Reg = 52
	DS     fixups.Reg = 53
	FS     fixups.Reg = 54
	GS     fixups.Reg = 55
	FSBase fixups.Reg = 58
	GSBase fixups.Reg = 59
	TR     fixups.Reg = 62
	LDTR   fixups.Reg = 63
	MXCSR  fixups.Reg = 64
	FCW    fixups.Reg = 65
	FSW    fixups.Reg = 66 // status and tag word, top included
	XMM16  fixups.Reg = 67
	K0     fixups.Reg = 118
	BND0   fixups.Reg = 126
	R16    fixups.Reg = 130 // to R31 = 145
	TMM0   fixups.Reg = 146
	CR0    fixups.Reg = 160
	DR0    fixups.Reg = 176
	XCR0   fixups.Reg = 192
	SSP    fixups.Reg = 193
	PKRU   fixups.Reg = 194
	GDTR   fixups.Reg = 195
	IDTR   fixups.Reg = 196
	MSR    fixups.Reg = 197 // all model-specific registers as one
	FIP    fixups.Reg = 198 // last x87 instruction and data pointers, opcode
	UIF    fixups.Reg = 199 // user interrupt flag
	TILECF fixups.Reg = 200 // tile configuration
)

// Registers of I386 (System V ABI, Intel386 supplement, table 2.14) that are
// numbered otherwise than in AMD64. cr, dr, fsbase, gsbase and what has no DWARF
// number anywhere have the numbers of AMD64.
const (
	EAX      fixups.Reg = 0
	ECX      fixups.Reg = 1
	EDX      fixups.Reg = 2
	EBX      fixups.Reg = 3
	ESP      fixups.Reg = 4
	EBP      fixups.Reg = 5
	ESI      fixups.Reg = 6
	EDI      fixups.Reg = 7
	EFLAGS   fixups.Reg = 9
	ST0x32   fixups.Reg = 11
	XMM0x32  fixups.Reg = 21
	MM0x32   fixups.Reg = 29
	FCWx32   fixups.Reg = 37
	FSWx32   fixups.Reg = 38
	MXCSRx32 fixups.Reg = 39
	ESx32    fixups.Reg = 40 // es cs ss ds fs gs
	TRx32    fixups.Reg = 48
	LDTRx32  fixups.Reg = 49
	K0x32    fixups.Reg = 93
	BND0x32  fixups.Reg = 101
)
