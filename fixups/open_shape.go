package fixups

import "errors"

// The rules of steps, relocs, points, escapes, verdicts and shapes. Every item
// is checked, whether something points at it or not.

func (c *checker) steps() error {
	for i := range c.count(secSteps) {
		b := c.item(secSteps, i)
		if k := b[8]; k&binPlusD != 0 && (k&^binPlusD < byte(OperandConst) || k&^binPlusD >= byte(numOperandKinds)) {
			return c.fail(secSteps, i, "plus-D of operand kind %d", k&^binPlusD)
		}
		if k := b[9]; k&binPlusD != 0 && (k&^binPlusD < byte(OperandConst) || k&^binPlusD >= byte(numOperandKinds)) {
			return c.fail(secSteps, i, "plus-D of operand kind %d", k&^binPlusD)
		}
		s := getStep(b, 0)
		if err := s.check(0xff); err != nil {
			return c.fail(secSteps, i, "%w", err)
		}
	}
	return nil
}

// program reads a program whose steps are good by themselves.
func (c *checker) program(s span) (Program, error) {
	if !c.spanOK(secSteps, s) {
		return nil, errors.New("steps outside their section")
	}
	if s.count > MaxSteps {
		return nil, ErrProgram
	}
	p := c.steps32[:0]
	for i := range s.count {
		p = append(p, getStep(c.item(secSteps, int(s.first+i)), 0))
	}
	return p, nil
}

// programOK checks a program whose predecessors have set temporaries.
func (c *checker) programOK(s span, set uint8) error {
	p, err := c.program(s)
	if err != nil {
		return err
	}
	return p.Check(set)
}

func (c *checker) relocs() error {
	for i := range c.count(secRelocs) {
		b := c.item(secRelocs, i)
		r := getReloc(b, 0)
		if !r.Valid(maxCode) || b[20] > binPCRel|binAddendD || !zero(b[21:]) || r.Index != 0 && r.Base != BaseInsn && r.Base != BaseReg {
			return c.fail(secRelocs, i, "%w", ErrReloc)
		}
	}
	return nil
}

func (c *checker) points() error {
	for i := range c.count(secPoints) {
		b := c.item(secPoints, i)
		back, forward := getSpan(b[8:]), getSpan(b[16:])
		switch {
		case b[4] > byte(StateDone) || b[5] > binHasBack|binHasForward || !zero(b[6:8]):
			return c.fail(secPoints, i, "state or flags: %w", errRange)
		case b[5]&binHasBack == 0 && back != span{} || b[5]&binHasForward == 0 && forward != span{}:
			return c.fail(secPoints, i, "a program that it says it has not")
		}
		if err := c.programOK(back, 0); err != nil {
			return c.fail(secPoints, i, "back: %w", err)
		}
		if err := c.programOK(forward, 0); err != nil {
			return c.fail(secPoints, i, "forward: %w", err)
		}
	}
	return nil
}

func (c *checker) escapes() error {
	for i := range c.count(secEscapes) {
		if b := c.item(secEscapes, i); b[2] > byte(EscapeContext) || b[3] != 0 {
			return c.fail(secEscapes, i, "kind: %w", errRange)
		}
	}
	return nil
}

func (c *checker) verdicts() error {
	for i := range c.count(secVerdicts) {
		b := c.item(secVerdicts, i)
		if b[0] > byte(FormRegion) || b[1] > byte(reasonLast) || le.Uint16(b[8:]) > binVerdictFlags {
			return c.fail(secVerdicts, i, "form, reason or flags: %w", errRange)
		}
		if b[1] != 0 {
			if !zero(b[2:8]) || le.Uint16(b[8:])&^binFarAsked != 0 || !zero(b[10:]) {
				return c.fail(secVerdicts, i, "a refusal with a plan")
			}
			continue
		}
		if err := c.plan(b); err != nil {
			return c.fail(secVerdicts, i, "%w", err)
		}
	}
	return nil
}

