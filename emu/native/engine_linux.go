package native

import (
	"errors"
	"fmt"
	"slices"

	"github.com/xol-go/xol/emu"
)

// engine is a runner as an [emu.CPU].
type engine struct {
	p       *process
	t       *emu.Target
	isa     isa
	calls   memoryCalls
	record  int // size of a record
	regions []region
	pages   []*emu.Page
	next    int           // first byte of the pool that was never used
	free    map[int][]int // by size

	canary *emu.Page
	shots  int
	deaths int // programs that a run has taken down
}

// isa is what engines of instruction sets do differently.
type isa interface {
	// setUp writes what the runner reads beside runs.
	setUp(e *engine)
	// run executes a batch whose limit is not zero.
	run(e *engine, b *emu.Batch) error
	// begin writes what a command needs beside its states.
	begin(e *engine, b *emu.Batch)
	pack(rec []byte, words []uint64)
	// unpack reads the record of run i of a command.
	unpack(e *engine, rec []byte, words []uint64, i int)
	// stop says how run i ended; lines is how many lines are before those of the
	// command.
	stop(e *engine, b *emu.Batch, i int, lines uint32) emu.Stop
	// shape makes a state one that threads can have.
	shape(words []uint64)
	// gone is told of memory that is no longer there.
	gone(addr uint64, size int)
	// guard is what the protection of executable pages has beside the usual.
	guard() uint64
	// constant is an instruction that sets word 0 of a state to a number.
	constant(n uint32) (code []byte, want uint64)
}

// memoryCalls are the numbers of system calls.
type memoryCalls struct{ mmap, munmap uint64 }

// region is a page in the shared memory.
type region struct {
	page       *emu.Page
	live, base int // offsets; base is 0 if it is not watched
	size       int
	staged     bool // the page's own bytes are elsewhere: see [batchISA]
}

// newEngine starts a runner.
func newEngine(l launch, t *emu.Target, i isa, calls memoryCalls, record int) (*engine, error) {
	p, err := newProcess(l)
	if err != nil {
		return nil, err
	}
	e := &engine{p: p, t: t, isa: i, calls: calls, next: offPool, free: map[int][]int{}, record: (record + 63) &^ 63}
	if e.record > maxRecord {
		p.close()
		return nil, fmt.Errorf("a register area of %d bytes", record)
	}
	e.setUp()
	return e, nil
}

func (e *engine) setUp() {
	e.p.put(ctlRecord, uint64(e.record))
	e.isa.setUp(e)
}

// Close implements [emu.CPU].
func (e *engine) Close() { e.p.close() }

// Pages implements [emu.CPU].
func (e *engine) Pages() []*emu.Page { return e.pages }

// take returns size bytes of the pool, zeroed.
func (e *engine) take(size int) (int, error) {
	if l := e.free[size]; len(l) > 0 {
		at := l[len(l)-1]
		e.free[size] = l[:len(l)-1]
		clear(e.p.shared[at : at+size])
		return at, nil
	}
	if e.next+size > sharedSize {
		return 0, errors.New("native: out of memory")
	}
	at := e.next
	e.next += size
	return at, nil
}

// Map implements [emu.CPU].
func (e *engine) Map(addr uint64, size int, prot emu.Prot, watch bool) (*emu.Page, error) {
	if size <= 0 || size%4096 != 0 || len(e.regions) == maxPages {
		return nil, fmt.Errorf("native: cannot map %d bytes at %#x", size, addr)
	}
	if _, ok := e.isa.(*batchISA); ok && prot&emu.ProtExec != 0 {
		prot &^= emu.ProtWrite // a store to the trap behind the site would let the run go on
	}
	live, err := e.take(size)
	if err != nil {
		return nil, err
	}
	r := region{live: live, size: size, page: &emu.Page{Addr: addr, Prot: prot, Live: e.p.shared[live : live+size : live+size]}}
	if err := e.mapRegion(&r); err != nil {
		e.free[size] = append(e.free[size], live)
		return nil, err
	}
	if watch {
		if r.base, err = e.take(size); err != nil {
			return nil, err
		}
		r.page.Base = e.p.shared[r.base : r.base+size : r.base+size]
	}
	e.stage(&r)
	at, _ := slices.BinarySearchFunc(e.regions, addr, func(r region, a uint64) int {
		if r.page.Addr < a {
			return -1
		}
		return 1
	})
	e.regions = slices.Insert(e.regions, at, r)
	e.pages = slices.Insert(e.pages, at, r.page)
	return r.page, nil
}

// mapRegion makes a region memory of the runner.
func (e *engine) mapRegion(r *region) error {
	const shared, noReplace = 1, 0x100000
	a := r.page.Addr
	if a+uint64(r.size) > userEnd || a+uint64(r.size) < a || e.t.Bits == 32 && a>>32 != 0 {
		return fmt.Errorf("native: %#x is not for programs", a)
	}
	if err := e.p.call(e.calls.mmap, a, uint64(r.size), e.prot(r.page.Prot), shared|noReplace, sharedFile, uint64(r.live)); err != nil {
		return fmt.Errorf("native: map %d bytes at %#x: %w", r.size, a, err)
	}
	if got := e.p.get(ctlResult); got != a {
		return fmt.Errorf("native: %#x is mapped at %#x", a, got)
	}
	return nil
}

