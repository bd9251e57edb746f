package toy

import (
	"encoding/binary"
	"math"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Plan implements [reloc.Arch].
func (Arch) Plan(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) error {
	if in.Class == fixups.ClassInvalid {
		p.Reset()
		return fixups.ReasonReserved
	}
	b := builder{p, in, env}
	return reloc.FirstForm(p, env, b.form)
}

// builder makes one plan.
type builder struct {
	p   *reloc.Plan
	in  *reloc.Insn
	env *reloc.Env
}

func (b *builder) form(f fixups.Form) fixups.Reason {
	p := b.p
	p.SiteLen = b.in.Len
	p.Reach = fixups.Reach{Min: math.MinInt64, Max: math.MaxInt64}
	r := fixups.ReasonUnknown
	switch f {
	case fixups.FormEmulate:
		r = b.emulate()
	case fixups.FormJump:
		r = b.jump()
	case fixups.FormStep:
		p.Stop = b.env.Stop
		r = b.step()
	}
	if r == fixups.ReasonNone {
		r = b.reach()
	}
	return r
}

// refuse is what holds for a class in any form with a slot.
func (b *builder) refuse() fixups.Reason {
	switch b.in.Class {
	case fixups.ClassExclusive:
		return fixups.ReasonExclusive
	case fixups.ClassTrap:
		return fixups.ReasonForeignBreakpoint
	}
	return fixups.ReasonNone
}

func (b *builder) next() int64   { return int64(b.in.Len) }
func (b *builder) target() int64 { return int64(b.in.Target - b.in.PC) }

func mov(dst, a fixups.Operand) fixups.Step { return fixups.Step{Op: fixups.OpMov, Dst: dst, A: a} }

// goTo is the program that goes to an offset from the site.
func (b *builder) goTo(off int64) fixups.Program {
	return b.p.Program(mov(fixups.PC(), fixups.SitePlus(off)))
}

func (b *builder) emulate() fixups.Reason {
	p := b.p
	switch b.in.Row {
	case opNop:
		p.Emulate = b.goTo(b.next())
	case opB, opJmp:
		p.Emulate = b.goTo(b.target())
	case opBz:
		p.Emulate = p.Program(
			mov(fixups.T(0), fixups.SitePlus(b.target())),
			fixups.Step{Op: fixups.OpSkip, Cond: fixups.CondEQ, Width: 64, Skip: 1, A: fixups.R(rd(b.in)), B: fixups.Const(0)},
			mov(fixups.T(0), fixups.SitePlus(b.next())),
			mov(fixups.PC(), fixups.T(0)))
	case opCall:
		p.Emulate = p.Program(mov(fixups.R(LR), fixups.SitePlus(b.next())), mov(fixups.PC(), fixups.SitePlus(b.target())))
		p.IsCall = true
	case opLdpc:
		p.Emulate = p.Program(
			fixups.Step{Op: fixups.OpLoad, Size: 8, Dst: fixups.R(rd(b.in)), A: fixups.SitePlus(b.target())},
			mov(fixups.PC(), fixups.SitePlus(b.next())))
	case opJr:
		p.Emulate = p.Program(mov(fixups.PC(), fixups.R(rs(b.in))))
	case opRet:
		p.Emulate = p.Program(mov(fixups.PC(), fixups.R(LR)))
	default:
		return fixups.ReasonNotEmulated
	}
	p.Strategy, p.Far = fixups.StrategyEmulate, true
	return fixups.ReasonNone
}

// start opens the slot code: nothing of the site has happened.
func (b *builder) start() {
	b.p.Points = append(b.p.Points, fixups.Point{Back: b.goTo(0), HasBack: true})
}

// then opens the next instruction of the slot code, from where the way on leads
// to an offset from the site.
func (b *builder) then(state fixups.State, off int64) {
	b.p.Points = append(b.p.Points, fixups.Point{Off: uint16(len(b.p.Code)), State: state, Forward: b.goTo(off), HasForward: true})
}

func (b *builder) emit(code ...byte) { b.p.Code = append(b.p.Code, code...) }

// branch emits a jmp or call to an offset from the site.
func (b *builder) branch(op byte, off int64) {
	b.p.Relocs = append(b.p.Relocs, fixups.Reloc{Off: uint16(len(b.p.Code)), Size: 4, Lsb: 4, Bits: 28, Shift: 1,
		Base: fixups.BaseSite, Addend: off, PCRel: true, Check: fixups.CheckSigned})
	b.emit(op, 0, 0, 0)
}

func (b *builder) jump() fixups.Reason {
	if r := b.refuse(); r != fixups.ReasonNone {
		return r
	}
	p := b.p
	b.start()
	switch b.in.Class {
	case fixups.ClassPlain, fixups.ClassPCRelative:
		b.copy()
		b.then(fixups.StateDone, b.next())
		b.branch(opJmp, b.next())
		p.Tail = fixups.TailJump
	case fixups.ClassBranch:
		p.Strategy = fixups.StrategyReEncode
		b.branch(opJmp, b.target())
	case fixups.ClassCondBranch:
		p.Strategy = fixups.StrategyIsland
		b.emit(b.in.Bytes[0], 3) // bz rd, pc+6
		b.then(fixups.StateDone, b.next())
		b.branch(opJmp, b.next())
		b.then(fixups.StateDone, b.target())
		b.branch(opJmp, b.target())
		p.Tail = fixups.TailJump
	case fixups.ClassCall:
		return b.call()
	default:
		b.copy()
	}
	return fixups.ReasonNone
}

// copy emits the instruction itself, with a new displacement if it has one.
func (b *builder) copy() {
	b.p.Strategy = fixups.StrategyCopy
	if b.in.Row != opLdpc {
		b.emit(b.in.Raw()...)
		return
	}
	b.p.Strategy = fixups.StrategyReEncode
	b.p.Relocs = append(b.p.Relocs, fixups.Reloc{Off: uint16(len(b.p.Code)), Size: 4, Lsb: 8, Bits: 24, Shift: 1,
		Base: fixups.BaseSite, Addend: b.target(), PCRel: true, Check: fixups.CheckSigned})
	b.emit(b.in.Bytes[0], 0, 0, 0)
}

// call links the original return address from a literal, or really calls.
func (b *builder) call() fixups.Reason {
	p := b.p
	p.IsCall, p.Returns = true, b.env.Return
	if b.env.Return == fixups.ReturnsSlot {
		p.Strategy, p.Tail = fixups.StrategyReEncode, fixups.TailJump
		b.branch(opCall, b.target())
		p.Escapes = append(p.Escapes, fixups.Escape{Off: 4, Kind: fixups.EscapeReturn})
		b.then(fixups.StateDone, b.next())
		b.branch(opJmp, b.next())
		return fixups.ReasonNone
	}
	if b.env.ExecuteOnly {
		return fixups.ReasonNoScratch
	}
	p.Strategy = fixups.StrategyLiteral
	var w [4]byte
	binary.LittleEndian.PutUint32(w[:], opLdpc|uint32(LR)<<4|4<<8) // ldpc lr, [pc+8]
	b.emit(w[:]...)
	b.then(fixups.StatePart, b.target())
	b.branch(opJmp, b.target())
	p.Relocs = append(p.Relocs, fixups.Reloc{Off: 8, Size: 8, Bits: 64, Base: fixups.BaseSite, Addend: b.next(),
		Check: fixups.CheckNone, Order: fixups.OrderData})
	b.emit(0, 0, 0, 0, 0, 0, 0, 0)
	return fixups.ReasonNone
}

// step copies one instruction in front of a trap.
func (b *builder) step() fixups.Reason {
	if r := b.refuse(); r != fixups.ReasonNone {
		return r
	}
	p := b.p
	b.start()
	p.Tail, p.CopyLen = fixups.TailTrap, uint16(b.in.Len)
	p.Abort = b.goTo(0)
	switch b.in.Class {
	case fixups.ClassPlain, fixups.ClassPCRelative:
		b.copy()
		p.Post = b.goTo(b.next())
	case fixups.ClassCondBranch:
		p.Strategy = fixups.StrategyIsland
		b.emit(b.in.Bytes[0], 2) // bz rd, pc+4: onto the second trap
		b.emit(info.Trap...)
		p.Post = p.Program(
			mov(fixups.T(0), fixups.SitePlus(b.target())),
			fixups.Step{Op: fixups.OpSkip, Cond: fixups.CondNE, Width: 64, Skip: 1, A: fixups.PC(), B: fixups.SlotPlus(2)},
			mov(fixups.T(0), fixups.SitePlus(b.next())),
			mov(fixups.PC(), fixups.T(0)))
	case fixups.ClassIndirectBranch, fixups.ClassReturn:
		b.copy()
	default:
		return fixups.ReasonNotEmulated // emulate serves them
	}
	b.emit(info.Trap...)
	return fixups.ReasonNone
}

// reach narrows the range of slots to what the displacements of the code can
// bridge, and refuses slots that are not in it.
func (b *builder) reach() fixups.Reason {
	r := &b.p.Reach
	for i := range b.p.Relocs {
		f := &b.p.Relocs[i]
		if !f.PCRel {
			continue
		}
		// addend - d - off = displacement, from -1<<bits to 1<<bits - 2
		base := f.Addend - int64(f.Off)
		r.Min = max(r.Min, base-(1<<f.Bits-2))
		r.Max = min(r.Max, base+1<<f.Bits)
		r.Align = 2
	}
	far := r.Min == math.MinInt64
	b.p.Far = far && b.env.Slots == reloc.SlotsFar
	switch {
	case far:
	case b.env.Slots == reloc.SlotsFar,
		b.env.Slots == reloc.SlotsRange && (b.env.SlotMin < r.Min || b.env.SlotMax > r.Max):
		return fixups.ReasonNoReach
	}
	return fixups.ReasonNone
}
