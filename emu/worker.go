package emu

import (
	"errors"
	"fmt"
	"slices"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// slotSpan is the distance of two slots or sites in a ring, bytes: room for the
// longest code and for landing behind it, in a cache line of its own.
const slotSpan = 192

// maxExtra is how many pages may be mapped for operands at fixed addresses
// before they are all given back.
const maxExtra = 12

// Worker compares plans of one instruction set with one engine. It is not safe
// for concurrent use; workers share nothing.
type Worker struct {
	t       *Target
	x       *index
	info    *reloc.Info
	cpu     CPU
	shaper  Shaper // cpu, if it is one
	vendor  reloc.Vendor
	limits  []Limit
	rows    []*Limit // storage of site.rows
	rnd     rng
	choices [128]choice       // kinds of register values
	pool    [noisePool]uint64 // of values for words whose use is unknown
	seed    uint64

	sites, slots []ring
	stack        *Page
	data         *Page // of the site arena in use
	arena        int
	text         reloc.Text // of the site arena in use
	extra        []*Page

	site     site
	orig     runs
	copy     runs
	one      runs
	code     []byte
	pre      []fixups.Temps // of each state, after Pre
	chk      check
	verdicts []fixups.Verdict
	linked   reloc.Insn // the site where an object file has it
	seen     []string   // rows counted for the site
	batch    Batch

	Laps int // full turns of the rings, each with a canary
}

// ring hands out places that have never held code since the last lap.
type ring struct {
	arena Arena
	page  *Page
	next  int
}

// site is the instruction that is being judged.
type site struct {
	pc   uint64
	code []byte // Len bytes
	insn reloc.Insn
	op   Operand
	rows []*Limit // that match it
	n    int      // states
}

// runs are the inputs and outputs of a batch.
type runs struct {
	in, out []uint64
	lines   []Line
	first   []uint32
	stops   []Stop
	outs    []Line
}

// ErrTarget means that there is no description of an instruction set.
var ErrTarget = errors.New("emu: no target of that name")

// Targets lists the instruction sets that can be judged.
func Targets() []*Target { return []*Target{AMD64, I386, ARM64, PPC64, PPC64LE} }

// TargetOf returns the target of a GOARCH name.
func TargetOf(arch string) (*Target, error) {
	for _, t := range Targets() {
		if t.Arch == arch {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrTarget, arch)
}

// targetFor returns the description that an oracle judges by.
func targetFor(o Oracle, arch string) (*Target, error) {
	if d, ok := o.(Describer); ok {
		return d.Target(arch)
	}
	return TargetOf(arch)
}

// NewWorker opens an engine of o for the instruction set of info. Everything
// random follows from seed.
func NewWorker(o Oracle, info *reloc.Info, seed uint64) (*Worker, error) {
	t, err := targetFor(o, info.Name)
	if err != nil {
		return nil, err
	}
	cpu, err := o.Open(t)
	if err != nil {
		return nil, err
	}
	w := &Worker{t: t, x: newIndex(t), info: info, cpu: cpu, limits: o.Limits(t.Arch),
		rnd: newRNG(seed), seed: seed, arena: -1}
	w.shaper, _ = cpu.(Shaper)
	if v, ok := o.(Vendored); ok {
		w.vendor = v.Vendor()
	}
	for i := range w.pool {
		w.pool[i] = w.rnd.Uint64()
	}
	if err := w.mapAll(); err != nil {
		cpu.Close()
		return nil, err
	}
	return w, nil
}

// Close releases the engine.
func (w *Worker) Close() { w.cpu.Close() }

// Seed returns the seed that the worker was made with.
func (w *Worker) Seed() uint64 { return w.seed }

func (w *Worker) mapAll() error {
	for i := range w.t.Sites {
		r, err := w.mapRing(w.t.Sites[i])
		if err != nil {
			return err
		}
		w.sites = append(w.sites, r)
	}
	for i := range w.t.Slots {
		r, err := w.mapRing(w.t.Slots[i])
		if err != nil {
			return err
		}
		w.slots = append(w.slots, r)
	}
	p, err := w.cpu.Map(w.t.Stack.Addr, int(w.t.Stack.Size), ProtRead|ProtWrite, true)
	if err != nil {
		return err
	}
	w.stack = p
	w.fill(p)
	if err := w.cpu.Canary(); err != nil {
		return err
	}
	return w.UseArena(0)
}

func (w *Worker) mapRing(a Arena) (ring, error) {
	p, err := w.cpu.Map(a.Addr, int(a.Size), ProtRead|ProtExec, false)
	if err != nil {
		return ring{}, fmt.Errorf("emu: arena %s: %w", a.Name, err)
	}
	w.t.FillAt(p.Live, p.Addr)
	return ring{arena: a, page: p}, nil
}

// fill gives a watched page random contents.
func (w *Worker) fill(p *Page) {
	for i := 0; i+8 <= len(p.Base); i += 8 {
		v := w.rnd.Uint64()
		for k := range 8 {
			p.Base[i+k] = byte(v >> (8 * k))
		}
	}
	copy(p.Live, p.Base)
}

// UseArena chooses where the next sites are put: an index of Target.Sites. The
// data page of the arena comes with it.
func (w *Worker) UseArena(i int) error {
	if i == w.arena {
		return nil
	}
	if err := w.dropExtra(); err != nil {
		return err
	}
	if w.data != nil {
		if err := w.cpu.Unmap(w.data.Addr); err != nil {
			return err
		}
		w.data = nil
	}
	p, err := w.cpu.Map(w.t.Sites[i].Data, 4096, ProtRead|ProtWrite, true)
	if err != nil {
		return err
	}
	w.data, w.arena = p, i
	w.text = reloc.Text{Addr: w.sites[i].page.Addr, Data: w.sites[i].page.Live}
	w.fill(p)
	w.choose()
	return nil
}

func (w *Worker) dropExtra() error {
	for _, p := range w.extra {
		if err := w.cpu.Unmap(p.Addr); err != nil {
			return err
		}
	}
	w.extra = w.extra[:0]
	return nil
}

// reserve returns the address of the next place of a ring. After a lap all
// translations of the ring are dropped and the canary is asked.
func (w *Worker) reserve(r *ring) (uint64, error) {
	if r.next+slotSpan > len(r.page.Live) {
		w.t.FillAt(r.page.Live, r.page.Addr)
		if err := w.cpu.Forget(r.page.Addr, len(r.page.Live)); err != nil {
			return 0, err
		}
		if err := w.cpu.Canary(); err != nil {
			return 0, err
		}
		r.next = 0
		w.Laps++
	}
	a := r.page.Addr + uint64(r.next)
	r.next += slotSpan
	return a, nil
}

// NextSite returns where [Worker.Site] will put the next instruction, so that
// one that names an address can be made for it.
func (w *Worker) NextSite() (pc, data uint64, err error) {
	r := &w.sites[w.arena]
	if r.next+slotSpan > len(r.page.Live) {
		if _, err = w.reserve(r); err != nil {
			return 0, 0, err
		}
		r.next = 0
	}
	return r.page.Addr + uint64(r.next), w.data.Addr, nil
}

// Site puts an instruction at the next place of the site arena in use. in is
// what was decoded at [Worker.NextSite].
func (w *Worker) Site(in *reloc.Insn) error {
	pc, err := w.reserve(&w.sites[w.arena])
	if err != nil {
		return err
	}
	if pc != in.PC {
		return fmt.Errorf("emu: instruction decoded for %#x is put at %#x", in.PC, pc)
	}
	r := &w.sites[w.arena]
	copy(r.page.Live[pc-r.page.Addr:], in.Raw())
	return w.setSite(in)
}

// SiteAt puts an instruction at the address it was decoded for, wherever that
// is. It is slower than Site. The error is [ErrAddress] if the oracle cannot have
// memory there.
func (w *Worker) SiteAt(in *reloc.Insn) error {
	first, last := in.PC&^4095, (in.PC+uint64(in.Len)+16)&^4095
	if len(w.extra) > maxExtra {
		if err := w.dropExtra(); err != nil {
			return err
		}
	}
	for a := first; ; a += 4096 {
		if _, err := w.extraPage(a, true); err != nil {
			return err
		}
		if a == last {
			break
		}
	}
	m := machine{pages: w.cpu.Pages()}
	for i := range uint64(in.Len) + 16 {
		p := m.page(in.PC + i)
		if p == nil {
			return fmt.Errorf("emu: no memory at %#x", in.PC+i)
		}
		b := w.t.Fill[(in.PC+i)%uint64(len(w.t.Fill))]
		if i < uint64(in.Len) {
			b = in.Bytes[i]
		}
		p.Live[in.PC+i-p.Addr] = b
		if p.Watched() {
			p.Base[in.PC+i-p.Addr] = b
		}
	}
	for i := range uint64(2) {
		if a := first + i*4096; i == 0 || first != last {
			n := 4096
			if a+4096 == 0 {
				n-- // so that the end of the last page is an address
			}
			if err := w.cpu.Forget(a, n); err != nil {
				return err
			}
		}
	}
	return w.setSite(in)
}

// extraPage maps a page for an operand or, with exec, for a site at a fixed
// address, unless there is memory already. Only what has to be executed may be,
// and holds no random bytes: the emulator does not survive the translation of
// everything that a branch can find there.
func (w *Worker) extraPage(addr uint64, exec bool) (*Page, error) {
	addr &^= 4095
	if addr&^w.x.addrMask != 0 {
		return nil, fmt.Errorf("%w: %#x", ErrAddress, addr)
	}
	prot := ProtRead | ProtWrite
	m := machine{pages: w.cpu.Pages()}
	old := m.page(addr)
	if old != nil && (!exec || old.Prot&ProtExec != 0) {
		return old, nil
	}
	if exec {
		prot |= ProtExec
	}
	if old != nil {
		i := slices.Index(w.extra, old)
		if i < 0 {
			return nil, fmt.Errorf("emu: %#x is data", addr)
		}
		w.extra = slices.Delete(w.extra, i, i+1)
		if err := w.cpu.Unmap(addr); err != nil {
			return nil, err
		}
	}
	p, err := w.cpu.Map(addr, 4096, prot, true)
	if err != nil {
		return nil, err
	}
	w.extra = append(w.extra, p)
	if exec {
		w.t.FillAt(p.Base, p.Addr)
		w.t.FillAt(p.Live, p.Addr)
		return p, nil
	}
	w.fill(p)
	return p, nil
}

func (w *Worker) setSite(in *reloc.Insn) error {
	w.site = site{pc: in.PC, insn: *in, op: w.t.Operand(in.Raw())}
	w.site.code = w.site.insn.Raw()
	w.site.rows = AppendLimits(w.rows[:0], w.t, w.limits, w.site.code, &w.site.insn)
	w.rows = w.site.rows
	return nil
}

// wordsOf returns the words of state i.
func (r *runs) wordsOf(i, n int) []uint64 { return r.in[i*n : (i+1)*n] }

func (r *runs) grow(n, words int) {
	if len(r.stops) < n {
		r.in, r.out = make([]uint64, n*words), make([]uint64, n*words)
		r.first, r.stops = make([]uint32, n+1), make([]Stop, n)
	}
	r.lines = r.lines[:0]
}

// exec runs n states of r.
func (w *Worker) exec(r *runs, n int, lo, hi uint64, limit uint32, stepped bool) error {
	b := &w.batch
	b.Lo, b.Hi, b.Limit, b.N = lo, hi, limit, n
	b.Site, b.SiteLen = w.site.pc, len(w.site.code)
	b.In, b.Out, b.InLines, b.InFirst, b.Stops = r.in, r.out, r.lines, r.first, r.stops
	b.Lines, b.Trace, b.Stepped = r.outs, nil, stepped
	err := w.cpu.Run(b)
	r.outs = b.Lines
	if err != nil {
		return err
	}
	return w.landings(r.out, n)
}

// landings looks where n runs ended. A wild branch may end at a place of a ring
// that is still to be used; the engine has then translated what is there now,
// and would execute it in place of the code to come.
func (w *Worker) landings(out []uint64, n int) error {
	next := w.site.pc + uint64(len(w.site.code))
	for i := range n {
		pc := out[i*len(w.t.Words)+w.x.pc]
		if pc == next {
			continue
		}
		for _, rings := range [2][]ring{w.sites, w.slots} {
			for k := range rings {
				if r := &rings[k]; pc-r.page.Addr < uint64(len(r.page.Live)) && pc-r.page.Addr >= uint64(r.next) {
					if err := w.cpu.Forget(pc, 1); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// slotData maps the private data of a slot arena while a plan uses it. It is
// watched, so that every run finds it as it was, and not compared.
func (w *Worker) slotData(arena int) (span, error) {
	a := w.slots[arena].arena.Data
	_, err := w.extraPage(a, false)
	return span{lo: a, size: 4096}, err
}

// final is the end of one run, in storage of its own.
type final struct {
	State
	Stop Stop
}

// result copies the end of run i of r into f.
func (r *runs) result(f *final, i, words int) {
	s := &r.stops[i]
	f.Words = append(f.Words[:0], r.out[i*words:(i+1)*words]...)
	f.Lines = append(f.Lines[:0], r.outs[s.First:s.First+s.Lines]...)
	f.Stop = *s
}

// initial copies state i of r into s.
func (r *runs) initial(s *State, i, words int) {
	s.Words = append(s.Words[:0], r.in[i*words:(i+1)*words]...)
	s.Lines = append(s.Lines[:0], r.lines[r.first[i]:r.first[i+1]]...)
}

// run executes one state and puts its end into f. trace, if not nil, receives
// the pcs.
func (w *Worker) run(f *final, s *State, lo, hi uint64, limit uint32, trace []uint64) ([]uint64, error) {
	n := len(w.t.Words)
	r := &w.one
	r.grow(1, n)
	copy(r.in, s.Words)
	r.lines = append(r.lines[:0], s.Lines...)
	r.first[0], r.first[1] = 0, uint32(len(r.lines))
	b := &w.batch
	b.Lo, b.Hi, b.Limit, b.N = lo, hi, limit, 1
	b.Site, b.SiteLen = w.site.pc, len(w.site.code)
	b.In, b.Out, b.InLines, b.InFirst, b.Stops = r.in, r.out, r.lines, r.first, r.stops
	b.Lines, b.Trace, b.Stepped = r.outs, trace, false
	err := w.cpu.Run(b)
	r.outs = b.Lines
	if err != nil {
		return b.Trace, err
	}
	r.result(f, 0, n)
	return b.Trace, w.landings(r.out, 1)
}

// SiteStops says how the runs of the site ended, one for each state.
func (w *Worker) SiteStops() []Stop { return w.orig.stops[:w.site.n] }

func (w *Worker) pcOf(words []uint64) uint64 { return words[w.x.pc] }

func (w *Worker) spOf(words []uint64) uint64 { return words[w.x.word(w.t.SP)] }

// runProgram interprets a program over a state.
func (w *Worker) runProgram(p fixups.Program, s *State, at *fixups.Bases, t *fixups.Temps) error {
	m := machine{t: w.t, x: w.x, pages: w.cpu.Pages(), state: s}
	return fixups.Run(p, &m, at, t, w.t.Bits)
}

// computed copies the read-only words of src to dst: they follow from others,
// so a state that has not been executed does not have them.
func (w *Worker) computed(dst, src []uint64) {
	for i := range w.t.Words {
		if w.t.Words[i].ReadOnly {
			dst[i] = src[i]
		}
	}
}
