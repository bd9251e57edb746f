package ppc64

import (
	"encoding/binary"
	"math"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// planner is what making one plan needs. It lives on the stack of Plan.
type planner struct {
	p   *fixups.Plan
	in  *reloc.Insn
	env *reloc.Env
	a   *Arch
	w   uint32 // the instruction's word, of two the prefix
	w2  uint32 // the second word, of two
	span
	out   fixups.Reg // far: the register by which the slot is left
	words int64      // below the zone, besides that of the borrowed register

	// What the boundaries from here on offer, until now is called again.
	state         fixups.State
	back, forward fixups.Program

	min, max int64 // Slot - Site for which the fields so far fit
}

// Fields of a word, by the manual's names (Power ISA, Book I, 1.6.1).

func (b *planner) lk() bool   { return b.w&1 != 0 }
func (b *planner) aa() bool   { return b.w&2 != 0 }
func (b *planner) bo() uint32 { return b.w >> 21 & 31 }
func (b *planner) bi() uint32 { return b.w >> 16 & 31 }

// rt is RT or RS, in the only or in the second word.
func (b *planner) rt() fixups.Reg {
	if b.prefixed() {
		return fixups.Reg(b.w2 >> 21 & 31)
	}
	return fixups.Reg(b.w >> 21 & 31)
}

// prefixed reports whether the instruction has two words.
func (b *planner) prefixed() bool { return b.in.Len == 8 }

// The bits of BO (Book I, 2.4, figure 40). The last is a hint.
const (
	boAnyCR  = 16 // the condition register is not looked at
	boTrue   = 8  // its bit has to be 1
	boKeep   = 4  // CTR is neither counted down nor looked at
	boZero   = 2  // it has to be 0
	boAlways = boAnyCR | boKeep
)

// always reports whether the branch is taken whatever the state.
func (b *planner) always() bool { return b.bo()&boAlways == boAlways }

// counts reports whether the branch counts CTR down.
func (b *planner) counts() bool { return b.bo()&boKeep == 0 }

// Words of slot code. Registers are added to them by the functions below.
const (
	wordB     = 0x48000000 // b . (AA=0, LK=0)
	wordBC    = 0x40000000 // bc, displacement 0
	wordBCLR  = 0x4c000020
	wordBCCTR = 0x4c000420
	wordBCTAR = 0x4c000460
	wordTrap  = 0x7fe00008 // tw 31,0,0
	wordLIS   = 0x3c000000 // addis RT,0,0
	wordORI   = 0x60000000
	wordORIS  = 0x64000000
	wordSLDI  = 0x780007c6 // rldicr RA,RS,32,31
	wordSTD   = 0xf8000000
	wordSTDU  = 0xf8000001
	wordLD    = 0xe8000000
	wordADDI  = 0x38000000
	wordMTSPR = 0x7c0003a6
	wordMFSPR = 0x7c0002a6

	boUncond = 20 << 21 // BO that always branches, in its place
	maskXL   = 0xfc0007ff

	// reservedXL are the reserved bits of bclr, bcctr and bctar. Processors ignore
	// them; one that is made of another has them zero, as it should (Book I, 1.8.1).
	reservedXL = 0xe000
)

// sprNumber is the number of a special-purpose register in MTSPR and MFSPR, with
// its halves exchanged as the field has it.
func sprNumber(r fixups.Reg) uint32 {
	n := uint32(0)
	switch r {
	case LR:
		n = 8
	case CTR:
		n = 9
	case TAR:
		n = 815
	}
	return n>>5<<11 | n&31<<16
}

func wordMT(spr, gpr fixups.Reg) uint32 { return wordMTSPR | uint32(gpr)<<21 | sprNumber(spr) }
func wordMF(gpr, spr fixups.Reg) uint32 { return wordMFSPR | uint32(gpr)<<21 | sprNumber(spr) }

// wordMem is a load or store of rs at d(ra), and addi rs,ra,d.
func wordMem(op uint32, rs, ra fixups.Reg, d int64) uint32 {
	return op | uint32(rs)<<21 | uint32(ra)<<16 | uint32(uint16(d))
}

// branchBy is the branch to the address in spr, without BO and BI.
func branchBy(spr fixups.Reg) uint32 {
	switch spr {
	case LR:
		return wordBCLR
	case CTR:
		return wordBCCTR
	}
	return wordBCTAR
}

// next is the end of the site, as an offset from its start.
func (b *planner) next() int64 { return int64(b.in.Len) }

// target is the target or the address that a pc-relative operand names, as an
// offset from the site.
func (b *planner) target() int64 { return int64(b.in.Target - b.in.PC) }

// off is the offset in Code of what is emitted next.
func (b *planner) off() int { return len(b.p.Code) }

// word appends an instruction word without a boundary.
func (b *planner) word(w uint32) { b.p.Code = b.a.appendWord(b.p.Code, w) }

func (a *Arch) appendWord(dst []byte, w uint32) []byte {
	if a.big {
		return binary.BigEndian.AppendUint32(dst, w)
	}
	return binary.LittleEndian.AppendUint32(dst, w)
}

// putWord writes the instruction word at off anew.
func (a *Arch) putWord(code []byte, off int, w uint32) {
	if a.big {
		binary.BigEndian.PutUint32(code[off:], w)
	} else {
		binary.LittleEndian.PutUint32(code[off:], w)
	}
}

// now says what the boundaries from here on offer.
func (b *planner) now(s fixups.State, back, forward fixups.Program) {
	b.state, b.back, b.forward = s, back, forward
}

// put appends an instruction of one word, with the boundary before it.
func (b *planner) put(w uint32) {
	b.mark()
	b.word(w)
}

// put2 is put for an instruction of two words, of which the prefix comes first in
// both byte orders.
func (b *planner) put2(prefix, suffix uint32) {
	b.apart()
	b.mark()
	b.word(prefix)
	b.word(suffix)
}

// copy appends the site's instruction as it is.
func (b *planner) copy() {
	if b.prefixed() {
		b.put2(b.w, b.w2)
		return
	}
	b.put(b.w)
}

// mark adds the boundary at the current offset. The storage of an earlier plan
// is written field by field: a point is large.
func (b *planner) mark() {
	p := b.p
	n := len(p.Points)
	if n < cap(p.Points) {
		p.Points = p.Points[:n+1]
	} else {
		p.Points = append(p.Points, fixups.Point{})
	}
	setPoint(&p.Points[n], len(p.Code), b.state, b.back, b.forward)
}

// setPoint makes pt a boundary at off.
func setPoint(pt *fixups.Point, off int, s fixups.State, back, forward fixups.Program) {
	pt.Off, pt.Insn, pt.State = uint16(off), 0, s
	pt.HasBack, pt.HasForward = back != nil, forward != nil
	pt.Back, pt.Forward = back, forward
	pt.Lost = fixups.RegSet{}
}

// newReloc appends a reloc of the word that is emitted next.
func (b *planner) newReloc(lsb, bits, shift uint8, delta int64) *fixups.Reloc {
	p := b.p
	n := len(p.Relocs)
	if n == cap(p.Relocs) {
		p.Relocs = append(p.Relocs, fixups.Reloc{})
	} else {
		p.Relocs = p.Relocs[:n+1]
	}
	r := &p.Relocs[n]
	setReloc(r, len(p.Code), lsb, bits, shift, delta)
	return r
}

// setReloc makes r a field of the word at off that holds bits of Site + delta.
func setReloc(r *fixups.Reloc, off int, lsb, bits, shift uint8, delta int64) {
	r.Addend, r.Off, r.Index = delta, uint16(off), 0
	r.Size, r.Lsb, r.Bits, r.Shift = 4, lsb, bits, shift
	r.Page, r.Base, r.Check, r.Order, r.PCRel = 0, fixups.BaseSite, fixups.CheckNone, fixups.OrderInsn, false
}

// Displacements of b: a multiple of 4 in [-branchSpan, branchSpan).
const branchSpan = 1 << 25

// putB appends b to Site + delta.
func (b *planner) putB(w uint32, delta int64) {
	b.mark()
	r := b.newReloc(2, 24, 2, delta)
	r.PCRel, r.Check = true, fixups.CheckSigned
	b.within(delta-int64(b.off()), branchSpan, 4)
	b.word(w)
}

// within bounds Slot - Site where a field holds c - (Slot - Site), which must be a
// multiple of step in [-span, span).
func (b *planner) within(c, span, step int64) {
	b.min = max(b.min, c-span+step)
	b.max = min(b.max, c+span)
}

// build makes the constant Site + delta in a register, of which nothing is kept.
// Any register can be built in, r0 included: addis takes RA=0 for nothing, and the
// others read it as the register it is.
func (b *planner) build(r fixups.Reg, delta int64) {
	rt, both := uint32(r)<<21, uint32(r)<<21|uint32(r)<<16
	part := func(w uint32, shift uint8) {
		b.newReloc(0, 16, shift, delta)
		b.put(w)
	}
	part(wordLIS|rt, 48)
	part(wordORI|both, 32)
	b.put(wordSLDI | both)
	part(wordORIS|both, 16)
	part(wordORI|both, 0)
}

// order is the byte order of data. One bit of the MSR sets that of data and that of
// instructions (Book III, 4.2.1: LE), so there is nothing to ask Env for.
func (b *planner) order() fixups.End { return b.a.info.InsnOrder }

// reach is where the slot may be: the range of Slot - Site in which every
// checked field fits.
func (b *planner) reach() {
	b.p.Reach.Min, b.p.Reach.Max = b.min, b.max
	b.p.Far = b.min == math.MinInt64
}
