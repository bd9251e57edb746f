package ppc64

import (
	"math"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Plan implements [reloc.Arch]. Far slots are left by way of TAR, CTR or LR: one of
// them has to be dead, by Env.Dead or Env.ABI, and a general register dead or
// spilled; see scratch.go.
func (a *Arch) Plan(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) error {
	if crossesLine(in) {
		p.Reset()
		return fixups.ReasonPrefixLine // so says the context, too, if there is one
	}
	if env.Forms == fixups.FormJump.Bit() && a.nearJump(p, in, env) {
		return nil
	}
	b := a.newPlanner(p, in, env)
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

func (a *Arch) newPlanner(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) planner {
	b := planner{p: p, in: in, env: env, a: a, w: uint32(in.Ext[0])}
	if in.Len == pairLen {
		b.w, b.w2 = uint32(in.Ext[0]>>32), uint32(in.Ext[0])
	}
	return b
}

// span says how far from the site the slot may be, which is what decides between
// the plans of one form.
type span struct {
	near  bool // the slot is left by b
	wide  bool // operands with R=1 are re-encoded
	close bool // conditional branches go directly to their targets
	flat  bool // addpcis is built, and leaves the slot free
}

// The spans, from the one with the shortest plans to the one that serves every slot.
var spans = [...]span{
	{near: true, wide: true, close: true},
	{near: true, wide: true},
	{near: true, wide: true, flat: true},
	{wide: true, flat: true},
	{flat: true},
}

const (
	spanNear = 1
	spanFar  = len(spans) - 1
)

// form makes the plan of one form. Where a range of slots is asked for, the first
// plan is taken that has all of the range in its reach.
func (b *planner) form(f fixups.Form) fixups.Reason {
	if b.in.Class == fixups.ClassInvalid || b.in.Len == 0 {
		return fixups.ReasonReserved
	}
	switch {
	case f == fixups.FormEmulate:
		return b.slotless()
	case b.env.Slots == reloc.SlotsFar:
		return b.slot(f, &spans[spanFar])
	case b.env.Slots == reloc.SlotsNear:
		return b.slot(f, &spans[spanNear])
	}
	r := fixups.ReasonNoReach
	for i := range spans {
		if r = b.slot(f, &spans[i]); r == fixups.ReasonNone && b.serves() {
			return r
		}
	}
	return r
}

// serves reports whether the plan holds for every slot of the range asked for.
func (b *planner) serves() bool {
	lo, hi := b.env.SlotMin, b.env.SlotMax
	r := &b.p.Reach
	return b.p.Far && r.Align <= 1 || r.Min <= lo && hi <= r.Max && (r.Align <= 1 || lo == hi && r.Holds(lo))
}

func (b *planner) slotless() fixups.Reason {
	b.reset(fixups.FormEmulate)
	b.p.Strategy = fixups.StrategyEmulate
	b.p.Reach = fixups.AnyReach()
	b.p.Far = true
	return b.emulate()
}

func (b *planner) slot(f fixups.Form, s *span) fixups.Reason {
	b.reset(f)
	b.p.SlotAlign = wordLen
	b.span = *s
	b.min, b.max = math.MinInt64, math.MaxInt64
	step := f == fixups.FormStep
	if step {
		b.p.Stop = b.env.Stop
	}
	r := b.slotCode(step)
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

// slotCode makes the code of the step and jump forms. The families are an
// allow-list: what has none here is refused.
func (b *planner) slotCode(step bool) fixups.Reason {
	switch f := familyOf(b.in); f {
	case famPlain, famPrefixed, famNop, famWait:
		return b.plain(step)
	case famB, famBC:
		return b.branch(step)
	case famBCLR, famBCCTR, famBCTAR:
		return b.indirect(step)
	case famAddPCIS, famPADDI:
		return b.address(step)
	case famPLoad, famPLoadTwo, famPAccess:
		return b.operand(step)
	case famExclusive:
		return fixups.ReasonExclusive
	case famSC:
		return b.systemCall(step)
	case famSCV:
		return b.systemCallVectored(step)
	case famTrap:
		return b.trap(step)
	case famTBEGIN, famTM, famTMPriv:
		return b.transaction(f, step)
	case famRFEBB:
		return b.rfebb(step)
	case famAttn, famRFI, famStop, famMFMSR, famMTMSR, famSystem:
		return b.system(step)
	}
	return fixups.ReasonUnknown
}

// familyOf returns how in is planned.
func familyOf(in *reloc.Insn) family { return family(in.Ext[1]) }