// Unmap implements [emu.CPU].
func (e *engine) Unmap(addr uint64) error {
	i := slices.IndexFunc(e.pages, func(p *emu.Page) bool { return p.Addr == addr })
	if i < 0 {
		return fmt.Errorf("native: nothing is mapped at %#x", addr)
	}
	r := e.regions[i]
	if err := e.p.call(e.calls.munmap, addr, uint64(r.size)); err != nil {
		return fmt.Errorf("native: unmap %#x: %w", addr, err)
	}
	e.isa.gone(addr, r.size)
	e.regions, e.pages = slices.Delete(e.regions, i, i+1), slices.Delete(e.pages, i, i+1)
	e.free[r.size] = append(e.free[r.size], r.live)
	if r.base != 0 {
		e.free[r.size] = append(e.free[r.size], r.base)
	}
	return nil
}

// prot is how a page is protected.
func (e *engine) prot(p emu.Prot) uint64 {
	if p&emu.ProtExec != 0 {
		return uint64(p) | e.isa.guard()
	}
	return uint64(p)
}

// stage separates what an executable page holds from what can be executed there,
// where the runner cannot step: that is traps, until a run installs code.
func (e *engine) stage(r *region) {
	if _, ok := e.isa.(*batchISA); !ok || r.page.Prot&emu.ProtExec == 0 {
		return
	}
	r.staged = true
	e.t.FillAt(r.page.Live, r.page.Addr)
	r.page.Live = make([]byte, r.size)
	if r.base != 0 {
		e.t.FillAt(r.page.Base, r.page.Addr)
		r.page.Base = make([]byte, r.size)
	}
}

// Forget implements [emu.CPU]: a processor sees stores to code, or code is made
// known when it is installed.
func (e *engine) Forget(uint64, int) error { return nil }

var errBatch = errors.New("native: batch too small, or it holds memory that is not watched")

// Run implements [emu.CPU].
func (e *engine) Run(b *emu.Batch) error {
	words := len(e.t.Words)
	if b.N == 0 || len(b.In) < b.N*words || len(b.Out) < b.N*words || len(b.InFirst) <= b.N || len(b.Stops) < b.N {
		return errBatch
	}
	b.Lines = b.Lines[:0]
	if b.Limit == 0 {
		return e.runNothing(b)
	}
	return e.isa.run(e, b)
}

// runAll executes a batch in as many commands as it takes.
func (e *engine) runAll(b *emu.Batch) error {
	watched := e.pageTable()
	for at := 0; at < b.N; {
		n := min(b.N-at, maxRuns, maxOutLines/max(watched, 1))
		for n > 1 && int(b.InFirst[at+n]-b.InFirst[at]) > maxInLines {
			n /= 2
		}
		done, err := e.runSome(b, at, n)
		if err != nil {
			return err
		}
		at += done
	}
	return nil
}

// runNothing is a batch of no steps: states end as they begin.
func (e *engine) runNothing(b *emu.Batch) error {
	words := len(e.t.Words)
	copy(b.Out[:b.N*words], b.In)
	for i := range b.N {
		first := uint32(len(b.Lines))
		for k := b.InFirst[i]; k < b.InFirst[i+1]; k++ {
			l := &b.InLines[k]
			r := e.regionOf(l.Addr)
			if r == nil || r.base == 0 {
				return errBatch
			}
			if o := l.Addr - r.page.Addr; string(r.page.Base[o:o+emu.LineSize]) != string(l.Data[:]) {
				b.Lines = append(b.Lines, *l)
			}
		}
		b.Stops[i] = emu.Stop{Kind: emu.StopLimit, First: first, Lines: uint32(len(b.Lines)) - first}
	}
	if b.Trace != nil {
		b.Trace = b.Trace[:0]
	}
	return nil
}

func (e *engine) regionOf(addr uint64) *region {
	for i := range e.regions {
		if r := &e.regions[i]; addr-r.page.Addr < uint64(r.size) {
			return r
		}
	}
	return nil
}

// pageTable writes the table of watched pages, which are sorted, and returns the
// number of their lines.
func (e *engine) pageTable() int {
	n, lines := 0, 0
	for i := range e.regions {
		r := &e.regions[i]
		if r.base == 0 {
			continue
		}
		at := offPages + n*pageEntry
		e.p.put(at, r.page.Addr)
		e.p.put(at+8, sharedBase+uint64(r.live))
		e.p.put(at+16, sharedBase+uint64(r.base))
		e.p.put(at+24, uint64(r.size))
		n++
		lines += r.size / emu.LineSize
	}
	e.p.put(ctlPages, uint64(n))
	return lines
}

