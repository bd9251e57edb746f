package ppc64

import "github.com/xol-go/xol/reloc"

//go:generate go run ../../internal/gen/ppc64tables .

// Facts of a row in 64 bits, as the generator writes them: hazards in the low
// half, and from bit 32 on what Decode leaves in Insn.Ext[1].
const (
	factHazards = 1<<28 - 1
	factClass   = 28
	factFamily  = 32 // type family, 8 bits
	factSystem  = 40 // what may be done with an instruction of the system, 4 bits
	factTarget  = 44 // how the target is computed, 4 bits
	factFlags   = 48 // reloc.InsnFlags, 8 bits
)

// Fields of Insn.Ext[1]. Ext[0] has the instruction's words: a single one in bits
// 0 to 31; of two, the prefix in bits 32 to 63 and the suffix in bits 0 to 31.
const (
	// The family is in bits 0 to 7.
	extSystem = factSystem - 32
	extTarget = factTarget - 32
	extFlags  = factFlags - 32
)

// What may be done with instructions of the system, by the attribute sys of their
// rows; tables/README.md says when a row has which.
const (
	sysNone  = iota
	sysCopy  // a copy, in both modes
	sysJump  // in kernel mode it uses or changes what a step relies on: a copy in the jump form only
	sysUser  // in user mode a copy; in kernel mode it does not come back, or the slot may not be there any more
	sysNever // where it comes back to, or what it finds, depends on the site
	sysTrap  // traps, or does not, by its operands
	sysEntry // enters the kernel and comes back behind itself
)

// Ways to compute a target, in the order of the generator.
const (
	targetNone = iota
	targetLI   // I-form: 24 bits and two zeros, from the instruction or from 0
	targetBD   // B-form: 14 bits and two zeros, from the instruction or from 0
	targetD    // addpcis: 16 bits and 16 zeros, from the end of the instruction
	targetD34  // prefixed: 34 bits, from the prefix
)

// hasTarget is any way to compute a target.
const hasTarget = 15 << factTarget

// candidate is a row for words that have value in the bits of mask. Candidates are
// tried in order; the last of a chain has mask 0 and row 0.
type candidate struct {
	mask, value, row uint32
}

// pair is a candidate of two words.
type pair struct {
	mask, value uint64
	row         uint32
}

// chainLeaf marks leaves that are no row but a place in candidates.
const chainLeaf = 1 << 15

// rowOf returns the number of the row of a word whose primary opcode is not 1, 0
// if there is none. The primary opcode says where its leaves begin, and in the
// high half of opcodes which bits of the word select one of them.
func rowOf(w uint32) uint32 {
	o := opcodes[w>>26]
	row := uint32(leaves[o&0xffff+w&(o>>16)])
	if row >= chainLeaf {
		row = chainRow(w, row-chainLeaf)
	}
	return row
}

// chainRow tries the candidates from i on.
func chainRow(w, i uint32) uint32 {
	for ; ; i++ {
		if c := &candidates[i]; w&c.mask == c.value {
			return c.row
		}
	}
}

// pairRowOf is rowOf for a prefix and a suffix, the prefix in the high half.
func pairRowOf(w uint64) uint32 {
	for i := pairLeaves[w>>56&3<<6|w>>26&63]; ; i++ {
		if c := &pairs[i]; w&c.mask == c.value {
			return c.row
		}
	}
}

// systemOf returns the system rule of in's row.
func systemOf(in *reloc.Insn) uint64 { return in.Ext[1] >> extSystem & 15 }
