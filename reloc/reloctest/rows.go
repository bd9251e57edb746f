package reloctest

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// rows checks that the two ways to read a table agree.
func (s *suite) rows() {
	d, ok := s.a.(reloc.Describer)
	if !ok {
		if _, ok := s.a.(interface{ Rows() []reloc.Row }); ok {
			s.rep.add(ruleRows, nil, 0, "it has Rows and is no reloc.Describer")
		}
		return
	}
	defer s.guard(nil, 0)
	bad := func(format string, args ...any) { s.rep.add(ruleRows, nil, 0, format, args...) }
	rows := d.Rows()
	for i, r := range rows {
		if i > 0 && r.ID <= rows[i-1].ID {
			bad("row %d comes after row %d", r.ID, rows[i-1].ID)
		}
		if got, ok := d.Row(r.ID); !ok || got != r {
			bad("Row(%d) is %+v, Rows has %+v", r.ID, got, r)
		}
		if r.Name == "" || r.Pattern == "" || r.Source == "" {
			bad("row %d has name %q, pattern %q, source %q", r.ID, r.Name, r.Pattern, r.Source)
		}
	}
	if _, ok := d.Row(^uint32(0)); ok {
		bad("there is a row %d", ^uint32(0))
	}
}

// allRows demands a case for each row.
func (s *suite) allRows() {
	d, ok := s.a.(reloc.Describer)
	if !ok {
		s.rep.add(ruleCases, nil, 0, "the Arch does not describe its rows")
		return
	}
	for _, r := range d.Rows() {
		if !s.hit[r.ID] && (s.opts.SkipRow == nil || !s.opts.SkipRow(r)) {
			s.rep.add(ruleCases, nil, 0, "no input reaches row %d: %s %s", r.ID, r.Pattern, r.Name)
		}
	}
}

// extras checks the optional interfaces on one instruction.
func (s *suite) extras(in *reloc.Insn) {
	if d, ok := s.a.(reloc.Describer); ok {
		r, ok := d.RowOf(in)
		same, _ := d.Row(r.ID)
		switch {
		case !ok || same != r:
			s.rep.add(ruleRows, in.Raw(), in.PC, "its row is %+v, Row(%d) is %+v", r, r.ID, same)
		case r.Class != in.Class && (r.Class != fixups.ClassPlain || in.Class != fixups.ClassPCRelative):
			s.rep.add(ruleRows, in.Raw(), in.PC, "class %v, but row %d says %v", in.Class, r.ID, r.Class)
		}
	}
	if g, ok := s.a.(reloc.Registerer); ok {
		s.regUse(g, in)
	}
	if p, ok := s.a.(reloc.Patcher); ok {
		for i := range s.envs {
			if set := p.Patch(in, &s.envs[i]); set&^(fixups.PatchTrap|fixups.PatchBranch) != 0 {
				s.rep.add(rulePatch, in.Raw(), in.PC, "Patch is %#x", set)
			}
		}
	}
}

func (s *suite) regUse(g reloc.Registerer, in *reloc.Insn) {
	var use, again reloc.RegUse
	g.Registers(&use, in)
	all := fixups.MakeRegSet(1, 2, 3, 200)
	again = reloc.RegUse{Reads: all, Writes: all, Kills: all}
	g.Registers(&again, in)
	if use != again {
		s.rep.add(ruleRegisters, in.Raw(), in.PC, "a used RegUse gives %+v, a new one %+v", again, use)
	}
	for r := range use.Kills.All() {
		if !use.Writes.Has(r) {
			s.rep.add(ruleRegisters, in.Raw(), in.PC, "%s is killed and not written", s.i.Regs.Name(r))
		}
	}
	named := fixups.RegSet{}
	for _, r := range s.i.Regs {
		named.Add(r.Num)
	}
	for _, set := range []*fixups.RegSet{&use.Reads, &use.Writes} {
		for r := range set.All() {
			if !named.Has(r) {
				s.rep.add(ruleRegisters, in.Raw(), in.PC, "register %d has no name", r)
			}
		}
	}
}

// generator checks what the Arch's own generator makes.
func (s *suite) generator() {
	g, ok := s.a.(reloc.Generator)
	if !ok || s.opts.Random < 0 {
		return
	}
	defer s.guard(nil, 0)
	for range 1000 {
		b := g.AppendRandom([]byte{0x55}, s.rnd.next)
		if len(b) == 0 || b[0] != 0x55 {
			s.rep.add(ruleGenerator, b, 0, "it does not append")
			return
		}
		var in reloc.Insn
		if err := s.decode(&in, b[1:], s.pcs[0]); err != nil || int(in.Len) != len(b)-1 {
			s.rep.add(ruleGenerator, b[1:], s.pcs[0], "it decodes as %s", answer(&in, err))
		}
	}
}
