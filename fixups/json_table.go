package fixups

import (
	"errors"
	"fmt"
)

// From the documents of encoding/json to the vocabulary.

func (d *jsonTable) table(regs func(string) (RegNames, bool)) (*Table, error) {
	if d.Version != 1 {
		return nil, fmt.Errorf("version %d, this reader knows 1", d.Version)
	}
	names, err := registers(regs, d.Arch)
	if err != nil {
		return nil, err
	}
	t := &Table{Arch: d.Arch, File: d.File, BuildID: d.BuildID, Base: uint64(d.Base)}
	if d.Layout != nil {
		if t.Layout, err = d.Layout.layout(); err != nil {
			return nil, err
		}
	}
	if err := t.checkHead(); err != nil {
		return nil, err
	}
	for i := range d.Sites {
		if err := t.appendSite(&d.Sites[i], names); err != nil {
			return nil, fmt.Errorf("site %d: %w", i+1, err)
		}
	}
	for _, g := range d.Gaps {
		t.Gaps = append(t.Gaps, Range{Addr: uint64(g.Addr), Size: g.Size})
	}
	return t, t.checkGaps()
}

func (j *jsonLayout) layout() (Layout, error) {
	l := Layout{Bits: j.Bits, Align: j.Align}
	if l.Bits == 0 || l.Align == 0 || !l.valid() {
		return l, fmt.Errorf("layout of %d bits, alignment %d", j.Bits, j.Align)
	}
	var err1, err2 error
	l.Insn, err1 = parseEnd(j.Insn)
	l.Data, err2 = parseEnd(j.Data)
	return l, errors.Join(err1, err2)
}

func parseEnd(s string) (End, error) {
	for e := range BigEndian + 1 {
		if s == e.String() {
			return e, nil
		}
	}
	return 0, fmt.Errorf("byte order %q is not le or be", cut(s))
}

// appendSite adds s, which must be of t's architecture and lie behind the
// entries that are there: [Table.Find] relies on the order.
func (t *Table) appendSite(s *jsonSite, regs RegNames) error {
	if s.Arch != t.Arch {
		return fmt.Errorf("architecture %q in a table of %q", cut(s.Arch), t.Arch)
	}
	e, err := s.entry(regs)
	if err != nil {
		return err
	}
	t.Entries = append(t.Entries, *e)
	return t.checkSite(len(t.Entries) - 1)
}

func (s *jsonSite) entry(regs RegNames) (*Entry, error) {
	if s.PC == nil || s.Class == nil {
		return nil, errors.New("a site has pc and class")
	}
	e := &Entry{PC: uint64(*s.PC), Func: s.Func, At: s.At, Bytes: s.Bytes, Len: s.Len, AltLen: s.AltLen,
		Text: s.Text, Class: *s.Class, Reason: s.Reason}
	if s.Offset != nil {
		e.InFile, e.Offset = true, uint64(*s.Offset)
	}
	if s.Target != nil {
		e.HasTarget, e.Target = true, uint64(*s.Target)
	}
	for _, h := range s.Hazards {
		e.Hazards |= h.Bit()
	}
	patch, err := parseSet("patch", s.Patch, patchNames[:])
	e.Patch = Patch(patch)
	err = errors.Join(err, setRegs(&e.Reads, s.Reads, regs), setRegs(&e.Writes, s.Writes, regs), setRegs(&e.Kills, s.Kills, regs))
	if err != nil {
		return nil, err
	}
	if len(s.Forms) > 0 {
		e.Forms = make([]Verdict, len(s.Forms))
	}
	for i := range s.Forms {
		if err := s.Forms[i].verdict(&e.Forms[i], s.Len, regs); err != nil {
			return nil, fmt.Errorf("form %d: %w", i, err)
		}
	}
	return e, nil
}

func setRegs(set *RegSet, names []string, regs RegNames) error {
	for _, n := range names {
		r, ok := regs.Reg(n)
		if !ok || r >= 256 {
			return fmt.Errorf("unknown register %q", cut(n))
		}
		set.Add(r)
	}
	return nil
}

