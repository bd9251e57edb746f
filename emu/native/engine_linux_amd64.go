package native

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/xol-go/xol/emu"
)

// engine is a runner as an [emu.CPU].
type engine struct {
	p       *process
	t       *emu.Target
	f       *Features
	places  []place
	masks   []uint64
	record  int // size of a record
	regions []region
	pages   []*emu.Page
	next    int           // first byte of the pool that was never used
	free    map[int][]int // by size
	flags   int           // word of the flags
	st0     int           // first word of st0

	canary *emu.Page
	shots  int
	deaths int // programs that a run has taken down
}

// region is a page in the shared memory.
type region struct {
	page       *emu.Page
	live, base int // offsets; base is 0 if it is not watched
	size       int
}

func open(t *emu.Target, f *Features) (emu.CPU, error) {
	p, err := newProcess()
	if err != nil {
		return nil, err
	}
	e := &engine{p: p, t: t, f: f, next: offPool, free: map[int][]int{}, record: (recX + max(f.size, xHeaderEnd) + 63) &^ 63}
	if e.record > maxRecord {
		p.close()
		return nil, fmt.Errorf("a register area of %d bytes", f.size)
	}
	for i := range t.Words {
		w := &t.Words[i]
		at, err := placeOf(w, f)
		if err != nil {
			p.close()
			return nil, err
		}
		switch {
		case w.Reg == t.Flags:
			e.flags = i
		case w.Name == "st0.0":
			e.st0 = i
		}
		e.places = append(e.places, at)
		e.masks = append(e.masks, ^uint64(0)>>(64-w.Bits))
	}
	e.setUp()
	return e, nil
}

// setUp writes what runners read beside runs.
func (e *engine) setUp() {
	table := e.p.shared[offCtrl+ctlOpcodes:][:256]
	for _, b := range [...]byte{0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3} {
		table[b] = opPrefix
	}
	if e.t.Bits == 64 {
		for b := 0x40; b < 0x50; b++ {
			table[b] = opPrefix
		}
	}
	table[0x9c], table[0x9d], table[0xcf] = opPush, opRestore, opRestore
	e.p.put(ctlRecord, uint64(e.record))
	e.p.put(ctlExtra, uint64(max(e.f.size, xHeader)-xHeader)/8)
	e.p.put(ctlMode32, uint64(64-e.t.Bits))
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
	if err := e.p.call(sysMmap, a, uint64(r.size), uint64(r.page.Prot), shared|noReplace, sharedFile, uint64(r.live)); err != nil {
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
	if err := e.p.call(sysMunmap, addr, uint64(r.size)); err != nil {
		return fmt.Errorf("native: unmap %#x: %w", addr, err)
	}
	e.regions, e.pages = slices.Delete(e.regions, i, i+1), slices.Delete(e.pages, i, i+1)
	e.free[r.size] = append(e.free[r.size], r.live)
	if r.base != 0 {
		e.free[r.size] = append(e.free[r.size], r.base)
	}
	return nil
}

// Forget implements [emu.CPU]: a processor sees stores to code.
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
	if b.Trace != nil {
		n := min(int(b.Stops[b.N-1].Steps), maxTrace)
		b.Trace = b.Trace[:0]
		for i := range n {
			b.Trace = append(b.Trace, e.p.get(offTrace+8*i))
		}
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
		e.pack(p.shared[offIn+i*e.record:][:e.record], b.In[(at+i)*words:(at+i+1)*words])
	}
	p.put(ctlRuns, uint64(n))
	p.put(ctlDone, 0)
	p.put(ctlLo, b.Lo)
	p.put(ctlSize, b.Hi-b.Lo)
	p.put(ctlLimit, uint64(b.Limit))
	p.put(ctlLines, 0)
	p.put(ctlTrace, 0)
	if b.Trace != nil {
		p.put(ctlTrace, maxTrace)
	}
	hide := uint64(1)
	if b.Stepped {
		hide = 0
	}
	p.put(ctlHide, hide)
	err := p.command(commandRun)
	done := n
	if err != nil {
		done = int(p.get(ctlDone))
	}
	lines := uint32(len(b.Lines))
	for i := range done {
		e.unpack(p.shared[offOut+i*e.record:][:e.record], b.Out[(at+i)*words:(at+i+1)*words], i)
		b.Stops[at+i] = e.stop(i, lines)
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
		binary.LittleEndian.PutUint32(e.p.shared[offFirst+4*i:], b.InFirst[at+i]-from)
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

// pack makes the record of a state.
func (e *engine) pack(rec []byte, words []uint64) {
	clear(rec)
	for i, p := range e.places {
		p.put(rec, words[i])
	}
	le := binary.LittleEndian
	le.PutUint64(rec[recFlags:], words[e.flags]|flagTF)
	cs := uint16(selCode64)
	if e.t.Bits == 32 {
		cs = selCode32
	}
	le.PutUint16(rec[recCS:], cs)
	le.PutUint16(rec[recSS:], selData)
	le.PutUint64(rec[recX+xHeader:], e.f.components)
}

// unpack reads the words of a record.
func (e *engine) unpack(rec []byte, words []uint64, i int) {
	held := binary.LittleEndian.Uint64(rec[recX+xHeader:])
	for _, c := range e.f.parts {
		if e.f.components>>c.number&1 != 0 && held>>c.number&1 == 0 {
			clear(rec[recX+c.off : recX+c.off+c.size]) // in its initial state
		}
	}
	for k, p := range e.places {
		words[k] = p.get(rec) & e.masks[k]
	}
	const flagRF = 1 << 16
	words[e.flags] &^= flagRF // of the trap
	s := offStops + i*stopEntry
	if e.p.get(s+stopKind) == stopSignal || e.p.get(s+stopOp) != opRestore {
		words[e.flags] &^= flagTF // ours
	}
	const pending = 1 << 7 // FSW.ES
	if e.f.NoErrorPointers && rec[recX+xFSW]&pending == 0 {
		e.clearPointers(words)
	}
}

// clearPointers clears the words of the last x87 instruction, which the
// processor does not keep.
func (e *engine) clearPointers(words []uint64) {
	for k := range e.places {
		if off := e.places[k].off - recX; off >= xFOP && off < xMXCSR {
			words[k] = 0
		}
	}
}

// The numbers of exceptions (Intel SDM volume 3, 6.3.1).
const (
	excInvalid = 6
	excPage    = 14

	// NumSystemCall is the number of the exception that a system call is, which
	// no processor has.
	NumSystemCall = 256
)

// stop says how run i of a command ended. lines is how many lines are before
// those of the command.
func (e *engine) stop(i int, lines uint32) emu.Stop {
	at := offStops + i*stopEntry
	s := emu.Stop{Steps: uint32(e.p.get(at + stopSteps)), First: lines + uint32(e.p.get(at+stopFirst)), Lines: uint32(e.p.get(at + stopLines))}
	switch e.p.get(at + stopKind) {
	case stopLeft:
		s.Kind = emu.StopLeft
		return s
	case stopLimit:
		s.Kind = emu.StopLimit
		return s
	}
	rec := e.p.shared[offOut+i*e.record:]
	trap := binary.LittleEndian.Uint64(rec[recTrap:])
	switch {
	case e.p.get(at+stopSig) == sigSYS:
		s.Kind, s.Num = emu.StopException, NumSystemCall
	case trap == excPage:
		s.Kind, s.Addr = emu.StopFault, binary.LittleEndian.Uint64(rec[recCR2:])
		s.Access = access(binary.LittleEndian.Uint64(rec[recErr:]))
	case trap == excInvalid:
		s.Kind, s.Num = emu.StopInvalid, excInvalid
	default:
		s.Kind, s.Num = emu.StopException, uint16(trap)
	}
	return s
}

// access is the direction that the error code of a page fault tells (SDM volume
// 3, 4.7).
func access(code uint64) emu.Access {
	switch {
	case code&16 != 0:
		return emu.AccessFetch
	case code&2 != 0:
		return emu.AccessWrite
	}
	return emu.AccessRead
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
			copy(r.page.Live, r.page.Base)
		}
		if err := e.mapRegion(r); err != nil {
			return err
		}
	}
	return nil
}

