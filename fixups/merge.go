package fixups

import "fmt"

// Merge adds all that o has written to e, behind what e has written, so that
// parts of a table can be made side by side, by an encoder each. Shapes are
// shared again. o is ended by it, and of no further use but Reset.
//
// The addresses of o lie behind those of e, both have the same layout, and
// where both have a plain shape of a length, it is the same: a generator gives
// its plain shapes to all its encoders first. The error wraps [ErrEncode]; it
// is also that of e from then on.
func (e *Encoder) Merge(o *Encoder) error {
	e.flush()
	o.flush()
	if o.err != nil {
		e.fail(o.err)
	}
	if e.align != o.align || wordBits(e.head.Layout) != wordBits(o.head.Layout) || e.head.Layout.Placing != o.head.Layout.Placing {
		e.fail(fmt.Errorf("%w: parts of layouts %+v and %+v", ErrEncode, e.head.Layout, o.head.Layout))
	}
	if e.err != nil {
		return e.err
	}
	ids := make([]uint32, len(o.lens))
	for i := range ids {
		ids[i] = e.adopt(o, i)
	}
	e.mergePlain(o, ids)
	e.mergeRuns(o)
	for b := o.sites[:o.siteEnd]; len(b) > 0; b = b[16:] {
		e.sites = append(e.sites[:e.siteEnd], b[:16]...)
		le.PutUint32(e.sites[e.siteEnd+4:], ids[le.Uint32(b[4:])])
		e.siteEnd += 16
	}
	for b := o.sec[secGaps].data; len(b) > 0; b = b[16:] {
		e.Gap(Range{le.Uint64(b), le.Uint64(b[8:])})
	}
	e.run = runState{}
	return e.err
}

func (e *Encoder) mergePlain(o *Encoder, ids []uint32) {
	for n, id := range o.plain {
		if id == binNone {
			continue
		}
		e.SetPlain(ShapeID(ids[id]))
		if e.plain[n] != ids[id] {
			e.fail(fmt.Errorf("%w: parts with different plain shapes of %d bytes", ErrEncode, n))
		}
	}
}

// mergeRuns moves the runs of o behind those of e, with the text and the starts
// they refer to.
func (e *Encoder) mergeRuns(o *Encoder) {
	text, starts := &e.sec[secText], &e.sec[secStarts]
	first := true
	for b := o.sec[secRuns].data; len(b) > 0; b = b[64:] {
		addr := le.Uint64(b)
		if first && e.any && addr < e.last {
			e.fail(fmt.Errorf("%w: part at %#x, behind one that ends at %#x", ErrEncode, addr, e.last))
		}
		first = false
		runs := append(e.sec[secRuns].data, b[:64]...)
		r := runs[len(runs)-64:]
		le.PutUint32(r[12:], e.str(o.strAt(le.Uint32(b[12:]))))
		le.PutUint64(r[32:], le.Uint64(b[32:])+uint64(len(text.data)))
		le.PutUint32(r[40:], le.Uint32(b[40:])+uint32(starts.len()))
		le.PutUint32(r[44:], le.Uint32(b[44:])+uint32(e.siteEnd/16))
		e.sec[secRuns].data = runs
	}
	text.data = append(text.data, o.sec[secText].data...)
	starts.data = append(starts.data, o.sec[secStarts].data...)
	if o.any {
		e.last, e.any = o.last, true
	}
	e.done += o.done
}

// strAt returns the string at offset off.
func (e *Encoder) strAt(off uint32) string {
	b := e.sec[secStrings].data[off:]
	n := 0
	for b[n] != 0 {
		n++
	}
	return string(b[:n])
}

// adopt writes shape id of o to e, and returns its number there. All that the
// shape refers to comes with it.
func (e *Encoder) adopt(o *Encoder, id int) uint32 {
	v := View{sec: o.views()}
	shape := append([]byte(nil), v.items(secShapes, span{uint32(id), 1})...)
	verdicts := append([]byte(nil), v.items(secVerdicts, getSpan(shape[8:]))...)
	for b := verdicts; len(b) > 0; b = b[168:] {
		e.adoptSpan(&v, secCode, b[104:])
		e.adoptSpan(&v, secRelocs, b[112:])
		e.adoptSpan(&v, secEscapes, b[120:])
		e.adoptPoints(&v, b[128:])
		for at := 136; at < 168; at += 8 {
			e.adoptSpan(&v, secSteps, b[at:])
		}
	}
	setSpan(shape[8:], e.sec[secVerdicts].intern(verdicts))
	n := e.sec[secShapes].len()
	s := e.sec[secShapes].intern(shape)
	if int(s.first) == n {
		e.lens = append(e.lens, shape[1])
	}
	return s.first
}

// adoptSpan makes the span at b, which refers to a section of v, one of e.
func (e *Encoder) adoptSpan(v *View, sec int, b []byte) {
	setSpan(b, e.sec[sec].intern(v.items(sec, getSpan(b))))
}

func (e *Encoder) adoptPoints(v *View, b []byte) {
	points := append([]byte(nil), v.items(secPoints, getSpan(b))...)
	for p := points; len(p) > 0; p = p[56:] {
		e.adoptSpan(v, secSteps, p[8:])
		e.adoptSpan(v, secSteps, p[16:])
	}
	setSpan(b, e.sec[secPoints].intern(points))
}

func setSpan(b []byte, s span) {
	le.PutUint32(b, s.first)
	le.PutUint32(b[4:], s.count)
}
