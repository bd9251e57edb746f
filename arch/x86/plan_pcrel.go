package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// pcRelative moves an instruction with a rip-relative operand.
//
// In a near slot the displacement is filled in anew. With an address-size prefix
// the sum is cut to 32 bits, so a displacement exists for every slot there is:
// such a site is never far. Everything else that is far needs the address from
// elsewhere; see farJump for the jump form. A stepped copy has a register to
// spare, since programs run before and after it.
func (b *planner) pcRelative(step bool) fixups.Reason {
	if !b.l.has(flagRIPRel) {
		return fixups.ReasonUnknown
	}
	if r := b.hazards(copyable | fixups.HazardReadsPC.Bit()); r != fixups.ReasonNone {
		return r
	}
	b.p.X87 = b.in.Hazards.Has(fixups.HazardX87FIP)
	if b.near || b.l.pfx(pfx67) {
		return b.reencode(step)
	}
	if step {
		return b.scratchStep()
	}
	return b.farJump()
}

// reencode copies the instruction with a new displacement.
func (b *planner) reencode(step bool) fixups.Reason {
	b.p.Strategy = fixups.StrategyReEncode
	b.start()
	b.copyRIP()
	if !step {
		return b.tail(b.next())
	}
	b.guard(b.next())
	b.p.Post, b.p.Abort = b.postCopy(), gotoSite
	return fixups.ReasonNone
}

// copyRIP emits the instruction with its displacement, behind which an immediate
// may follow, as a field.
func (b *planner) copyRIP() {
	b.bytes(b.in.Bytes[:b.l.modrmOff()]...)
	b.ripOperand()
}

// ripOperand emits what copyRIP does from ModRM on.
func (b *planner) ripOperand() {
	d := b.l.dispOff()
	b.bytes(b.in.Bytes[b.l.modrmOff():d]...)
	lo, hi := b.min, b.max
	b.rel(int(b.in.Len)-d-4, b.target())
	if b.l.pfx(pfx67) {
		b.p.Relocs[len(b.p.Relocs)-1].Check = fixups.CheckWrap
		b.min, b.max = lo, hi
	}
	b.bytes(b.in.Bytes[d+4 : b.in.Len]...)
}

// scratchStep steps a copy whose operand is [scratch]. The register is loaded
// with the address before, and put back after, whatever happened. It is one that
// the instruction neither reads nor writes, implicitly or not, so nothing can
// tell; and none of rsp, rbp, r12, r13, which mean other things as a base or
// take another segment. The points have no programs: only Post and Abort know
// the saved value.
func (b *planner) scratchStep() fixups.Reason {
	var use reloc.RegUse
	b.a.Registers(&use, b.in)
	n := scratch(&use)
	if n < 0 {
		return fixups.ReasonNoScratch
	}
	b.p.Strategy = fixups.StrategyDeadReg
	s := b.reg(n)
	b.p.Pre = b.p.Program(mov(fixups.T(0), s), mov(s, fixups.SitePlus(b.target())))
	b.p.Abort = b.p.Program(mov(s, fixups.T(0)), mov(fixups.PC(), fixups.SitePlus(0)))
	b.point(fixups.StateStart, nil, nil)
	b.rebase(n)
	b.guard(b.next())
	b.lastPoint(fixups.StateDone, nil)
	q := b.begin()
	q.mov(s, fixups.T(0))
	b.afterCopy(&q)
	b.p.Post = q.program()
	return fixups.ReasonNone
}

// scratch is the hardware number of a register that the instruction leaves
// alone, -1 if there is none.
func scratch(use *reloc.RegUse) int {
	for _, n := range [...]int{6, 7, 3, 1, 2, 0} {
		r := AMD64.general(n)
		if !use.Reads.Has(r) && !use.Writes.Has(r) {
			return n
		}
	}
	return -1
}

// move is a move between a register and memory that moffs can do.
type move struct {
	reg   int  // hardware number
	high  bool // ah, ch, dh or bh
	load  bool
	size  int  // bytes in memory
	wide  int  // bytes in the register
	sign  bool // sign-extended from size to wide
	plain bool // size = wide
}

// move recognises MOV, MOVZX, MOVSX and MOVSXD of a general register and a
// memory operand. MOV with a lock elision prefix is not one of them: a transaction
// may hang on it.
func (b *planner) move() (m move, ok bool) {
	l := b.l
	if l.enc() != encLegacy && l.enc() != encREX2 || !l.has(flagMem) {
		return m, false
	}
	m = move{reg: l.regField(), load: true, wide: l.opSize()}
	switch l.opmap()<<8 | int(l.opcode()) {
	case 0x088, 0x08a:
		m.size, m.wide, m.high = 1, 1, l.highByte(l.regField())
		m.load = l.opcode() == 0x8a
		m.plain = true
	case 0x089, 0x08b:
		m.size, m.load, m.plain = m.wide, l.opcode() == 0x8b, true
	case 0x063:
		if b.movsxd16() && b.env.Vendor != reloc.VendorIntel {
			return m, false
		}
		m.size, m.sign = min(4, m.wide), true
	case 0x1b6, 0x1be:
		m.size, m.sign = 1, l.opcode() == 0xbe
	case 0x1b7, 0x1bf:
		m.size, m.sign = 2, l.opcode() == 0xbf
	default:
		return m, false
	}
	return m, !m.plain || !l.pfx(pfxF2|pfxF3|pfxLock)
}

// movsxd16 reports whether the instruction is MOVSXD with 16-bit operands. Intel's
// processors read two bytes (SDM volume 2, MOVSXD); APM volume 3 has a source of 32
// bits only.
func (b *planner) movsxd16() bool {
	return b.a.m64 && b.l.opmap() == 0 && b.l.opcode() == 0x63 && b.l.opSize() == 2
}

// isLEA reports whether the instruction only computes the address.
func (b *planner) isLEA() bool { return b.l.opmap() == 0 && b.l.opcode() == 0x8d }
