package reloc_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
	"github.com/xol-go/xol/reloc/reloctest/toy"
)

const site = 0x401000

// Instructions of the toy (see its package documentation) and of amd64.
var (
	toyNop  = []byte{0x00, 0x00}
	toyLd   = []byte{0x12, 0x02}             // ld r1, [r2]
	toyBz   = []byte{0x15, 0x08}             // bz r1, pc+16
	toyCall = []byte{0x07, 0x01, 0x00, 0x00} // call pc+32
	toyTrap = []byte{0x09, 0x00}

	movRIP  = []byte{0x48, 0x8b, 0x05, 0x34, 0x12, 0, 0} // mov rax, [rip+0x1234]
	call    = []byte{0xe8, 0, 1, 0, 0}                   // call pc+0x105
	movSS   = []byte{0x8e, 0xd0}                         // mov ss, eax
	incEAX  = []byte{0xff, 0xc0}
	endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}
	ret     = []byte{0xc3}
)

func TestAnalyzeContext(t *testing.T) {
	behind := func(front, insn []byte) *reloc.Text {
		data := append(append([]byte{}, front...), insn...)
		return &reloc.Text{Addr: site - uint64(len(front)), Data: data}
	}
	unknown := fixups.HazardContextUnknown.Bit()
	for _, tt := range []struct {
		name    string
		arch    reloc.Arch
		code    []byte
		env     *reloc.Env
		hazards fixups.Hazards
		want    fixups.Reason
	}{
		{"no env", toy.Toy, toyNop, nil, unknown, 0},
		{"no code", toy.Toy, toyNop, &reloc.Env{}, unknown, 0},
		{"nothing in front", toy.Toy, toyNop, &reloc.Env{Code: behind(nil, toyNop)}, 0, 0},
		{"in a window", toy.Toy, toyNop, &reloc.Env{Code: behind([]byte{0x1a, 0x02}, toyNop)}, 0, fixups.ReasonExclusive},
		{"window closed", toy.Toy, toyNop, &reloc.Env{Code: behind([]byte{0x1a, 0x02, 0x1b, 0x02}, toyNop)}, 0, 0},
		{"second word", toy.Toy, toyLd, &reloc.Env{Code: behind([]byte{0x0c, 0}, toyLd)}, 0, fixups.ReasonSuffixWord},
		{"x86 needs none", x86.AMD64, incEAX, nil, 0, 0},
		{"behind mov ss", x86.AMD64, incEAX, &reloc.Env{Code: behind(movSS, incEAX)}, fixups.HazardAdjacent.Bit(), fixups.ReasonAdjacent},
	} {
		var in reloc.Insn
		err := reloc.Analyze(&in, tt.arch, tt.code, site, tt.env)
		if got := reloc.ReasonOf(err); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if in.Hazards != tt.hazards || int(in.Len) != len(tt.code) || in.PC != site || in.Class == fixups.ClassInvalid {
			t.Errorf("%s: hazards %b, length %d, pc %#x, class %v; want hazards %b", tt.name, in.Hazards, in.Len, in.PC, in.Class, tt.hazards)
		}
		if tt.want == 0 {
			continue
		}
		var p reloc.Plan
		if err := reloc.Relocate(&p, tt.arch, tt.code, site, tt.env); !errors.Is(err, tt.want) || len(p.Code)+len(p.Emulate) != 0 {
			t.Errorf("%s: Relocate says %v and leaves % x", tt.name, err, p.Code)
		}
	}
}

// A protection that is off has no hazard, in the instruction and in the row of a
// table. One that is unknown, or that another switch turns off, has.
func TestRuledOut(t *testing.T) {
	shadow, pad := fixups.HazardShadowStack, fixups.HazardLandingPad
	for _, tt := range []struct {
		name   string
		code   []byte
		hazard fixups.Hazard
		env    reloc.Env
		want   bool
	}{
		{"call, unknown", call, shadow, reloc.Env{}, true},
		{"call, on", call, shadow, reloc.Env{SHSTK: reloc.On}, true},
		{"call, SHSTK off", call, shadow, reloc.Env{SHSTK: reloc.Off}, false},
		{"call, IBT off", call, shadow, reloc.Env{IBT: reloc.Off}, true},
		{"ret, SHSTK off", ret, shadow, reloc.Env{SHSTK: reloc.Off}, false},
		{"endbr64, unknown", endbr64, pad, reloc.Env{}, true},
		{"endbr64, IBT off", endbr64, pad, reloc.Env{IBT: reloc.Off}, false},
		{"endbr64, SHSTK off", endbr64, pad, reloc.Env{SHSTK: reloc.Off}, true},
	} {
		var in reloc.Insn
		if err := reloc.Analyze(&in, x86.AMD64, tt.code, site, &tt.env); err != nil {
			t.Fatal(err)
		}
		// A landing pad is known from the bytes; a shadow stack only once a plan
		// is made.
		if tt.hazard == pad && in.Hazards.Has(tt.hazard) != tt.want {
			t.Errorf("%s: Analyze reports %v: %v", tt.name, tt.hazard, !tt.want)
		}
		var e fixups.Entry
		if err := reloc.Describe(&e, x86.AMD64, tt.code, site, &tt.env, true); err != nil {
			t.Fatal(err)
		}
		if e.Hazards.Has(tt.hazard) != tt.want {
			t.Errorf("%s: Describe reports %v: %v", tt.name, tt.hazard, !tt.want)
		}
	}
}

