package fixups

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// ShapeID names a shape of an [Encoder].
type ShapeID uint32

// section is a growing section of a table. Sections whose items are shared
// have an index from a hash of the content to the first item. What the hash is
// decides nothing: contents are compared, and of two with one hash the second is
// kept under the next number that is free.
type section struct {
	data  []byte
	item  int
	index map[uint64]uint32
	seed  maphash.Seed
}

// find returns where the items b are. If they are not there it returns false, and
// the number under which they are to be kept.
func (s *section) find(b []byte) (at uint32, key uint64, ok bool) {
	for key = maphash.Bytes(s.seed, b); ; key++ {
		at, ok = s.index[key]
		if !ok {
			return 0, key, false
		}
		if old := s.data[int(at)*s.item:]; len(old) >= len(b) && string(old[:len(b)]) == string(b) {
			return at, key, true
		}
	}
}

// intern returns where the items b are, after adding them if they are new.
func (s *section) intern(b []byte) span {
	if len(b) == 0 {
		return span{}
	}
	n := uint32(len(b) / s.item)
	at, key, ok := s.find(b)
	if !ok {
		at = uint32(len(s.data) / s.item)
		s.index[key] = at
		s.data = append(s.data, b...)
	}
	return span{at, n}
}

func (s *section) len() int { return len(s.data) / s.item }

// str returns the offset of a string.
func (e *Encoder) str(v string) uint32 {
	e.buf = append(append(e.buf[:0], v...), 0)
	at, key, ok := e.sec[secStrings].find(e.buf)
	if !ok {
		at = e.newString(v)
		e.sec[secStrings].index[key] = at
	}
	return at
}

// newString appends a string without asking whether it is there already.
func (e *Encoder) newString(v string) uint32 {
	sec := &e.sec[secStrings]
	if strings.IndexByte(v, 0) >= 0 {
		e.fail(fmt.Errorf("%w: string %q", ErrEncode, v))
		return 0
	}
	at := uint32(len(sec.data))
	sec.data = append(append(sec.data, v...), 0)
	return at
}

// Shape returns the shape of a and b, two samples of one instruction that
// differ in nothing but D = Target - PC: which values of a plan move with the
// target is told by comparing them. A nil b makes a shape for instructions
// without a target, or for just this D.
//
// The samples may be anywhere; their function, file offset and text do not
// count, but they have their Bytes. The error wraps [ErrEncode] if the samples
// are malformed or differ in more than D. It leaves the encoder usable.
func (e *Encoder) Shape(a, b *Entry) (ShapeID, error) {
	d := int64(0)
	if b != nil {
		d = displacement(b)
	}
	return e.shapeOf(a, b, displacement(a), d)
}

// ShapeOf is [Encoder.Shape] for samples without a target that differ in a number:
// da in a, db in b. The D of a site of this shape is that number of its
// instruction, which the values of its plans move with. Samples with a target are
// an error.
func (e *Encoder) ShapeOf(a, b *Entry, da, db int64) (ShapeID, error) {
	if a.HasTarget || b.HasTarget {
		return 0, fmt.Errorf("%w: samples at %#x and %#x have targets", ErrEncode, a.PC, b.PC)
	}
	return e.shapeOf(a, b, da, db)
}

func (e *Encoder) shapeOf(a, b *Entry, da, db int64) (ShapeID, error) {
	x := delta{d: da}
	other := a
	if b != nil {
		x.other, x.pair, other = db, true, b
		if x.d == x.other {
			return 0, fmt.Errorf("%w: samples at %#x and %#x have the same D", ErrEncode, a.PC, b.PC)
		}
	} else {
		x.other, x.pair = x.d, true
	}
	// What holds for a holds for b: a shape is accepted only if it yields both.
	if err := e.checkEntry(a); err != nil {
		return 0, err
	}
	if len(other.Bytes) != len(a.Bytes) || !sameParts(a, other) {
		return 0, fmt.Errorf("%w: samples at %#x and %#x differ in more than D", ErrEncode, a.PC, other.PC)
	}
	id := e.shape(a, other, &x)
	if x.bad || !e.yields(id, a, da) || b != nil && !e.yields(id, b, db) {
		return 0, fmt.Errorf("%w: samples at %#x and %#x differ in more than D", ErrEncode, a.PC, other.PC)
	}
	return id, nil
}

// displacement is D.
func displacement(e *Entry) int64 {
	if !e.HasTarget {
		return 0
	}
	return int64(e.Target - e.PC)
}

// checkEntry reports whether the format can hold e.
func (e *Encoder) checkEntry(en *Entry) error {
	if err := en.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrEncode, err)
	}
	if en.Len == 0 || int(en.Len) != len(en.Bytes) || en.Len&(e.align-1) != 0 {
		return fmt.Errorf("%w: site %#x: %d bytes for a length of %d", ErrEncode, en.PC, len(en.Bytes), en.Len)
	}
	if len(en.Forms) > maxVerdicts {
		return fmt.Errorf("%w: site %#x: %d verdicts, at most %d", ErrEncode, en.PC, len(en.Forms), maxVerdicts)
	}
	for i := range en.Forms {
		v := &en.Forms[i]
		if v.Reason == ReasonNone && v.Form != FormRegion && v.Plan.SiteLen != en.Len {
			return fmt.Errorf("%w: site %#x: plan for %d bytes, site of %d", ErrEncode, en.PC, v.Plan.SiteLen, en.Len)
		}
	}
	return nil
}

