package native_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/emu/native"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

func arches() []reloc.Arch { return []reloc.Arch{x86.AMD64, x86.I386} }

// environments are the kinds of caller for whom plans are made.
func environments(a reloc.Arch) []reloc.Env {
	near, far := reloc.SlotsNear, reloc.SlotsFar
	envs := []reloc.Env{
		{Slots: near},
		{Slots: near, Return: fixups.ReturnsSlot},
		{Slots: near, Spill: true, Stop: fixups.StopTrap},
		{Slots: near, Data: true, Short: true},
		{Slots: near, Biased: true, SHSTK: reloc.On, Vendor: reloc.VendorAMD},
	}
	if a.Info().NearOnly {
		return envs
	}
	return append(envs,
		reloc.Env{Slots: far},
		reloc.Env{Slots: far, Spill: true},
		reloc.Env{Slots: far, Spill: true, Short: true, Lang: reloc.LangGo},
		reloc.Env{Slots: far, Data: true, AllowLost: true},
		reloc.Env{Slots: far, Spill: true, ExecuteOnly: true, Return: fixups.ReturnsSlot, SHSTK: reloc.Off},
		reloc.Env{Slots: far, Spill: true, Biased: true, IBT: reloc.On, Zone: reloc.Bytes{N: 256, Set: true}},
		reloc.Env{Slots: far, Dead: fixups.MakeRegSet(2, 8, 13), Stop: fixups.StopTrap, Vendor: reloc.VendorAMD},
	)
}

func TestRows(t *testing.T) {
	o := native.New()
	for _, a := range arches() {
		t.Run(a.Info().Name, func(t *testing.T) {
			w, err := emu.NewWorker(o, a.Info(), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			var tally emu.Tally
			envs := environments(a)
			n := 0
			for r := range corpus.X86Rows() {
				if !slices.Contains(r.Modes, a.Info().Name) {
					continue
				}
				if err := w.UseArena(n % w.Arenas()); err != nil {
					t.Fatal(err)
				}
				n++
				before := tally.Limits["undefined-in-oracle"] + tally.Limits["oracle-fails"]
				if _, err := w.JudgeCode(&tally, a, r.Bytes, envs, emu.Options{States: 8, Interrupt: 1, Placements: 1}); err != nil {
					t.Fatalf("%s %x: %v", r.Name, r.Bytes, err)
				}
				if tally.Limits["undefined-in-oracle"]+tally.Limits["oracle-fails"] != before {
					t.Logf("undefined: %s %s %x", r.Pattern, r.Name, r.Bytes)
				}
			}
			var b strings.Builder
			_, _ = tally.WriteTo(&b)
			t.Log("\n" + b.String())
			for _, d := range tally.Diffs {
				t.Errorf("%v", d)
			}
		})
	}
}
