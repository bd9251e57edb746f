package native_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/emu/native"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/reloc"
)

var update = flag.Bool("update", false, "rewrite testdata/capability.txt")

// arches are the ports that are judged.
func arches() []reloc.Arch { return []reloc.Arch{x86.AMD64, x86.I386} }

// oracle is the judge, or the end of the test.
func oracle(t testing.TB) *native.Oracle {
	t.Helper()
	if testenv.Race && t.Name() != "TestRandom" {
		t.Skip("waits for another program in one goroutine; runs without the race detector")
	}
	o := native.New()
	if _, err := o.Features(); err != nil {
		testenv.Missing(t, err.Error())
	}
	return o
}

// sweeping reports whether everything is judged, not a part.
func sweeping() bool { return os.Getenv("XOL_SWEEP") != "" }

// environments are the kinds of caller for whom plans are made; the first few of
// each reach are enough to see every form.
func environments(a reloc.Arch) []reloc.Env {
	near, far := reloc.SlotsNear, reloc.SlotsFar
	envs := []reloc.Env{
		{Slots: near},
		{Slots: near, Spill: true, Stop: fixups.StopTrap, Return: fixups.ReturnsSlot},
	}
	if !a.Info().NearOnly {
		envs = append(envs,
			reloc.Env{Slots: far, Spill: true},
			reloc.Env{Slots: far, Data: true, AllowLost: true, Vendor: reloc.VendorAMD})
	}
	if !sweeping() {
		return envs
	}
	envs = append(envs,
		reloc.Env{Slots: near, Return: fixups.ReturnsSlot},
		reloc.Env{Slots: near, Data: true, Short: true},
		reloc.Env{Slots: near, Biased: true, SHSTK: reloc.On, Vendor: reloc.VendorAMD})
	if a.Info().NearOnly {
		return envs
	}
	return append(envs,
		reloc.Env{Slots: far},
		reloc.Env{Slots: far, Spill: true, Short: true, Lang: reloc.LangGo},
		reloc.Env{Slots: far, Spill: true, ExecuteOnly: true, Return: fixups.ReturnsSlot, SHSTK: reloc.Off},
		reloc.Env{Slots: far, Spill: true, Biased: true, IBT: reloc.On, Zone: reloc.Bytes{N: 256, Set: true}},
		reloc.Env{Slots: far, Dead: fixups.MakeRegSet(2, 8, 13), Stop: fixups.StopTrap})
}

// thorough is how rows and cases are judged.
func thorough() emu.Options {
	if sweeping() {
		return emu.Options{States: 10, Interrupt: 1, Placements: 3}
	}
	return emu.Options{States: 6, Interrupt: 1, Placements: 1}
}

// variants of a row's encoding: the operand as the row's case has it, which is
// [rax] or [eax], and relative to pc or, in 32-bit mode, at an address. What is
// not an instruction of that length falls out.
func variants(a reloc.Arch, code []byte) [][]byte {
	list := [][]byte{code}
	for at := 1; at+1 < len(code) && at < 7; at++ {
		if code[at] != 0 && code[at]&0xc7 != 0 {
			continue
		}
		v := slices.Concat(code[:at], []byte{code[at] | 5, 0, 0, 0, 0}, code[at+1:])
		var in reloc.Insn
		if a.Decode(&in, v, 0x400000) == nil && int(in.Len) == len(v) {
			list = append(list, v)
			break
		}
	}
	return list
}

