package arm64

import (
	"encoding/binary"
	"math"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Instruction words as plans emit them, with zeros for their registers and
// fields (Arm ARM DDI 0487, chapter C6 and C7).
const (
	wordADR   = 0x10000000
	wordADRP  = 0x90000000
	wordADDI  = 0x91000000 // add xd,xn,#imm12
	wordMOVZ  = 0xd2800000 // movz xd,#imm16
	wordMOVK  = 0xf2800000 // movk xd,#imm16
	wordMOV   = 0xaa0003e0 // mov xd,xm
	wordB     = 0x14000000
	wordBL    = 0x94000000
	wordBR    = 0xd61f0000
	wordBLR   = 0xd63f0000
	wordRET   = 0xd65f0000
	wordNOP   = 0xd503201f
	wordBTIC  = 0xd503245f
	wordBRK   = 0xd4200000
	wordLDRX  = 0x58000000 // ldr xt,literal
	wordPush  = 0xf8000c00 // str xt,[xn,#imm9]!
	wordPop   = 0xf8400400 // ldr xt,[xn],#imm9
	wordAUT   = 0xdac11000 // autia xd,xn; autiza, autib and autizb by further bits
	wordLDRW0 = 0xb9400000 // ldr wt,[xn]
	wordLDRX0 = 0xf9400000 // ldr xt,[xn]
	wordLDRSW = 0xb9800000 // ldrsw xt,[xn]
	wordLDRS0 = 0xbd400000 // ldr st,[xn]
	wordLDRD0 = 0xfd400000 // ldr dt,[xn]
	wordLDRQ0 = 0x3dc00000 // ldr qt,[xn]
)

// Register numbers in encodings. Number 31 is the stack pointer or zero, as the
// instruction says.
const (
	ip0 = 16 // first scratch register of veneers between procedures (AAPCS64, 6.1.1)
	ip1 = 17
	lr  = 30
	zr  = 31
)

// maxPool is the most literals that one slot has: a return address, and two ways
// out.
const maxPool = 4

// planner is what making one plan needs. It lives on the stack of Plan.
type planner struct {
	p    *fixups.Plan
	in   *reloc.Insn
	env  *reloc.Env
	a    *Arch
	w    uint32 // the instruction
	dist distance

	min, max int64 // Slot - Site for which the fields so far fit

	dead      uint32 // general registers that are free where the slot begins
	leaving   uint32 // those that are free where it ends
	deadKnown bool

	pool  [maxPool]pooled // literals to be laid down behind the code
	pools int
}

// pooled is a literal: the load at offset at wants Site + delta.
type pooled struct {
	at    int
	delta int64
}

// distance is how far from the site a plan lets its slot be.
type distance uint8

const (
	distFar   distance = iota // anywhere
	distNear                  // ±128 MiB, the reach of B; ADRP reaches farther
	distShort                 // as far as the site's own field reaches
)

// next is the end of the site, as an offset from its start.
func (b *planner) next() int64 { return 4 }

// target is the branch target, or the address that an operand names, as an offset
// from the site.
func (b *planner) target() int64 { return int64(b.in.Target - b.in.PC) }

// rd is the register in bits 4 to 0 of the instruction, rn that in bits 9 to 5, rm
// that in bits 20 to 16.
func (b *planner) rd() int { return int(b.w & 31) }
func (b *planner) rn() int { return int(b.w >> 5 & 31) }
func (b *planner) rm() int { return int(b.w >> 16 & 31) }

// off is the offset in Code of what is emitted next.
func (b *planner) off() int { return len(b.p.Code) }

// emit appends an instruction. A64 instructions are little-endian whatever the
// data is.
func (b *planner) emit(w uint32) {
	b.p.Code = binary.LittleEndian.AppendUint32(b.p.Code, w)
}

// newReloc appends a field of the word that is emitted next, relative to Site.
// The caller fills in the rest, all of it that is not zero.
func (b *planner) newReloc(delta int64, lsb, bits, shift uint8) *fixups.Reloc {
	p := b.p
	n := len(p.Relocs)
	if n == cap(p.Relocs) {
		p.Relocs = append(p.Relocs, fixups.Reloc{})
	} else {
		p.Relocs = p.Relocs[:n+1]
	}
	r := &p.Relocs[n]
	*r = fixups.Reloc{Addend: delta, Off: uint16(len(p.Code)), Size: 4, Lsb: lsb, Bits: bits, Shift: shift}
	return r
}

// relative emits w with a signed field of words from bit lsb on, relative to the
// instruction, that names Site + delta. Its value is Site + delta - Slot - off,
// which bounds Slot - Site. Sites and slots are aligned, so nothing is cut off.
func (b *planner) relative(w uint32, delta int64, lsb, bits uint8) {
	r := b.newReloc(delta, lsb, bits, 2)
	r.PCRel, r.Check = true, fixups.CheckSigned
	b.bound(delta-int64(b.off()), 1<<(bits+1), 4)
	b.emit(w)
}

// bound is what a field that holds d - (Slot - Site), from -span to span - unit,
// leaves of the reach.
func (b *planner) bound(d, span, unit int64) {
	b.min = max(b.min, d-span+unit)
	b.max = min(b.max, d+span)
}

// adr emits ADR rd,Site + delta, whose field is in two parts.
func (b *planner) adr(rd int, delta int64) {
	r := b.newReloc(delta, 29, 2, 0)
	r.PCRel = true
	r = b.newReloc(delta, 5, 19, 2)
	r.PCRel, r.Check = true, fixups.CheckSigned
	// Two bits of the value are below what the check sees, and zero where delta is
	// a multiple of four. Slots are aligned, so where it is not, the last slot
	// above is the same and the first one below too.
	b.bound(delta&^3-int64(b.off()), 1<<20, 4)
	b.emit(wordADR | uint32(rd))
}

// adrp emits ADRP rd,page of Site + delta: a distance of pages, -2^20 to 2^20-1.
//
// The page of the slot's instruction is at most 2^20 pages above that of the
// target, and less than that below. Of the last page on either side only as much
// counts as there is wherever in its page the target is, so that the reach does not
// depend on where the site is.
func (b *planner) adrp(rd int, delta int64) {
	r := b.newReloc(delta, 29, 2, 12)
	r.PCRel, r.Page = true, 12
	r = b.newReloc(delta, 5, 19, 14)
	r.PCRel, r.Page, r.Check = true, 12, fixups.CheckSigned
	b.bound(delta&^3-int64(b.off()), 1<<32, 1<<12)
	b.emit(wordADRP | uint32(rd))
}

// addLow emits ADD rd,rd,#low 12 bits of Site + delta.
func (b *planner) addLow(rd int, delta int64) {
	b.newReloc(delta, 10, 12, 0)
	b.emit(wordADDI | uint32(rd)<<5 | uint32(rd))
}

// wide emits MOVZ (part 0) or MOVK rd with 16 bits of Site + delta.
func (b *planner) wide(rd int, delta int64, part uint8) {
	b.newReloc(delta, 5, 16, 16*part)
	w := uint32(wordMOVZ)
	if part > 0 {
		w = wordMOVK | uint32(part)<<21
	}
	b.emit(w | uint32(rd))
}

// literal emits LDR rd with Site + delta, which finish lays down.
func (b *planner) literal(rd int, delta int64) {
	b.pool[b.pools] = pooled{b.off(), delta}
	b.pools++
	b.emit(wordLDRX | uint32(rd))
}

// address emits rd := Site + delta and calls mid at each boundary inside it.
func (b *planner) address(rd int, delta int64, mid func()) {
	switch {
	case b.dist != distFar:
		b.adrp(rd, delta)
		mid()
		b.addLow(rd, delta)
	case !b.env.ExecuteOnly:
		b.literal(rd, delta)
	default:
		b.constant(rd, delta, mid)
	}
}

// finish lays down the literals, aligned, so that they may be loaded wherever
// alignment is checked, and sets the reach.
func (b *planner) finish() {
	b.p.SlotAlign = 4
	if b.pools > 0 {
		b.p.SlotAlign = 8
		if b.off()&4 != 0 {
			b.emit(0)
		}
	}
	for _, l := range b.pool[:b.pools] {
		w := b.p.Code[l.at : l.at+4]
		field := uint32(b.off()-l.at) / 4 << 5
		binary.LittleEndian.PutUint32(w, binary.LittleEndian.Uint32(w)|field)
		r := b.newReloc(l.delta, 0, 64, 0)
		r.Size, r.Order = 8, fixups.OrderData
		b.emit(0)
		b.emit(0)
	}
	b.p.Reach = fixups.Reach{Min: b.min, Max: b.max}
	b.p.Far = b.min == math.MinInt64
}

// point adds the boundary at the current offset. The storage of an earlier plan
// is written field by field: a point is large.
func (b *planner) point(s fixups.State, back, forward fixups.Program) *fixups.Point {
	p := b.p
	n := len(p.Points)
	if n < cap(p.Points) {
		p.Points = p.Points[:n+1]
	} else {
		p.Points = append(p.Points, fixups.Point{})
	}
	pt := &p.Points[n]
	setPoint(pt, len(p.Code), s, back, forward)
	return pt
}

// setPoint makes pt a boundary at off.
func setPoint(pt *fixups.Point, off int, s fixups.State, back, forward fixups.Program) {
	pt.Off, pt.Insn, pt.State = uint16(off), 0, s
	pt.HasBack, pt.HasForward = back != nil, forward != nil
	pt.Back, pt.Forward = back, forward
	pt.Lost = fixups.RegSet{}
}

// start is a boundary before which nothing has happened that anybody can tell.
func (b *planner) start() { b.point(fixups.StateStart, gotoSite, nil) }

// done is a boundary behind which only the way to Site + delta is left.
func (b *planner) done(delta int64) { b.point(fixups.StateDone, nil, b.jumpTo(delta)) }

// jumpTo is the program pc := Site + delta.
func (b *planner) jumpTo(delta int64) fixups.Program {
	switch delta {
	case 0:
		return gotoSite
	case 4:
		return gotoNext
	}
	q := b.begin()
	q.mov(fixups.PC(), fixups.SitePlus(delta))
	return q.program()
}

// Programs that depend on nothing are made once.
var (
	gotoSite = fixups.Program{mov(fixups.PC(), fixups.SitePlus(0))}
	gotoNext = fixups.Program{mov(fixups.PC(), fixups.SitePlus(4))}
	postCopy = fixups.Program{
		skip(1, fixups.PC(), fixups.CondNE, fixups.SlotPlus(4)),
		mov(fixups.PC(), fixups.SitePlus(4)),
	}
)
