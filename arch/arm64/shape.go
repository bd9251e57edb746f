package arm64

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// The pc-relative fields by family: a run of bits in units of a word, for all but
// ADR and ADRP, whose field is in two parts.
const (
	maskAdr = 3<<29 | (1<<19-1)<<5
	marginP = 1<<28 + 1<<13 // of ADRP's reach, what near slots may take
)

// fieldOf is where the field of a family is, and how many bits it has, 0 if it has
// none of this kind.
func fieldOf(f family) (lsb, bits uint8) {
	switch f {
	case famB, famBL:
		return 0, 26
	case famBCond, famCBZ, famLDRLit, famLDRVLit, famPRFMLit:
		return 5, 19
	case famTBZ:
		return 5, 14
	case famCBReg, famCBImm:
		return 5, 9
	}
	return 0, 0
}

// ShapeKey implements [reloc.Shaper]. The key of an instruction is its word with
// the pc-relative field taken out, and whether it has a target.
func (a *Arch) ShapeKey(in *reloc.Insn, key *[2]uint64) reloc.ShapeKind {
	w, f := uint32(in.Ext[0]), familyOf(in)
	if f == famPlain && in.Class == fixups.ClassPlain && in.Hazards&^fixups.HazardContextUnknown.Bit() == 0 {
		return reloc.ShapeCopy
	}
	key[1] = uint64(in.Hazards) << 1
	if !in.HasTarget() {
		key[0] = uint64(w)
		return reloc.ShapeKeyed
	}
	d := int64(in.Target - in.PC)
	if 0 <= d && d <= 4 {
		return reloc.ShapeOwn // a branch to itself, a call of the next instruction
	}
	key[1] |= 1
	lsb, bits := fieldOf(f)
	switch {
	case bits > 0:
		w &^= (1<<bits - 1) << lsb
	case f == famADR:
		w &^= maskAdr
	case f == famADRP:
		// At the ends of its reach ADRP in a slot does not reach as far as slots are.
		if d < marginP-1<<32 || d > 1<<32-marginP {
			return reloc.ShapeOwn
		}
		w &^= maskAdr
	default:
		return reloc.ShapeOwn // a label, whose field is not signed
	}
	key[0] = uint64(w)
	return reloc.ShapeKeyed
}

// Retarget implements [reloc.Shaper] and [reloc.ScanShaper].
func (a *Arch) Retarget(dst []byte, in *reloc.Insn, d int64) []byte {
	w, f := uint32(in.Ext[0]), familyOf(in)
	switch lsb, bits := fieldOf(f); {
	case !in.HasTarget():
	case bits > 0:
		mask := uint32(1<<bits-1) << lsb
		w = w&^mask | uint32(d>>2)<<lsb&mask
	default:
		if f == famADRP {
			d = int64(in.Target>>12) - int64((in.Target-uint64(d))>>12)
		}
		w = w&^maskAdr | uint32(d)&3<<29 | uint32(d>>2)<<5&(maskAdr&(1<<29-1))
	}
	return binary.LittleEndian.AppendUint32(dst, w)
}
