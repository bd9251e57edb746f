package reloctest

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// site is one instruction under one environment, with a plan for it.
type site struct {
	*suite
	in  reloc.Insn
	env *reloc.Env
	p   *reloc.Plan
}

func (t *site) bad(rule *Rule, format string, args ...any) {
	detail := fmt.Sprintf(format, args...)
	t.rep.add(rule, t.in.Raw(), t.in.PC, "%v plan for %s: %s", t.p.Form, envText(t.env), detail)
}

// plans asks for every form under every environment.
func (s *suite) plans(in *reloc.Insn, code []byte) {
	for i := range s.envs {
		env := s.envs[i]
		at := *in
		if err := reloc.Analyze(&at, s.a, code, in.PC, &env); err != nil {
			continue // its context refuses it; the decoder was checked before
		}
		for _, f := range reloc.Order {
			if env.Forms.Has(f) {
				e := env
				e.Forms = f.Bit()
				s.planOne(&at, &e, f)
			}
		}
		if i < 2 {
			s.verdicts(&at, &env)
		}
	}
	s.invalid(in)
}

// ask calls Plan and turns a panic into an error.
func (s *suite) ask(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{v}
		}
	}()
	return s.a.Plan(p, in, env)
}

func (s *suite) planOne(in *reloc.Insn, env *reloc.Env, f fixups.Form) {
	t := &site{suite: s, in: *in, env: env, p: &s.plan}
	before := *in
	err := s.ask(t.p, &t.in, env)
	before.Hazards = t.in.Hazards | before.Hazards
	if before != t.in {
		t.bad(ruleKeepInsn, "it is now %+v", t.in)
		t.in = *in
	}
	if err != nil {
		t.refused(err)
		return
	}
	again := t.in
	if err := s.ask(&s.plan2, &again, env); err != nil || !t.p.Equal(&s.plan2) {
		t.bad(ruleSame, "asked again, it is another (%v)", err)
	}
	if t.p.Form != f || t.p.SiteLen != t.in.Len || t.p.Strategy == fixups.StrategyNone {
		t.bad(ruleForm, "form %v was asked for; SiteLen is %d, strategy %v", f, t.p.SiteLen, uint8(t.p.Strategy))
		return
	}
	t.asked()
	if !t.programs() {
		return
	}
	switch f {
	case fixups.FormEmulate:
		t.emulate()
	case fixups.FormStep:
		t.step()
		t.slot()
	default:
		t.jump()
		t.slot()
	}
}

// refused checks a refusal of Plan.
func (t *site) refused(err error) {
	switch r, ok := err.(fixups.Reason); {
	case isPanic(err):
		t.rep.add(ruleNoPanic, t.in.Raw(), t.in.PC, "Plan for %s %v", envText(t.env), err)
		return
	case !ok || r == fixups.ReasonNone:
		t.bad(ruleReason, "the error is %#v", err)
	}
	p := t.p
	if len(p.Code)+len(p.Relocs)+len(p.Points)+len(p.Escapes)+len(p.Pre)+len(p.Post)+len(p.Abort)+len(p.Emulate) > 0 ||
		p.Strategy != fixups.StrategyNone || p.SiteLen != 0 {
		t.bad(ruleEmpty, "refused as %v with %d bytes of code and strategy %v", err, len(p.Code), p.Strategy)
	}
}

// invalid asks for plans of what was never decoded.
func (s *suite) invalid(in *reloc.Insn) {
	bad := reloc.Insn{PC: in.PC}
	var env reloc.Env
	if err := s.ask(&s.plan, &bad, &env); err == nil {
		s.rep.add(ruleInvalid, in.Raw(), in.PC, "an empty Insn gets a %v plan", s.plan.Form)
	}
}

