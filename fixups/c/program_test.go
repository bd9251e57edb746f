package c_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/relocgen"
	"github.com/xol-go/xol/internal/testenv"
)

// realFiles are real programs and libraries, whatever this machine has of them.
func realFiles(t *testing.T) []string {
	names := []string{"/bin/ls"}
	for _, pattern := range []string{"/lib/*/libc.so.6", "/lib*/libc.so.6"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	var list []string
	for _, name := range names {
		if _, err := os.Stat(name); err == nil {
			list = append(list, name)
		}
	}
	if list == nil {
		testenv.Missing(t, "a program")
	}
	return list
}

// TestProgram compares tables that are written by shape: some sites of every shape
// of real programs, their plans placed and run with the D of each. Package relocgen
// compares what Go reads of all sites with what is planned for each alone.
func TestProgram(t *testing.T) {
	if testenv.Race {
		t.Skip("waits for programs in C, which the race detector does not see; runs without it")
	}
	g := newGen(t, 6)
	sites := 0
	for _, name := range realFiles(t) {
		var s script
		var out, text bytes.Buffer
		io := &relocgen.Streams{In: &bytes.Buffer{}, Out: &out, Err: &text}
		if code := relocgen.Main([]string{"relocgen", "table", "-q", "--binary", "--spill", "--form=jump", "--form=emulate", name}, io); code != 0 {
			t.Logf("%s: no table: %s", name, text.Bytes()) // of another architecture, say
			continue
		}
		v := s.open(out.Bytes())
		if v.err != nil {
			t.Fatal(v.err)
		}
		met := map[uint32]int{}
		var e fixups.Entry
		for r := range v.All() {
			if met[r.Shape]++; met[r.Shape] > rounds(3) {
				continue
			}
			sites++
			v.Entry(r, &e)
			s.add(v.entry(&e), "entry %x", e.PC)
			for i := range e.Forms {
				if e.Forms[i].Reason == fixups.ReasonNone {
					s.plan(g, v, &e, i, 1)
				}
			}
		}
		playAll(t, &s)
	}
	t.Logf("%d sites", sites)
}
