package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// tailFar is the size of the far tail: jmp [rip+0] and the target as data.
const tailFar = 14

// leave emits the way out of the slot to Site + delta, whose first boundary the
// caller has added or does not need: jmp rel32 in near slots, else a jump
// through a literal, which needs no register and no stack.
func (b *planner) leave(delta int64) fixups.Reason {
	switch {
	case b.near:
		off := len(b.p.Code)
		b.p.Code = append(b.p.Code, 0xe9, 0, 0, 0, 0)
		b.relAt(off+1, 0, delta)
	case b.env.ExecuteOnly && !b.hasData():
		return b.leaveByStack(delta)
	case b.tracked():
		return fixups.ReasonNoReach
	case b.env.ExecuteOnly:
		b.leaveByData(delta)
	default:
		b.notrack()
		b.p.Code = append(b.p.Code, 0xff, 0x25, 0, 0, 0, 0)
		b.literal(delta)
	}
	return fixups.ReasonNone
}

// leaveSize is the size of what leave emits.
func (b *planner) leaveSize() int {
	switch {
	case b.near:
		return 5
	case b.env.IBT == reloc.On:
		return tailFar + 1
	}
	return tailFar
}

// tracked reports whether indirect branch tracking sees every indirect branch:
// kernels do not enable the prefix that exempts one (SDM volume 1, 17.3.3 and
// IA32_S_CET.NO_TRACK_EN), so there is no way out of a far slot to an address that
// is no landing pad.
func (b *planner) tracked() bool { return b.env.Mode == reloc.ModeKernel && b.env.IBT == reloc.On }

// notrack exempts an indirect branch of our own from indirect branch tracking:
// the site's target need not be a landing pad. Where it is not known whether
// tracking is on, the plan is made as if it were off and the site says so.
func (b *planner) notrack() {
	switch b.env.IBT {
	case reloc.On:
		b.bytes(0x3e)
	case reloc.Unknown:
		b.in.Hazards |= fixups.HazardLandingPad.Bit()
	}
}

// leaveByStack is the far tail of slots that cannot be read: the target is
// pushed as two immediates behind the zone, and RET imm16 takes the stack
// pointer back over both.
//
//	lea rsp,[rsp-zone]  push lo32  mov dword [rsp+4],hi32  ret zone
//
// The word lies below the zone, so nothing the program owns is overwritten, and
// at or above the stack pointer until it is used, so no signal can spoil it. An
// instruction that moves the stack pointer may have put it where nothing is
// mapped, and what it did cannot be taken back when the tail faults: it is
// refused, except for calls, whose push is known.
func (b *planner) leaveByStack(delta int64) fixups.Reason {
	zone := b.zone()
	stack, known := b.stackAtTail()
	switch {
	case !b.spillable() || zone > 0x7ff8 || !known:
		return fixups.ReasonNoScratch
	case b.env.SHSTK == reloc.On:
		return fixups.ReasonShadowStack
	case b.env.SHSTK == reloc.Unknown:
		b.in.Hazards |= fixups.HazardShadowStack.Bit()
	}
	b.moveSP(-zone)
	b.outOfStack(zone, delta)
	b.bytes(0x68)
	b.abs(4, delta)
	b.outOfStack(zone+8, delta)
	b.bytes(0xc7, 0x44, 0x24, 0x04)
	b.reloc(fixups.Reloc{Addend: delta, Size: 4, Bits: 32, Shift: 32, Check: fixups.CheckSigned})
	b.outOfStack(zone+8, delta)
	b.bytes(0xc2, byte(zone), byte(zone>>8))
	b.p.Stack = max(b.p.Stack, stack)
	return fixups.ReasonNone
}

// stackAtTail is how many bytes below the site's zone the tail writes, if that is
// known.
func (b *planner) stackAtTail() (n uint16, known bool) {
	switch b.in.Class {
	case fixups.ClassCall:
		return 16, true
	case fixups.ClassIndirectCall: // back in the slot
		return 8, true
	}
	var use reloc.RegUse
	b.a.Registers(&use, b.in)
	return 8, !use.Writes.Has(b.a.info.SP)
}

// outOfStack is a boundary in leaveByStack with n bytes on the stack. It may be
// the tail's first, which is there already if there is no zone to skip.
func (b *planner) outOfStack(n, delta int64) {
	if b.p.PointAt(uint64(b.off())) != nil {
		return
	}
	b.point(fixups.StateDone, nil, b.p.Program(
		add(fixups.R(RSP), fixups.R(RSP), n), mov(fixups.PC(), fixups.SitePlus(delta))))
}

// moveSP emits lea rsp,[rsp+n], which leaves the flags alone; nothing for 0.
func (b *planner) moveSP(n int64) {
	if n == 0 {
		return
	}
	if b.a.m64 {
		b.bytes(0x48)
	}
	if n == int64(int8(n)) {
		b.bytes(0x8d, 0x64, 0x24, byte(n))
		return
	}
	b.bytes(0x8d, 0xa4, 0x24)
	b.constant(n, 4)
}

// tail ends the code of the jump form: all of the site's work is done and Site +
// delta comes next.
func (b *planner) tail(delta int64) fixups.Reason {
	b.done(delta)
	b.p.Tail = fixups.TailJump
	return b.leave(delta)
}

// tail16 is the way out to the target of a branch in 32-bit mode that cuts it to 16
// bits.
func (b *planner) tail16() {
	b.doneTarget()
	b.p.Tail = fixups.TailJump
	b.bytes(0x66, 0xe9)
	b.rel16(b.target())
}

// doneTarget is done for the target, cut to 16 bits if the branch does that.
func (b *planner) doneTarget() {
	if !b.short() {
		b.done(b.target())
		return
	}
	b.point(fixups.StateDone, nil, b.p.Program(
		zext(fixups.T(0), fixups.SitePlus(b.target()), 16), mov(fixups.PC(), fixups.T(0))))
}

// guardTarget is guard for the target of the branch.
func (b *planner) guardTarget() {
	if !b.short() {
		b.guard(b.target())
		return
	}
	b.p.CopyLen = uint16(b.off())
	if b.env.Stop == fixups.StopTrap {
		b.doneTarget()
		b.p.Tail = fixups.TailTrap
		b.bytes(0xcc)
		return
	}
	b.tail16()
}

// guard ends the code of the step form. Where a trap stops the copy it is that
// trap; else it catches threads that nobody steps, and needs no scratch: a slot
// that cannot be read, or that no branch leaves, gets a trap.
func (b *planner) guard(delta int64) {
	b.done(delta)
	b.p.CopyLen = uint16(b.off())
	b.stopper(delta)
}

// stopper is the last part of guard.
func (b *planner) stopper(delta int64) {
	if b.env.Stop == fixups.StopTrap || !b.near && (b.env.ExecuteOnly || b.tracked()) {
		b.p.Tail = fixups.TailTrap
		b.bytes(0xcc)
		return
	}
	b.p.Tail = fixups.TailJump
	b.leave(delta)
}