// TestRows judges every row of the x86 tables that has a plan, in all forms, near
// and far, with sites in user space and low, and slots from the bottom to the top
// of what a process has.
func TestRows(t *testing.T) {
	o := oracle(t)
	found := map[string]int{}
	for _, a := range arches() {
		t.Run(a.Info().Name, func(t *testing.T) {
			w, err := emu.NewWorker(o, a.Info(), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			var tally emu.Tally
			envs, n := environments(a), 0
			for r := range corpus.X86Rows() {
				if !slices.Contains(r.Modes, a.Info().Name) {
					continue
				}
				for _, code := range variants(a, r.Bytes) {
					judge(t, w, &tally, a, code, envs, n, r.Pattern+" "+r.Name)
					n++
				}
			}
			for _, code := range gathers() {
				judge(t, w, &tally, a, code, envs, n, "gather")
				n++
			}
			report(t, &tally)
			for name, n := range tally.Limits {
				found[a.Info().Name+" "+name] = n
			}
		})
	}
	checkCapability(t, o, found)
}

// judge judges one encoding; where its site stands alternates.
func judge(t *testing.T, w *emu.Worker, tally *emu.Tally, a reloc.Arch, code []byte, envs []reloc.Env, n int, name string) {
	t.Helper()
	arenas := []int{n % w.Arenas()}
	if sweeping() {
		arenas = arenas[:0]
		for i := range w.Arenas() {
			arenas = append(arenas, i)
		}
	}
	for _, i := range arenas {
		if err := w.UseArena(i); err != nil {
			t.Fatal(err)
		}
		undefined, wrong := tally.Limits[undefined], tally.Mismatches()
		if _, err := w.JudgeCode(tally, a, code, envs, thorough()); err != nil {
			t.Fatalf("%s %x: %v", name, code, err)
		}
		if tally.Limits["undefined-in-oracle"] > undefined {
			t.Logf("%s %s %x is undefined", a.Info().Name, name, code)
		}
		if n := tally.Mismatches() - wrong; n > 0 {
			t.Errorf("%s %s %x: %d mismatches", a.Info().Name, name, code, n)
		}
	}
}

// gathers are the rows of gathers with three different registers: with fewer,
// as their shortest encodings have it, they are undefined.
func gathers() [][]byte {
	var list [][]byte
	for op := byte(0x90); op < 0x94; op++ {
		for w := byte(0); w < 2; w++ {
			for l := byte(0); l < 2; l++ {
				// vgather [rbx + xmm3*4 + 16], mask xmm1, destination xmm2
				list = append(list, []byte{0xc4, 0xe2, 0x71 | w<<7 | l<<2, op, 0x54, 0x9b, 16})
			}
		}
	}
	return list
}

const (
	undefined = "undefined-in-oracle"
	fails     = "oracle-fails"
	halts     = "oracle-halts"
)

// report logs a tally and fails for what it found.
func report(t *testing.T, tally *emu.Tally) {
	t.Helper()
	var b strings.Builder
	_, _ = tally.WriteTo(&b)
	t.Log("\n" + b.String())
	for _, d := range tally.Diffs {
		t.Errorf("%v", d)
	}
	for _, name := range []string{fails, halts} {
		if n := tally.Limits[name]; n > 0 {
			t.Errorf("%s: %d plans", name, n)
		}
	}
	if tally.States == 0 {
		t.Error("nothing was compared")
	}
}

// checkCapability holds the rows of the capability table that were met, and how
// many sites each kept from being compared, against the reviewed list. The counts
// of features are those of a machine that lacks them all, so a machine that has
// more counts less; one that lacks a feature which is not listed is another
// machine, not a mistake, and is said. Run with -update on a machine of level 3
// after looking at what grew.
func checkCapability(t *testing.T, o *native.Oracle, found map[string]int) {
	const file = "testdata/capability.txt"
	if t.Failed() || sweeping() {
		return
	}
	if *update {
		writeCapability(t, file, found)
		return
	}
	listed := readCapability(t, file)
	f, err := o.Features()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("absent on this machine: %v", f.Absent())
	for _, k := range slices.Sorted(maps.Keys(found)) {
		_, known := listed[k]
		switch {
		case found[k] <= listed[k]:
		case strings.Contains(k, " absent:") && !known:
			t.Logf("%s: %d sites are not compared here", k, found[k])
		case strings.HasSuffix(k, undefined) && !f.Reference():
			t.Logf("%s: %d plans; a feature that is missing here has no row", k, found[k])
		default:
			t.Errorf("%s: %d sites are not compared, %d are reviewed", k, found[k], listed[k])
		}
	}
}

// writeCapability and readCapability are the form of reviewed lists.
func writeCapability(t *testing.T, file string, found map[string]int) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Sites of the rows' cases by row of the capability table: arch, row, sites.\n")
	for _, k := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&b, "%s %d\n", k, found[k])
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readCapability(t *testing.T, file string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var arch, row string
		var n int
		if _, err := fmt.Sscanf(line, "%s %s %d", &arch, &row, &n); err == nil {
			listed[arch+" "+row] = n
		}
	}
	return listed
}
