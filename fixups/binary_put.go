package fixups

import (
	"encoding/binary"
	"math"
)

// The structures of the binary format, field by field in the order of
// docs/format.md.

var le = binary.LittleEndian

// span is a range of items of a section.
type span struct{ first, count uint32 }

func putSpan(b []byte, s span) []byte {
	return le.AppendUint32(le.AppendUint32(b, s.first), s.count)
}

func putRegs(b []byte, s *RegSet) []byte {
	for _, w := range s {
		b = le.AppendUint64(b, w)
	}
	return b
}

func putStep(b []byte, s *Step, d *delta, other *Step) []byte {
	c, o := s.canon(), other.canon()
	aVal, aD := d.split(c.A.Val, o.A.Val, c.A.Kind)
	bVal, bD := d.split(c.B.Val, o.B.Val, c.B.Kind)
	b = append(b, byte(c.Op), byte(c.Cond), byte(c.Order), c.Size, c.Lsb, c.Width, c.Skip,
		byte(c.Dst.Kind), byte(c.A.Kind)|aD, byte(c.B.Kind)|bD)
	b = le.AppendUint16(b, uint16(c.Dst.Reg))
	b = le.AppendUint16(b, uint16(c.A.Reg))
	b = le.AppendUint16(b, uint16(c.B.Reg))
	b = le.AppendUint64(b, uint64(aVal))
	return le.AppendUint64(b, uint64(bVal))
}

func putReloc(b []byte, r *Reloc, d *delta, other *Reloc) []byte {
	addend, plus := d.value(r.Addend, other.Addend)
	var flags byte
	if r.PCRel {
		flags |= binPCRel
	}
	if plus {
		flags |= binAddendD
	}
	b = le.AppendUint64(b, uint64(addend))
	b = le.AppendUint16(b, r.Off)
	b = le.AppendUint16(b, r.Index)
	return append(b, r.Size, r.Lsb, r.Bits, r.Shift, r.Page, byte(r.Base), byte(r.Check), byte(r.Order), flags, 0, 0, 0)
}

func putPoint(b []byte, p *Point, back, forward span) []byte {
	var flags byte
	if p.HasBack {
		flags |= binHasBack
	}
	if p.HasForward {
		flags |= binHasForward
	}
	b = le.AppendUint16(b, p.Off)
	b = le.AppendUint16(b, p.Insn)
	b = append(b, byte(p.State), flags, 0, 0)
	b = putSpan(b, back)
	b = putSpan(b, forward)
	return putRegs(b, &p.Lost)
}

// planSpans are where the parts of a plan are.
type planSpans struct {
	code, relocs, escapes, points, pre, post, abort, emulate span
}

// ends are the ends of a reach: constants, and others that move with D. Their
// flags say whether the latter are there.
type ends struct{ min, max, minD, maxD int64 }

func putVerdict(b []byte, v *Verdict, flags uint16, r ends, s *planSpans) []byte {
	p := &v.Plan
	if v.Reason != ReasonNone {
		p = &Plan{}
	}
	b = append(b, byte(v.Form), byte(v.Reason), byte(p.Strategy), byte(p.Tail), byte(p.Stop), byte(p.Returns), p.SiteLen, byte(p.Needs))
	b = le.AppendUint16(b, flags)
	b = le.AppendUint16(b, p.SlotAlign)
	b = le.AppendUint16(b, p.Stack)
	b = le.AppendUint16(b, p.CopyLen)
	b = le.AppendUint64(b, uint64(r.min))
	b = le.AppendUint64(b, uint64(r.max))
	b = le.AppendUint32(b, p.Reach.Align)
	b = le.AppendUint32(b, p.Reach.Residue)
	b = putRegs(b, &p.Clobbers)
	b = putRegs(b, &p.Lost)
	for _, x := range [...]span{s.code, s.relocs, s.escapes, s.points, s.pre, s.post, s.abort, s.emulate} {
		b = putSpan(b, x)
	}
	return le.AppendUint64(le.AppendUint64(b, uint64(r.minD)), uint64(r.maxD))
}

func putShape(b []byte, e *Entry, verdicts span) []byte {
	var flags byte
	if e.HasTarget {
		flags |= binHasTarget
	}
	b = append(b, byte(e.Class), e.Len, e.AltLen, byte(e.Patch), byte(e.Reason), flags, 0, 0)
	b = putSpan(b, verdicts)
	b = le.AppendUint64(b, uint64(e.Hazards))
	b = putRegs(b, &e.Reads)
	b = putRegs(b, &e.Writes)
	return putRegs(b, &e.Kills)
}

// delta splits the values of a plan into those that move with the target and
// those that do not. d is the D of the entry that is written.
type delta struct {
	d, other int64 // other is the D of a second sample of the same shape
	pair     bool  // there is one
	bad      bool  // some value is neither constant nor constant + D
}

// value splits v, whose counterpart in the second sample is w, into a constant
// and whether D is added to it.
//
// With two samples of different D the answer is certain. With one, v and v - d
// are both right for this entry, and the rounder number is the better guess:
// addends of the site and ends of branch reaches are near multiples of a large
// power of two, and a wrong guess costs only that the shape is not shared.
func (x *delta) value(v, w int64) (c int64, plus bool) {
	switch {
	case !x.pair:
		if v == 0 || roundness(v-x.d) >= roundness(v) {
			return v, false
		}
		return v - x.d, true
	case v == w:
		return v, false
	case v-x.d == w-x.other:
		return v - x.d, true
	}
	x.bad = true
	return v, false
}

// reach splits the ends of a reach. The least distance is the greater of a
// constant and D plus another, the greatest the lesser of two such: a slot has to
// be in reach of the site's neighbours and of the target. Samples whose targets lie
// on both sides of the site, well away from it, tell all four.
func (x *delta) reach(p, q Reach) (r ends, flags uint16) {
	r = ends{min: p.Min, max: p.Max}
	low, high := p, q // reaches for the lesser and the greater D
	d, dHigh := x.d, x.other
	if d > dHigh {
		low, high, d, dHigh = high, low, dHigh, d
	}
	span := uint64(dHigh) - uint64(d)
	both := x.pair && d < 0 && dHigh > 0
	if grown := uint64(high.Min) - uint64(low.Min); both && high.Min > low.Min && grown < span {
		r.min, r.minD, flags = low.Min, high.Min-dHigh, flags|binMinD
	} else if c, plus := x.value(p.Min, q.Min); plus {
		r.min, r.minD, flags = math.MinInt64, c, flags|binMinD
	}
	if grown := uint64(high.Max) - uint64(low.Max); both && high.Max > low.Max && grown < span {
		r.max, r.maxD, flags = high.Max, low.Max-d, flags|binMaxD
	} else if c, plus := x.value(p.Max, q.Max); plus {
		r.max, r.maxD, flags = math.MaxInt64, c, flags|binMaxD
	}
	return r, flags
}

// split is value for an operand: registers and temporaries have none. A
// constant is one for certain only with two samples.
func (x *delta) split(v, w int64, k OperandKind) (c int64, flag byte) {
	if k < OperandConst {
		return 0, 0
	}
	c, plus := x.value(v, w)
	if plus {
		return c, binPlusD
	}
	return c, 0
}

// roundness is how far v is from a multiple of 2^20.
func roundness(v int64) int64 {
	v = v << 44 >> 44
	return max(v, -v)
}
