package unicorn

import (
	"fmt"
	"testing"

	"github.com/xol-go/xol/arch/arm64"
	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// spoiled makes plans of a port with one thing wrong: the n-th of its kind. Where a
// plan has no such thing, it has no plan.
type spoiled struct {
	reloc.Arch
	what string
	n    int
}

// Plan implements [reloc.Arch].
func (s spoiled) Plan(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) error {
	if err := s.Arch.Plan(p, in, env); err != nil {
		return err
	}
	if s.spoil(p) {
		return nil
	}
	p.Reset()
	return fixups.ReasonUnknown
}

func (s spoiled) spoil(p *reloc.Plan) bool {
	switch s.what {
	case "field":
		if s.n >= len(p.Relocs) {
			return false
		}
		r := &p.Relocs[s.n]
		r.Addend += 1 << max(r.Shift, 2+10*(r.Page/12))
		return true
	case "back", "forward":
		for i, n := 0, s.n; i < len(p.Points); i++ {
			pt := &p.Points[i]
			prog, has := pt.Back, pt.HasBack && pt.State == fixups.StateStart
			if s.what == "forward" {
				prog, has = pt.Forward, pt.HasForward
			}
			if !has {
				continue
			}
			if n--; n < 0 {
				return mislead(prog)
			}
		}
		return false
	case "post":
		return s.n == 0 && mislead(p.Post)
	case "abort":
		return s.n == 0 && mislead(p.Abort)
	}
	return s.n == 0 && mislead(p.Emulate)
}

// mislead makes a program set pc to a place beside the right one.
func mislead(p fixups.Program) bool {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i].Dst.Kind != fixups.OperandReg || p[i].Dst.Reg != fixups.RegPC {
			continue
		}
		if p[i].A.Kind == fixups.OperandSite {
			p[i].A.Val += 4
		} else {
			p[i] = setPC(fixups.SitePlus(-4))[0]
		}
		return true
	}
	return false
}

// spoiledSites are words as manuals print them.
var spoiledSites = map[string][]string{
	"arm64": {"14000100", "94000100", "54000800", "b4000801", "37080801", "10000801", "b0000001", "58000801",
		"9c000801", "d63f0120", "d61f0120", "8b020020", "f9400421"},
	"ppc64": {"48000100", "48000101", "41820100", "42000100", "40820101", "429f0005", "4c600104", "4e800421",
		"4e800020", "4e820420", "7c642a14", "e8640008"},
}

// TestSpoiled: each field and each program of a plan matters, and one that is wrong
// is seen. A comparison that did not see it would prove nothing.
func TestSpoiled(t *testing.T) {
	kinds := []struct {
		what string
		form fixups.Form
	}{{"field", fixups.FormJump}, {"back", fixups.FormJump}, {"forward", fixups.FormJump}, {"post", fixups.FormStep},
		{"abort", fixups.FormStep}, {"emulate", fixups.FormEmulate}}
	for _, a := range []reloc.Arch{arm64.A64, ppc64.BE, ppc64.LE} {
		t.Run(a.Info().Name, func(t *testing.T) {
			w := newWorker(t, a.Info())
			sites := spoiledSites[a.Info().Name]
			if sites == nil {
				sites = spoiledSites["ppc64"]
			}
			seen := map[string]int{}
			for _, site := range sites {
				code := words(t, a.Info(), site)
				for _, k := range kinds {
					for n := 0; seesSpoiled(t, w, spoiled{a, k.what, n}, code, k.form); n++ {
						seen[k.what]++
					}
				}
			}
			t.Log("spoiled plans that were seen: " + fmt.Sprint(seen))
			for _, k := range kinds {
				if seen[k.what] < 3 {
					t.Errorf("only %d plans with a wrong %s", seen[k.what], k.what)
				}
			}
		})
	}
}

// seesSpoiled judges spoiled plans, near and far, until one is found wrong; false if
// there are none.
func seesSpoiled(t *testing.T, w *emu.Worker, a spoiled, code []byte, form fixups.Form) bool {
	t.Helper()
	dead := fixups.MakeRegSet(9, 10)
	any := false
	for _, env := range []reloc.Env{
		{Forms: form.Bit(), Slots: reloc.SlotsNear, Dead: dead},
		{Forms: form.Bit(), Slots: reloc.SlotsFar, Spill: true, Dead: dead},
	} {
		var tally emu.Tally
		for try := 0; try < 12 && tally.Mismatches() == 0; try++ {
			if _, err := w.JudgeCode(&tally, a, code, []reloc.Env{env}, emu.Options{States: 16, Interrupt: 16, Placements: 2}); err != nil {
				t.Fatal(err)
			}
		}
		if tally.Plans == 0 {
			continue
		}
		any = true
		if tally.Mismatches() == 0 {
			t.Errorf("%x as %v, slots %d: %s %d is wrong, and nothing is seen", code, form, env.Slots, a.what, a.n)
		}
	}
	return any
}
