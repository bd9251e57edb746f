package x86

import "github.com/xol-go/xol/fixups"

// rebase emits the instruction with [base] in place of its rip-relative operand.
// base is a hardware number below 16; with rsp and r12 a SIB byte, with rbp and
// r13 a zero displacement is needed, so the copy is at least one byte shorter
// than the site. ok is false if the encoding cannot name the base: beside ah, ch,
// dh and bh no REX prefix can stand.
func (b *planner) rebase(base int) (ok bool) {
	if !b.prefixes(base) {
		return false
	}
	reg := b.l.modrm() & 0x38
	switch base & 7 {
	case 4:
		b.bytes(reg|4, 0x24)
	case 5:
		b.bytes(0x40|reg|5, 0)
	default:
		b.bytes(reg | byte(base&7))
	}
	b.bytes(b.in.Bytes[b.l.dispOff()+4 : b.in.Len]...)
	return true
}

// absolute emits the instruction with the address as a sign-extended disp32: the
// SIB form without base and index, one byte longer than the rip-relative form.
func (b *planner) absolute() bool {
	if b.in.Len >= longest {
		return false
	}
	b.prefixes(0)
	b.bytes(b.l.modrm()&0x38|4, 0x25)
	b.reloc(fixups.Reloc{Addend: b.target(), Size: 4, Bits: 32, Check: fixups.CheckSigned})
	b.bytes(b.in.Bytes[b.l.dispOff()+4 : b.in.Len]...)
	return true
}

const longest = 15

// prefixes emits all that stands before ModRM, with the bits that extend base
// and index made to fit base alone. They are ignored beside a rip-relative
// operand, so a site may have them set.
func (b *planner) prefixes(base int) bool {
	l := b.l
	m := l.modrmOff()
	from := b.off()
	b.bytes(b.in.Bytes[:m]...)
	code := b.p.Code[from:]
	high := byte(base >> 3 & 1)
	at := l.prefixOff()
	switch l.enc() {
	case encREX2:
		code[at+1] = code[at+1]&^0x33 | high
	case encVEX2:
		if high != 0 {
			b.widenVEX(from, at)
		}
	case encVEX3, encXOP:
		code[at+1] = code[at+1]&^0x20 | 0x40 | (1-high)<<5
	case encEVEX:
		code[at+1] = code[at+1]&^0x28 | 0x40 | (1-high)<<5
		code[at+2] |= 0x04
	default:
		switch {
		case l.pfx(pfxREX):
			code[at] = code[at]&^3 | high
		case high != 0:
			return b.insertREX(from)
		}
	}
	return true
}

// widenVEX turns the C5 form at offset at of the instruction emitted at from
// into the C4 form with B set (inverted: 0). It says the same: W = 0, map 0F.
func (b *planner) widenVEX(from, at int) {
	b.bytes(0)
	code := b.p.Code[from+at:]
	copy(code[3:], code[2:])
	old := code[1]
	code[0], code[1], code[2] = 0xc4, old&0x80|0x40|1, old&0x7f
}

// insertREX puts REX.B before the opcode emitted at from, which includes its
// escape bytes and stands directly before ModRM.
func (b *planner) insertREX(from int) bool {
	if b.byteReg() && b.l.highByte(b.l.reg()) {
		return false
	}
	n := 1
	switch m := b.l.opmap(); {
	case b.l.enc() == enc3DNow:
		n = 2
	case m == 1:
		n = 2
	case m > 1:
		n = 3
	}
	b.bytes(0)
	code := b.p.Code[from:]
	at := len(code) - 1 - n
	copy(code[at+1:], code[at:])
	code[at] = 0x41
	return true
}

// byteReg reports whether ModRM.reg of a legacy encoding names a byte register.
func (b *planner) byteReg() bool {
	op := b.l.opcode()
	switch b.l.opmap() {
	case 0:
		return op < 0x40 && op&5 == 0 || op == 0x84 || op == 0x86 || op == 0x88 || op == 0x8a
	case 1:
		return op == 0xb0 || op == 0xc0
	}
	return false
}

// withReg emits the prefix that an opcode with register n in its low bits
// needs, and the opcode.
func (b *planner) withReg(wide bool, opcode byte, n int) {
	var w byte
	if wide {
		w = 8
	}
	switch hi := byte(n >> 3); {
	case hi > 1:
		b.bytes(0xd5, hi>>1<<4|w|hi&1)
	case hi|w != 0:
		b.bytes(0x40 | w | hi)
	}
	b.bytes(opcode | byte(n&7))
}

// movImm emits mov r64, Site + delta.
func (b *planner) movImm(n int, delta int64) {
	b.withReg(true, 0xb8, n)
	b.abs(8, delta)
}
