package x86

import (
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// The site is the instruction at off in code.
func TestContext(t *testing.T) {
	const base = 0x401000
	for _, tt := range []struct {
		name, code string
		off        uint64
		a          *Arch
		adjacent   bool
	}{
		{"behind stui", "5589e5" + "909090909090" + "f30f01ef" + "4889d4", 13, AMD64, true},
		{"behind sti", "5589e5" + "909090909090" + "fb" + "f4", 10, AMD64, false},
		{"Xen's ud2", "0f0b78656e" + "0fa2", 0, AMD64, true},
		{"KVM's ud2", "0f0b6b766d" + "0fa2", 0, I386, true},
		{"ud2 in front of others", "0f0b78656d" + "0fa2", 0, AMD64, false},
		{"behind mov ss,ax", "554889e5" + "4883ec10" + "90909090" + "8ed0" + "4889d4", 14, AMD64, true},
		{"behind mov ss,[rdi]", "554889e5" + "4883ec10" + "90909090" + "8e17" + "4889d4", 14, AMD64, true},
		{"two behind", "554889e5" + "4883ec10" + "90909090" + "8ed0" + "4889d4" + "90", 17, AMD64, false},
		{"mov ds", "554889e5" + "4883ec10" + "90909090" + "8ed8" + "4889d4", 14, AMD64, false},
		{"its bytes in a constant", "5589e5" + "90909090" + "b888888ed0" + "90", 12, AMD64, false},
		{"pop ss", "5589e5" + "90909090" + "17" + "89d4", 8, I386, true},
		{"pop ss's byte in a constant", "5589e5" + "90909090" + "b800000017" + "89d4", 12, I386, false},
		{"Xen's mark", "0f0b78656e" + "0fa2", 5, AMD64, true},
		{"KVM's mark", "0f0b6b766d" + "0fa2", 5, AMD64, true},
		{"ud2 alone", "0f0b909090" + "0fa2", 5, AMD64, false},
		{"nothing before", "90", 0, AMD64, false},
	} {
		code := unhex(t, tt.code)
		env := reloc.Env{Code: &reloc.Text{Addr: base, Data: code}}
		var in reloc.Insn
		err := reloc.Analyze(&in, tt.a, code[tt.off:], base+tt.off, &env)
		if adjacent := err == fixups.ReasonAdjacent; adjacent != tt.adjacent || err != nil && !adjacent {
			t.Errorf("%s: %v", tt.name, err)
		}
		if in.Hazards.Has(fixups.HazardAdjacent) != tt.adjacent {
			t.Errorf("%s: hazards %b", tt.name, in.Hazards)
		}
	}
}

// Words that are read as data are refused, and not patched.
func TestContextWords(t *testing.T) {
	const check = "41ba78563412" + "450353fc" + "7402" + "0f0b" + "41ffd3"
	for _, tt := range []struct {
		name, code string
		off        uint64
		mode       reloc.Mode
		hazard     fixups.Hazard
		want       fixups.Reason
	}{
		{"signature", "0fb93d53300553" + "90", 0, reloc.ModeUser, fixups.HazardRSeq, fixups.ReasonData},
		{"in the signature", "0fb93d53300553" + "90", 3, reloc.ModeUser, fixups.HazardRSeq, fixups.ReasonData},
		{"handler", "0fb93d53300553" + "90", 7, reloc.ModeUser, fixups.HazardRSeq, fixups.ReasonNone},
		{"another ud1", "0fb93d53300554" + "90", 0, reloc.ModeUser, fixups.HazardRSeq, fixups.ReasonNone},
		{"kCFI mov", check, 0, reloc.ModeKernel, fixups.HazardAdjacent, fixups.ReasonAdjacent},
		{"kCFI add", check, 6, reloc.ModeKernel, fixups.HazardAdjacent, fixups.ReasonAdjacent},
		{"kCFI je", check, 10, reloc.ModeKernel, fixups.HazardAdjacent, fixups.ReasonNone},
		{"kCFI ud2", check, 12, reloc.ModeKernel, fixups.HazardKeyedByPC, fixups.ReasonNone},
		{"the same of a program", check, 0, reloc.ModeUser, fixups.HazardAdjacent, fixups.ReasonNone},
		{"another add", "41ba78563412" + "450353f8" + "7402" + "0f0b", 6, reloc.ModeKernel, fixups.HazardAdjacent, fixups.ReasonNone},
		{"kCFI type", "90b878563412f30f1efa", 1, reloc.ModeKernel, fixups.HazardAdjacent, fixups.ReasonData},
		{"mov eax", "90b87856341290909090", 1, reloc.ModeKernel, fixups.HazardAdjacent, fixups.ReasonNone},
	} {
		code := unhex(t, tt.code)
		env := reloc.Env{Mode: tt.mode, Code: &reloc.Text{Addr: 0x401000, Data: code}, Slots: reloc.SlotsNear}
		var p reloc.Plan
		if r := reloc.ReasonOf(reloc.Relocate(&p, AMD64, code[tt.off:], 0x401000+tt.off, &env)); r != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, r, tt.want)
		}
		var e fixups.Entry
		reloc.Describe(&e, AMD64, code[tt.off:], 0x401000+tt.off, &env, false)
		has := tt.want != fixups.ReasonNone || tt.hazard == fixups.HazardKeyedByPC
		if e.Hazards.Has(tt.hazard) != has {
			t.Errorf("%s: hazards %v", tt.name, e.Hazards)
		}
		if (e.Patch == 0) != (tt.want != fixups.ReasonNone) {
			t.Errorf("%s: patch %v", tt.name, e.Patch.Names())
		}
	}
}

