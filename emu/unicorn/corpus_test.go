package unicorn

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch/arm64"
	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

var update = flag.Bool("update", false, "rewrite testdata/unsupported.txt")

// arches are the ports that are judged.
func arches() []reloc.Arch {
	return []reloc.Arch{x86.AMD64, x86.I386, arm64.A64, ppc64.BE, ppc64.LE}
}

// environments are the kinds of caller for whom plans are made.
func environments(a reloc.Arch) []reloc.Env {
	near, far := reloc.SlotsNear, reloc.SlotsFar
	envs := []reloc.Env{
		{Slots: near},
		{Slots: near, Return: fixups.ReturnsSlot},
		{Slots: near, Spill: true, Stop: fixups.StopTrap},
		{Slots: near, Data: true, Short: true},
		{Slots: near, Spill: true, ExecuteOnly: true, Mode: reloc.ModeKernel, IBT: reloc.On},
		{Slots: near, ExecuteOnly: true, ABI: reloc.ABICall},
		{Slots: near, Biased: true, SHSTK: reloc.On, Vendor: reloc.VendorIntel},
	}
	if a.Info().NearOnly {
		return envs
	}
	return append(envs,
		reloc.Env{Slots: far},
		reloc.Env{Slots: far, Return: fixups.ReturnsSlot},
		reloc.Env{Slots: far, Spill: true},
		reloc.Env{Slots: far, Spill: true, Short: true, Lang: reloc.LangGo},
		reloc.Env{Slots: far, Data: true, AllowLost: true},
		reloc.Env{Slots: far, Spill: true, ExecuteOnly: true, SHSTK: reloc.Off},
		reloc.Env{Slots: far, Spill: true, ExecuteOnly: true, Mode: reloc.ModeKernel, Return: fixups.ReturnsSlot},
		reloc.Env{Slots: far, Spill: true, Biased: true, IBT: reloc.On, Zone: reloc.Bytes{N: 256, Set: true}},
		reloc.Env{Slots: far, Spill: true, Vendor: reloc.VendorIntel, SHSTK: reloc.On, OS: reloc.Windows, ABI: reloc.ABIEntry},
		reloc.Env{Slots: far, Dead: fixups.MakeRegSet(2, 8, 13), Stop: fixups.StopTrap},
	)
}

// TestCorpus judges every instruction of the corpus at its own address, in all
// forms and environments.
func TestCorpus(t *testing.T) {
	found := map[string]int{}
	for _, a := range arches() {
		t.Run(a.Info().Name, func(t *testing.T) {
			w, err := emu.NewWorker(Oracle, a.Info(), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			var tally emu.Tally
			envs := environments(a)
			for c := range corpus.ByArch(a.Info().Name) {
				judgeCase(t, w, &tally, a, c, envs)
			}
			report(t, &tally)
			for name, n := range tally.Limits {
				found[a.Info().Name+" "+name] = n
			}
		})
	}
	checkUnsupported(t, found)
}

// checkUnsupported holds the rows of the capability tables that the corpus met,
// and how many sites each kept from being compared, against the reviewed list.
// What grows is a site that nobody has judged: look at it, then run the test
// with -update.
func checkUnsupported(t *testing.T, found map[string]int) {
	const file = "testdata/unsupported.txt"
	if t.Failed() {
		return
	}
	var b strings.Builder
	b.WriteString("# Sites of the corpus by row of the capability table: arch, row, sites.\n")
	for _, k := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&b, "%s %d\n", k, found[k])
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
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
	for _, k := range slices.Sorted(maps.Keys(found)) {
		if found[k] > listed[k] {
			t.Errorf("%s: %d sites are not compared, %d are reviewed", k, found[k], listed[k])
		}
	}
}

func judgeCase(t *testing.T, w *emu.Worker, tally *emu.Tally, a reloc.Arch, c *corpus.Case, envs []reloc.Env) {
	off := 0
	for _, n := range c.Lens {
		var in reloc.Insn
		if err := reloc.Analyze(&in, a, c.Bytes[off:], c.PC+uint64(off), nil); err == nil {
			before := tally.Mismatches()
			if err := w.SiteAt(&in); errors.Is(err, emu.ErrAddress) {
				elsewhere(t, w, tally, a, c, c.Bytes[off:], envs)
			} else if err != nil {
				t.Errorf("%s: %v", c.Key(), err)
			} else if err := w.Judge(tally, a, &in, envs, thorough()); err != nil {
				t.Errorf("%s: %v", c.Key(), err)
			}
			if n := tally.Mismatches() - before; n > 0 {
				t.Errorf("%s+%d: %d mismatches", c.Key(), off, n)
			}
		}
		off += n
	}
}

// elsewhere judges a case where the emulator can have code, and counts it.
func elsewhere(t *testing.T, w *emu.Worker, tally *emu.Tally, a reloc.Arch, c *corpus.Case, code []byte, envs []reloc.Env) {
	if _, err := w.JudgeCode(tally, a, code, envs, thorough()); err != nil {
		t.Errorf("%s: %v", c.Key(), err)
	}
	tally.Note("other-address", code)
}

// thorough is how the corpus is judged.
func thorough() emu.Options {
	if testing.Short() {
		return emu.Options{States: 8, Interrupt: 1, Placements: 2}
	}
	return emu.Options{States: 16, Interrupt: 4}
}

// report logs a tally and fails for what it found.
func report(t *testing.T, tally *emu.Tally) {
	t.Helper()
	var b strings.Builder
	_, _ = tally.WriteTo(&b)
	t.Log("\n" + b.String())
	for _, d := range tally.Diffs {
		t.Errorf("%v", d)
	}
	for _, name := range []string{"undefined-in-oracle", "oracle-halts", "oracle-fails"} {
		if n := tally.Limits[name]; n > 0 {
			t.Errorf("%s: %d plans, the first of %x; the capability table lacks a row", name, n, tally.Samples[name])
		}
	}
	if tally.States == 0 {
		t.Error("nothing was compared")
	}
}
