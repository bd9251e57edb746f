package native

import (
	"fmt"
	"slices"

	"github.com/xol-go/xol/emu"
)

// batchISA is the [isa] of machines that cannot step. Executable pages are staged:
// what the worker writes there is not what is executed. A run installs the code
// that it may execute, one instruction or the code of a slot, in memory that holds
// traps but for that. So a run ends at the first trap, where the worker's window
// ends, and an instruction at a time where the worker looks at each.
type batchISA struct {
	m     *machine
	f     *frame
	t     *emu.Target
	slots []slot
	masks []uint64
	pc    int // word

	site   uint64
	used   []span  // where code was installed since the site is there
	now    []piece // what is installed
	old    []span  // where something else was, which is not yet told to the runner
	change bool

	steps steps
	inner emu.Batch
}

// span is a run of addresses, piece what is installed at one.
type span struct{ lo, hi uint64 }

type piece struct {
	at   uint64
	code []byte
}

// steps are the states between the instructions of the last run that was stepped.
type steps struct {
	lo, hi uint64
	code   []byte
	in     []emu.State // before each step; the last is the end
	stop   emu.Stop    // of the last
}

func openBatch(m *machine, t *emu.Target, f *frame) (*engine, error) {
	x := &batchISA{m: m, t: t, f: f, pc: t.WordOf("pc")}
	for i := range t.Words {
		w := &t.Words[i]
		at, ok := m.place(f, w.Name)
		if !ok {
			return nil, fmt.Errorf("no register %s", w.Name)
		}
		x.slots = append(x.slots, at)
		x.masks = append(x.masks, ^uint64(0)>>(64-w.Bits))
	}
	l, _, err := m.launch()
	if err != nil {
		return nil, err
	}
	calls := memoryCalls{mmap: uint64(m.sys.mmap), munmap: uint64(m.sys.munmap)}
	return newEngine(l, t, x, calls, recContext+8*m.sys.words)
}

