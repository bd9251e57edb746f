package relocgen

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"sync"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/objfile"
	"github.com/xol-go/xol/reloc"
)

// chunkBytes is how much code a worker takes at a time: enough to make the
// hand-over cheap, little enough to keep results of the running ones small.
const chunkBytes = 32 << 10

// pieceBytes is how much output a worker hands over at once. A function may be as
// large as the file, so output never waits for its end.
const pieceBytes = 256 << 10

// chunk is a run of functions and, once pieces is closed, what was found in them.
type chunk struct {
	funcs  []objfile.Func
	pieces chan []byte // the output, in order
	out    []byte      // the piece at hand
	sites  int
	none   int // sites without a plan in any asked form
	gaps   []fixups.Range
	seen   map[uint64]bool // asked addresses that were met
	bytes  uint64
	err    error
}

// flush hands the piece at hand to the writer, unless it has given up.
func (c *chunk) flush(stop <-chan struct{}) {
	select {
	case c.pieces <- c.out:
	case <-stop:
	}
	c.out = nil
}

// counts is what a sweep found.
type counts struct {
	sites, unplanned int
	bytes            uint64
}

// run sweeps the file with all processors and writes the table in order.
func (j *job) run(w io.Writer, p *progress) (counts, error) {
	defer p.stop()
	funcs, gaps, err := j.extent()
	if err != nil {
		return counts{}, err
	}
	chunks := j.split(funcs, chunkBytes)
	p.begin(chunks)
	if _, err := w.Write(j.enc.begin(nil)); err != nil {
		return counts{}, inputErr(err)
	}
	total, inner, err := j.collect(w, chunks, p)
	if err != nil {
		return total, err
	}
	if _, err := w.Write(j.enc.end(nil, j.allGaps(gaps, inner))); err != nil {
		return total, inputErr(err)
	}
	return total, nil
}

// extent returns the functions to sweep and the gaps of the file.
func (j *job) extent() (funcs []objfile.Func, gaps []objfile.Gap, err error) {
	if funcs = j.pick.funcs; funcs == nil {
		if funcs, err = j.file.Funcs(); err != nil {
			return nil, nil, inputErr(err)
		}
	}
	if gaps, err = j.file.Gaps(); err != nil {
		return nil, nil, inputErr(err)
	}
	return funcs, gaps, nil
}

// split makes chunks of about size bytes.
func (j *job) split(funcs []objfile.Func, size uint64) []*chunk {
	var chunks []*chunk
	var c *chunk
	first := 0
	for i := range funcs {
		fn := &funcs[i]
		if !j.touches(fn) {
			c = nil
			continue
		}
		if c == nil || c.bytes+fn.Size > size {
			c, first = &chunk{pieces: make(chan []byte, 2)}, i
			chunks = append(chunks, c)
		}
		c.funcs = funcs[first : i+1 : i+1]
		c.bytes += fn.Size
	}
	return chunks
}

// touches reports whether the function can hold a wanted site.
func (j *job) touches(fn *objfile.Func) bool {
	if j.pick.addrs == nil || len(j.pick.addrs) > 64 {
		return true
	}
	for a := range j.pick.addrs {
		if fn.Range().Contains(objfile.VAddr(a)) {
			return true
		}
	}
	return false
}

// collect runs the workers and writes their results in the order of addresses.
// A worker is never more than a few chunks ahead of the writer.
func (j *job) collect(w io.Writer, chunks []*chunk, p *progress) (total counts, gaps []fixups.Range, err error) {
	n := runtime.GOMAXPROCS(0)
	if !j.enc.parallel() {
		n = 1
	}
	work := make(chan *chunk)
	stop := make(chan struct{})
	ahead := make(chan struct{}, 2*n)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			sw := newSweeper(j)
			sw.stop = stop
			for c := range work {
				sw.chunk(c)
			}
		})
	}
	go func() {
		defer close(work)
		for _, c := range chunks {
			select {
			case ahead <- struct{}{}:
				work <- c
			case <-stop:
				return
			}
		}
	}()
	defer wg.Wait()
	defer close(stop)
	seen := map[uint64]bool{}
	out := &siteWriter{w: w, enc: j.enc}
	for i, c := range chunks {
		if err := out.drain(c); err != nil {
			return total, nil, err
		}
		<-ahead
		total.sites += c.sites
		total.unplanned += c.none
		total.bytes += c.bytes
		gaps = append(gaps, c.gaps...)
		maps.Copy(seen, c.seen)
		chunks[i] = nil
		p.add(c)
	}
	return total, gaps, j.missing(seen, gaps)
}

