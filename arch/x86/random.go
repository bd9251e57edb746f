package x86

import (
	"math/bits"

	"github.com/xol-go/xol/reloc"
)

// A recipe is what a row says of its encodings, in 64 bits; sets are bit masks.
type recipe uint64

func (r recipe) opcode() byte   { return byte(r) }
func (r recipe) plusR() bool    { return r>>8&1 != 0 }
func (r recipe) space() int     { return int(r >> 9 & 7) }
func (r recipe) opmap() int     { return int(r >> 12 & 15) }
func (r recipe) pps() uint64    { return uint64(r >> 16 & 15) } // np 66 F3 F2
func (r recipe) ws() uint64     { return uint64(r >> 20 & 3) }
func (r recipe) ls() uint64     { return uint64(r >> 22 & 7) }
func (r recipe) modes() uint64  { return uint64(r >> 25 & 3) }
func (r recipe) mods() uint64   { return uint64(r >> 27 & 3) } // memory, register
func (r recipe) nds() uint64    { return uint64(r >> 29 & 3) }
func (r recipe) nfs() uint64    { return uint64(r >> 31 & 3) }
func (r recipe) regs() uint64   { return uint64(r >> 33 & 255) }
func (r recipe) rms() uint64    { return uint64(r >> 41 & 255) }
func (r recipe) onlyREX2() bool { return r>>49&1 != 0 }

// Spaces, in the order of the generator.
const (
	spaceLegacy = iota
	spaceREX2
	spaceVEX
	spaceEVEX
	spaceXOP
	space3DNow
)

var _ reloc.Generator = AMD64

// AppendRandom implements [reloc.Generator]: a row is drawn, then one of its
// encodings, with prefixes, registers, displacement and immediate at random.
func (a *Arch) AppendRandom(dst []byte, rnd func() uint64) []byte {
	for range 100 {
		id := uint32(1 + rnd()%uint64(len(facts)-1))
		if a.holds(id) {
			if b, ok := a.randomOf(dst, id, rnd); ok {
				return b
			}
		}
	}
	return append(dst, 0x90)
}

// holds reports whether a row exists in the mode.
func (a *Arch) holds(id uint32) bool {
	mode := uint64(1)
	if a.m64 {
		mode = 2
	}
	return recipe(rowTexts[id].recipe).modes()&mode != 0
}

// randomOf appends a random encoding of a row. It can fail: rows before it may
// take what it draws, and prefixes may make it too long.
func (a *Arch) randomOf(dst []byte, id uint32, rnd func() uint64) ([]byte, bool) {
	d := draw{arch: a, rnd: rnd, r: recipe(rowTexts[id].recipe), f: facts[id]}
	var in reloc.Insn
	for range 20 {
		d.n, d.bits, d.left = 0, 0, 0
		d.encode()
		if a.Decode(&in, d.buf[:15], 0) == nil && in.Row == id {
			return append(dst, d.buf[:in.Len]...), true
		}
	}
	return dst, false
}

// draw is an encoding in the making.
type draw struct {
	arch *Arch
	rnd  func() uint64
	r    recipe
	f    uint64
	buf  [32]byte
	n    int
	bits uint64 // random bits not yet used
	left int
}

// take returns n random bits, 1 <= n <= 8.
func (d *draw) take(n int) uint64 {
	if d.left < n {
		d.bits, d.left = d.rnd(), 64
	}
	v := d.bits & (1<<n - 1)
	d.bits, d.left = d.bits>>n, d.left-n
	return v
}

// oneIn is true once in 2^n calls.
func (d *draw) oneIn(n int) bool { return d.take(n) == 0 }

// pick returns a random member of a set of at most 8.
func (d *draw) pick(set uint64) uint64 {
	for k := d.take(8) % uint64(max(bits.OnesCount64(set), 1)); k > 0; k-- {
		set &= set - 1
	}
	return uint64(bits.TrailingZeros64(set | 1<<8))
}

func (d *draw) put(b ...byte) { d.n += copy(d.buf[d.n:], b) }

// encode draws prefixes, opcode and ModRM, and fills the rest with noise.
func (d *draw) encode() {
	modrm := byte(d.pick(d.r.regs())<<3 | d.pick(d.r.rms()))
	if d.pick(d.r.mods()) != 0 {
		modrm |= 0xc0
	} else {
		modrm |= byte(d.take(2) % 3 << 6)
	}
	op := d.r.opcode()
	if d.r.plusR() {
		op |= byte(d.take(3))
	}
	if d.oneIn(3) {
		d.put(0x67)
	}
	if d.oneIn(3) {
		d.put([...]byte{0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x64, 0x65}[d.take(3)])
	}
	switch d.r.space() {
	case spaceVEX, spaceXOP:
		d.vex(op)
	case spaceEVEX:
		d.evex(op, modrm)
	default:
		d.legacy(op, modrm)
	}
	d.put(modrm)
	for d.n < 16 {
		d.put(byte(d.take(8)))
	}
	if d.r.space() == space3DNow {
		d.suffix(op)
	}
}

