package x86

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// The jump form in a near slot of 64-bit code is what is asked for most, and of
// that nearly all is a copy, a rip-relative operand, a jump, a conditional jump or
// a call. nearJump makes these in one go. It says the same as the families, which
// a test holds it to, and leaves everything that needs a second look to them.

// nearHazards are what a plan of nearJump may meet: those that a copy does not
// mind and that need nothing after it.
const nearHazards = copyable&^(1<<fixups.HazardVendor) |
	fixups.Hazards(1<<fixups.HazardReadsPC|1<<fixups.HazardPushesPC)

// Storage that nearJump needs: code is written in whole words, up to the third.
const (
	nearCode   = 24
	nearRelocs = 2
	nearPoints = 2
)

// nearJump reports whether it has made the plan.
func (a *Arch) nearJump(p *fixups.Plan, in *reloc.Insn, env *reloc.Env) bool {
	if env.Slots != reloc.SlotsNear || !a.m64 || in.Hazards&^nearHazards != 0 || in.AltLen != 0 {
		return false
	}
	if cap(p.Code) < nearCode || cap(p.Relocs) < nearRelocs {
		roomy(p)
	}
	l := lay(in)
	switch {
	case in.Class == fixups.ClassPlain:
		if in.Hazards&^copyable != 0 {
			return false // ptwrite, which reads pc
		}
		nearPlain(p, in)
	case in.Class == fixups.ClassPCRelative && l.has(flagRIPRel) && !l.pfx(pfx67):
		nearOperand(p, in, l)
	case !l.has(flagRelImm) || in.Class == fixups.ClassTransaction:
		return false
	case in.Class == fixups.ClassBranch:
		nearBranch(p, in)
	case in.Class == fixups.ClassCondBranch && (l.opmap() == 1 || l.opcode()&0xf0 == 0x70):
		nearCond(p, in, l)
	case in.Class == fixups.ClassCall && (env.Return == fixups.ReturnsSlot && (env.Lang == reloc.LangGo || env.Code != nil) || in.Target == in.Next()):
		return false
	case in.Class == fixups.ClassCall && env.Return == fixups.ReturnsSlot:
		nearCallFromSlot(p, in)
	case in.Class == fixups.ClassCall && env.SHSTK != reloc.On && !env.ExecuteOnly:
		nearPushAndJump(p, in)
	default:
		return false
	}
	return true
}

// roomy gives a plan the storage that nearJump needs.
func roomy(p *fixups.Plan) {
	p.Reset()
	p.Code = slices.Grow(p.Code, nearCode)
	p.Relocs = slices.Grow(p.Relocs, nearRelocs)
	p.Points = slices.Grow(p.Points, nearPoints)
}

// setRel32 makes r four bytes at off that name Site + delta, relative to the end
// of the instruction tail bytes behind them. It returns where the reach is
// centred: [c - MaxInt32, c - MinInt32]. Fields are written one by one, for a
// value that is put together and then copied waits for its parts, and those from
// Size to Order together, for Place loads them as one word.
func setRel32(r *fixups.Reloc, off int, tail, delta int64) (c int64) {
	r.PCRel = true
	r.Addend = delta - 4 - tail
	r.Off, r.Index = uint16(off), 0
	r.Size, r.Lsb, r.Bits, r.Shift = 4, 0, 32, 0
	r.Page, r.Base, r.Check, r.Order = 0, fixups.BaseSite, fixups.CheckSigned, fixups.OrderInsn
	return delta - 4 - tail - int64(off)
}

// setPoint makes pt a boundary at off.
func setPoint(pt *fixups.Point, off int, s fixups.State, back, forward fixups.Program) {
	pt.Off, pt.Insn, pt.State = uint16(off), 0, s
	pt.HasBack, pt.HasForward = back != nil, forward != nil
	pt.Back, pt.Forward = back, forward
	pt.Lost = fixups.RegSet{}
}

// nearTail is the jump to the end of the site at off, as reloc r.
func nearTail(p *fixups.Plan, r, off int, next uint8) (c int64) {
	p.Form, p.SiteLen, p.Tail = fixups.FormJump, next, fixups.TailJump
	p.Code = p.Code[:off+5]
	p.Relocs = p.Relocs[:r+1]
	return setRel32(&p.Relocs[r], off+1, 0, int64(next))
}

// The boundaries of a plan with a tail are the start and that before the tail.
// They depend on the length of the site and of what stands before the tail alone,
// so they are made once, and shared by all plans.
var (
	pointsCopy = makePoints(0)
	pointsCond = makePoints(6)
	pointsCall = makePoints(5)
)

// makePoints makes the boundaries for sites of all lengths, with a tail at off, 0
// for the length of the site.
func makePoints(off int) (p [16][2]fixups.Point) {
	for n := range p {
		at := off
		if at == 0 {
			at = n
		}
		setPoint(&p[n][0], 0, fixups.StateStart, gotoSite, nil)
		setPoint(&p[n][1], at, fixups.StateDone, nil, gotoNext[n:n+1:n+1])
	}
	return p
}

// setReach is the reach of fields centred at c and d.
func setReach(p *fixups.Plan, c, d int64) {
	p.Reach.Min, p.Reach.Max = max(c, d)-math.MaxInt32, min(c, d)-math.MinInt32
}

