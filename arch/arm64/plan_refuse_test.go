package arm64

import (
	"slices"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// What is refused, and why.
func TestRefusals(t *testing.T) {
	jump, step, emulate := fixups.FormJump.Bit(), fixups.FormStep.Bit(), fixups.FormEmulate.Bit()
	both := reloc.Env{Forms: jump, Dead: deadIP, BTI: reloc.On, GCS: reloc.On}
	for _, tt := range []struct {
		site string
		env  reloc.Env
		want fixups.Reason
	}{
		{"63040091", reloc.Env{Forms: jump}, fixups.ReasonNoScratch},
		{"63040091", reloc.Env{Forms: jump, Spill: true, Data: true, Private: true}, fixups.ReasonNoScratch},
		{"63040091", reloc.Env{Forms: jump, ABI: reloc.ABICall}, fixups.ReasonNoScratch},
		{"10060091", reloc.Env{Forms: jump, Dead: dead16}, fixups.ReasonNoScratch}, // writes x16
		{"63040091", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"63040091", both, fixups.ReasonNoReach},
		{"10000014", both, fixups.ReasonNoReach},
		{"00020054", reloc.Env{Forms: jump}, fixups.ReasonNoScratch},
		{"10000094", reloc.Env{Forms: jump}, fixups.ReasonNoScratch},
		{"10000094", reloc.Env{Forms: jump, Slots: reloc.SlotsNear, GCS: reloc.On}, fixups.ReasonShadowStack},
		{"10000094", reloc.Env{Forms: jump | step, Slots: reloc.SlotsNear, Return: fixups.ReturnsSlot, Lang: reloc.LangGo}, fixups.ReasonReturnAddress},
		{"10000094", reloc.Env{Forms: jump, Return: fixups.ReturnsSlot, ABI: reloc.ABICall, BTI: reloc.On, GCS: reloc.Off}, fixups.ReasonNoReach},
		{"10000094", reloc.Env{Forms: jump, Return: fixups.ReturnsSlot, Dead: fixups.MakeRegSet(9)}, fixups.ReasonNoScratch}, // x9 may hold a result
		{"c0033fd6", reloc.Env{Forms: jump, Slots: reloc.SlotsNear}, fixups.ReasonNoScratch},
		{"20013fd6", reloc.Env{Forms: jump, GCS: reloc.On}, fixups.ReasonShadowStack},
		{"20013fd6", reloc.Env{Forms: step, Stop: fixups.StopTrap}, fixups.ReasonNoStop},
		{"09093fd7", reloc.Env{Forms: jump, Slots: reloc.SlotsNear}, fixups.ReasonNoScratch},
		{"09093fd7", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"1f091fd7", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"60001fd6", reloc.Env{Forms: step, Stop: fixups.StopTrap}, fixups.ReasonNoStop},
		{"60001fd6", reloc.Env{Forms: emulate, BTI: reloc.On}, fixups.ReasonNotEmulated},
		{"c0035fd6", reloc.Env{Forms: emulate, GCS: reloc.On}, fixups.ReasonShadowStack},
		{"05080058", reloc.Env{Forms: jump}, fixups.ReasonNoScratch},
		{"05080058", reloc.Env{Forms: jump, Slots: reloc.SlotsRange, SlotMin: -0x600000, SlotMax: 0x600000}, fixups.ReasonNoScratch},
		{"05080058", reloc.Env{Forms: jump, AllowLost: true}, fixups.ReasonNoScratch}, // the way out is far
		{"0708009c", reloc.Env{Forms: jump, Spill: true}, fixups.ReasonNoScratch},
		{"0708009c", reloc.Env{Forms: jump, Slots: reloc.SlotsRange, SlotMin: -0x600000, SlotMax: 0x600000, AllowLost: true}, fixups.ReasonNoScratch},
		{"5f0080f3", reloc.Env{Forms: jump, Slots: reloc.SlotsNear, Spill: true}, fixups.ReasonNoScratch},
		{"5f0080f3", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"5f002055", reloc.Env{Forms: step, Stop: fixups.StopTrap}, fixups.ReasonNoStop},
		{"fea3c1da", reloc.Env{Forms: jump, Slots: reloc.SlotsNear, Dead: deadIP}, fixups.ReasonNoScratch},
		{"010000d4", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"1f020054", reloc.Env{Forms: emulate, Features: ^FeatureHBC}, fixups.ReasonNotEmulated},
		{"410002f4", reloc.Env{Forms: emulate, Features: ^FeatureCMPBR}, fixups.ReasonNotEmulated},
		{"41807f75", reloc.Env{Forms: emulate, Features: ^FeatureCMPBR}, fixups.ReasonNotEmulated},
		{"603023d5", reloc.Env{Forms: emulate, Features: ^FeatureTME}, fixups.ReasonNotEmulated},
		{"00bc28d4", reloc.Env{Forms: emulate}, fixups.ReasonData},
		{"00bc28d4", reloc.Env{Forms: step}, fixups.ReasonData},
		{"00bc28d4", reloc.Env{Forms: jump, Slots: reloc.SlotsNear}, fixups.ReasonData},
		{"0708009c", reloc.Env{Forms: jump, Slots: reloc.SlotsRange, SlotMin: -0x600000, SlotMax: 0x600000, Spill: true, Lang: reloc.LangGo}, fixups.ReasonNoScratch},
		{"010000d4", reloc.Env{Forms: jump, Dead: deadIP, OS: reloc.Windows}, fixups.ReasonNoScratch},
		{"010000d4", reloc.Env{Mode: reloc.ModeKernel, Slots: reloc.SlotsNear, Forms: jump}, fixups.ReasonPrivileged},
		{"200020d4", reloc.Env{Mode: reloc.ModeKernel, Slots: reloc.SlotsNear, Forms: jump}, fixups.ReasonPrivileged},
		{"e0039fd6", reloc.Env{Mode: reloc.ModeKernel, Slots: reloc.SlotsNear, Forms: jump}, fixups.ReasonPrivileged}, // eret
		{"204038d5", reloc.Env{Mode: reloc.ModeKernel, Forms: step}, fixups.ReasonNoStop},
		{"001018d5", reloc.Env{Mode: reloc.ModeKernel, Slots: reloc.SlotsNear, Forms: jump}, fixups.ReasonPrivileged}, // msr sctlr_el1
		{"20423bd5", reloc.Env{Mode: reloc.ModeKernel, Forms: step}, fixups.ReasonNoStop},                             // mrs daif
		{"603023d5", reloc.Env{Forms: step}, fixups.ReasonTransaction},
	} {
		_, _, err := planOf(t, testSite, tt.site, tt.env)
		if err != tt.want {
			t.Errorf("%s: %v, want %v", tt.site, err, tt.want)
		}
	}
}

// The step form serves every site from every slot, without any register.
func TestStepFar(t *testing.T) {
	for _, tt := range jumpCode {
		if tt.site == "603023d5" {
			continue // a transaction
		}
		p, _, err := planOf(t, testSite, tt.site, reloc.Env{Forms: fixups.FormStep.Bit()})
		if err != nil || !p.Far || !p.Clobbers.IsEmpty() {
			t.Errorf("%s: %v, far %t, clobbers %v", tt.name, err, p.Far, p.Clobbers)
		}
	}
}

// The programs of the emulate form. With BTI off none of them writes btype.
func TestEmulate(t *testing.T) {
	off := reloc.Env{BTI: reloc.Off, GCS: reloc.Off}
	with := func(f reloc.Features) reloc.Env { return reloc.Env{BTI: reloc.Off, GCS: reloc.Off, Features: f} }
	for _, tt := range []struct {
		name, site string
		env        reloc.Env
		want       []string
	}{
		{"b", "10000014", off, []string{"pc = mov site+0x40"}},
		{"b.ne", "01020054", off, []string{"t0 = extract flags, 30, 1", "t1 = mov site+0x40", "skip 1 if t0 eq 0 w64", "t1 = mov site+0x4", "pc = mov t1"}},
		{"b.hi", "08020054", off, []string{"t0 = extract flags, 30, 1", "t1 = extract flags, 29, 1", "t1 = xor t1, 0x1", "t0 = or t0, t1",
			"t1 = mov site+0x40", "skip 1 if t0 eq 0 w64", "t1 = mov site+0x4", "pc = mov t1"}},
		{"b.le", "0d020054", off, []string{"t0 = extract flags, 31, 1", "t1 = extract flags, 28, 1", "t0 = xor t0, t1", "t1 = extract flags, 30, 1", "t0 = or t0, t1",
			"t1 = mov site+0x40", "skip 1 if t0 ne 0 w64", "t1 = mov site+0x4", "pc = mov t1"}},
		{"bc.nv", "1f020054", with(FeatureHBC), []string{"t1 = mov site+0x40", "pc = mov t1"}},
		{"cbnz wzr", "df000035", off, []string{"t1 = mov site+0x18", "skip 1 if 0 ne 0 w32", "t1 = mov site+0x4", "pc = mov t1"}},
		{"tbz x0, 33", "600008b6", off, []string{"t0 = extract x0, 33, 1", "t1 = mov site+0xc", "skip 1 if t0 eq 0 w64", "t1 = mov site+0x4", "pc = mov t1"}},
		{"cbgt x1, x2", "410002f4", with(FeatureCMPBR), []string{"t1 = mov site+0x8", "skip 1 if x1 gt x2 w64", "t1 = mov site+0x4", "pc = mov t1"}},
		{"cbhhs w1, wzr", "41c07f74", with(FeatureCMPBR), []string{"t1 = mov site+0x8", "skip 1 if x1 ae 0 w16", "t1 = mov site+0x4", "pc = mov t1"}},
		{"cblo w1, 63", "41807f75", with(FeatureCMPBR), []string{"t1 = mov site+0x8", "skip 1 if x1 b 0x3f w32", "t1 = mov site+0x4", "pc = mov t1"}},
		{"bl, GCS", "10000094", reloc.Env{BTI: reloc.Off, GCS: reloc.On}, []string{"shpush site+0x4", "x30 = mov site+0x4", "pc = mov site+0x40"}},
		{"blr x30", "c0033fd6", reloc.Env{GCS: reloc.Off}, []string{"t0 = mov x30", "x30 = mov site+0x4", "btype = mov 0x2", "pc = mov t0"}},
		{"br x3", "60001fd6", reloc.Env{}, []string{"btype = mov 0x1", "pc = mov x3"}},
		{"br x17", "20021fd6", reloc.Env{BTI: reloc.On}, []string{"btype = mov 0x1", "pc = mov x17"}},
		{"br xzr", "e0031fd6", off, []string{"btype = mov 0x1", "pc = mov 0"}},
		{"ret", "c0035fd6", reloc.Env{}, []string{"btype = mov 0", "pc = mov x30"}},
		{"adrp", "05006090", off, []string{"x5 = mov site+0xc0000000", "pc = mov site+0x4"}},
		{"adr xzr", "1f080010", off, []string{"pc = mov site+0x4"}},
		{"ldr x0", "00080058", off, []string{"t0 = load8le site+0x100", "x0 = mov t0", "pc = mov site+0x4"}},
		{"ldrsw, big-endian", "00080098", reloc.Env{BTI: reloc.Off, DataOrder: reloc.DataBig}, []string{"t0 = load4be site+0x100", "t0 = sext32 t0", "x0 = mov t0", "pc = mov site+0x4"}},
		{"ldr wzr", "1f080018", off, []string{"t0 = load4le site+0x100", "pc = mov site+0x4"}},
		{"ldr s7", "0708001c", off, []string{"t0 = load4le site+0x100", "v7.0 = mov t0", "pc = mov site+0x4"}},
		{"ldr q7", "0708009c", off, []string{"t0 = load8le site+0x100", "t1 = load8le site+0x108", "v7.0 = mov t0", "v7.1 = mov t1", "pc = mov site+0x4"}},
		{"ldr q7, big-endian", "0708009c", reloc.Env{BTI: reloc.Off, DataOrder: reloc.DataBig},
			[]string{"t1 = load8be site+0x100", "t0 = load8be site+0x108", "v7.0 = mov t0", "v7.1 = mov t1", "pc = mov site+0x4"}},
		{"prfm", "000800d8", off, []string{"pc = mov site+0x4"}},
		{"bti c", "5f2403d5", reloc.Env{}, []string{"btype = mov 0", "pc = mov site+0x4"}},
		{"tstart x0", "603023d5", with(FeatureTME), []string{"x0 = mov 0x400000", "pc = mov site+0x4"}},
	} {
		tt.env.Forms = fixups.FormEmulate.Bit()
		p, _, err := planOf(t, testSite, tt.site, tt.env)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := p.Emulate.Format(A64.info.Regs); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// The programs around a stepped copy.
func TestStepPrograms(t *testing.T) {
	for _, tt := range []struct {
		name, site       string
		env              reloc.Env
		pre, post, abort []string
	}{
		{"add", "63040091", reloc.Env{}, nil, []string{"skip 1 if pc ne slot+0x4 w64", "pc = mov site+0x4"}, []string{"pc = mov site"}},
		{"b", "10000014", reloc.Env{}, nil, []string{"skip 1 if pc ne slot+0x4 w64", "pc = mov site+0x40"}, []string{"pc = mov site"}},
		{"cbz", "d00000b4", reloc.Env{}, nil, []string{"t1 = mov pc", "skip 1 if t1 ne slot+0x4 w64", "pc = mov site+0x4",
			"skip 1 if t1 ne slot+0x8 w64", "pc = mov site+0x18"}, []string{"pc = mov site"}},
		{"bl, GCS", "10000094", reloc.Env{GCS: reloc.On}, nil, []string{"skip 4 if pc ne slot+0x4 w64", "x30 = mov site+0x4",
			"t2 = shpop", "shpush site+0x4", "pc = mov site+0x40"}, []string{"pc = mov site"}},
		{"bl, slot", "10000094", reloc.Env{Return: fixups.ReturnsSlot}, nil, []string{"skip 1 if pc ne slot+0x4 w64", "pc = mov site+0x40"}, []string{"pc = mov site"}},
		{"blr", "20013fd6", reloc.Env{}, nil, []string{"x30 = mov site+0x4"}, []string{"pc = mov site"}},
		{"ret", "c0035fd6", reloc.Env{}, nil, nil, []string{"pc = mov site"}},
		{"adr", "a43f0010", reloc.Env{}, nil, []string{"skip 2 if pc ne slot+0x4 w64", "x4 = mov site+0x7f4", "pc = mov site+0x4"}, []string{"pc = mov site"}},
		{"ldr x16", "10080058", reloc.Env{}, []string{"t0 = mov x17", "x17 = mov site+0x100"},
			[]string{"x17 = mov t0", "t1 = mov pc", "skip 1 if t1 ne slot+0x4 w64", "pc = mov site+0x4"}, []string{"x17 = mov t0", "pc = mov site"}},
		{"retabsppc", "5f002055", reloc.Env{}, []string{"t0 = mov x16", "x16 = mov site-0x8"}, []string{"x16 = mov t0"}, []string{"x16 = mov t0", "pc = mov site"}},
		{"paciasppc", "fea3c1da", reloc.Env{BTI: reloc.Off},
			[]string{"t4 = mov x15", "t5 = mov x16", "t6 = mov x17", "x15 = mov site", "x16 = mov sp", "x17 = mov x30"},
			[]string{"skip 1 if pc ne slot+0x4 w64", "x30 = mov x17", "x15 = mov t4", "x16 = mov t5", "x17 = mov t6",
				"t1 = mov pc", "skip 1 if t1 ne slot+0x4 w64", "pc = mov site+0x4"},
			[]string{"x15 = mov t4", "x16 = mov t5", "x17 = mov t6", "pc = mov site"}},
		{"svc", "010000d4", reloc.Env{}, nil, []string{"t1 = mov pc", "skip 1 if t1 ne slot+0x4 w64", "pc = mov site+0x4",
			"skip 1 if t1 ne slot w64", "pc = mov site"}, []string{"t1 = mov pc", "pc = mov site", "skip 1 if t1 ne slot+0x4 w64", "pc = mov site+0x4"}},
	} {
		tt.env.Forms = fixups.FormStep.Bit()
		p, _, err := planOf(t, testSite, tt.site, tt.env)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for _, c := range []struct {
			what string
			got  fixups.Program
			want []string
		}{{"pre", p.Pre, tt.pre}, {"post", p.Post, tt.post}, {"abort", p.Abort, tt.abort}} {
			if got := c.got.Format(A64.info.Regs); !slices.Equal(got, c.want) {
				t.Errorf("%s, %s:\n got %q\nwant %q", tt.name, c.what, got, c.want)
			}
		}
	}
}

// Where both protections are on, only landing pads are in reach of a branch by a
// register, and only those that take it.
func TestPads(t *testing.T) {
	for _, tt := range []struct {
		name, site, pad string
		at              int64 // of the pad
		env             reloc.Env
		want            fixups.Reason
	}{
		{"bti c behind", "63040091", "5f2403d5", 4, reloc.Env{Dead: dead16, GCS: reloc.On}, fixups.ReasonNone},
		{"bti j, any register", "63040091", "9f2403d5", 4, reloc.Env{Dead: fixups.MakeRegSet(9), GCS: reloc.On}, fixups.ReasonNone},
		{"bti c, another register", "63040091", "5f2403d5", 4, reloc.Env{Dead: fixups.MakeRegSet(9), GCS: reloc.On}, fixups.ReasonNoReach},
		{"bti without a kind", "63040091", "1f2403d5", 4, reloc.Env{Dead: dead16, GCS: reloc.On}, fixups.ReasonNoReach},
		{"paciasp, tail call", "10000014", "3f2303d5", 64, reloc.Env{Dead: dead16, GCS: reloc.On}, fixups.ReasonNone},
		{"call from the slot", "10000094", "3f2303d5", 64, reloc.Env{ABI: reloc.ABICall, Return: fixups.ReturnsSlot, GCS: reloc.Off}, fixups.ReasonNone},
		{"call from the slot to bti j", "10000094", "9f2403d5", 64, reloc.Env{ABI: reloc.ABICall, Return: fixups.ReturnsSlot, GCS: reloc.Off}, fixups.ReasonNoReach},
	} {
		tt.env.Forms, tt.env.BTI = fixups.FormJump.Bit(), reloc.On
		tt.env.Code = &reloc.Text{Addr: testSite + uint64(tt.at), Data: unhex(t, tt.pad)}
		p, _, err := planOf(t, testSite, tt.site, tt.env)
		if reloc.ReasonOf(err) != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if err == nil && !p.Clobbers.Has(BTYPE) {
			t.Errorf("%s: the target is entered with another BTYPE, and the plan does not say so", tt.name)
		}
	}
}

// A program that calls in place of the copy pushes the return address onto the
// guarded control stack, and one behind a call from the slot puts it right there.
func TestPointsGCS(t *testing.T) {
	env := reloc.Env{GCS: reloc.On, BTI: reloc.Off, Return: fixups.ReturnsSlot, Dead: deadIP}
	far := []string{"shpush slot+0x8", "x30 = mov slot+0x8", "pc = mov site+0x40"}
	step := []string{"x30 = mov site+0x4", "t2 = shpop", "shpush site+0x4", "pc = mov site+0x40"}
	for _, tt := range []struct {
		form fixups.Form
		ret  fixups.Returns
		want []string
	}{{fixups.FormJump, fixups.ReturnsSlot, far}, {fixups.FormStep, fixups.ReturnsOriginal, step}} {
		env.Forms, env.Return = tt.form.Bit(), tt.ret
		p, _, err := planOf(t, testSite, "10000094", env)
		if err != nil {
			t.Fatal(err)
		}
		pt := &p.Points[1]
		if got := pt.Forward.Format(A64.info.Regs); pt.Off != 4 || !slices.Equal(got, tt.want) || p.Needs&fixups.NeedsShadowStack == 0 {
			t.Errorf("%v: at %d %q, needs %v; want %q", tt.form, pt.Off, got, p.Needs, tt.want)
		}
	}
}
