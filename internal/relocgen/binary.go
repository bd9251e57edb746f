package relocgen

import (
	"io"
	"maps"
	"runtime"
	"sync"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/objfile"
	"github.com/xol-go/xol/reloc"
)

// The binary table is made in parts, one a processor, each with an encoder of its
// own. Decoding is most of the work: a plan is made once for each shape, not for
// each site. Register sets are left out (they serve to choose scratch, and plans
// have chosen), so that all plain copies of a length are one shape.

// binaryPart writes the sites of some functions into an encoder.
type binaryPart struct {
	sweeper
	enc     *fixups.Encoder
	shaper  reloc.Shaper // nil: every site is described
	plain   [256]bool    // lengths whose plain shape is known
	recent  []*cachedShape
	shapes  map[[2]uint64]*cachedShape
	windows [2]window
	total   counts
	gaps    []fixups.Range
	seen    map[uint64]bool
	err     error
}

// cachedShape is a shape by key. The first site of a key gives a shape for its
// own D only; the second, with another D, tells which values move with it.
type cachedShape struct {
	key    [2]uint64
	id     fixups.ShapeID
	state  cacheState
	d      int64
	sample *fixups.Entry
}

type cacheState uint8

const (
	cacheOneD cacheState = iota // id holds for d
	cacheAnyD                   // id holds for every D
	cacheNone                   // no shape in common
)

const recentBits = 14 // log2 of the number of recent shapes

// partBytes is how much code is worth another processor: below it, making every
// shape twice costs more than is won.
const partBytes = 2 << 20

// runBinary is run for the binary format.
func (j *job) runBinary(w io.Writer, p *progress) (total counts, err error) {
	defer p.stop()
	funcs, outer, err := j.extent()
	if err != nil {
		return total, err
	}
	chunks := j.split(funcs)
	p.begin(chunks)
	parts := j.parts(chunks, p)
	first := parts[0]
	for i, part := range parts {
		if part.err != nil {
			return total, inputErr(part.err)
		}
		if i > 0 {
			if err := first.enc.Merge(part.enc); err != nil {
				return total, inputErr(err)
			}
			first.add(part)
		}
	}
	for _, g := range j.allGaps(outer, first.gaps) {
		first.enc.Gap(g)
	}
	if _, err := first.enc.WriteTo(w); err != nil {
		return first.total, inputErr(err)
	}
	return first.total, j.missing(first.seen, first.gaps)
}

// parts sweeps the chunks, in as many parts as there are processors and work.
func (j *job) parts(chunks []*chunk, p *progress) []*binaryPart {
	var bytes uint64
	for _, c := range chunks {
		bytes += c.bytes
	}
	n := uint64(max(1, min(runtime.GOMAXPROCS(0), int(bytes/partBytes))))
	parts := make([]*binaryPart, n)
	var wg sync.WaitGroup
	var progress sync.Mutex
	for i := range parts {
		var mine []*chunk
		var room uint64
		for len(chunks) > 0 && (room < bytes/n || uint64(i) == n-1) {
			mine, room, chunks = append(mine, chunks[0]), room+chunks[0].bytes, chunks[1:]
		}
		if i == 0 {
			room = bytes // the others are merged into it
		}
		part := j.newPart(int(room))
		parts[i] = part
		wg.Go(func() {
			for _, c := range mine {
				part.chunk(c)
				progress.Lock()
				p.add(c)
				progress.Unlock()
			}
		})
	}
	wg.Wait()
	return parts
}

func (j *job) newPart(room int) *binaryPart {
	b := &binaryPart{enc: fixups.NewEncoder(&j.meta), recent: make([]*cachedShape, 1<<recentBits),
		shapes: map[[2]uint64]*cachedShape{}, seen: map[uint64]bool{}}
	b.init(j)
	b.enc.Grow(room)
	for i := range b.recent {
		b.recent[i] = &cachedShape{key: [2]uint64{^uint64(0), ^uint64(0)}} // no instruction has this key
	}
	if j.pick.all() && j.slot == nil && !j.arch.Info().NeedsContext && !b.env.ExecuteOnly {
		b.shaper, _ = j.arch.(reloc.Shaper)
	}
	return b
}

