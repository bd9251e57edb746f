package fixups

import (
	"errors"
	"fmt"
)

// ErrPlan means that a plan contradicts itself.
var ErrPlan = errors.New("fixups: malformed plan")

// maxCode is the most bytes that offsets of 16 bits reach.
const maxCode = 1<<16 - 1

// Check reports whether p is well formed: enumerations in range, relocs,
// points and escapes inside Code, points in ascending order, alignments powers
// of two, and every program one that [Program.Check] accepts, with the
// temporaries of Pre known to Post and Abort. What it accepts can be placed and
// run without a panic and can be written in every format. The error wraps
// [ErrPlan] or [ErrProgram].
func (p *Plan) Check() error {
	if err := p.checkFields(); err != nil {
		return fmt.Errorf("%w: %w", ErrPlan, err)
	}
	if err := p.checkCode(); err != nil {
		return fmt.Errorf("%w: %w", ErrPlan, err)
	}
	return p.checkPrograms()
}

func (p *Plan) checkFields() error {
	switch {
	case p.Form > FormRegion:
		return fmt.Errorf("form %d", p.Form)
	case p.Strategy > StrategyEmulate:
		return fmt.Errorf("strategy %d", p.Strategy)
	case p.Tail > TailTrap:
		return fmt.Errorf("tail %d", p.Tail)
	case p.Stop > StopTrap:
		return fmt.Errorf("stop %d", p.Stop)
	case p.Returns > ReturnsSlot:
		return fmt.Errorf("return policy %d", p.Returns)
	case p.Needs >= 1<<len(needNames):
		return fmt.Errorf("needs %#x", uint8(p.Needs))
	case p.SiteLen == 0:
		return errors.New("site of no bytes")
	case p.SlotAlign&(p.SlotAlign-1) != 0:
		return fmt.Errorf("slot alignment %d is not a power of two", p.SlotAlign)
	case p.Reach.Align&(p.Reach.Align-1) != 0:
		return fmt.Errorf("alignment %d of the reach is not a power of two", p.Reach.Align)
	case p.Reach.Residue != 0 && p.Reach.Residue >= p.Reach.Align:
		return fmt.Errorf("residue %d modulo %d", p.Reach.Residue, p.Reach.Align)
	}
	return nil
}

func (p *Plan) checkCode() error {
	n := len(p.Code)
	if n > maxCode {
		return fmt.Errorf("code of %d bytes, at most %d", n, maxCode)
	}
	if int(p.CopyLen) > n {
		return fmt.Errorf("stop at %d, behind %d bytes of code", p.CopyLen, n)
	}
	if max(len(p.Relocs), len(p.Escapes), len(p.Points)) > maxItems {
		return fmt.Errorf("%d relocs, %d escapes, %d points, at most %d of each", len(p.Relocs), len(p.Escapes), len(p.Points), maxItems)
	}
	for i := range p.Relocs {
		if !p.Relocs[i].Valid(n) {
			return fmt.Errorf("reloc %d is malformed or outside %d bytes of code", i, n)
		}
	}
	for i, e := range p.Escapes {
		if int(e.Off) > n || e.Kind > EscapeContext {
			return fmt.Errorf("escape %d", i)
		}
	}
	for i := range p.Points {
		pt := &p.Points[i]
		if int(pt.Off) > n || pt.State > StateDone {
			return fmt.Errorf("point %d", i)
		}
		if i > 0 && pt.Off <= p.Points[i-1].Off {
			return fmt.Errorf("point %d is not behind the one before", i)
		}
		if !pt.HasBack && len(pt.Back) != 0 || !pt.HasForward && len(pt.Forward) != 0 {
			return fmt.Errorf("point %d has a program that it says it has not", i)
		}
	}
	return nil
}

func (p *Plan) checkPrograms() error {
	if err := p.Pre.Check(0); err != nil {
		return fmt.Errorf("pre: %w", err)
	}
	set := p.Pre.Sets()
	if err := p.Post.Check(set); err != nil {
		return fmt.Errorf("post: %w", err)
	}
	if err := p.Abort.Check(set); err != nil {
		return fmt.Errorf("abort: %w", err)
	}
	if err := p.Emulate.CheckEmulate(); err != nil {
		return fmt.Errorf("emulate: %w", err)
	}
	for i := range p.Points {
		pt := &p.Points[i]
		if err := pt.Back.Check(0); err != nil {
			return fmt.Errorf("back of point %d: %w", i, err)
		}
		if err := pt.Forward.Check(0); err != nil {
			return fmt.Errorf("forward of point %d: %w", i, err)
		}
	}
	return nil
}

// Check reports whether e is well formed: enumerations in range, and every plan
// among its forms one that [Plan.Check] accepts.
func (e *Entry) Check() error {
	err := e.checkFields()
	for i := range e.Forms {
		if err != nil {
			break
		}
		if v := &e.Forms[i]; v.Reason == ReasonNone {
			if err = v.Plan.Check(); err == nil && v.Plan.Form != v.Form {
				err = fmt.Errorf("%w: form %v, plan %v", ErrPlan, v.Form, v.Plan.Form)
			}
		}
		if err != nil {
			err = fmt.Errorf("form %d: %w", i, err)
		}
	}
	if err != nil {
		return fmt.Errorf("site %#x: %w", e.PC, err)
	}
	return nil
}

func (e *Entry) checkFields() error {
	switch {
	case e.Class > ClassPrefix:
		return fmt.Errorf("%w: class %d", ErrPlan, e.Class)
	case e.Reason > reasonLast:
		return fmt.Errorf("%w: reason %d", ErrPlan, e.Reason)
	case e.Hazards >= HazardContextUnknown.Bit()<<1:
		return fmt.Errorf("%w: hazards %#x", ErrPlan, uint64(e.Hazards))
	case e.Patch > PatchTrap|PatchBranch:
		return fmt.Errorf("%w: patch %#x", ErrPlan, uint8(e.Patch))
	}
	for i := range e.Forms {
		if v := &e.Forms[i]; v.Form > FormRegion || v.Reason > reasonLast {
			return fmt.Errorf("%w: verdict %d: form %d, reason %d", ErrPlan, i, v.Form, v.Reason)
		}
	}
	return nil
}
