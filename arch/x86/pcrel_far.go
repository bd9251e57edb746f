package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// farJump is the jump form of a rip-relative instruction that any slot can hold.
// In the order of preference: a constant for LEA; MOV through a 64-bit absolute
// address, which only the accumulator has; the destination as its own base, if
// the caller allows its loss on a fault; an absolute address of 32 bits; a dead
// register; one that waits in the slot's data or, last, on the stack.
func (b *planner) farJump() fixups.Reason {
	if b.isLEA() {
		return b.farLEA()
	}
	if m, ok := b.move(); ok && (m.reg != 4 || m.high) {
		return b.farMove(m)
	}
	var use reloc.RegUse
	b.a.Registers(&use, b.in)
	switch {
	case b.env.AllowLost && b.ownDest(&use):
	case b.lowAbsolute():
	case b.lowAddr32():
	case b.deadReg(&use):
	case b.hasData():
		return b.dataSpill(&use)
	default:
		return b.spill(&use)
	}
	return b.tail(b.next())
}

// farLEA loads the address as a constant of the operand's size.
func (b *planner) farLEA() fixups.Reason {
	b.p.Strategy = fixups.StrategyOwnDest
	b.start()
	n := b.l.regField()
	switch b.l.opSize() {
	case 8:
		b.movImm(n, b.target())
	case 4:
		b.withReg(false, 0xb8, n)
		b.abs(4, b.target())
	default:
		b.bytes(0x66)
		b.withReg(false, 0xb8, n)
		b.abs(2, b.target())
	}
	return b.tail(b.next())
}

// farMove moves through the accumulator, the one register that can be loaded and
// stored at a 64-bit address. Another register changes places with it before and
// after: at no boundary is a value only in memory, and a fault at the access is
// undone by one more exchange. The stack pointer never takes part.
//
// MOVZX and MOVSX load the narrow value first. From then on the low bits of the
// destination are gone, so the way out is forward.
func (b *planner) farMove(m move) fixups.Reason {
	b.p.Strategy = fixups.StrategyAbsolute
	b.start()
	swapped := m.reg != 0 || m.high
	if swapped {
		b.exchange(m)
		b.point(fixups.StateStart, b.exchanged(m, 0, false), nil)
	}
	b.moffs(m)
	if !m.plain {
		b.point(fixups.StatePart, nil, b.exchanged(m, b.next(), true))
		b.extend(m)
	}
	if swapped {
		b.point(fixups.StatePart, nil, b.exchanged(m, b.next(), false))
		b.exchange(m)
	}
	return b.tail(b.next())
}

// exchange emits the exchange of the accumulator and the register of m.
func (b *planner) exchange(m move) {
	if m.high {
		b.bytes(0x86, 0xc0|byte(m.reg)<<3)
		return
	}
	b.withReg(true, 0x90, m.reg)
}

// exchanged is the program that finishes a move through the accumulator: extend
// the value that was loaded, if that is still to be done, exchange, and go to
// Site + delta.
func (b *planner) exchanged(m move, delta int64, extend bool) fixups.Program {
	q := b.begin()
	rax, t0, t1 := fixups.R(RAX), fixups.T(0), fixups.T(1)
	if extend {
		q.extend(t1, rax, m)
		q.writeReg(rax, t1, m.wide, false)
	}
	switch {
	case m.high:
		r := b.reg(m.reg - 4)
		q.extract(t0, rax, 0, 8)
		q.extract(t1, r, 8, 8)
		q.insert(rax, t1, 0, 8)
		q.insert(r, t0, 8, 8)
	case m.reg != 0:
		r := b.reg(m.reg)
		q.mov(t0, rax)
		q.mov(rax, r)
		q.mov(r, t0)
	}
	q.mov(fixups.PC(), fixups.SitePlus(delta))
	return q.program()
}

// moffs emits the move between the accumulator and the 64-bit address.
func (b *planner) moffs(m move) {
	if s := b.l.seg(); s >= 5 {
		b.bytes(byte(0x64 + s - 5))
	}
	opcode := byte(0xa1)
	switch m.size {
	case 1:
		opcode = 0xa0
	case 2:
		b.bytes(0x66)
	case 8:
		b.bytes(0x48)
	}
	if !m.load {
		opcode += 2
	}
	b.bytes(opcode)
	b.abs(8, b.target())
}

