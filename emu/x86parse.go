package emu

import "github.com/xol-go/xol/fixups"

// x86Parts are the parts of an x86 instruction that tables of oracles match and
// that say where its memory operand is. It is written apart from the port, so
// that a mistake there is not repeated here, and is no decoder: it does not tell
// valid from invalid and does not know lengths.
type x86Parts struct {
	prefixes uint16
	enc      uint8 // X86Legacy ...
	opmap    uint8
	opcode   uint8
	modrm    uint8
	hasModRM bool
	rex      uint8 // W R X B as bits 3 to 0
	rest     []byte
}

// Encodings in a key.
const (
	X86Legacy = iota
	X86REX2
	X86VEX
	X86EVEX
	X86XOP
)

// Prefixes in a key.
const (
	X86P66 = 1 << iota
	X86P67
	X86PF2
	X86PF3
	X86PLock
	X86PFS
	X86PGS
	X86PSeg     // cs ss ds es
	X86PVoidREX // a REX that is not directly before the opcode
	X86PRexR    // a REX with R
	X86PImm8    // CMPPS and its like: an immediate above 7
	X86PW       // W of VEX, EVEX and XOP; their pp is 66, F2 or F3
)

// A key is opcode, ModRM (for RET imm16 the high byte of the immediate), map, encoding and prefixes, from the lowest bits up.
// These build masks and values of [Limit] rows.

// X86Op is an opcode byte in a key.
func X86Op(map_, opcode uint8) uint64 { return uint64(opcode) | uint64(map_)<<16 }

// X86Enc is an encoding in a key.
func X86Enc(e uint8) uint64 { return uint64(e) << 24 }

// X86Prefix is a set of prefixes in a key.
func X86Prefix(p uint16) uint64 { return uint64(p) << 32 }

// Masks that go with them.
const (
	X86MaskOpcode = 0xff
	X86MaskModRM  = 0xff << 8
	X86MaskReg    = 0x38 << 8
	X86MaskMod    = 0xc0 << 8
	X86MaskMap    = 0xff << 16
	X86MaskEnc    = 0xff << 24
	X86MaskOp     = X86MaskOpcode | X86MaskMap | X86MaskEnc
)

// X86Map3DNow is the map number of 0F 0F in a key; its opcode is the last byte.
const X86Map3DNow = 15

func (p *x86Parts) key() uint64 {
	return uint64(p.opcode) | uint64(p.modrm)<<8 | uint64(p.opmap)<<16 | uint64(p.enc)<<24 | uint64(p.prefixes)<<32
}

var x86PrefixBits = [256]uint16{0x66: X86P66, 0x67: X86P67, 0xf2: X86PF2, 0xf3: X86PF3, 0xf0: X86PLock,
	0x64: X86PFS, 0x65: X86PGS, 0x2e: X86PSeg, 0x36: X86PSeg, 0x3e: X86PSeg, 0x26: X86PSeg}

func parseX86(code []byte, m64 bool) (p x86Parts) {
	b := code
	void := false
	for len(b) > 0 {
		if m64 && b[0]&0xf0 == 0x40 {
			p.rex, void = b[0]&15, b[0] == 0x40
		} else if bit := x86PrefixBits[b[0]]; bit != 0 {
			if p.rex != 0 || void {
				p.prefixes |= X86PVoidREX
			}
			p.rex, void = 0, false
			switch {
			case m64 && bit == X86PSeg: // ignored, and takes no other back
			case m64 && bit&(X86PFS|X86PGS) != 0:
				p.prefixes &^= X86PFS | X86PGS
			case bit&(X86PFS|X86PGS|X86PSeg) != 0:
				p.prefixes &^= X86PFS | X86PGS | X86PSeg
			}
			p.prefixes |= bit
		} else {
			break
		}
		b = b[1:]
	}
	p.parseOpcode(b, m64)
	if p.enc == X86Legacy && p.rex&4 != 0 {
		p.prefixes |= X86PRexR
	}
	if p.enc == X86Legacy && p.opmap == 1 && p.opcode == 0xc2 && code[len(code)-1] > 7 {
		p.prefixes |= X86PImm8
	}
	return p
}

