package reloc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
	"github.com/xol-go/xol/reloc/reloctest/toy"
)

// A thread leaves a slot by the program of the point that it stands at. A call
// whose return address is linked (part) or pushed (done) is not taken back.
func TestResume(t *testing.T) {
	const slot = 0x500000
	jump := &reloc.Env{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsNear}
	for _, tt := range []struct {
		name          string
		arch          reloc.Arch
		code          []byte
		off           uint64
		state         fixups.State
		fault, signal string // what is done: "" is not here
	}{
		{"ld, start", toy.Toy, toyLd, 0, fixups.StateStart, "back: pc = mov site", "back: pc = mov site"},
		{"ld, done", toy.Toy, toyLd, 2, fixups.StateDone, "forward: pc = mov site+0x2", "forward: pc = mov site+0x2"},
		{"ld, between", toy.Toy, toyLd, 1, 0, "", ""},
		{"ld, behind", toy.Toy, toyLd, 6, 0, "", ""},
		{"ld, in front", toy.Toy, toyLd, 1<<64 - 1, 0, "", ""},
		{"ld, far away", toy.Toy, toyLd, 1 << 16, 0, "", ""},
		{"call, start", toy.Toy, toyCall, 0, fixups.StateStart, "back: pc = mov site", "back: pc = mov site"},
		{"call, part", toy.Toy, toyCall, 4, fixups.StatePart, "", "forward: pc = mov site+0x20"},
		{"bz, taken", toy.Toy, toyBz, 6, fixups.StateDone, "forward: pc = mov site+0x10", "forward: pc = mov site+0x10"},
		{"mov, start", x86.AMD64, movRIP, 0, fixups.StateStart, "back: pc = mov site", "back: pc = mov site"},
		{"mov, done", x86.AMD64, movRIP, 7, fixups.StateDone, "forward: pc = mov site+0x7", "forward: pc = mov site+0x7"},
	} {
		var p reloc.Plan
		if err := reloc.Relocate(&p, tt.arch, tt.code, site, jump); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		for why, want := range map[reloc.Why]string{reloc.Fault: tt.fault, reloc.Signal: tt.signal} {
			r, ok := reloc.Resume(&p, slot+tt.off, slot, why)
			got := resumption(&r, ok, tt.arch.Info().Regs)
			if got != want {
				t.Errorf("%s, cause %d: %q, want %q", tt.name, why, got, want)
			}
			if ok && (r.Point.State != tt.state || uint64(r.Point.Off) != tt.off) {
				t.Errorf("%s: point %+v", tt.name, r.Point)
			}
		}
	}
}

func resumption(r *reloc.Resumption, ok bool, regs fixups.RegNames) string {
	if !ok {
		return ""
	}
	way := "forward"
	if r.Back {
		way = "back"
	}
	return fmt.Sprintf("%s: %s", way, strings.Join(r.Program.Format(regs), "; "))
}

// A spill has points that can be taken back after something has happened: the
// register and the stack pointer are restored for a fault.
func TestResumeSpill(t *testing.T) {
	add := []byte{0x48, 0x03, 0x05, 0, 0x10, 0, 0} // add rax, [rip+0x1000]
	env := &reloc.Env{Forms: fixups.FormJump.Bit(), Spill: true}
	var p reloc.Plan
	if err := reloc.Relocate(&p, x86.AMD64, add, 0x7f0000401000, env); err != nil {
		t.Fatal(err)
	}
	if p.Strategy != fixups.StrategySpill {
		t.Fatalf("by %v", p.Strategy)
	}
	backs := 0
	for i := range p.Points {
		pt := &p.Points[i]
		r, ok := reloc.Resume(&p, uint64(pt.Off), 0, reloc.Fault)
		if ok != (pt.HasBack || pt.State == fixups.StateDone) || ok && (r.Back != pt.HasBack || r.Point != pt) {
			t.Errorf("fault at +%d: %+v, %v", pt.Off, r, ok)
		}
		if r.Back && len(r.Program) > 1 {
			backs++
		}
		r, ok = reloc.Resume(&p, uint64(pt.Off), 0, reloc.Signal)
		if !ok || r.Back != (pt.State == fixups.StateStart) {
			t.Errorf("signal at +%d, state %v: %+v, %v", pt.Off, pt.State, r, ok)
		}
	}
	if backs == 0 {
		t.Error("no point restores anything")
	}
}