// extend emits the site's own MOVZX, MOVSX or MOVSXD within the accumulator.
func (b *planner) extend(m move) {
	if m.wide == 2 {
		b.bytes(0x66)
	}
	if m.wide == 8 {
		b.bytes(0x48)
	}
	if b.l.opmap() == 1 {
		b.bytes(0x0f)
	}
	b.bytes(b.l.opcode(), 0xc0)
}

// canBase reports whether a fault at [n] is the fault at the site. An address that
// is not canonical is a stack fault if rsp or rbp is the base and a protection
// fault otherwise (SDM volume 1, 3.7.4 and 3.7.5.1); r12 and r13, which share their
// encodings, select no stack.
func canBase(n int) bool { return n != 4 && n != 5 }

// ownDest uses a register that the instruction overwrites, whatever happens, and
// does not read.
func (b *planner) ownDest(use *reloc.RegUse) bool {
	for n := range 16 {
		r := b.a.general(n)
		if canBase(n) && use.Kills.Has(r) && !use.Reads.Has(r) && b.based(n, true) {
			b.p.Strategy = fixups.StrategyOwnDest
			return true
		}
	}
	return false
}

// deadReg uses a register that is dead here.
func (b *planner) deadReg(use *reloc.RegUse) bool {
	for n := range 16 {
		r := b.a.general(n)
		if canBase(n) && b.isDead(r) && !use.Reads.Has(r) && !use.Writes.Has(r) && b.based(n, false) {
			b.p.Strategy = fixups.StrategyDeadReg
			b.p.Clobbers.Add(r)
			return true
		}
	}
	return false
}

// isDead reports whether the caller or the ABI says that r is dead. At a
// function's entry and at a call the System V ABI (AMD64, section 3.2.3) leaves
// r11 alone; r10 may hold a static chain and rax the number of vector arguments.
// Windows leaves rax, r10 and r11. In Go code (internal ABI) all of them can
// hold arguments.
//
// That a site is an entry is the caller's word. That it is a call is seen here:
// of a branch it is not known whether it leaves for a function.
func (b *planner) isDead(r fixups.Reg) bool {
	if b.env.Dead.Has(r) {
		return true
	}
	if b.env.ABI == reloc.ABINone || b.env.Lang == reloc.LangGo {
		return false
	}
	if c := b.in.Class; b.env.ABI == reloc.ABICall && (c != fixups.ClassCall && c != fixups.ClassIndirectCall || b.callsResolver()) {
		return false
	}
	return r == 11 || b.env.OS == reloc.Windows && (r == RAX || r == 10)
}

// callsResolver reports whether the site may be the call of a TLS descriptor's
// resolver, which preserves all registers but rax: call [rax], always, so that linkers
// find it (AMD64 ABI, 4.4.1, R_X86_64_TLSDESC_CALL).
func (b *planner) callsResolver() bool {
	return b.env.OS == reloc.Linux && b.in.Class == fixups.ClassIndirectCall && b.in.Len == 2 && b.in.Bytes[0] == 0xff && b.in.Bytes[1] == 0x10
}

// based emits mov n,address and the instruction with [n]. Between them the old
// value of n is gone, which is a loss unless n is dead.
func (b *planner) based(n int, lost bool) bool {
	code, relocs, points := len(b.p.Code), len(b.p.Relocs), len(b.p.Points)
	b.start()
	b.movImm(n, b.target())
	pt := b.point(fixups.StateStart, gotoSite, nil)
	if lost {
		pt.Lost.Add(b.a.general(n))
		b.p.Lost = pt.Lost
	}
	if !b.rebase(n) {
		b.p.Code, b.p.Relocs, b.p.Points = b.p.Code[:code], b.p.Relocs[:relocs], b.p.Points[:points]
		b.p.Lost = fixups.RegSet{}
		return false
	}
	return true
}

// lowAbsolute uses the absolute form for data in the lowest or highest 2 GiB. The
// field is checked when the plan is placed, for the site may have moved.
func (b *planner) lowAbsolute() bool {
	if m := int64(b.in.PC) + b.target(); b.env.Biased || m != int64(int32(m)) {
		return false
	}
	code, points := len(b.p.Code), len(b.p.Points)
	b.start()
	if !b.absolute() {
		b.p.Code, b.p.Points = b.p.Code[:code], b.p.Points[:points]
		return false
	}
	b.p.Strategy = fixups.StrategyAbsolute
	return true
}

