package native_test

import (
	"fmt"
	"maps"
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
func encode(a fixedArch, r *reloc.Row, pick func(n int) int) ([]byte, bool) {
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
			bits := uint64(pick(1<<16))<<16 | uint64(pick(1<<16))
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

// fixedTally judges an encoding and says what became of it.
func judgeFixed(t *testing.T, w *emu.Worker, tally *emu.Tally, a fixedArch, code []byte, envs []reloc.Env, opt emu.Options) {
	t.Helper()
	before := [...]int{tally.Mismatches(), tally.Limits[undefined], tally.Limits[fails]}
	if _, err := w.JudgeCode(tally, a, code, envs, opt); err != nil {
		t.Fatalf("%x: %v", code, err)
	}
	for i, n := range [...]int{tally.Mismatches(), tally.Limits[undefined], tally.Limits[fails]} {
		if n == before[i] {
			continue
		}
		var in reloc.Insn
		_ = a.Decode(&in, code, 0x400000)
		r, _ := a.RowOf(&in)
		t.Logf("%s: %x: %s : %s", [...]string{"mismatch", "undefined", "fails"}[i], code, r.Pattern, r.Name)
	}
}

// TestFixedRows judges instructions of every row of the tables.
func TestFixedRows(t *testing.T) {
	found := map[string]int{}
	for _, a := range fixedArches() {
		t.Run(a.Info().Name, func(t *testing.T) {
			w, err := emu.NewWorker(oracleOf(t, a.Info().Name), a.Info(), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			var tally emu.Tally
			n, each := 0, 1
			if sweeping() {
				each = 20
			}
			for _, r := range a.Rows() {
				// What stands for many instructions has more of them judged.
				for range each * (1 + 3*strings.Count(r.Pattern, "any") + strings.Count(r.Name, " ") + strings.Count(r.Name, "*")) {
					code, ok := encode(a, &r, w.Pick)
					if !ok {
						t.Errorf("no encoding of %s : %s", r.Pattern, r.Name)
						break
					}
					if err := w.UseArena(n % w.Arenas()); err != nil {
						t.Fatal(err)
					}
					n++
					envs := []reloc.Env{w.Env(), w.Env()}
					judgeFixed(t, w, &tally, a, code, envs, emu.Options{States: 10, Interrupt: 1, Placements: 1})
				}
			}
			report(t, &tally)
			for name, n := range tally.Limits {
				found[a.Info().Name+" "+name] = n
			}
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
