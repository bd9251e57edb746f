package reloc

import "github.com/xol-go/xol/fixups"

// Analyze decodes the instruction at the start of code, which lives at pc, and
// looks at its context in env.Code. The error is a [fixups.Reason]. env may be
// nil: no context. If the context forbids moving the site alone, in is complete
// all the same.
func Analyze(in *Insn, a Arch, code []byte, pc uint64, env *Env) error {
	if err := a.Decode(in, code, pc); err != nil {
		return err
	}
	return context(in, a, env)
}

func context(in *Insn, a Arch, env *Env) error {
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
// is a [fixups.Reason]; p is empty then.
func Relocate(p *Plan, a Arch, code []byte, pc uint64, env *Env) error {
	var in Insn
	p.Reset()
	if err := Analyze(&in, a, code, pc, env); err != nil {
		return err
	}
	return a.Plan(p, &in, env)
}

// Verdicts makes one verdict for each form that env allows, in order of
// preference, near variants before far ones where slots asks for both. in is a
// decoded instruction. Storage of dst is reused.
func Verdicts(dst []fixups.Verdict, a Arch, in *Insn, env *Env, both bool) []fixups.Verdict {
	dst = dst[:0]
	for _, f := range Order {
		if !env.Forms.Has(f) {
			continue
		}
		e := *env
		e.Forms = f.Bit()
		switch {
		case f == fixups.FormEmulate || !both:
			dst = verdict(dst, a, in, &e, e.Slots == SlotsFar && f != fixups.FormEmulate)
		default:
			e.Slots = SlotsNear
			dst = verdict(dst, a, in, &e, false)
			if !a.Info().NearOnly {
				e.Slots = SlotsFar
				dst = verdict(dst, a, in, &e, true)
			}
		}
	}
	return dst
}

func verdict(dst []fixups.Verdict, a Arch, in *Insn, env *Env, far bool) []fixups.Verdict {
	if len(dst) < cap(dst) {
		dst = dst[:len(dst)+1]
	} else {
		dst = append(dst, fixups.Verdict{})
	}
	v := &dst[len(dst)-1]
	v.Far, v.Reason = far, fixups.ReasonNone
	for _, f := range Order {
		if env.Forms.Has(f) {
			v.Form = f
		}
	}
	if err := a.Plan(&v.Plan, in, env); err != nil {
		v.Reason = ReasonOf(err)
	}
	return dst
}

// Order is the default order of preference of the forms.
var Order = [...]fixups.Form{fixups.FormEmulate, fixups.FormJump, fixups.FormStep}

// ReasonOf returns the reason in err, [fixups.ReasonUnknown] if it has none.
func ReasonOf(err error) fixups.Reason {
	if r, ok := err.(fixups.Reason); ok {
		return r
	}
	return fixups.ReasonUnknown
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
