package x86

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// ShapeKey implements [reloc.Shaper]. The key of an instruction is its bytes with
// the pc-relative field taken out, and the class of its target's address: the
// far plans look at whether an absolute operand can name it (plan_pcrel). Of a push
// of an immediate the immediate is taken out: D is what is pushed.
func (a *Arch) ShapeKey(in *reloc.Insn, key *[2]uint64) reloc.ShapeKind {
	l := lay(in)
	if in.Class == fixups.ClassPlain && in.Hazards == 0 && in.AltLen == 0 && !mayEmulatePlain(l) {
		return reloc.ShapeCopy
	}
	key[0] = binary.LittleEndian.Uint64(in.Bytes[:8])
	key[1] = binary.LittleEndian.Uint64(in.Bytes[8:])
	if !in.HasTarget() {
		if pushesImm(l) {
			clearBytes(key, l.immOff(), l.immLen())
		}
		return reloc.ShapeKeyed
	}
	if in.AltLen != 0 || l.has(flagRelImm) && l.opSize() == 2 {
		return reloc.ShapeOwn // a target cut to 16 bits
	}
	d := in.Target - in.PC
	off, n := l.immOff(), l.immLen()
	if !l.has(flagRelImm) {
		off, n = l.dispOff(), l.dispLen()
	}
	// A wrapped target is not PC + D in 64-bit arithmetic, and a target in the
	// site or at its end (a branch to itself, a call of the next instruction) may
	// be planned for what it is; an operand in front of the site may reach into it.
	if d != uint64(signed(&in.Bytes, off, n))+uint64(in.Len) || d <= uint64(in.Len) ||
		!l.has(flagRelImm) && mayCover(d, uint64(in.Len)) {
		return reloc.ShapeOwn
	}
	clearBytes(key, off, n)
	key[1] |= addressClass(in.Target) << 56
	return reloc.ShapeKeyed
}

// ShapeD implements [reloc.ScanShaper].
func (a *Arch) ShapeD(in *reloc.Insn) int64 {
	if in.HasTarget() {
		return int64(in.Target - in.PC)
	}
	if l := lay(in); pushesImm(l) {
		return signed(&in.Bytes, l.immOff(), l.immLen())
	}
	return 0
}

// Retarget implements [reloc.Shaper].
func (a *Arch) Retarget(dst []byte, in *reloc.Insn, d int64) []byte {
	l := lay(in)
	off, n := l.immOff(), l.immLen()
	switch {
	case !in.HasTarget() && !pushesImm(l):
		off, n = 0, 0 // nothing that D is in
	case l.has(flagRelImm):
		d -= int64(in.Len)
	case in.HasTarget():
		off, n = l.dispOff(), l.dispLen()
		d -= int64(in.Len)
	}
	var field [8]byte
	binary.LittleEndian.PutUint64(field[:], uint64(d))
	at := len(dst)
	dst = append(dst, in.Raw()...)
	copy(dst[at+off:], field[:n])
	return dst
}

// mayEmulatePlain reports whether a plain instruction may have an emulate form,
// which depends on its registers: the opcodes of emulatePlain, and hint nops.
func mayEmulatePlain(l *layout) bool {
	op := l.opcode()
	switch l.opmap() {
	case 0:
		return op&0xf0 == 0x50 || op == 0x68 || op == 0x6a || op == 0x8f || op == 0x90 || op == 0x9c || op == 0x9d || op == 0xff && l.reg() == 6
	case 1:
		return op >= 0x18 && op <= 0x1f || op == 0x0d
	}
	return false
}

// pushesImm reports whether l is PUSH of an immediate (SDM volume 2, PUSH: 68 and
// 6A). The immediate is in its copy and is what its emulation stores; nothing else
// of its plans depends on it.
func pushesImm(l *layout) bool {
	return l.opmap() == 0 && (l.opcode() == 0x68 || l.opcode() == 0x6a) && (l.enc() == encLegacy || l.enc() == encREX2)
}

// clearBytes takes bytes [off, off+n) out of a key.
func clearBytes(key *[2]uint64, off, n int) {
	mask := uint64(1)<<(8*n) - 1 // n is 4 at most
	if off < 8 {
		key[0] &^= mask << (8 * off)
		key[1] &^= mask >> (64 - 8*off)
	} else {
		key[1] &^= mask << (8*off - 64)
	}
}

// addressClass tells apart the addresses that absolute operands can name: below
// 2 GiB, below 4 GiB, in the last 2 GiB, and the others. Bit 0 of the result is
// set so that a key with a target differs from one without.
func addressClass(v uint64) uint64 {
	switch {
	case v < 1<<31:
		return 1
	case v < 1<<32:
		return 3
	case v>>31 == 1<<33-1:
		return 5
	}
	return 7
}