// sameParts reports whether two samples have as many of everything, so that
// they can be walked side by side.
func sameParts(a, b *Entry) bool {
	if len(a.Forms) != len(b.Forms) {
		return false
	}
	for i := range a.Forms {
		v, w := &a.Forms[i], &b.Forms[i]
		if v.Reason != w.Reason {
			return false
		}
		if v.Reason != ReasonNone {
			continue
		}
		p, q := &v.Plan, &w.Plan
		if len(p.Relocs) != len(q.Relocs) || len(p.Points) != len(q.Points) || len(p.Pre) != len(q.Pre) ||
			len(p.Post) != len(q.Post) || len(p.Abort) != len(q.Abort) || len(p.Emulate) != len(q.Emulate) {
			return false
		}
		for j := range p.Points {
			s, t := &p.Points[j], &q.Points[j]
			if len(s.Back) != len(t.Back) || len(s.Forward) != len(t.Forward) {
				return false
			}
		}
	}
	return true
}

// shape writes the parts of a. other has the same parts, and may be a.
func (e *Encoder) shape(a, other *Entry, x *delta) ShapeID {
	e.verdicts = e.verdicts[:0]
	for i := range a.Forms {
		e.verdict(&a.Forms[i], &other.Forms[i], a, x)
	}
	verdicts := e.sec[secVerdicts].intern(e.verdicts)
	e.buf = putShape(e.buf[:0], a, verdicts)
	n := e.sec[secShapes].len()
	s := e.sec[secShapes].intern(e.buf)
	if int(s.first) == n {
		e.lens = append(e.lens, a.Len)
	}
	return ShapeID(s.first)
}

// verdict appends v to e.verdicts.
func (e *Encoder) verdict(v, other *Verdict, en *Entry, x *delta) {
	var flags uint16
	if v.Far && v.Form != FormEmulate {
		flags |= binFarAsked
	}
	if v.Reason != ReasonNone {
		e.verdicts = putVerdict(e.verdicts, v, flags, ends{}, &planSpans{})
		return
	}
	p, q := &v.Plan, &other.Plan
	s := planSpans{
		code: e.code(p, en, &flags), relocs: e.relocs(p, q, x), escapes: e.escapes(p), points: e.points(p, q, x),
		pre: e.program(p.Pre, q.Pre, x), post: e.program(p.Post, q.Post, x),
		abort: e.program(p.Abort, q.Abort, x), emulate: e.program(p.Emulate, q.Emulate, x),
	}
	var r ends
	if len(p.Code) > 0 && !p.Far {
		var moves uint16
		r, moves = x.reach(p.Reach, q.Reach)
		flags |= moves
	}
	flags |= bit(p.Far, binFar) | bit(p.IsCall, binIsCall) | bit(p.Private, binPrivate) | bit(p.X87, binX87) | bit(p.Alias, binAlias)
	e.verdicts = putVerdict(e.verdicts, v, flags, r, &s)
}

func bit(b bool, flag uint16) uint16 {
	if b {
		return flag
	}
	return 0
}

// code stores the template. The bytes of a copied site are not part of it, so
// that all sites of a length share one.
func (e *Encoder) code(p *Plan, en *Entry, flags *uint16) span {
	e.buf = append(e.buf[:0], p.Code...)
	n := int(en.Len)
	if p.Strategy == StrategyCopy && int(p.SiteLen) == n && len(p.Code) >= n && string(p.Code[:n]) == string(en.Bytes) {
		*flags |= binCopy
		clear(e.buf[:n])
	}
	return e.sec[secCode].intern(e.buf)
}

func (e *Encoder) relocs(p, q *Plan, x *delta) span {
	e.buf = e.buf[:0]
	for i := range p.Relocs {
		e.buf = putReloc(e.buf, &p.Relocs[i], x, &q.Relocs[i])
	}
	return e.sec[secRelocs].intern(e.buf)
}

func (e *Encoder) escapes(p *Plan) span {
	e.buf = e.buf[:0]
	for _, s := range p.Escapes {
		e.buf = append(le.AppendUint16(e.buf, s.Off), byte(s.Kind), 0)
	}
	return e.sec[secEscapes].intern(e.buf)
}

func (e *Encoder) points(p, q *Plan, x *delta) span {
	e.pts = e.pts[:0]
	for i := range p.Points {
		a, b := &p.Points[i], &q.Points[i]
		back := e.program(a.Back, b.Back, x)
		e.pts = putPoint(e.pts, a, back, e.program(a.Forward, b.Forward, x))
	}
	return e.sec[secPoints].intern(e.pts)
}

func (e *Encoder) program(p, q Program, x *delta) span {
	e.buf = e.buf[:0]
	for i := range p {
		e.buf = putStep(e.buf, &p[i], x, &q[i])
	}
	return e.sec[secSteps].intern(e.buf)
}

// yields reports whether the shape, with d and the bytes of en, is en again. It is what makes sharing shapes safe: nothing is stored that was not
// read back and compared.
func (e *Encoder) yields(id ShapeID, en *Entry, d int64) bool {
	v := View{sec: e.views()}
	e.back.PC, e.back.Bytes = en.PC, en.Bytes
	v.shape(uint32(id), d, &e.back)
	want := *en
	want.Func, want.At, want.InFile, want.Text = "", 0, false, ""
	return e.back.Equal(&want)
}

// views returns the sections as a reader sees them; the body is not one yet.
func (e *Encoder) views() (out [numSections][]byte) {
	for i := range e.sec {
		out[i] = e.sec[i].data
	}
	return out
}
