package ppc64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// longestOperand is the longest memory operand of an instruction with R=1, in bytes:
// that of plxvp and pstxvp.
const longestOperand = 32

// ownBytes adds reads-own-bytes to an instruction whose operand relative to pc is
// accessed and covers a byte of the instruction: a copy accesses the same bytes, in
// which a patch stands by then.
func ownBytes(in *reloc.Insn) {
	d := in.Target - in.PC
	if in.Flags&reloc.Accesses != 0 && (d < uint64(in.Len) || -d < uint64(operandSize(in.Ext[0]))) {
		in.Hazards |= fixups.HazardReadsOwnBytes.Bit()
	}
}

// mayCover reports whether an operand d bytes behind the start of an instruction of n
// bytes may cover a byte of it.
func mayCover(d, n uint64) bool { return d+longestOperand <= n+longestOperand }

// operandSize is the length in bytes of the memory operand of an instruction of two
// words w, of the forms MLS and 8LS (Book I, 3.3.2, 3.3.3, 4.6, 7.6.1).
func operandSize(w uint64) int {
	if w>>56&3 == 2 {
		return int(sizesMLS[w>>26&31])
	}
	return int(sizes8LS[w>>26&31])
}

// Operand sizes by the suffix's opcode less 32.
var (
	sizesMLS = [32]uint8{0: 4, 2: 1, 4: 4, 6: 1, 8: 2, 10: 2, 12: 2, 16: 4, 18: 8, 20: 4, 22: 8}
	sizes8LS = [32]uint8{9: 4, 10: 8, 11: 4, 14: 8, 15: 4, 18: 16, 19: 16, 22: 16, 23: 16, 24: 16, 25: 8, 26: 32, 28: 16, 29: 8, 30: 32}
)
