package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Plans that keep what they need in the data of their slot. Nothing goes below
// the stack pointer, which does not move, so there is no zone to respect, no
// operand that means something else meanwhile, and no access that the site does
// not make. Threads in the slot at once would share the data, so the slot is
// private.
//
// In 64-bit mode the data is addressed relative to the slot, within rel32.

// Words of the data.
const (
	dataSaved  = 0 // a register, while the slot uses it
	dataTarget = 8 // where the slot will go
)

// hasData reports whether a plan may keep something in the slot's data.
func (b *planner) hasData() bool { return b.env.Data && b.env.Private }

// inData begins a plan that uses the slot's data.
func (b *planner) inData() {
	b.p.Strategy = fixups.StrategySpill
	b.p.Private = true
}

// dataOp emits opcode, of whose ModRM.reg is n, with the word at Data + at for
// its operand, and tail bytes of immediate behind it to come.
func (b *planner) dataOp(opcode byte, n int, at, tail int64) {
	b.bytes(opcode, byte(n)<<3|5)
	r := fixups.Reloc{Base: fixups.BaseData, Addend: at, Size: 4, Bits: 32, Check: fixups.CheckUnsigned}
	if b.a.m64 {
		r.Addend, r.PCRel, r.Check = at-4-tail, true, fixups.CheckSigned
	}
	b.reloc(r)
}

// dataMove moves register n, below 8, to the word at Data + at or from it.
func (b *planner) dataMove(load bool, n int, at int64) {
	if b.a.m64 {
		b.bytes(0x48)
	}
	opcode := byte(0x89)
	if load {
		opcode = 0x8b
	}
	b.dataOp(opcode, n, at, 0)
}

// savedInData is a boundary at which register n differs from the site's, which is
// in the data, and nothing else does that matters.
func (b *planner) savedInData(s fixups.State, n int) {
	q := b.begin()
	q.load(b.reg(n), fixups.DataPlus(dataSaved), b.word())
	if s == fixups.StateStart {
		q.mov(fixups.PC(), fixups.SitePlus(0))
		b.point(s, q.program(), nil)
		return
	}
	q.mov(fixups.PC(), fixups.SitePlus(b.next()))
	b.point(s, nil, q.program())
}

// dataSpill runs a rip-relative instruction with a register for its base that
// waits in the data meanwhile:
//
//	mov [data],rsi  mov rsi,address  op [rsi]  mov rsi,[data]
func (b *planner) dataSpill(use *reloc.RegUse) fixups.Reason {
	n := scratch(use)
	if n < 0 {
		return fixups.ReasonNoScratch
	}
	b.inData()
	b.start()
	b.dataMove(false, n, dataSaved)
	b.start()
	b.movImm(n, b.target())
	b.savedInData(fixups.StateStart, n)
	b.rebase(n)
	b.savedInData(fixups.StateDone, n)
	b.dataMove(true, n, dataSaved)
	return b.tail(b.next())
}

// targetToData puts the target of an indirect branch into the data:
//
//	mov [data],rax  mov rax,m  mov [data+8],rax
//
// The way back is the same from everywhere in it but the very start.
func (b *planner) targetToData(farRIP bool) fixups.Reason {
	b.inData()
	b.start()
	b.dataMove(false, 0, dataSaved)
	b.start()
	if farRIP {
		b.moffs(move{load: true, size: 8})
	} else if !b.loadTarget(0) {
		return fixups.ReasonNoScratch
	}
	b.savedInData(fixups.StateStart, 0)
	b.dataMove(false, 0, dataTarget)
	b.savedInData(fixups.StateStart, 0)
	return fixups.ReasonNone
}

// throughData emits FF /ext with the target in the data. Tracking sees it as it
// sees the site's.
func (b *planner) throughData(ext int) {
	if b.noTrack() {
		b.bytes(0x3e)
	}
	b.dataOp(0xff, ext, dataTarget, 0)
}

// dataJump is a far JMP [rip].
func (b *planner) dataJump() fixups.Reason {
	if r := b.targetToData(true); r != fixups.ReasonNone {
		return r
	}
	b.dataMove(true, 0, dataSaved)
	b.start()
	b.throughData(4)
	return fixups.ReasonNone
}

// dataCallFromSlot is a far CALL [rip] that returns to the slot.
func (b *planner) dataCallFromSlot() fixups.Reason {
	if r := b.targetToData(true); r != fixups.ReasonNone {
		return r
	}
	b.dataMove(true, 0, dataSaved)
	b.start()
	b.throughData(2)
	return b.returned()
}

// dataCall is CALL m with the original return address. The target is read before
// the return address is written: the operand may be that very word.
//
//	mov [data],rax  mov rax,m  mov [data+8],rax
//	mov rax,next  push rax  mov rax,[data]  jmp [data+8]
//
// A target that is not canonical makes the jump fault. The word then gets the target,
// as in unrestored: operands that overlap half of it are not served.
func (b *planner) dataCall(farRIP bool) fixups.Reason {
	w := int64(b.word())
	if r := b.targetToData(farRIP); r != fixups.ReasonNone {
		return r
	}
	if b.a.m64 {
		b.movImm(0, b.next())
	} else {
		b.bytes(0xb8)
		b.abs(4, b.next())
	}
	b.savedInData(fixups.StateStart, 0)
	b.bytes(0x50)
	sp, t0 := b.sp(), fixups.T(0)
	saved := load(b.reg(0), fixups.DataPlus(dataSaved), int(w))
	target := load(t0, fixups.DataPlus(dataTarget), int(w))
	forward := b.p.Program(target, saved, mov(fixups.PC(), t0))
	b.point(fixups.StatePart, nil, forward)
	b.dataMove(true, 0, dataSaved)
	back := b.begin()
	back.add(target)
	back.store(sp, t0, int(w))
	back.add64(sp, sp, w)
	back.mov(fixups.PC(), fixups.SitePlus(0))
	b.point(fixups.StatePart, back.program(), forward)
	b.throughData(4)
	return fixups.ReasonNone
}

// constToData writes Site + delta into the data in two halves, for slots that
// cannot be read. boundary is called before each instruction but the first.
func (b *planner) constToData(delta int64, boundary func()) {
	b.p.Private = true
	for half := range int64(2) {
		b.dataOp(0xc7, 0, dataTarget+4*half, 4)
		if half == 0 {
			b.abs(4, delta)
		} else {
			b.reloc(fixups.Reloc{Addend: delta, Size: 4, Bits: 32, Shift: 32, Check: fixups.CheckSigned})
		}
		boundary()
	}
}

// leaveByData is the far tail of slots that cannot be read.
func (b *planner) leaveByData(delta int64) {
	b.constToData(delta, func() { b.done(delta) })
	b.notrack()
	b.dataOp(0xff, 4, dataTarget, 0)
}
