package ppc64

import (
	"encoding/binary"
	"math/bits"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

const (
	wordLen   = 4  // bytes of an instruction of one word
	pairLen   = 8  // and of two
	prefixOp  = 1  // primary opcode of a prefix
	lineBytes = 64 // no instruction of two words lies across a multiple of this
)

// word reads the instruction word at the start of b, which holds one. Words of
// both orders have the same bits, and a prefix stands before its suffix in both.
func (a *Arch) word(b []byte) uint32 {
	w := binary.LittleEndian.Uint32(b)
	if a.big {
		w = bits.ReverseBytes32(w)
	}
	return w
}

// Decode implements [reloc.Arch]. A prefix is truncated until its suffix is there
// too; words that no row covers are reserved, as far as they were looked at.
//
// The processor ignores the low two bits of an address to be executed (Power ISA,
// Book I, Instruction Formats): no instruction is at one that is not a multiple of 4. One of two
// words that lies across a 64-byte boundary, which causes an alignment interrupt
// wherever it is executed, decodes, and Context refuses it.
func (a *Arch) Decode(in *reloc.Insn, code []byte, pc uint64) error {
	if len(code) < wordLen {
		return refuse(in, pc, len(code), fixups.ReasonTruncated)
	}
	if pc%wordLen != 0 {
		return refuse(in, pc, wordLen, fixups.ReasonMidInstruction)
	}
	raw := binary.LittleEndian.Uint32(code)
	w := raw
	if a.big {
		w = bits.ReverseBytes32(w)
	}
	if w>>26 == prefixOp {
		return a.decodePair(in, code, pc, w)
	}
	row := rowOf(w)
	if row == 0 {
		return refuse(in, pc, wordLen, fixups.ReasonReserved)
	}
	f := facts[row]
	fill(in, f, uint64(raw), uint64(w), row)
	in.PC, in.Len, in.Target = pc, wordLen, 0
	if f&hasTarget != 0 {
		in.Target = target(uint64(w), pc, f>>factTarget&15)
	}
	return nil
}

// decodePair decodes an instruction of which prefix is the first word.
func (a *Arch) decodePair(in *reloc.Insn, code []byte, pc uint64, prefix uint32) error {
	if len(code) < pairLen {
		return refuse(in, pc, len(code), fixups.ReasonTruncated)
	}
	w := uint64(prefix)<<32 | uint64(a.word(code[wordLen:]))
	row := pairRowOf(w)
	if row == 0 {
		return refuse(in, pc, pairLen, fixups.ReasonReserved)
	}
	f := facts[row]
	fill(in, f, binary.LittleEndian.Uint64(code), w, row)
	in.PC, in.Len, in.Target = pc, pairLen, 0
	if f&hasTarget != 0 {
		in.Target = target(w, pc, f>>factTarget&15)
	}
	if in.HasTarget() && mayCover(in.Target-pc, pairLen) {
		ownBytes(in)
	}
	return nil
}

// fill sets the fields of in that its row says, and its bytes: raw has them in the
// order of memory, lowest first, w the word or words. It is small enough to become
// part of its callers.
func fill(in *reloc.Insn, f, raw, w uint64, row uint32) {
	in.Hazards = fixups.Hazards(f & factHazards)
	binary.LittleEndian.PutUint64(in.Bytes[:8], raw)
	binary.LittleEndian.PutUint64(in.Bytes[8:], 0)
	in.Row = row
	in.AltLen = 0
	in.Class = fixups.Class(f >> factClass & 15)
	in.Flags = reloc.InsnFlags(f >> factFlags)
	in.Ext[0], in.Ext[1] = w, f>>32
}

// target computes where a branch goes, or what a pc-relative operand names. With
// AA, bit 30, a branch's displacement counts from 0 and is sign-extended all the
// same: the last 32 MiB or 32 KiB of the address space are in reach.
func target(w, pc, how uint64) uint64 {
	base := pc
	var d int64
	switch how {
	case targetLI:
		d = int64(int32(uint32(w)<<6&^0xff)) >> 6
	case targetBD:
		d = int64(int16(w &^ 3))
	case targetD:
		return pc + wordLen + uint64(int64(int16(w&0xffc0|w>>16&31<<1|w&1)))<<16
	case targetD34:
		return pc + uint64(int64((w>>32&0x3ffff<<16|w&0xffff)<<30)>>30)
	}
	if w&2 != 0 {
		base = 0
	}
	return base + uint64(d)
}

// refuse answers for bytes of which the first n were enough to tell.
func refuse(in *reloc.Insn, pc uint64, n int, why fixups.Reason) error {
	*in = reloc.Insn{PC: pc, Len: uint8(n)}
	return why
}