func (f *jsonForm) verdict(v *Verdict, siteLen uint8, regs RegNames) error {
	if f.Form == nil {
		return errors.New("a verdict is about a form")
	}
	v.Form, v.Reason = *f.Form, f.Reason
	switch f.Slots {
	case "far":
		v.Far = true
	case "near", "":
	default:
		return fmt.Errorf("unknown kind of slots %q", cut(f.Slots))
	}
	switch {
	case f.Verdict == "refused" && f.Reason != ReasonNone:
		return nil
	case f.Verdict == "plan" && f.Reason == ReasonNone:
		return f.plan(&v.Plan, siteLen, regs)
	}
	return fmt.Errorf("verdict %q with reason %q", cut(f.Verdict), f.Reason)
}

func (f *jsonForm) plan(p *Plan, siteLen uint8, regs RegNames) error {
	*p = Plan{Form: *f.Form, Strategy: f.Strategy, Tail: f.Tail, Stop: f.Stop, Private: f.Private, X87: f.X87,
		Alias: f.Alias, SiteLen: siteLen, SlotAlign: f.SlotAlign, Stack: f.Stack, CopyLen: f.CopyLen, Code: f.Code}
	if f.SiteLen != 0 {
		p.SiteLen = f.SiteLen
	}
	if f.Returns != nil {
		p.IsCall, p.Returns = true, *f.Returns
	}
	needs, err := parseSet("need", f.Needs, needNames[:])
	p.Needs = Needs(needs)
	err = errors.Join(err, f.reach(p), setRegs(&p.Clobbers, f.Clobbers, regs), setRegs(&p.Lost, f.Lost, regs))
	if err != nil {
		return err
	}
	if err := f.tables(p); err != nil {
		return err
	}
	return f.programs(p, regs)
}

// reach sets the reach: a plan with code but without a range serves any slot.
func (f *jsonForm) reach(p *Plan) error {
	if len(f.Code) == 0 {
		return nil
	}
	p.Far, p.Reach = true, AnyReach()
	if f.Reach == nil {
		return nil
	}
	p.Reach.Align, p.Reach.Residue = f.Reach.Align, f.Reach.Residue
	switch {
	case f.Reach.Min != nil && f.Reach.Max != nil:
		p.Far, p.Reach.Min, p.Reach.Max = false, *f.Reach.Min, *f.Reach.Max
	case f.Reach.Min != nil || f.Reach.Max != nil:
		return errors.New("reach with one end")
	}
	return nil
}

func (f *jsonForm) tables(p *Plan) error {
	for _, r := range f.Relocs {
		if r.Base == nil {
			return errors.New("a reloc has a base")
		}
		p.Relocs = append(p.Relocs, Reloc{Addend: r.Addend, Off: r.Off, Index: r.Index, Size: r.Size, Lsb: r.Lsb, Bits: r.Bits,
			Shift: r.Shift, Page: r.Page, Base: *r.Base, Check: r.Check, Order: r.Order, PCRel: r.PCRel})
	}
	for _, e := range f.Escapes {
		if e.Kind == nil {
			return errors.New("an escape has a kind")
		}
		p.Escapes = append(p.Escapes, Escape{Off: e.Off, Kind: *e.Kind})
	}
	return nil
}

func (f *jsonForm) programs(p *Plan, regs RegNames) error {
	for _, x := range []struct {
		name string
		text []string
		p    *Program
	}{{"pre", f.Pre, &p.Pre}, {"post", f.Post, &p.Post}, {"abort", f.Abort, &p.Abort}, {"emulate", f.Emulate, &p.Emulate}} {
		var err error
		if *x.p, err = ParseProgram(x.text, regs); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
	}
	for i := range f.Points {
		pt, err := f.Points[i].point(regs)
		if err != nil {
			return fmt.Errorf("point %d: %w", i, err)
		}
		p.Points = append(p.Points, pt)
	}
	return nil
}

func (j *jsonPoint) point(regs RegNames) (Point, error) {
	if j.State == nil {
		return Point{}, errors.New("a point has a state")
	}
	pt := Point{Off: j.Off, Insn: j.Insn, State: *j.State, HasBack: j.Back != nil, HasForward: j.Forward != nil}
	var err error
	if pt.Back, err = ParseProgram(j.Back, regs); err != nil {
		return pt, fmt.Errorf("back: %w", err)
	}
	if pt.Forward, err = ParseProgram(j.Forward, regs); err != nil {
		return pt, fmt.Errorf("forward: %w", err)
	}
	return pt, setRegs(&pt.Lost, j.Lost, regs)
}
