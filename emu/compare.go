package emu

import (
	"errors"
	"fmt"
	"slices"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// maxSteps bounds a run of slot code, and how far the site is followed when it
// repeats: rounds of a repeated instruction count.
const maxSteps = 600

// Result is the outcome of one comparison: of one plan at one slot, from all
// states of the site.
type Result struct {
	Verdict Verdict
	Limit   string // row of the capability table, or what the oracle did
	Diff    *Diff  // of the first state that differs

	States int // compared to the end
	Faults int // of them, that ended in a fault on both sides
	Points int // boundaries at which a run was interrupted
	// Skipped are states that the plan or its form excludes: stack that it needs is
	// missing, an operand is where it pushes, a branch is emulated to no address.
	Skipped   int
	Undecided int // states in which a repeated instruction does not end in time
}

// Placement is where a plan is put.
type Placement struct {
	Arena int // index of Target.Slots
	// Interrupt is in how many states the run is also interrupted at each of its
	// boundaries.
	Interrupt int
}

// check is one comparison in progress.
type check struct {
	w    *Worker
	p    *fixups.Plan
	at   fixups.Bases
	code int // bytes of placed code
	zone uint64
	kept uint64
	// guarded: Env says that a landing pad is asked for where a branch leads.
	guarded bool
	res     *Result

	init, sand, scratch State // storage
	o, c                final
	trace               []uint64
	lost                fixups.RegSet // at the point that took a fault back
	skip                []span
	data                span // of the slot
	sandpit, torn       span // what a signal has overwritten; a store that failed half way
	gone                bool // where no processor goes
	pushed              bool // a call that faulted has its return address written
	rounds              int  // of a repeated instruction that may be interrupted
}

// Limit returns the row of the capability table that restricts how plans of a
// form are compared with the site, nil if there is none.
func (w *Worker) Limit(form fixups.Form) *Limit {
	for _, l := range w.site.rows {
		if l.Forms == 0 || l.Forms.Has(form) {
			return l
		}
	}
	return nil
}

// Reaches returns the slot arenas that a plan for the site can be put in.
func (w *Worker) Reaches(p *fixups.Plan) []int {
	var list []int
	for i := range w.slots {
		d := int64(w.slots[i].page.Addr + uint64(w.slots[i].next) - w.site.pc)
		if w.t.Bits == 32 {
			d = int64(int32(d))
		}
		if p.Form == fixups.FormEmulate && i > 0 {
			break
		}
		if p.Form == fixups.FormEmulate || p.Holds(d) {
			list = append(list, i)
		}
	}
	return list
}

// Check places p and compares it with the site from every state that
// [Worker.States] made. env is what the plan was made with. An error is a
// failure of the oracle or a plan that cannot be placed.
func (w *Worker) Check(res *Result, p *fixups.Plan, env *reloc.Env, where Placement) error {
	*res = Result{}
	c := &w.chk
	c.rounds = maxRounds
	if l := w.Limit(p.Form); l != nil {
		switch l.Verdict {
		case Unsupported:
			res.Verdict, res.Limit = Unsupported, l.Name
			return nil
		case Suspect:
			res.Limit = l.Name
		case Match:
			if !l.Refused {
				c.rounds = 1
			}
		}
	}
	zone, kept := env.ZoneOf(w.info)
	c.w, c.p, c.res, c.zone, c.kept = w, p, res, uint64(zone), uint64(kept)
	c.guarded = env.BTI == reloc.On
	c.sandpit = span{}
	if err := c.place(where.Arena, env); err != nil {
		return err
	}
	if err := c.runCopies(); err != nil {
		return err
	}
	for i := 0; i < w.site.n && res.Verdict == Match; i++ {
		if err := c.judge(i); err != nil {
			return err
		}
		if res.Verdict == Match && i < where.Interrupt {
			if err := c.interrupt(i); err != nil {
				return err
			}
		}
	}
	if res.Verdict == Mismatch {
		res.Diff.describe(c)
	}
	if res.Limit != "" && res.Verdict == Match {
		res.Verdict = Suspect
	}
	return nil
}

// place writes the slot code of the plan to the next place of a ring.
func (c *check) place(arena int, env *reloc.Env) error {
	w := c.w
	c.at = fixups.Bases{Site: w.site.pc}
	c.code = 0
	if len(c.p.Code) == 0 {
		return nil
	}
	r := &w.slots[arena]
	slot, err := w.reserve(r)
	if err != nil {
		return err
	}
	c.at.Slot, c.at.Data = slot, r.arena.Data
	c.data = span{}
	if usesData(c.p) {
		if c.data, err = w.slotData(arena); err != nil {
			return err
		}
	}
	code, err := fixups.PlaceOrder(w.code[:0], c.p, c.at, w.info.Order(env.DataOrder))
	if err != nil {
		return fmt.Errorf("emu: slot %#x for site %#x: %w", slot, w.site.pc, err)
	}
	if len(code) > slotSpan-16 {
		return fmt.Errorf("emu: %d bytes of slot code, at most %d", len(code), slotSpan-16)
	}
	w.code, c.code = code, len(code)
	copy(r.page.Live[slot-r.page.Addr:], code)
	return nil
}

// runCopies executes the copy from all states, as the form's protocol says,
// programs of Post and Abort aside.
func (c *check) runCopies() error {
	w := c.w
	if c.p.Form == fixups.FormEmulate {
		return nil
	}
	n, words := w.site.n, len(w.t.Words)
	r := &w.copy
	r.grow(n, words)
	copy(r.in, w.orig.in[:n*words])
	lo, hi, limit := c.at.Slot, c.at.Slot+uint64(c.code), uint32(maxSteps)
	if c.p.Form == fixups.FormStep {
		hi, limit = lo, 1
		if c.p.Stop == fixups.StopTrap {
			hi, limit = lo+1, maxSteps // a trap behind the copy does not see its rounds
		}
	}
	for len(w.pre) < n {
		w.pre = append(w.pre, fixups.Temps{})
	}
	for i := range n {
		r.first[i] = uint32(len(r.lines))
		if err := c.enter(r, i); err != nil {
			return err
		}
		r.first[i+1] = uint32(len(r.lines))
	}
	return w.exec(r, n, lo, hi, limit, c.p.Form == fixups.FormStep && c.p.Stop == fixups.StopHardware)
}

// enter makes the state in which the copy begins: that of the site with Pre
// run and pc in the slot.
func (c *check) enter(r *runs, i int) error {
	w := c.w
	words := r.wordsOf(i, len(w.t.Words))
	if c.p.Form == fixups.FormStep && len(c.p.Pre) > 0 {
		w.orig.initial(&c.scratch, i, len(words))
		w.pre[i] = fixups.Temps{}
		if err := w.runProgram(c.p.Pre, &c.scratch, &c.at, &w.pre[i]); err != nil {
			return fmt.Errorf("emu: pre: %w", err)
		}
		copy(words, c.scratch.Words)
		r.lines = append(r.lines, c.scratch.Lines...)
	} else {
		r.lines = append(r.lines, w.orig.lines[w.orig.first[i]:w.orig.first[i+1]]...)
	}
	words[w.x.pc] = c.at.Slot
	return nil
}

// judge compares the ends of state i.
func (c *check) judge(i int) error {
	w := c.w
	words := len(w.t.Words)
	if c.plainMatch(i) {
		c.res.States++
		return nil
	}
	c.lost, c.torn, c.gone, c.pushed = fixups.RegSet{}, span{}, false, false
	w.orig.initial(&c.init, i, words)
	w.orig.result(&c.o, i, words)
	if why := unusable(&c.o.Stop); why != "" && !c.forbidden() {
		if l := w.Limit(c.p.Form); l != nil && l.Refused && c.o.Stop.Kind == StopInvalid {
			why = l.Name
		}
		c.res.Verdict, c.res.Limit = Unsupported, why
		return nil
	}
	if err := c.finish(i); err != nil {
		return err
	}
	return c.settle()
}

// plainMatch is the common case: the site was left and the copy ended with the
// same words and lines, nothing left to be done.
func (c *check) plainMatch(i int) bool {
	w := c.w
	if c.p.Form == fixups.FormEmulate || len(c.p.Post) > 0 {
		return false
	}
	o, k := &w.orig.stops[i], &w.copy.stops[i]
	if o.faulted() || k.Kind != StopLeft {
		return false
	}
	n := len(w.t.Words)
	return equalWords(w.orig.out[i*n:(i+1)*n], w.copy.out[i*n:(i+1)*n]) &&
		equalLines(w.orig.outs[o.First:o.First+o.Lines], w.copy.outs[k.First:k.First+k.Lines])
}

// unusable says why the end of the site's run means nothing, "" if it does.
func unusable(s *Stop) string {
	switch s.Kind {
	case StopInvalid:
		return "undefined-in-oracle"
	case StopHalt:
		return "oracle-halts"
	case StopError:
		return "oracle-fails"
	}
	return ""
}

// forbidden reports whether the site is undefined because of where it runs: what
// is privileged is, in some processors and outside of some modes. The copy must
// end in the same way.
func (c *check) forbidden() bool {
	return c.o.Stop.Kind == StopInvalid && c.w.site.insn.Class == fixups.ClassPrivileged
}

// finish brings the copy's run to its end: Post, Abort or the program of the
// point where it faulted. The result is c.c.
func (c *check) finish(i int) error {
	w := c.w
	if c.p.Form == fixups.FormEmulate {
		return c.emulate()
	}
	w.copy.result(&c.c, i, len(w.t.Words))
	if c.p.Form == fixups.FormStep {
		return c.finishStep(i)
	}
	c.finishTrapTail()
	s := &c.c.Stop
	if !s.faulted() {
		return nil
	}
	return c.back()
}

// finishTrapTail turns the trap at the end of the code into what the consumer
// makes of it: pc goes behind the site.
func (c *check) finishTrapTail() {
	w, s := c.w, &c.c.Stop
	trap := len(w.info.Trap)
	if c.p.Tail != fixups.TailTrap || s.Kind != StopException {
		return
	}
	end := c.at.Slot + uint64(c.code-trap+w.info.TrapAdvances)
	if w.pcOf(c.c.Words) == end {
		c.c.Words[w.x.pc] = c.at.Site + uint64(c.p.SiteLen)
		c.c.Stop = Stop{Kind: StopLeft, Steps: s.Steps}
	}
}

func (c *check) finishStep(i int) error {
	w := c.w
	prog := c.p.Post
	if c.c.Stop.faulted() {
		prog = c.p.Abort
		if len(prog) == 0 && w.pcOf(c.c.Words) == c.at.Slot {
			return c.mismatch("abort", "a copy that can fault has no abort program")
		}
	}
	t := w.pre[i]
	if err := w.runProgram(prog, &c.c.State, &c.at, &t); err != nil {
		return c.mismatch("program", err.Error())
	}
	if !c.c.Stop.faulted() {
		c.c.Stop = Stop{Kind: StopLimit}
	}
	return nil
}

// back runs the back program of the point at which the copy faulted.
func (c *check) back() error {
	w := c.w
	pc := w.pcOf(c.c.Words)
	if pc-c.at.Slot >= uint64(c.code) {
		return nil // the fault is the landing's
	}
	pt := c.p.PointAt(pc - c.at.Slot)
	if pt == nil || !pt.HasBack {
		if c.declared() {
			return nil
		}
		return c.mismatch("points", fmt.Sprintf("no way back from a fault at slot+%#x", pc-c.at.Slot))
	}
	var t fixups.Temps
	if err := w.runProgram(pt.Back, &c.c.State, &c.at, &t); err != nil {
		return c.mismatch("program", err.Error())
	}
	c.lost = pt.Lost
	c.pushed = c.p.IsCall && pc != c.at.Slot
	return nil
}

// emulate runs the plan's program from the initial state.
func (c *check) emulate() error {
	w := c.w
	c.c.Words = append(c.c.Words[:0], c.init.Words...)
	w.computed(c.c.Words, c.o.Words)
	c.c.Lines = append(c.c.Lines[:0], c.init.Lines...)
	c.c.Stop = Stop{Kind: StopLimit}
	var t fixups.Temps
	err := w.runProgram(c.p.Emulate, &c.c.State, &c.at, &t)
	var access *fixups.AccessError
	switch {
	case errors.As(err, &access):
		c.c.Stop = Stop{Kind: StopFault, Addr: access.Addr, Access: AccessRead}
		if c.o.Stop.Addr-access.Addr < uint64(access.Size) {
			c.c.Stop.Addr = c.o.Stop.Addr // the byte of the access that has no memory
			// Oracles may have written what is before a page boundary.
			c.torn = span{lo: access.Addr, size: uint64(access.Size)}
		}
		if access.Write {
			c.c.Stop.Access = AccessWrite
		}
		if c.o.Stop.Kind == StopFault && c.o.Stop.Access == AccessNone {
			c.c.Stop.Access = AccessNone // the oracle does not tell
		}
	case errors.Is(err, fixups.ErrNoRegister) && c.p.Needs != 0:
		c.res.Verdict, c.res.Limit = Unsupported, "needs-"+c.p.Needs.Names()[0]
	case err != nil:
		return c.mismatch("program", err.Error())
	}
	c.uncanonical(access)
	return nil
}

// uncanonical is about addresses that are none, as those of x86 that are not
// canonical. A processor answers an access with an exception that tells no address
// and a branch there with one at the branch, which is the one thing that programs
// do not do: they go there, and the fetch fails.
func (c *check) uncanonical(access *fixups.AccessError) {
	if s := &c.o.Stop; s.Kind != StopException || !slices.Contains(c.w.t.NoAddress, s.Num) {
		return
	}
	switch pc := c.w.pcOf(c.c.Words); {
	case access != nil && !canonical(access.Addr):
		c.c.Stop = Stop{Kind: StopException, Num: c.o.Stop.Num}
	case access == nil && !canonical(pc) && transfers(c.w.site.insn.Class):
		c.gone = true
	}
}

// canonical reports whether bits 63 to 47 of an address are the same. With 57-bit
// addresses more are canonical; those that are compared come out as the processor
// has it.
func canonical(a uint64) bool { return uint64(int64(a<<16)>>16) == a }

// settle decides between the two ends.
func (c *check) settle() error {
	if c.res.Verdict != Match {
		return nil
	}
	o, k := &c.o, &c.c
	if k.Stop.Kind == StopLimit && c.p.Form != fixups.FormStep && c.p.Form != fixups.FormEmulate {
		c.res.Undecided++
		return nil
	}
	if c.allRounds() || c.inParts() {
		if err := c.toEnd(); err != nil {
			return err
		}
		if err := c.copyToEnd(); err != nil {
			return err
		}
		if endless(o) {
			c.res.Undecided++
			return nil
		}
	}
	if c.gone || c.declared() || c.excludes() {
		c.res.Skipped++
		return nil
	}
	c.compare(o, k, &c.lost)
	if c.res.Verdict == Match && c.p.IsCall && c.p.Returns == fixups.ReturnsSlot && !o.Stop.faulted() {
		if err := c.comeBack(); err != nil {
			return err
		}
	}
	if c.res.Verdict == Match {
		c.res.States++
		if o.Stop.faulted() {
			c.res.Faults++
		}
	}
	return nil
}

// comeBack follows a call that has left an address in the slot: the callee's
// return must lead behind the site and change nothing else, and the address must
// be listed among the plan's escapes.
func (c *check) comeBack() error {
	w := c.w
	at := c.returnAddress()
	end := (c.at.Site + uint64(c.p.SiteLen)) << (64 - w.t.Bits) >> (64 - w.t.Bits)
	if at == end {
		return nil
	}
	if !c.escapes(at - c.at.Slot) {
		return c.mismatch("escapes", fmt.Sprintf("return address %#x is not listed", at))
	}
	s := State{Words: append([]uint64(nil), c.c.Words...), Lines: append([]Line(nil), c.c.Lines...)}
	s.Words[w.x.pc] = at
	if w.t.Welcome != nil {
		s.Words[w.x.word(w.t.Pads)] = 0 // a return is welcome everywhere
	}
	if w.t.Link == fixups.RegNone {
		s.Words[w.x.word(w.t.SP)] += uint64(w.t.Bits / 8)
	}
	for i := range s.Words {
		if w.info.PadRegs.Has(w.t.Words[i].Reg) {
			s.Words[i] = 0 // a return asks for no landing pad
		}
	}
	want := append([]uint64(nil), s.Words...)
	if _, err := w.run(&c.c, &s, c.at.Slot, c.at.Slot+uint64(c.code), maxSteps, nil); err != nil {
		return err
	}
	c.finishTrapTail()
	if c.declared() {
		return nil // the way out needs stack that is not there
	}
	want[w.x.pc] = end
	for i := range want {
		if want[i] != c.c.Words[i] && !c.p.Clobbers.Has(w.t.Words[i].Reg) && !c.padsAside(w.t.Words[i].Reg, want[i], c.c.Words[i]) {
			c.add(Difference{What: "after return: " + w.t.Words[i].Name, Site: want[i], Copy: c.c.Words[i]})
		}
	}
	return nil
}

// padsAside reports whether a register says at which landing pads the next
// instruction may be, and no page checks them, or those of the copy include the
// site's.
func (c *check) padsAside(r fixups.Reg, site, copy uint64) bool {
	t := c.w.t
	return t.Welcome != nil && r == t.Pads && (!c.guarded || t.Welcome(site, copy))
}

// returnAddress is where the callee that the copy has called returns to: the
// link register, or the word on top of the stack (little-endian on every
// instruction set that pushes).
func (c *check) returnAddress() (at uint64) {
	w := c.w
	if w.t.Link != fixups.RegNone {
		return c.c.Words[w.x.word(w.t.Link)]
	}
	sp := w.spOf(c.c.Words)
	m := machine{t: w.t, x: w.x, pages: w.cpu.Pages(), state: &c.c.State}
	for i := w.t.Bits/8 - 1; i >= 0; i-- {
		at = at<<8 | uint64(m.peek(sp+uint64(i)))
	}
	return at
}

func (c *check) escapes(off uint64) bool {
	for _, e := range c.p.Escapes {
		if e.Kind == fixups.EscapeReturn && uint64(e.Off) == off {
			return true
		}
	}
	return false
}

// allRounds reports whether the copy of a repeated instruction runs to its end
// where the site has only run one round so far.
func (c *check) allRounds() bool {
	if transfers(c.w.site.insn.Class) {
		return false
	}
	return c.p.Form == fixups.FormJump || c.p.Form == fixups.FormStep && c.p.Stop == fixups.StopTrap
}

// inParts reports whether the step's trap may come in the middle of the site, and
// not in the same place each time: between the elements of a gather.
func (c *check) inParts() bool {
	h := c.w.site.insn.Hazards
	return h.Has(fixups.HazardPartial) && !h.Has(fixups.HazardRepeats)
}

// copyToEnd follows a copy that has led back to the site in the middle of it.
func (c *check) copyToEnd() error {
	if !c.inParts() || c.c.Stop.faulted() || c.w.pcOf(c.c.Words) != c.at.Site {
		return nil
	}
	s := State{Words: append([]uint64(nil), c.c.Words...), Lines: append([]Line(nil), c.c.Lines...)}
	return c.follow(&c.c, &s)
}

// declared reports whether the copy failed to write the bytes below the zone
// that the plan says it needs, which the site does not.
func (c *check) declared() bool {
	s := &c.c.Stop
	if c.p.Stack == 0 || s.Kind != StopFault || c.o.Stop.same(s) {
		return false
	}
	for _, sp := range [2]uint64{c.w.spOf(c.init.Words), c.w.spOf(c.o.Words)} {
		lo := sp - c.zone - uint64(c.p.Stack)
		if (s.Addr-lo)&c.w.x.mask[c.w.x.word(c.w.t.SP)] < uint64(c.p.Stack) {
			return true
		}
	}
	return false
}

// excludes reports whether the plan does not cover the state: its declared stack
// bytes are a requirement (nobody else's), and so is Alias.
func (c *check) excludes() bool {
	return c.p.Alias && c.aliased() || c.p.Stack > 0 && c.ownOperand()
}

// ownOperand reports whether the memory operand of the site lies in the bytes
// that the plan says it writes. What the site writes is excluded byte by byte.
func (c *check) ownOperand() bool {
	w, op := c.w, &c.w.site.op
	if !op.Has {
		return false
	}
	size, n := uint64(op.Read), uint64(c.p.Stack)
	lo := w.spOf(c.init.Words) - c.zone - n
	return (w.address(op, c.init.Words)+size-1-lo)&w.x.mask[0] < n+size-1
}

// aliased reports whether the memory operand overlaps the word being pushed.
func (c *check) aliased() bool {
	w, op := c.w, &c.w.site.op
	if !op.Has {
		return false
	}
	word := uint64(w.t.Bits / 8)
	at := w.address(op, c.init.Words)
	pushed := w.spOf(c.init.Words) - word
	return at+word > pushed && at < pushed+word
}

// usesData reports whether a plan has memory private to its slot.
func usesData(p *fixups.Plan) bool {
	for i := range p.Relocs {
		if p.Relocs[i].Base == fixups.BaseData {
			return true
		}
	}
	if programUsesData(p.Pre) || programUsesData(p.Post) || programUsesData(p.Abort) {
		return true
	}
	for i := range p.Points {
		if programUsesData(p.Points[i].Back) || programUsesData(p.Points[i].Forward) {
			return true
		}
	}
	return false
}

func programUsesData(p fixups.Program) bool {
	for i := range p {
		if p[i].A.Kind == fixups.OperandData || p[i].B.Kind == fixups.OperandData {
			return true
		}
	}
	return false
}
