package x86

import "github.com/xol-go/xol/reloc"

// vector decodes what begins with REX2, VEX, EVEX or XOP at pos, behind the
// legacy prefixes in l1. A vector prefix takes no 66, F2, F3, LOCK or REX before
// it; REX2 takes no REX (SDM volume 2, 2.3.2 to 2.3.5; APX specification, 3.1).
func (a *Arch) vector(in *reloc.Insn, p *[16]byte, n, pos int, kind uint8, l1 uint64) error {
	bad := uint64(pfx66 | pfxF2 | pfxF3 | pfxLock | pfxREX)
	if kind == leadREX2 {
		bad = pfxREX
	}
	if l1&bad != 0 {
		need := pos + 1
		if !a.m64 || kind == leadXOP {
			need++ // the next byte made it a prefix
		}
		return fail(in, n, need)
	}
	l0 := uint64(pos) << l0PrefixOff
	switch kind {
	case leadREX2:
		return a.rex2(in, p, n, pos, l0, l1)
	case leadVEX2:
		return a.vex2(in, p, n, pos, l0, l1)
	case leadVEX3:
		return a.vex3(in, p, n, pos, l0|encVEX3<<l0Enc, l1, &a.maps.vex, 0)
	case leadXOP:
		return a.vex3(in, p, n, pos, l0|encXOP<<l0Enc, l1, nil, 8)
	}
	return a.evex(in, p, n, pos, l0|encEVEX<<l0Enc, l1)
}

// rex2 is D5, then M0 R4 X4 B4 W R3 X3 B3.
func (a *Arch) rex2(in *reloc.Insn, p *[16]byte, n, pos int, l0, l1 uint64) error {
	b := uint64(p[(pos+1)&15])
	l1 |= rexBits[b&15] | b>>6&1<<l1R4 | b>>5&1<<l1X4 | b>>4&1<<l1B4
	m := b >> 7
	l0 |= encREX2<<l0Enc | m<<l0Map
	if pos > 12 {
		return fail(in, n, 15)
	}
	return a.finish(in, p, n, pos+2, a.maps.rex2[m][l1>>l1PP&3][p[pos+2]], l0, l1)
}

// vex2 is C5, then R vvvv L pp. The pp field counts np, 66, F3, F2, as pages do.
func (a *Arch) vex2(in *reloc.Insn, p *[16]byte, n, pos int, l0, l1 uint64) error {
	if pos > 12 {
		return fail(in, n, 15)
	}
	b := uint64(p[pos+1])
	l1 |= ^b >> 7 & 1 << l1R
	l1 |= a.vvvv(^b>>3&15)<<l1Vvvv | b>>2&1<<l1LL | b&3<<l1PP
	l0 |= encVEX2<<l0Enc | 1<<l0Map
	return a.finish(in, p, n, pos+2, a.maps.vex[1][b&3][p[pos+2]], l0, a.strip(l1))
}

// vex3 is also XOP: C4 or 8F, then R X B mmmmm, then W vvvv L pp.
func (a *Arch) vex3(in *reloc.Insn, p *[16]byte, n, pos int, l0, l1 uint64, maps *[8][4]*page, first uint64) error {
	if pos > 11 {
		return fail(in, n, 15)
	}
	b, c := uint64(p[pos+1]), uint64(p[pos+2])
	m := b&31 - first
	var pg *page
	switch {
	case first == 0 && m < 8:
		pg = maps[m][c&3]
	case first == 8 && m < 3:
		pg = a.maps.xop[m][c&3]
	}
	if pg == nil {
		return fail(in, n, pos+2)
	}
	l1 |= ^b>>7&1<<l1R | ^b>>6&1<<l1X | ^b>>5&1<<l1B
	l1 |= c>>7<<l1W | a.vvvv(^c>>3&15)<<l1Vvvv | c>>2&1<<l1LL | c&3<<l1PP
	return a.finish(in, p, n, pos+3, pg[p[pos+3]], l0|b&15<<l0Map, a.strip(l1))
}