// siteWriter writes the pieces of chunks behind each other.
type siteWriter struct {
	w       io.Writer
	enc     siteEncoder
	started bool
}

func (s *siteWriter) drain(c *chunk) error {
	for piece := range c.pieces {
		if !s.started && len(piece) > 0 {
			s.started, piece = true, s.enc.first(piece)
		}
		if _, err := s.w.Write(piece); err != nil {
			return inputErr(err)
		}
	}
	if c.err != nil {
		return inputErr(c.err)
	}
	return nil
}

// missing reports asked addresses that are not instruction starts of the sweep.
func (j *job) missing(seen map[uint64]bool, gaps []fixups.Range) error {
	if j.pick.asked == nil {
		return nil
	}
	for _, a := range j.pick.asked {
		if seen[a] {
			continue
		}
		fn, err := j.file.FuncAt(objfile.VAddr(a))
		switch {
		case err == nil && !j.pick.hasFunc(fn):
			return usagef("--addr %#x is in %s, which --func does not name", a, name(fn))
		case err != nil:
			if code, ok := j.file.Descriptor(objfile.VAddr(a)); ok {
				return inputErr(fmt.Errorf("%s: %#x: %w: a descriptor of the function at %#x", j.file.Path, a, fixups.ReasonData, uint64(code)))
			}
			return inputErr(fmt.Errorf("%s: %#x: %w: in no known function", j.file.Path, a, fixups.ReasonData))
		case !inCode(j.file, fn, a):
			return inputErr(fmt.Errorf("%s: %#x: %w in %s", j.file.Path, a, fixups.ReasonData, name(fn)))
		case inGap(gaps, a):
			return inputErr(fmt.Errorf("%s: %#x: %w: behind bytes of %s that do not decode", j.file.Path, a, fixups.ReasonData, name(fn)))
		default:
			return inputErr(fmt.Errorf("%s: %#x: %w of %s", j.file.Path, a, fixups.ReasonMidInstruction, name(fn)))
		}
	}
	return nil
}

func name(fn objfile.Func) string {
	if fn.Name == "" {
		return fmt.Sprintf("the function at %#x", uint64(fn.Addr))
	}
	return oneLine(fn.Name)
}

// inCode reports whether a lies in the instructions of fn, not in the data in it.
func inCode(f *objfile.File, fn objfile.Func, a uint64) bool {
	for r := range f.Code(fn) {
		if r.Contains(objfile.VAddr(a)) {
			return true
		}
	}
	return false
}

func inGap(gaps []fixups.Range, a uint64) bool {
	for _, g := range gaps {
		if a-g.Addr < g.Size {
			return true
		}
	}
	return false
}

// allGaps merges the file's gaps with those inside functions; a table of some
// sites has none.
func (j *job) allGaps(outer []objfile.Gap, inner []fixups.Range) []fixups.Range {
	if j.pick.addrs != nil || j.pick.funcs != nil {
		return inner
	}
	all := make([]fixups.Range, 0, len(outer)+len(inner))
	k := 0
	for _, g := range outer {
		for k < len(inner) && inner[k].Addr < uint64(g.Addr) {
			all = append(all, inner[k])
			k++
		}
		all = append(all, fixups.Range{Addr: uint64(g.Addr), Size: g.Size})
	}
	return append(all, inner[k:]...)
}

// sweeper holds what one worker reuses from site to site.
type sweeper struct {
	j     *job
	entry fixups.Entry
	code  []byte
	text  reloc.Text
	env   reloc.Env
	stop  <-chan struct{} // closed when nobody wants the output any more
}

