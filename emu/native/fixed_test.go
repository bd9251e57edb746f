package native_test

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch/arm64"
	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/emu/native"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/reloc"
)

// Ports whose instructions have a fixed width. Where this processor is another,
// qemu-user executes them.

// fixedArch is such a port, and whose rows it is judged by.
type fixedArch interface {
	reloc.Arch
	reloc.Describer
}

func fixedArches() []fixedArch { return []fixedArch{arm64.A64, ppc64.BE, ppc64.LE} }

// oracleOf is the judge of an instruction set, or the end of the test.
func oracleOf(t testing.TB, arch string) *native.Oracle {
	t.Helper()
	if testenv.Race {
		t.Skip("waits for another program in one goroutine; runs without the race detector")
	}
	o := native.New()
	if err := o.Ready(arch); err != nil {
		testenv.Missing(t, err.Error())
	}
	return o
}

// encode is an instruction of a row: fields are drawn, reserved bits are zero. Where
// an earlier row or a hole has what is drawn, it draws again.
func encode(a fixedArch, r *reloc.Row, rnd *rand.Rand) ([]byte, bool) {
	for range 40 {
		words, n := uint64(0), 0
		for _, f := range strings.Fields(r.Pattern) {
			if f == "|" {
				continue
			}
			name, size, sized := strings.Cut(f, ":")
			width := 1
			switch {
			case sized:
				width, _ = strconv.Atoi(size)
			case strings.Trim(f, "01") == "":
				width = len(f)
			}
			bits := rnd.Uint64()
			switch v, err := strconv.ParseUint(name, 2, 64); {
			case err == nil:
				bits = v
			case strings.HasPrefix(name, "/"):
				bits = 0
			}
			words, n = words<<width|bits&(1<<width-1), n+width
		}
		var code [8]byte
		for i := range n / 8 {
			k := i
			if !a.Info().BigEndian {
				k = i&^3 | 3 - i&3
			}
			code[k] = byte(words >> (n - 8 - 8*i))
		}
		var in reloc.Insn
		if n%32 != 0 {
			panic(fmt.Sprintf("%s has %d bits", r.Pattern, n))
		}
		if a.Decode(&in, code[:n/8], 0x400000) == nil && in.Row == r.ID {
			return code[:n/8], true
		}
	}
	return nil, false
}

// judgeFixed judges an encoding and says what became of it. It returns whether the
// judge found the site undefined.
func judgeFixed(t *testing.T, w *emu.Worker, tally *emu.Tally, a fixedArch, code []byte, envs []reloc.Env, opt emu.Options) bool {
	t.Helper()
	before := [...]int{tally.Mismatches(), tally.Limits[fails], tally.Limits[undefined]}
	if _, err := w.JudgeCode(tally, a, code, envs, opt); err != nil {
		t.Fatalf("%x: %v", code, err)
	}
	for i, n := range [...]int{tally.Mismatches(), tally.Limits[fails]} {
		if n == before[i] {
			continue
		}
		var in reloc.Insn
		_ = a.Decode(&in, code, 0x400000)
		r, _ := a.RowOf(&in)
		t.Logf("%s: %x: %s : %s", [...]string{"mismatch", "fails"}[i], code, r.Pattern, r.Name)
	}
	return tally.Limits[undefined] != before[2]
}

// samples is how many encodings of a row are judged: more of one that stands for
// many instructions.
func samples(r *reloc.Row) int {
	n := 1 + 3*strings.Count(r.Pattern, "any") + strings.Count(r.Name, " ") + strings.Count(r.Name, "*")
	if sweeping() {
		n *= 20
	}
	return n
}

