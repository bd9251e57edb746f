package native

import (
	"slices"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
)

// Features are what the processor and the kernel let programs use.
type Features struct {
	// Leaves of CPUID: 1, 7, 7 with ECX = 1, 0x80000001, 0x80000008.
	leaf1, leaf7, leaf71, leafAMD1, leafAMD8 leaf

	size       int    // of the XSAVE area that signal frames have
	components uint64 // of it that states set
	parts      []component
	ymm        int // offsets in the area; 0 if there is none
	opmask     int
	zmm, hi16  int

	// NoErrorPointers: the processor has the last x87 pointers only while an
	// exception is pending, as AMD's do. They are compared only then.
	NoErrorPointers bool

	// intel: the manufacturer, where manuals differ and no feature bit tells.
	intel bool
}

// leaf is an answer of CPUID: EAX, EBX, ECX, EDX.
type leaf [4]uint32

const (
	eax = iota
	ebx
	ecx
	edx
)

func (l *leaf) has(reg, bit int) bool { return l[reg]>>bit&1 != 0 }

// component is a part of the XSAVE area beyond the legacy region.
type component struct {
	number    int
	off, size int
}

// XSAVE components (SDM volume 1, 13.1).
const (
	compAVX    = 2
	compOpmask = 5
	compZMM    = 6
	compHi16   = 7

	baseComponents   = 3 // x87 and SSE
	avxComponents    = baseComponents | 1<<compAVX
	avx512Components = avxComponents | 1<<compOpmask | 1<<compZMM | 1<<compHi16
)

// vectorParts is the number of 64-bit parts of the first 16 vector registers.
func (f *Features) vectorParts() int {
	switch {
	case f.zmm > 0:
		return 8
	case f.ymm > 0:
		return 4
	}
	return 2
}

// feature is something that a processor may lack, and how that is known.
type feature struct {
	name string
	has  func(f *Features) bool
	rows []row
}

// row is an encoding that needs a feature: a key and the bits of it that count.
type row struct{ mask, value uint64 }

// Masks and values of keys.
const (
	op      = emu.X86MaskOp
	p66     = emu.X86P66 << 32
	pF3     = emu.X86PF3 << 32
	pF2     = emu.X86PF2 << 32
	pAny    = p66 | pF3 | pF2
	pW      = emu.X86PW << 32
	opModRM = op | emu.X86MaskModRM
	anyReg  = emu.X86MaskReg
	regMode = 3 << 14
)

func vex(m, opcode uint8) uint64 { return emu.X86Op(m, opcode) | emu.X86Enc(emu.X86VEX) }

func legacy(m, opcode uint8) uint64 { return emu.X86Op(m, opcode) }

// reg is the value of a ModRM.reg field in a key.
func modReg(n uint64) uint64 { return n << 11 }