func TestRelocateOrder(t *testing.T) {
	for _, tt := range []struct {
		code []byte
		env  *reloc.Env
		want fixups.Form
	}{
		{movRIP, nil, fixups.FormEmulate},
		{movRIP, &reloc.Env{}, fixups.FormEmulate},
		{incEAX, nil, fixups.FormJump}, // no arithmetic is emulated
		{incEAX, &reloc.Env{Forms: fixups.FormStep.Bit()}, fixups.FormStep},
		{movRIP, &reloc.Env{Forms: fixups.FormStep.Bit() | fixups.FormJump.Bit()}, fixups.FormJump},
	} {
		var p reloc.Plan
		if err := reloc.Relocate(&p, x86.AMD64, tt.code, site, tt.env); err != nil || p.Form != tt.want {
			t.Errorf("% x, %+v: %v, %v, want %v", tt.code, tt.env, p.Form, err, tt.want)
		}
	}
}

// A failure leaves nothing of the plan before it.
func TestRelocateFails(t *testing.T) {
	for _, tt := range []struct {
		name string
		code []byte
		want fixups.Reason
	}{
		{"empty", nil, fixups.ReasonTruncated},
		{"cut", movRIP[:4], fixups.ReasonTruncated},
		{"reserved", []byte{0x06}, fixups.ReasonReserved},
		{"sysenter", []byte{0x0f, 0x34}, fixups.ReasonPrivileged},
	} {
		var p reloc.Plan
		if err := reloc.Relocate(&p, x86.AMD64, call, site, nil); err != nil {
			t.Fatal(err)
		}
		err := reloc.Relocate(&p, x86.AMD64, tt.code, site, nil)
		if err != error(tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if !p.Equal(&fixups.Plan{}) || len(p.Code) != 0 || len(p.Emulate) != 0 || len(p.Points) != 0 {
			t.Errorf("%s: a plan is left: %+v", tt.name, p)
		}
	}
}

func TestVerdicts(t *testing.T) {
	near := reloc.SlotsNear
	jump := fixups.FormJump.Bit()
	for _, tt := range []struct {
		name string
		arch reloc.Arch
		code []byte
		env  *reloc.Env
		both bool
		want string
	}{
		{"all", x86.AMD64, call, nil, true, "emulate: plan; jump: plan; jump far: plan; step: plan; step far: plan; "},
		{"one variant is far", x86.AMD64, call, &reloc.Env{}, false, "emulate: plan; jump far: plan; step far: plan; "},
		{"one variant, near", x86.AMD64, call, &reloc.Env{Slots: near}, false, "emulate: plan; jump: plan; step: plan; "},
		{"one form", x86.AMD64, call, &reloc.Env{Forms: jump}, true, "jump: plan; jump far: plan; "},
		{"near only", x86.I386, call, nil, true, "emulate: plan; jump: plan; step: plan; "},
		{"refused", x86.AMD64, []byte{0x0f, 0x34}, nil, true,
			"emulate: not-emulated; jump: privileged; jump far: privileged; step: privileged; step far: privileged; "},
		{"out of reach", toy.Toy, toyBz, nil, true, "emulate: plan; jump: plan; jump far: no-reach; step: plan; step far: plan; "},
		{"foreign", toy.Toy, toyTrap, &reloc.Env{Forms: jump}, true, "jump: foreign-breakpoint; jump far: foreign-breakpoint; "},
		{"nothing asked", x86.AMD64, call, &reloc.Env{Forms: fixups.FormRegion.Bit()}, true, ""},
	} {
		var in reloc.Insn
		if err := tt.arch.Decode(&in, tt.code, site); err != nil {
			t.Fatal(err)
		}
		vs := reloc.Verdicts(nil, tt.arch, &in, tt.env, tt.both)
		if got := verdictWords(vs); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
		for i := range vs {
			if v := &vs[i]; v.Reason == 0 && (v.Plan.Form != v.Form || v.Far && !v.Plan.Far) {
				t.Errorf("%s: verdict %d, %v far %v, holds a plan for %v far %v", tt.name, i, v.Form, v.Far, v.Plan.Form, v.Plan.Far)
			}
		}
	}
}

func verdictWords(vs []fixups.Verdict) (s string) {
	for i := range vs {
		v := &vs[i]
		s += v.Form.String()
		if v.Far {
			s += " far"
		}
		if v.Reason == fixups.ReasonNone {
			s += ": plan; "
		} else {
			s += fmt.Sprintf(": %v; ", v.Reason)
		}
	}
	return s
}
