package ppc64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Fields of branches that hold a displacement.
const (
	fieldLI = 0x03fffffc
	fieldBD = 0x0000fffc
)

// ShapeKey implements [reloc.Shaper]. The key of an instruction is its words with the
// pc-relative field taken out, its hazards, and whether its target is one that 34 bits
// name from anywhere.
func (a *Arch) ShapeKey(in *reloc.Insn, key *[2]uint64) reloc.ShapeKind {
	f := familyOf(in)
	if f == famPlain && in.Class == fixups.ClassPlain && in.Hazards&^fixups.HazardContextUnknown.Bit() == 0 && !movesSPR(in) {
		return reloc.ShapeCopy
	}
	key[0], key[1] = in.Ext[0], uint64(in.Hazards)<<2
	if !in.HasTarget() {
		return reloc.ShapeKeyed
	}
	d := in.Target - in.PC
	// An absolute target is not Site + D where the file is loaded somewhere else; a
	// branch to itself or a call of the next instruction may be planned for what it is,
	// and an operand may reach into the instruction.
	if (f == famB || f == famBC) && in.Ext[0]&2 != 0 || d <= uint64(in.Len) || in.Len == pairLen && mayCover(d, pairLen) {
		return reloc.ShapeOwn
	}
	key[1] |= 1
	switch f {
	case famB:
		key[0] &^= fieldLI
	case famBC:
		key[0] &^= fieldBD
	case famAddPCIS:
		if atEnd(d, pcisUnit<<15) {
			return reloc.ShapeOwn
		}
		key[0] &^= fieldPCIS
	default:
		if atEnd(d, wideSpan) {
			return reloc.ShapeOwn
		}
		key[0] &^= fieldD0<<32 | fieldD1
		if isLow(in.Target) {
			key[1] |= 2
		}
	}
	return reloc.ShapeKeyed
}

// atEnd reports whether a displacement in [-span, span) is so large that from a slot it
// may not reach as far as a near slot can be.
func atEnd(d uint64, span int64) bool {
	const margin = 1 << 26
	return int64(d) < margin-span || int64(d) > span-margin
}

// movesSPR reports whether a plain instruction is mtspr or mfspr: a far slot is not
// left by the register that it moves.
func movesSPR(in *reloc.Insn) bool {
	return in.Ext[0]&0xfc0003fe == wordMTSPR&^1 || in.Ext[0]&0xfc0003fe == wordMFSPR&^1
}

// Retarget implements [reloc.Shaper] and [reloc.ScanShaper].
func (a *Arch) Retarget(dst []byte, in *reloc.Insn, d int64) []byte {
	w, v := in.Ext[0], uint64(d)
	switch f := familyOf(in); {
	case !in.HasTarget():
	case f == famB:
		w = w&^fieldLI | v&fieldLI
	case f == famBC:
		w = w&^fieldBD | v&fieldBD
	case f == famAddPCIS:
		v = (v - 4) >> 16
		w = w&^fieldPCIS | v&0xffc0 | v>>1&31<<16 | v&1
	default:
		w = w&^(fieldD0<<32|fieldD1) | v>>16&fieldD0<<32 | v&fieldD1
	}
	if in.Len == pairLen {
		dst = a.appendWord(dst, uint32(w>>32))
	}
	return a.appendWord(dst, uint32(w))
}