// fixedEnvironments are [environments], and those of code whose landing pads are
// checked.
func fixedEnvironments(a reloc.Arch, w *emu.Worker) []reloc.Env {
	if sweeping() {
		return []reloc.Env{w.Env(), w.Env()}
	}
	envs := environments(a)
	if a.Info().Guards == reloc.GuardsGCS {
		envs = append(envs, reloc.Env{Slots: reloc.SlotsNear, BTI: reloc.On}, reloc.Env{Slots: reloc.SlotsFar, Spill: true, BTI: reloc.On})
	}
	return envs
}

// TestFixedRows judges instructions of every row of the tables. What is drawn for a
// row depends on nothing but the row.
func TestFixedRows(t *testing.T) {
	found := map[string]int{}
	for _, a := range fixedArches() {
		t.Run(a.Info().Name, func(t *testing.T) {
			seed := testenv.Seed(t)
			w, err := emu.NewWorker(oracleOf(t, a.Info().Name), a.Info(), seed)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			var tally emu.Tally
			n, unknown := 0, 0
			for _, r := range a.Rows() {
				h := fnv.New64a()
				h.Write([]byte(r.Pattern))
				rnd := rand.New(rand.NewPCG(seed, h.Sum64()))
				for range samples(&r) {
					code, ok := encode(a, &r, rnd)
					if !ok {
						t.Errorf("no encoding of %s : %s", r.Pattern, r.Name)
						break
					}
					if err := w.UseArena(n % w.Arenas()); err != nil {
						t.Fatal(err)
					}
					n++
					if judgeFixed(t, w, &tally, a, code, fixedEnvironments(a, w), emu.Options{States: 8, Interrupt: 1, Placements: 1}) {
						unknown++
					}
				}
			}
			report(t, &tally)
			for name, n := range tally.Limits {
				found[a.Info().Name+" "+name] = n
			}
			found[a.Info().Name+" "+undefined] = unknown
		})
	}
	checkFixedCapability(t, found)
}

// checkFixedCapability holds what was not compared against the reviewed list, as
// [checkCapability] does: in that of x86 are rows of x86. The counts are those of
// the emulator qemu 7.2; a processor, or a later one, that has more counts less.
func checkFixedCapability(t *testing.T, found map[string]int) {
	const file = "testdata/capability_fixed.txt"
	if t.Failed() || sweeping() {
		return
	}
	if *update {
		writeCapability(t, file, found)
		return
	}
	listed := readCapability(t, file)
	for _, k := range slices.Sorted(maps.Keys(found)) {
		if found[k] > listed[k] {
			t.Errorf("%s: %d sites are not compared, %d are reviewed", k, found[k], listed[k])
		}
	}
}

// TestFixedRandom judges random encodings in random environments.
func TestFixedRandom(t *testing.T) {
	n := 300
	if sweeping() {
		n = 20000
	}
	for _, a := range fixedArches() {
		t.Run(a.Info().Name, func(t *testing.T) {
			t.Parallel()
			w, err := emu.NewWorker(oracleOf(t, a.Info().Name), a.Info(), testenv.Seed(t))
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			var tally emu.Tally
			var buf [16]byte
			for i := range n {
				if err := w.UseArena(i >> 5 % w.Arenas()); err != nil {
					t.Fatal(err)
				}
				envs := []reloc.Env{w.Env(), w.Env()}
				judgeFixed(t, w, &tally, a, w.Random(buf[:0]), envs, emu.Options{States: 12, Interrupt: 1, Placements: 1})
			}
			report(t, &tally)
		})
	}
}

// TestFixedCorpus judges every instruction of the corpus, as [TestCorpus] does.
func TestFixedCorpus(t *testing.T) {
	for _, a := range fixedArches() {
		t.Run(a.Info().Name, func(t *testing.T) {
			t.Parallel()
			w, err := emu.NewWorker(oracleOf(t, a.Info().Name), a.Info(), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			var tally emu.Tally
			for c := range corpus.ByArch(a.Info().Name) {
				off := 0
				for _, n := range c.Lens {
					judgeAt(t, w, &tally, a, c, off)
					off += n
				}
			}
			report(t, &tally)
		})
	}
}
