package relocgen

import (
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/objfile"
	"github.com/xol-go/xol/reloc"
)

// The binary table is made in pieces, by a worker a processor: where instructions
// start, and which of them are no plain copies. One writer puts the pieces in
// order behind each other and writes them as they come, so that memory is touched
// again and again instead of once. Plans are made once for each shape
// (binary_shapes.go). Register sets are left out (they serve to choose scratch, and
// plans have chosen), so that all plain copies of a length are one shape.

// Sizes of the work in bytes of code: of a piece, little enough to stay in a
// processor's cache while it passes through, and of what is worth another processor.
const (
	binaryChunk = 128 << 10
	partBytes   = 2 << 20
)

// slack is how many bytes behind code a reloc.Scanner may read.
const slack = 16

// ownShape marks a site whose shape was made for it alone: the rest is its number
// in the worker's shapes, not that of a key.
const ownShape fixups.ShapeID = 1 << 31

// binaryPiece is a chunk of the table on its way from a worker to the writer, which
// gives it back to be used again.
type binaryPiece struct {
	c      *chunk
	text   []byte
	marks  []uint64 // bit i mod 64 of word i/64: an instruction starts at text[i]
	starts []uint64
	sites  []fixups.Site // Shape is a number of a key of the worker, or has ownShape
	runs   []binaryRun
	shapes pieceShapes
	total  counts
	seen   map[uint64]bool
	err    error
	ready  chan struct{} // a piece is ready when it has been sent here
}

// binaryRun is a run of a piece; it has the next words of starts.
type binaryRun struct {
	fixups.Extent
	words int
	sites [2]int // from and to
}

// runBinary is run for the binary format.
func (j *job) runBinary(w io.Writer, p *progress) (total counts, err error) {
	defer p.stop()
	defer lazyGC()()
	funcs, outer, err := j.extent()
	if err != nil {
		return total, err
	}
	chunks := j.split(funcs, binaryChunk)
	p.begin(chunks)
	b := &binaryWriter{enc: fixups.NewEncoder(&j.meta), progress: p, seen: map[uint64]bool{}, numbers: map[*binaryWorker]*numbers{}}
	b.enc.Grow(len(funcs))
	b.enc.GrowNames(nameBytes(funcs))
	b.learner = newLearner(j, b.enc)
	b.enc.Stream(w)
	err = b.collect(j, chunks)
	b.total.sites = b.enc.Len()
	if err != nil {
		return b.total, inputErr(err)
	}
	for _, g := range j.allGaps(outer, b.gaps) {
		b.enc.Gap(g)
	}
	if err := b.enc.Close(); err != nil {
		return b.total, inputErr(err)
	}
	return b.total, j.missing(b.seen, b.gaps)
}

// nameBytes is how much the names of functions take.
func nameBytes(funcs []objfile.Func) (n int) {
	for i := range funcs {
		n += len(funcs[i].Name) + 1
	}
	return n
}

// lazyGC has garbage collected seldom until what it returns is called, unless the
// user has a wish of his own. What is allocated is mostly what is kept: the
// functions of the file, the runs and names of the table.
func lazyGC() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	old := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(old) }
}

// binaryWriter puts pieces behind each other.
type binaryWriter struct {
	enc      *fixups.Encoder
	progress *progress
	total    counts
	gaps     []fixups.Range
	seen     map[uint64]bool
	learner  *learner
	numbers  map[*binaryWorker]*numbers
}

// collect runs the workers and writes what they find in the order of addresses. No
// worker is more than a few pieces ahead of the writer.
func (b *binaryWriter) collect(j *job, chunks []*chunk) error {
	var bytes uint64
	for _, c := range chunks {
		bytes += c.bytes
	}
	n := max(1, min(runtime.GOMAXPROCS(0), int(bytes/partBytes)))
	free, order := make(chan *binaryPiece, 2*n), make(chan *binaryPiece, 2*n)
	work := make(chan *binaryPiece)
	stop := make(chan struct{})
	for range cap(free) {
		free <- &binaryPiece{ready: make(chan struct{}, 1)}
	}
	var wg sync.WaitGroup
	for range n {
		worker := j.newBinaryWorker()
		wg.Go(func() {
			for p := range work {
				worker.piece(p)
				p.ready <- struct{}{}
			}
		})
	}
	go func() {
		defer close(order)
		defer close(work)
		for _, c := range chunks {
			select {
			case p := <-free:
				p.c = c
				order <- p // has room for all pieces
				work <- p
			case <-stop:
				return
			}
		}
	}()
	defer wg.Wait()
	defer close(stop)
	for p := range order {
		<-p.ready
		if err := b.piece(p); err != nil {
			return err
		}
		b.progress.add(p.c)
		free <- p
	}
	return nil
}