func (c *checker) plan(b []byte) error {
	// The scalar rules are those of Plan.Check.
	p := Plan{
		Form: Form(b[0]), Strategy: Strategy(b[2]), Tail: Tail(b[3]), Stop: Stop(b[4]), Returns: Returns(b[5]), SiteLen: b[6], Needs: Needs(b[7]),
		SlotAlign: le.Uint16(b[10:]), Reach: Reach{Align: le.Uint32(b[32:]), Residue: le.Uint32(b[36:])},
	}
	if err := p.checkFields(); err != nil {
		return err
	}
	code := getSpan(b[104:])
	flags := le.Uint16(b[8:])
	switch {
	case flags&binMinD == 0 && !zero(b[168:176]) || flags&binMaxD == 0 && !zero(b[176:184]):
		return errors.New("an end of its reach that it says it has not")
	case !c.spanOK(secCode, code) || code.count > maxCode:
		return errors.New("code outside its section, or too long")
	case uint32(le.Uint16(b[14:])) > code.count:
		return errors.New("stop behind the code")
	case flags&binCopy != 0 && code.count < uint32(p.SiteLen):
		return errors.New("copy of more bytes than there is code")
	}
	if err := c.tables(b, code.count); err != nil {
		return err
	}
	return c.programs(b)
}

// tables checks that what a plan refers to fits n bytes of code.
func (c *checker) tables(b []byte, n uint32) error {
	relocs, escapes, points := getSpan(b[112:]), getSpan(b[120:]), getSpan(b[128:])
	if !c.spanOK(secRelocs, relocs) || !c.spanOK(secEscapes, escapes) || !c.spanOK(secPoints, points) ||
		max(relocs.count, escapes.count, points.count) > maxItems {
		return errors.New("relocs, escapes or points outside their section, or too many")
	}
	for i := range relocs.count {
		if r := c.item(secRelocs, int(relocs.first+i)); uint32(le.Uint16(r[8:]))+uint32(r[12]) > n {
			return errors.New("a reloc outside the code")
		}
	}
	for i := range escapes.count {
		if e := c.item(secEscapes, int(escapes.first+i)); uint32(le.Uint16(e)) > n {
			return errors.New("an escape outside the code")
		}
	}
	last := -1
	for i := range points.count {
		off := int(le.Uint16(c.item(secPoints, int(points.first+i))))
		if off <= last || off > int(n) {
			return errors.New("points out of order, or outside the code")
		}
		last = off
	}
	return nil
}

func (c *checker) programs(b []byte) error {
	pre, err := c.program(getSpan(b[136:]))
	if err == nil {
		err = pre.Check(0)
	}
	if err != nil {
		return err
	}
	set := pre.Sets()
	if err := c.programOK(getSpan(b[144:]), set); err != nil {
		return err
	}
	if err := c.programOK(getSpan(b[152:]), set); err != nil {
		return err
	}
	emulate, err := c.program(getSpan(b[160:]))
	if err != nil {
		return err
	}
	return emulate.CheckEmulate()
}

func (c *checker) shapes() error {
	for i := range c.count(secShapes) {
		b := c.item(secShapes, i)
		e := Entry{Class: Class(b[0]), Patch: Patch(b[3]), Reason: Reason(b[4]), Hazards: Hazards(le.Uint64(b[16:]))}
		if err := e.checkFields(); err != nil {
			return c.fail(secShapes, i, "%w", err)
		}
		s := getSpan(b[8:])
		if b[1] == 0 || b[5] > binHasTarget || !zero(b[6:8]) || !c.spanOK(secVerdicts, s) || s.count > maxVerdicts {
			return c.fail(secShapes, i, "length, flags or verdicts: %w", errRange)
		}
		for j := range s.count {
			v := c.item(secVerdicts, int(s.first+j))
			if v[1] == 0 && v[0] != byte(FormRegion) && v[6] != b[1] || v[1] == 0 && le.Uint16(v[8:])&binCopy != 0 && v[6] != b[1] {
				return c.fail(secShapes, i, "verdict %d is for %d bytes, the shape for %d", s.first+j, v[6], b[1])
			}
		}
	}
	return nil
}

func (c *checker) plain() error {
	if n := c.count(secPlain); n > 256 {
		return c.fail(secPlain, 256, "%d items", n)
	}
	for i := range c.count(secPlain) {
		id := le.Uint32(c.item(secPlain, i))
		if id == binNone {
			continue
		}
		if uint64(id) >= uint64(c.count(secShapes)) || int(c.item(secShapes, int(id))[1]) != i {
			return c.fail(secPlain, i, "shape %d is not one of %d bytes", id, i)
		}
	}
	return nil
}
