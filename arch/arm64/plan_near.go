package arm64

import (
	"encoding/binary"
	"slices"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// The jump form in a near slot is what is asked for most, and of that nearly all is
// a copy, a branch, a conditional branch, a call or ADRP. nearJump makes these in one go.
// It says the same as the families, which a test holds it to, and leaves everything
// that needs a second look to them.

// Storage that nearJump needs: code is written in whole pairs of words.
const (
	nearCode   = 16
	nearRelocs = 4
)

// nearJump reports whether it has made the plan.
func nearJump(p *fixups.Plan, in *reloc.Insn, env *reloc.Env) bool {
	if env.Slots != reloc.SlotsNear || in.Hazards&^transfers != 0 || in.Len == 0 {
		return false
	}
	if cap(p.Code) < nearCode || cap(p.Relocs) < nearRelocs {
		p.Reset()
		p.Code = slices.Grow(p.Code, nearCode)
		p.Relocs = slices.Grow(p.Relocs, nearRelocs)
	}
	w := uint32(in.Ext[0])
	switch f := familyOf(in); f {
	case famPlain, famNop, famBTI, famMRS, famMSR, famGCS:
		if in.Class != fixups.ClassPlain || in.Hazards&^copyable != 0 {
			return false
		}
		nearCopy(p, w)
	case famB:
		nearBranch(p, int64(in.Target-in.PC))
	case famBCond, famCBZ, famTBZ, famCBReg, famCBImm:
		if in.Flags&reloc.Continues == 0 {
			return false
		}
		nearCond(p, in, w, f)
	case famBL:
		if env.Return != fixups.ReturnsOriginal || env.GCS == reloc.On {
			return false
		}
		nearLink(p, in, env)
	case famADRP:
		return w&31 != zr && nearADRP(p, in, w)
	default:
		return false
	}
	return true
}

// The boundaries of a plan depend on nothing but where its tail is, so they are
// made once, and shared by all plans.
var (
	pointsCopy   = makePoints(4)
	pointsBranch = makePoints()
)

// makePoints makes the boundaries of a start and of tails to the end of the site.
func makePoints(tails ...int) []fixups.Point {
	p := make([]fixups.Point, 1+len(tails))
	setPoint(&p[0], 0, fixups.StateStart, gotoSite, nil)
	for i, off := range tails {
		setPoint(&p[i+1], off, fixups.StateDone, nil, gotoNext)
	}
	return p
}

// setNear fills in what all plans of nearJump have in common.
func setNear(p *fixups.Plan, s fixups.Strategy, t fixups.Tail, words, relocs int) {
	p.Form, p.Strategy, p.Tail = fixups.FormJump, s, t
	p.SiteLen, p.SlotAlign = 4, 4
	p.Code, p.Relocs = p.Code[:4*words], p.Relocs[:relocs]
}

// setCode writes two instructions.
func setCode(p *fixups.Plan, lo, hi uint32) {
	binary.LittleEndian.PutUint64((*[nearCode]byte)(p.Code[:nearCode])[:8], uint64(lo)|uint64(hi)<<32)
}

// setB makes r the field of a B to Site + delta at off. It returns where the reach
// is centred.
func setB(r *fixups.Reloc, off int, delta int64) int64 {
	r.PCRel = true
	r.Addend, r.Off, r.Index = delta, uint16(off), 0
	r.Size, r.Lsb, r.Bits, r.Shift = 4, 0, 26, 2
	r.Page, r.Base, r.Check, r.Order = 0, fixups.BaseSite, fixups.CheckSigned, fixups.OrderInsn
	return delta - int64(off)
}

const reachB = 1 << 27 // of B, in bytes, one word less forwards

// setReach is the reach of branches centred at c and d.
func setReach(p *fixups.Plan, c, d int64) {
	p.Reach.Min, p.Reach.Max = max(c, d)-reachB+4, min(c, d)+reachB
}

func nearCopy(p *fixups.Plan, w uint32) {
	p.ResetShared(pointsCopy)
	setNear(p, fixups.StrategyCopy, fixups.TailJump, 2, 1)
	setCode(p, w, wordB)
	c := setB(&p.Relocs[0], 4, 4)
	setReach(p, c, c)
}

func nearBranch(p *fixups.Plan, target int64) {
	p.ResetShared(pointsBranch)
	setNear(p, fixups.StrategyReEncode, fixups.TailNone, 1, 1)
	setCode(p, wordB, 0)
	c := setB(&p.Relocs[0], 0, target)
	setReach(p, c, c)
}

// nearCond is a branch to the second of two ways out. The boundary of the second
// has a program with the target in it.
func nearCond(p *fixups.Plan, in *reloc.Insn, w uint32, f family) {
	p.Reset()
	target := int64(in.Target - in.PC)
	lsb, bits := fieldOf(f)
	setNear(p, fixups.StrategyIsland, fixups.TailJump, 3, 2)
	setCode(p, w&^((1<<bits-1)<<lsb)|2<<lsb, wordB)
	binary.LittleEndian.PutUint32(p.Code[8:], wordB)
	c := setB(&p.Relocs[0], 4, 4)
	d := setB(&p.Relocs[1], 8, target)
	setReach(p, c, d)
	p.Points = append(p.Points, pointsCopy...)
	p.Points = append(p.Points, fixups.Point{})
	b := planner{p: p}
	setPoint(&p.Points[2], 8, fixups.StateDone, nil, b.jumpTo(target))
}

// nearLink is x30 := end of the site and a branch. The way out from behind the first
// of three instructions does both, and that from behind the second the latter.
func nearLink(p *fixups.Plan, in *reloc.Insn, env *reloc.Env) {
	if env.GCS == reloc.Unknown {
		in.Hazards |= fixups.HazardShadowStack.Bit()
	}
	p.Reset()
	target := int64(in.Target - in.PC)
	setNear(p, fixups.StrategyReEncode, fixups.TailNone, 3, 4)
	p.IsCall = true
	setCode(p, wordADRP|lr, wordADDI|lr<<5|lr)
	binary.LittleEndian.PutUint32(p.Code[8:], wordB)
	setPage(p, 4)
	r := &p.Relocs[2]
	setB(r, 4, 4)
	r.PCRel, r.Lsb, r.Bits, r.Shift, r.Check = false, 10, 12, 0, fixups.CheckNone
	c := setB(&p.Relocs[3], 8, target)
	setReach(p, c, c)

	b := planner{p: p, env: env}
	q := b.begin()
	q.mov(xreg(lr), fixups.SitePlus(4))
	b.leaveTo(&q, fixups.SitePlus(target), btypeNone)
	way := q.program()
	p.Points = append(p.Points, pointsBranch...)
	p.Points = append(p.Points, fixups.Point{}, fixups.Point{})
	setPoint(&p.Points[1], 4, fixups.StatePart, nil, way)
	setPoint(&p.Points[2], 8, fixups.StateDone, nil, way[len(way)-1:])
}

// setPage makes the first two fields those of an ADRP at the start of the code.
func setPage(p *fixups.Plan, delta int64) {
	for i := range 2 {
		r := &p.Relocs[i]
		setB(r, 0, delta)
		r.Page = 12
		if i == 0 {
			r.Lsb, r.Bits, r.Shift, r.Check = 29, 2, 12, fixups.CheckNone
		} else {
			r.Lsb, r.Bits, r.Shift = 5, 19, 14
		}
	}
}

// nearADRP is false at the ends of the reach of ADRP, as farPage is true.
func nearADRP(p *fixups.Plan, in *reloc.Insn, w uint32) bool {
	target := int64(in.Target - in.PC)
	if target-1<<32+0x1000 > -nearSpan || target+1<<32 < nearSpan {
		return false
	}
	p.ResetShared(pointsCopy)
	setNear(p, fixups.StrategyReEncode, fixups.TailJump, 2, 3)
	setCode(p, w&^maskAdr, wordB)
	setPage(p, target)
	c := setB(&p.Relocs[2], 4, 4)
	setReach(p, c, c)
	return true
}
