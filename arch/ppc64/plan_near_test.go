package ppc64

import (
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// TestNearJump: what is made in one go is what the families make.
func TestNearJump(t *testing.T) {
	made := 0
	for _, a := range orders {
		for _, code := range append(a.inputs(t), a.randomInputs(2000)...) {
			var in reloc.Insn
			if a.Decode(&in, code, testSite) != nil {
				continue
			}
			env := reloc.Env{Slots: reloc.SlotsNear, Forms: fixups.FormJump.Bit()}
			var fast, slow reloc.Plan
			if !a.nearJump(&fast, &in, &env) {
				continue
			}
			made++
			b := a.newPlanner(&slow, &in, &env)
			if r := b.form(fixups.FormJump); r != fixups.ReasonNone || !fast.Equal(&slow) {
				t.Errorf("%x: %v\n%+v\n%+v", code, r, fast, slow)
			}
		}
	}
	if made < 1000 {
		t.Errorf("%d plans", made)
	}
}

// randomInputs are n encodings of the tables.
func (a *Arch) randomInputs(n int) (in [][]byte) {
	seed := uint64(1)
	rnd := func() uint64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return seed ^ seed>>29
	}
	for range n {
		in = append(in, a.AppendRandom(nil, rnd))
	}
	return in
}
