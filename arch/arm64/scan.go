package arm64

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/wordscan"
	"github.com/xol-go/xol/reloc"
)

var _ reloc.ScanShaper = A64

// NewScanner implements [reloc.ScanShaper].
func (a *Arch) NewScanner() reloc.Scanner {
	s := &scanPort{Arch: a}
	for row := range s.rows {
		s.rows[row] = scanRowOf(uint32(row))
	}
	for i := range s.notes {
		s.notes[i] = 1
		if row := leaves[i]; row < leafChain && s.rows[row].how == scanCopy {
			s.notes[i] = 0
		}
	}
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
	rows  [len(facts)]scanRow
	notes [1 << 11]uint8 // by bits 31 to 21 of a word: 0 if they tell that it is a copy
}

// scanRow is what is known of the words of a row.
type scanRow struct {
	how    uint8 // scan*
	target uint8 // target*
	clear  uint32
	key    uint64 // the second half of the key
}

// What is known of a row.
const (
	scanSpecial = iota // words that have a say about others, and none at all
	scanCopy
	scanKeyed  // no target
	scanTarget // a displacement in the word
	scanPage   // ADRP
	scanTrap   // BRK, of which one is a signature
	scanSlow
)

func scanRowOf(row uint32) scanRow {
	f := facts[row]
	in := reloc.Insn{Flags: reloc.InsnFlags(f >> factFlags)}
	in.Ext[1] = f >> factFamily
	fam, hazards, class := familyOf(&in), fixups.Hazards(f&factHazards), fixups.Class(f>>factClass&15)
	r := scanRow{target: uint8(f >> factTarget & 15), key: uint64(hazards) << 1}
	lsb, bits := fieldOf(fam)
	switch {
	case row == 0 || class == fixups.ClassExclusive || class == fixups.ClassPrefix || fam == famExclusive || fam == famMOVPRFX || fam == famPACM:
		r.how = scanSpecial
	case fam == famBRK:
		r.how = scanTrap
	case fam == famPlain && class == fixups.ClassPlain && hazards == 0:
		r.how = scanCopy
	case !in.HasTarget():
		r.how = scanKeyed
	case bits > 0:
		r.how, r.clear = scanTarget, (1<<bits-1)<<lsb
		if r.target == targetLit {
			r.target = target19
		}
	case fam == famADR:
		r.how, r.clear = scanTarget, maskAdr
	case fam == famADRP:
		r.how, r.clear = scanPage, maskAdr
	default:
		r.how = scanSlow
	}
	if in.HasTarget() {
		r.key |= 1
	}
	return r
}

// Notes implements [wordscan.Port].
func (s *scanPort) Notes(notes []uint32, code []byte) int {
	n := 0
	for at := 0; at+wordLen <= len(code); at += wordLen {
		w := binary.LittleEndian.Uint32(code[at:])
		notes[n] = uint32(at)
		n += int(s.notes[w>>21])
	}
	return n
}

// Word implements [wordscan.Port]. It leaves displacements to ShapeKey that may
// reach into the instruction, or to its end.
func (s *scanPort) Word(key *[2]uint64, code []byte, at int, pc uint64) (int64, wordscan.How) {
	w := binary.LittleEndian.Uint32(code[at:])
	r := &s.rows[rowOf(w)]
	key[0], key[1] = uint64(w&^r.clear), r.key
	var d int64
	switch r.how {
	case scanCopy:
		return 0, wordscan.Copy
	case scanKeyed:
		return 0, wordscan.Keyed
	case scanTarget:
		if r.target == targetADR {
			d = int64(imm21(w))
		} else {
			t := &displacements[r.target&15]
			d = int64(int32(w<<(t.left&31))>>(t.right&31)) &^ 3
		}
		const longest = 16 // bytes of a literal
		if uint64(d)+longest <= longest+wordLen {
			return 0, wordscan.Slow
		}
		return d, wordscan.Keyed
	case scanPage:
		d = int64(pc&^0xfff + imm21(w)<<12 - pc)
		if 0 <= d && d <= wordLen || d < marginP-1<<32 || d > 1<<32-marginP {
			return 0, wordscan.Slow
		}
		return d, wordscan.Keyed
	case scanTrap:
		if w != rseqSignature {
			return 0, wordscan.Keyed
		}
	case scanSlow:
		return 0, wordscan.Slow
	}
	return 0, wordscan.Special
}

// FirstLoad implements [wordscan.Port].
func (s *scanPort) FirstLoad(code []byte) int {
	const step = 4 * wordLen
	at := 0
	for ; at+step <= len(code); at += step {
		b := code[at:][:step]
		x, y := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		if likeLoad(x)|likeLoad(y) != 0 && loadIn(b) {
			break
		}
	}
	for ; at+wordLen <= len(code); at += wordLen {
		if isLoadExclusive(binary.LittleEndian.Uint32(code[at:])) {
			return at
		}
	}
	return len(code)
}

// Flow implements [wordscan.Port].
func (s *scanPort) Flow(code []byte, at int, addr uint64) (next, target int, f wordscan.Flow) {
	w := binary.LittleEndian.Uint32(code[at:])
	switch {
	case isLoadExclusive(w):
		f = wordscan.Opens
	case isStoreExclusive(w):
		return -1, -1, wordscan.Closes
	case endsWindow(w):
		return -1, -1, wordscan.Goes
	}
	win := window{start: addr, code: code}
	next, target = win.successors(at / wordLen)
	return next * wordLen, target * wordLen, f
}
