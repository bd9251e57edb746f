package relocgen

import (
	"io"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/objfile"
	"github.com/xol-go/xol/reloc"
)

// The binary table is written in one pass by one goroutine: decoding is most of
// the work, and a plan is made once for each shape, not for each site. Register
// sets are left out (they serve to choose scratch, and plans have chosen), so
// that all plain copies of a length are one shape.

// binarySweeper writes the sites of a file into an encoder.
type binarySweeper struct {
	sweeper
	enc    *fixups.Encoder
	shaper reloc.Shaper // nil: every site is described
	plain  [256]bool    // lengths whose plain shape is known
	cache  []cachedShape
	fn     objfile.Func
	held   []byte // code of the run that the encoder may still look at
	total  counts
	gaps   []fixups.Range
	seen   map[uint64]bool
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
	cacheEmpty cacheState = iota
	cacheOneD             // id holds for d
	cacheAnyD             // id holds for every D
	cacheNone             // no shape in common
)

const cacheSize = 1 << 13

// runBinary is run for the binary format.
func (j *job) runBinary(w io.Writer, p *progress) (counts, error) {
	defer p.stop()
	funcs := j.pick.funcs
	var err error
	if funcs == nil {
		if funcs, err = j.file.Funcs(); err != nil {
			return counts{}, inputErr(err)
		}
	}
	outer, err := j.file.Gaps()
	if err != nil {
		return counts{}, inputErr(err)
	}
	info := j.arch.Info()
	j.meta.Layout = fixups.Layout{Bits: uint8(info.Bits), Align: uint8(info.Align), Placing: info.Order(reloc.DataDefault)}
	b := &binarySweeper{enc: fixups.NewEncoder(&j.meta), cache: make([]cachedShape, cacheSize), seen: map[uint64]bool{}}
	if j.pick.all() && j.slot == nil && !info.NeedsContext {
		b.shaper, _ = j.arch.(reloc.Shaper)
	}
	b.sweeper.init(j)
	chunks := j.split(funcs)
	p.begin(chunks)
	for _, c := range chunks {
		for _, b.fn = range c.funcs {
			if err := b.function(); err != nil {
				return b.total, inputErr(err)
			}
		}
		p.add(c)
	}
	for _, g := range j.allGaps(outer, b.gaps) {
		b.enc.Gap(g)
	}
	if _, err := b.enc.WriteTo(w); err != nil {
		return b.total, inputErr(err)
	}
	return b.total, j.missing(b.seen, b.gaps)
}

// all reports whether every site is wanted.
func (p *picker) all() bool {
	return p.addrs == nil && !p.returns && !p.fixups && !p.refused
}

func (b *binarySweeper) function() error {
	for r := range b.j.file.Code(b.fn) {
		b.code, b.held = b.held, b.code // the encoder copies when the next run begins
		code, err := b.read(r)
		if err != nil {
			return err
		}
		if len(code) == 0 {
			continue
		}
		off, inFile := offsetOf(b.j.file, uint64(r.Addr))
		b.enc.Begin(fixups.Extent{Addr: uint64(r.Addr), Code: code, Func: b.fn.Name,
			At: uint64(r.Addr - b.fn.Addr), InFile: inFile, Offset: off})
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
func (b *binarySweeper) run(code []byte, addr uint64) int {
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
		if err := arch.Decode(&in, code[at:], pc); err != nil {
			return at
		}
		kind := reloc.ShapeOwn
		if slow == 0 {
			kind = b.shaper.ShapeKey(&in, &key)
		} else {
			slow--
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
func (b *binarySweeper) describe(e *fixups.Entry, code []byte, pc uint64) {
	reloc.Describe(e, b.j.arch, code, pc, &b.env, b.j.w.both)
	e.Reads, e.Writes, e.Kills = fixups.RegSet{}, fixups.RegSet{}, fixups.RegSet{}
	place(e, b.j.arch, b.j.slot)
}

func (b *binarySweeper) firstPlain(in *reloc.Insn, code []byte) {
	b.describe(&b.entry, code, in.PC)
	id, err := b.enc.Shape(&b.entry, nil)
	if err == nil {
		b.enc.SetPlain(id)
		b.plain[in.Len] = true
	}
	b.site(in, id)
}

// own writes a site that has no shape in common with others, if it is wanted.
func (b *binarySweeper) own(in *reloc.Insn, code []byte) {
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

func (b *binarySweeper) site(in *reloc.Insn, id fixups.ShapeID) {
	d := int64(0)
	if in.HasTarget() {
		d = int64(in.Target - in.PC)
	}
	b.enc.Site(in.PC, int(in.Len), id, d)
	b.total.sites++
}

func (b *binarySweeper) keyed(in *reloc.Insn, code []byte, key *[2]uint64) {
	h := (key[0] ^ key[1]*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd
	c := &b.cache[h>>(64-13)]
	d := int64(in.Target - in.PC)
	if c.key != *key || c.state == cacheEmpty {
		b.learn(c, in, code, key, d)
		return
	}
	switch {
	case c.state == cacheAnyD, c.state == cacheOneD && c.d == d:
		b.site(in, c.id)
	case c.state == cacheOneD:
		b.generalise(c, in, code)
	default:
		b.own(in, code)
	}
}

func (b *binarySweeper) learn(c *cachedShape, in *reloc.Insn, code []byte, key *[2]uint64, d int64) {
	e := new(fixups.Entry)
	b.describe(e, code, in.PC)
	id, err := b.enc.Shape(e, nil)
	*c = cachedShape{key: *key, id: id, d: d, sample: e, state: cacheOneD}
	switch {
	case err != nil:
		c.state = cacheNone
	case !in.HasTarget():
		c.state, c.sample = cacheAnyD, nil
	}
	b.site(in, id)
}

// generalise makes the shape that holds for every D from the sample and in.
func (b *binarySweeper) generalise(c *cachedShape, in *reloc.Insn, code []byte) {
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
