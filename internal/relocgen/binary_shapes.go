package relocgen

import (
	"sync"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// learner makes shapes, for one worker or for all. In which order it makes them
// depends on the workers, and so do its numbers of them; the writer gives them
// numbers of its own, in the order in which the table uses them.
type learner struct {
	mu     sync.Mutex
	sw     sweeper
	env    reloc.Env // without code: a key has no neighbours
	shaper reloc.Shaper
	enc    *fixups.Encoder
	shapes map[[2]uint64]fixups.ShapeID // by key; ScanOwn: none in common
	copies [256]fixups.ShapeID
	made   uint32 // lengths in copies
	code   []byte
	other  fixups.Entry
	last   *fixups.Shapes // what enc had when it had lastLen shapes
	count  int
}

func newLearner(j *job, shaper reloc.Shaper) *learner {
	l := &learner{shaper: shaper, enc: fixups.NewEncoder(&j.meta), shapes: map[[2]uint64]fixups.ShapeID{}}
	l.sw.init(j)
	l.env = l.sw.env
	l.env.Code = nil
	return l
}

// shape returns the shape of e alone.
func (l *learner) shape(e *fixups.Entry) (fixups.ShapeID, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.enc.Shape(e, nil)
}

// copyOf returns the shape of plain copies as long as in.
func (l *learner) copyOf(in *reloc.Insn) (fixups.ShapeID, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.made>>in.Len&1 == 0 {
		l.sw.describe(&l.sw.entry, in.Raw(), in.PC, &l.env)
		l.copies[in.Len], err = l.enc.Shape(&l.sw.entry, nil)
		l.made |= 1 << in.Len
	}
	return l.copies[in.Len], err
}

// key returns the shape of a key, ScanOwn if its sites have none in common. It
// depends on the key alone, not on the site at which a worker met it first.
func (l *learner) key(k *reloc.ScanKey) fixups.ShapeID {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, ok := l.shapes[k.Key]
	if k.Insn.Class == fixups.ClassCall && l.env.Return == fixups.ReturnsSlot {
		return reloc.ScanOwn // the callee has a say
	}
	if !ok {
		id = l.make(k)
		l.shapes[k.Key] = id
	}
	return id
}

func (l *learner) make(k *reloc.ScanKey) fixups.ShapeID {
	var second *fixups.Entry
	in := &k.Insn
	if !in.HasTarget() {
		l.sw.describe(&l.sw.entry, in.Raw(), in.PC, &l.env)
	} else {
		if !l.sample(&l.sw.entry, k, sampleD) || !l.sample(&l.other, k, -sampleD) {
			return reloc.ScanOwn
		}
		second = &l.other
	}
	id, err := l.enc.Shape(&l.sw.entry, second)
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
// is the same, at distance d. It reports whether it has the same key there.
func (l *learner) sample(e *fixups.Entry, k *reloc.ScanKey, d int64) bool {
	l.code = l.shaper.Retarget(l.code[:0], &k.Insn, d)
	pc := k.Insn.Target - uint64(d)
	var in reloc.Insn
	var key [2]uint64
	if reloc.DecodeFor(&in, l.sw.j.arch, l.code, pc, &l.env) != nil || int(in.Len) != len(l.code) || l.shaper.ShapeKey(&in, &key) != reloc.ShapeKeyed || key != k.Key {
		return false
	}
	l.sw.describe(e, l.code, pc, &l.env)
	return true
}

// snapshot returns the shapes made so far.
func (l *learner) snapshot() *fixups.Shapes {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.enc.ShapeCount(); l.last == nil || n != l.count {
		l.last, l.count = l.enc.Shapes(), n
	}
	return l.last
}

// workerShapes are the shapes that a worker has met.
type workerShapes struct {
	learner *learner
	scanner reloc.Scanner
	byKey   []fixups.ShapeID // by number of the key
	anyOwn  bool             // some keys have no shape
	copies  uint32           // lengths in byLen
	byLen   [32]fixups.ShapeID
}

// learnCopy makes the shape of plain copies as long as in.
func (w *workerShapes) learnCopy(in *reloc.Insn) (err error) {
	w.byLen[in.Len], err = w.learner.copyOf(in)
	w.copies |= 1 << in.Len
	return err
}

// learnKeys makes the shapes of the keys that are new.
func (w *workerShapes) learnKeys() error {
	keys := w.scanner.Keys()
	for i := len(w.byKey); i < len(keys); i++ {
		id := w.learner.key(&keys[i])
		w.byKey = append(w.byKey, id)
		w.anyOwn = w.anyOwn || id == reloc.ScanOwn
	}
	return nil
}

// isOwn reports whether sites with this number of a key have no shape in common.
func (w *workerShapes) isOwn(n fixups.ShapeID) bool { return w.anyOwn && w.byKey[n] == reloc.ScanOwn }

// shapeTable says which shapes the sites of a piece have.
type shapeTable struct {
	of     *workerShapes
	shapes *fixups.Shapes     // what the numbers below count
	byKey  []fixups.ShapeID   // as the worker had it
	copies uint32             // lengths of the piece's plain copies
	byLen  [32]fixups.ShapeID // by length
}

// table fills t. What is behind the ends of its slices may change, and they are
// used up to there only.
func (w *workerShapes) table(t *shapeTable, copies uint32) {
	*t = shapeTable{w, w.learner.snapshot(), w.byKey, copies, w.byLen}
}

// adopted are the writer's numbers of the shapes of a learner, plus 1, 0 where the
// table has not used them yet.
type adopted struct {
	byKey map[*workerShapes][]fixups.ShapeID // the same by a worker's numbers of keys
	byID  map[fixups.ShapeID]fixups.ShapeID
}

// adopt gives the sites of a piece the numbers that their shapes have in the table.
// A shape gets its number when the first site of the table has it, so the table is
// the same however many workers there are.
func (b *binaryWriter) adopt(p *binaryPiece) {
	t := &p.shapes
	if b.adopted == nil {
		b.adopted = map[*learner]*adopted{}
	}
	a := b.adopted[t.of.learner]
	if a == nil {
		a = &adopted{map[*workerShapes][]fixups.ShapeID{}, map[fixups.ShapeID]fixups.ShapeID{}}
		b.adopted[t.of.learner] = a
	}
	for n := range t.byLen {
		if t.copies>>n&1 != 0 {
			b.enc.SetPlain(b.number(a, t, t.byLen[n]))
		}
	}
	known := a.byKey[t.of]
	for len(known) < len(t.byKey) {
		known = append(known, 0)
	}
	a.byKey[t.of] = known
	for i := range p.sites {
		s := &p.sites[i]
		if s.Shape&ownShape != 0 {
			s.Shape = b.number(a, t, s.Shape&^ownShape)
			continue
		}
		id := known[s.Shape]
		if id == 0 {
			id = b.number(a, t, t.byKey[s.Shape]) + 1
			known[s.Shape] = id
		}
		s.Shape = id - 1
	}
}

// number is the table's number of shape id of t.
func (b *binaryWriter) number(a *adopted, t *shapeTable, id fixups.ShapeID) fixups.ShapeID {
	n, ok := a.byID[id]
	if !ok {
		n = b.enc.Adopt(t.shapes, id)
		a.byID[id] = n
	}
	return n
}
