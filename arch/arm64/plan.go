package arm64

import (
	"math"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Plan implements [reloc.Arch]. It adds the hazards shadow-stack and landing-pad
// to in where env does not say whether these protections are on and the plan was
// made as if they were off.
func (a *Arch) Plan(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) error {
	if env.Forms == fixups.FormJump.Bit() && nearJump(p, in, env) {
		return nil
	}
	b := planner{p: p, in: in, env: env, a: a, w: uint32(in.Ext[0])}
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

// family is what the tables say of how to plan the instruction.
func (b *planner) family() family { return familyOf(b.in) }

// familyOf is the family of a decoded instruction.
func familyOf(in *reloc.Insn) family { return family(in.Ext[1]) }

// form makes the plan of one form. For near slots that is one that reaches as far
// as B, if there is one. Where a range of slots is asked for, the first plan whose
// reach has all of it is taken: with the site's own field, with B, any slot.
func (b *planner) form(f fixups.Form) fixups.Reason {
	switch {
	case b.in.Class == fixups.ClassInvalid || b.in.Len == 0:
		return fixups.ReasonReserved
	case b.w == rseqSignature:
		b.in.Hazards |= fixups.HazardRSeq.Bit()
		return fixups.ReasonData
	case f == fixups.FormEmulate:
		return b.slotless()
	case b.env.Slots == reloc.SlotsNear:
		return b.slot(f, distNear)
	case b.env.Slots == reloc.SlotsRange:
		for _, d := range [...]distance{distShort, distNear} {
			if r := b.slot(f, d); r == fixups.ReasonNone && b.p.Reach.Min <= b.env.SlotMin && b.env.SlotMax <= b.p.Reach.Max {
				return r
			}
		}
	}
	return b.slot(f, distFar)
}

func (b *planner) slotless() fixups.Reason {
	b.reset(fixups.FormEmulate)
	b.p.Strategy = fixups.StrategyEmulate
	b.p.Reach = fixups.AnyReach()
	b.p.Far = true
	return b.emulate()
}

func (b *planner) slot(f fixups.Form, d distance) fixups.Reason {
	b.reset(f)
	b.dist, b.min, b.max, b.pools = d, math.MinInt64, math.MaxInt64, 0
	step := f == fixups.FormStep
	if step {
		b.p.Stop = b.env.Stop
	}
	r := b.slotCode(step)
	if r == fixups.ReasonNone {
		b.finish()
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
	switch f := b.family(); f {
	case famPlain, famNop, famBTI, famMRS, famMSR, famGCS:
		return b.plain(step)
	case famB:
		return b.branch(step)
	case famBCond, famCBZ, famTBZ, famCBReg, famCBImm:
		return b.condBranch(step)
	case famBL:
		return b.call(step)
	case famBLR, famBLRAuth:
		return b.indirectCall(step)
	case famBR, famRET, famBRAuth, famRETAuth, famRETPPCR:
		return b.asIs(step)
	case famADR, famADRP:
		return b.pcAddress(step)
	case famLDRLit, famLDRVLit, famPRFMLit:
		return b.pcLoad(step)
	case famAUTPPC, famRETPPC:
		return b.authPC(step)
	case famPACPPC:
		return b.signPC(step)
	case famExclusive:
		return fixups.ReasonExclusive
	case famPACM, famMOPS, famMOVPRFX:
		return fixups.ReasonAdjacent
	case famTSTART, famTME:
		return b.transaction(step)
	default:
		return b.system(step, f)
	}
}
