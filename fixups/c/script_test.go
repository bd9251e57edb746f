package c_test

import (
	"fmt"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// script is input for the driver together with what it should print.
type script struct {
	in    []byte
	lines []line
	seen  map[string]bool // programs and plans that were run, by content
}

type line struct{ cmd, want string }

func (s *script) add(want, format string, args ...any) {
	cmd := fmt.Sprintf(format, args...)
	s.in = append(append(s.in, cmd...), '\n')
	s.lines = append(s.lines, line{cmd, want})
}

// open adds a table and returns Go's view of it.
func (s *script) open(data []byte) *view {
	v := open(data)
	s.add(v.table(), "table %x", len(data))
	s.in = append(s.in, data...)
	return v
}

// all adds everything that can be asked of a table.
func (s *script) all(g gen, v *view, times int) {
	if v.err != nil {
		return
	}
	s.lookups(g, v)
	var e fixups.Entry
	for r := range v.All() {
		v.Entry(r, &e)
		s.add(v.entry(&e), "entry %x", e.PC)
		at := g.bases(&e)
		forms, needs := uint64(g.IntN(16)), g.Uint64()&7
		s.add(choose(&e, placeable(at), forms, fixups.Needs(needs)), "choose %x %x %x %x %x", e.PC, forms, needs, at.Site, at.Slot)
		far := g.bool()
		s.add(choose(&e, asked(far), forms, fixups.Needs(needs)), "slots %x %x %x %x", e.PC, forms, needs, b2i(far))
		for i := range e.Forms {
			if e.Forms[i].Reason == fixups.ReasonNone {
				s.plan(g, v, &e, i, times)
			}
		}
	}
}

// lookups asks for every instruction and for addresses beside them.
func (s *script) lookups(g gen, v *view) {
	ask := func(pc uint64) { s.add(v.find(pc), "find %x", pc) }
	for r := range v.All() {
		ask(r.PC)
		ask(r.PC + 1)
		if g.IntN(8) == 0 {
			ask(r.PC - 1)
			ask(r.PC + uint64(r.Len) + 1)
		}
	}
	for range 4 {
		ask(uint64(g.val()))
	}
}

// plan places a plan and runs its programs, unless one with the same content
// has been through here.
func (s *script) plan(g gen, v *view, e *fixups.Entry, i, times int) {
	p := &e.Forms[i].Plan
	key := fmt.Sprintf("%x %x %+v", e.Target-e.PC, v.head.Layout, *p)
	if s.seen[key] {
		return
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[key] = true
	for range times {
		at := g.bases(e)
		at.Slot = at.Site + g.distance(p)
		if p.SlotAlign > 1 && g.IntN(4) != 0 {
			at.Slot &^= uint64(p.SlotAlign - 1)
		}
		seed, room := g.Uint64(), len(p.Code)+g.IntN(20)
		if g.IntN(8) == 0 {
			room = g.IntN(len(p.Code) + 1)
		}
		s.add(v.place(p, at, seed, room), "place %x %x %x %x %x %x %x", e.PC, i, at.Site, at.Slot, at.Data, seed, room)
		for which, prog := range []fixups.Program{p.Pre, p.Post, p.Abort, p.Emulate} {
			if len(prog) > 0 || g.IntN(16) == 0 {
				seed, pc := g.Uint64(), g.threadPC(p, at)
				s.add(v.run(prog, at, seed, pc), "run %x %x %x %x %x %x %x %x", e.PC, i, which, at.Site, at.Slot, at.Data, seed, pc)
			}
		}
		s.points(g, v, e, i, at)
	}
}

// points resumes at every point of a plan, and at a place that is none.
func (s *script) points(g gen, v *view, e *fixups.Entry, i int, at fixups.Bases) {
	p := &e.Forms[i].Plan
	offs := []uint64{g.Uint64N(uint64(len(p.Code) + 3)), g.Uint64()}
	for j := range p.Points {
		offs = append(offs, uint64(p.Points[j].Off))
	}
	for _, off := range offs {
		for _, why := range []reloc.Why{reloc.Fault, reloc.Signal} {
			seed := g.Uint64()
			s.add(v.point(p, off, why, at, seed), "point %x %x %x %x %x %x %x %x", e.PC, i, off, uint8(why), at.Site, at.Slot, at.Data, seed)
		}
	}
}
