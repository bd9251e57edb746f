package arch_test

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/arch/arm64"
	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/reloc"
	"github.com/xol-go/xol/reloc/reloctest"
)

func TestLists(t *testing.T) {
	var names []string
	for a := range arch.All() {
		i := a.Info()
		if slices.Contains(names, i.Name) {
			t.Errorf("%s twice", i.Name)
		}
		names = append(names, i.Name)
		if b, ok := arch.ByName(i.Name); !ok || b != a {
			t.Errorf("ByName(%s) = %v, %t", i.Name, b, ok)
		}
		if b, ok := arch.ByELF(elf.Machine(i.ELF), i.BigEndian); !ok || b != a {
			t.Errorf("ByELF(%d) = %v, %t", i.ELF, b, ok)
		}
		if b, ok := arch.ByELF(elf.Machine(i.ELF), !i.BigEndian); ok && b == a {
			t.Errorf("ByELF(%d) ignores the byte order", i.ELF)
		}
	}
	for range arch.All() {
		break // an iterator may be left
	}
	if _, ok := arch.ByName("vax"); ok {
		t.Error("there is a port called vax")
	}
	if _, ok := arch.ByELF(elf.EM_VAX, false); ok {
		t.Error("there is a port for EM_VAX")
	}
	for name, want := range map[string]reloc.Arch{"amd64": x86.AMD64, "386": x86.I386, "arm64": arm64.A64, "ppc64": ppc64.BE, "ppc64le": ppc64.LE} {
		if a, _ := arch.ByName(name); a != want {
			t.Errorf("ByName(%s) = %v", name, a)
		}
	}
}

// TestConformance runs the suite on every port, over the cases and rows of the
// corpus and random encodings.
func TestConformance(t *testing.T) {
	for a := range arch.All() {
		name := a.Info().Name
		t.Run(name, func(t *testing.T) {
			reloctest.TestArch(t, a, &reloctest.Options{Inputs: thin(cases(name), 4)})
		})
	}
}

// TestRows decodes the case of every row as the suite does, at all addresses and
// cut at every length, and demands that they are all there.
func TestRows(t *testing.T) {
	for a := range arch.All() {
		name := a.Info().Name
		t.Run(name, func(t *testing.T) {
			reloctest.TestArch(t, a, &reloctest.Options{
				Inputs: thin(rows(name), 8), Random: -1, AllRows: !short(), SkipRow: otherMode(name),
				Envs: []reloc.Env{{}, {Slots: reloc.SlotsNear, Spill: true}},
			})
		})
	}
}

// short reports whether a part of the inputs is enough: other byte orders and word
// sizes run under an emulator, and the race detector takes ten times as long for
// what it sees in any part.
func short() bool { return testing.Short() || testenv.Race }

// thin keeps a part of the inputs where tests are to be short.
func thin(in [][]byte, part int) [][]byte {
	if !short() {
		return in
	}
	var out [][]byte
	for i := 0; i < len(in); i += part {
		out = append(out, in[i])
	}
	return out
}

func cases(name string) (in [][]byte) {
	for c := range corpus.ByArch(name) {
		for off := 0; off < len(c.Bytes); off += max(c.LenAt(off), 1) {
			in = append(in, c.Bytes[off:])
		}
	}
	return in
}

func rows(name string) (in [][]byte) {
	for r := range corpus.Rows() {
		if slices.Contains(r.Modes, name) {
			in = append(in, r.Bytes)
		}
	}
	return in
}

// otherMode excepts the rows that a port's table has for its other mode.
func otherMode(name string) func(reloc.Row) bool {
	word := map[string]string{"amd64": "m32", "386": "m64"}[name]
	return func(r reloc.Row) bool { return slices.Contains(strings.Fields(r.Pattern), word) }
}