// piece writes what a worker has found.
func (b *binaryWriter) piece(p *binaryPiece) error {
	if p.err != nil {
		return p.err
	}
	if err := b.number(p); err != nil {
		return err
	}
	starts := p.starts
	for i := range p.runs {
		r := &p.runs[i]
		b.enc.Run(&r.Extent, starts[:r.words], p.sites[r.sites[0]:r.sites[1]])
		starts = starts[r.words:]
	}
	b.total.unplanned += p.total.unplanned
	b.total.bytes += p.total.bytes
	b.gaps = append(b.gaps, p.c.gaps...)
	maps.Copy(b.seen, p.seen)
	return b.enc.Err()
}

// binaryWorker finds what is in pieces of the table.
type binaryWorker struct {
	sweeper
	enc     *fixups.Encoder // has the shapes of sites that share none
	own     int             // number of them
	lens    uint32          // lengths of plain copies that were met
	shaper  reloc.ScanShaper
	scanner reloc.Scanner // nil: every site is described
	scan    reloc.Scan
	exts    []fixups.Extent
	parts   []reloc.ScanPart  // of each of exts, which have no Code yet
	rest    [1]reloc.ScanPart // behind a stop
	again   [1]reloc.ScanPart // behind a gap
	p       *binaryPiece
	window  window
	in      reloc.Insn
	key     [2]uint64
}

// window is code of a piece that was read at once.
type window struct {
	addr uint64
	off  int // in the text of the piece
	size uint64
}

func (j *job) newBinaryWorker() *binaryWorker {
	w := &binaryWorker{enc: fixups.NewEncoder(&j.meta)}
	w.init(j)
	shaper, ok := j.arch.(reloc.ScanShaper)
	dead := !w.env.Dead.IsEmpty() || w.env.ABI == reloc.ABIEntry
	switch {
	case !j.pick.all() || j.slot != nil || w.env.ExecuteOnly || dead || w.env.Slots == reloc.SlotsRange:
	case j.arch.Info().NeedsContext && w.env.BTI == reloc.On: // whether a target is a landing pad matters, too
	case ok:
		w.shaper, w.scanner = shaper, shaper.NewScanner()
	}
	return w
}

// all reports whether every site is wanted.
func (p *picker) all() bool {
	return p.addrs == nil && !p.returns && !p.fixups && !p.refused
}

// piece finds what is in the functions of p.c.
func (w *binaryWorker) piece(p *binaryPiece) {
	w.p, w.window = p, window{}
	p.text, p.starts, p.runs, p.total, p.seen = p.text[:0], p.starts[:0], p.runs[:0], counts{}, nil
	p.shapes = pieceShapes{copies: p.shapes.copies[:0]}
	w.scan.Sites, w.scan.Copies, w.exts, w.parts = p.sites[:0], 0, w.exts[:0], w.parts[:0]
	p.err = w.functions()
	p.sites = w.scan.Sites
	w.finish()
}

// functions reads the code of all functions, and finds what is in it.
func (w *binaryWorker) functions() error {
	p := w.p
	for _, fn := range p.c.funcs {
		for r := range w.j.file.Code(fn) {
			at, size, err := w.load(r)
			if err != nil {
				return err
			}
			if size == 0 {
				continue
			}
			x := fixups.Extent{Addr: uint64(r.Addr), Func: fn.Name, At: uint64(r.Addr - fn.Addr)}
			x.Offset, x.InFile = offsetOf(w.j.file, uint64(r.Addr))
			w.exts = append(w.exts, x)
			w.parts = append(w.parts, reloc.ScanPart{PC: x.Addr, From: at, At: at, End: at + size})
		}
	}
	if w.scanner != nil {
		w.scanParts()
	}
	first := 0 // site
	for i := range w.parts {
		x, part := &w.exts[i], &w.parts[i]
		x.Code = p.text[part.At:part.End:part.End]
		w.text = reloc.Text{Addr: x.Addr, Data: x.Code}
		p.total.bytes += uint64(len(x.Code))
		sites := part.Sites
		if err := w.extent(x, part, first); err != nil {
			return err
		}
		first += sites
	}
	return nil
}

