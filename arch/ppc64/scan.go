package ppc64

import (
	"encoding/binary"
	"math/bits"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/wordscan"
	"github.com/xol-go/xol/reloc"
)

var _ reloc.ScanShaper = BE

// NewScanner implements [reloc.ScanShaper].
func (a *Arch) NewScanner() reloc.Scanner {
	s := &scanPort{Arch: a}
	for row := range s.rows {
		s.rows[row] = scanRowOf(uint32(row))
	}
	for i, row := range leaves {
		s.notes[i] = 1
		if row < chainLeaf && s.rows[row].how == scanCopy {
			s.notes[i] = 0
		}
	}
	s.notes[len(leaves)] = 1
	s.opcodes = opcodes
	s.opcodes[prefixOp] = uint32(len(leaves))
	return wordscan.New(s, windowWords*wordLen)
}

// ShapeD implements [reloc.ScanShaper].
func (a *Arch) ShapeD(in *reloc.Insn) int64 {
	if in.HasTarget() {
		return int64(in.Target - in.PC)
	}
	return 0
}

// scanPort is what a scanner asks.
type scanPort struct {
	*Arch
	rows    [len(facts)]scanRow
	opcodes [64]uint32
	notes   [len(leaves) + 1]uint8 // by leaf, and of prefixes: 0 if all of its words are copies
}

// scanRow is what is known of the words of a row.
type scanRow struct {
	how   uint8 // scan*
	clear uint32
	key   uint64 // the second half of the key
}

// What is known of a row.
const (
	scanSpecial = iota // words that have a say about others, and none at all
	scanCopy
	scanKeyed // no target
	scanB     // 24 bits of displacement, if AA is not set
	scanBC    // 14 bits
	scanTrap  // one may be a signature
	scanSlow
)

func scanRowOf(row uint32) scanRow {
	f, t := facts[row], &rowTexts[row]
	in := reloc.Insn{Flags: reloc.InsnFlags(f >> factFlags)}
	in.Ext[1] = f >> factFamily
	fam, hazards, class := familyOf(&in), fixups.Hazards(f&factHazards), fixups.Class(f>>factClass&15)
	r := scanRow{key: uint64(hazards) << 2}
	plain := fam == famPlain && class == fixups.ClassPlain && hazards == 0
	switch {
	case row == 0 || t.pair || class == fixups.ClassExclusive || class == fixups.ClassPrefix || fam == famExclusive:
		r.how = scanSpecial
	case fam == famTrap:
		r.how = scanTrap
	case plain && mayMoveSPR(t):
		r.how = scanSlow
		if in.Ext[0] = t.value; t.mask&movesMask == movesMask && movesSPR(&in) {
			r.how = scanKeyed
		}
	case plain:
		r.how = scanCopy
	case !in.HasTarget():
		r.how = scanKeyed
	case fam == famB:
		r.how, r.clear, r.key = scanB, fieldLI, r.key|1
	case fam == famBC:
		r.how, r.clear, r.key = scanBC, fieldBD, r.key|1
	default:
		r.how = scanSlow
	}
	return r
}

// movesMask are the bits that movesSPR looks at.
const movesMask = 0xfc0003fe

// mayMoveSPR reports whether movesSPR holds for a word of the row.
func mayMoveSPR(t *rowText) bool {
	fixed := t.mask & movesMask
	return (t.value^(wordMTSPR&^1))&fixed == 0 || (t.value^(wordMFSPR&^1))&fixed == 0
}

// Notes implements [wordscan.Port].
func (s *scanPort) Notes(notes []uint32, code []byte) int {
	n := 0
	for at := 0; at+wordLen <= len(code); at += wordLen {
		w := binary.LittleEndian.Uint32(code[at:])
		if s.big {
			w = bits.ReverseBytes32(w)
		}
		o := s.opcodes[w>>26]
		notes[n] = uint32(at)
		n += int(s.notes[o&0xffff+w&(o>>16)])
	}
	return n
}

// Word implements [wordscan.Port]. It leaves what is not a displacement, or leads
// into the instruction or to its end, to ShapeKey, and calls inside the function to
// Context, which looks at what is called.
func (s *scanPort) Word(key *[2]uint64, code []byte, at int, _ uint64) (int64, wordscan.How) {
	w := s.word(code[at:])
	if w>>26 == prefixOp {
		return 0, wordscan.Special
	}
	r := &s.rows[rowOf(w)]
	key[0], key[1] = uint64(w&^r.clear), r.key
	var d int64
	switch r.how {
	case scanCopy:
		return 0, wordscan.Copy
	case scanKeyed:
		return 0, wordscan.Keyed
	case scanB:
		d = int64(int32(w<<6&^0xff)) >> 6
	case scanBC:
		d = int64(int16(w &^ 3))
	case scanTrap:
		if w != rseqSignature {
			return 0, wordscan.Keyed
		}
		return 0, wordscan.Special
	case scanSlow:
		return 0, wordscan.Slow
	default:
		return 0, wordscan.Special
	}
	const absolute, link = 2, 1
	if w&absolute != 0 || uint64(d) <= wordLen || w&link != 0 && uint64(int64(at)+d) < uint64(len(code)) {
		return 0, wordscan.Slow
	}
	return d, wordscan.Keyed
}

// FirstLoad implements [wordscan.Port].
func (s *scanPort) FirstLoad(code []byte) int {
	const step = 4 * wordLen
	at := 0
	for ; at+step <= len(code); at += step {
		b := code[at:][:step]
		x, y := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		if s.big {
			x, y = bits.ReverseBytes64(x), bits.ReverseBytes64(y)
		}
		if likeReserve(x)|likeReserve(y) != 0 && s.reserveIn(b) {
			break
		}
	}
	for ; at+wordLen <= len(code); at += wordLen {
		if isReserve(s.word(code[at:])) {
			return at
		}
	}
	return len(code)
}

// Flow implements [wordscan.Port].
func (s *scanPort) Flow(code []byte, at int, addr uint64) (next, target int, f wordscan.Flow) {
	switch w := s.word(code[at:]); {
	case isReserve(w):
		f = wordscan.Opens
	case isStore(w):
		return -1, -1, wordscan.Closes
	}
	win := window{arch: s.Arch, start: addr, code: code}
	next, target = win.successors(at / wordLen)
	return next * wordLen, target * wordLen, f
}
