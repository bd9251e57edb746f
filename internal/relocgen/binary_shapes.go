package relocgen

import (
	"bytes"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// learner makes shapes for the writer, into the table itself: in the order in which
// sites of the table first have them, so that the table is the same however many
// workers there are.
type learner struct {
	sw     sweeper
	env    reloc.Env        // without code: a key has no neighbours
	text   reloc.Text       // nothing but a sample, where the ISA asks for its neighbours
	shaper reloc.Shaper     // nil: there are no keys
	scans  reloc.ScanShaper // shaper, if it is one
	enc    *fixups.Encoder
	keys   map[[2]uint64]fixups.ShapeID // ScanOwn: the sites have none in common
	copies uint32                       // lengths of copies whose shape is made
	code   []byte
	other  fixups.Entry
}

func newLearner(j *job, enc *fixups.Encoder) *learner {
	l := &learner{enc: enc, keys: map[[2]uint64]fixups.ShapeID{}}
	l.shaper, _ = j.arch.(reloc.Shaper)
	l.scans, _ = j.arch.(reloc.ScanShaper)
	l.sw.init(j)
	l.env = l.sw.env
	l.env.Code = nil
	return l
}

// copyOf makes the shape of plain copies as long as in.
func (l *learner) copyOf(in *reloc.Insn) error {
	if l.copies>>in.Len&1 != 0 {
		return nil
	}
	l.copies |= 1 << in.Len
	l.describe(&l.sw.entry, in.Raw(), in.PC)
	id, err := l.enc.Shape(&l.sw.entry, nil)
	if err == nil {
		l.enc.SetPlain(id)
	}
	return err
}

// key returns the shape of a key, ScanOwn if its sites have none in common. It
// depends on the key alone, not on the site at which a worker met it first.
func (l *learner) key(k *reloc.ScanKey) fixups.ShapeID {
	id, ok := l.keys[k.Key]
	if !ok {
		id = l.make(k)
		l.keys[k.Key] = id
	}
	return id
}

func (l *learner) make(k *reloc.ScanKey) (id fixups.ShapeID) {
	var err error
	in := &k.Insn
	varies := in.HasTarget()
	if l.scans != nil && !varies {
		l.code = l.shaper.Retarget(l.code[:0], in, l.scans.ShapeD(in)+1)
		varies = !bytes.Equal(l.code, in.Raw())
	}
	switch {
	case !varies:
		l.describe(&l.sw.entry, in.Raw(), in.PC)
		id, err = l.enc.Shape(&l.sw.entry, nil)
	case !l.sample(&l.sw.entry, k, sampleD) || !l.sample(&l.other, k, -sampleD):
		return reloc.ScanOwn
	case in.HasTarget():
		id, err = l.enc.Shape(&l.sw.entry, &l.other)
	default:
		id, err = l.enc.ShapeOf(&l.sw.entry, &l.other, sampleD, -sampleD)
	}
	if err != nil {
		return reloc.ScanOwn
	}
	return id
}

// sampleD is the D of one sample of a shape, and -sampleD that of the other: as far
// from the site as the shortest branches go, to be out of the way of what is
// between the fields of a slot's code.
const sampleD = 100

// sample describes the instruction of a key from such an address that its target
// is the same, at distance d; without a target, with d in place of its D. It reports
// whether it has the same key.
func (l *learner) sample(e *fixups.Entry, k *reloc.ScanKey, d int64) bool {
	l.code = l.shaper.Retarget(l.code[:0], &k.Insn, d)
	pc := k.Insn.PC
	if k.Insn.HasTarget() {
		pc = k.Insn.Target - uint64(d)
	}
	var in reloc.Insn
	var key [2]uint64
	if reloc.DecodeFor(&in, l.sw.j.arch, l.code, pc, &l.env) != nil || int(in.Len) != len(l.code) || l.shaper.ShapeKey(&in, &key) != reloc.ShapeKeyed || key != k.Key {
		return false
	}
	l.describe(e, l.code, pc)
	return true
}

// describe makes the entry of a sample. Where neighbours matter it is told that
// there are none.
func (l *learner) describe(e *fixups.Entry, code []byte, pc uint64) {
	if l.sw.j.arch.Info().NeedsContext {
		l.text = reloc.Text{Addr: pc, Data: code}
		l.env.Code = &l.text
	}
	l.sw.describe(e, code, pc, &l.env)
}

// pieceShapes are what the numbers of a piece's sites mean.
type pieceShapes struct {
	worker *binaryWorker
	keys   []reloc.ScanKey // by number
	copies []reloc.Insn    // one of each new length of plain copies
	own    *fixups.Shapes  // those of sites that share none
}

// numbers are the table's numbers of a worker's keys and shapes plus 1, 0 where the
// table has not used them yet.
type numbers struct{ key, own []fixups.ShapeID }

// number gives the sites of a piece the numbers that their shapes have in the
// table.
func (b *binaryWriter) number(p *binaryPiece) error {
	t := &p.shapes
	for i := range t.copies {
		if err := b.learner.copyOf(&t.copies[i]); err != nil {
			return err
		}
	}
	n := b.numbers[t.worker]
	if n == nil {
		n = &numbers{}
		b.numbers[t.worker] = n
	}
	for len(n.key) < len(t.keys) {
		n.key = append(n.key, 0)
	}
	if t.own != nil {
		for len(n.own) < t.own.Len() {
			n.own = append(n.own, 0)
		}
	}
	for i := range p.runs {
		r := &p.runs[i]
		if err := b.numberRun(p, n, &r.Extent, p.sites[r.sites[0]:r.sites[1]]); err != nil {
			return err
		}
	}
	return nil
}

func (b *binaryWriter) numberRun(p *binaryPiece, n *numbers, x *fixups.Extent, sites []fixups.Site) error {
	known := n.key
	for i := range sites {
		s := &sites[i]
		if uint(s.Shape) < uint(len(known)) {
			if id := known[s.Shape]; id != 0 {
				s.Shape = id - 1
				continue
			}
		}
		id, err := b.newNumber(p, n, x, s)
		if err != nil {
			return err
		}
		s.Shape = id
	}
	return nil
}

// newNumber is numberRun for a site whose shape the table may not have yet.
func (b *binaryWriter) newNumber(p *binaryPiece, n *numbers, x *fixups.Extent, s *fixups.Site) (fixups.ShapeID, error) {
	if s.Shape&ownShape != 0 {
		id := s.Shape &^ ownShape
		if n.own[id] == 0 {
			n.own[id] = b.enc.Adopt(p.shapes.own, id) + 1
		}
		return n.own[id] - 1, nil
	}
	id := b.learner.key(&p.shapes.keys[s.Shape])
	if id != reloc.ScanOwn {
		n.key[s.Shape] = id + 1
		return id, nil
	}
	sw := &b.learner.sw
	sw.text = reloc.Text{Addr: x.Addr, Data: x.Code}
	sw.describe(&sw.entry, x.Code[s.Off:], x.Addr+uint64(s.Off), &sw.env)
	return b.enc.Shape(&sw.entry, nil)
}