// extent makes the runs of x, of which part was scanned, with the sites from first
// on. Bytes that do not decode are a gap; so is all behind them where instruction
// boundaries would be guesses.
func (w *binaryWorker) extent(x *fixups.Extent, part *reloc.ScanPart, first int) error {
	for {
		run, end, err := *x, 0, error(nil)
		if w.scanner != nil {
			end, err = w.scanRun(&run, part, first)
		} else {
			end, err = w.describeRuns(&run)
		}
		if err != nil || end == len(x.Code) {
			return err
		}
		n := len(x.Code) - end
		if reloc.DecodeFor(&w.in, w.j.arch, x.Code[end:], x.Addr+uint64(end), &w.env) != nil {
			n = w.j.arch.Info().Past(&w.in, n)
		}
		w.p.c.gaps = appendGap(w.p.c.gaps, x.Addr+uint64(end), n)
		past := uint64(end + n)
		x.Code = x.Code[past:]
		x.Addr, x.At, x.Offset = x.Addr+past, x.At+past, x.Offset+past
		if len(x.Code) == 0 {
			return nil
		}
		if w.scanner != nil {
			w.again[0] = reloc.ScanPart{PC: x.Addr, From: part.From, At: part.End - len(x.Code), End: part.End}
			part, first = &w.again[0], len(w.scan.Sites)
			w.scanner.Scan(&w.scan, w.p.text, w.again[:])
		}
	}
}

// load says where in the text of the piece the code of r is, with slack bytes behind
// it. What is between the functions of a piece is read with them, if it is not much.
func (w *binaryWorker) load(r objfile.Range) (at, size int, err error) {
	if off := uint64(r.Addr) - w.window.addr; off < w.window.size && r.Size <= w.window.size-off {
		return w.window.off + int(off), int(r.Size), nil
	}
	last := w.p.c.funcs[len(w.p.c.funcs)-1].Range().End()
	whole := r.Size
	if span := uint64(last - r.Addr); last > r.Addr && span < 2*binaryChunk {
		whole = max(whole, span)
	}
	at = len(w.p.text)
	if need := at + int(whole) + slack; need > cap(w.p.text) {
		w.p.text = append(make([]byte, 0, max(need, binaryChunk*5/4)), w.p.text...)
	}
	n, err := w.j.file.ReadCode(w.p.text[at:at+int(whole)], r.Addr)
	w.p.text = w.p.text[: at+n+slack : cap(w.p.text)]
	w.window = window{uint64(r.Addr), at, uint64(n)}
	return at, int(min(r.Size, uint64(n))), err
}

// careful is how many sites behind a trap or a shadow are described one by one:
// there a neighbour could have a say.
const careful = 4

// startRun makes room for the starts of a run of size bytes.
func (w *binaryWorker) startRun(size int) []uint64 {
	n, words := len(w.p.starts), (w.units(size)+63)/64
	if n+words > cap(w.p.starts) {
		w.p.starts = append(make([]uint64, 0, max(2*(n+words), binaryChunk/32)), w.p.starts...)
	}
	w.p.starts = w.p.starts[:n+words]
	clear(w.p.starts[n:])
	return w.p.starts[n:]
}

func (w *binaryWorker) units(size int) int { return size / int(max(w.j.meta.Layout.Align, 1)) }

// endRun ends a run that startRun began, at the first size bytes of x, with the
// sites behind the first before.
func (w *binaryWorker) endRun(x *fixups.Extent, starts []uint64, size, before int) {
	words := (w.units(size) + 63) / 64
	w.p.starts = w.p.starts[:len(w.p.starts)-len(starts)+words]
	if size > 0 {
		w.addRun(x, size, words, before, len(w.scan.Sites))
	}
}

func (w *binaryWorker) addRun(x *fixups.Extent, size, words, from, to int) {
	w.p.runs = append(w.p.runs, binaryRun{*x, words, [2]int{from, to}})
	w.p.runs[len(w.p.runs)-1].Code = x.Code[:size]
}

// scanParts has the parts scanned.
func (w *binaryWorker) scanParts() {
	p := w.p
	words := len(p.text)/64 + 2
	if words > cap(p.marks) {
		p.marks = make([]uint64, words*5/4)
	}
	p.marks = p.marks[:words]
	clear(p.marks)
	w.scan.Starts = p.marks
	w.scanner.Scan(&w.scan, p.text, w.parts)
}