// featureTable is the reviewed list. What it does not name is in every x86-64
// processor of level 3 (AVX2, BMI, FMA, F16C, MOVBE) with AES, ADX and SHA, or has
// no effect where it is missing (hints). Bits are from CPUID in the Intel SDM,
// volume 2, and in AMD's APM, volume 3, appendix E.
//
// A feature whose state the runner does not set up (shadow stacks, tiles, user
// interrupts, the registers of APX) counts as absent everywhere.
var featureTable = []feature{
	{"avx512", func(f *Features) bool { return f.avx512() }, []row{
		{emu.X86MaskEnc, emu.X86Enc(emu.X86EVEX)},
		{op &^ 7, vex(1, 0x40)}, {op &^ 1, vex(1, 0x4a)}, // mask registers; CMOVcc has no VEX form
		{op &^ 3, vex(1, 0x90)}, {op &^ 1, vex(1, 0x98)}, {op &^ 3, vex(3, 0x30)}}},
	{"apx", never, []row{{emu.X86MaskEnc, emu.X86Enc(emu.X86REX2)}}},
	{"xop", amd1(ecx, 11), []row{{emu.X86MaskEnc, emu.X86Enc(emu.X86XOP)}}},
	{"fma4", amd1(ecx, 16), []row{
		{op &^ 1, vex(3, 0x48)}, {op &^ 3, vex(3, 0x5c)}, {op &^ 7, vex(3, 0x68)}, {op &^ 7, vex(3, 0x78)}}},
	{"3dnow", amd1(edx, 31), []row{{emu.X86MaskMap | emu.X86MaskEnc, legacy(emu.X86Map3DNow, 0)}, {op, legacy(1, 0x0e)}}},
	{"amx", never, []row{
		{op &^ 3, vex(2, 0x48)}, {op &^ 3, vex(2, 0x5c)}, {op &^ 3, vex(2, 0x68)}, {op &^ 3, vex(2, 0x6c)},
		{emu.X86MaskMap | emu.X86MaskEnc, vex(5, 0)}, {op, vex(3, 0x07)}, {op, vex(3, 0x77)}}},
	{"avx-vnni", leaf71(eax, 4), []row{{op&^3 | pAny, vex(2, 0x50) | p66}}},
	{"avx-vnni-int8", leaf71(edx, 4), []row{{op&^1 | p66, vex(2, 0x50)}}},
	{"avx-vnni-int16", leaf71(edx, 10), []row{{op &^ 1, vex(2, 0xd2)}}},
	{"avx-ne-convert", leaf71(edx, 5), []row{{op &^ 1, vex(2, 0xb0)}, {op, vex(2, 0x72)}}},
	{"avx-ifma", leaf71(eax, 23), []row{{op &^ 1, vex(2, 0xb4)}}},
	{"sha512", leaf71(eax, 0), []row{{op, vex(2, 0xcb)}, {op &^ 1, vex(2, 0xcc)}}},
	{"sm3", leaf71(eax, 1), []row{{op | pF2 | pF3, vex(2, 0xda)}, {op, vex(3, 0xde)}}},
	{"sm4", leaf71(eax, 2), []row{{op | p66, vex(2, 0xda)}}},
	{"cmpccxadd", leaf71(eax, 7), []row{{op &^ 15, vex(2, 0xe0)}}},
	{"gfni", leaf7(ecx, 8), []row{{op, vex(2, 0xcf)}, {op &^ 1, vex(3, 0xce)}, {op, legacy(2, 0xcf)}, {op &^ 1, legacy(3, 0xce)}}},
	{"user-msr", never, []row{{emu.X86MaskMap | emu.X86MaskEnc, vex(7, 0)}, {op | regMode | pF2, legacy(2, 0xf8) | regMode | pF2},
		{op | regMode | pF3, legacy(2, 0xf8) | regMode | pF3}}},
	{"x86-64-v3", func(f *Features) bool { return f.level3() }, []row{{emu.X86MaskEnc, emu.X86Enc(emu.X86VEX)}}},
	{"sse4a", amd1(ecx, 6), []row{{op | p66, legacy(1, 0x78) | p66}, {op | pF2, legacy(1, 0x78) | pF2}, {op | p66, legacy(1, 0x79) | p66},
		{op | pF2, legacy(1, 0x79) | pF2}, {op | pF2, legacy(1, 0x2b) | pF2}, {op | pF3, legacy(1, 0x2b) | pF3}}},
	{"sha", leaf7(ebx, 29), []row{{op &^ 3, legacy(2, 0xc8)}, {op &^ 1, legacy(2, 0xcc)}, {op, legacy(3, 0xcc)}}},
	{"adx", leaf7(ebx, 19), []row{{op | p66, legacy(2, 0xf6) | p66}, {op | pF3, legacy(2, 0xf6) | pF3}}},
	{"rdseed", leaf7(ebx, 18), []row{{op | anyReg | regMode, legacy(1, 0xc7) | modReg(7) | regMode}}},
	{"shadow-stack", never, []row{{op | pAny, legacy(2, 0xf6)}, {op | anyReg | pF3, legacy(1, 0xae) | modReg(5) | pF3},
		{op | anyReg | pF3, legacy(1, 0x01) | modReg(5) | pF3}, {op | anyReg | pF3, legacy(1, 0xae) | modReg(6) | pF3}}},
	{"waitpkg", leaf7(ecx, 5), []row{{op | anyReg | regMode | p66, legacy(1, 0xae) | modReg(6) | regMode | p66},
		{op | anyReg | regMode | pF2, legacy(1, 0xae) | modReg(6) | regMode | pF2}}},
	{"ptwrite", never, []row{{op | anyReg | pF3, legacy(1, 0xae) | modReg(4) | pF3}}},
	{"movdiri", leaf7(ecx, 27), []row{{op, legacy(2, 0xf9)}}},
	{"movdir64b", leaf7(ecx, 28), []row{{op | p66, legacy(2, 0xf8) | p66}}},
	{"enqcmd", never, []row{{op | p66, legacy(2, 0xf8)}}},
	{"movrs", leaf71(eax, 31), []row{{op &^ 1, legacy(2, 0x8a)}}},
	{"rao-int", leaf71(eax, 3), []row{{op, legacy(2, 0xfc)}}},
	{"key-locker", never, []row{{op | pF3, legacy(2, 0xd8) | pF3}, {op&^3 | pF3, legacy(2, 0xdc) | pF3}, {op &^ 1, legacy(2, 0xfa)}}},
	{"padlock", never, []row{{op &^ 1, legacy(1, 0xa6)}}},
	{"serialize", leaf7(edx, 14), []row{{opModRM | pAny, legacy(1, 0x01) | 0xe8<<8}}},
	{"protection-keys", leaf7(ecx, 4), []row{{opModRM | pAny, legacy(1, 0x01) | 0xee<<8}, {opModRM | pAny, legacy(1, 0x01) | 0xef<<8}}},
	{"rtm", leaf7(ebx, 11), []row{{opModRM | pAny, legacy(1, 0x01) | 0xd5<<8}, {opModRM | pAny, legacy(1, 0x01) | 0xd6<<8}}},
	{"tsxldtrk", leaf7(edx, 16), []row{{op | 0xfe<<8 | pF2, legacy(1, 0x01) | 0xe8<<8 | pF2}}},
	{"mcommit", amd8(ebx, 8), []row{{opModRM | pF3, legacy(1, 0x01) | 0xfa<<8 | pF3}}},
	{"clzero", amd8(ebx, 0), []row{{opModRM, legacy(1, 0x01) | 0xfc<<8}}},
	{"prefetch-register", func(f *Features) bool { return f.intel }, []row{{op | regMode, legacy(1, 0x0d) | regMode}}},
}

