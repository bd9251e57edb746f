package x86

import (
	"encoding/binary"
	"math"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// planner is what making one plan needs. It lives on the stack of Plan.
type planner struct {
	p    *fixups.Plan
	in   *reloc.Insn
	env  *reloc.Env
	l    *layout
	a    *Arch
	near bool // slot within rel32 of the site, or 386

	min, max int64 // Slot - Site for which the fields so far fit
}

// next is the end of the site, as an offset from its start.
func (b *planner) next() int64 { return int64(b.in.Len) }

// off is the offset in Code of what is emitted next.
func (b *planner) off() int { return len(b.p.Code) }

func (b *planner) bytes(c ...byte) { b.p.Code = append(b.p.Code, c...) }

// constant appends the low n bytes of v.
func (b *planner) constant(v int64, n int) {
	var c [8]byte
	binary.LittleEndian.PutUint64(c[:], uint64(v))
	b.p.Code = append(b.p.Code, c[:n]...)
}

// reloc appends r and room for its field. r.Off is filled in.
func (b *planner) reloc(r fixups.Reloc) {
	r.Off = uint16(b.off())
	b.p.Relocs = append(b.p.Relocs, r)
	b.constant(0, int(r.Size))
}

// rel appends a field of four bytes that is relative to the end of the
// instruction, which is tail bytes behind the field, and names Site + delta. In
// 32-bit mode the sum is taken modulo 2^32, so every slot is in reach.
func (b *planner) rel(tail int, delta int64) { b.relAt(b.grow(4), tail, delta) }

// grow appends n zero bytes, at most 8, and returns their offset.
func (b *planner) grow(n int) int {
	off := len(b.p.Code)
	b.p.Code = append(b.p.Code, zeros[:n]...)
	return off
}

var zeros [8]byte

// relAt makes the four bytes at off a field as rel describes it. Its value is
// Site + delta - (Slot + off + 4 + tail), and P = Slot + off. It must be in
// [-2^31, 2^31), which bounds Slot - Site.
func (b *planner) relAt(off, tail int, delta int64) {
	a := delta - 4 - int64(tail)
	check := fixups.CheckWrap
	if b.a.m64 {
		check = fixups.CheckSigned
		d := a - int64(off)
		b.min = max(b.min, d-math.MaxInt32)
		b.max = min(b.max, d-math.MinInt32)
	}
	r := b.newReloc()
	setRel32(r, off, int64(tail), delta)
	r.Check = check
}

// newReloc appends a reloc whose fields the caller fills in, all of them.
func (b *planner) newReloc() *fixups.Reloc {
	p := b.p
	n := len(p.Relocs)
	if n == cap(p.Relocs) {
		p.Relocs = append(p.Relocs, fixups.Reloc{})
	} else {
		p.Relocs = p.Relocs[:n+1]
	}
	return &p.Relocs[n]
}

// rel16 is rel for a branch whose target is cut to 16 bits.
func (b *planner) rel16(delta int64) {
	b.reloc(fixups.Reloc{Addend: delta - 2, Size: 2, Bits: 16, PCRel: true, Check: fixups.CheckWrap})
}

// abs appends a field of n bytes that holds the low bits of Site + delta.
func (b *planner) abs(n int, delta int64) {
	off := b.grow(n)
	r := b.newReloc()
	setRel32(r, off, -4, delta)
	r.Size, r.Bits, r.PCRel = uint8(n), uint8(8*n), false
	r.Check = fixups.CheckWrap
	if n == 8 {
		r.Check = fixups.CheckNone
	}
}

// literal appends Site + delta as data.
func (b *planner) literal(delta int64) {
	b.abs(8, delta)
	b.p.Relocs[len(b.p.Relocs)-1].Order = fixups.OrderData
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

// start is a boundary before which nothing has happened.
func (b *planner) start() { b.point(fixups.StateStart, gotoSite, nil) }

// done is a boundary behind which only the way to Site + delta is left.
func (b *planner) done(delta int64) { b.point(fixups.StateDone, nil, b.jumpTo(delta)) }

// lastPoint changes what the last boundary has to offer.
func (b *planner) lastPoint(s fixups.State, forward fixups.Program) {
	pt := &b.p.Points[len(b.p.Points)-1]
	pt.State, pt.Forward, pt.HasForward = s, forward, forward != nil
}

// jumpTo is the program pc := Site + delta.
func (b *planner) jumpTo(delta int64) fixups.Program {
	if uint64(delta) < uint64(len(gotoNext)) {
		return gotoNext[delta : delta+1 : delta+1]
	}
	return goTo(b.p, delta)
}

// reach is where the slot may be: the range of Slot - Site in which every
// checked field fits.
func (b *planner) reach() {
	if !b.a.m64 {
		b.p.Reach = fixups.Reach{Min: -math.MaxUint32, Max: math.MaxUint32}
		return
	}
	b.p.Reach = fixups.Reach{Min: b.min, Max: b.max}
	b.p.Far = b.min == math.MinInt64
}

// Programs that depend on the site's length alone are made once.
var (
	gotoSite = fixups.Program{mov(fixups.PC(), fixups.SitePlus(0))}
	gotoNext = makeGotoNext()
	postCopy = makePostCopy(64)
	postI386 = makePostCopy(32)
)

func makeGotoNext() (p [16]fixups.Step) {
	for i := range p {
		p[i] = mov(fixups.PC(), fixups.SitePlus(int64(i)))
	}
	return p
}

// makePostCopy makes what follows a stepped copy of each length: the copy was
// left at its end, or pc is where the instruction put it.
func makePostCopy(width uint8) (p [16][2]fixups.Step) {
	for i := range p {
		n := int64(i)
		p[i] = [2]fixups.Step{
			skip(1, fixups.PC(), fixups.CondNE, fixups.SlotPlus(n), width),
			mov(fixups.PC(), fixups.SitePlus(n)),
		}
	}
	return p
}