func openMachine(m *machine, t *emu.Target, f *frame) (emu.CPU, error) {
	e, err := openBatch(m, t, f)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// bootMachine starts a runner to see what its first signal frame looks like.
func bootMachine(m *machine) (*frame, error) {
	l, emulated, err := m.launch()
	if err != nil {
		return nil, err
	}
	p, err := newProcess(l)
	if err != nil {
		return nil, err
	}
	defer p.close()
	f := &frame{emulated: emulated}
	rec := p.shared[offOut:][:recContext+8*m.sys.words]
	f.context = slices.Clone(rec[recContext:])
	if err := m.frame(f, rec); err != nil {
		return nil, err
	}
	f.askGuard(m, p)
	t, err := m.target(f)
	if err != nil {
		return nil, err
	}
	return f, f.probe(m, t)
}

// askGuard asks whether code can be in pages whose landing pads are checked. All of
// it is then: a trap is welcome everywhere, so that only what a branch leaves behind
// is seen of it.
func (f *frame) askGuard(m *machine, p *process) {
	const readExec, private, anonymous, fixed = 5, 2, 32, 16
	if m.guard == 0 || p.call(uint64(m.sys.mmap), canaryAddr, 4096, readExec|m.guard, private|anonymous|fixed, ^uint64(0), 0) != nil {
		return
	}
	f.guard = m.guard
}

func (x *batchISA) guard() uint64 { return x.f.guard }

// probe asks for each feature by executing its instruction.
func (f *frame) probe(m *machine, t *emu.Target) error {
	e, err := openBatch(m, t, f)
	if err != nil {
		return err
	}
	defer e.Close()
	if err := e.Canary(); err != nil {
		return err
	}
	for i := range m.features {
		c := &m.features[i]
		if !c.beyond {
			var code [4]byte
			m.kind.order.PutUint32(code[:], c.probe)
			b := e.single(e.caseAt(code[:]...))
			if err := e.Run(b); err != nil {
				return err
			}
			if b.Stops[0].Kind != emu.StopInvalid {
				continue
			}
		}
		f.lacks = append(f.lacks, c.name)
	}
	return nil
}

// setUp writes what is installed again: a new program knows no other code, and the
// run that took the last one down may have destroyed it.
func (x *batchISA) setUp(e *engine) {
	x.change = false
	for _, p := range x.now {
		e.write(p)
	}
}

// gone is told of memory that is no longer there.
func (x *batchISA) gone(addr uint64, size int) {
	x.now = slices.DeleteFunc(x.now, func(p piece) bool { return p.at-addr < uint64(size) })
}

func (x *batchISA) begin(e *engine, _ *emu.Batch) {
	e.p.put(ctlIn, sharedBase+offIn)
	e.p.put(ctlOut, sharedBase+offOut)
	e.p.put(ctlLineAt, sharedBase+offOutLines)
	e.p.put(ctlInAt, sharedBase+offInLines)
	e.p.put(ctlChanges, 0)
	if x.change {
		x.tell(e)
	}
}

// tell writes the table of rewritten code.
func (x *batchISA) tell(e *engine) {
	n := 0
	add := func(s span) {
		r := e.regionOf(s.lo)
		if r == nil {
			return
		}
		page := s.lo &^ 4095
		at := offTrace + n*changeEntry
		for i, v := range [5]uint64{page, (s.hi+4095)&^4095 - page, e.prot(r.page.Prot), s.lo &^ (lineStep - 1), s.hi} {
			e.p.put(at+8*i, v)
		}
		n++
	}
	for _, s := range x.old {
		add(s)
	}
	for _, p := range x.now {
		add(span{p.at, p.at + uint64(len(p.code))})
	}
	e.p.put(ctlChanges, uint64(n))
	x.change = false
}

// install makes code, and the bytes of the site, all that is not a trap.
func (x *batchISA) install(e *engine, b *emu.Batch, at uint64, code []byte) error {
	pieces := []piece{{at, code}}
	if end := at + uint64(len(code)); b.SiteLen > 0 && (b.Site >= end || b.Site+uint64(b.SiteLen) <= at) {
		if site := e.stagedAt(b.Site, b.Site+uint64(b.SiteLen)); site != nil {
			pieces = append(pieces, piece{b.Site, site})
		}
	}
	if slices.EqualFunc(x.now, pieces, func(a, b piece) bool { return a.at == b.at && string(a.code) == string(b.code) }) {
		return nil
	}
	if r := e.regionOf(at); r == nil || !r.staged || at+uint64(len(code)) > r.page.Addr+uint64(r.size) {
		return fmt.Errorf("native: no code at %#x", at)
	}
	if !x.change { // else what was installed last was never executed
		x.old = x.old[:0]
		for _, p := range x.now {
			x.old = append(x.old, span{p.at, p.at + uint64(len(p.code))})
		}
	}
	for _, p := range x.now {
		traps := make([]byte, len(p.code))
		x.t.FillAt(traps, p.at)
		e.write(piece{p.at, traps})
	}
	x.now = x.now[:0]
	for _, p := range pieces {
		e.write(p)
		x.now = append(x.now, piece{p.at, slices.Clone(p.code)})
		if n := len(x.used); n == 0 || x.used[n-1].lo != p.at {
			x.used = append(x.used, span{p.at, p.at + uint64(len(p.code))})
		}
	}
	x.change = true
	return nil
}

// write writes what is executed of a staged page.
func (e *engine) write(p piece) {
	r := e.regionOf(p.at)
	if r == nil || !r.staged {
		return
	}
	off := int(p.at - r.page.Addr)
	copy(e.p.shared[r.live+off:r.live+r.size], p.code)
	if r.base != 0 {
		copy(e.p.shared[r.base+off:r.base+r.size], p.code)
	}
}

// clean takes the code of an earlier site and its copies back, which nothing runs
// any more: who reads it as data must find what can be executed there, traps.
func (x *batchISA) clean(e *engine, b *emu.Batch) {
	if b.SiteLen == 0 || b.Site == x.site {
		return
	}
	kept := slices.Clone(e.stagedAt(b.Site, b.Site+uint64(b.SiteLen)))
	for _, s := range x.used {
		for _, r := range e.regions {
			if r.staged && s.lo-r.page.Addr < uint64(r.size) {
				off := s.lo - r.page.Addr
				x.t.FillAt(r.page.Live[off:min(off+s.hi-s.lo, uint64(r.size))], s.lo)
				if r.base != 0 {
					x.t.FillAt(r.page.Base[off:min(off+s.hi-s.lo, uint64(r.size))], s.lo)
				}
			}
		}
	}
	x.used, x.site = x.used[:0], b.Site
	if r := e.regionOf(b.Site); r != nil && r.staged {
		copy(r.page.Live[b.Site-r.page.Addr:], kept)
		if r.base != 0 {
			copy(r.page.Base[b.Site-r.page.Addr:], kept)
		}
	}
}

// stagedAt returns the bytes that the worker has written at [lo, hi).
func (e *engine) stagedAt(lo, hi uint64) []byte {
	r := e.regionOf(lo)
	if r == nil || !r.staged || hi > r.page.Addr+uint64(r.size) {
		return nil
	}
	return r.page.Live[lo-r.page.Addr : hi-r.page.Addr]
}

func (x *batchISA) word(code []byte) uint32 { return x.m.kind.order.Uint32(code) }

// uncounted is how many steps may be asked for at most if each is counted: no code
// of a slot has as many.
const uncounted = 512

func (x *batchISA) run(e *engine, b *emu.Batch) error {
	x.clean(e, b)
	start := b.In[x.pc]
	first := e.stagedAt(start, start+4)
	if first == nil {
		return fmt.Errorf("native: nothing to execute at %#x", start)
	}
	n := uint64(x.m.length(x.word(first)))
	if b.Lo == b.Hi || start == b.Lo && b.Hi-b.Lo <= n {
		return x.single(e, b, start, n)
	}
	if b.Trace != nil || b.Limit < uncounted {
		return x.stepped(e, b)
	}
	code := e.stagedAt(b.Lo, (b.Hi+3)&^3)
	if code == nil {
		return fmt.Errorf("native: nothing to execute at %#x", b.Lo)
	}
	if err := x.install(e, b, b.Lo, code); err != nil {
		return err
	}
	return e.runAll(b)
}

// single executes one instruction from each state.
func (x *batchISA) single(e *engine, b *emu.Batch, start, n uint64) error {
	code := e.stagedAt(start, start+n)
	if code == nil {
		return fmt.Errorf("native: half an instruction at %#x", start)
	}
	if n == 8 && start&63 == 60 {
		return x.acrossLine(e, b)
	}
	if err := x.install(e, b, start, code); err != nil {
		return err
	}
	lo, hi := b.Lo, b.Hi
	b.Lo, b.Hi = start, start
	err := e.runAll(b)
	b.Lo, b.Hi = lo, hi
	if err != nil {
		return err
	}
	for i := range b.N {
		s := &b.Stops[i]
		if pc := b.Out[i*len(x.t.Words)+x.pc]; s.Kind == emu.StopLeft && pc-lo < hi-lo {
			s.Kind = emu.StopLimit
		}
	}
	if b.Trace != nil {
		b.Trace = append(b.Trace[:0], start)
	}
	return nil
}

// acrossLine is what a processor makes of a prefixed instruction that crosses 64
// bytes: an alignment interrupt, and nothing else (Power ISA v3.1C, book I, 1.6).
// The emulator ends itself in its place.
func (x *batchISA) acrossLine(e *engine, b *emu.Batch) error {
	if err := e.runNothing(b); err != nil {
		return err
	}
	for i := range b.N {
		s := &b.Stops[i]
		s.Kind, s.Num, s.Steps = emu.StopException, sigBUS, 1
	}
	return nil
}

// stepped executes an instruction at a time. The states in between are kept: the
// worker asks for all of a run, one after another.
func (x *batchISA) stepped(e *engine, b *emu.Batch) error {
	words := len(x.t.Words)
	for i := range b.N {
		s := emu.State{Words: b.In[i*words : (i+1)*words], Lines: b.InLines[b.InFirst[i]:b.InFirst[i+1]]}
		if !x.steps.is(b, e.stagedAt(b.Lo, b.Hi), &s) {
			if err := x.walk(e, b, &s); err != nil {
				return err
			}
		}
		n := min(int(b.Limit), len(x.steps.in)-1)
		end := &x.steps.in[n]
		stop := emu.Stop{Kind: emu.StopLimit}
		if n == len(x.steps.in)-1 && !(x.steps.stop.Kind == emu.StopLeft && n < 1) {
			stop = x.steps.stop
		}
		stop.Steps, stop.First, stop.Lines = uint32(n), uint32(len(b.Lines)), uint32(len(end.Lines))
		copy(b.Out[i*words:(i+1)*words], end.Words)
		b.Lines = append(b.Lines, end.Lines...)
		b.Stops[i] = stop
		if b.Trace != nil {
			b.Trace = b.Trace[:0]
			for k := range n {
				b.Trace = append(b.Trace, x.steps.in[k].Words[x.pc])
			}
		}
	}
	return nil
}

// is reports whether the steps are those of a state.
func (s *steps) is(b *emu.Batch, code []byte, from *emu.State) bool {
	return s.lo == b.Lo && s.hi == b.Hi && len(s.in) > 1 && string(s.code) == string(code) && slices.Equal(s.in[0].Words, from.Words) && slices.Equal(s.in[0].Lines, from.Lines)
}

// walk steps through a window from a state until it is left, or to the most steps
// that are counted.
func (x *batchISA) walk(e *engine, b *emu.Batch, from *emu.State) error {
	w := &x.steps
	w.lo, w.hi, w.in, w.stop = b.Lo, b.Hi, w.in[:0], emu.Stop{Kind: emu.StopLimit}
	w.code = append(w.code[:0], e.stagedAt(b.Lo, b.Hi)...)
	w.in = append(w.in, emu.State{Words: slices.Clone(from.Words), Lines: slices.Clone(from.Lines)})
	one := &x.inner
	if one.Out == nil {
		one.Out, one.Stops = make([]uint64, len(x.t.Words)), make([]emu.Stop, 1)
	}
	for len(w.in) <= uncounted {
		s := &w.in[len(w.in)-1]
		pc := s.Words[x.pc]
		if len(w.in) > 1 && pc-b.Lo >= b.Hi-b.Lo {
			w.stop.Kind = emu.StopLeft
			return nil
		}
		code, next, err := x.stepCode(e, b, pc)
		if err != nil {
			return err
		}
		if err := x.install(e, b, b.Lo, code); err != nil {
			return err
		}
		*one = emu.Batch{Lo: pc, Hi: pc, Limit: 1, N: 1, In: s.Words, Out: one.Out, InLines: s.Lines,
			InFirst: []uint32{0, uint32(len(s.Lines))}, Stops: one.Stops, Lines: one.Lines[:0]}
		if err := e.runAll(one); err != nil {
			return err
		}
		w.in = append(w.in, emu.State{Words: slices.Clone(one.Out), Lines: slices.Clone(one.Lines)})
		if stop := one.Stops[0]; stop.Kind != emu.StopLeft {
			w.stop = stop
			return nil
		}
		if to := one.Out[x.pc]; to-b.Lo < b.Hi-b.Lo && !slices.Contains(next[:], to) {
			w.stop.Kind = emu.StopError // it has passed no trap
			return nil
		}
	}
	return nil
}

// stepCode is the code of a window with traps wherever the instruction at pc can
// lead. The rest is as it is: it may be data that the instruction reads.
func (x *batchISA) stepCode(e *engine, b *emu.Batch, pc uint64) (code []byte, next [2]uint64, err error) {
	code = slices.Clone(e.stagedAt(b.Lo, (b.Hi+3)&^3))
	at := pc - b.Lo
	if code == nil || at+4 > uint64(len(code)) {
		return nil, next, fmt.Errorf("native: nothing to execute at %#x", pc)
	}
	w := x.word(code[at:])
	next = [2]uint64{pc + uint64(x.m.length(w)), pc + uint64(x.m.length(w))}
	if to, ok := x.m.direct(w, pc); ok {
		next[1] = to
	}
	for _, a := range next {
		if off := a - b.Lo; off+4 <= uint64(len(code)) && a != pc {
			x.t.FillAt(code[off:off+4], a)
		}
	}
	return code, next, nil
}

// pack makes the record of a state.
func (x *batchISA) pack(rec []byte, words []uint64) {
	context := rec[recContext:]
	copy(context, x.f.context)
	x.m.compose(x.f, context)
	for i, s := range x.slots {
		x.put(x.area(rec, x.f.areas, s), s, words[i])
	}
	x.m.seal(x.f, context)
}

// area is where a word is in a record.
func (x *batchISA) area(rec []byte, areas [numAreas]int, s slot) []byte {
	if s.area == areaSpecial {
		return rec[recSpecial:]
	}
	return rec[recContext+areas[s.area]+s.off:]
}

func (x *batchISA) put(b []byte, s slot, v uint64) {
	if s.mask != 0 {
		v = x.get(b, slot{size: s.size})&^(s.mask<<s.shift) | v&s.mask<<s.shift
	}
	switch s.size {
	case 2:
		x.m.kind.order.PutUint16(b, uint16(v))
	case 4:
		x.m.kind.order.PutUint32(b, uint32(v))
	default:
		x.m.kind.order.PutUint64(b, v)
	}
}

func (x *batchISA) get(b []byte, s slot) (v uint64) {
	switch s.size {
	case 2:
		v = uint64(x.m.kind.order.Uint16(b))
	case 4:
		v = uint64(x.m.kind.order.Uint32(b))
	default:
		v = x.m.kind.order.Uint64(b)
	}
	if s.mask != 0 {
		v = v >> s.shift & s.mask
	}
	return v
}

// unpack reads the words of a record. What an area that is missing has is zero.
func (x *batchISA) unpack(_ *engine, rec []byte, words []uint64, _ int) {
	areas := x.m.parts(x.f, rec[recContext:])
	for k, s := range x.slots {
		if words[k] = 0; areas[s.area] >= 0 {
			words[k] = x.get(x.area(rec, areas, s), s) & x.masks[k]
		}
	}
}

// stop: wherever the pc is outside of what was executed, the code has been left.
// What is raised inside is the code's.
func (x *batchISA) stop(e *engine, b *emu.Batch, i int, lines uint32) emu.Stop {
	rec := e.p.shared[offOut+i*e.record:][:e.record]
	order := x.m.kind.order
	s := emu.Stop{Steps: 1, First: lines + uint32(order.Uint64(rec[recFirst:])), Lines: uint32(order.Uint64(rec[recCount:]))}
	pc := x.get(x.area(rec, x.m.parts(x.f, rec[recContext:]), x.slots[x.pc]), x.slots[x.pc])
	if pc != b.In[x.pc] && pc-b.Lo >= b.Hi-b.Lo {
		s.Kind = emu.StopLeft
		return s
	}
	sig := order.Uint32(rec[recInfo0:])
	switch sig {
	case sigSEGV:
		s.Kind, s.Addr, s.Access = emu.StopFault, order.Uint64(rec[recInfo2:]), x.m.access(rec[recContext:])
	case sigILL:
		s.Kind, s.Num = emu.StopInvalid, sigILL
	case sigSYS:
		s.Kind, s.Num = emu.StopException, NumSystemCall
	default:
		s.Kind, s.Num = emu.StopException, uint16(sig)
	}
	return s
}

func (x *batchISA) shape(words []uint64) {
	if x.m.shape != nil {
		x.m.shape(x.f, x.t, words)
	}
}

func (x *batchISA) constant(n uint32) ([]byte, uint64) {
	w, want := x.m.constant(n)
	code := make([]byte, 4)
	x.m.kind.order.PutUint32(code, w)
	return code, want
}
