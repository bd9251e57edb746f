package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// ownWindow is how far in front of an instruction, in bytes, an operand may begin
// and yet reach it: as long as the longest vector. Images of processor state are
// longer (SDM volume 2, FXSAVE: 512 bytes); they count as this long, for a program
// that saves state over its own code is not worth a slower scan.
const ownWindow = 64

// mayCover reports whether an operand d bytes behind the start of an
// instruction of n bytes may cover a byte of it.
func mayCover(d, n uint64) bool { return d+ownWindow <= n+ownWindow }

// ownBytes adds reads-own-bytes to an instruction whose pc-relative operand begins
// at in.Target, if the operand is accessed and covers a byte of the instruction: a
// copy accesses the same bytes, in which a patch stands by then. A segment base
// takes the operand elsewhere.
func ownBytes(in *reloc.Insn) {
	d := in.Target - in.PC
	if in.Flags&reloc.Accesses == 0 || lay(in).seg() >= 5 {
		return
	}
	if d < uint64(in.Len) || -d < operandBound(in) {
		in.Hazards |= fixups.HazardReadsOwnBytes.Bit()
	}
}

// operandBound is the length of the memory operand in bytes, exact where it is as
// long as a general register, else the longest that the encoding allows.
func operandBound(in *reloc.Insn) uint64 {
	l := lay(in)
	t := &rowTexts[in.Row]
	for _, o := range operands[t.first : t.first+uint16(t.n)] {
		if o&operandPlace != mE {
			continue
		}
		if n := generalSize(o>>operandArg<<operandArg, l); n != 0 {
			return uint64(n)
		}
	}
	switch {
	case l.enc() >= encVEX2:
		return 16 << l.ll()
	case l.opmap() == 0 && l.opcode() >= 0xd8 && l.opcode() <= 0xdf:
		return x87Bound(l)
	case l.opmap() == 1 && (l.opcode() == 0xae || l.opcode() == 0xc7 && l.reg() != 1):
		return ownWindow // FXSAVE, and the XSAVE family
	case l.opmap() == 0 && l.opcode() != 0xff && l.opcode() != 0x8f:
		return uint64(l.opSize())
	}
	return 16
}

// x87Bound is the same for an x87 instruction: environments and states begin with
// D9 and DD, the others reach ten bytes (SDM volume 2, table A-9 and following).
func x87Bound(l *layout) uint64 {
	if (l.opcode() == 0xd9 || l.opcode() == 0xdd) && l.reg() >= 4 {
		return ownWindow
	}
	return 10
}

// generalSize is the size of a general register of type t in bytes, 0 if t does
// not say it.
func generalSize(t uint16, l *layout) int {
	switch t {
	case tB:
		return 1
	case tW:
		return 2
	case tD:
		return 4
	case tQ:
		return 8
	case tV:
		return l.opSize()
	case tZ:
		return min(l.opSize(), 4)
	case tY:
		return max(l.opSize(), 4)
	}
	return 0
}
