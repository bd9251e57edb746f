package emu

import "github.com/xol-go/xol/fixups"

// Registers by the numbers of the System V ABI supplements, as package arch/x86
// has them; a test compares the two.
const (
	x64Counter, x32Counter fixups.Reg = 2, 1
	x64SP, x64Flags        fixups.Reg = 7, 49
	x64FS, x64GS           fixups.Reg = 58, 59
	x64XMM, x64ST          fixups.Reg = 17, 33
	x64MXCSR, x64FCW       fixups.Reg = 64, 65
	x64FSW                 fixups.Reg = 66
	x86FIP                 fixups.Reg = 198
	x32SP, x32Flags        fixups.Reg = 4, 9
	x32XMM, x32ST          fixups.Reg = 21, 11
	x32MXCSR, x32FCW       fixups.Reg = 39, 37
	x32FSW                 fixups.Reg = 38
	x86FlagsVary           uint64     = 0xcd5  // CF PF AF ZF SF DF OF
	x86FlagsSet            uint64     = 0x202  // IF and the bit that is always 1
	x86InitialFCW          uint64     = 0x37f  // as FNINIT leaves it
	x86InitialMXCSR        uint64     = 0x1f80 // all exceptions masked
)

var (
	x86Fill = []byte{0xf4} // hlt
	// The stack and the protection exception: an address that is not canonical (SDM
	// volume 1, 3.3.7.1).
	x64NoAddress = []uint16{12, 13}
)

var x64Names = [16]string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