// verdicts compares Verdicts with what Plan says.
func (s *suite) verdicts(in *reloc.Insn, env *reloc.Env) {
	at := *in
	v := reloc.Verdicts(nil, s.a, &at, env, true)
	type key struct {
		form fixups.Form
		far  bool
	}
	var want, got []key
	for _, f := range reloc.Order {
		switch {
		case !env.Forms.Has(f):
		case f == fixups.FormEmulate || s.i.NearOnly:
			want = append(want, key{f, false})
		default:
			want = append(want, key{f, false}, key{f, true})
		}
	}
	for i := range v {
		got = append(got, key{v[i].Form, v[i].Far})
		if v[i].Reason == fixups.ReasonNone && v[i].Plan.Form != v[i].Form {
			s.rep.add(ruleVerdicts, in.Raw(), in.PC, "the verdict on %v has a %v plan", v[i].Form, v[i].Plan.Form)
		}
	}
	if !slices.Equal(got, want) {
		s.rep.add(ruleVerdicts, in.Raw(), in.PC, "%v, want %v", got, want)
	}
}

// asked checks that the plan takes no more than env gives.
func (t *site) asked() {
	p, e := t.p, t.env
	free := e.Dead
	if e.ABI != reloc.ABINone {
		free = fixups.RegSet{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	}
	if e.BTI == reloc.Off || t.in.Hazards.Has(fixups.HazardLandingPad) {
		free.Union(&t.i.PadRegs)
	}
	for r := range p.Clobbers.All() {
		if !free.Has(r) {
			t.bad(ruleAsked, "it clobbers %s", t.i.Regs.Name(r))
		}
	}
	if !p.Lost.IsEmpty() && !e.AllowLost {
		t.bad(ruleAsked, "registers are lost")
	}
	if p.Private && !e.Private || p.Alias && !e.Short {
		t.bad(ruleAsked, "private %t, alias %t", p.Private, p.Alias)
	}
	if p.IsCall && p.Returns == fixups.ReturnsSlot && e.Return != fixups.ReturnsSlot {
		t.bad(ruleAsked, "the callee sees an address in the slot")
	}
	var lost fixups.RegSet
	for i := range p.Points {
		lost.Union(&p.Points[i].Lost)
	}
	if lost != p.Lost {
		t.bad(ruleAsked, "Lost is not what the points lose")
	}
	if t.usesData() && (!e.Data || !p.Private) {
		t.bad(ruleAsked, "it needs data, private %t", p.Private)
	}
	if p.Form == fixups.FormStep && p.Stop != e.Stop {
		t.bad(ruleAsked, "stop %v", p.Stop)
	}
}

func (t *site) usesData() bool {
	for i := range t.p.Relocs {
		if t.p.Relocs[i].Base == fixups.BaseData {
			return true
		}
	}
	for _, prog := range t.allPrograms() {
		for i := range prog {
			s := &prog[i]
			if s.Dst.Kind == fixups.OperandData || s.A.Kind == fixups.OperandData || s.B.Kind == fixups.OperandData {
				return true
			}
		}
	}
	return false
}

// jump checks what only jump plans have.
func (t *site) jump() {
	if len(t.p.Pre)+len(t.p.Post)+len(t.p.Abort)+len(t.p.Emulate) > 0 {
		t.bad(ruleForm, "it has programs of other forms")
	}
}

// reach checks the range of slots, and places the plan at its edges.
func (t *site) reach() {
	r, e := t.slots(), t.env
	all := r.Min == math.MinInt64 && r.Max == math.MaxInt64
	switch {
	case r.Min > r.Max:
		t.bad(ruleReach, "from %d to %d", r.Min, r.Max)
		return
	case t.i.NearOnly:
	case e.Slots == reloc.SlotsFar && !all:
		t.bad(ruleReach, "far slots were asked for; it goes from %d to %d", r.Min, r.Max)
	case e.Slots == reloc.SlotsNear && (r.Max < t.i.NearMin || r.Min > t.i.NearMax):
		t.bad(ruleReach, "near slots were asked for; it goes from %d to %d", r.Min, r.Max)
	case e.Slots == reloc.SlotsRange && (r.Min > e.SlotMin || r.Max < e.SlotMax):
		t.bad(ruleReach, "slots from %d to %d were asked for; it goes from %d to %d", e.SlotMin, e.SlotMax, r.Min, r.Max)
	}
	step := int64(max(int(r.Align), int(t.p.SlotAlign), t.i.Align, 1))
	for _, d := range t.distances() {
		if t.addressable(d) {
			t.place(d, true)
		}
	}
	if r.Min > math.MinInt64+step {
		t.place(t.fit(r.Min, 1)-step, false)
	}
	if r.Max < math.MaxInt64-step {
		t.place(t.fit(r.Max, -1)+step, false)
	}
}

// slots is the reach; that of a far plan is everything.
func (t *site) slots() fixups.Reach {
	r := t.p.Reach
	if t.p.Far {
		r.Min, r.Max = math.MinInt64, math.MaxInt64
	}
	return r
}

// distances are values of Slot - Site in reach: the edges, small ones on both
// sides, and the ends of the range that was asked for.
func (t *site) distances() []int64 {
	r := t.slots()
	ds := []int64{t.fit(r.Min, 1), t.fit(r.Max, -1)}
	for _, d := range []int64{0x1000, -0x1000, 0x12340, t.env.SlotMin, t.env.SlotMax, t.i.NearMax / 2, t.i.NearMin / 2} {
		if d = t.fit(d, 1); r.Holds(d) {
			ds = append(ds, d)
		}
	}
	return ds
}

// fit moves d in direction dir until it has the residue and the alignment of
// the slot.
func (t *site) fit(d, dir int64) int64 {
	step := int64(max(t.i.Align, 1))
	for range 1 << 17 {
		r := &t.p.Reach
		if (r.Align <= 1 || uint64(d)%uint64(r.Align) == uint64(r.Residue)) &&
			(t.in.PC+uint64(d))%uint64(max(int(t.p.SlotAlign), int(step))) == 0 {
			return d
		}
		d += dir
	}
	return d
}

// addressable leaves out slots beyond the ends of the address space, and those
// that would lie over the site or what it refers to.
func (t *site) addressable(d int64) bool {
	slot := t.in.PC + uint64(d)
	size := uint64(len(t.p.Code))
	if t.i.Bits == 32 && (int64(t.in.PC)+d < 0 || int64(t.in.PC)+d+int64(size) > 1<<32) {
		return false
	}
	for _, a := range []uint64{t.in.PC, t.in.Next(), t.in.Target} {
		if a-slot+64 < size+128 {
			return false
		}
	}
	return true
}

// dataOf is where the data of a slot is: a page or so above it, or below where the
// address space ends.
func (t *site) dataOf(slot uint64) uint64 {
	const away = 0x5000
	if slot+2*away < slot || t.i.Bits == 32 && slot+2*away > math.MaxUint32 {
		return slot - away
	}
	return slot + away
}

func (t *site) place(d int64, in bool) {
	at := fixups.Bases{Site: t.in.PC, Slot: t.in.PC + uint64(d)}
	if t.env.Data {
		at.Data = t.dataOf(at.Slot)
	}
	code, err := fixups.PlaceOrder(nil, t.p, at, t.i.Order(t.env.DataOrder))
	switch {
	case !in && !errors.Is(err, fixups.ErrReach):
		t.bad(rulePlace, "a slot at %+d, outside, gives %v", d, err)
	case in && errors.Is(err, fixups.ErrBases) && t.p.Private:
	case in && err != nil:
		t.bad(rulePlace, "a slot at %+d, in reach, gives %v", d, err)
	case in:
		t.walk(code, at.Slot)
	}
}

// envText prints the fields of e that are set.
func envText(e *reloc.Env) string {
	var b strings.Builder
	v := reflect.ValueOf(e).Elem()
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Name; {
		case v.Field(i).IsZero() || name == "Forms":
		case name == "Code":
			b.WriteString(" Code")
		default:
			fmt.Fprintf(&b, " %s:%v", name, v.Field(i).Interface())
		}
	}
	if b.Len() == 0 {
		return "the zero Env"
	}
	return "Env" + b.String()
}
