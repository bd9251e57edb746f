package unicorn

import (
	"strings"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// arches are the ports that are judged.
func arches() []reloc.Arch { return []reloc.Arch{x86.AMD64, x86.I386} }

// environments are the kinds of caller for whom plans are made.
func environments(a reloc.Arch) []reloc.Env {
	near, far := reloc.SlotsNear, reloc.SlotsFar
	envs := []reloc.Env{
		{Slots: near},
		{Slots: near, Return: fixups.ReturnsSlot},
		{Slots: near, Spill: true, Stop: fixups.StopTrap},
		{Slots: near, Data: true, Short: true},
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
		reloc.Env{Slots: far, Dead: fixups.MakeRegSet(2, 8, 13), Stop: fixups.StopTrap},
	)
}

// TestCorpus judges every instruction of the corpus at its own address, in all
// forms and environments.
func TestCorpus(t *testing.T) {
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
		})
	}
}

func judgeCase(t *testing.T, w *emu.Worker, tally *emu.Tally, a reloc.Arch, c *corpus.Case, envs []reloc.Env) {
	off := 0
	for _, n := range c.Lens {
		var in reloc.Insn
		if err := reloc.Analyze(&in, a, c.Bytes[off:], c.PC+uint64(off), nil); err == nil {
			before := tally.Mismatches()
			if err := w.SiteAt(&in); err != nil {
				t.Errorf("%s: %v", c.Key(), err)
			} else if err := w.Judge(tally, a, &in, envs, emu.Options{States: 16, Interrupt: 4}); err != nil {
				t.Errorf("%s: %v", c.Key(), err)
			}
			if n := tally.Mismatches() - before; n > 0 {
				t.Errorf("%s+%d: %d mismatches", c.Key(), off, n)
			}
		}
		off += n
	}
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
	if tally.States == 0 {
		t.Error("nothing was compared")
	}
}