var x32Names = [8]string{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"}

// AMD64 is 64-bit mode. Sites are in user space, below 2 GiB and below 4 GiB;
// slots at both ends of a rel32, terabytes away, low, and in the last 2 GiB.
var AMD64 = &Target{
	Arch:      "amd64",
	Bits:      64,
	Words:     x64Words(),
	SP:        x64SP,
	Flags:     x64Flags,
	Counter:   x64Counter,
	Bases:     []fixups.Reg{x64FS, x64GS},
	Link:      fixups.RegNone,
	NoAddress: x64NoAddress,
	X87:       []fixups.Reg{x86FIP},
	Fill:      x86Fill,
	Sites: []Arena{
		{Name: "user", Addr: 0x7f1200400000, Size: 1 << 20, Data: 0x7f1200600000},
		{Name: "low", Addr: 0x10400000, Size: 1 << 20, Data: 0x10600000},
		{Name: "low4", Addr: 0xb0400000, Size: 1 << 20, Data: 0xb0600000},
	},
	Slots: []Arena{
		{Name: "near-above", Addr: 0x7f1220400000, Size: 1 << 20, Data: 0x7f1220600000},
		{Name: "near-below", Addr: 0x7f11f0400000, Size: 1 << 20, Data: 0x7f11f0600000},
		{Name: "near-top", Addr: 0x7f127f400000, Size: 1 << 20, Data: 0x7f127f000000},
		{Name: "far", Addr: 0x2a0000500000, Size: 1 << 20, Data: 0x2a0000700000},
		{Name: "low", Addr: 0x20500000, Size: 1 << 20, Data: 0x20700000},
		{Name: "low4", Addr: 0x90500000, Size: 1 << 20, Data: 0x90700000},
		{Name: "high-user", Addr: 0x7fffffe00000, Size: 1 << 20, Data: 0x7fffffd00000},
		{Name: "kernel", Addr: 0xffffffffa0000000, Size: 1 << 20, Data: 0xffffffffa0200000},
	},
	Stack:   Arena{Name: "stack", Addr: 0x7ffd10000000, Size: 4096},
	Key:     func(code []byte) uint64 { p := parseX86(code, true); return p.key() },
	Operand: func(code []byte) Operand { p := parseX86(code, true); return p.operand(true) },
	Aim:     aimX86,
	Random:  func(dst []byte, rnd func() uint64) []byte { return randomX86(dst, rnd, true) },
}

// I386 is 32-bit mode. One slot arena is so placed that displacements wrap
// around.
var I386 = &Target{
	Arch:    "386",
	Bits:    32,
	Words:   x32Words(),
	SP:      x32SP,
	Flags:   x32Flags,
	Counter: x32Counter,
	Link:    fixups.RegNone,
	X87:     []fixups.Reg{x86FIP},
	Fill:    x86Fill,
	Sites: []Arena{
		{Name: "exec", Addr: 0x08048000, Size: 1 << 20, Data: 0x08248000},
		{Name: "high", Addr: 0xf7400000, Size: 1 << 20, Data: 0xf7600000},
	},
	Slots: []Arena{
		{Name: "above", Addr: 0x28400000, Size: 1 << 20, Data: 0x28600000},
		{Name: "half", Addr: 0x87f00000, Size: 1 << 20, Data: 0x87e00000},
		{Name: "wrap", Addr: 0xfff00000, Size: 0xff000, Data: 0xffe00000},
		{Name: "bottom", Addr: 0x00110000, Size: 1 << 20, Data: 0x00310000},
	},
	Stack:   Arena{Name: "stack", Addr: 0xbffd0000, Size: 4096},
	Key:     func(code []byte) uint64 { p := parseX86(code, false); return p.key() },
	Operand: func(code []byte) Operand { p := parseX86(code, false); return p.operand(false) },
	Random:  func(dst []byte, rnd func() uint64) []byte { return randomX86(dst, rnd, false) },
}

func x64Words() []Word {
	var w []Word
	for i, n := range x64Names {
		w = append(w, Word{Reg: fixups.Reg(i), Bits: 64, Name: n, General: true})
	}
	w = append(w,
		Word{Reg: fixups.RegPC, Bits: 64, Name: "pc"},
		Word{Reg: x64Flags, Bits: 64, Name: "flags", Vary: x86FlagsVary, Value: x86FlagsSet},
		Word{Reg: x64FS, Bits: 64, Name: "fsbase"},
		Word{Reg: x64GS, Bits: 64, Name: "gsbase"})
	return append(w, x86Vectors(x64XMM, 16, x64ST, x64MXCSR, x64FCW, x64FSW, 64)...)
}

// x32Words leaves the segment bases out: in 32-bit mode they come from
// descriptors, which no oracle here has.
func x32Words() []Word {
	var w []Word
	for i, n := range x32Names {
		w = append(w, Word{Reg: fixups.Reg(i), Bits: 32, Name: n, General: true})
	}
	w = append(w,
		Word{Reg: fixups.RegPC, Bits: 32, Name: "pc"},
		Word{Reg: x32Flags, Bits: 32, Name: "flags", Vary: x86FlagsVary, Value: x86FlagsSet})
	return append(w, x86Vectors(x32XMM, 8, x32ST, x32MXCSR, x32FCW, x32FSW, 32)...)
}

func x86Vectors(xmm fixups.Reg, n int, st, mxcsr, fcw, fsw fixups.Reg, addr uint8) []Word {
	w := []Word{
		{Reg: mxcsr, Bits: 32, Name: "mxcsr", Const: true, Value: x86InitialMXCSR},
		{Reg: fcw, Bits: 16, Name: "fcw", Const: true, Value: x86InitialFCW},
		{Reg: fsw, Bits: 16, Name: "fsw", Const: true},
		{Reg: fsw, Part: 1, Bits: 16, Name: "ftag", ReadOnly: true},
	}
	for i := range n {
		name := "xmm" + itoa(i)
		w = append(w, Word{Reg: xmm + fixups.Reg(i), Bits: 64, Name: name + ".0"},
			Word{Reg: xmm + fixups.Reg(i), Part: 1, Bits: 64, Name: name + ".1"})
	}
	for i := range 8 {
		name := "st" + itoa(i)
		w = append(w, Word{Reg: st + fixups.Reg(i), Bits: 64, Name: name + ".0"},
			Word{Reg: st + fixups.Reg(i), Part: 1, Bits: 16, Name: name + ".1"})
	}
	return append(w,
		Word{Reg: x86FIP, Bits: addr, Name: "fip"},
		Word{Reg: x86FIP, Part: 1, Bits: addr, Name: "fdp"},
		Word{Reg: x86FIP, Part: 2, Bits: 16, Name: "fop"})
}

func itoa(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return string(rune('0'+i/10)) + string(rune('0'+i%10))
}
