package x86_test

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/internal/witness"
	"github.com/xol-go/xol/reloc"
)

// A sweep asks Decode, Zydis and LLVM about the same bytes. Where all three
// agree there is nothing to say. Every other probe must match a line of
// testdata/disagreements.txt, where somebody has looked into the manual; a line
// that nothing matches any more is a mistake too, in a whole sweep.

// full reports whether whole opcode spaces are swept (make sweep).
func full() bool { return os.Getenv("XOL_SWEEP") != "" }

const batchSize = 1 << 15

// sweeper compares in batches. It is used by one goroutine.
type sweeper struct {
	t           *testing.T
	zydis, llvm *witness.Witness
	rules       []*rule

	probes []witness.Probe
	zAns   []witness.Answer
	lAns   []witness.Answer

	count    tally
	unknown  map[string]*finding // disagreements without a line
	register *registerSweep      // nil: registers are not compared
}

// tally counts probes.
type tally struct {
	probes    int
	agree     int // all three accept and say the same
	refuse    int // all three refuse
	reviewed  int // disagreements with a line
	unknown   int // and without
	consensus int // both others say the same, and accept
	differ    int // and Decode accepts but says something else: the figure that must be 0
	refused   int // and Decode refuses
}

type finding struct {
	n     int
	probe witness.Probe
	says  string
}

func newSweeper(t *testing.T) *sweeper {
	t.Helper()
	s := &sweeper{t: t, zydis: witness.Zydis(t), llvm: witness.LLVM(t), unknown: map[string]*finding{}}
	s.rules = loadRules(t, "testdata/disagreements.txt")
	s.probes = make([]witness.Probe, 0, batchSize)
	s.zAns = make([]witness.Answer, batchSize)
	s.lAns = make([]witness.Answer, batchSize)
	return s
}

// add asks about code, of which the first n bytes exist.
func (s *sweeper) add(bits int, code *[16]byte, n int) {
	s.probes = append(s.probes, witness.Probe{Bits: uint8(bits), Len: uint8(n), Code: *code})
	if len(s.probes) == batchSize {
		s.flush()
	}
}

func (s *sweeper) flush() {
	n := len(s.probes)
	var regs []witness.Regs
	if s.register != nil {
		regs = s.register.buffer(n)
	}
	var wg sync.WaitGroup
	ask := func(w *witness.Witness, dst []witness.Answer, regs []witness.Regs) {
		defer wg.Done()
		if err := w.Check(dst[:n], regs, nil, s.probes); err != nil {
			s.t.Error(err)
		}
	}
	wg.Add(2)
	go ask(s.zydis, s.zAns, regs)
	go ask(s.llvm, s.lAns, nil)
	wg.Wait()
	if s.t.Failed() {
		s.t.FailNow()
	}
	for i := range s.probes {
		for _, ans := range []*witness.Answer{&s.zAns[i], &s.lAns[i]} {
			if s.probes[i].Bits == 32 || ans.Flags&witness.EIP != 0 {
				ans.Target &= 1<<32 - 1 // where addresses wrap
			}
		}
		in, own := decode(&s.probes[i])
		kind := s.zAns[i].Kind
		s.zAns[i].Kind = witness.Other // compared apart
		s.compare(&s.probes[i], &own, &s.zAns[i], &s.lAns[i])
		if regs != nil && own.Len != 0 && own.Len == s.zAns[i].Len {
			s.register.compare(&s.probes[i], in, &regs[i])
			s.register.class(&s.probes[i], in, kind)
		}
	}
	s.probes = s.probes[:0]
}

var arches = map[uint8]*x86.Arch{32: x86.I386, 64: x86.AMD64}

// decode returns what Decode says, in the terms of the witnesses.
func decode(p *witness.Probe) (*reloc.Insn, witness.Answer) {
	var in reloc.Insn
	a := arches[p.Bits]
	if a.Decode(&in, p.Code[:p.Len], witness.PC) != nil {
		return &in, witness.Answer{}
	}
	ans := witness.Answer{Len: in.Len}
	var buf [24]reloc.Field
	for _, f := range a.AppendFields(buf[:0], &in) {
		switch {
		case strings.HasPrefix(f.Name, "disp"):
			ans.DispOff, ans.DispSize = uint8(f.Off), uint8(f.Len)
		case strings.HasPrefix(f.Name, "rel"):
			ans.Flags |= witness.Rel
			ans.FieldOff, ans.FieldSize = uint8(f.Off), uint8(f.Len)
		}
	}
	if in.Flags&reloc.PCOperand != 0 {
		ans.Flags |= witness.RIP
		if sh := shapeOf(int(p.Bits), p.Code[:]); sh.prefix&p67 != 0 {
			ans.Flags |= witness.EIP
		}
	}
	if ans.Flags != 0 {
		ans.Target = in.Target
	}
	return &in, ans
}

