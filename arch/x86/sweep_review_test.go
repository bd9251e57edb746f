package x86_test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/xol-go/xol/internal/witness"
)

// review compares by mnemonic what only Zydis can be asked about, and knows the
// differences that somebody has looked into.
type review struct {
	what    string
	n, same int
	ruled   int
	differ  map[string]*finding // by mnemonic and difference
	allowed []*reviewed
}

// reviewed is a line MNEMONICS | DIFFERENCES | WHY. A mnemonic may end in *; all
// differences of an instruction must be among those of the line.
type reviewed struct {
	text        string
	names, says []string
	hits        int
}

func newReview(t *testing.T, what, file string) *review {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := &review{what: what, differ: map[string]*finding{}}
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		parts := strings.SplitN(line, " | ", 3)
		if len(parts) != 3 {
			t.Errorf("%s:%d: want MNEMONICS | DIFFERENCES | WHY", file, n)
			continue
		}
		r.allowed = append(r.allowed, &reviewed{
			text:  fmt.Sprintf("%s:%d: %s", file, n, line),
			names: strings.Fields(parts[0]), says: strings.Fields(parts[1]),
		})
	}
	return r
}

func (a *reviewed) matches(name, says string) bool {
	for _, d := range strings.Fields(says) {
		if !slices.Contains(a.says, d) {
			return false
		}
	}
	return slices.ContainsFunc(a.names, func(n string) bool {
		stem, ok := strings.CutSuffix(n, "*")
		return n == name || ok && strings.HasPrefix(name, stem)
	})
}

// note counts an instruction; says is empty if there is no difference.
func (r *review) note(name, says string, p *witness.Probe) {
	r.n++
	if says == "" {
		r.same++
		return
	}
	for _, a := range r.allowed {
		if a.matches(name, says) {
			a.hits++
			r.ruled++
			return
		}
	}
	key := name + " : " + says
	f := r.differ[key]
	if f == nil {
		f = &finding{probe: *p}
		r.differ[key] = f
	}
	f.n++
}

func (r *review) report(s *sweeper, whole bool) {
	s.t.Helper()
	unknown := 0
	keys := slices.SortedFunc(maps.Keys(r.differ), func(a, b string) int { return r.differ[b].n - r.differ[a].n })
	for i, k := range keys {
		unknown += r.differ[k].n
		if i < 400 {
			s.t.Errorf("%s of %s: %d times, as %s", r.what, k, r.differ[k].n, s.explain(&r.differ[k].probe))
		}
	}
	s.t.Logf("%s of %d instructions: %d the same, %d reviewed, %d not reviewed", r.what, r.n, r.same, r.ruled, unknown)
	for _, a := range r.allowed {
		if whole && a.hits == 0 {
			s.t.Errorf("no longer true: %s", a.text)
		}
	}
}
