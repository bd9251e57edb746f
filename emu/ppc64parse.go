package emu

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
)

// A key of Power is the instruction word, or the prefix in the upper and the
// suffix in the lower half.
func p64Key(code []byte, big bool) uint64 {
	w := word32(code, big)
	if w>>26 == 1 && len(code) >= 8 {
		return uint64(w)<<32 | uint64(word32(code[4:], big))
	}
	return uint64(w)
}

// p64Operand says where the memory operand of a Power instruction is. It is
// written apart from the port. Forms are those of Power ISA, Book I, 1.6.
func p64Operand(code []byte, big bool) Operand {
	o, w := noOperand(), word32(code, big)
	base := func(disp int64) Operand {
		o.Has, o.Disp = true, disp
		if a := w >> 16 & 31; a != 0 {
			o.Base = fixups.Reg(a)
		}
		return o
	}
	switch op := w >> 26; {
	case op == 1:
		return p64Prefixed(code, big)
	case op == 46 || op == 47: // multiple words
		o.Read = 128
		return base(signed(w, 16))
	case op >= 32 && op < 56: // D
		return base(signed(w, 16))
	case op == 56 || op == 6 || op == 61 && w&3 == 1: // DQ
		o.Read = 32
		return base(signed(w&^15, 16))
	case op == 57 || op == 58 || op == 61 || op == 62: // DS
		return base(signed(w&^3, 16))
	case op == 31 && p64Indexed[w>>1&0x3ff] != 0:
		base(0)
		kind := p64Indexed[w>>1&0x3ff]
		if b := w >> 11 & 31; kind != p64BaseOnly {
			o.Index = fixups.Reg(b)
		}
		if kind == p64Block {
			o.Read = 128
		}
	}
	return o
}

// p64Prefixed: the prefix has 18 bits of the displacement and R (Book I, 1.6.3).
func p64Prefixed(code []byte, big bool) Operand {
	o := noOperand()
	if len(code) < 8 {
		return o
	}
	p, s := word32(code, big), word32(code[4:], big)
	kind, op := p>>24&3, s>>26
	mls := kind == 2 && op >= 32 && op < 56
	if !mls && (kind != 0 || op < 41 || op == 44 || op == 45 || op == 59 || op == 63) {
		return o
	}
	o.Has, o.Read = true, 32
	o.Disp = signed(p, 18)<<16 | int64(s&0xffff)
	if p>>20&1 != 0 {
		o.PCRel = true
		o.Disp -= 8
	} else if a := s >> 16 & 31; a != 0 {
		o.Base = fixups.Reg(a)
	}
	return o
}

// Kinds of indexed accesses.
const (
	p64Access   = 1 + iota
	p64BaseOnly // RB is not an address
	p64Block    // a cache block
)

// p64Indexed are the extended opcodes of primary opcode 31 that address memory
// by RA and RB (Power ISA, appendix F).
var p64Indexed = func() (t [1024]uint8) {
	for _, xo := range [...]uint16{
		20, 21, 23, 52, 53, 55, 84, 87, 116, 119, 149, 150, 151, 181, 183, 214, 215, 247, 276, 182,
		279, 311, 341, 343, 373, 375, 407, 439, 532, 533, 534, 535, 567, 599, 631, 660, 661, 662, 663,
		694, 695, 726, 727, 759, 790, 791, 855, 887, 918, 919, 983, // general and floating-point
		7, 39, 71, 103, 359, 135, 167, 199, 231, 487, // vector
		268, 300, 364, 332, 588, 844, 780, 812, 876, 524, 12, 76, 781, 813, 269, 301,
		716, 972, 908, 940, 1004, 396, 652, 140, 909, 941, 397, 429, 333, 461, // vector-scalar
		13, 45, 77, 109, 141, 173, 205, 237,
	} {
		t[xo] = p64Access
	}
	for _, xo := range [...]uint16{597, 725, 582, 614, 710, 742} { // string immediate, atomic memory operations
		t[xo] = p64BaseOnly
	}
	for _, xo := range [...]uint16{54, 86, 246, 278, 982, 1014} {
		t[xo] = p64Block
	}
	return t
}()

// aimP64 makes an operand of a prefixed instruction that is relative to pc name
// addr.
func aimP64(code []byte, pc, addr uint64, big bool) bool {
	if o := p64Operand(code, big); !o.PCRel {
		return false
	}
	d := int64(addr - pc)
	if d < -1<<33 || d >= 1<<33 {
		return false
	}
	p := word32(code, big)&^0x3ffff | uint32(d>>16)&0x3ffff
	s := word32(code[4:], big)&^0xffff | uint32(d)&0xffff
	putWord32(code, p, big)
	putWord32(code[4:], s, big)
	return true
}

func putWord32(code []byte, w uint32, big bool) {
	if big {
		binary.BigEndian.PutUint32(code, w)
		return
	}
	binary.LittleEndian.PutUint32(code, w)
}

// p64Flow are encodings of control flow, of what is relative to pc, and of the
// opcodes with many instructions: fixed bits and which others to choose.
var p64Flow = [...][2]uint32{
	{0x48000000, 0x03ffffff}, // b
	{0x40000000, 0x03ffffff}, // bc
	{0x40000000, 0x03ffffff},
	{0x4c000020, 0x03ff1801}, // bclr
	{0x4c000420, 0x03ff1801}, // bcctr
	{0x4c000460, 0x03ff1801}, // bctar
	{0x4c000004, 0x03ffffc1}, // addpcis
	{0x429f0005, 0x00000000}, // bcl 20,31,$+4
	{0x7c000000, 0x03ffffff}, // 31
	{0x7c000000, 0x03ffffff},
	{0x7c0002a6, 0x03fff901}, // special-purpose registers
	{0x80000000, 0x5fffffff}, // loads and stores
	{0xe8000000, 0x13ffffff},
	{0x10000000, 0x03ffffff}, // vector
	{0xf0000000, 0x03ffffff}, // vector-scalar
	{0xfc000000, 0x03ffffff}, // floating-point
	{0x04000000, 0x03ffffff}, // prefixes
}

// randomP64 appends a word that is likely to be an instruction, and one that may
// be its suffix.
func randomP64(dst []byte, rnd func() uint64, big bool) []byte {
	v := rnd()
	w := uint32(v)
	if v>>61 != 0 {
		f := p64Flow[v>>40%uint64(len(p64Flow))]
		w = f[0] | w&f[1]
	}
	n := len(dst)
	dst = append(dst, make([]byte, 8)...)
	putWord32(dst[n:], w, big)
	putWord32(dst[n+4:], uint32(rnd()), big)
	return dst
}
