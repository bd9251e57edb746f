package reloctest

import (
	"slices"

	"github.com/xol-go/xol/fixups"
)

// allPrograms lists the programs of the plan.
func (t *site) allPrograms() []fixups.Program {
	p := t.p
	list := []fixups.Program{p.Emulate, p.Pre, p.Post, p.Abort}
	for i := range p.Points {
		list = append(list, p.Points[i].Back, p.Points[i].Forward)
	}
	return list
}

// programs checks that the plan is well formed; if not, it is not run.
func (t *site) programs() bool {
	if err := t.p.Check(); err != nil {
		t.bad(ruleProgram, "%v", err)
		return false
	}
	return true
}

// ends are the addresses where the instruction can leave pc, nil if that depends
// on registers, memory or the vendor.
func (t *site) ends() []uint64 {
	if t.in.AltLen != 0 || t.in.Hazards.Has(fixups.HazardVendor) {
		return nil
	}
	switch t.in.Class {
	case fixups.ClassPlain, fixups.ClassPCRelative:
		return []uint64{t.next()}
	case fixups.ClassBranch:
		if t.in.HasTarget() {
			return []uint64{t.in.Target}
		}
	case fixups.ClassCall:
		switch {
		case !t.in.HasTarget():
		case t.p.Returns == fixups.ReturnsSlot:
			return []uint64{t.in.Target, t.next()} // the second when the callee is back
		default:
			return []uint64{t.in.Target}
		}
	case fixups.ClassCondBranch:
		return []uint64{t.in.Target, t.next()}
	}
	return nil
}

func (t *site) next() uint64 { return t.mask(t.in.Next()) }

func (t *site) mask(v uint64) uint64 { return v & (^uint64(0) >> (64 - uint(t.i.Bits))) }

// run interprets p on a machine whose pc is at.
func (t *site) run(p fixups.Program, m *machine, pc, slot uint64, temps *fixups.Temps) bool {
	m.regs[fixups.RegPC] = pc
	b := fixups.Bases{Site: t.in.PC, Slot: slot, Data: 0x5000}
	if err := fixups.Run(p, m, &b, temps, t.i.Bits); err != nil {
		t.bad(ruleProgram, "it does not run: %v", err)
		return false
	}
	return true
}

const seeds = 6 // machines that each program is run on

// emulate checks a plan without a slot.
func (t *site) emulate() {
	p := t.p
	if len(p.Code)+len(p.Relocs)+len(p.Points)+len(p.Pre)+len(p.Post)+len(p.Abort) > 0 || len(p.Emulate) == 0 {
		t.bad(ruleEmulate, "%d bytes of code, %d steps", len(p.Code), len(p.Emulate))
		return
	}
	ends := t.ends()
	if ends == nil {
		return
	}
	for seed := range uint64(seeds) {
		m := newMachine(seed)
		if !t.run(p.Emulate, m, t.in.PC, 0, new(fixups.Temps)) {
			return
		}
		if pc := m.regs[fixups.RegPC]; !slices.Contains(ends, pc) {
			t.bad(ruleEmulate, "it ends at %#x, want one of %#x", pc, ends)
			return
		}
	}
}

// step checks the programs of a step plan and where they lead.
func (t *site) step() {
	p := t.p
	switch {
	case len(p.Emulate) > 0 || len(p.Code) == 0:
		t.bad(ruleForm, "%d bytes of code, %d steps of emulate", len(p.Code), len(p.Emulate))
		return
	case p.Tail != fixups.TailJump && p.Tail != fixups.TailTrap:
		t.bad(ruleStep, "its tail is %v", p.Tail)
	case p.CopyLen == 0 || int(p.CopyLen) > len(p.Code):
		t.bad(ruleStep, "CopyLen is %d of %d bytes", p.CopyLen, len(p.Code))
		return
	}
	slot := t.in.PC + uint64(t.fit(0x10000, 1))
	for seed := range uint64(seeds) {
		if !t.abort(seed, slot) || !t.post(seed, slot) {
			return
		}
	}
}

