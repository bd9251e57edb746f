package arm64

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

const wordLen = 4 // bytes of an instruction

// Decode implements [reloc.Arch]. Words that no row covers are reserved.
//
// Every field of in is written once, none is read: the order is that of their
// places.
func (a *Arch) Decode(in *reloc.Insn, code []byte, pc uint64) error {
	if len(code) < wordLen {
		*in = reloc.Insn{PC: pc, Len: uint8(len(code))}
		return fixups.ReasonTruncated
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
	binary.LittleEndian.PutUint64(in.Bytes[:8], uint64(w))
	binary.LittleEndian.PutUint64(in.Bytes[8:], 0)
	in.Row, in.Len, in.AltLen = row, wordLen, 0
	in.Class = fixups.Class(f >> factClass & 15)
	in.Flags = reloc.InsnFlags(f >> factFlags)
	in.Ext[0], in.Ext[1] = uint64(w), f>>32
	in.Target = 0
	if how := f >> factTarget & 15; how != targetNone {
		in.Target = target(w, pc, how)
	}
	return nil
}

// target computes where a branch goes, or what an operand relative to pc names
// (Arm ARM, C1.3.2 and C1.3.3, PC-relative addressing). Addresses wrap.
func target(w uint32, pc, how uint64) uint64 {
	switch how {
	case target26:
		return pc + uint64(int64(int32(w<<6))>>4)
	case target19:
		return pc + uint64(int64(int32(w<<8))>>13<<2)
	case target14:
		return pc + uint64(int64(int32(w<<13))>>18<<2)
	case target9:
		return pc + uint64(int64(int32(w<<18))>>23<<2)
	case targetADR:
		return pc + imm21(w)
	case targetADRP:
		return pc&^0xfff + imm21(w)<<12
	}
	return pc - uint64(w>>5&0xffff)<<2 // targetBack
}

// imm21 is the displacement of ADR and ADRP: immhi in bits 23 to 5, immlo in 30
// and 29.
func imm21(w uint32) uint64 {
	return uint64(int64(int32(w<<8))>>13<<2) | uint64(w>>29&3)
}
