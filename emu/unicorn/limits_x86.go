package unicorn

import (
	"fmt"
	"slices"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
)

// Masks for the table.
const (
	op      = emu.X86MaskOp
	opReg   = op | emu.X86MaskReg
	opRM    = op | emu.X86MaskMod // register or memory
	opRegRM = opReg | emu.X86MaskMod
	opModRM = op | emu.X86MaskModRM

	p66 = emu.X86P66 << 32
	pF2 = emu.X86PF2 << 32
	pF3 = emu.X86PF3 << 32

	regs = 3 << 14 // ModRM.mod of a register operand
	rip  = 0xc7 << 8
)

// at builds the value of a row: map, opcode and the reg field of ModRM.
func at(opmap, opcode uint8, reg uint64) uint64 { return emu.X86Op(opmap, opcode) | reg<<11 }

// x86Limits is the capability table of Unicorn 2.0.1 in both modes of x86.
// TestLimits executes every sample and fails if the emulator is right after all.
var x86Limits = slices.Concat(x86Encodings, x86Classes, x86Wrong, x86Prefixes(), x86Missing, x86Rounds)

// amd64Limits adds what is wrong in 64-bit mode only.
var amd64Limits = slices.Concat(amd64Encodings, x86RIP, x86Limits)

// x86Encodings: ways to encode that the emulator does not know.
var x86Encodings = []emu.Limit{
	{Name: "vex", Verdict: emu.Unsupported, Mask: emu.X86MaskEnc, Value: emu.X86Enc(emu.X86VEX), Sample: "c5f058c2",
		Why: "some VEX encodings run as the SSE instruction of the same opcode"},
	{Name: "evex", Verdict: emu.Unsupported, Mask: emu.X86MaskEnc, Value: emu.X86Enc(emu.X86EVEX), Sample: "62f1744858c2",
		Why: "no EVEX"},
	{Name: "xop", Verdict: emu.Unsupported, Mask: emu.X86MaskEnc, Value: emu.X86Enc(emu.X86XOP), Sample: "8fe97890c1",
		Why: "no XOP"},
}

var amd64Encodings = []emu.Limit{
	{Name: "fs-and-cs", Verdict: emu.Unsupported, Mask: emu.X86Prefix(emu.X86PFS | emu.X86PSeg), Value: emu.X86Prefix(emu.X86PFS | emu.X86PSeg), Sample: "642e8b03",
		Why: "an ignored segment prefix takes fs back"},
	{Name: "movsxd-16", Verdict: emu.Unsupported, Mask: op | p66, Value: at(0, 0x63, 0) | p66, Sample: "66638bfe070000",
		Why: "reads four bytes to write two"},
	{Name: "gs-and-cs", Verdict: emu.Unsupported, Mask: emu.X86Prefix(emu.X86PGS | emu.X86PSeg), Value: emu.X86Prefix(emu.X86PGS | emu.X86PSeg), Sample: "652e8b03",
		Why: "an ignored segment prefix takes gs back"},
	{Name: "rex2", Verdict: emu.Unsupported, Mask: emu.X86MaskEnc, Value: emu.X86Enc(emu.X86REX2), Sample: "d50089c1",
		Why: "no APX"},
	{Name: "mov-imm-rex-r", Verdict: emu.Unsupported, Mask: op&^1 | emu.X86Prefix(emu.X86PRexR), Value: at(0, 0xc6, 0) | emu.X86Prefix(emu.X86PRexR), Sample: "4cc7c100000000",
		Why: "takes REX.R as part of the opcode, which processors ignore there"},
	{Name: "extrq-rex-r", Verdict: emu.Unsupported, Mask: op | p66 | emu.X86Prefix(emu.X86PRexR), Value: at(1, 0x78, 0) | p66 | emu.X86Prefix(emu.X86PRexR), Sample: "664d0f78c7b503",
		Why: "takes REX.R as part of the opcode, which processors ignore there"},
	{Name: "void-rex", Verdict: emu.Unsupported, Mask: emu.X86Prefix(emu.X86PVoidREX), Value: emu.X86Prefix(emu.X86PVoidREX), Sample: "4166c1e304",
		Why: "a REX that another prefix follows is used, not ignored"},
}

// x86Classes: what an emulator of a processor alone cannot judge.
var x86Classes = []emu.Limit{
	{Name: "trap", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassTrap), Sample: "cc",
		Why: "a trap ends the run behind the instruction, with nothing of what the kernel would do"},
	{Name: "kernel-entry", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassKernelEntry), Sample: "0f05",
		Why: "there is no kernel; syscall does not write rcx"},
	{Name: "privileged", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassPrivileged), Sample: "fa",
		Why: "runs with the highest privilege, where user code would fault"},
	{Name: "transaction", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassTransaction), Sample: "c7f810000000",
		Why: "xbegin always falls through"},
	{Name: "vendor", Verdict: emu.Unsupported, Hazards: fixups.HazardVendor.Bit(),
		Why: "follows one vendor"},
}

