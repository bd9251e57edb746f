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
	for a := lo; a < hi; a++ {
		m.poke(a, byte(w.rnd.Uint64()))
	}
	c.sandpit = span{lo, hi - lo}
}

// goBack runs the point's back program. What it makes must be the state that
// the site was entered with, or lead to the same end.
func (c *check) goBack(pt *fixups.Point) error {
	w := c.w
	var t fixups.Temps
	if err := w.runProgram(pt.Back, &c.c.State, &c.at, &t); err != nil {
		return c.mismatch("program", fmt.Sprintf("back from slot+%#x: %v", pt.Off, err))
	}
	lost := pt.Lost
	start := final{State: c.init}
	w.computed(start.Words, c.c.Words)
	if c.sameWords(start.Words, c.c.Words, &lost) {
		c.compareLines(&start, &c.c)
		return c.note(pt, "back")
	}
	// A repeated instruction that has done some rounds: finish it.
	s := State{Words: append([]uint64(nil), c.c.Words...), Lines: append([]Line(nil), c.c.Lines...)}
	if _, err := w.run(&c.c, &s, c.at.Site, c.at.Site+1, maxSteps, nil); err != nil {
		return err
	}
	if err := c.toEnd(); err != nil {
		return err
	}
	if c.c.Stop.Kind == StopLimit || c.endless() {
		c.res.Undecided++
		return nil
	}
	c.compare(&c.o, &c.c, &lost)
	return c.note(pt, "back")
}

// goForward runs the point's forward program: its end must be the site's.
func (c *check) goForward(pt *fixups.Point) error {
	w := c.w
	var t fixups.Temps
	if err := w.runProgram(pt.Forward, &c.c.State, &c.at, &t); err != nil {
		return c.mismatch("program", fmt.Sprintf("forward from slot+%#x: %v", pt.Off, err))
	}
	c.c.Stop = Stop{Kind: StopLeft}
	if w.pcOf(c.c.Words) != c.at.Site {
		if err := c.toEnd(); err != nil {
			return err
		}
		if c.endless() {
			c.res.Undecided++
			return nil
		}
	}
	c.compare(&c.o, &c.c, &fixups.RegSet{})
	return c.note(pt, "forward")
}

// toEnd follows the site itself until it is left, if it repeats.
func (c *check) toEnd() error {
	w := c.w
	if c.o.Stop.faulted() || w.pcOf(c.o.Words) != c.at.Site {
		return nil
	}
	_, err := w.run(&c.o, &c.init, c.at.Site, c.at.Site+1, maxSteps, nil)
	return err
}

// endless reports whether the site was given up before it ended.
func (c *check) endless() bool {
	return c.o.Stop.Kind == StopLimit && c.o.Stop.Steps >= maxSteps
}

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