// says spells who agrees with whom: one letter each for Decode, Zydis and LLVM,
// "-" for a refusal, the same letter for the same answer.
func says(own, z, l *witness.Answer) string {
	noDisp := func(a witness.Answer) witness.Answer {
		a.DispOff, a.DispSize = 0, 0 // LLVM does not say
		return a
	}
	next := byte('a')
	out := [3]byte{'-', '-', '-'}
	if own.Len != 0 {
		out[0], next = 'a', 'b'
	}
	switch {
	case z.Len == 0:
	case *z == *own:
		out[1] = out[0]
	default:
		out[1] = next
		next++
	}
	switch {
	case l.Len == 0:
	case noDisp(*own) == *l:
		out[2] = out[0]
	case noDisp(*z) == *l:
		out[2] = out[1]
	default:
		out[2] = next
	}
	return string(out[:])
}

func (s *sweeper) compare(p *witness.Probe, own, z, l *witness.Answer) {
	s.count.probes++
	verdict := says(own, z, l)
	if verdict[1] != '-' && verdict[1] == verdict[2] {
		s.count.consensus++
	}
	switch verdict {
	case "aaa":
		s.count.agree++
		return
	case "---":
		s.count.refuse++
		return
	case "abb":
		s.count.differ++
	case "-aa":
		s.count.refused++
	}
	sh := shapeOf(int(p.Bits), p.Code[:])
	for _, r := range s.rules {
		if r.matches(&sh, verdict) {
			r.hits++
			s.count.reviewed++
			return
		}
	}
	s.count.unknown++
	key := fmt.Sprintf("%s bits=%d %s map=%d op=%02x pp=%d pfx=%03x", verdict, sh.bits, sh.space, sh.opmap, sh.op, sh.pp, sh.prefix)
	f := s.unknown[key]
	if f == nil {
		f = &finding{probe: *p, says: verdict}
		s.unknown[key] = f
	}
	f.n++
}

// report logs the counts and fails for disagreements without a line, and, if
// whole, for lines without a disagreement.
func (s *sweeper) report(whole bool) {
	t := s.t
	t.Helper()
	s.flush()
	c := s.count
	t.Logf("%d probes: %d agree, %d refused by all, %d reviewed, %d not reviewed", c.probes, c.agree, c.refuse, c.reviewed, c.unknown)
	t.Logf("%d on which Zydis and LLVM agree: %d other lengths or fields, %d refused", c.consensus, c.differ, c.refused)
	if s.register != nil {
		s.register.use.report(s, whole)
		s.register.classes.report(s, whole)
	}
	for _, r := range s.rules {
		if whole && r.hits == 0 {
			t.Errorf("no longer true: %s", r.text)
		}
	}
	s.reportUnknown()
}

func (s *sweeper) reportUnknown() {
	rank := func(k string) int { return strings.Index("abb-aaa--", s.unknown[k].says) & 15 }
	keys := slices.SortedFunc(maps.Keys(s.unknown), func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), s.unknown[b].n-s.unknown[a].n, strings.Compare(a, b))
	})
	limit := 60
	if v := os.Getenv("XOL_LIMIT"); v != "" {
		limit, _ = strconv.Atoi(v)
	}
	if full() {
		limit = 300
	}
	for i, k := range keys {
		if i == limit {
			s.t.Errorf("... and %d more kinds", len(keys)-i)
			return
		}
		s.t.Errorf("%s: %d probes, as %s", k, s.unknown[k].n, s.explain(&s.unknown[k].probe))
	}
}

// explain tells what each of the three reads.
func (s *sweeper) explain(p *witness.Probe) string {
	in, own := decode(p)
	name := "-"
	if own.Len != 0 {
		row, _ := x86.AMD64.RowOf(in)
		name = row.Name
	}
	out := fmt.Sprintf("%s: %s %+v", hex.EncodeToString(p.Code[:p.Len]), name, own)
	for _, w := range []*witness.Witness{s.zydis, s.llvm} {
		ans, text := make([]witness.Answer, 1), make([]string, 1)
		if err := w.Check(ans, nil, text, []witness.Probe{*p}); err != nil {
			s.t.Fatal(err)
		}
		out += fmt.Sprintf("\n\t%s: %q %+v", w.Name, text[0], ans[0])
	}
	return out
}

// rowName is the mnemonic of a decoded instruction.
func rowName(bits uint8, in *reloc.Insn) string {
	row, _ := arches[bits].Row(in.Row)
	return row.Name
}
