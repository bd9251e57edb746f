package arm64

import (
	"math/rand/v2"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// What a row's rule says of user and kernel mode (tables/README.md) is what its
// plans do.
func TestSystemRules(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2)).Uint64
	var seen [sysUser + 1]int
	for id := uint32(1); id < uint32(len(facts)); id++ {
		for range 20 {
			w, ok := randomOf(id, rnd)
			var in reloc.Insn
			if !ok || A64.Decode(&in, encode(w), 0x1000) != nil {
				t.Fatalf("row %d has no encodings", id)
			}
			rule := systemOf(&in)
			seen[rule]++
			if rule == sysNone {
				break
			}
			checkRule(t, &in, rule)
		}
	}
	for rule, n := range seen {
		if n == 0 {
			t.Errorf("no row has rule %d", rule)
		}
	}
}

func checkRule(t *testing.T, in *reloc.Insn, rule uint64) {
	t.Helper()
	b := planner{w: uint32(in.Ext[0])}
	jump, step := true, true // in kernel mode
	switch rule {
	case sysJump:
		step = false
	case sysRegister:
		step = !b.namesRegister()
		jump = !b.controlsTranslation()
	case sysUser:
		jump, step = false, false
	}
	for _, tt := range []struct {
		mode reloc.Mode
		form fixups.Form
		want bool
	}{
		{reloc.ModeUser, fixups.FormJump, true},
		{reloc.ModeUser, fixups.FormStep, true},
		{reloc.ModeKernel, fixups.FormJump, jump},
		{reloc.ModeKernel, fixups.FormStep, step},
	} {
		var p reloc.Plan
		err := A64.Plan(&p, in, &reloc.Env{Mode: tt.mode, Forms: tt.form.Bit(), Slots: reloc.SlotsNear})
		if (err == nil) != tt.want {
			t.Errorf("%08x %s, rule %d, mode %d, %v: %v, want a plan: %t", in.Ext[0], makeRow(in.Row).Name, rule, tt.mode, tt.form, err, tt.want)
		}
	}
}