func (p *x86Parts) parseOpcode(b []byte, m64 bool) {
	at := func(i int) byte {
		if i < len(b) {
			return b[i]
		}
		return 0
	}
	long := m64 || at(1) >= 0xc0 // else LES, LDS, BOUND and POP
	n := 1
	switch c := at(0); {
	case c == 0xc5 && long:
		p.enc, p.opmap, n = X86VEX, 1, 3
		p.rex = p.rex&^4 | ^at(1)>>7<<2
	case c == 0xc4 && long:
		p.enc, p.opmap, n = X86VEX, at(1)&31, 4
		p.rex = at(2)>>7<<3 | ^at(1)>>5
	case c == 0x62 && long:
		p.enc, p.opmap, n = X86EVEX, at(1)&7, 5
		p.rex = at(2)>>7<<3 | ^at(1)>>5
	case c == 0x8f && at(1)&0x1f >= 8: // else POP, whose reg field is 0
		p.enc, p.opmap, n = X86XOP, at(1)&31, 4
		p.rex = at(2)>>7<<3 | ^at(1)>>5
	case c == 0xd5 && m64:
		p.enc, p.opmap, n = X86REX2, at(1)>>7, 3
		p.rex = at(1) & 15
	case c == 0x0f && at(1) == 0x38:
		p.opmap, n = 2, 3
	case c == 0x0f && at(1) == 0x3a:
		p.opmap, n = 3, 3
	case c == 0x0f && at(1) == 0x0f:
		p.opmap, n = X86Map3DNow, 2
	case c == 0x0f:
		p.opmap, n = 1, 2
	}
	p.opcode, p.modrm = at(n-1), at(n)
	if n <= len(b) {
		p.rest = b[n:]
	}
	p.parsePayload(b, n)
	p.hasModRM = p.enc != X86Legacy && p.enc != X86REX2 || x86HasModRM(p.opmap, p.opcode)
	if p.opmap == X86Map3DNow && len(b) > 0 {
		p.hasModRM, p.opcode = true, b[len(b)-1]
	}
	if !p.hasModRM {
		p.modrm = 0
	}
	if p.opmap == 0 && p.enc == X86Legacy && (p.opcode == 0xc2 || p.opcode == 0xca) {
		p.modrm = at(n + 1)
	}
}

// parsePayload gives the fields of VEX, EVEX and XOP that stand for prefixes the
// bits of those.
func (p *x86Parts) parsePayload(b []byte, n int) {
	if p.enc == X86Legacy || p.enc == X86REX2 || len(b) < n {
		return
	}
	pp := b[n-2] // the last byte of VEX and XOP
	if p.enc == X86EVEX {
		pp = b[2]
	}
	p.prefixes |= [4]uint16{0, X86P66, X86PF3, X86PF2}[pp&3]
	if p.rex&8 != 0 {
		p.prefixes |= X86PW
	}
}

// x86HasModRM reports whether an opcode has a ModRM byte (Intel SDM volume 2,
// appendix A).
func x86HasModRM(opmap, op uint8) bool {
	switch opmap {
	case 0:
		switch {
		case op < 0x40:
			return op&7 < 4
		case op >= 0x80 && op < 0x90, op >= 0xd8 && op < 0xe0:
			return true
		}
		switch op {
		case 0x62, 0x63, 0x69, 0x6b, 0xc0, 0xc1, 0xc4, 0xc5, 0xc6, 0xc7, 0xd0, 0xd1, 0xd2, 0xd3, 0xf6, 0xf7, 0xfe, 0xff:
			return true
		}
		return false
	case 1:
		switch {
		case op >= 0x30 && op < 0x38, op >= 0x80 && op < 0x90, op >= 0xc8 && op < 0xd0:
			return false
		}
		switch op {
		case 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0e, 0x77, 0xa0, 0xa1, 0xa2, 0xa8, 0xa9, 0xaa:
			return false
		}
	}
	return true
}