func newSweeper(j *job) *sweeper {
	sw := new(sweeper)
	sw.init(j)
	return sw
}

func (sw *sweeper) init(j *job) {
	sw.j, sw.env = j, j.w.env
	sw.env.Code = &sw.text
}

func (sw *sweeper) chunk(c *chunk) {
	defer close(c.pieces)
	for _, fn := range c.funcs {
		for r := range sw.j.file.Code(fn) {
			if c.err = sw.run(c, fn, r); c.err != nil {
				return
			}
		}
	}
	c.flush(sw.stop)
}

// run sweeps one run of instructions. Bytes that do not decode are a gap; so is all
// behind them where instruction boundaries would be guesses.
func (sw *sweeper) run(c *chunk, fn objfile.Func, r objfile.Range) error {
	code, err := sw.read(r)
	if err != nil {
		return err
	}
	for at := 0; at < len(code); {
		pc := uint64(r.Addr) + uint64(at)
		size := sw.site(c, fn, code[at:], pc)
		at += size
		switch {
		case size == 0:
			n := sw.j.arch.Info().Past(&reloc.Insn{Len: sw.entry.Len}, len(code)-at)
			c.gaps = appendGap(c.gaps, uint64(r.Addr)+uint64(at), n)
			at += n
		case sw.entry.AltLen != 0 && sw.env.Vendor == reloc.VendorUnknown:
			// Behind an instruction whose length depends on the vendor, boundaries
			// would be guesses too.
			c.gaps = appendGap(c.gaps, uint64(r.Addr)+uint64(at), len(code)-at)
			return nil
		}
	}
	return nil
}

// appendGap appends n bytes at addr, to the last gap if they follow it.
func appendGap(gaps []fixups.Range, addr uint64, n int) []fixups.Range {
	if n == 0 {
		return gaps
	}
	if k := len(gaps) - 1; k >= 0 && gaps[k].Addr+gaps[k].Size == addr {
		gaps[k].Size += uint64(n)
		return gaps
	}
	return append(gaps, fixups.Range{Addr: addr, Size: uint64(n)})
}

// read makes the bytes of r the current code.
func (sw *sweeper) read(r objfile.Range) ([]byte, error) {
	if uint64(cap(sw.code)) < r.Size {
		sw.code = make([]byte, r.Size)
	}
	n, err := sw.j.file.ReadCode(sw.code[:r.Size], r.Addr)
	if err != nil {
		return nil, err
	}
	sw.text = reloc.Text{Addr: uint64(r.Addr), Data: sw.code[:n]}
	return sw.text.Data, nil
}

// site makes one entry and appends it to the output if it is wanted. It returns
// the length, 0 if the sweep cannot go on.
func (sw *sweeper) site(c *chunk, fn objfile.Func, code []byte, pc uint64) int {
	e, j := &sw.entry, sw.j
	err := reloc.Describe(e, j.arch, code, pc, &sw.env, j.w.both)
	if err != nil && e.Class == fixups.ClassInvalid {
		return 0
	}
	if j.pick.asked != nil && j.pick.addrs[pc] {
		if c.seen == nil {
			c.seen = map[uint64]bool{}
		}
		c.seen[pc] = true
	}
	if j.pick.wants(e) {
		sw.emit(c, fn, pc)
	}
	return int(e.Len)
}

// emit appends the current entry to the output.
func (sw *sweeper) emit(c *chunk, fn objfile.Func, pc uint64) {
	e, j := &sw.entry, sw.j
	e.Func, e.At = fn.Name, pc-uint64(fn.Addr)
	e.Offset, e.InFile = offsetOf(j.file, pc)
	if j.text {
		e.Text = disassemble(j.meta.Arch, e)
	}
	place(e, j.arch, j.slot)
	c.sites++
	if !hasPlan(e) {
		c.none++
	}
	c.out = j.enc.site(c.out, e)
	if len(c.out) >= pieceBytes {
		c.flush(sw.stop)
	}
}

func offsetOf(f *objfile.File, pc uint64) (uint64, bool) {
	off, err := f.OffsetOf(objfile.VAddr(pc))
	return uint64(off), err == nil
}
