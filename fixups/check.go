package fixups

import "fmt"

// Check reports whether p is well formed: at most [MaxSteps] steps, at most
// [MaxStores] stores, fields inside a word, skips that stay inside the program,
// and every temporary written before it is read unless the caller says that
// earlier programs of the same visit set it (set has bit i for ti). A
// conditional step may leave a temporary unset, so writes under a skip do not
// count. The interpreters rely on it.
func (p Program) Check(set uint8) error {
	if len(p) > MaxSteps {
		return fmt.Errorf("%w: %d steps, at most %d", ErrProgram, len(p), MaxSteps)
	}
	stores, skipped := 0, -1
	for i := range p {
		s := &p[i]
		if err := s.check(set); err != nil {
			return fmt.Errorf("%w: step %d: %v", ErrProgram, i, err)
		}
		if s.Op == OpStore {
			stores++
		}
		if s.Op == OpSkip {
			if i+int(s.Skip) >= len(p) {
				return fmt.Errorf("%w: step %d skips past the end", ErrProgram, i)
			}
			skipped = max(skipped, i+int(s.Skip))
		}
		if s.Op.writes() && s.Dst.Kind == OperandTemp && i > skipped {
			set |= 1 << s.Dst.Reg
		}
	}
	if stores > MaxStores {
		return fmt.Errorf("%w: %d stores, at most %d", ErrProgram, stores, MaxStores)
	}
	return nil
}

// CheckEmulate reports whether p also keeps the promise of the emulate form:
// loads first, then at most one store, and no register, pc or shadow stack is
// written before the last access has succeeded. So a failed access has changed
// nothing.
func (p Program) CheckEmulate() error {
	if err := p.Check(0); err != nil {
		return err
	}
	stored, wrote := false, false
	for i := range p {
		s := &p[i]
		switch {
		case s.Op == OpLoad && (stored || wrote), s.Op == OpStore && (stored || wrote):
			return fmt.Errorf("%w: step %d: access after a change", ErrProgram, i)
		case s.Op == OpStore:
			stored = true
		}
		if s.Op.writes() && s.Dst.Kind == OperandReg || s.Op == OpShPush || s.Op == OpShPop {
			wrote = true
		}
	}
	return nil
}

// writes reports whether the operation changes Dst.
func (o Op) writes() bool { return o != OpStore && o != OpSkip && o != OpShPush }

func (s *Step) check(set uint8) error {
	if s.Op >= numOps {
		return fmt.Errorf("operation %d", s.Op)
	}
	if s.Op.writes() && s.Dst.Kind != OperandReg && s.Dst.Kind != OperandTemp {
		return fmt.Errorf("%v has no destination", s.Op)
	}
	if s.Dst.Kind == OperandTemp && s.Dst.Reg >= MaxTemps {
		return fmt.Errorf("temporary t%d", s.Dst.Reg)
	}
	ops := []*Operand{&s.A}
	if s.Op.binary() {
		ops = append(ops, &s.B)
	}
	if s.Op == OpInsert {
		ops = append(ops, &s.Dst)
	}
	for _, o := range ops {
		if err := o.check(set); err != nil {
			return err
		}
	}
	return s.checkFields()
}

func (o *Operand) check(set uint8) error {
	switch o.Kind {
	case OperandReg, OperandConst, OperandSite, OperandSlot, OperandData:
		return nil
	case OperandTemp:
		if o.Reg >= MaxTemps {
			return fmt.Errorf("temporary t%d", o.Reg)
		}
		if set>>o.Reg&1 == 0 {
			return fmt.Errorf("t%d is read before it is written", o.Reg)
		}
		return nil
	}
	return fmt.Errorf("operand kind %d", o.Kind)
}

func (s *Step) checkFields() error {
	ok := true
	switch s.Op {
	case OpZext, OpSext:
		ok = s.Width == 8 || s.Width == 16 || s.Width == 32
	case OpExtract, OpInsert:
		ok = s.Width >= 1 && s.Width <= 64 && s.Lsb < 64 && s.Lsb+s.Width <= 64
	case OpLoad, OpStore:
		ok = (s.Size == 1 || s.Size == 2 || s.Size == 4 || s.Size == 8) && s.Order <= BigEndian
	case OpSkip:
		ok = (s.Width == 8 || s.Width == 16 || s.Width == 32 || s.Width == 64) && s.Cond < numConds && s.Skip >= 1 && s.Skip < MaxSteps
	}
	if !ok {
		return fmt.Errorf("bad field of %v", s.Op)
	}
	return nil
}