// add takes over what another part has found.
func (b *binaryPart) add(o *binaryPart) {
	b.total.sites += o.total.sites
	b.total.unplanned += o.total.unplanned
	b.total.bytes += o.total.bytes
	b.gaps = append(b.gaps, o.gaps...)
	maps.Copy(b.seen, o.seen)
}

// all reports whether every site is wanted.
func (p *picker) all() bool {
	return p.addrs == nil && !p.returns && !p.fixups && !p.refused
}

func (b *binaryPart) chunk(c *chunk) {
	for _, fn := range c.funcs {
		if b.err == nil {
			b.err = b.function(fn)
		}
	}
}

// window is code that was read at once, for many functions.
type window struct {
	addr uint64
	code []byte
}

const windowBytes = 256 << 10

// load returns the code of r. It stays as it is until load has filled two more
// windows, because the encoder copies a run only when the next one begins.
func (b *binaryPart) load(r objfile.Range) ([]byte, error) {
	w := &b.windows[0]
	if off := uint64(r.Addr) - w.addr; off < uint64(len(w.code)) && r.Size <= uint64(len(w.code))-off {
		return w.code[off : off+r.Size], nil
	}
	b.windows[0], b.windows[1] = b.windows[1], b.windows[0]
	size := max(r.Size, windowBytes)
	if uint64(cap(w.code)) < size {
		w.code = make([]byte, size)
	}
	n, err := b.j.file.ReadCode(w.code[:size], r.Addr)
	w.addr, w.code = uint64(r.Addr), w.code[:n]
	return w.code[:min(r.Size, uint64(n))], err
}

func (b *binaryPart) function(fn objfile.Func) error {
	for r := range b.j.file.Code(fn) {
		code, err := b.load(r)
		if err != nil {
			return err
		}
		if len(code) == 0 {
			continue
		}
		b.text = reloc.Text{Addr: uint64(r.Addr), Data: code}
		off, inFile := offsetOf(b.j.file, uint64(r.Addr))
		b.enc.Begin(fixups.Extent{Addr: uint64(r.Addr), Code: code, Func: fn.Name,
			At: uint64(r.Addr - fn.Addr), InFile: inFile, Offset: off})
		end := b.run(code, uint64(r.Addr))
		if end < len(code) {
			b.gaps = append(b.gaps, fixups.Range{Addr: uint64(r.Addr) + uint64(end), Size: uint64(len(code) - end)})
		}
		b.total.bytes += uint64(len(code))
		if err := b.enc.Err(); err != nil {
			return err
		}
	}
	return nil
}

// careful is how many sites behind a trap or a shadow are described one by one:
// there a neighbour could have a say.
const careful = 4

// run writes the sites of code, which lives at addr, and returns where the
// instructions end.
func (b *binaryPart) run(code []byte, addr uint64) int {
	var in reloc.Insn
	var key [2]uint64
	slow := 0
	if b.shaper == nil {
		slow = len(code)
	}
	arch := b.j.arch
	unknownVendor := b.env.Vendor == reloc.VendorUnknown
	at := 0
	for at < len(code) {
		pc := addr + uint64(at)
		if err := reloc.DecodeFor(&in, arch, code[at:], pc, &b.env); err != nil {
			return at
		}
		kind := reloc.ShapeOwn
		switch {
		case slow > 0:
			slow--
		case in.Class == fixups.ClassCall && b.env.Return == fixups.ReturnsSlot: // the callee has a say
		default:
			kind = b.shaper.ShapeKey(&in, &key)
		}
		switch {
		case kind == reloc.ShapeCopy && b.plain[in.Len]:
			b.enc.Plain(pc, int(in.Len))
			b.total.sites++
		case kind == reloc.ShapeCopy:
			b.firstPlain(&in, code[at:])
		case kind == reloc.ShapeKeyed:
			b.keyed(&in, code[at:], &key)
		default:
			b.own(&in, code[at:])
		}
		at += int(in.Len)
		if in.Class == fixups.ClassTrap || in.Hazards.Has(fixups.HazardShadow) {
			slow = max(slow, careful)
		}
		if in.AltLen != 0 && unknownVendor {
			return at
		}
	}
	return at
}

