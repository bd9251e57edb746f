package arm64

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

const wordLen = 4 // bytes of an instruction

// Decode implements [reloc.Arch]. Words that no row covers are reserved. No
// instruction is executed at an address that is not a multiple of 4: what the pc is
// misaligned for takes an exception instead (Arm ARM, D1, PC alignment checking).
//
// Every field of in is written once, none is read: the order is that of their
// places.
func (a *Arch) Decode(in *reloc.Insn, code []byte, pc uint64) error {
	if len(code) < wordLen || pc%wordLen != 0 {
		*in = reloc.Insn{PC: pc, Len: uint8(min(len(code), wordLen))}
		if len(code) < wordLen {
			return fixups.ReasonTruncated
		}
		return fixups.ReasonMidInstruction
	}
	w := binary.LittleEndian.Uint32(code)
	row := rowOf(w)
	if row == 0 {
		*in = reloc.Insn{PC: pc, Len: wordLen}
		return fixups.ReasonReserved
	}
	f := facts[row]
	in.PC = pc
	in.Hazards = fixups.Hazards(f & factHazards)
	binary.LittleEndian.PutUint32(in.Bytes[:4], w)
	binary.LittleEndian.PutUint32(in.Bytes[4:8], 0)
	binary.LittleEndian.PutUint64(in.Bytes[8:], 0)
	in.Row, in.Len, in.AltLen = row, wordLen, 0
	in.Class = fixups.Class(f >> factClass & 15)
	in.Flags = reloc.InsnFlags(f >> factFlags)
	in.Ext[0], in.Ext[1] = uint64(w), f>>32
	how := f >> factTarget & 15
	if how >= targetADR {
		in.Target = targetOf(w, pc, how)
		if how == targetLit && pc-in.Target < literalSize(w) {
			in.Hazards |= fixups.HazardReadsOwnBytes.Bit()
		}
		return nil
	}
	// Without a branch: whether there is a target cannot be foreseen.
	d := &displacements[how]
	in.Target = (pc + uint64(int64(int32(w<<(d.left&31))>>(d.right&31))&^3)) & d.keep
	return nil
}

// displacements are the branches and literals by the way their target is computed
// (Arm ARM, C1.3.3): the field is moved to the top of the word and then down to
// where it is in bytes, as a signed number.
var displacements = [16]struct {
	left, right uint8
	keep        uint64 // 0 where there is no target
}{
	target26: {6, 4, 1<<64 - 1},
	target19: {8, 11, 1<<64 - 1},
	target14: {13, 16, 1<<64 - 1},
	target9:  {18, 21, 1<<64 - 1},
}

// targetOf computes what the other operands relative to pc name. Addresses wrap.
func targetOf(w uint32, pc, how uint64) uint64 {
	switch how {
	case targetADR:
		return pc + imm21(w)
	case targetADRP:
		return pc&^0xfff + imm21(w)<<12
	case targetLit:
		return pc + uint64(int64(int32(w<<8))>>13<<2)
	}
	return pc - uint64(w>>5&0xffff)<<2 // targetBack
}

// literalSize is how many bytes a load of a literal reads, by V, bit 26, and opc,
// bits 31 and 30 (C6.2, LDR (literal), LDRSW (literal); C7.2, LDR (literal, SIMD&FP)).
func literalSize(w uint32) uint64 {
	opc := w >> 30
	if w>>26&1 == 0 {
		opc &= 1 // LDRSW has 4 bytes, as LDR of W
	}
	return 4 << opc
}

// imm21 is the displacement of ADR and ADRP: immhi in bits 23 to 5, immlo in 30
// and 29.
func imm21(w uint32) uint64 {
	return uint64(int64(int32(w<<8))>>13<<2) | uint64(w>>29&3)
}
