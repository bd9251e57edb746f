package unicorn

import (
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
)

// Short forms for the table.
const (
	op      = emu.X86MaskOp
	opReg   = emu.X86MaskOp | emu.X86MaskReg
	opModRM = emu.X86MaskOp | emu.X86MaskModRM
)

// at builds the value of a row: map, opcode and the reg field of ModRM.
func at(opmap, opcode uint8, reg uint64) uint64 { return emu.X86Op(opmap, opcode) | reg<<11 }

// x86Limits is the capability table of Unicorn 2.0.1 in both modes of x86. Every
// sample is executed by TestLimits, which fails if the emulator is right after
// all.
var x86Limits = []emu.Limit{
	{Name: "vex", Verdict: emu.Unsupported, Mask: emu.X86MaskEnc, Value: emu.X86Enc(emu.X86VEX), Sample: "c5f058c2",
		Why: "some VEX encodings run as the SSE instruction of the same opcode"},
	{Name: "evex", Verdict: emu.Unsupported, Mask: emu.X86MaskEnc, Value: emu.X86Enc(emu.X86EVEX), Sample: "62f1744858c2",
		Why: "no EVEX"},
	{Name: "xop", Verdict: emu.Unsupported, Mask: emu.X86MaskEnc, Value: emu.X86Enc(emu.X86XOP), Sample: "8fe97890c1",
		Why: "no XOP"},
	{Name: "rex2", Verdict: emu.Unsupported, Mask: emu.X86MaskEnc, Value: emu.X86Enc(emu.X86REX2), Sample: "d50089c1",
		Why: "no APX"},

	{Name: "trap", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassTrap),
		Why: "a trap ends the run behind the instruction, with nothing of what the kernel would do"},
	{Name: "kernel-entry", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassKernelEntry),
		Why: "there is no kernel; syscall does not write rcx"},
	{Name: "privileged", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassPrivileged),
		Why: "runs with the highest privilege, where user code would fault"},
	{Name: "transaction", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassTransaction),
		Why: "xbegin always falls through"},
	{Name: "vendor", Verdict: emu.Unsupported, Hazards: fixups.HazardVendor.Bit(),
		Why: "follows one vendor"},

	{Name: "rdtsc", Verdict: emu.Unsupported, Mask: op, Value: at(1, 0x31, 0), Sample: "0f31",
		Why: "every run reads another time"},
	{Name: "rdtscp", Verdict: emu.Unsupported, Mask: opModRM, Value: at(1, 0x01, 0) | 0xf9<<8, Sample: "0f01f9",
		Why: "every run reads another time"},
	{Name: "rdpmc", Verdict: emu.Unsupported, Mask: op, Value: at(1, 0x33, 0), Sample: "0f33",
		Why: "no counters"},
	{Name: "void-rex", Verdict: emu.Unsupported, Mask: emu.X86Prefix(emu.X86PVoidREX), Value: emu.X86Prefix(emu.X86PVoidREX), Sample: "41668b06",
		Why: "a REX that another prefix follows is used, not ignored"},
	{Name: "popf", Verdict: emu.Unsupported, Mask: op, Value: at(0, 0x9d, 0), Forms: fixups.FormEmulate.Bit(), Sample: "9d",
		Why: "runs with the highest privilege and pops IF and IOPL, which the program for user code does not"},

	{Name: "repeated-compare", Verdict: emu.Match, Mask: op | emu.X86Prefix(emu.X86PF2), Value: at(0, 0xae, 0) | emu.X86Prefix(emu.X86PF2),
		Why: "flags are not there between two rounds"},
}