// evex is 62, then R X B R' B4 mmm, then W vvvv X4 pp, then z L'L b V' aaa.
func (a *Arch) evex(in *reloc.Insn, p *[16]byte, n, pos int, l0, l1 uint64) error {
	if pos > 10 {
		return fail(in, n, 15)
	}
	b, c, d := uint64(p[pos+1]), uint64(p[pos+2]), uint64(p[pos+3])
	pg := a.maps.evex[b&7][c&3]
	if pg == nil || !a.m64 && b&8 != 0 {
		return fail(in, n, pos+2)
	}
	if !a.m64 && c&4 == 0 {
		return fail(in, n, pos+3)
	}
	if !a.m64 && d&8 == 0 {
		return fail(in, n, pos+4) // V' must be 1
	}
	l1 |= ^b>>7&1<<l1R | ^b>>6&1<<l1X | ^b>>5&1<<l1B | ^b>>4&1<<l1R4 | b>>3&1<<l1B4
	l1 |= c>>7<<l1W | (a.vvvv(^c>>3&15)|^d>>3&1<<4)<<l1Vvvv | ^c>>2&1<<l1X4 | c&3<<l1PP
	l1 |= d>>7<<l1Z | d>>5&3<<l1LL | d>>4&1<<l1BC | d&7<<l1AAA
	return a.finish(in, p, n, pos+4, pg[p[pos+4]], l0|b&7<<l0Map, a.strip(l1))
}

// vvvv sets the bit apart that 32-bit mode ignores in a register number. It is
// not ignored where there is no register: all of vvvv must be 1111 then (SDM
// volume 2, 2.3.5.6).
func (a *Arch) vvvv(v uint64) uint64 {
	if a.m64 {
		return v
	}
	return v&^8 | v&8>>3<<(l1High-l1Vvvv)
}

// strip drops the register extensions that 32-bit mode ignores.
func (a *Arch) strip(l1 uint64) uint64 {
	if a.m64 {
		return l1
	}
	return l1 &^ (1<<l1R | 1<<l1X | 1<<l1B | 1<<l1R4 | 1<<l1X4 | 1<<l1B4)
}

// allowed checks what depends on the row, apart from ModRM: LOCK wants a memory
// destination that can be locked, fields that a row does not use must hold their
// neutral values.
func (a *Arch) allowed(f, l0, l1 uint64) bool {
	mem := l0&(flagMem<<l0Flags) != 0
	if l1&pfxLock != 0 && (f&factLock == 0 || !mem) {
		return false
	}
	if f&factNoRexR != 0 && l1>>l1R&1|l1>>l1R4&1 != 0 {
		return false
	}
	if f&factNoRIP != 0 && l0&(flagRIPRel<<l0Flags) != 0 {
		return false
	}
	if f&factNo16 != 0 && l1>>l1Addr&15 == 1 {
		return false
	}
	if f&factAbs != 0 && l1&(pfx66|pfx67|pfxF2|pfxF3) != 0 {
		return false
	}
	switch l0 >> l0Enc & 15 {
	case encVEX2, encVEX3, encXOP:
		return vexAllowed(f, l0, l1)
	case encEVEX:
		return vexAllowed(f, l0, l1) && evexAllowed(f, l0, l1, mem)
	}
	return true
}

func vexAllowed(f, l0, l1 uint64) bool {
	unused := uint64(31)
	if f&factVSIB != 0 {
		unused = 15 // V' extends the index
		if l1>>l1Addr&15 == 1 {
			return false // no SIB byte in 16-bit addressing
		}
	}
	switch {
	case f&(factVvvv|factSCC) == 0 && l1>>l1Vvvv&unused|l1>>l1High&1 != 0:
		return false
	case f&factLowReg != 0 && l1>>l1R&1|l1>>l1R4&1 != 0:
		return false
	case f&factLowRM != 0 && l1>>l1B&1 != 0:
		return false
	}
	return f&factLowV == 0 || l1>>l1Vvvv&31 < 8
}

func evexAllowed(f, l0, l1 uint64, mem bool) bool {
	aaa, z, b := l1>>l1AAA&7, l1>>l1Z&1, l1>>l1BC&1
	switch {
	case f&factSCC != 0:
		return z == 0
	case f&factNF != 0:
		aaa &^= 4
	}
	if f&factND != 0 {
		b = 0
	}
	switch {
	case aaa != 0 && f&factMask == 0, aaa == 0 && f&factKneed != 0:
		return false
	case z != 0 && (f&factZero == 0 || aaa == 0 || mem && f&factMemDst != 0):
		return false
	case l1>>l1X4&1 != 0 && (!mem || f&factVSIB != 0):
		return false // X4 extends a general index; elsewhere the bit is 1
	case b != 0 && mem:
		return f&factBcst != 0 && l1>>l1LL&3 != 3
	case b != 0:
		return f&(factER|factSAE) != 0
	}
	return l1>>l1LL&3 != 3 || f&(factER|factSAE) != 0 && b != 0
}