// setCode writes code of n <= 15 bytes, zeros behind them, and the opcode of the
// jump that follows, in whole words: Place reads them before they have reached the
// cache, and what is put together from parts would have to wait for that. Shifts
// by 64 and more, which at-64 wraps to if the opcode lies in the first word, give 0.
func setCode(p *fixups.Plan, lo, hi uint64, n uint8) {
	code := (*[nearCode]byte)(p.Code[:nearCode])
	at := uint64(n) * 8
	binary.LittleEndian.PutUint64(code[:8], lo|0xe9<<at)
	binary.LittleEndian.PutUint64(code[8:], hi|0xe9<<(at-64))
	binary.LittleEndian.PutUint64(code[16:], 0)
}

// nearPlain is by far the most frequent, and the only one without calls but the
// one to empty p.
func nearPlain(p *fixups.Plan, in *reloc.Insn) {
	n := int(in.Len & 15)
	p.ResetShared(pointsCopy[n][:])
	setCode(p, binary.LittleEndian.Uint64(in.Bytes[:8]), binary.LittleEndian.Uint64(in.Bytes[8:]), in.Len)
	p.Form, p.Strategy, p.X87 = fixups.FormJump, fixups.StrategyCopy, in.Hazards.Has(fixups.HazardX87FIP)
	p.SiteLen, p.Tail = in.Len, fixups.TailJump
	p.Code = p.Code[:n+5]
	p.Relocs = p.Relocs[:1]
	c := setRel32(&p.Relocs[0], n+1, 0, int64(n))
	setReach(p, c, c)
}

// nearOperand is a copy whose displacement, four zero bytes at at, is a reloc.
func nearOperand(p *fixups.Plan, in *reloc.Insn, l *layout) {
	p.ResetShared(pointsCopy[in.Len&15][:])
	at := l.dispOff()
	lo, hi := binary.LittleEndian.Uint64(in.Bytes[:8]), binary.LittleEndian.Uint64(in.Bytes[8:])
	k, e := &keep[at&15], &keep[(at+4)&15]
	setCode(p, lo&(k[0]|^e[0]), hi&(k[1]|^e[1]), in.Len)
	p.Strategy, p.X87 = fixups.StrategyReEncode, in.Hazards.Has(fixups.HazardX87FIP)
	c := nearTail(p, 1, int(in.Len), in.Len)
	d := setRel32(&p.Relocs[0], at, int64(int(in.Len)-at-4), int64(in.Target-in.PC))
	setReach(p, c, d)
}

func nearBranch(p *fixups.Plan, in *reloc.Insn) {
	p.ResetShared(pointsCopy[0][:1:1])
	setCode(p, 0, 0, 0)
	p.Form, p.Strategy, p.SiteLen = fixups.FormJump, fixups.StrategyReEncode, in.Len
	p.Code = p.Code[:5]
	p.Relocs = p.Relocs[:1]
	c := setRel32(&p.Relocs[0], 1, 0, int64(in.Target-in.PC))
	setReach(p, c, c)
}

func nearCond(p *fixups.Plan, in *reloc.Insn, l *layout) {
	p.ResetShared(pointsCond[in.Len&15][:])
	setCode(p, 0x800f|uint64(l.opcode()&15)<<8, 0, 6)
	p.Strategy = fixups.StrategyReEncode
	c := nearTail(p, 1, 6, in.Len)
	d := setRel32(&p.Relocs[0], 2, 0, int64(in.Target-in.PC))
	setReach(p, c, d)
}

func nearCallFromSlot(p *fixups.Plan, in *reloc.Insn) {
	p.ResetShared(pointsCall[in.Len&15][:])
	setCode(p, 0xe8, 0, 5)
	p.Strategy, p.IsCall, p.Returns = fixups.StrategyReEncode, true, fixups.ReturnsSlot
	p.Escapes = append(p.Escapes, fixups.Escape{Off: 5, Kind: fixups.EscapeReturn})
	c := nearTail(p, 1, 5, in.Len)
	d := setRel32(&p.Relocs[0], 1, 0, int64(in.Target-in.PC))
	setReach(p, c, d)
}

// nearPushAndJump is push [rip+5], jmp target, and the return address as data.
func nearPushAndJump(p *fixups.Plan, in *reloc.Insn) {
	p.Reset()
	target := int64(in.Target - in.PC)
	setCode(p, 0x0535ff, 0, 6)
	p.Form, p.Strategy, p.SiteLen, p.IsCall = fixups.FormJump, fixups.StrategyLiteral, in.Len, true
	p.Code = p.Code[:19]
	p.Relocs = p.Relocs[:2]
	p.Points = slices.Grow(p.Points, nearPoints)[:nearPoints]
	c := setRel32(&p.Relocs[0], 7, 0, target)
	r := &p.Relocs[1]
	setRel32(r, 11, -4, int64(in.Len))
	r.Size, r.Bits, r.Check, r.Order, r.PCRel = 8, 64, fixups.CheckNone, fixups.OrderData, false
	setPoint(&p.Points[0], 0, fixups.StateStart, gotoSite, nil)
	setPoint(&p.Points[1], 6, fixups.StateDone, nil, goTo(p, target))
	setReach(p, c, c)
}