// scanRun makes the run of a part that was scanned, with the sites from first on,
// and returns where its instructions end.
func (w *binaryWorker) scanRun(x *fixups.Extent, part *reloc.ScanPart, first int) (int, error) {
	to, own := first+part.Sites, part.Own
	if part.Stop < part.End {
		w.scan.Sites = append(w.scan.Sites, w.scan.Sites[first:to]...)
		first = len(w.scan.Sites) - part.Sites
		own += w.scanRest(x, part)
		to = len(w.scan.Sites)
	}
	size := part.Stop - part.At
	if err := w.copies(x.Code[:size], x.Addr); err != nil {
		return size, err
	}
	if err := w.ownSites(x, w.scan.Sites[first:to], own); err != nil {
		return size, err
	}
	if size > 0 {
		starts := w.startRun(size)
		cutUnits(starts, w.p.marks, part.At, size, w.units(64))
		w.addRun(x, size, len(starts), first, to)
	}
	return size, nil
}

// cutBits copies n bits of src from bit at on to dst. Behind the last word that
// they are in, src has one more.
func cutBits(dst, src []uint64, at, n int) {
	src = src[at>>6:][:len(dst)+1]
	shift := uint(at) & 63
	w := src[0]
	for i := range dst {
		next := src[i+1]
		dst[i] = w>>shift | next<<1<<(63-shift)
		w = next
	}
	if n&63 != 0 {
		dst[len(dst)-1] &= 1<<(n&63) - 1
	}
}

// cutUnits is cutBits for starts in units, of which 64 bytes have n, a power of two.
func cutUnits(dst, src []uint64, at, size, n int) {
	if n == 64 {
		cutBits(dst, src, at, size)
		return
	}
	for i, from := 0, 0; from < size; i++ {
		dst[i] = 0
		for to := 0; to < 64 && from < size; to += n {
			var w [1]uint64
			cutBits(w[:], src, at+from, min(size-from, 64))
			for size := 64; size > n; size /= 2 {
				w[0] = everyOther(w[0])
			}
			dst[i] |= w[0] << to
			from += 64
		}
	}
}

// everyOther puts the bits of even numbers of x side by side.
func everyOther(x uint64) uint64 {
	x &= 0x5555555555555555
	x = (x | x>>1) & 0x3333333333333333
	x = (x | x>>2) & 0x0f0f0f0f0f0f0f0f
	x = (x | x>>4) & 0x00ff00ff00ff00ff
	x = (x | x>>8) & 0x0000ffff0000ffff
	return (x | x>>16) & 0xffffffff
}

// scanRest describes what the scanner has left of a part one by one, and has it go
// on behind. It returns how many sites it has added that share no shape.
func (w *binaryWorker) scanRest(x *fixups.Extent, part *reloc.ScanPart) (own int) {
	unknownVendor := w.env.Vendor == reloc.VendorUnknown
	in, slow := &w.in, 0
	for part.Stop < part.End {
		at := part.Stop - part.At
		if reloc.DecodeFor(in, w.j.arch, x.Code[at:], x.Addr+uint64(at), &w.env) != nil {
			break
		}
		w.p.marks[part.Stop>>6] |= 1 << (part.Stop & 63)
		kind := reloc.ShapeOwn
		if slow == 0 {
			kind = w.shaper.ShapeKey(in, &w.key)
		} else {
			slow--
		}
		site := fixups.Site{Off: uint32(at), Shape: reloc.ScanOwn, D: w.shaper.ShapeD(in)}
		switch kind {
		case reloc.ShapeCopy:
			w.scan.Copies |= 1 << in.Len
		case reloc.ShapeKeyed:
			site.Shape = w.scanner.Key(in, &w.key)
			w.scan.Sites = append(w.scan.Sites, site)
		default:
			w.scan.Sites = append(w.scan.Sites, site)
			own++
		}
		part.Stop += int(in.Len)
		if in.Class == fixups.ClassTrap || in.Hazards.Has(fixups.HazardShadow) {
			slow = max(slow, careful)
		}
		if in.AltLen != 0 && unknownVendor {
			break
		}
		if slow == 0 {
			own += w.scanOn(part)
		}
	}
	return own
}

// scanOn has the scanner go on in a part where it has stopped.
func (w *binaryWorker) scanOn(part *reloc.ScanPart) (own int) {
	at := part.Stop - part.At
	known := len(w.scan.Sites)
	w.rest[0] = reloc.ScanPart{PC: part.PC + uint64(at), From: part.From, At: part.Stop, End: part.End}
	w.scanner.Scan(&w.scan, w.p.text, w.rest[:])
	for i := range w.scan.Sites[known:] {
		w.scan.Sites[known+i].Off += uint32(at)
	}
	part.Stop = w.rest[0].Stop
	return w.rest[0].Own
}

