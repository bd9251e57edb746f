// Package wordscan is the [reloc.Scanner] of instruction sets whose instructions are
// words of 32 bits, or here and there two of them, and on which neighbours matter.
//
// A part of the text is walked in two rounds. The first notes which words may be no
// plain copies, without a branch that depends on them. The second finds the keys of
// those. If it meets a word that can have a say about its neighbours, the part is
// walked once more word by word, where each instruction that such a word may be near
// to is decoded and its context looked at.
package wordscan

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/scankeys"
	"github.com/xol-go/xol/reloc"
)

const wordLen = 4 // bytes

// How says what is known of a word without its neighbours.
type How uint8

// What is known.
const (
	// Copy: one word, a plain copy.
	Copy How = iota
	// Keyed: one word, which has a key.
	Keyed
	// Slow: one word. It is left to Decode, Context and ShapeKey, and no other
	// instruction's context depends on it.
	Slow
	// Special: it does not decode, has a second word, or another instruction's
	// context may depend on it.
	Special
)

// Port is what a Scanner asks of an instruction set. The code around an instruction
// is all that Context looks at, and of that the word in front of it, and what the
// load that opens an exclusive sequence is near to.
type Port interface {
	reloc.Arch
	reloc.Contexter
	reloc.Shaper
	ShapeD(in *reloc.Insn) int64

	// Notes puts the offsets of the words of code that may be other than Copy into
	// notes, which has room for one more than there are words, and returns their
	// number.
	Notes(notes []uint32, code []byte) int

	// Word says what the word at code[at:] is, whose address is pc, in the function
	// code; and of Keyed ones the key and D.
	Word(key *[2]uint64, code []byte, at int, pc uint64) (d int64, how How)

	// FirstLoad returns the offset of the first word of code that opens an exclusive
	// sequence, len(code) if there is none.
	FirstLoad(code []byte) int

	// Flow returns the offsets that may be executed behind code[at:], less than 0
	// where there is none in code, and what that does to an exclusive sequence. addr
	// is the address of code.
	Flow(code []byte, at int, addr uint64) (next, target int, f Flow)
}

// Scanner implements [reloc.Scanner].
type Scanner struct {
	text  reloc.Text
	env   reloc.Env
	in    reloc.Insn
	key   [2]uint64
	notes []uint32
	windows
	scankeys.Table
}

var _ reloc.Scanner = (*Scanner)(nil)

// New returns a Scanner for port. Loads that open exclusive sequences matter up to
// near bytes before and behind them.
func New(port Port, near int) *Scanner {
	s := &Scanner{windows: newWindows(port, near)}
	s.env.Code = &s.text
	s.Grow(10)
	return s
}

// Scan implements [reloc.Scanner].
func (s *Scanner) Scan(out *reloc.Scan, text []byte, parts []reloc.ScanPart) {
	for i := range parts {
		p := &parts[i]
		code, known := text[p.From:p.End], len(out.Sites)
		s.text = reloc.Text{Addr: p.PC - uint64(p.At-p.From), Data: code}
		p.Own, p.Stop, p.Sites = 0, p.At, 0
		if p.PC%wordLen != 0 {
			continue // no instruction is there
		}
		if p.At != p.From || !s.quiet(out, code, p) {
			out.Sites, p.Own = out.Sites[:known], 0
			s.careful(out, code, p)
		}
		p.Sites = len(out.Sites) - known
	}
}

// quiet walks a part that is all of its function. It reports whether nothing in it
// has a say about neighbours; else what it has found is void, but for keys.
func (s *Scanner) quiet(out *reloc.Scan, code []byte, p *reloc.ScanPart) bool {
	words := len(code) / wordLen
	if len(s.notes) <= words {
		s.notes = make([]uint32, 2*words+1024)
	}
	known := len(out.Sites)
	for _, at := range s.notes[:s.port.Notes(s.notes, code)] {
		d, how := s.port.Word(&s.key, code, int(at), p.PC+uint64(at))
		switch how {
		case Copy:
		case Keyed:
			out.Sites = append(out.Sites, fixups.Site{Off: at, Shape: s.number(code[at:], p.PC+uint64(at)), D: d})
		case Slow:
			if !s.site(out, p, code, int(at)) {
				return false
			}
		default:
			return false
		}
	}
	if len(out.Sites)-known < words {
		out.Copies |= 1 << wordLen
	}
	p.Stop = p.At + words*wordLen
	markWords(out.Starts, p.At, p.Stop)
	return true
}

// markWords sets a bit for each word from at to end.
func markWords(starts []uint64, at, end int) {
	for at&63 >= wordLen && at < end {
		starts[at>>6] |= 1 << (at & 63)
		at += wordLen
	}
	for ; at+64 <= end; at += 64 {
		starts[at>>6] |= 0x1111111111111111 << (at & (wordLen - 1))
	}
	for ; at < end; at += wordLen {
		starts[at>>6] |= 1 << (at & 63)
	}
}

// careful walks a part word by word. Where an exclusive sequence may be, or a
// Special word is in front, context is looked at.
func (s *Scanner) careful(out *reloc.Scan, code []byte, p *reloc.ScanPart) {
	base := p.At - p.From // sites count from here
	at, doubt := base, base > 0
	s.begin(code, base, s.text.Addr)
	for ; at+wordLen <= len(code); at += wordLen {
		pc := s.text.Addr + uint64(at)
		d, how := s.port.Word(&s.key, code, at, pc)
		special := how == Special
		if doubt || s.mayCover(code, at) {
			how = Slow
		}
		start := p.From + at
		switch how {
		case Copy:
			out.Copies |= 1 << wordLen
		case Keyed:
			out.Sites = append(out.Sites, fixups.Site{Off: uint32(at - base), Shape: s.number(code[at:], pc), D: d})
		default:
			if !s.site(out, p, code, at) {
				p.Stop = start
				return
			}
			at += int(s.in.Len) - wordLen
		}
		out.Starts[start>>6] |= 1 << (start & 63)
		doubt = special
	}
	p.Stop = p.From + at
}

// site decodes the instruction at code[at:] into s.in, looks at its context, and adds
// its site. It reports whether it decodes.
func (s *Scanner) site(out *reloc.Scan, p *reloc.ScanPart, code []byte, at int) bool {
	in := &s.in
	if s.port.Decode(in, code[at:], s.text.Addr+uint64(at)) != nil {
		return false
	}
	hazards, kind := in.Hazards, reloc.ShapeOwn
	if s.port.Context(in, &s.env) == nil && in.Hazards == hazards {
		kind = s.port.ShapeKey(in, &s.key)
	}
	in.Hazards = hazards
	site := fixups.Site{Off: uint32(at - (p.At - p.From)), Shape: reloc.ScanOwn, D: s.port.ShapeD(in)}
	switch kind {
	case reloc.ShapeCopy:
		out.Copies |= 1 << in.Len
		return true
	case reloc.ShapeKeyed:
		site.Shape = s.Key(in, &s.key)
	default:
		p.Own++
	}
	out.Sites = append(out.Sites, site)
	return true
}

// number returns the number of s.key, which is that of the instruction at the start
// of code.
func (s *Scanner) number(code []byte, pc uint64) fixups.ShapeID {
	if n := s.Lookup(&s.key); n != 0 {
		return fixups.ShapeID(n - 1)
	}
	s.port.Decode(&s.in, code, pc)
	return s.Key(&s.in, &s.key)
}
