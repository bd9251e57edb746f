package emu

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
)

// word32 is the instruction word at the start of code, 0 if it is cut.
func word32(code []byte, big bool) uint32 {
	switch {
	case len(code) < 4:
		return 0
	case big:
		return binary.BigEndian.Uint32(code)
	}
	return binary.LittleEndian.Uint32(code)
}

// signed is the low n bits of v as a signed number.
func signed(v uint32, n uint) int64 { return int64(int32(v<<(32-n))) >> (32 - n) }

func noOperand() Operand {
	return Operand{Base: fixups.RegNone, Index: fixups.RegNone, Seg: fixups.RegNone, Bit: fixups.RegNone,
		Vector: fixups.RegNone, Scale: 1, Size: 8, Read: 16}
}

// a64Operand says where the memory operand of an A64 instruction is. It is
// written apart from the port, so that a mistake there is not repeated here.
// Sections are those of DDI 0487, C4.1.94, Loads and Stores.
func a64Operand(code []byte) Operand {
	o, w := noOperand(), word32(code, false)
	vector := w>>26&1 != 0
	base := func(disp int64) Operand {
		o.Has, o.Base, o.Disp = true, fixups.Reg(w>>5&31), disp
		return o
	}
	switch {
	case w&0xfff8f000 == 0xd5087000: // DC, IC, AT and their like: the address is Xt
		if t := w & 31; t != 31 {
			o.Has, o.Base, o.Read = true, fixups.Reg(t), 64
		}
	case w&0x0a000000 != 0x08000000: // not a load or a store
	case w&0xbe000000 == 0x0c000000: // structures
		o.Read = 64
		return base(0)
	case w&0x3f000000 == 0x08000000: // exclusive, ordered, compare and swap
		return base(0)
	case w&0x3f200c00 == 0x19000000: // ordered, unscaled
		return base(signed(w>>12, 9))
	case w&0x3b000000 == 0x18000000: // literal
		o.Has, o.PCRel, o.Disp = true, true, signed(w>>5, 19)*4-4
	case w&0x3a000000 == 0x28000000: // pairs
		o.Read = 32
		return base(a64PairDisp(w, vector))
	case w&0x3b000000 == 0x39000000: // unsigned offset
		return base(int64(w>>10&0xfff) << a64Scale(w, vector))
	case w&0x3b200c00 == 0x38200800: // register offset
		base(0)
		if m := w >> 16 & 31; m != 31 {
			o.Index = fixups.Reg(m)
		}
		if w>>12&1 != 0 {
			o.Scale = 1 << a64Scale(w, vector)
		}
	case w&0x3b200c00 == 0x38200000: // atomic
		return base(0)
	case w&0x3b200400 == 0x38200400: // authenticated
		return base(signed(w>>22&1<<9|w>>12&0x1ff, 10) * 8)
	case w&0x3b200000 == 0x38000000: // 9 bits
		if w>>10&3 == 1 {
			return base(0) // after the access
		}
		return base(signed(w>>12, 9))
	}
	return o
}

// a64Scale is the binary logarithm of the size of a single register access.
func a64Scale(w uint32, vector bool) uint {
	if vector && w>>23&1 != 0 {
		return 4
	}
	return uint(w >> 30)
}

func a64PairDisp(w uint32, vector bool) int64 {
	scale := 2 + uint(w>>31)
	if vector {
		scale = 2 + uint(w>>30)
	}
	if w>>23&3 == 1 {
		return 0 // after the access
	}
	return signed(w>>15, 7) << scale
}

// aimA64 makes a literal load name addr, if it is in reach.
func aimA64(code []byte, pc, addr uint64) bool {
	w := word32(code, false)
	d := int64(addr&^3 - pc)
	if w&0x3b000000 != 0x18000000 || d < -1<<20 || d >= 1<<20 {
		return false
	}
	binary.LittleEndian.PutUint32(code, w&^(0x7ffff<<5)|uint32(d>>2)&0x7ffff<<5)
	return true
}

// a64Flow are the encodings that depend on where they stand or go elsewhere:
// fixed bits and which others to choose.
var a64Flow = [...][2]uint32{
	{0x14000000, 0x83ffffff}, // b, bl
	{0x54000000, 0x00ffffff}, // b.cond, bc.cond
	{0x34000000, 0x81ffffff}, // cbz, cbnz
	{0x36000000, 0x81ffffff}, // tbz, tbnz
	{0x10000000, 0xe0ffffff}, // adr, adrp
	{0x18000000, 0xc4ffffff}, // literals
	{0x18000000, 0xc4ffffff},
	{0xd61f0000, 0x006003e0}, // br, blr, ret
	{0xd61f0800, 0x016007ff}, // authenticated
	{0xd503201f, 0x00000fe0}, // hints
	{0x38200800, 0xc4dff3ff}, // register offset
	{0x28000000, 0xc5ffffff}, // pairs
	{0x38000000, 0xc4dfffff}, // 9 bits
	{0x39000000, 0xc4ffffff}, // unsigned offset
	{0x0c000000, 0x41ffffff}, // structures
	{0x08000000, 0xc0ffffff}, // exclusive and ordered
	{0xd5000000, 0x003fffff}, // system
}

// randomA64 appends a word that is likely to be an instruction, control flow and
// memory more often than by chance.
func randomA64(dst []byte, rnd func() uint64) []byte {
	v := rnd()
	w := uint32(v)
	if v>>61 != 0 {
		f := a64Flow[v>>40%uint64(len(a64Flow))]
		if v>>56&3 != 0 {
			w = f[0] | w&f[1]
		}
	}
	return binary.LittleEndian.AppendUint32(dst, w)
}
