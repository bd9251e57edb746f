package arm64

import (
	"encoding/binary"
	"math/bits"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// free finds out which general registers are dead where the slot begins, and
// where it ends. A register that the site reads is of no use before it, and one
// that it writes is not dead behind it; one that it only reads is: the site has
// read it by then (CBZ x16 tests before the way out is loaded into x16).
//
// At a function's entry and where a function is called a linker may have put a
// veneer in between, which uses x16 and x17 (AAPCS64, 6.1.1); Go's linker does as
// well. That a site is an entry is the caller's word. That it is a call is seen
// here: of a branch it is not known whether it leaves for a function.
func (b *planner) free() {
	if b.deadKnown {
		return
	}
	b.deadKnown = true
	const veneer = 1<<ip0 | 1<<ip1
	dead := uint32(b.env.Dead[0]) & (1<<zr - 1)
	if b.env.ABI == reloc.ABIEntry || b.env.ABI == reloc.ABICall && b.calls() {
		dead |= veneer
	}
	if dead == 0 {
		return
	}
	var use reloc.RegUse
	b.a.Registers(&use, b.in)
	writes := uint32(use.Writes[0])
	if b.in.Class == fixups.ClassKernelEntry {
		writes &= b.results()
	}
	b.leaving = dead &^ writes
	b.dead = b.leaving &^ uint32(use.Reads[0])
}

// results are the general registers in which calls of the kernel return something:
// x0 on Linux, x0 and x1 on Darwin; of other systems it is not known.
func (b *planner) results() uint32 {
	switch b.env.OS {
	case reloc.Linux:
		return 1 << 0
	case reloc.Darwin:
		return 1<<0 | 1<<1
	}
	return 1<<zr - 1
}

// calls reports whether the site is a call that leaves x16 and x17 to veneers. A
// call of a TLS descriptor's resolver preserves them: it is a BLR x1, always, so that
// linkers find it (AAELF64, 5.7.10.6, relocations for thread-local storage).
func (b *planner) calls() bool {
	if b.in.Class == fixups.ClassIndirectCall {
		return b.env.OS != reloc.Linux || b.w != wordBLR|1<<5
	}
	return b.in.Class == fixups.ClassCall
}

// pick chooses from a set of general registers, -1 if it is empty. A branch by
// x16 or x17 is welcome at more landing pads than one by another.
func pick(set uint32) int {
	switch {
	case set>>ip0&1 != 0:
		return ip0
	case set>>ip1&1 != 0:
		return ip1
	case set == 0:
		return -1
	}
	return bits.TrailingZeros32(set)
}

// scratch is a register that may be used before the site's work is done, -1 if
// there is none.
func (b *planner) scratch() int {
	b.free()
	return pick(b.dead)
}

func (b *planner) clobber(n int) {
	b.p.Clobbers.Add(fixups.Reg(n))
}

// leave emits the way out of the slot to Site + delta, whose first boundary the
// caller has added: B in near slots. B reaches no far slot, and all that does is a
// branch by a register, which nothing can put back behind it. So the register has
// to be dead at the target.
func (b *planner) leave(delta int64) fixups.Reason {
	if b.dist != distFar {
		b.relative(wordB, delta, 0, 26)
		return fixups.ReasonNone
	}
	b.free()
	return b.leaveBy(pick(b.leaving), delta)
}

// leaveBy is leave by register n, which it loads.
func (b *planner) leaveBy(n int, delta int64) fixups.Reason {
	if n < 0 {
		return fixups.ReasonNoScratch
	}
	w, r := b.exit(n, delta)
	if r != fixups.ReasonNone {
		return r
	}
	b.clobber(n)
	b.address(n, delta, func() { b.done(delta) })
	b.done(delta)
	b.emit(w | uint32(n)<<5)
	return fixups.ReasonNone
}

// exit is the branch by register n to Site + delta, which need not be a landing
// pad. BR asks for one, where pages are guarded (Arm ARM, D8.4.6.2); RET does not,
// but with a guarded control stack it compares its target with that (D11.1). Where
// both are on, there is only a way to pads.
func (b *planner) exit(n int, delta int64) (uint32, fixups.Reason) {
	switch {
	case b.env.BTI == reloc.Off:
	case b.env.GCS == reloc.Off:
		return wordRET, fixups.ReasonNone
	case b.env.GCS == reloc.Unknown:
		b.in.Hazards |= fixups.HazardShadowStack.Bit()
		return wordRET, fixups.ReasonNone
	case b.env.BTI == reloc.On && !b.isPad(delta, n == ip0 || n == ip1):
		return 0, fixups.ReasonNoReach
	}
	b.clobberBType()
	return wordBR, fixups.ReasonNone
}

// clobberBType declares that the target is entered with another BTYPE than the
// site's: one that asks for a landing pad that the site does not ask for, or for one
// of another kind. Where no page is guarded nothing looks at it.
func (b *planner) clobberBType() {
	b.p.Clobbers.Add(BTYPE)
	if b.env.BTI != reloc.Off {
		b.in.Hazards |= fixups.HazardLandingPad.Bit()
	}
}

// The landing pads: BTI, and the instructions that sign the return address as a
// function begins (Arm ARM, C6.2, BTI and PACIASP).
const (
	wordBTIJ     = 0xd503249f
	wordBTIJC    = 0xd50324df
	wordPACIASP  = 0xd503233f
	wordPACIBSP  = 0xd503237f
	wordPACIAPPC = 0xdac1a3fe
	wordPACIBPPC = 0xdac1a7fe
)

// isPad reports whether the code is known to have a landing pad at Site + delta
// that takes BR: any of them if the register is x16 or x17 (BTYPE 01), else, in a
// guarded page, those for jumps (BTYPE 11).
func (b *planner) isPad(delta int64, veneer bool) bool {
	w, ok := b.codeAt(delta)
	if !ok {
		return false
	}
	switch w {
	case wordBTIJ, wordBTIJC:
		return true
	case wordBTIC, wordPACIASP, wordPACIBSP, wordPACIAPPC, wordPACIBPPC:
		return veneer
	}
	return false
}

// isCallPad reports whether the code is known to have a landing pad at Site +
// delta that takes BLR (BTYPE 10).
func (b *planner) isCallPad(delta int64) bool {
	w, _ := b.codeAt(delta)
	switch w {
	case wordBTIC, wordBTIJC, wordPACIASP, wordPACIBSP, wordPACIAPPC, wordPACIBPPC:
		return true
	}
	return false
}

// codeAt is the instruction at Site + delta, if it is known.
func (b *planner) codeAt(delta int64) (uint32, bool) {
	if b.env.Code == nil {
		return 0, false
	}
	c := b.env.Code.Bytes(b.in.PC + uint64(delta))
	if len(c) < 4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(c), true
}

// tail ends the code of the jump form: all of the site's work is done and Site +
// delta comes next.
func (b *planner) tail(delta int64) fixups.Reason {
	b.done(delta)
	b.p.Tail = fixups.TailJump
	return b.leave(delta)
}

// guard ends the code of the step form. Where a trap stops the copy it is that
// trap; else it catches threads that nobody steps: the child that a system call
// makes. Where no branch leaves the slot it is a trap as well, whose point leads
// on.
func (b *planner) guard(delta int64) {
	b.done(delta)
	b.p.CopyLen = uint16(b.off())
	b.stopper(delta)
}

// stopper is the last part of guard.
func (b *planner) stopper(delta int64) {
	byBranch := b.env.Stop != fixups.StopTrap && (b.dist != distFar || b.in.Class == fixups.ClassKernelEntry)
	if byBranch && b.leave(delta) == fixups.ReasonNone {
		b.p.Tail = fixups.TailJump
		return
	}
	b.p.Tail = fixups.TailTrap
	b.emit(wordBRK)
}
