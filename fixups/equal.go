package fixups

import (
	"bytes"
	"slices"
)

// Equal reports whether p and q say the same. Fields without a meaning are not
// compared: the reach of a plan without code, the range of a plan that serves
// any slot, the return policy of what is no call, unused fields of steps.
func (p *Plan) Equal(q *Plan) bool {
	return p.Form == q.Form && p.Strategy == q.Strategy && p.Tail == q.Tail && p.Stop == q.Stop &&
		p.IsCall == q.IsCall && (!p.IsCall || p.Returns == q.Returns) &&
		p.Private == q.Private && p.X87 == q.X87 && p.Alias == q.Alias &&
		p.SiteLen == q.SiteLen && p.Stack == q.Stack && p.CopyLen == q.CopyLen && p.Needs == q.Needs &&
		max(p.SlotAlign, 1) == max(q.SlotAlign, 1) && p.Clobbers == q.Clobbers && p.Lost == q.Lost &&
		bytes.Equal(p.Code, q.Code) && p.reachEqual(q) &&
		slices.Equal(p.Relocs, q.Relocs) && slices.Equal(p.Escapes, q.Escapes) &&
		slices.EqualFunc(p.Points, q.Points, func(a, b Point) bool { return a.Equal(&b) }) &&
		p.Pre.Equal(q.Pre) && p.Post.Equal(q.Post) && p.Abort.Equal(q.Abort) && p.Emulate.Equal(q.Emulate)
}

func (p *Plan) reachEqual(q *Plan) bool {
	if len(p.Code) == 0 {
		return true
	}
	return p.Far == q.Far && max(p.Reach.Align, 1) == max(q.Reach.Align, 1) && p.Reach.Residue == q.Reach.Residue &&
		(p.Far || p.Reach.Min == q.Reach.Min && p.Reach.Max == q.Reach.Max)
}

// Equal reports whether p and q are the same point with the same programs.
func (p *Point) Equal(q *Point) bool {
	return p.Off == q.Off && p.Insn == q.Insn && p.State == q.State && p.Lost == q.Lost &&
		p.HasBack == q.HasBack && p.HasForward == q.HasForward && p.Back.Equal(q.Back) && p.Forward.Equal(q.Forward)
}

// Equal reports whether p and q have the same steps.
func (p Program) Equal(q Program) bool {
	return slices.EqualFunc(p, q, func(a, b Step) bool { return a.canon() == b.canon() })
}

// Equal reports whether v and w are the same verdict.
func (v *Verdict) Equal(w *Verdict) bool {
	if v.Form != w.Form || v.Reason != w.Reason || v.Form != FormEmulate && v.Far != w.Far {
		return false
	}
	return v.Reason != ReasonNone || v.Plan.Equal(&w.Plan)
}

// Equal reports whether e and f say the same of the same site.
func (e *Entry) Equal(f *Entry) bool {
	return e.PC == f.PC && e.InFile == f.InFile && (!e.InFile || e.Offset == f.Offset) &&
		e.Func == f.Func && (e.Func == "" || e.At == f.At) && bytes.Equal(e.Bytes, f.Bytes) &&
		e.Len == f.Len && e.AltLen == f.AltLen && e.Text == f.Text && e.Class == f.Class &&
		e.HasTarget == f.HasTarget && (!e.HasTarget || e.Target == f.Target) &&
		e.Hazards == f.Hazards && e.Patch == f.Patch && e.Reason == f.Reason &&
		e.Reads == f.Reads && e.Writes == f.Writes && e.Kills == f.Kills &&
		slices.EqualFunc(e.Forms, f.Forms, func(a, b Verdict) bool { return a.Equal(&b) })
}
