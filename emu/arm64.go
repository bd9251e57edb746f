package emu

import "github.com/xol-go/xol/fixups"

// Registers by the numbers of package arch/arm64; a test compares the two.
const (
	a64X0    fixups.Reg = 0
	a64LR    fixups.Reg = 30
	a64SP    fixups.Reg = 31
	a64V0    fixups.Reg = 64
	a64NZCV  fixups.Reg = 128
	a64BTYPE fixups.Reg = 129
	a64FPCR  fixups.Reg = 130
	a64FPSR  fixups.Reg = 131
	a64TPIDR fixups.Reg = 36

	// Monitors have no number in any port: nothing can name them.
	monitorReg fixups.Reg = 256
)

// ARM64 is A64 at exception level 1, without address translation. Sites are in
// user space, below 2 GiB and below 4 GiB, each with its data in the reach of a
// literal; slots at both ends of a B, at both ends of an ADRP, terabytes away, low,
// and in the upper half.
var ARM64 = &Target{
	Arch:        "arm64",
	Bits:        64,
	Words:       a64Words(),
	SP:          a64SP,
	Flags:       a64NZCV,
	Counter:     fixups.RegNone,
	Link:        a64LR,
	SPAlign:     16,
	ZeroesUpper: true,
	Pads:        a64BTYPE,
	Welcome:     welcomeA64,
	Fill:        []byte{0, 0, 0x20, 0xd4}, // brk #0
	Sites: []Arena{
		{Name: "user", Addr: 0x7f1200400000, Size: 1 << 19, Data: 0x7f1200490000},
		{Name: "low", Addr: 0x10400000, Size: 1 << 19, Data: 0x10490000},
		{Name: "low4", Addr: 0xb0400000, Size: 1 << 19, Data: 0xb0490000},
	},
	Slots: []Arena{
		{Name: "near-above", Addr: 0x7f1203400000, Size: 1 << 19, Data: 0x7f1203490000},
		{Name: "near-below", Addr: 0x7f11fd400000, Size: 1 << 19, Data: 0x7f11fd490000},
		{Name: "near-top", Addr: 0x7f1208380000, Size: 1 << 19, Data: 0x7f1208410000},
		{Name: "near-bottom", Addr: 0x7f11f8400000, Size: 1 << 19, Data: 0x7f11f8490000},
		{Name: "page-top", Addr: 0x7f1300380000, Size: 1 << 19, Data: 0x7f1300410000},
		{Name: "page-bottom", Addr: 0x7f1100400000, Size: 1 << 19, Data: 0x7f1100490000},
		{Name: "far", Addr: 0x2a0000500000, Size: 1 << 19, Data: 0x2a0000590000},
		{Name: "low", Addr: 0x16500000, Size: 1 << 19, Data: 0x16590000},
		{Name: "low4", Addr: 0xa9500000, Size: 1 << 19, Data: 0xa9590000},
		{Name: "high-user", Addr: 0xffffffe00000, Size: 1 << 19, Data: 0xffffffd00000},
		{Name: "kernel", Addr: 0xffff800010000000, Size: 1 << 19, Data: 0xffff800010090000},
	},
	Stack:   Arena{Name: "stack", Addr: 0x7ffd10000000, Size: 4096},
	Key:     func(code []byte) uint64 { return uint64(word32(code, false)) },
	Operand: a64Operand,
	Aim:     aimA64,
	Random:  randomA64,
}

// welcomeA64 compares two values of PSTATE.BTYPE (Arm ARM DDI 0487, D8.4.5). Where
// 2 and 3 are accepted, which BLR and BR leave behind, 1 is as well.
func welcomeA64(site, copy uint64) bool { return site == copy || site != 0 && copy == 1 }

func a64Words() []Word {
	var w []Word
	for i := range fixups.Reg(31) {
		w = append(w, Word{Reg: a64X0 + i, Bits: 64, Name: "x" + itoa(int(i)), General: true})
	}
	w = append(w,
		Word{Reg: a64SP, Bits: 64, Name: "sp", General: true},
		Word{Reg: fixups.RegPC, Bits: 64, Name: "pc"},
		Word{Reg: a64NZCV, Bits: 64, Name: "flags", Vary: 0xf << 28},
		Word{Reg: a64BTYPE, Bits: 64, Name: "btype", Const: true},
		// RMode, FZ, DN; the cumulative bits and QC.
		Word{Reg: a64FPCR, Bits: 32, Name: "fpcr", Vary: 0x3c00000},
		Word{Reg: a64FPSR, Bits: 32, Name: "fpsr", Vary: 0x800009f},
		// The local monitor: an address that is marked for exclusive access.
		Word{Reg: monitorReg, Bits: 64, Name: "monitor", Vary: 0xff8, Value: 0x7f1200490000},
		Word{Reg: a64TPIDR, Bits: 64, Name: "tpidr"})
	for i := range fixups.Reg(32) {
		name := "v" + itoa(int(i))
		w = append(w, Word{Reg: a64V0 + i, Bits: 64, Name: name + ".0"},
			Word{Reg: a64V0 + i, Part: 1, Bits: 64, Name: name + ".1"})
	}
	return w
}