// In the kernel STI holds interrupts back until the next instruction has run.
func TestContextSTI(t *testing.T) {
	for _, a := range []*Arch{AMD64, I386} {
		code := unhex(t, "5589e583ec10909090909090fbf490")
		for off, want := range map[uint64]error{13: fixups.ReasonAdjacent, 14: nil} {
			env := reloc.Env{Mode: reloc.ModeKernel, Code: &reloc.Text{Addr: 0x401000, Data: code}}
			var in reloc.Insn
			if err := reloc.Analyze(&in, a, code[off:], 0x401000+off, &env); err != want {
				t.Errorf("%s +%d: %v, want %v", a.info.Name, off, err, want)
			}
		}
	}
}

// Hazards of protections that are known to be off are dropped.
func TestContextDropsHazards(t *testing.T) {
	env := reloc.Env{Code: &reloc.Text{}, SHSTK: reloc.Off, IBT: reloc.Off}
	var in reloc.Insn
	if err := reloc.Analyze(&in, AMD64, unhex(t, "ffd0"), 0x401000, &env); err != nil {
		t.Fatal(err)
	}
	if in.Hazards.Has(fixups.HazardShadowStack) || in.Hazards.Has(fixups.HazardLandingPad) || !in.Hazards.Has(fixups.HazardPushesPC) {
		t.Errorf("hazards %b", in.Hazards)
	}
}

func TestPatch(t *testing.T) {
	both := fixups.PatchTrap | fixups.PatchBranch
	for _, tt := range []struct {
		code string
		env  reloc.Env
		want fixups.Patch
	}{
		{"90", reloc.Env{}, both},
		{"f30f1efa", reloc.Env{}, fixups.PatchTrap},
		{"f30f1efa", reloc.Env{IBT: reloc.On}, fixups.PatchTrap},
		{"f30f1efa", reloc.Env{IBT: reloc.Off}, both},
		{"f30f1efb", reloc.Env{}, fixups.PatchTrap},
		{"0f1efa", reloc.Env{}, both},
	} {
		var in reloc.Insn
		if err := AMD64.Decode(&in, unhex(t, tt.code), 0x401000); err != nil {
			t.Fatal(err)
		}
		if got := AMD64.Patch(&in, &tt.env); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.code, got.Names(), tt.want.Names())
		}
	}
}
