package c_test

import (
	"testing"

	"github.com/xol-go/xol/internal/testenv"
)

// playAll gives a script to every build, in short mode to those of the host
// alone. It returns the rules that tables were refused for.
func playAll(t *testing.T, s *script) (rules map[string]bool) {
	for _, list := range [][]target{hosts, crosses} {
		for i := range list {
			t.Run(list[i].name, func(t *testing.T) {
				if list[i].exec != "" && testing.Short() {
					t.Skip("short")
				}
				rules = list[i].play(t, s)
			})
		}
	}
	return rules
}

// rounds is how often a test repeats itself: less in short mode, in which the
// same tests run with Go's side on slower machines.
func rounds(n int) int {
	if testing.Short() {
		return (n + 7) / 8
	}
	return n
}

// TestRandom compares random tables.
func TestRandom(t *testing.T) {
	if testenv.Race {
		t.Skip("waits for programs in C, which the race detector does not see; runs without it")
	}
	g := newGen(t, 1)
	var s script
	for range rounds(60) {
		n := g.IntN(30)
		if g.IntN(8) == 0 {
			n = 300 // many words of starts
		}
		v := s.open(g.table(t, n))
		if v.err != nil {
			t.Fatal(v.err)
		}
		s.all(g, v, 3)
	}
	playAll(t, &s)
}
