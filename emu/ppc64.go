package emu

import "github.com/xol-go/xol/fixups"

// Registers by the numbers of package arch/ppc64; a test compares the two.
const (
	p64SP     fixups.Reg = 1
	p64F0     fixups.Reg = 32
	p64CR     fixups.Reg = 64
	p64LR     fixups.Reg = 65
	p64CTR    fixups.Reg = 66
	p64XER    fixups.Reg = 76
	p64V0     fixups.Reg = 77
	p64VRSAVE fixups.Reg = 109
	p64VSCR   fixups.Reg = 110
	p64TAR    fixups.Reg = 120
	p64FPSCR  fixups.Reg = 121
)

// PPC64 is big-endian Power, PPC64LE little-endian Power, in both without address
// translation, where 40 bits of an address count. Sites are above 4 GiB, below
// 2 GiB, and where an absolute branch leads; slots at both ends of a b, at both
// ends of an addpcis, far, low, and below 1 TiB.
var (
	PPC64   = newPPC64("ppc64", true)
	PPC64LE = newPPC64("ppc64le", false)
)

func newPPC64(arch string, big bool) *Target {
	fill := []byte{0x44, 0, 0, 2} // sc
	if !big {
		fill = []byte{2, 0, 0, 0x44}
	}
	return &Target{
		Arch:     arch,
		Bits:     64,
		Words:    p64Words(),
		SP:       p64SP,
		Flags:    p64CR,
		Counter:  p64CTR,
		Link:     p64LR,
		SPAlign:  16,
		AddrMask: 1<<40 - 1,
		Fill:     fill,
		Sites: []Arena{
			{Name: "user", Addr: 0x7f12400000, Size: 1 << 19, Data: 0x7f12490000},
			{Name: "low", Addr: 0x10400000, Size: 1 << 19, Data: 0x10490000},
			{Name: "absolute", Addr: 0x1200000, Size: 1 << 19, Data: 0x1290000},
		},
		Slots: []Arena{
			{Name: "near-above", Addr: 0x7f13400000, Size: 1 << 19, Data: 0x7f13490000},
			{Name: "near-below", Addr: 0x7f11400000, Size: 1 << 19, Data: 0x7f11490000},
			{Name: "near-top", Addr: 0x7f14380000, Size: 1 << 19, Data: 0x7f14410000},
			{Name: "near-bottom", Addr: 0x7f10400000, Size: 1 << 19, Data: 0x7f10490000},
			{Name: "pcis-top", Addr: 0x7f92380000, Size: 1 << 19, Data: 0x7f92410000},
			{Name: "pcis-bottom", Addr: 0x7e92400000, Size: 1 << 19, Data: 0x7e92490000},
			{Name: "far", Addr: 0x2a00500000, Size: 1 << 19, Data: 0x2a00590000},
			{Name: "low", Addr: 0x11500000, Size: 1 << 19, Data: 0x11590000},
			{Name: "low4", Addr: 0x90500000, Size: 1 << 19, Data: 0x90590000},
			{Name: "absolute", Addr: 0x1800000, Size: 1 << 19, Data: 0x1890000},
			{Name: "top", Addr: 0xffffe00000, Size: 1 << 19, Data: 0xffffd00000},
		},
		Stack:   Arena{Name: "stack", Addr: 0x7f60000000, Size: 4096},
		Key:     func(code []byte) uint64 { return p64Key(code, big) },
		Operand: func(code []byte) Operand { return p64Operand(code, big) },
		Aim:     func(code []byte, pc, addr uint64) bool { return aimP64(code, pc, addr, big) },
		Random:  func(dst []byte, rnd func() uint64) []byte { return randomP64(dst, rnd, big) },
	}
}

// p64Words: part 1 of a vector-scalar register is doubleword 0 of the manual, the
// more significant one, which is the floating-point register of the lower 32.
func p64Words() []Word {
	var w []Word
	for i := range fixups.Reg(32) {
		w = append(w, Word{Reg: i, Bits: 64, Name: "r" + itoa(int(i)), General: true})
	}
	w = append(w,
		Word{Reg: fixups.RegPC, Bits: 64, Name: "pc"},
		Word{Reg: p64LR, Bits: 64, Name: "lr", General: true},
		Word{Reg: p64CTR, Bits: 64, Name: "ctr", General: true},
		Word{Reg: p64TAR, Bits: 64, Name: "tar", General: true},
		Word{Reg: p64CR, Bits: 32, Name: "cr", Vary: 1<<32 - 1},
		// SO OV CA, OV32 CA32, and the length of a string.
		Word{Reg: p64XER, Bits: 64, Name: "xer", Vary: 0xe00c001f},
		Word{Reg: p64FPSCR, Bits: 32, Name: "fpscr", Const: true},
		Word{Reg: p64VSCR, Bits: 32, Name: "vscr", Vary: 0x10001},
		// The reservation.
		Word{Reg: monitorReg, Bits: 64, Name: "monitor", Vary: 0xff8, Value: 0x7f12490000},
		Word{Reg: p64VRSAVE, Bits: 32, Name: "vrsave"})
	for i := range fixups.Reg(32) {
		name := "f" + itoa(int(i))
		w = append(w, Word{Reg: p64F0 + i, Bits: 64, Name: name + ".0"},
			Word{Reg: p64F0 + i, Part: 1, Bits: 64, Name: name + ".1"})
	}
	for i := range fixups.Reg(32) {
		name := "v" + itoa(int(i))
		w = append(w, Word{Reg: p64V0 + i, Bits: 64, Name: name + ".0"},
			Word{Reg: p64V0 + i, Part: 1, Bits: 64, Name: name + ".1"})
	}
	return w
}
