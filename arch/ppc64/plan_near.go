package ppc64

import (
	"slices"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// The jump form in a near slot is what is asked for most, and of that nearly all is
// a copy of one word, a branch or a conditional branch. nearJump makes these in one
// go. It says the same as the families, which a test holds it to, and leaves
// everything that needs a second look to them.

// Storage that nearJump needs.
const (
	nearCode   = 12
	nearRelocs = 2
)

// nearJump reports whether it has made the plan.
func (a *Arch) nearJump(p *fixups.Plan, in *reloc.Insn, env *reloc.Env) bool {
	if env.Slots != reloc.SlotsNear || in.Len != wordLen || in.Hazards&^copyable != 0 {
		return false
	}
	if cap(p.Code) < nearCode || cap(p.Relocs) < nearRelocs {
		p.Reset()
		p.Code = slices.Grow(p.Code, nearCode)
		p.Relocs = slices.Grow(p.Relocs, nearRelocs)
	}
	w := uint32(in.Ext[0])
	switch familyOf(in) {
	case famPlain, famNop:
		if in.Class != fixups.ClassPlain {
			return false
		}
		a.nearCopy(p, w)
	case famB:
		if w&3 != 0 {
			return false
		}
		a.nearBranch(p, int64(in.Target-in.PC))
	case famBC:
		if w&3 != 0 || w>>21&boAlways == boAlways {
			return false
		}
		a.nearCond(p, w, int64(in.Target-in.PC))
	default:
		return false
	}
	return true
}

// The boundaries of a plan with no target in them are made once, and shared by all
// plans.
var (
	pointsCopy   = makePoints(wordLen)
	pointsBranch = makePoints()
)

// makePoints makes the boundaries of a start and of tails to the end of the site.
func makePoints(tails ...int) []fixups.Point {
	p := make([]fixups.Point, 1+len(tails))
	setPoint(&p[0], 0, fixups.StateStart, gotoSite, nil)
	for i, off := range tails {
		setPoint(&p[i+1], off, fixups.StateDone, nil, gotoNext[wordLen:wordLen+1:wordLen+1])
	}
	return p
}

// setNear fills in what all plans of nearJump have in common.
func setNear(p *fixups.Plan, s fixups.Strategy, t fixups.Tail, words, relocs int) {
	p.Form, p.Strategy, p.Tail = fixups.FormJump, s, t
	p.SiteLen, p.SlotAlign = wordLen, wordLen
	p.Code, p.Relocs = p.Code[:wordLen*words], p.Relocs[:relocs]
}

// setB makes r the field of a b to Site + delta at off. It returns where the reach is
// centred.
func setB(r *fixups.Reloc, off int, delta int64) int64 {
	setReloc(r, off, 2, 24, 2, delta)
	r.PCRel, r.Check = true, fixups.CheckSigned
	return delta - int64(off)
}

// setReach is the reach of branches centred at c and d.
func setReach(p *fixups.Plan, c, d int64) {
	p.Reach.Min, p.Reach.Max = max(c, d)-branchSpan+wordLen, min(c, d)+branchSpan
}

func (a *Arch) nearCopy(p *fixups.Plan, w uint32) {
	p.ResetShared(pointsCopy)
	setNear(p, fixups.StrategyCopy, fixups.TailJump, 2, 1)
	a.putWord(p.Code, 0, w)
	a.putWord(p.Code, 4, wordB)
	c := setB(&p.Relocs[0], 4, wordLen)
	setReach(p, c, c)
}

func (a *Arch) nearBranch(p *fixups.Plan, target int64) {
	p.ResetShared(pointsBranch)
	setNear(p, fixups.StrategyReEncode, fixups.TailNone, 1, 1)
	a.putWord(p.Code, 0, wordB)
	c := setB(&p.Relocs[0], 0, target)
	setReach(p, c, c)
}

// nearCond is a branch to the second of two ways out. The boundary of the second has
// a program with the target in it.
func (a *Arch) nearCond(p *fixups.Plan, w uint32, target int64) {
	p.Reset()
	setNear(p, fixups.StrategyIsland, fixups.TailJump, 3, 2)
	a.putWord(p.Code, 0, wordBC|w&0x03ff0000|8)
	a.putWord(p.Code, 4, wordB)
	a.putWord(p.Code, 8, wordB)
	c := setB(&p.Relocs[0], 4, wordLen)
	d := setB(&p.Relocs[1], 8, target)
	setReach(p, c, d)
	p.Points = slices.Grow(p.Points, 3)[:3]
	copy(p.Points, pointsCopy)
	n := p.Mark()
	s := p.Add()
	s.Dst, s.A = fixups.PC(), fixups.SitePlus(target)
	setPoint(&p.Points[2], 8, fixups.StateDone, nil, p.Since(n))
}