// describe makes the entry of a site as the binary table has it.
func (b *binaryPart) describe(e *fixups.Entry, code []byte, pc uint64) {
	reloc.Describe(e, b.j.arch, code, pc, &b.env, b.j.w.both)
	e.Reads, e.Writes, e.Kills = fixups.RegSet{}, fixups.RegSet{}, fixups.RegSet{}
	place(e, b.j.arch, b.j.slot)
}

func (b *binaryPart) firstPlain(in *reloc.Insn, code []byte) {
	b.describe(&b.entry, code, in.PC)
	id, err := b.enc.Shape(&b.entry, nil)
	if err == nil {
		b.enc.SetPlain(id)
		b.plain[in.Len] = true
	}
	b.site(in, id)
}

// own writes a site that has no shape in common with others, if it is wanted.
func (b *binaryPart) own(in *reloc.Insn, code []byte) {
	b.describe(&b.entry, code, in.PC)
	if !b.j.pick.wants(&b.entry) {
		return
	}
	b.seen[in.PC] = true
	if !hasPlan(&b.entry) {
		b.total.unplanned++
	}
	id, _ := b.enc.Shape(&b.entry, nil) // the encoder keeps the error
	b.site(in, id)
}

func (b *binaryPart) site(in *reloc.Insn, id fixups.ShapeID) {
	d := int64(0)
	if in.HasTarget() {
		d = int64(in.Target - in.PC)
	}
	b.enc.Site(in.PC, int(in.Len), id, d)
	b.total.sites++
}

func (b *binaryPart) keyed(in *reloc.Insn, code []byte, key *[2]uint64) {
	h := (key[0] ^ key[1]*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd >> (64 - recentBits)
	c := b.recent[h]
	if c.key != *key {
		if c = b.shapes[*key]; c == nil {
			c = b.learn(in, code, key)
		}
		b.recent[h] = c
	}
	d := int64(in.Target - in.PC)
	switch {
	case c.state == cacheAnyD, c.state == cacheOneD && c.d == d:
		b.site(in, c.id)
	case c.state == cacheOneD:
		b.generalise(c, in, code)
	default:
		b.own(in, code)
	}
}

// learn makes the shape of the first site with a key.
func (b *binaryPart) learn(in *reloc.Insn, code []byte, key *[2]uint64) *cachedShape {
	e := new(fixups.Entry)
	b.describe(e, code, in.PC)
	c := &cachedShape{key: *key, d: int64(in.Target - in.PC), sample: e, state: cacheOneD}
	id, err := b.enc.Shape(e, nil)
	switch {
	case err != nil:
		c.state, c.sample = cacheNone, nil
	case !in.HasTarget():
		c.state, c.sample = cacheAnyD, nil
	}
	c.id = id
	b.shapes[*key] = c
	return c
}

// generalise makes the shape that holds for every D from the sample and in.
func (b *binaryPart) generalise(c *cachedShape, in *reloc.Insn, code []byte) {
	b.describe(&b.entry, code, in.PC)
	id, err := b.enc.Shape(c.sample, &b.entry)
	if err != nil {
		c.state = cacheNone
		b.own(in, code)
		return
	}
	c.id, c.state, c.sample = id, cacheAnyD, nil
	b.site(in, id)
}
