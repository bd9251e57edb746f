package witness

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// Sweep compares what Decode, golang.org/x/arch and LLVM say of words. F is what a
// decoder says; the zero F refuses. Where all three agree there is nothing to say;
// anything else has to match a line of testdata/disagreements.txt.
type Sweep[F comparable] struct {
	t       *testing.T
	words   *Words
	compare func(code []byte, w Word)

	code     [][8]byte
	answers  []Word
	rules    []*rule
	findings map[string]*finding

	probes, agree, refuse, reviewed int
	both                            int // words that both others know
	differ                          int // and Decode says something else of
	refused                         int // or refuses
}

type finding struct {
	n     int
	about string
}

// rule is a line SAYS | ROWS | MNEMONICS | WHY; * stands for any.
type rule struct {
	text        string
	says        []string
	rows, names []string
	hits        int
}

// NewSweep begins a sweep. Compare is told what LLVM says of eight bytes, asks the
// others, and calls [Sweep.Judge].
func NewSweep[F comparable](t *testing.T, words *Words, compare func(code []byte, w Word)) *Sweep[F] {
	t.Helper()
	return &Sweep[F]{
		t: t, words: words, compare: compare, rules: loadRules(t, "testdata/disagreements.txt"),
		code: make([][8]byte, 0, 1<<14), answers: make([]Word, 1<<14), findings: map[string]*finding{},
	}
}

// Add asks about eight bytes, in batches.
func (s *Sweep[F]) Add(code [8]byte) {
	if s.code = append(s.code, code); len(s.code) == cap(s.code) {
		s.flush()
	}
}

func (s *Sweep[F]) flush() {
	n := len(s.code)
	if err := s.words.Check(s.answers[:n], s.code); err != nil {
		s.t.Fatal(err)
	}
	for i := range s.code {
		s.compare(s.code[i][:], s.answers[i])
	}
	s.code = s.code[:0]
}

// says spells who agrees with whom: one letter each for Decode, x/arch and LLVM,
// "-" for a refusal, the same letter for the same answer.
func says[F comparable](all [3]F) string {
	var none F
	out := [3]byte{'-', '-', '-'}
	next := byte('a')
	for i, f := range all {
		if f == none {
			continue
		}
		for k := range i {
			if all[k] == f {
				out[i] = out[k]
			}
		}
		if out[i] == '-' {
			out[i] = next
			next++
		}
	}
	return string(out[:])
}

// Judge counts what the three say of a word. The row is Decode's, the name x/arch's;
// LLVM's counts where it has one.
func (s *Sweep[F]) Judge(own, x, l F, row, name string, w Word, about func() string) {
	s.probes++
	says := says([3]F{own, x, l})
	both := says[1] != '-' && says[2] != '-'
	if both {
		s.both++
	}
	switch says {
	case "aaa":
		s.agree++
		return
	case "---":
		s.refuse++
		return
	}
	if first, _, _ := strings.Cut(w.Text, " "); first != "" {
		name = first
	}
	for _, r := range s.rules {
		if r.matches(row, name, says) {
			r.hits++
			s.reviewed++
			return
		}
	}
	switch {
	case both && says[0] == '-':
		s.refused++
	case both:
		s.differ++
	}
	s.Find(fmt.Sprintf("%s | %s | %s", says, row, name), about)
}

// Find notes something that is wrong, the first time with an example.
func (s *Sweep[F]) Find(what string, about func() string) {
	f := s.findings[what]
	if f == nil {
		f = &finding{about: about()}
		s.findings[what] = f
	}
	f.n++
}

// Report logs the counts and fails for what has no line, and in a whole sweep for
// lines that match nothing.
func (s *Sweep[F]) Report(whole bool) {
	s.flush()
	t := s.t
	t.Helper()
	t.Logf("%d words: %d agree, %d refused by all, %d reviewed", s.probes, s.agree, s.refuse, s.reviewed)
	t.Logf("%d words that both know: %d of another form here, %d refused here, without a line", s.both, s.differ, s.refused)
	for _, k := range slices.Sorted(maps.Keys(s.findings)) {
		t.Errorf("%s: %d, as %s", k, s.findings[k].n, s.findings[k].about)
	}
	for _, r := range s.rules {
		if whole && r.hits == 0 {
			t.Errorf("no longer true: %s", r.text)
		}
	}
}

func (r *rule) matches(row, name, says string) bool {
	return slices.Contains(r.says, says) && anyOf(r.rows, row) && anyOf(r.names, name)
}

func anyOf(list []string, s string) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		stem, ok := strings.CutSuffix(p, "*")
		return p == s || ok && strings.HasPrefix(s, stem)
	})
}

func loadRules(t *testing.T, file string) (rules []*rule) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		p := strings.SplitN(line, " | ", 4)
		if len(p) != 4 {
			t.Fatalf("%s:%d: want SAYS | ROWS | MNEMONICS | WHY", file, i+1)
		}
		split := func(s string) []string { // names of rows have blanks, so they are apart by semicolons
			return strings.Split(s, "; ")
		}
		rules = append(rules, &rule{text: line, says: strings.Fields(p[0]), rows: split(p[1]), names: split(p[2])})
	}
	return rules
}