// Shape implements [emu.Shaper]: bases are canonical addresses (else loading them
// faults), so are the last x87 pointers, whose opcode has eleven bits. Of the
// x87 registers some are in use.
func (e *engine) Shape(words []uint64) {
	const opcodeBits = 1<<11 - 1
	for i := range words {
		switch e.places[i].off {
		case recFS, recGS, recX + xFIP, recX + xFDP:
			words[i] = uint64(int64(words[i]<<16)>>16) & e.masks[i]
		case recX + xFOP:
			words[i] &= opcodeBits
		case recX + xFTW:
			words[i] = uint64(tags[words[e.st0]>>8&7])
		}
	}
	if e.f.NoErrorPointers {
		e.clearPointers(words)
	}
}

// tags are the abridged tag words that states have: all registers in use, none,
// one or some.
var tags = [8]byte{0xff, 0, 0x7f, 0xfe, 0x81, 0xc0, 3, 0xff}

const canaryAddr = 0x70000000

// Canary implements [emu.CPU]: it writes mov eax, imm32 over the last one and
// executes it.
func (e *engine) Canary() error {
	if e.canary == nil {
		p, err := e.Map(canaryAddr, 4096, emu.ProtRead|emu.ProtExec, false)
		if err != nil {
			return err
		}
		e.canary = p
	}
	e.shots++
	want := uint32(0x5eed0000 + e.shots)
	e.canary.Live[0] = 0xb8
	binary.LittleEndian.PutUint32(e.canary.Live[1:], want)
	b := e.single(canaryAddr)
	if err := e.Run(b); err != nil {
		return err
	}
	if got := uint32(b.Out[0]); got != want {
		return fmt.Errorf("%w: eax = %#x, want %#x", emu.ErrStale, got, want)
	}
	return nil
}

// single is a batch of one step from an empty state at addr.
func (e *engine) single(addr uint64) *emu.Batch {
	b := &emu.Batch{Lo: addr, Hi: addr, Limit: 1, N: 1, In: e.t.Plain(), Out: e.t.Plain(),
		InFirst: make([]uint32, 2), Stops: make([]emu.Stop, 1)}
	b.In[e.t.WordOf("pc")] = addr
	return b
}
