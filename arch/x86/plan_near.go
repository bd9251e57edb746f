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

// Storage that nearJump needs: the code of a call with its literal, and 16 bytes
// that a copy may overrun.
const (
	nearCode   = 40
	nearRelocs = 3
	nearPoints = 2
)

// nearJump reports whether it has made the plan.
func (a *Arch) nearJump(p *fixups.Plan, in *reloc.Insn, env *reloc.Env) bool {
	if env.Slots != reloc.SlotsNear || !a.m64 || in.Hazards&^nearHazards != 0 || in.AltLen != 0 {
		return false
	}
	p.Reset()
	if cap(p.Code) < nearCode || cap(p.Relocs) < nearRelocs || cap(p.Points) < nearPoints {
		roomy(p)
	}
	l := lay(in)
	switch {
	case in.Class == fixups.ClassPlain:
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
	p.Form, p.SiteLen = fixups.FormJump, in.Len
	setPoint(&p.Points[0], 0, fixups.StateStart, gotoSite, nil)
	return true
}

// roomy gives an empty plan the storage that nearJump needs.
func roomy(p *fixups.Plan) {
	p.Code = slices.Grow(p.Code, nearCode)
	p.Relocs = slices.Grow(p.Relocs, nearRelocs)
	p.Points = slices.Grow(p.Points, nearPoints)
}

// setRel32 makes r four bytes at off that name Site + delta, relative to the end
// of the instruction tail bytes behind them. It returns where the reach is
// centred: [c - MaxInt32, c - MinInt32]. Fields are written one by one, for a
// value that is put together and then copied waits for its parts.
func setRel32(r *fixups.Reloc, off int, tail, delta int64) (c int64) {
	r.Addend = delta - 4 - tail
	r.Off, r.Index = uint16(off), 0
	r.Size, r.Lsb, r.Bits, r.Shift = 4, 0, 32, 0
	r.Page, r.Base, r.Check, r.Order = 0, fixups.BaseSite, fixups.CheckSigned, fixups.OrderInsn
	r.PCRel = true
	return r.Addend - int64(off)
}

// setPoint makes pt a boundary at off.
func setPoint(pt *fixups.Point, off int, s fixups.State, back, forward fixups.Program) {
	pt.Off, pt.Insn, pt.State = uint16(off), 0, s
	pt.HasBack, pt.HasForward = back != nil, forward != nil
	pt.Back, pt.Forward = back, forward
	pt.Lost = fixups.RegSet{}
}

// nearTail is the jump to the end of the site at off, and the boundary before it,
// as reloc r and point 1.
func nearTail(p *fixups.Plan, code *[nearCode]byte, r, off int, next uint8) (c int64) {
	binary.LittleEndian.PutUint64(code[off&31:], 0xe9)
	p.Tail = fixups.TailJump
	setLens(p, off+5, r+1, 2)
	next &= 15
	setPoint(&p.Points[1], off, fixups.StateDone, nil, gotoNext[next:next+1:next+1])
	return setRel32(&p.Relocs[r], off+1, 0, int64(next))
}

// setLens sets the lengths, one by one, so that nothing else is stored.
func setLens(p *fixups.Plan, code, relocs, points int) {
	p.Code = p.Code[:code]
	p.Relocs = p.Relocs[:relocs]
	p.Points = p.Points[:points]
}

// setReach is the reach of fields centred at c and d.
func setReach(p *fixups.Plan, c, d int64) {
	p.Reach.Min, p.Reach.Max = max(c, d)-math.MaxInt32, min(c, d)-math.MinInt32
}

// room is the storage of the code.
func room(p *fixups.Plan) *[nearCode]byte { return (*[nearCode]byte)(p.Code[:nearCode]) }

// copyBytes copies the bytes of the instruction and the zeros behind them, in the
// two words that Decode wrote.
func copyBytes(code *[nearCode]byte, in *reloc.Insn) {
	binary.LittleEndian.PutUint64(code[:], binary.LittleEndian.Uint64(in.Bytes[:]))
	binary.LittleEndian.PutUint64(code[8:], binary.LittleEndian.Uint64(in.Bytes[8:]))
}

func nearPlain(p *fixups.Plan, in *reloc.Insn) {
	code := room(p)
	copyBytes(code, in)
	p.Strategy, p.X87 = fixups.StrategyCopy, in.Hazards.Has(fixups.HazardX87FIP)
	c := nearTail(p, code, 0, int(in.Len), in.Len)
	setReach(p, c, c)
}

func nearOperand(p *fixups.Plan, in *reloc.Insn, l *layout) {
	code := room(p)
	at := l.dispOff()
	copyBytes(code, in)
	binary.LittleEndian.PutUint32(code[at:], 0)
	p.Strategy, p.X87 = fixups.StrategyReEncode, in.Hazards.Has(fixups.HazardX87FIP)
	c := nearTail(p, code, 1, int(in.Len), in.Len)
	d := setRel32(&p.Relocs[0], at, int64(int(in.Len)-at-4), int64(in.Target-in.PC))
	setReach(p, c, d)
}

func nearBranch(p *fixups.Plan, in *reloc.Insn) {
	code := room(p)
	binary.LittleEndian.PutUint64(code[:], 0xe9)
	p.Strategy = fixups.StrategyReEncode
	setLens(p, 5, 1, 1)
	c := setRel32(&p.Relocs[0], 1, 0, int64(in.Target-in.PC))
	setReach(p, c, c)
}

func nearCond(p *fixups.Plan, in *reloc.Insn, l *layout) {
	code := room(p)
	binary.LittleEndian.PutUint64(code[:], 0x800f|uint64(l.opcode()&15)<<8)
	p.Strategy = fixups.StrategyReEncode
	c := nearTail(p, code, 1, 6, in.Len)
	d := setRel32(&p.Relocs[0], 2, 0, int64(in.Target-in.PC))
	setReach(p, c, d)
}

func nearCallFromSlot(p *fixups.Plan, in *reloc.Insn) {
	code := room(p)
	binary.LittleEndian.PutUint64(code[:], 0xe8)
	p.Strategy, p.IsCall, p.Returns = fixups.StrategyReEncode, true, fixups.ReturnsSlot
	p.Escapes = append(p.Escapes, fixups.Escape{Off: 5, Kind: fixups.EscapeReturn})
	c := nearTail(p, code, 1, 5, in.Len)
	d := setRel32(&p.Relocs[0], 1, 0, int64(in.Target-in.PC))
	setReach(p, c, d)
}

// nearPushAndJump is push [rip+5], jmp target, and the return address as data.
func nearPushAndJump(p *fixups.Plan, in *reloc.Insn) {
	target := int64(in.Target - in.PC)
	code := room(p)
	binary.LittleEndian.PutUint64(code[:], 0x0535ff)
	binary.LittleEndian.PutUint64(code[6:], 0xe9)
	binary.LittleEndian.PutUint64(code[11:], 0)
	p.Strategy, p.IsCall = fixups.StrategyLiteral, true
	setLens(p, 19, 2, 2)
	c := setRel32(&p.Relocs[0], 7, 0, target)
	r := &p.Relocs[1]
	setRel32(r, 11, -4, int64(in.Len))
	r.Size, r.Bits, r.Check, r.Order, r.PCRel = 8, 64, fixups.CheckNone, fixups.OrderData, false
	setPoint(&p.Points[1], 6, fixups.StateDone, nil, goTo(p, target))
	setReach(p, c, c)
}
