package native

import (
	"slices"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
)

// Features are what the processor and the kernel let programs use.
type Features struct {
	leaf1, leaf7, leaf71, leaf7_1, leafAMD1, leafAMD8 leaf
	xcr0                                              uint64

	size       int    // of the XSAVE area that signal frames have
	components uint64 // of it that states set
	parts      []component
	ymm        int // offsets in the area; 0 if there is none
	opmask     int
	zmm, hi16  int

	// NoErrorPointers: XSAVE stores the last x87 pointers only while an exception
	// is pending, as older AMD processors do. They are not compared then.
	NoErrorPointers bool
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
	compAPX    = 19

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
	anyReg  = emu.X86MaskReg
	regMode = 3 << 14
)

func vex(m, opcode uint8) uint64 { return emu.X86Op(m, opcode) | emu.X86Enc(emu.X86VEX) }

func legacy(m, opcode uint8) uint64 { return emu.X86Op(m, opcode) }

// reg is the value of a ModRM.reg field in a key.
func modReg(n uint64) uint64 { return n << 11 }

// featureTable is the reviewed list. What it does not name is in every x86-64
// processor of level 3 (AVX2, BMI, FMA, F16C, MOVBE) with AES, or has no effect
// where it is missing (hints).
// Bits are from the Intel SDM, CPUID in volume 2, and AMD's APM volume 3, appendix E.
var featureTable = []feature{
	{"avx512", func(f *Features) bool { return f.avx512() }, []row{
		{emu.X86MaskEnc, emu.X86Enc(emu.X86EVEX)},
		{op &^ 7, vex(1, 0x40)}, {op &^ 1, vex(1, 0x4a)}, // mask registers; CMOVcc has no VEX form
		{op &^ 3, vex(1, 0x90)}, {op &^ 1, vex(1, 0x98)}, {op &^ 3, vex(3, 0x30)}}},
	{"apx", func(f *Features) bool { return false }, []row{{emu.X86MaskEnc, emu.X86Enc(emu.X86REX2)}}},
	{"xop", func(f *Features) bool { return f.leafAMD1.has(ecx, 11) && f.avx() }, []row{{emu.X86MaskEnc, emu.X86Enc(emu.X86XOP)}}},
	{"fma4", func(f *Features) bool { return f.leafAMD1.has(ecx, 16) && f.avx() }, []row{
		{op &^ 3, vex(3, 0x48)}, {op &^ 3, vex(3, 0x5c)}, {op &^ 7, vex(3, 0x68)}, {op &^ 7, vex(3, 0x78)}}},
	{"amx", func(f *Features) bool { return false }, []row{
		{op, vex(2, 0x49)}, {op &^ 1, vex(2, 0x4a)}, {op &^ 3, vex(2, 0x5c)}, {op &^ 3, vex(2, 0x6c)}, {op, vex(2, 0x48)}, {op, vex(2, 0x6b)},
		{op, vex(2, 0x6a)}, {emu.X86MaskMap | emu.X86MaskEnc, vex(5, 0)}, {op, vex(3, 0x07)}, {op, vex(3, 0x77)}}},
	{"x86-64-v3", func(f *Features) bool { return f.level3() }, []row{{emu.X86MaskEnc, emu.X86Enc(emu.X86VEX)}}},
	{"3dnow", func(f *Features) bool { return f.leafAMD1.has(edx, 31) }, []row{{emu.X86MaskMap | emu.X86MaskEnc, emu.X86Op(emu.X86Map3DNow, 0)}}},
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
	for i := range featureTable {
		if x := &featureTable[i]; !x.has(f) {
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
}