// runSome executes n states from number at on and returns how many have an end:
// all, or all up to one that took the program down.
func (e *engine) runSome(b *emu.Batch, at, n int) (int, error) {
	p := e.p
	words := len(e.t.Words)
	if err := e.inputs(b, at, n); err != nil {
		return 0, err
	}
	for i := range n {
		e.isa.pack(p.shared[offIn+i*e.record:][:e.record], b.In[(at+i)*words:(at+i+1)*words])
	}
	p.put(ctlRuns, uint64(n))
	p.put(ctlDone, 0)
	p.put(ctlLines, 0)
	e.isa.begin(e, b)
	err := p.command(commandRun)
	done := n
	if err != nil {
		done = int(p.get(ctlDone))
	}
	lines := uint32(len(b.Lines))
	for i := range done {
		e.isa.unpack(e, p.shared[offOut+i*e.record:][:e.record], b.Out[(at+i)*words:(at+i+1)*words], i)
		b.Stops[at+i] = e.isa.stop(e, b, i, lines)
	}
	if done > 0 {
		s := &b.Stops[at+done-1]
		e.appendLines(b, int(s.First+s.Lines-lines))
	}
	if err == nil {
		return n, nil
	}
	if done == n {
		return 0, err
	}
	copy(b.Out[(at+done)*words:(at+done+1)*words], b.In[(at+done)*words:])
	b.Stops[at+done] = emu.Stop{Kind: emu.StopError, First: uint32(len(b.Lines))}
	return done + 1, e.restart()
}

// inputs writes the lines that states bring along.
func (e *engine) inputs(b *emu.Batch, at, n int) error {
	from := b.InFirst[at]
	if int(b.InFirst[at+n]-from) > maxInLines {
		return errBatch
	}
	for i := 0; i <= n; i++ {
		e.p.kind.order.PutUint32(e.p.shared[offFirst+4*i:], b.InFirst[at+i]-from)
	}
	var r *region
	for k := from; k < b.InFirst[at+n]; k++ {
		l := &b.InLines[k]
		if r == nil || l.Addr-r.page.Addr >= uint64(r.size) {
			if r = e.regionOf(l.Addr); r == nil || r.base == 0 {
				return errBatch
			}
		}
		o := offInLines + int(k-from)*lineEntry
		e.p.put(o, sharedBase+uint64(r.live)+l.Addr-r.page.Addr)
		copy(e.p.shared[o+8:o+lineEntry], l.Data[:])
	}
	return nil
}

// appendLines appends the first n changed lines.
func (e *engine) appendLines(b *emu.Batch, n int) {
	b.Lines = slices.Grow(b.Lines, n)
	for i := range n {
		o := offOutLines + i*lineEntry
		l := emu.Line{Addr: e.p.get(o)}
		copy(l.Data[:], e.p.shared[o+8:o+lineEntry])
		b.Lines = append(b.Lines, l)
	}
}

// restart replaces a program that a run has taken down.
func (e *engine) restart() error {
	e.deaths++
	e.p.stop()
	clear(e.p.shared[:offAltStack]) // it may be what the run has destroyed
	e.setUp()
	e.pageTable()
	if err := e.p.start(); err != nil {
		return err
	}
	for i := range e.regions {
		r := &e.regions[i]
		if r.base != 0 {
			copy(e.p.shared[r.live:r.live+r.size], e.p.shared[r.base:])
		}
		if err := e.mapRegion(r); err != nil {
			return err
		}
	}
	return nil
}

// Shape implements [emu.Shaper].
func (e *engine) Shape(words []uint64) { e.isa.shape(words) }

const canaryAddr = 0x70000000

// Canary implements [emu.CPU]: it writes an instruction with a new constant over the
// last one and executes it.
func (e *engine) Canary() error {
	if e.canary == nil {
		p, err := e.Map(canaryAddr, 4096, emu.ProtRead|emu.ProtExec, false)
		if err != nil {
			return err
		}
		e.canary = p
	}
	e.shots++
	code, want := e.isa.constant(uint32(e.shots))
	copy(e.canary.Live, code)
	b := e.single(canaryAddr)
	if err := e.Run(b); err != nil {
		return err
	}
	if got := b.Out[0]; got != want {
		return fmt.Errorf("%w: %s = %#x, want %#x", emu.ErrStale, e.t.Words[0].Name, got, want)
	}
	return nil
}

// caseAt puts code beside the canary.
func (e *engine) caseAt(code ...byte) uint64 {
	const beside = 64
	copy(e.canary.Live[beside:], code)
	return canaryAddr + beside
}

// single is a batch of one step from an empty state at addr.
func (e *engine) single(addr uint64) *emu.Batch {
	b := &emu.Batch{Lo: addr, Hi: addr, Limit: 1, N: 1, In: e.t.Plain(), Out: e.t.Plain(),
		InFirst: make([]uint32, 2), Stops: make([]emu.Stop, 1)}
	b.In[e.t.WordOf("pc")] = addr
	return b
}
