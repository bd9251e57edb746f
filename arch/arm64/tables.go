package arm64

import "github.com/xol-go/xol/reloc"

//go:generate go run ../../internal/gen/arm64tables .

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

// extSystem is where the rule is in Insn.Ext[1], the family being in bits 0 to 7.
// Ext[0] has the word.
const extSystem = factSystem - 32

// What may be done with instructions of the system, by the attribute sys of their
// rows; tables/README.md says when a row has which.
const (
	sysNone     = iota
	sysCopy     // a copy, in both modes
	sysJump     // in kernel mode it uses or changes what a step relies on: a copy in the jump form only
	sysRegister // in kernel mode as sysJump if it names a register, refused if it writes one that the slot is fetched by
	sysUser     // in user mode a copy; in kernel mode it does not come back, or belongs to the kernel
)

// Ways to compute a target, in the order of the generator.
const (
	targetNone = iota
	target26   // 26 bits of words
	target19   // 19 bits of words
	target14   // 14 bits of words
	target9    // 9 bits of words
	targetADR  // 21 bits of bytes
	targetADRP // 21 bits of pages of 4 KiB, from the page
	targetBack // 16 bits of words backwards
	targetLit  // 19 bits of words, of a literal that is loaded
)

// node says which bits of a word select a leaf, and where the leaves begin.
type node struct {
	base, shift, mask uint16
}

// Kinds of leaves. One without either bit is the number of a row, 0 for none, which
// is the usual case: the bits that led there decide.
const (
	leafChain = 1 << 14 // a place in candidates
	leafNode  = 1 << 15 // the number of another node
)

// candidate is a row for words that have value in the bits of mask. Candidates are
// tried in order; the last of a chain has mask 0 and row 0.
type candidate struct {
	mask, value, row uint32
}

// rowOf returns the number of the row of a word, 0 if there is none.
func rowOf(w uint32) uint32 {
	if i := leaves[w>>21]; i < leafChain {
		return uint32(i)
	}
	return rowOfRest(w)
}

// rowOfRest is rowOf for words that their upper 11 bits do not decide. It is kept
// out of rowOf, so that the compiler puts that where it is called.
//
//go:noinline
func rowOfRest(w uint32) uint32 {
	i := leaves[w>>21]
	for i >= leafNode {
		n := &nodes[i&^leafNode]
		i = leaves[uint32(n.base)+w>>(n.shift&31)&uint32(n.mask)]
	}
	if i < leafChain {
		return uint32(i)
	}
	for i &^= leafChain; ; i++ {
		if c := &candidates[i]; w&c.mask == c.value {
			return c.row
		}
	}
}

// systemOf returns the system rule of in's row.
func systemOf(in *reloc.Insn) uint64 { return in.Ext[1] >> extSystem & 15 }
