package reloc

import (
	"errors"

	"github.com/xol-go/xol/fixups"
)

// Analyze decodes the instruction at the start of code, which lives at pc, and
// looks at its context in env.Code. The error is a [fixups.Reason]. env may be
// nil: no context. If the context forbids moving the site alone, in is complete
// all the same.
func Analyze(in *Insn, a Arch, code []byte, pc uint64, env *Env) error {
	if err := DecodeFor(in, a, code, pc, env); err != nil {
		return err
	}
	return context(in, a, env)
}

// DecodeFor decodes for the processors of env.Vendor, without looking at the
// context. The error is a [fixups.Reason]. env may be nil: no vendor is known.
func DecodeFor(in *Insn, a Arch, code []byte, pc uint64, env *Env) error {
	if env != nil && env.Vendor != VendorUnknown {
		if d, ok := a.(VendorDecoder); ok {
			return d.DecodeFor(in, code, pc, env.Vendor)
		}
	}
	return a.Decode(in, code, pc)
}

func context(in *Insn, a Arch, env *Env) error {
	if env != nil {
		in.Hazards &^= env.ruledOut(a.Info().Guards)
	}
	if env == nil || env.Code == nil {
		if a.Info().NeedsContext {
			in.Hazards |= fixups.HazardContextUnknown.Bit()
		}
		return nil
	}
	if c, ok := a.(Contexter); ok {
		return c.Context(in, env)
	}
	return nil
}

// Relocate makes a plan for the instruction at the start of code, which lives
// at pc: the first that env allows in the order emulate, jump, step. The error
// is a [fixups.Reason]; p is empty then. A nil env is the zero one.
func Relocate(p *Plan, a Arch, code []byte, pc uint64, env *Env) error {
	in := &scratchOf(p).in
	*in = Insn{}
	p.Reset()
	env = orZero(env)
	if err := Analyze(in, a, code, pc, env); err != nil {
		return err
	}
	return a.Plan(p, in, env)
}

// Verdicts makes one verdict for each form that env allows, in order of
// preference, near variants before far ones where both is set. in is a decoded
// instruction. Storage of dst is reused.
func Verdicts(dst []fixups.Verdict, a Arch, in *Insn, env *Env, both bool) []fixups.Verdict {
	dst, s := firstScratch(dst)
	return s.eachVariant(dst, a, env, both, func(v *fixups.Verdict, e *Env) {
		v.Reason = fixups.ReasonNone
		if err := a.Plan(&v.Plan, in, e); err != nil {
			v.Reason = ReasonOf(err)
		}
	})
}

// refuseAll is Verdicts for a site that has no plan at all.
func (s *scratch) refuseAll(dst []fixups.Verdict, a Arch, env *Env, both bool, r fixups.Reason) []fixups.Verdict {
	return s.eachVariant(dst, a, env, both, func(v *fixups.Verdict, _ *Env) {
		v.Plan.Reset()
		v.Reason = r
	})
}

// eachVariant calls fill for each form and kind of slot that is asked for, with
// an Env that asks for just that.
func (s *scratch) eachVariant(dst []fixups.Verdict, a Arch, env *Env, both bool, fill func(*fixups.Verdict, *Env)) []fixups.Verdict {
	dst = dst[:0]
	e := &s.env
	*e = *orZero(env)
	asked, slots := e.Forms, e.Slots
	add := func(f fixups.Form, s Slots) {
		if len(dst) < cap(dst) {
			dst = dst[:len(dst)+1]
		} else {
			dst = append(dst, fixups.Verdict{})
		}
		v := &dst[len(dst)-1]
		v.Form, v.Far = f, s == SlotsFar && f != fixups.FormEmulate
		e.Forms, e.Slots = f.Bit(), s
		fill(v, e)
	}
	for _, f := range Order {
		switch {
		case !asked.Has(f):
		case f == fixups.FormEmulate || !both:
			add(f, slots)
		case a.Info().NearOnly:
			add(f, SlotsNear)
		default:
			add(f, SlotsNear)
			add(f, SlotsFar)
		}
	}
	e.Code = nil // the caller's text is not kept alive
	return dst
}

// Order is the default order of preference of the forms.
var Order = [...]fixups.Form{fixups.FormEmulate, fixups.FormJump, fixups.FormStep}

// ReasonOf returns the reason in err or in an error that it wraps,
// [fixups.ReasonNone] if err is nil, and [fixups.ReasonUnknown] if it has none.
func ReasonOf(err error) fixups.Reason {
	if r, ok := err.(fixups.Reason); ok {
		return r
	}
	return wrappedReason(err)
}

// wrappedReason is the slow way of ReasonOf: it allocates.
func wrappedReason(err error) fixups.Reason {
	r := fixups.ReasonUnknown
	if err == nil {
		r = fixups.ReasonNone
	}
	errors.As(err, &r)
	return r
}

// FirstForm calls plan for each form that env allows, in order of preference,
// until one succeeds. Ports use it to write Plan. p is reset before each call.
func FirstForm(p *Plan, env *Env, plan func(fixups.Form) fixups.Reason) error {
	reason := fixups.ReasonUnknown
	for _, f := range Order {
		if !env.Forms.Has(f) {
			continue
		}
		p.Reset()
		p.Form = f
		if reason = plan(f); reason == fixups.ReasonNone {
			return nil
		}
	}
	p.Reset()
	return reason
}