// quads32 are VPEXTRQ and VPINSRQ in 32-bit mode, where Intel's manual has W
// ignored and AMD's processors find them undefined.
var quads32 = feature{"vpextrq-386", func(f *Features) bool { return f.intel },
	[]row{{op | pW, vex(3, 0x16) | pW}, {op | pW, vex(3, 0x22) | pW}}}

// featuresOf are those of a mode.
func featuresOf(arch string) []feature {
	if arch == "386" {
		return append(slices.Clone(featureTable), quads32)
	}
	return featureTable
}

func never(*Features) bool { return false }

func amd1(reg, bit int) func(*Features) bool {
	return func(f *Features) bool { return f.leafAMD1.has(reg, bit) }
}

func amd8(reg, bit int) func(*Features) bool {
	return func(f *Features) bool { return f.leafAMD8.has(reg, bit) }
}

func leaf7(reg, bit int) func(*Features) bool {
	return func(f *Features) bool { return f.leaf7.has(reg, bit) }
}

func leaf71(reg, bit int) func(*Features) bool {
	return func(f *Features) bool { return f.leaf71.has(reg, bit) }
}

func (f *Features) avx() bool { return f.ymm > 0 && f.leaf1.has(ecx, 28) }

func (f *Features) level3() bool {
	return f.avx() && f.leaf7.has(ebx, 5) && f.leaf7.has(ebx, 3) && f.leaf7.has(ebx, 8) && f.leaf1.has(ecx, 12) && f.leaf1.has(ecx, 29)
}

// avx512 is the common subset: F, DQ, CD, BW and VL.
func (f *Features) avx512() bool {
	const need = 1<<16 | 1<<17 | 1<<28 | 1<<30 | 1<<31
	return f.zmm > 0 && f.leaf7[ebx]&need == need
}

// Absent lists the features that are absent, by name.
func (f *Features) Absent() []string {
	var names []string
	for i := range featureTable {
		if !featureTable[i].has(f) {
			names = append(names, featureTable[i].name)
		}
	}
	slices.Sort(names)
	return names
}

// limits is the capability table of this machine: what it lacks, then what no
// process can judge.
func (f *Features) limits(arch string) []emu.Limit {
	var rows []emu.Limit
	for _, x := range featuresOf(arch) {
		if !x.has(f) {
			rows = append(rows, x.limits()...)
		}
	}
	return append(rows, processLimits...)
}

