package arm64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// An operand of a row in 32 bits, as the generator writes it: access in bits 0 to
// 1, kind in 2 to 4, position of its field in 8 to 12, a register's number from 16
// on.
const (
	opKind  = 2
	opPos   = 8
	opFixed = 16
)

// Accesses.
const (
	accRead  = iota
	accWrite // wholly overwritten
	accBoth  // read and wholly overwritten
	accPart  // written in part, or under a condition
)

// Kinds of operands.
const (
	kindFixed  = iota // a register by number
	kindX             // a general register, 31 is XZR
	kindSP            // a general register, 31 is SP
	kindPair          // two general registers, from an even number
	kindV             // a vector register
	kindGPRAll        // x0 to x30
	kindVAll          // v0 to v31
	kindPAll          // p0 to p15
)

var _ reloc.Registerer = A64

// Registers implements [reloc.Registerer]. Of groups that the tables do not take
// apart (atomics, SIMD, SVE, SME) it names all registers that their encodings can
// use, and as overwritten only what all of them overwrite.
func (a *Arch) Registers(use *reloc.RegUse, in *reloc.Insn) {
	*use = reloc.RegUse{}
	if in.Row >= uint32(len(rowTexts)) {
		return
	}
	t := &rowTexts[in.Row]
	for _, o := range operands[t.first : t.first+uint16(t.n)] {
		addOperand(use, o, uint32(in.Ext[0]))
	}
}

// addOperand adds the registers of one operand of the word w.
func addOperand(use *reloc.RegUse, o, w uint32) {
	n := fixups.Reg(w >> (o >> opPos & 31) & 31)
	access := o & 3
	switch o >> opKind & 7 {
	case kindFixed:
		addReg(use, access, fixups.Reg(o>>opFixed))
	case kindX:
		addGeneral(use, access, n)
	case kindSP:
		addReg(use, access, n)
	case kindPair:
		addGeneral(use, access, n)
		addGeneral(use, access, n|1)
	case kindV:
		addReg(use, access, V0+n)
	case kindGPRAll:
		addRun(use, access, X0, 31)
	case kindVAll:
		addRun(use, access, V0, 32)
	case kindPAll:
		addRun(use, access, P0, 16)
	}
}

func addRun(use *reloc.RegUse, access uint32, first fixups.Reg, n int) {
	for i := range n {
		addReg(use, access, first+fixups.Reg(i))
	}
}

// addGeneral is addReg for an operand in which 31 is XZR, which is no register.
func addGeneral(use *reloc.RegUse, access uint32, r fixups.Reg) {
	if r != SP {
		addReg(use, access, r)
	}
}

func addReg(use *reloc.RegUse, access uint32, r fixups.Reg) {
	if access == accRead || access == accBoth {
		use.Reads.Add(r)
	}
	if access == accRead {
		return
	}
	use.Writes.Add(r)
	if access != accPart {
		use.Kills.Add(r)
	}
}
