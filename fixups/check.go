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
			return fmt.Errorf("%w: step %d: %w", ErrProgram, i, err)
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
		if i > skipped {
			set |= s.sets()
		}
	}
	if stores > MaxStores {
		return fmt.Errorf("%w: %d stores, at most %d", ErrProgram, stores, MaxStores)
	}
	return nil
}

// Sets returns the temporaries that p certainly writes, bit i for ti: those
// that a later program of the same visit may read. p is well formed.
func (p Program) Sets() uint8 {
	var set uint8
	skipped := -1
	for i := range p {
		if p[i].Op == OpSkip {
			skipped = max(skipped, i+int(p[i].Skip))
		}
		if i > skipped {
			set |= p[i].sets()
		}
	}
	return set
}

// CheckEmulate reports whether p also keeps the promise of the emulate form:
// loads first, then at most one store, and no register, pc or shadow stack is
// written before the last access has succeeded. So a failed access has changed
// nothing.
func (p Program) CheckEmulate() error {
	if err := p.Check(0); err != nil {
		return err
	}
	changed := false
	for i := range p {
		s := &p[i]
		if changed && (s.Op == OpLoad || s.Op == OpStore) {
			return fmt.Errorf("%w: step %d: access after a change", ErrProgram, i)
		}
		if s.Op == OpStore || s.Op == OpShPush || s.Op == OpShPop || s.Op.writes() && s.Dst.Kind == OperandReg {
			changed = true
		}
	}
	return nil
}

// writes reports whether the operation changes Dst.
func (o Op) writes() bool { return o != OpStore && o != OpSkip && o != OpShPush }

// binary reports whether the operation uses operand B.
func (o Op) binary() bool {
	return o >= OpAdd && o <= OpShr || o == OpStore || o == OpSkip
}

// sets returns the temporary that s certainly writes, as a set.
func (s *Step) sets() uint8 {
	if !s.Op.writes() || s.Dst.Kind != OperandTemp || s.Op == OpShPop && s.A.Kind == OperandNone {
		return 0
	}
	return 1 << s.Dst.Reg
}

func (s *Step) check(set uint8) error {
	if s.Op >= numOps {
		return fmt.Errorf("operation %d", s.Op)
	}
	if !s.fieldsOK() {
		return fmt.Errorf("bad field of %v", s.Op)
	}
	if s.Op.writes() {
		if s.Dst.Kind != OperandReg && s.Dst.Kind != OperandTemp {
			return fmt.Errorf("%v has no destination", s.Op)
		}
		reads := set
		if s.Op != OpInsert { // the only operation that reads its destination
			reads = 0xff
		}
		if err := s.Dst.check(reads); err != nil {
			return err
		}
	}
	if s.Op != OpShPop || s.A.Kind != OperandNone {
		if err := s.A.check(set); err != nil {
			return err
		}
	}
	if s.Op.binary() {
		return s.B.check(set)
	}
	return nil
}

func (o *Operand) check(set uint8) error {
	switch o.Kind {
	case OperandConst, OperandSite, OperandSlot, OperandData:
		return nil
	case OperandReg:
		if !o.Reg.Valid() {
			return fmt.Errorf("register %d", o.Reg)
		}
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

// fieldsOK reports whether the operation exists and the fields that it uses are
// in range. It is what [Run] has to know before it touches a step.
func (s *Step) fieldsOK() bool {
	switch s.Op {
	case OpZext, OpSext:
		return s.Width == 8 || s.Width == 16 || s.Width == 32
	case OpExtract, OpInsert:
		return s.Width >= 1 && s.Width <= 64 && s.Lsb < 64 && s.Lsb+s.Width <= 64
	case OpLoad, OpStore:
		return accessSize(s.Size) && s.Order <= BigEndian
	case OpSkip:
		return (s.Width == 8 || s.Width == 16 || s.Width == 32 || s.Width == 64) &&
			s.Cond < numConds && s.Skip >= 1 && s.Skip < MaxSteps
	}
	return s.Op < numOps
}