// lowAddr32 serves data between 2 and 4 GiB: with an address-size prefix the
// displacement is taken modulo 2^32, so there is one for every slot. The field is
// filled in twice: first with the address itself, which is where placing checks
// that it still lies below 4 GiB, then with the displacement. Instructions to
// which the prefix means more than the operand's address are left out.
func (b *planner) lowAddr32() bool {
	if m := b.in.PC + uint64(b.target()); b.env.Biased || m>>32 != 0 || b.in.Len >= longest || b.addrSizeMatters() {
		return false
	}
	b.p.Strategy = fixups.StrategyAbsolute
	b.start()
	d := b.l.dispOff()
	b.bytes(0x67)
	b.bytes(b.in.Bytes[:d]...)
	off := uint16(b.grow(4))
	tail := int64(int(b.in.Len) - d - 4)
	b.p.Relocs = append(b.p.Relocs,
		fixups.Reloc{Addend: b.target(), Off: off, Size: 4, Bits: 32, Check: fixups.CheckUnsigned},
		fixups.Reloc{Addend: b.target() - 4 - tail, Off: off, Size: 4, Bits: 32, PCRel: true, Check: fixups.CheckWrap})
	b.bytes(b.in.Bytes[d+4 : b.in.Len]...)
	return true
}

// addrSizeMatters reports whether the address size is also that of a register
// operand (MOVDIR64B, ENQCMD, ENQCMDS; also as EVEX), not allowed (the bound
// instructions, 0F 1A and 1B), or cuts more than the displacement: BT, BTS, BTR
// and BTC add the bit offset in their register to the address, which may lead out
// of the lower 4 GiB (SDM volume 2, BT).
func (b *planner) addrSizeMatters() bool {
	op := b.l.opcode()
	switch b.l.opmap() {
	case 1:
		return op == 0x1a || op == 0x1b || op&0xe7 == 0xa3
	case 2, 4:
		return op == 0xf8
	}
	return false
}

// spill saves a register below the zone, with the stack pointer moved there
// first, so that at every boundary the saved value is at or above it: a signal
// spares it.
//
//	lea rsp,[rsp-zone]  push rsi  mov rsi,address  op [rsi]  pop rsi  lea rsp,[rsp+zone]
func (b *planner) spill(use *reloc.RegUse) fixups.Reason {
	n := scratch(use)
	if !b.spillable() || n < 0 {
		return fixups.ReasonNoScratch
	}
	b.p.Strategy = fixups.StrategySpill
	if use.Reads.Has(RSP) || use.Writes.Has(RSP) {
		return b.spillSP(use, n)
	}
	zone := b.zone()
	b.p.Stack = 8
	b.start()
	b.moveSP(-zone)
	b.spilled(fixups.StateStart, zone)
	b.withReg(false, 0x50, n)
	b.spilled(fixups.StateStart, zone, n)
	b.movImm(n, b.target())
	b.spilled(fixups.StateStart, zone, n)
	b.rebase(n)
	b.spilled(fixups.StateDone, zone, n)
	b.withReg(false, 0x58, n)
	b.spilled(fixups.StateDone, zone)
	b.moveSP(zone)
	return b.tail(b.next())
}

// spilled is a boundary with the given registers pushed below a zone, the last
// one on top. Its program pops them and goes to the site if nothing has happened
// yet, else to its end. Where there is no zone the boundary may be there already.
func (b *planner) spilled(s fixups.State, zone int64, regs ...int) {
	if zone == 0 && len(regs) == 0 {
		return
	}
	q := b.begin()
	for i := len(regs) - 1; i >= 0; i-- {
		q.load(b.reg(regs[i]), b.sp(), 8)
		q.add64(b.sp(), b.sp(), 8)
	}
	if zone != 0 {
		q.add64(b.sp(), b.sp(), zone)
	}
	if s == fixups.StateStart {
		q.mov(fixups.PC(), fixups.SitePlus(0))
		b.point(s, q.program(), nil)
		return
	}
	q.mov(fixups.PC(), fixups.SitePlus(b.next()))
	b.point(s, nil, q.program())
}

// maxZone is the largest zone that spills skip: it and what lies on it fit every
// displacement.
const maxZone = 1 << 30

// spillable reports whether registers may be saved below the zone.
func (b *planner) spillable() bool {
	z := b.zone()
	return b.env.Spill && z >= 0 && z <= maxZone
}

// zone is how many bytes below the stack pointer belong to the program.
func (b *planner) zone() int64 {
	zone, _ := b.env.ZoneOf(b.a.info)
	return int64(zone)
}