// x86Wrong: executed, but not as a processor does, or not twice in the same way.
var x86Wrong = []emu.Limit{
	{Name: "rdtsc", Verdict: emu.Unsupported, Mask: op, Value: at(1, 0x31, 0), Sample: "0f31",
		Why: "every run reads another time"},
	{Name: "rdtscp", Verdict: emu.Unsupported, Mask: opModRM, Value: at(1, 0x01, 0) | 0xf9<<8, Sample: "0f01f9",
		Why: "every run reads another time"},
	{Name: "rdpmc", Verdict: emu.Unsupported, Mask: op, Value: at(1, 0x33, 0), Sample: "0f33",
		Why: "there are no counters"},
	{Name: "popf", Verdict: emu.Unsupported, Mask: op, Value: at(0, 0x9d, 0), Forms: fixups.FormEmulate.Bit(), Sample: "9d",
		Why: "runs with the highest privilege and pops IF and IOPL, which the program for user code does not"},
	{Name: "ret-imm16", Verdict: emu.Unsupported, Mask: op | 0x80<<8, Value: at(0, 0xc2, 0) | 0x80<<8, Sample: "c20080",
		Why: "sign-extends the immediate"},
	{Name: "fnstsw-ax", Verdict: emu.Unsupported, Mask: opModRM, Value: at(0, 0xdf, 0) | 0xe0<<8, Sample: "dfe0",
		Why: "changes the last x87 instruction pointer, as no control instruction does"},
	{Name: "fneni", Verdict: emu.Unsupported, Mask: opModRM, Value: at(0, 0xdb, 0) | 0xe0<<8, Sample: "dbe0",
		Why: "changes the last x87 instruction pointer; does nothing on a processor"},
	{Name: "fndisi", Verdict: emu.Unsupported, Mask: opModRM, Value: at(0, 0xdb, 0) | 0xe1<<8, Sample: "dbe1",
		Why: "changes the last x87 instruction pointer; does nothing on a processor"},
	{Name: "fnsetpm", Verdict: emu.Unsupported, Mask: opModRM, Value: at(0, 0xdb, 0) | 0xe4<<8, Sample: "dbe4",
		Why: "changes the last x87 instruction pointer; does nothing on a processor"},
	{Name: "cmp-predicate", Verdict: emu.Unsupported, Mask: op | emu.X86Prefix(emu.X86PImm8), Value: at(1, 0xc2, 0) | emu.X86Prefix(emu.X86PImm8), Sample: "0fc2c108",
		Why: "refuses what the upper bits of the immediate say, which processors ignore without VEX"},
	{Name: "pcmpestr", Verdict: emu.Unsupported, Mask: op &^ 1, Value: at(3, 0x60, 0),
		Why: "the most negative length makes the emulator read outside its tables and ends the process"},
}

// x86Prefixes: where 66 meets F2 or F3, F2 and F3 choose the instruction (SDM
// volume 2, 2.1.2); the emulator lets 66 choose. Rows cover the SSE part of the
// 0F map; CRC32, POPCNT, TZCNT and LZCNT, where 66 is an operand size, are right.
func x86Prefixes() []emu.Limit {
	var rows []emu.Limit
	for _, g := range []struct {
		op   uint8
		keep uint64 // bits of the opcode that count
	}{{0x10, 0xf8}, {0x28, 0xf8}, {0x50, 0xf0}, {0x60, 0xf0}, {0x70, 0xf0}, {0xc2, 0xff}, {0xd0, 0xf0}, {0xe0, 0xf0}, {0xf0, 0xf0}} {
		for _, p := range []struct {
			name string
			bit  uint64
		}{{"f2", pF2}, {"f3", pF3}} {
			rows = append(rows, emu.Limit{Name: fmt.Sprintf("66-%s-0f%02x", p.name, g.op), Verdict: emu.Unsupported,
				Mask: op&^0xff | g.keep | p66 | p.bit, Value: at(1, g.op, 0) | p66 | p.bit,
				Why: "66 chooses the instruction"})
		}
	}
	rows[0].Sample = "66f20f10c1" // movsd xmm0, xmm1, not movupd
	return rows
}

