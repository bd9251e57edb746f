package fixups

import (
	"fmt"
	"math/bits"
)

// Site is an instruction that is not plain, for [Encoder.Run].
type Site struct {
	Off   uint32 // from the start of the run
	Shape ShapeID
	D     int64 // target - pc; without a target 0, or the number of ShapeOf
}

// Run adds the instructions of x, which follow each other without a gap from its
// first byte to its last, all at once. Bit i of starts (bit i mod 64 of word i/64)
// says that one starts i units of Layout.Align behind the first; bits behind the
// end are clear. sites are those that are not plain, in the order of their
// offsets; all others have the shape given to [Encoder.SetPlain] for their length,
// which is not looked at here. Nothing is kept of the arguments.
func (e *Encoder) Run(x *Extent, starts []uint64, sites []Site) {
	e.flush()
	e.run = runState{}
	if e.err != nil || !e.follows(x) {
		return
	}
	size := uint64(len(x.Code))
	units := size >> e.shift
	if size == 0 || size > binMaxRun || (x.Addr|size)&uint64(e.align-1) != 0 || uint64(len(starts)) != (units+63)/64 || starts[0]&1 == 0 ||
		units&63 != 0 && starts[len(starts)-1]>>(units&63) != 0 {
		e.fail(fmt.Errorf("%w: run at %#x of %d bytes", ErrEncode, x.Addr, size))
		return
	}
	at := e.bodyLen
	e.room(8*len(starts) + binSite*len(sites) + int(size) + 7)
	n := len(e.body)
	b := e.body[n : n+8*len(starts)+binSite*len(sites)]
	entries := 0
	for i, w := range starts {
		le.PutUint64(b[8*i:], w)
		entries += bits.OnesCount64(w)
	}
	e.body = e.body[:n+len(b)]
	if bad := e.runSites(b[8*len(starts):], starts, sites, size); bad >= 0 {
		e.fail(fmt.Errorf("%w: run at %#x: site %+v", ErrEncode, x.Addr, sites[bad]))
		return
	}
	e.endRun(x, at, uint32(len(sites)), uint32(entries))
}

// runSites writes sites to b and returns the first that cannot stand, -1 if there
// is none: one behind the end, behind the next one, where no instruction starts,
// or of another length than its shape has.
func (e *Encoder) runSites(b []byte, starts []uint64, sites []Site, size uint64) int {
	next := uint64(0)
	for i := range sites {
		s := &sites[i]
		off := uint64(s.Off)
		if off < next || uint(s.Shape) >= uint(len(e.lens)) || off&uint64(e.align-1) != 0 {
			return i
		}
		n := uint64(e.lens[s.Shape])
		next = off + n
		u, v := off>>(e.shift&63), next>>(e.shift&63)
		if next > size || n&uint64(e.align-1) != 0 || starts[u>>6]>>(u&63)&1 == 0 || next < size && starts[v>>6]>>(v&63)&1 == 0 {
			return i
		}
		putSite(b, s.Off, s.Shape, s.D)
		b = b[binSite:]
	}
	return -1
}

// Shapes are the shapes that an [Encoder] had at some time. They stay as they
// are while it makes more, also in another goroutine.
type Shapes struct{ v View }

// Len returns the number of shapes.
func (s *Shapes) Len() int { return len(s.v.sec[secShapes]) / binShape }

// Shapes returns the shapes that e has.
func (e *Encoder) Shapes() *Shapes { return &Shapes{View{sec: e.views()}} }

// Adopt writes shape id of s, which may come from another encoder, and returns its
// number in e. All that the shape refers to comes with it.
func (e *Encoder) Adopt(s *Shapes, id ShapeID) ShapeID {
	if uint64(id) >= uint64(len(s.v.sec[secShapes])/binShape) {
		e.fail(fmt.Errorf("%w: no shape %d", ErrEncode, id))
		return 0
	}
	v := &s.v
	e.buf = append(e.buf[:0], v.items(secShapes, span{uint32(id), 1})...)
	e.verdicts = append(e.verdicts[:0], v.items(secVerdicts, getSpan(e.buf[8:]))...)
	for b := e.verdicts; len(b) > 0; b = b[binVerdict:] {
		e.adoptSpan(v, secCode, b[104:])
		e.adoptSpan(v, secRelocs, b[112:])
		e.adoptSpan(v, secEscapes, b[120:])
		e.adoptPoints(v, b[128:])
		for at := 136; at < 168; at += 8 {
			e.adoptSpan(v, secSteps, b[at:])
		}
	}
	setSpan(e.buf[8:], e.sec[secVerdicts].intern(e.verdicts))
	n := e.sec[secShapes].len()
	x := e.sec[secShapes].intern(e.buf)
	if int(x.first) == n {
		e.lens = append(e.lens, e.buf[1])
	}
	return ShapeID(x.first)
}

// adoptSpan makes the span at b, which refers to a section of v, one of e.
func (e *Encoder) adoptSpan(v *View, sec int, b []byte) {
	setSpan(b, e.sec[sec].intern(v.items(sec, getSpan(b))))
}

func (e *Encoder) adoptPoints(v *View, b []byte) {
	e.pts = append(e.pts[:0], v.items(secPoints, getSpan(b))...)
	for p := e.pts; len(p) > 0; p = p[56:] {
		e.adoptSpan(v, secSteps, p[8:])
		e.adoptSpan(v, secSteps, p[16:])
	}
	setSpan(b, e.sec[secPoints].intern(e.pts))
}

func setSpan(b []byte, s span) {
	le.PutUint32(b, s.first)
	le.PutUint32(b[4:], s.count)
}