// operand says where the memory operand is, if there is one with a ModRM byte
// or it is a moffs.
func (p *x86Parts) operand(m64 bool) (o Operand) {
	o = Operand{Base: fixups.RegNone, Index: fixups.RegNone, Seg: fixups.RegNone, Bit: fixups.RegNone, Vector: fixups.RegNone, Scale: 1, Size: 4, Read: 16}
	if m64 {
		o.Size = 8
		switch {
		case p.prefixes&X86PFS != 0:
			o.Seg = x64FS
		case p.prefixes&X86PGS != 0:
			o.Seg = x64GS
		}
	}
	if p.prefixes&X86P67 != 0 {
		o.Size /= 2
	}
	switch p.enc {
	case X86VEX, X86XOP:
		o.Read = 32
	case X86EVEX:
		o.Read = 64
	}
	switch {
	case !p.hasModRM && p.enc == X86Legacy && p.opmap == 0 && p.opcode >= 0xa0 && p.opcode < 0xa4:
		o.Has, o.Disp = true, p.disp(0, int(o.Size))
	case !p.hasModRM || p.modrm >= 0xc0:
	case p.enc == X86Legacy && p.opmap == 1 && p.opcode&^3 == 0x20: // MOV from and to control and debug registers ignores mod
	case o.Size == 2:
		p.operand16(&o)
	default:
		p.operand32(&o, m64)
	}
	if o.Has && (p.enc == X86VEX || p.enc == X86EVEX) && p.opmap == 2 && (p.opcode&^3 == 0x90 || p.opcode&^3 == 0xa0) {
		p.gather(&o, m64)
	}
	if o.Has && p.enc == X86Legacy && p.opmap == 1 && p.opcode&^0x18 == 0xa3 {
		p.bitString(&o, m64)
	}
	return o
}

// bitString completes the operand of BT, BTS, BTR and BTC with a register: bits
// are counted from the address on, in words of the operand size (SDM volume 2,
// 3.1.1.9, figures 3-1 and 3-2).
func (p *x86Parts) bitString(o *Operand, m64 bool) {
	o.Bit, o.BitWord = p.reg(p.modrm>>3&7|p.rex&4<<1, m64), 4
	switch {
	case p.rex&8 != 0:
		o.BitWord = 8
	case p.prefixes&X86P66 != 0:
		o.BitWord = 2
	}
}

// gather completes the operand of gathers and scatters: the index is a vector of
// 32-bit or, with an odd opcode, 64-bit numbers (SDM volume 2, 2.3.12).
func (p *x86Parts) gather(o *Operand, m64 bool) {
	const quads = 1
	index := uint8(p.disp(1, 1))>>3&7 | p.rex&2<<2
	o.Vector, o.Index = x32XMM+fixups.Reg(index&7), fixups.RegNone
	if m64 {
		o.Vector = x64XMM + fixups.Reg(index)
	}
	o.VectorBits = 32 << (p.opcode & quads)
}

func (p *x86Parts) disp(at, n int) int64 {
	var v uint64
	for i := 0; i < n && at+i < len(p.rest); i++ {
		v |= uint64(p.rest[at+i]) << (8 * i)
	}
	s := 64 - 8*n
	return int64(v<<s) >> s
}

func (p *x86Parts) reg(n uint8, m64 bool) fixups.Reg {
	if !m64 {
		return fixups.Reg(n & 7)
	}
	// Encodings count rax rcx rdx rbx rsp rbp rsi rdi, DWARF otherwise.
	return [16]fixups.Reg{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}[n&15]
}

func (p *x86Parts) operand32(o *Operand, m64 bool) {
	o.Has = true
	mod, rm, at := p.modrm>>6, p.modrm&7, 1
	base := rm
	if rm == 4 {
		sib := uint8(p.disp(1, 1))
		at, base = 2, sib&7
		o.Scale = 1 << (sib >> 6)
		if i := sib>>3&7 | p.rex&2<<2; i != 4 {
			o.Index = p.reg(i, m64)
		}
	}
	switch {
	case mod == 0 && base == 5:
		o.Disp = p.disp(at, 4)
		o.PCRel = m64 && rm == 5
		return
	case mod == 1:
		o.Disp = p.disp(at, 1)
	case mod == 2:
		o.Disp = p.disp(at, 4)
	}
	o.Base = p.reg(base|p.rex&1<<3, m64)
}

// operand16 knows the eight forms of 16-bit addressing (SDM volume 2, table
// 2-1); register numbers are those of 32-bit mode.
func (p *x86Parts) operand16(o *Operand) {
	o.Has = true
	const bx, bp, si, di = 3, 5, 6, 7
	pair := [8][2]fixups.Reg{{bx, si}, {bx, di}, {bp, si}, {bp, di},
		{si, fixups.RegNone}, {di, fixups.RegNone}, {bp, fixups.RegNone}, {bx, fixups.RegNone}}[p.modrm&7]
	o.Base, o.Index = pair[0], pair[1]
	switch mod := p.modrm >> 6; {
	case mod == 0 && p.modrm&7 == 6:
		o.Base, o.Disp = fixups.RegNone, p.disp(1, 2)
	case mod == 1:
		o.Disp = p.disp(1, 1)
	case mod == 2:
		o.Disp = p.disp(1, 2)
	}
}