// abort runs pre, then abort: every register is what it was.
func (t *site) abort(seed, slot uint64) bool {
	m, temps := newMachine(seed), new(fixups.Temps)
	if !t.run(t.p.Pre, m, t.in.PC, slot, temps) || !t.run(t.p.Abort, m, slot, slot, temps) {
		return false
	}
	if pc := m.regs[fixups.RegPC]; pc != t.mask(t.in.PC) {
		t.bad(ruleStep, "abort ends at %#x", pc)
		return false
	}
	return t.unchanged(m, ruleStep, "abort")
}

// unchanged demands that every register has its first value.
func (t *site) unchanged(m *machine, rule *Rule, what string) bool {
	for r, v := range m.regs {
		if r != fixups.RegPC && t.mask(v) != t.mask(m.first(r)) {
			t.bad(rule, "%s leaves %s at %#x, which was %#x", what, t.i.Regs.Name(r), v, m.first(r))
			return false
		}
	}
	return true
}

// post runs pre, then post as if the copy had fallen through.
func (t *site) post(seed, slot uint64) bool {
	if t.in.Class != fixups.ClassPlain && t.in.Class != fixups.ClassPCRelative {
		return true
	}
	m, temps := newMachine(seed), new(fixups.Temps)
	stop := slot + uint64(t.p.CopyLen)
	if t.p.Stop == fixups.StopTrap {
		stop += uint64(t.i.TrapAdvances)
	}
	if !t.run(t.p.Pre, m, t.in.PC, slot, temps) || !t.run(t.p.Post, m, stop, slot, temps) {
		return false
	}
	if pc := m.regs[fixups.RegPC]; pc != t.next() {
		t.bad(ruleStep, "post ends at %#x, want %#x", pc, t.next())
		return false
	}
	return true
}

// points checks the points against the boundaries that the walk found, and runs
// their programs.
func (w *walker) points() {
	p, t := w.p, w.site
	last := -1
	for i := range p.Points {
		pt := &p.Points[i]
		if off := int(pt.Off); off <= last || w.bounds[off] == nil && !w.unused[off] {
			t.bad(rulePoints, "a point at %d, after %d, code % x", pt.Off, last, p.Code)
			return
		}
		last = int(pt.Off)
	}
	if p.Form == fixups.FormJump {
		for off := range w.bounds {
			if p.PointAt(uint64(off)) == nil {
				t.bad(rulePoints, "none at %d, code % x", off, p.Code)
				return
			}
		}
	}
	if len(p.Points) == 0 || p.Points[0].Off != 0 || p.Points[0].State != fixups.StateStart {
		t.bad(rulePoints, "no start at 0")
		return
	}
	for i := range p.Points {
		t.point(&p.Points[i])
	}
}

func (t *site) point(pt *fixups.Point) {
	if !pt.HasBack && len(pt.Back) > 0 || !pt.HasForward && len(pt.Forward) > 0 {
		t.bad(rulePoints, "at %d, a program that it says it does not have", pt.Off)
	}
	if t.p.Form == fixups.FormStep {
		return // abort and post serve
	}
	switch start := pt.State == fixups.StateStart; {
	case start && !pt.HasBack:
		t.bad(ruleBack, "none at %d", pt.Off)
	case !start && !pt.HasForward:
		t.bad(ruleForward, "none at %d", pt.Off)
	}
	slot := t.in.PC + uint64(t.fit(0x10000, 1))
	ends := t.ends()
	for seed := range uint64(seeds) {
		if pt.HasBack {
			m := newMachine(seed)
			if !t.run(pt.Back, m, slot+uint64(pt.Off), slot, new(fixups.Temps)) {
				return
			}
			if pc := m.regs[fixups.RegPC]; pc != t.mask(t.in.PC) {
				t.bad(ruleBack, "at %d, it ends at %#x", pt.Off, pc)
				return
			}
			if pt.Off == 0 && !t.unchanged(m, ruleBack, "back from 0") {
				return
			}
		}
		if pt.HasForward && ends != nil {
			m := newMachine(seed)
			if !t.run(pt.Forward, m, slot+uint64(pt.Off), slot, new(fixups.Temps)) {
				return
			}
			if pc := m.regs[fixups.RegPC]; !slices.Contains(ends, pc) {
				t.bad(ruleForward, "at %d, it ends at %#x, want one of %#x", pt.Off, pc, ends)
				return
			}
		}
	}
}