// x86Missing: refused, or executed as something that does nothing.
var x86Missing = []emu.Limit{
	missing("test-alias", op&^1|emu.X86MaskReg, at(0, 0xf6, 1), "f6cb01"),
	missing("prefetch-register", opRM, at(1, 0x0d, 0)|regs, "0f0dc3"),
	missing("hint-register", opRM, at(1, 0x18, 0)|regs, "0f18c3"),
	missing("0f01-reg", opRegRM, at(1, 0x01, 7)|regs, "0f01fb"),
	missing("xgetbv", opModRM, at(1, 0x01, 2)|0xd0<<8, "0f01d0"),
	missing("pkru", opModRM&^(1<<8), at(1, 0x01, 5)|0xee<<8, "0f01ee"),
	missing("padlock", op&^1, at(1, 0xa6, 0), "0fa7c0"),
	missing("xtest", opModRM, at(1, 0x01, 2)|0xd6<<8, "0f01d6"),
	missing("load-tracking", opModRM&^(1<<8), at(1, 0x01, 5)|0xe8<<8, "f20f01e8"),
	missing("shadow-stack-token", opReg|pF3, at(1, 0x01, 5)|pF3, "f30f012b"),
	missing("xsave", opReg|pF3, at(1, 0xae, 4), "0fae23"),
	missing("xrstor", opRegRM|pF3, at(1, 0xae, 5), "0fae2b"),
	missing("xrstor-disp8", opRegRM|pF3, at(1, 0xae, 5)|0x40<<8, "0fae6b00"),
	missing("xrstor-disp32", opRegRM|pF3, at(1, 0xae, 5)|0x80<<8, "0faeab00000000"),
	missing("xsaveopt-clwb", opRegRM|pF3, at(1, 0xae, 6), "0fae33"),
	missing("xsaveopt-clwb-disp8", opRegRM|pF3, at(1, 0xae, 6)|0x40<<8, "0fae7300"),
	missing("xsaveopt-clwb-disp32", opRegRM|pF3, at(1, 0xae, 6)|0x80<<8, "0faeb300000000"),
	missing("clflushopt", opReg|p66, at(1, 0xae, 7)|p66, "660fae3b"),
	missing("fsgsbase-ptwrite", op|pF3, at(1, 0xae, 0)|pF3, "f30faee3"),
	missing("popcnt", op|pF3, at(1, 0xb8, 0)|pF3, "f30fb8c3"),
	missing("xsavec", opReg, at(1, 0xc7, 4), "0fc723"),
	missing("rdrand", opReg, at(1, 0xc7, 6), "0fc7f3"),
	missing("rdseed-rdpid", opReg, at(1, 0xc7, 7), "0fc7fb"),
	missing("movrs", op&^1, at(2, 0x8a, 0), "0f388a03"),
	missing("sha", op&^3, at(2, 0xc8, 0), "0f38c8c1"),
	missing("sha256", op&^1, at(2, 0xcc, 0), "0f38ccc1"),
	missing("gf2p8mulb", op, at(2, 0xcf, 0), "660f38cfc1"),
	missing("key-locker-wide", op|pF3, at(2, 0xd8, 0)|pF3, "f30f38d803"),
	missing("key-locker", op&^3|pF3, at(2, 0xdc, 0)|pF3, "f30f38dc03"),
	missing("movbe", op&^1|pF2, at(2, 0xf0, 0), "0f38f003"),
	missing("wrss", op|pF2|pF3|p66, at(2, 0xf6, 0), "0f38f603"),
	missing("movdir64b", op, at(2, 0xf8, 0), "660f38f803"),
	missing("movdiri", op, at(2, 0xf9, 0), "0f38f903"),
	missing("encodekey", op&^1|pF3, at(2, 0xfa, 0)|pF3, "f30f38fac3"),
	missing("raoint", op, at(2, 0xfc, 0), "0f38fc03"),
	missing("sha1rnds4", op, at(3, 0xcc, 0), "0f3accc100"),
	missing("gf2p8affine", op&^1, at(3, 0xce, 0), "660f3acec100"),
	missing("pclmulqdq", op, at(3, 0x44, 0), "660f3a44c300"),
}

func missing(name string, mask, value uint64, sample string) emu.Limit {
	return emu.Limit{Name: name, Verdict: emu.Unsupported, Mask: mask, Value: value, Sample: sample, Why: "not emulated"}
}

// x86RIP: an immediate behind a rip-relative operand is forgotten, so that the
// address is too low by its length.
var x86RIP = []emu.Limit{
	{Name: "shld-rip", Verdict: emu.Unsupported, Mask: op | rip, Value: at(1, 0xa4, 0) | 5<<8, Sample: "0fa40d0001000004",
		Why: "rip-relative address is one byte too low"},
	{Name: "shrd-rip", Verdict: emu.Unsupported, Mask: op | rip, Value: at(1, 0xac, 0) | 5<<8, Sample: "0fac0d0001000004",
		Why: "rip-relative address is one byte too low"},
	{Name: "3dnow-rip", Verdict: emu.Unsupported, Mask: emu.X86MaskMap | emu.X86MaskEnc | rip, Value: emu.X86Op(emu.X86Map3DNow, 0) | 5<<8, Sample: "0f0f0d000100009e",
		Why: "rip-relative address is one byte too low"},
}

// x86Rounds: repeated instructions that may not be interrupted between rounds.
var x86Rounds = []emu.Limit{
	{Name: "repeated-compare", Verdict: emu.Match, Mask: op&^1 | pF2, Value: at(0, 0xae, 0) | pF2,
		Why: "flags are not there between two rounds"},
	{Name: "repeated-compare", Verdict: emu.Match, Mask: op&^1 | pF3, Value: at(0, 0xae, 0) | pF3,
		Why: "flags are not there between two rounds"},
	{Name: "repeated-compare", Verdict: emu.Match, Mask: op&^1 | pF2, Value: at(0, 0xa6, 0) | pF2,
		Why: "flags are not there between two rounds"},
	{Name: "repeated-compare", Verdict: emu.Match, Mask: op&^1 | pF3, Value: at(0, 0xa6, 0) | pF3,
		Why: "flags are not there between two rounds"},
}