// copies takes samples of the lengths of plain copies that are new. One of each is
// in code.
func (w *binaryWorker) copies(code []byte, pc uint64) error {
	missing := w.scan.Copies &^ w.lens
	for at := 0; missing != 0 && at < len(code); at += int(w.in.Len) {
		if err := reloc.DecodeFor(&w.in, w.j.arch, code[at:], pc+uint64(at), &w.env); err != nil {
			return err
		}
		if bit := uint32(1) << w.in.Len; missing&bit != 0 && w.shaper.ShapeKey(&w.in, &w.key) == reloc.ShapeCopy {
			w.p.shapes.copies = append(w.p.shapes.copies, w.in)
			w.lens |= bit
			missing &^= bit
		}
	}
	return nil
}

// ownSites makes the shapes of the sites of x that share none; there are own of
// them. Of a call that is made from the slot the callee has a say, too.
func (w *binaryWorker) ownSites(x *fixups.Extent, sites []fixups.Site, own int) error {
	calls := w.env.Return == fixups.ReturnsSlot
	if !calls && own == 0 {
		return nil
	}
	keys := w.scanner.Keys()
	for i := range sites {
		s := &sites[i]
		if s.Shape != reloc.ScanOwn && !(calls && keys[s.Shape].Insn.Class == fixups.ClassCall) {
			continue
		}
		id, err := w.ownShape(x.Code[s.Off:], x.Addr+uint64(s.Off))
		if err != nil {
			return err
		}
		s.Shape = ownShape | id
	}
	return nil
}

// ownShape makes the shape of the site at pc alone.
func (w *binaryWorker) ownShape(code []byte, pc uint64) (fixups.ShapeID, error) {
	w.describe(&w.entry, code, pc, &w.env)
	if !hasPlan(&w.entry) {
		w.p.total.unplanned++
	}
	w.own++
	return w.enc.Shape(&w.entry, nil)
}

// describe makes the entry of a site as the binary table has it.
func (sw *sweeper) describe(e *fixups.Entry, code []byte, pc uint64, env *reloc.Env) {
	reloc.Describe(e, sw.j.arch, code, pc, env, sw.j.w.both)
	e.Reads, e.Writes, e.Kills = fixups.RegSet{}, fixups.RegSet{}, fixups.RegSet{}
	place(e, sw.j.arch, sw.j.slot)
}

// describeRuns is scanRun where every site is described: it makes a run of each
// stretch of wanted sites, and returns where the instructions end.
func (w *binaryWorker) describeRuns(x *fixups.Extent) (int, error) {
	var starts []uint64
	from, before := -1, 0 // the current run
	at := 0
	end := func() {
		if from >= 0 {
			part := *x
			part.Code, part.Addr, part.At, part.Offset = x.Code[from:], x.Addr+uint64(from), x.At+uint64(from), x.Offset+uint64(from)
			w.endRun(&part, starts, at-from, before)
		}
		from = -1
	}
	defer func() { end() }()
	for at < len(x.Code) {
		pc := x.Addr + uint64(at)
		if reloc.DecodeFor(&w.in, w.j.arch, x.Code[at:], pc, &w.env) != nil {
			break
		}
		w.describe(&w.entry, x.Code[at:], pc, &w.env)
		if w.j.pick.wants(&w.entry) {
			if from < 0 {
				from, before = at, len(w.scan.Sites)
				starts = w.startRun(len(x.Code) - at)
			}
			unit := w.units(at - from)
			starts[unit>>6] |= 1 << (unit & 63)
			if err := w.described(at - from); err != nil {
				return at, err
			}
		} else {
			end()
		}
		at += int(w.in.Len)
		if w.in.AltLen != 0 && w.env.Vendor == reloc.VendorUnknown {
			break
		}
	}
	return at, nil
}

// described adds the site of w.entry, which is at off in its run.
func (w *binaryWorker) described(off int) error {
	e := &w.entry
	if w.j.pick.asked != nil {
		if w.p.seen == nil {
			w.p.seen = map[uint64]bool{}
		}
		w.p.seen[e.PC] = true
	}
	if !hasPlan(e) {
		w.p.total.unplanned++
	}
	w.own++
	id, err := w.enc.Shape(e, nil)
	site := fixups.Site{Off: uint32(off), Shape: ownShape | id}
	if e.HasTarget {
		site.D = int64(e.Target - e.PC)
	}
	w.scan.Sites = append(w.scan.Sites, site)
	return err
}

// finish hands over what the writer needs to know of the shapes. It is not changed
// any more, while this worker goes on behind the ends of the slices.
func (w *binaryWorker) finish() {
	w.p.shapes.worker = w
	if w.scanner != nil {
		w.p.shapes.keys = w.scanner.Keys()
	}
	if w.own > 0 {
		w.p.shapes.own, w.own = w.enc.Shapes(), 0
	}
}
