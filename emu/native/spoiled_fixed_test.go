package native_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// moved makes plans of a port with one mistake: field number field leads by so many
// of its units too far. hit counts those that have the field.
type moved struct {
	fixedArch
	field int
	units int64
	hit   *int
}

func (s moved) Plan(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) error {
	if err := s.fixedArch.Plan(p, in, env); err != nil {
		return err
	}
	if s.field < len(p.Relocs) {
		p.Relocs = slices.Clone(p.Relocs)
		f := &p.Relocs[s.field]
		f.Addend += s.units << max(f.Shift, f.Page)
		*s.hit++
	}
	return nil
}

// TestFixedSpoiled: each field of each plan matters, and one that leads too far is a
// mismatch, or cannot be placed. A comparison that did not see it would prove
// nothing.
func TestFixedSpoiled(t *testing.T) {
	for _, a := range fixedArches() {
		t.Run(a.Info().Name, func(t *testing.T) {
			t.Parallel()
			w, err := emu.NewWorker(oracleOf(t, a.Info().Name), a.Info(), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			rnd := rand.New(rand.NewPCG(1, 2))
			seen := 0
			for i, r := range a.Rows() {
				if !sweeping() && (r.Class == fixups.ClassPlain || i&1 != 0) {
					continue
				}
				for _, env := range []reloc.Env{{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsNear}, {Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsFar, Spill: true, Dead: fixups.MakeRegSet(16, 17)}} {
					for field := range 4 {
						if spoilRow(t, w, a, &r, rnd, field, env) {
							seen++
						}
					}
				}
			}
			t.Logf("%d spoiled fields, all seen", seen)
			if seen < 20 {
				t.Errorf("only %d fields", seen)
			}
		})
	}
}

// spoilRow judges plans for a row with a field that leads too far and reports
// whether any was executed.
func spoilRow(t *testing.T, w *emu.Worker, a fixedArch, r *reloc.Row, rnd *rand.Rand, field int, env reloc.Env) bool {
	t.Helper()
	hit, compared := 0, 0
	for try := range 12 {
		code, ok := encode(a, r, rnd)
		if !ok || try == 3 && hit == 0 {
			return false
		}
		for _, units := range []int64{1, 4} { // not every address is where an instruction can be
			var tally emu.Tally
			if _, err := w.JudgeCode(&tally, moved{a, field, units, &hit}, code, []reloc.Env{env}, emu.Options{States: 12, Placements: 1}); err != nil {
				continue // it cannot be placed
			}
			if tally.Mismatches() > 0 {
				return true
			}
			if tally.States > tally.Faults {
				compared++
			}
		}
	}
	if hit > 0 && compared > 0 {
		t.Errorf("%s : %s: field %d of slots %d leads too far, and nothing is seen", r.Pattern, r.Name, field, env.Slots)
	}
	return false
}

// TestFixedInterrupted: a program out of the slot that is wrong is seen.
func TestFixedInterrupted(t *testing.T) {
	for _, a := range fixedArches() {
		t.Run(a.Info().Name, func(t *testing.T) {
			nop := []byte{0x1f, 0x20, 0x03, 0xd5}
			switch {
			case a.Info().Name == "ppc64":
				nop = []byte{0x60, 0, 0, 0}
			case a.Info().Name == "ppc64le":
				nop = []byte{0, 0, 0, 0x60}
			}
			for _, arch := range []reloc.Arch{a, misled{a}} {
				w, err := emu.NewWorker(oracleOf(t, a.Info().Name), a.Info(), 1)
				if err != nil {
					t.Fatal(err)
				}
				var tally emu.Tally
				envs := []reloc.Env{{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsNear}}
				if _, err := w.JudgeCode(&tally, arch, nop, envs, emu.Options{States: 32, Interrupt: 32}); err != nil {
					t.Fatal(err)
				}
				w.Close()
				if wrong := tally.Mismatches() > 0; wrong != (arch != reloc.Arch(a)) || tally.Points < 32 && !wrong {
					t.Errorf("%T: %d of %d plans are wrong, %d interruptions", arch, tally.Mismatches(), tally.Plans, tally.Points)
				}
			}
		})
	}
}