// limits are the rows of a feature as if it were absent.
func (x *feature) limits() []emu.Limit {
	var rows []emu.Limit
	for _, r := range x.rows {
		rows = append(rows, emu.Limit{Name: absentPrefix + x.name, Verdict: emu.Unsupported, Mask: r.mask, Value: r.value,
			Why: "this processor or kernel does not have it"})
	}
	return rows
}

const absentPrefix = "absent:"

// processLimits is what a single-stepped process cannot judge, whatever the
// processor.
var processLimits = []emu.Limit{
	{Name: "trap", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassTrap), Sample: "cc",
		Why: "a trap of the code is not told from those of the judge"},
	{Name: "kernel-entry", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassKernelEntry), Sample: "0f05",
		Why: "system calls are closed: they would be real"},
	{Name: "transaction", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassTransaction), Sample: "c7f800000000",
		Why: "how a transaction ends is not a function of the state"},
	{Name: "shadow", Verdict: emu.Unsupported, Hazards: fixups.HazardShadow.Bit(), Sample: "8ed0",
		Why: "the trap of the step is put off by an instruction"},
	{Name: "hypercall", Verdict: emu.Unsupported, Mask: op | 0xf8<<8, Value: legacy(1, 0x01) | 0xc0<<8,
		Why: "enters a hypervisor"},
	{Name: "hypercall", Verdict: emu.Unsupported, Mask: op | 0xf8<<8, Value: legacy(1, 0x01) | 0xd8<<8,
		Why: "enters a hypervisor"},
	{Name: "monitorx", Verdict: emu.Unsupported, Mask: opModRM &^ (1 << 8), Value: legacy(1, 0x01) | 0xfa<<8, Sample: "0f01fa",
		Why: "waits for what other processors do"},
	own("rdtsc", op, legacy(1, 0x31), "0f31"),
	own("rdtscp", opModRM, legacy(1, 0x01)|0xf9<<8, "0f01f9"),
	own("rdpru", opModRM, legacy(1, 0x01)|0xfd<<8, "0f01fd"),
	own("rdpmc", op, legacy(1, 0x33), "0f33"),
	own("rdrand", op|0xf8<<8, legacy(1, 0xc7)|0xf0<<8, "0fc7f0"),
	own("rdseed-rdpid", op|0xf8<<8, legacy(1, 0xc7)|0xf8<<8, "0fc7f8"),
	own("cpuid", op, legacy(1, 0xa2), "0fa2"),
	umip("sldt", op|anyReg, legacy(1, 0x00), "0f0000"),
	umip("str", op|anyReg, legacy(1, 0x00)|modReg(1), "0f0008"),
	umip("sgdt", op|anyReg, legacy(1, 0x01), "0f0100"),
	umip("sidt", op|anyReg, legacy(1, 0x01)|modReg(1), "0f0108"),
	umip("smsw", op|anyReg, legacy(1, 0x01)|modReg(4), "0f0120"),
}

// own is a row for what is not a function of the state: time, chance, which
// processor it is.
func own(name string, mask, value uint64, sample string) emu.Limit {
	return emu.Limit{Name: name, Verdict: emu.Unsupported, Mask: mask, Value: value, Sample: sample, Why: "every run reads something else"}
}

// umip is a row for what the kernel executes in place of the processor, where the
// processor has UMIP: the trap of the step comes an instruction late.
func umip(name string, mask, value uint64, sample string) emu.Limit {
	return emu.Limit{Name: name, Verdict: emu.Unsupported, Mask: mask, Value: value, Sample: sample, Why: "the kernel executes it, and leaves out the trap of the step"}
}

// Reference reports whether the processor has everything that the capability
// table takes for granted, so that an instruction it calls undefined needs a row.
func (f *Features) Reference() bool {
	const sse3, ssse3, aes, pclmul, rdrand = 0, 9, 25, 1, 30
	for _, bit := range []int{sse3, ssse3, aes, pclmul, rdrand} {
		if !f.leaf1.has(ecx, bit) {
			return false
		}
	}
	const vaes, vpclmulqdq, clflushopt, clwb = 9, 10, 23, 24
	return f.level3() && f.leaf7.has(ecx, vaes) && f.leaf7.has(ecx, vpclmulqdq) && f.leaf7.has(ebx, clflushopt) && f.leaf7.has(ebx, clwb)
}