// suffix puts the opcode of 3DNow! where it belongs.
func (d *draw) suffix(op byte) {
	p := (*[16]byte)(d.buf[:16])
	l1, pos := d.arch.prefixes(p)
	pos++ // the second 0F
	p[(pos+d.arch.operandsEnd(p, pos, l1))&15] = op
}

// legacy draws mandatory and other prefixes, REX or REX2, and the map.
func (d *draw) legacy(op, modrm byte) {
	pps := d.r.pps()
	if pps&1 != 0 && !d.oneIn(2) {
		pps = 1
	}
	if pp := d.pick(pps); pp != 0 {
		d.put([...]byte{0, 0x66, 0xf3, 0xf2}[pp])
		if pp > 1 && d.oneIn(2) {
			d.put(0x66)
		}
	}
	if d.f&factLock != 0 && modrm < 0xc0 && d.oneIn(2) {
		d.put(0xf0)
	}
	if d.f&factRep != 0 && d.r.pps() == 15 && d.oneIn(1) {
		d.put(0xf2 | byte(d.take(1)))
	}
	m := d.r.opmap()
	w := d.pick(d.r.ws())
	switch {
	case d.arch.m64 && m < 2 && d.r.space() == spaceLegacy && (d.r.onlyREX2() || d.oneIn(3)):
		d.put(0xd5, byte(m<<7)|byte(d.take(3)<<4)|byte(w<<3)|byte(d.take(3)), op)
		return
	case d.arch.m64 && (d.r.ws() == 2 || d.oneIn(1)):
		d.put(0x40 | byte(w<<3) | byte(d.take(3)))
	}
	switch {
	case d.r.space() == space3DNow:
		d.put(0x0f, 0x0f)
		return
	case m > 0:
		d.put(0x0f)
	}
	if m > 1 {
		d.put([...]byte{2: 0x38, 3: 0x3a}[m])
	}
	d.put(op)
}

// vvvv draws the register field of a vector prefix, inverted, four bits.
func (d *draw) vvvv() byte {
	switch {
	case d.f&factVvvv == 0:
		return 15
	case d.f&factLowV != 0:
		return 8 | byte(d.take(3))
	}
	return byte(d.take(4))
}

// rxb draws R, X and B, inverted; in 32-bit mode the first two must be 1.
func (d *draw) rxb() byte {
	v := byte(d.take(3))
	if !d.arch.m64 {
		v |= 6
	}
	if d.f&factLowReg != 0 {
		v |= 4
	}
	if d.f&factLowRM != 0 {
		v |= 1
	}
	return v
}

func (d *draw) vex(op byte) {
	w, pp, l := byte(d.pick(d.r.ws())), byte(d.pick(d.r.pps())), byte(d.pick(d.r.ls()&3))
	rxb, last := d.rxb(), d.vvvv()<<3|l<<2|pp
	switch {
	case d.r.space() == spaceXOP:
		d.put(0x8f, rxb<<5|byte(d.r.opmap()), w<<7|last, op)
	case d.r.opmap() == 1 && w == 0 && d.oneIn(1):
		d.put(0xc5, rxb>>2<<7|last, op)
	default:
		d.put(0xc4, rxb<<5|byte(d.r.opmap()), w<<7|last, op)
	}
}

func (d *draw) evex(op, modrm byte) {
	w, pp, l := byte(d.pick(d.r.ws())), byte(d.pick(d.r.pps())), byte(d.pick(d.r.ls()))
	p0 := d.rxb()<<5 | byte(d.take(1)<<4) | byte(d.r.opmap())
	p1 := w<<7 | d.vvvv()<<3 | 4 | pp
	p2 := l<<5 | 8
	if d.arch.m64 {
		p0 |= byte(d.take(1) << 3)
		if d.oneIn(2) {
			p1 &^= 4
		}
	}
	if d.f&factLowReg != 0 {
		p0 |= 16
	}
	if d.f&(factVvvv|factVSIB) != 0 && d.f&factLowV == 0 {
		p2 &^= byte(d.take(1) << 3)
	}
	if d.f&factMask != 0 && (d.oneIn(1) || d.f&factKneed != 0) {
		p2 |= 1 + byte(d.take(3)%7)
		if d.f&factZero != 0 && (modrm >= 0xc0 || d.f&factMemDst == 0) {
			p2 |= byte(d.take(1) << 7)
		}
	}
	if mem := modrm < 0xc0; mem && d.f&factBcst != 0 || !mem && d.f&(factER|factSAE) != 0 {
		p2 |= byte(d.take(1) << 4)
	}
	if d.f&factND != 0 {
		p2 = p2&^16 | byte(d.pick(d.r.nds())<<4)
	}
	if d.f&factNF != 0 {
		p2 = p2&^4 | byte(d.pick(d.r.nfs())<<2)
	}
	if d.f&factSCC != 0 {
		p2 = p2&^15 | byte(d.take(4))
	}
	d.put(0x62, p0, p1, p2, op)
}
