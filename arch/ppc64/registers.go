package ppc64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Operands in 32 bits, as the generator writes them: access in bits 0 to 2, kind
// in 3 to 7, position of the field in the instruction's words in 8 to 12, that of
// its sixth bit in 13 to 17, the number of a fixed register from 18 on.
const (
	aR = iota // read
	aW        // wholly written
	aX        // read and wholly written
	aC        // written under a condition or in part

	operandAccess = 7
	operandKind   = 3
	operandPos    = 8
	operandExt    = 13
	operandFixed  = 18
)

// Kinds of operands, in the order of the generator.
const (
	kindFixed   = iota // a register by number
	kindGPR            // RT RS RA RB RC
	kindGPR0           // RA, where 0 stands for the value 0
	kindGPR2           // a pair
	kindGPR3           // three: the operand, and the pair behind it
	kindGPRTo          // RT and all above
	kindGPRAll         // any
	kindFPR            // half of a vector-scalar register
	kindFPR2           // a pair of them
	kindVR             // vector register
	kindVSR            // vector-scalar register of six bits
	kindVSR2           // two from an even number: Tp in four bits, TX
	kindVSRPair        // two from an even number in A and AX
	kindACC            // an accumulator: four vector-scalar registers
	kindRc             // cr, if the bit is set
	kindOE             // xer, if the bit is set
	kindBO             // what the BO field makes of ctr and cr
)

var _ reloc.Registerer = BE

// Registers implements [reloc.Registerer].
//
// Kills is exact about width: a floating-point register is half of a vector-scalar
// register, and a field of CR is a part of CR, so instructions that write one of
// them write, and do not kill. Of a group of encodings that shares a row (see
// tables/vector.txt) reads and writes are what any of them does.
func (a *Arch) Registers(use *reloc.RegUse, in *reloc.Insn) {
	*use = reloc.RegUse{}
	t := &rowTexts[in.Row]
	u := usage{use: use, w: uint32(in.Ext[0])}
	for _, o := range operands[t.first : t.first+uint16(t.n)] {
		u.operand(o)
	}
}

// usage is the work of Registers.
type usage struct {
	use *reloc.RegUse
	w   uint32 // the word with the register fields: the suffix of two
}

// add notes an access to r.
func (u *usage) add(r fixups.Reg, access uint32) {
	if access == aR || access == aX {
		u.use.Reads.Add(r)
	}
	if access != aR {
		u.use.Writes.Add(r)
	}
	if access == aW || access == aX {
		u.use.Kills.Add(r)
	}
}

// some notes an access to n registers from r on.
func (u *usage) some(r fixups.Reg, n int, access uint32) {
	for i := range n {
		u.add(r+fixups.Reg(i), access)
	}
}

// operand notes one operand of the row.
func (u *usage) operand(o uint32) {
	access := o & operandAccess
	pos := o >> operandPos & 31
	n := fixups.Reg(u.w >> pos & 31)
	switch o >> operandKind & 31 {
	case kindFixed:
		u.add(fixups.Reg(o>>operandFixed), access)
	case kindGPR:
		u.add(R0+n, access)
	case kindGPR0:
		if n != 0 {
			u.add(R0+n, access)
		}
	case kindGPRAll:
		u.some(R0, 32, access)
	case kindRc:
		if u.w>>pos&1 != 0 {
			u.add(CR, aC)
			u.summary()
		}
	case kindOE:
		if u.w>>pos&1 != 0 {
			u.add(XER, aC)
		}
	case kindBO:
		u.condition(u.w >> pos)
	default:
		u.file(o, n, access)
	}
}

// summary notes the read of XER's summary overflow bit, which fixed-point instructions
// that record put into CR field 0 (Book I, 2.3.1). The vector and floating-point ones,
// of primary opcodes 4, 59 and 63, record other things.
func (u *usage) summary() {
	switch u.w >> 26 {
	case 4, 59, 63:
	default:
		u.add(XER, aR)
	}
}

// file notes an operand of several general registers, or one that is none. An odd
// number for a pair is an invalid form, of which the processor may take the even
// pair or the two from there on.
func (u *usage) file(o uint32, n fixups.Reg, access uint32) {
	six := n | fixups.Reg(u.w>>(o>>operandExt&31)&1)<<5
	switch o >> operandKind & 31 {
	case kindGPR2:
		u.pair(R0, n, access)
	case kindGPR3: // the operand is written, the pair behind it read
		u.add(R0+n, access)
		u.add(R0+(n+1)&31, aR)
		u.add(R0+(n+2)&31, aR)
	case kindGPRTo:
		u.some(R0+n, 32-int(n), access)
	case kindFPR:
		u.add(F0+n, access)
	case kindFPR2:
		u.pair(F0, n, access)
	case kindVR:
		u.add(V0+n, access)
	case kindVSR:
		u.add(vsr(six), access)
	case kindVSR2:
		four := six>>5<<5 | n&15<<1
		u.add(vsr(four), access)
		u.add(vsr(four+1), access)
	case kindVSRPair:
		u.add(vsr(six&^1), access)
		u.add(vsr(six|1), access)
	case kindACC:
		u.some(F0+n&7<<2, 4, access)
	}
}

// pair notes an access to the registers n and n+1 of a file of 32.
func (u *usage) pair(file, n fixups.Reg, access uint32) {
	if n&1 != 0 {
		if access == aW {
			access = aC
		}
		u.add(file+n-1, access)
	}
	u.add(file+n, access)
	u.add(file+(n+1)&31, access)
}

// vsr is the register that holds vector-scalar register n.
func vsr(n fixups.Reg) fixups.Reg {
	if n < 32 {
		return F0 + n
	}
	return V0 + n - 32
}

// condition notes what a branch with this BO looks at (Book I, 2.4): CTR is counted
// down and looked at unless bit 2 is set, and a bit of CR is looked at unless bit 0
// is set.
func (u *usage) condition(bo uint32) {
	if bo&4 == 0 {
		u.add(CTR, aX)
	}
	if bo&16 == 0 {
		u.add(CR, aR)
	}
}
