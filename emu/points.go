package emu

import (
	"fmt"

	"github.com/xol-go/xol/fixups"
)

// maxRounds is how many visits of one boundary are interrupted: a repeated
// instruction passes it many times. The capability table may allow only one.
const maxRounds = 3

// interrupt stops the copy of state i at each boundary that it reaches, does
// what a signal does to memory, leaves the slot by the point's programs, and
// compares. In the step form the only boundaries are those before and after
// the copy.
func (c *check) interrupt(i int) error {
	w := c.w
	switch c.p.Form {
	case fixups.FormEmulate:
		return nil
	case fixups.FormStep:
		return c.interruptStep(i)
	}
	n := len(w.t.Words)
	w.orig.initial(&c.init, i, n)
	w.orig.result(&c.o, i, n)
	if c.excludes() {
		return nil
	}
	enter := &c.scratch
	w.copy.initial(enter, i, n)
	if c.trace == nil {
		c.trace = make([]uint64, 0, 64)
	}
	trace, err := w.run(&c.c, enter, c.at.Slot, c.at.Slot+uint64(c.code), maxSteps, c.trace[:0])
	c.trace = trace
	if err != nil {
		return err
	}
	visits := map[uint64]int{}
	for k, pc := range trace {
		if visits[pc]++; visits[pc] > c.rounds {
			continue
		}
		if err := c.interruptAt(i, uint32(k), pc); err != nil || c.res.Verdict != Match {
			return err
		}
	}
	return nil
}

// interruptAt stops state i before its k-th step, at pc.
func (c *check) interruptAt(i int, k uint32, pc uint64) error {
	w := c.w
	pt := c.p.PointAt(pc - c.at.Slot)
	if pt == nil {
		return c.mismatch("points", fmt.Sprintf("no point at slot+%#x", pc-c.at.Slot))
	}
	w.copy.initial(&c.scratch, i, len(w.t.Words))
	if _, err := w.run(&c.c, &c.scratch, c.at.Slot, c.at.Slot+uint64(c.code), k, nil); err != nil {
		return err
	}
	if w.pcOf(c.c.Words) != pc {
		return c.mismatch("oracle", fmt.Sprintf("stopped at %#x instead of %#x", w.pcOf(c.c.Words), pc))
	}
	c.res.Points++
	c.scribble(&c.c.State)
	defer func() { c.sandpit = span{} }()
	if pt.State == fixups.StateStart && !pt.HasBack || pt.State != fixups.StateStart && !pt.HasForward {
		return c.mismatch("points", fmt.Sprintf("slot+%#x (%v) has no program out", pt.Off, pt.State))
	}
	if pt.HasBack && pt.State == fixups.StateStart {
		c.sand.Words = append(c.sand.Words[:0], c.c.Words...)
		c.sand.Lines = append(c.sand.Lines[:0], c.c.Lines...)
		if err := c.goBack(pt); err != nil || c.res.Verdict != Match {
			return err
		}
		c.c.Words = append(c.c.Words[:0], c.sand.Words...)
		c.c.Lines = append(c.c.Lines[:0], c.sand.Lines...)
	}
	if pt.HasForward {
		return c.goForward(pt)
	}
	return nil
}

// scribble overwrites everything below the stack pointer, less what signals
// spare, with random bytes.
func (c *check) scribble(s *State) {
	w := c.w
	lo := w.stack.Addr
	hi := w.spOf(s.Words) - c.kept
	c.sandpit = span{}
	if hi-lo > uint64(len(w.stack.Live)) {
		return // the stack is somewhere else
	}
	lo = max(lo, hi&^7-512)
	if hi-lo > 1024 {
		lo = w.stack.Addr
	}
	m := machine{t: w.t, x: w.x, pages: w.cpu.Pages(), state: s}
	for a := lo; a < hi; a = (a | (LineSize - 1)) + 1 {
		l := m.overlay(a)
		n := min(LineSize-a%LineSize, hi-a)
		v := w.rnd.Uint64() | 1
		for i := range n {
			l.Data[a%LineSize+i] = byte(v >> 56)
			v *= 0xd1342543de82ef95
		}
	}
	c.sandpit = span{lo: lo, size: hi - lo}
}

// goBack runs the point's back program. What it makes must be the state that
// the site was entered with, or lead to the end that the site has from there: a
// repeated instruction may have done some rounds, a call may have written the
// word that it is going to write.
func (c *check) goBack(pt *fixups.Point) error {
	w := c.w
	var t fixups.Temps
	if err := w.runProgram(pt.Back, &c.c.State, &c.at, &t); err != nil {
		return c.mismatch("program", fmt.Sprintf("back from slot+%#x: %v", pt.Off, err))
	}
	if pc := w.pcOf(c.c.Words); pc != c.at.Site {
		return c.mismatch("program", fmt.Sprintf("back from slot+%#x leads to %#x", pt.Off, pc))
	}
	lost := pt.Lost
	w.computed(c.init.Words, c.c.Words)
	start := final{State: c.init}
	if c.sameWords(start.Words, c.c.Words, &lost) && c.sameLines(&start, &c.c) {
		return nil
	}
	ref, err := c.scribbled()
	if err != nil {
		return err
	}
	s := State{Words: append([]uint64(nil), c.c.Words...), Lines: append([]Line(nil), c.c.Lines...)}
	if err := c.follow(&c.c, &s); err != nil {
		return err
	}
	if endless(&c.c) || endless(ref) {
		c.res.Undecided++
		return nil
	}
	if err := c.toEnd(); err != nil {
		return err
	}
	if !equalWords(ref.Words, c.o.Words) || !c.sameLines(ref, &c.o) {
		c.res.Undecided++ // it reads what a signal overwrites, with or without a probe
		return nil
	}
	if c.p.Lost.IsEmpty() || !c.c.Stop.faulted() {
		lost = fixups.RegSet{}
	}
	c.compare(ref, &c.c, &lost)
	return c.note(pt, "back")
}

