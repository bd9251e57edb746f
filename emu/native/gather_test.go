package native_test

import (
	"testing"

	"github.com/xol-go/xol/emu"
)

// TestGathers judges gathers from more states than other rows: some elements
// fault, and the step's trap may be taken in the middle, as in the middle of a
// repeated instruction. Post then leads back to the site, which goes on.
func TestGathers(t *testing.T) {
	o := oracle(t)
	for _, a := range arches() {
		t.Run(a.Info().Name, func(t *testing.T) {
			w, err := emu.NewWorker(o, a.Info(), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			var tally emu.Tally
			for i, code := range gathers() {
				if err := w.UseArena(i % w.Arenas()); err != nil {
					t.Fatal(err)
				}
				if _, err := w.JudgeCode(&tally, a, code, environments(a), emu.Options{States: 64, Interrupt: 4, Placements: 1}); err != nil {
					t.Fatal(err)
				}
			}
			report(t, &tally)
			if tally.Faults == 0 || tally.Faults == tally.States {
				t.Errorf("%d of %d states fault", tally.Faults, tally.States)
			}
		})
	}
}
