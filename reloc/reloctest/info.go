package reloctest

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// info checks the constants of the Arch.
func (s *suite) info() {
	i := s.i
	bad := func(rule *Rule, format string, args ...any) { s.rep.add(rule, nil, 0, format, args...) }
	if s.a.Info() != i {
		bad(ruleInfo, "Info returns a new value each time")
	}
	switch {
	case i.Name == "":
		bad(ruleInfo, "no name")
	case i.Bits != 32 && i.Bits != 64:
		bad(ruleInfo, "%d bits", i.Bits)
	case i.Align < 1 || i.Align&(i.Align-1) != 0:
		bad(ruleInfo, "alignment %d", i.Align)
	case i.MinLen < 1 || i.MinLen > i.MaxLen || i.MaxLen > len(reloc.Insn{}.Bytes) || i.MinLen%i.Align != 0:
		bad(ruleInfo, "lengths %d to %d, alignment %d", i.MinLen, i.MaxLen, i.Align)
	case i.NearMin >= 0 || i.NearMax <= 0:
		bad(ruleInfo, "near slots from %d to %d", i.NearMin, i.NearMax)
	case i.TrapAdvances < 0 || i.TrapAdvances > len(i.Trap):
		bad(ruleInfo, "a trap of %d bytes advances pc by %d", len(i.Trap), i.TrapAdvances)
	}
	for _, z := range i.Zones {
		if z.Zone < 0 || z.Kept < 0 {
			bad(ruleInfo, "zone %+v", z)
		}
	}
	s.registers()
	s.trapAndNops()
	s.branches()
}

// registers checks names and numbers.
func (s *suite) registers() {
	nums, names := map[fixups.Reg]bool{}, map[string]bool{}
	bad := func(format string, args ...any) { s.rep.add(ruleRegNames, nil, 0, format, args...) }
	for _, r := range s.i.Regs {
		switch {
		case r.Num >= 256:
			bad("%s has number %d", r.Name, r.Num)
		case r.Name == "" || r.Bits == 0:
			bad("register %d has name %q and %d bits", r.Num, r.Name, r.Bits)
		case nums[r.Num]:
			bad("number %d is given twice, the second time to %s", r.Num, r.Name)
		case names[r.Name]:
			bad("name %s is given twice", r.Name)
		}
		nums[r.Num], names[r.Name] = true, true
	}
	if !nums[s.i.SP] {
		bad("the stack pointer, %d, is no register", s.i.SP)
	}
	if s.i.Flags != fixups.RegNone && !nums[s.i.Flags] {
		bad("the flags, %d, are no register", s.i.Flags)
	}
}

func (s *suite) trapAndNops() {
	const pc = 0x401000
	var in reloc.Insn
	if err := s.decode(&in, s.i.Trap, pc); err != nil || in.Class != fixups.ClassTrap || int(in.Len) != len(s.i.Trap) {
		s.rep.add(ruleTrap, s.i.Trap, pc, "it decodes as %v of %d bytes (%v)", in.Class, in.Len, err)
	}
	last := 0
	for _, nop := range s.i.Nops {
		err := s.decode(&in, nop, pc)
		if err != nil || in.Class != fixups.ClassPlain || int(in.Len) != len(nop) || in.Flags&reloc.Continues == 0 {
			s.rep.add(ruleNops, nop, pc, "it decodes as %v of %d bytes (%v)", in.Class, in.Len, err)
		}
		if len(nop) < last {
			s.rep.add(ruleNops, nop, pc, "it is shorter than the one before")
		}
		last = len(nop)
	}
	if last == 0 {
		s.rep.add(ruleNops, nil, 0, "there are none")
	}
}

func (s *suite) branches() {
	var last [2]int64 // by Cond
	for _, b := range s.i.Branches {
		k := 0
		if b.Cond {
			k = 1
		}
		if b.Size < s.i.MinLen || b.Size%s.i.Align != 0 || b.Min >= 0 || b.Max <= 0 || b.Max < last[k] {
			s.rep.add(ruleBranches, nil, 0, "%s of %d bytes from %d to %d", b.Name, b.Size, b.Min, b.Max)
		}
		last[k] = b.Max
	}
}
