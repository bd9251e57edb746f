package x86

// What a byte at the start of an instruction is.
const (
	leadOpcode = iota
	lead0F
	leadPrefix // legacy
	leadREX
	leadREX2
	leadVEX2
	leadVEX3
	leadEVEX
	leadXOP // or pop
)

// leadTable says so for a mode. In 32-bit mode c4, c5, 62 begin a vector prefix
// only if the next byte would make them les, lds or bound of a register, and in
// both modes 8f is XOP only if its map is 8 or more: see [Arch.vector].
type leadTable [256]uint8

var lead64 = leadTable{
	0x0f: lead0F,
	0x26: leadPrefix, 0x2e: leadPrefix, 0x36: leadPrefix, 0x3e: leadPrefix, 0x64: leadPrefix, 0x65: leadPrefix,
	0x66: leadPrefix, 0x67: leadPrefix, 0xf0: leadPrefix, 0xf2: leadPrefix, 0xf3: leadPrefix,
	0x40: leadREX, leadREX, leadREX, leadREX, leadREX, leadREX, leadREX, leadREX,
	leadREX, leadREX, leadREX, leadREX, leadREX, leadREX, leadREX, leadREX,
	0xd5: leadREX2, 0xc5: leadVEX2, 0xc4: leadVEX3, 0x62: leadEVEX, 0x8f: leadXOP,
}

var lead32 = leadTable{
	0x0f: lead0F,
	0x26: leadPrefix, 0x2e: leadPrefix, 0x36: leadPrefix, 0x3e: leadPrefix, 0x64: leadPrefix, 0x65: leadPrefix,
	0x66: leadPrefix, 0x67: leadPrefix, 0xf0: leadPrefix, 0xf2: leadPrefix, 0xf3: leadPrefix,
	0xc5: leadVEX2, 0xc4: leadVEX3, 0x62: leadEVEX, 0x8f: leadXOP,
}

// Places of fields in Ext[0] and Ext[1], see layout.go.
const (
	l0OpcodeOff = 16
	l0ModRMOff  = 20
	l0DispOff   = 24
	l0DispLen   = 28
	l0ImmOff    = 32
	l0ImmLen    = 36
	l0PrefixOff = 40
	l0Enc       = 44
	l0Map       = 48
	l0Flags     = 52

	l1W    = 16
	l1R    = 17
	l1X    = 18
	l1B    = 19
	l1R4   = 20
	l1X4   = 21
	l1B4   = 22
	l1Vvvv = 24
	l1LL   = 29
	l1Z    = 31
	l1AAA  = 32
	l1BC   = 35
	l1PP   = 36
	l1High = 38 // the bit of vvvv that 32-bit mode ignores
	l1Seg  = 40
	l1Addr = 44
	l1Op   = 48
)

// l1Changing are the prefixes that can change what an instruction is, beside its
// operands.
const l1Changing = pfx66 | pfxF2 | pfxF3 | pfxSeg

// rexBits are W, R, X and B of a REX byte, 0100WRXB, at their places in Ext[1].
var rexBits = [16]uint64{
	0x0, 0x8 << 16, 0x4 << 16, 0xc << 16, 0x2 << 16, 0xa << 16, 0x6 << 16, 0xe << 16,
	0x1 << 16, 0x9 << 16, 0x5 << 16, 0xd << 16, 0x3 << 16, 0xb << 16, 0x7 << 16, 0xf << 16,
}

// usualPrefixes is what prefixes does for the beginnings that most code has: none
// of them, or one of 66, F2 and F3, then at most a REX. ok is false for others.
func (a *Arch) usualPrefixes(p *[16]byte) (l1 uint64, pos int, ok bool) {
	switch p[0] {
	case 0x66:
		l1, pos = pfx66|1<<l1PP, 1
	case 0xf2:
		l1, pos = pfxF2|3<<l1PP, 1
	case 0xf3:
		l1, pos = pfxF3|2<<l1PP, 1
	}
	if rex := a.rexWords[p[pos]] & (pfxREX | 15<<l1W); rex != 0 {
		l1 |= rex
		pos++
	}
	kind := a.lead[p[pos&15]]
	return l1, pos, kind != leadPrefix && kind != leadREX
}

// prefixes collects legacy prefixes and REX from the start of p. It returns the
// prefix word and the offset of the first other byte, 15 if there is none.
//
// A REX byte counts only if it is directly before the opcode or its escape; the
// last of F2 and F3 wins, and both win over 66 in choosing an opcode (SDM volume
// 2, 2.1.2). In 64-bit mode the segments es, cs, ss and ds have no base, and
// their prefixes do not take an fs or gs override away.
func (a *Arch) prefixes(p *[16]byte) (l1 uint64, pos int) {
	var rex, seg uint64
	pp := uint64(0)
	for ; pos < 15; pos++ {
		b := p[pos]
		switch a.lead[b] {
		case leadREX:
			if rex != 0 {
				l1 |= pfxVoidREX
			}
			rex = rexBits[b&15] | pfxREX
			continue
		case leadPrefix:
		default:
			return l1 | rex | pp<<l1PP | seg<<l1Seg, pos
		}
		if rex != 0 {
			rex, l1 = 0, l1|pfxVoidREX
		}
		switch b {
		case 0x66:
			l1 |= pfx66
			pp = max(pp, 1)
		case 0x67:
			l1 |= pfx67
		case 0xf2:
			l1 |= pfxF2
			pp = 3
		case 0xf3:
			l1 |= pfxF3
			pp = 2
		case 0xf0:
			l1 |= pfxLock
		default:
			seg = a.segment(b, seg)
			l1 |= pfxSeg
		}
	}
	return l1, 15
}

// segment is the effective override after prefix b: 0 none, 1 es, 2 cs, 3 ss, 4
// ds, 5 fs, 6 gs.
func (a *Arch) segment(b byte, seg uint64) uint64 {
	switch b {
	case 0x64:
		return 5
	case 0x65:
		return 6
	}
	if a.m64 {
		return seg
	}
	return uint64(b>>3&3) + 1
}
