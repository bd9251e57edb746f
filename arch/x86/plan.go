package x86

import (
	"encoding/binary"
	"math"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Plan implements [reloc.Arch]. It adds the hazards shadow-stack and landing-pad
// to in where env does not say whether these protections are on and the plan was
// made as if they were off.
func (a *Arch) Plan(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) error {
	if env.Forms == fixups.FormJump.Bit() && a.nearJump(p, in, env) {
		return nil
	}
	b := planner{p: p, in: in, env: env, l: lay(in), a: a}
	reason := fixups.ReasonUnknown
	for _, f := range reloc.Order {
		if !env.Forms.Has(f) {
			continue
		}
		if reason = b.form(f); reason == fixups.ReasonNone {
			return nil
		}
	}
	p.Reset()
	return reason
}

// form makes the plan of one form. Where a range of slots is asked for, the near
// plan is taken if all of the range is in its reach.
func (b *planner) form(f fixups.Form) fixups.Reason {
	if b.in.Class == fixups.ClassInvalid || b.in.Len == 0 {
		return fixups.ReasonReserved
	}
	if isRSeqSignature(b.in) {
		b.in.Hazards |= fixups.HazardRSeq.Bit()
		return fixups.ReasonData
	}
	if f == fixups.FormEmulate {
		return b.slotless()
	}
	if b.a.m64 && b.env.Slots == reloc.SlotsFar {
		return b.slot(f, false)
	}
	r := b.slot(f, true)
	if !b.a.m64 || b.env.Slots != reloc.SlotsRange {
		return r
	}
	if r == fixups.ReasonNone && b.p.Reach.Min <= b.env.SlotMin && b.env.SlotMax <= b.p.Reach.Max {
		return r
	}
	return b.slot(f, false)
}

func (b *planner) slotless() fixups.Reason {
	b.reset(fixups.FormEmulate)
	b.p.Strategy = fixups.StrategyEmulate
	b.p.Reach = anySlot
	b.p.Far = true
	return b.emulate()
}

func (b *planner) slot(f fixups.Form, near bool) fixups.Reason {
	b.reset(f)
	b.near, b.min, b.max = near, math.MinInt64, math.MaxInt64
	if f == fixups.FormStep {
		b.p.Stop = b.env.Stop
	}
	r := b.slotCode()
	if r == fixups.ReasonNone {
		b.reach()
	}
	return r
}

func (b *planner) reset(f fixups.Form) {
	b.p.Reset()
	b.p.Form = f
	b.p.SiteLen = b.in.Len
}

var anySlot = fixups.Reach{Min: -1 << 63, Max: 1<<63 - 1}

// slotCode makes the code of the step and jump forms. The classes are an
// allow-list: what has no family here is refused.
func (b *planner) slotCode() fixups.Reason {
	step := b.p.Form == fixups.FormStep
	switch b.in.Class {
	case fixups.ClassPlain:
		return b.plain(step)
	case fixups.ClassPCRelative:
		return b.pcRelative(step)
	case fixups.ClassBranch:
		return b.jump(step)
	case fixups.ClassCondBranch:
		return b.condJump(step)
	case fixups.ClassCall:
		return b.call(step)
	case fixups.ClassIndirectBranch, fixups.ClassReturn:
		return b.indirect(step)
	case fixups.ClassIndirectCall:
		return b.indirectCall(step)
	case fixups.ClassPrivileged, fixups.ClassTrap, fixups.ClassKernelEntry:
		return b.system(step)
	case fixups.ClassTransaction:
		return b.transaction(step)
	case fixups.ClassExclusive:
		return fixups.ReasonExclusive
	}
	return fixups.ReasonUnknown
}

// short reports whether the operand size of a branch is 16 bits: the target and
// the pushed or popped address are cut to that. In 64-bit mode that is so on the
// processors of one vendor: see vendor.go.
func (b *planner) short() bool { return b.l.opSize() == 2 }

// pushSize is the size in bytes of the return address that a near call pushes.
func (b *planner) pushSize() int {
	if b.short() {
		return 2
	}
	return b.word()
}

// word is the size in bytes of an address and of a stack slot.
func (b *planner) word() int {
	if b.a.m64 {
		return 8
	}
	return 4
}

// width is the size in bits of pc.
func (b *planner) width() uint8 { return uint8(b.a.info.Bits) }

func (b *planner) sp() fixups.Operand    { return fixups.R(b.a.info.SP) }
func (b *planner) flags() fixups.Operand { return fixups.R(b.a.info.Flags) }

// reg is the general register of hardware number n.
func (b *planner) reg(n int) fixups.Operand { return fixups.R(b.a.general(n)) }

// general is the register number of hardware register n. The two orders differ
// in 64-bit mode.
func (a *Arch) general(n int) fixups.Reg {
	switch {
	case !a.m64:
		return fixups.Reg(n & 7)
	case n < 8:
		return [8]fixups.Reg{RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI}[n]
	case n < 16:
		return fixups.Reg(n)
	}
	return R16 + fixups.Reg(n-16)
}

// regField is the register that ModRM.reg names, extended by prefixes.
func (l *layout) regField() int { return l.reg() | l.r()<<3 | l.r4()<<4 }

// rmField is the register that ModRM.rm names if mod is 3.
func (l *layout) rmField() int { return l.rm() | l.b()<<3 | l.b4()<<4 }

// opcodeReg is the register in the low bits of the opcode.
func (l *layout) opcodeReg() int { return int(l.opcode()&7) | l.b()<<3 | l.b4()<<4 }

// highByte reports whether register n of a byte operand is ah, ch, dh or bh: 4
// to 7 without any REX prefix.
func (l *layout) highByte(n int) bool {
	return n >= 4 && n <= 7 && l.enc() == encLegacy && !l.pfx(pfxREX)
}

// signed reads the n-byte signed number at off.
func signed(code *[16]byte, off, n int) int64 {
	v := binary.LittleEndian.Uint64(code[8:])
	if off < 8 {
		v = binary.LittleEndian.Uint64(code[:])>>(8*off) | v<<(8*(7-off))<<8
	} else {
		v >>= 8 * (off - 8)
	}
	s := 64 - 8*n
	return int64(v<<s) >> s
}

// target is the branch target or the rip-relative address, as an offset from the
// site, before any cut to 16 or 32 bits.
func (b *planner) target() int64 {
	if b.l.has(flagRelImm) {
		return b.next() + signed(&b.in.Bytes, b.l.immOff(), b.l.immLen())
	}
	return b.next() + signed(&b.in.Bytes, b.l.dispOff(), b.l.dispLen())
}

// disp is the displacement of the memory operand, 0 if it has none.
func (b *planner) disp() int64 {
	n := b.l.dispLen()
	if n == 0 {
		return 0
	}
	return signed(&b.in.Bytes, b.l.dispOff(), n)
}