// scribbled is the end of the site's run from the initial state with the bytes
// that the signal has overwritten.
func (c *check) scribbled() (*final, error) {
	w := c.w
	s := State{Words: append([]uint64(nil), c.init.Words...), Lines: append([]Line(nil), c.init.Lines...)}
	src := machine{t: w.t, x: w.x, pages: w.cpu.Pages(), state: &c.c.State}
	dst := machine{t: w.t, x: w.x, pages: w.cpu.Pages(), state: &s}
	for a := c.sandpit.lo; a < c.sandpit.lo+c.sandpit.size; a++ {
		dst.poke(a, src.peek(a))
	}
	ref := new(final)
	return ref, c.follow(ref, &s)
}

// follow executes the site from s until it is left: a repeated instruction to
// its end, a branch, which may lead to itself, once.
func (c *check) follow(f *final, s *State) error {
	hi, limit := c.at.Site+1, uint32(maxSteps)
	if transfers(c.w.site.insn.Class) {
		hi, limit = c.at.Site, 1
	}
	_, err := c.w.run(f, s, c.at.Site, hi, limit, nil)
	return err
}

// sameLines reports whether two memories are the same, up to what is excluded.
func (c *check) sameLines(a, b *final) bool {
	c.compareLines(a, b)
	same := c.res.Verdict == Match
	c.res.Verdict, c.res.Diff = Match, nil
	return same
}

// goForward runs the point's forward program: its end must be the site's.
func (c *check) goForward(pt *fixups.Point) error {
	w := c.w
	var t fixups.Temps
	if err := w.runProgram(pt.Forward, &c.c.State, &c.at, &t); err != nil {
		return c.mismatch("program", fmt.Sprintf("forward from slot+%#x: %v", pt.Off, err))
	}
	c.c.Stop = Stop{Kind: StopLeft}
	c.gone = false
	if c.uncanonical(nil); c.gone {
		return nil
	}
	if w.pcOf(c.c.Words) != c.at.Site {
		if err := c.toEnd(); err != nil {
			return err
		}
		if endless(&c.o) {
			c.res.Undecided++
			return nil
		}
	}
	c.compare(&c.o, &c.c, &fixups.RegSet{})
	return c.note(pt, "forward")
}

// toEnd follows the site itself until it is left, if it repeats.
func (c *check) toEnd() error {
	if c.o.Stop.faulted() || c.w.pcOf(c.o.Words) != c.at.Site {
		return nil
	}
	return c.follow(&c.o, &c.init)
}

// endless reports whether a run was given up before it ended.
func endless(f *final) bool { return f.Stop.Kind == StopLimit && f.Stop.Steps >= maxSteps }

func (c *check) sameWords(a, b []uint64, lost *fixups.RegSet) bool {
	for i := range a {
		if r := c.w.t.Words[i].Reg; a[i] != b[i] && !lost.Has(r) && !c.p.Clobbers.Has(r) {
			return false
		}
	}
	return true
}

// note says at which point a difference was found.
func (c *check) note(pt *fixups.Point, way string) error {
	if c.res.Verdict == Mismatch {
		c.mismatch("point", fmt.Sprintf("interrupted at slot+%#x (%v), left by %s", pt.Off, pt.State, way))
	}
	return nil
}

// interruptStep takes a visit back before the copy has run: Pre, then Abort,
// must change nothing.
func (c *check) interruptStep(i int) error {
	w := c.w
	n := len(w.t.Words)
	w.orig.initial(&c.init, i, n)
	w.copy.initial(&c.c.State, i, n)
	c.c.Stop, c.o.Stop = Stop{Kind: StopLimit}, Stop{Kind: StopLimit}
	c.scribble(&c.c.State)
	defer func() { c.sandpit = span{} }()
	t := w.pre[i]
	if err := w.runProgram(c.p.Abort, &c.c.State, &c.at, &t); err != nil {
		return c.mismatch("program", fmt.Sprintf("abort: %v", err))
	}
	c.res.Points++
	start := final{State: c.init, Stop: Stop{Kind: StopLimit}}
	w.computed(start.Words, c.c.Words)
	c.compareWords(&start, &c.c, &fixups.RegSet{})
	c.compareLines(&start, &c.c)
	if c.res.Verdict == Mismatch {
		c.mismatch("point", "a step that was given up before it began")
	}
	return nil
}

// transfers reports whether a class of instructions goes somewhere else.
func transfers(c fixups.Class) bool {
	switch c {
	case fixups.ClassBranch, fixups.ClassCondBranch, fixups.ClassCall, fixups.ClassIndirectBranch,
		fixups.ClassIndirectCall, fixups.ClassReturn:
		return true
	}
	return false
}
