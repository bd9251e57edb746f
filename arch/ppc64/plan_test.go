package ppc64

import (
	"encoding/hex"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
	"strings"
	"testing"

	"github.com/xol-go/xol/reloc/reloctest"
)

// The addresses of the tests: near slots are 1 MiB away, far ones 62 TiB.
const (
	testSite = 0x7f1200400000
	testNear = testSite + 0x100000
	testFar  = 0x400000500000
)

// familyWords has instructions of every family, as words in hexadecimal.
var familyWords = []string{
	"48000100", "48000101", "48000102", "48000103", "48000000", "48000005", "4bfffffc", "4a000000", "49fffffd",
	"41820040", "41820041", "41821002", "41821003", "4200fff8", "4200fff9", "42400010", "410a0040", "400a0041", "42000000",
	"42800010", "42800011", "429f0005", "429f0009", "42800013", "42800012", "41828000", "41827ffc",
	"4e800020", "4e800021", "4d820020", "4d820021", "4e000020", "4e000021", "4c420020", "4d0a0021",
	"4e800420", "4e800421", "4d820420", "4d820421", "4e800460", "4e800461", "4d820460", "4d820461", "4e000460", "4e000461",
	"4c98ffc4", "4c600004", "4c000005", "4d5f7fc5",
	"0610000138602345", "06100001380023 45", "0613ffff3bfffff8",
	"0410000064600100", "04100000e4600100", "04100000e4000100", "04100000e4200100", "0613ffff80a0fe00", "04100000a4600100", "06100000a8600100",
	"04100000f4600100", "04100000f4200100", "06100000d8200100", "04100000c8600100", "04100000e0400100", "04100000f0400100", "04100000e8400100",
	"0400000 0e4610100", "0700000000000000", "0600000038600000", "60000000",
	"44000002", "44000022", "44000001", "7fe00008", "0c640000", "08640001", "7c632008",
	"00000200", "4c000024", "4c000224", "4c000124", "4c0002e4", "7c60 00a6", "7c600164", "7c610164", "7c600124",
	"7c00051d", "7c00055d", "7c00071d", "7c0007dd", "7c00003c", "7c6418 28", "7c6418ad", "7c6903a6", "f821ff81", "e8610010", "7c0802a6", "bbc10000",
	"7c7f42a6",
}

// inputs are the words in a byte order.
func (a *Arch) inputs(t testing.TB) (in [][]byte) {
	for _, s := range familyWords {
		in = append(in, a.unhex(t, s))
	}
	return in
}

// unhex turns words into bytes of the byte order.
func (a *Arch) unhex(t testing.TB, s string) []byte {
	t.Helper()
	var clean []byte
	for i := range s {
		if s[i] != ' ' {
			clean = append(clean, s[i])
		}
	}
	b, err := hex.DecodeString(string(clean))
	if err != nil || len(b)%4 != 0 {
		t.Fatalf("%s: %v", s, err)
	}
	if a.big {
		return b
	}
	for i := 0; i < len(b); i += 4 {
		b[i], b[i+1], b[i+2], b[i+3] = b[i+3], b[i+2], b[i+1], b[i]
	}
	return b
}

// words turns bytes of the byte order into words.
func (a *Arch) words(b []byte) string {
	c := make([]byte, len(b))
	for i := 0; i+4 <= len(b); i += 4 {
		w := a.word(b[i:])
		for k := range 4 {
			c[i+k] = byte(w >> (24 - 8*k))
		}
	}
	return hex.EncodeToString(c)
}

var orders = []*Arch{BE, LE}

func TestConformance(t *testing.T) {
	for _, a := range orders {
		t.Run(a.info.Name, func(t *testing.T) {
			reloctest.TestArch(t, a, &reloctest.Options{Inputs: a.inputs(t), Random: 50})
		})
	}
}

var (
	near    = reloc.Env{Slots: reloc.SlotsNear}
	nearTo  = func(e reloc.Env) reloc.Env { e.Slots = reloc.SlotsNear; return e }
	spill   = reloc.Env{Spill: true}
	tar     = fixups.MakeRegSet(TAR)
	tarCTR  = fixups.MakeRegSet(TAR, CTR)
	farTAR  = reloc.Env{Spill: true, Dead: tar}
	kernel  = reloc.Env{Spill: true, Mode: reloc.ModeKernel}
	abiCall = reloc.Env{ABI: reloc.ABICall, Features: FeatureISA207}
	toSlot  = reloc.Env{Return: fixups.ReturnsSlot}
)

// jumpCode is the code of the jump form, as words, placed at testFar for a site at
// testSite, at testNear if near. Site+4 is 7f1200400004.
var jumpCode = []struct {
	name, site, want string
	env              reloc.Env
}{
	{"plain near", "38630001", "38630001 4bf00000", near},
	{"plain far, spill", "38630001", "f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8fcba6 e981fed8 38630001 4e800460", farTAR},
	{"plain far, r12 dead", "38630001", "3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8fcba6 38630001 4e800460", reloc.Env{Dead: fixups.MakeRegSet(TAR, R12)}},
	{"plain far, CTR keeps", "38630001", "7d8fcba6 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8903a6 7d8fcaa6 38630001 4e800420", reloc.Env{Dead: tarCTR}},
	{"plain far, kernel", "38630001", "f821fed1 f9810008 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8fcba6 e9810008 38210130 38630001 4e800460", reloc.Env{Spill: true, Mode: reloc.ModeKernel, Dead: tar}},
	{"mtctr far", "7c6903a6", "f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8fcba6 e981fed8 7c6903a6 4e800460", reloc.Env{Spill: true, Dead: tarCTR}},
	{"stdu r1 far", "f821ff81", "f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8fcba6 e981fed8 f821ff81 4e800460", farTAR},
	{"b near", "48000100", "4bf00100", near},
	{"b far", "48000100", "f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0100 7d8fcba6 e981fed8 4e800460", farTAR},
	{"ba", "48000102", "48000102", none},
	{"beq near", "41820040", "41820008 4bf00000 4bf00038", near},
	{"beq close", "41820040", "4182f040 4bfff000", reloc.Env{Slots: reloc.SlotsRange, SlotMin: 0x1000, SlotMax: 0x1000}},
	{"bdnz far", "4200fff8", "f981fed8 42000024 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8fcba6 e981fed8 4e800460 3d800000 618c7f12 798c07c6 658c003f 618cfff8 7d8fcba6 e981fed8 4e800460", farTAR},
	{"bca near", "41821002", "41821002 4bf00000", near},
	{"bl near, spill", "48000101", "f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8803a6 e981fed8 4bf000e0", nearTo(spill)},
	{"bl near, r12 dead", "48000101", "3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8803a6 4bf000e8", reloc.Env{Slots: reloc.SlotsNear, Dead: fixups.MakeRegSet(R12)}},
	{"bl near, by ABI", "48000101", "7d8903a6 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8803a6 7d8902a6 4bf000e0", nearTo(abiCall)},
	{"bl near, kernel", "48000101", "f821fed1 f9810008 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8803a6 e9810008 38210130 4bf000d8", nearTo(kernel)},
	{"bl near, slot", "48000101", "4bf00101 4bf00000", nearTo(toSlot)},
	{"bl far", "48000101", "f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0100 7d8fcba6 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8803a6 e981fed8 4e800460", farTAR},
	{"bl far, by ABI", "48000101", "7d8fcba6 3d800000 618c7f12 798c07c6 658c0040 618c0100 7d8903a6 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8803a6 7d8fcaa6 4e800420", abiCall},
	{"bl far, slot", "48000101", "7d8fcba6 3d800000 618c7f12 798c07c6 658c0040 618c0100 7d8803a6 7d8fcaa6 4e800021 f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8fcba6 e981fed8 4e800460", reloc.Env{Spill: true, Dead: tar, Return: fixups.ReturnsSlot}},
	{"bcl 20,31,$+4", "429f0005", "f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8803a6 e981fed8 4befffe4", nearTo(spill)},
	{"bcl 20,31,$+4, slot", "429f0005", "f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8803a6 e981fed8 4befffe4", reloc.Env{Slots: reloc.SlotsNear, Spill: true, Return: fixups.ReturnsSlot}},
	{"bcl cond near", "41820041", "f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8803a6 e981fed8 41820008 4befffe0 4bf00018", nearTo(spill)},
	{"bcl cond far", "41820041", "f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0040 7d8fcba6 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8803a6 e981fed8 41820008 4e800020 4e800460", farTAR},
	{"blr", "4e800020", "4e800020", none},
	{"beqlr near", "4d820020", "4d820020 4bf00000", near},
	{"bctrl near, by ABI", "4e800421", "3c000000 60007f12 780007c6 64000040 60000004 7c0803a6 4e800420", nearTo(abiCall)},
	{"bctrl near, spill", "4e800421", "f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8803a6 e981fed8 4e800420", nearTo(spill)},
	{"bctrl near, slot", "4e800421", "4e800421 4bf00000", nearTo(toSlot)},
	{"blrl near", "4e800021", "f981fed8 7d8802a6 7d8fcba6 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8803a6 e981fed8 4e800460", reloc.Env{Slots: reloc.SlotsNear, Spill: true, Dead: tar}},
	{"beqctrl far", "4d820421", "7d8fcba6 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8803a6 7d8fcaa6 4d820420 4e800020", farTAR},
	{"addpcis near", "4c601004", "4c780fc4 4bf00000", near},
	{"addpcis far", "4c601004", "4c600004 3c600000 60637f12 786307c6 64630040 60630004 7c6fcba6 3c600000 60637f12 786307c6 64631040 60630004 4e800460", reloc.Env{Dead: tar}},
	{"paddi near", "0610000138602345", "0613fff1 38602345 4bf00000", near},
	{"paddi far", "0610000138602345", "06100000 38600000 3c600000 60637f12 786307c6 64630040 60630008 7c6fcba6 3c600000 60637f12 786307c6 64630041 60632345 4e800460", reloc.Env{Dead: tar}},
	{"pld near", "04100000e4600100", "0413fff0 e4600100 4bf00000", near},
	{"pld far", "04100000e4600100", "f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0008 7d8fcba6 3d800000 618c7f12 798c07c6 658c0040 618c0100 04000000 e46c0000 e981fed8 4e800460", farTAR},
	{"pld far, own base", "04100000e4600100", "3c600000 60637f12 786307c6 64630040 60630008 7c6fcba6 3c600000 60637f12 786307c6 64630040 60630100 04000000 e4630000 4e800460", reloc.Env{AllowLost: true, Dead: tar}},
	{"pld r1 far", "04100000e4200100", "f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0008 7d8fcba6 3d800000 618c7f12 798c07c6 658c0040 618c0100 04000000 e58c0000 f981fed0 e981fed8 e821fed0 4e800460", farTAR},
	{"pstxv far", "04100000dc200100", "f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0008 7d8fcba6 3d800000 618c7f12 798c07c6 658c0040 618c0100 04000000 dc2c0000 e981fed8 4e800460", farTAR},
	{"pstd r12 far", "04100000f5800100", "f961fed8 3d600000 616b7f12 796b07c6 656b0040 616b0008 7d6fcba6 3d600000 616b7f12 796b07c6 656b0040 616b0100 04000000 f58b0000 e961fed8 4e800460", farTAR},
	{"sc near", "44000002", "44000002 4bf00000", near},
	{"scv near", "44000001", "44000001 f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8803a6 e981fed8 4befffe0", nearTo(spill)},
	{"scv far", "44000001", "44000001 f981fed8 3d800000 618c7f12 798c07c6 658c0040 618c0004 7d8803a6 e981fed8 4e800020", spill},
	{"trap near", "7fe00008", "7fe00008 4bf00000", near},
}

var none reloc.Env

func (a *Arch) planOf(t testing.TB, pc uint64, code string, env reloc.Env) (*reloc.Plan, *reloc.Insn, error) {
	t.Helper()
	var in reloc.Insn
	if err := a.Decode(&in, a.unhex(t, code), pc); err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	p := new(reloc.Plan)
	return p, &in, a.Plan(p, &in, &env)
}

func TestJumpCode(t *testing.T) {
	for _, a := range orders {
		for _, tt := range jumpCode {
			tt.env.Forms = fixups.FormJump.Bit()
			p, _, err := a.planOf(t, testSite, tt.site, tt.env)
			if err != nil {
				t.Errorf("%s: %s: %v", tt.name, tt.site, err)
				continue
			}
			at := fixups.Bases{Site: testSite, Slot: testFar}
			switch tt.env.Slots {
			case reloc.SlotsNear:
				at.Slot = testNear
			case reloc.SlotsRange:
				at.Slot = testSite + uint64(tt.env.SlotMin)
			}
			got, err := fixups.PlaceOrder(nil, p, at, a.info.Order(0))
			if h := a.words(got); err != nil || h != strings.ReplaceAll(tt.want, " ", "") {
				t.Errorf("%s: %s: %v\n got %s\nwant %s", tt.name, tt.site, err, h, tt.want)
			}
		}
	}
}

// What is refused, and why.
func TestRefusals(t *testing.T) {
	jump, step, emulate := fixups.FormJump.Bit(), fixups.FormStep.Bit(), fixups.FormEmulate.Bit()
	nearJump := reloc.Env{Forms: jump, Slots: reloc.SlotsNear}
	with := func(e reloc.Env, change func(*reloc.Env)) reloc.Env { change(&e); return e }
	for _, tt := range []struct {
		site string
		env  reloc.Env
		want fixups.Reason
	}{
		// A register is needed, and the caller gives none.
		{"48000101", nearJump, fixups.ReasonNoScratch},
		{"429f0005", nearJump, fixups.ReasonNoScratch},
		{"4e800421", nearJump, fixups.ReasonNoScratch},
		{"4e800021", with(nearJump, func(e *reloc.Env) { e.Spill = true }), fixups.ReasonNoScratch},
		{"44000001", nearJump, fixups.ReasonNoScratch},
		{"38630001", reloc.Env{Forms: jump, Spill: true}, fixups.ReasonNoScratch},
		{"38630001", reloc.Env{Forms: jump, Dead: tar}, fixups.ReasonNoScratch},
		{"38630001", reloc.Env{Forms: jump, Spill: true, Dead: tar, Lang: reloc.LangGo}, fixups.ReasonNoScratch},
		{"38630001", reloc.Env{Forms: jump, Spill: true, Dead: tar, Zone: reloc.Bytes{N: 1 << 15, Set: true}}, fixups.ReasonNoScratch},
		{"7def03a6", reloc.Env{Forms: jump, Spill: true, Dead: fixups.MakeRegSet(CTR), ABI: reloc.ABICall}, fixups.ReasonNone},
		{"4200fff8", reloc.Env{Forms: jump, Spill: true, Dead: fixups.MakeRegSet(CTR)}, fixups.ReasonNoScratch},
		{"44000002", reloc.Env{Forms: jump, Spill: true, Dead: fixups.MakeRegSet(CTR)}, fixups.ReasonNoScratch},
		{"04100000f5800100", reloc.Env{Forms: jump}, fixups.ReasonNoScratch},
		{"04100000f4200100", reloc.Env{Forms: jump, Spill: true, Dead: tar, Mode: reloc.ModeKernel}, fixups.ReasonNoScratch},
		// By design.
		{"38630001", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"04100000e0400100", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"44000002", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"7fe00008", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"7c00051d", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"4c600004", reloc.Env{Forms: emulate, Features: FeatureISA207}, fixups.ReasonNotEmulated},
		{"4c600004", reloc.Env{Forms: emulate, Features: FeatureISA300}, fixups.ReasonNone},
		{"4c600004", reloc.Env{Forms: emulate, Features: FeatureISA310}, fixups.ReasonNone},
		{"0700000060000000", reloc.Env{Forms: emulate, Features: FeatureISA300}, fixups.ReasonNotEmulated},
		{"0700000060000000", reloc.Env{Forms: emulate, Features: FeatureISA310}, fixups.ReasonNone},
		{"04100000e4600100", reloc.Env{Forms: emulate, Features: FeatureISA207 | FeatureISA300}, fixups.ReasonNotEmulated},
		{"04100000e4600100", reloc.Env{Forms: emulate, Features: FeatureISA310}, fixups.ReasonNone},
		{"4e800460", reloc.Env{Forms: emulate, Features: FeatureISA207}, fixups.ReasonNone},
		{"4c201004", reloc.Env{Forms: jump, Spill: true, Dead: tarCTR}, fixups.ReasonNoScratch}, // r1
		{"4c201004", nearJump, fixups.ReasonNone},
		{"0610000138202345", reloc.Env{Forms: jump, Spill: true, Dead: tarCTR}, fixups.ReasonNoScratch},
		{"7c641828", reloc.Env{Forms: step}, fixups.ReasonExclusive},
		{"7c00051d", nearJump, fixups.ReasonTransaction},
		{"7c00055d", reloc.Env{Forms: step}, fixups.ReasonTransaction},
		{"7c00055d", nearJump, fixups.ReasonNone},
		{"7c0007dd", with(nearJump, func(e *reloc.Env) { e.Mode = reloc.ModeKernel }), fixups.ReasonTransaction},
		// The system's.
		{"00000200", nearJump, fixups.ReasonPrivileged},
		{"4c000024", nearJump, fixups.ReasonNone},
		{"4c000024", with(nearJump, func(e *reloc.Env) { e.Mode = reloc.ModeKernel }), fixups.ReasonPrivileged},
		{"4c0002e4", with(nearJump, func(e *reloc.Env) { e.Mode = reloc.ModeKernel }), fixups.ReasonPrivileged},
		{"7c600164", with(nearJump, func(e *reloc.Env) { e.Mode = reloc.ModeKernel }), fixups.ReasonPrivileged},
		{"7c610164", with(nearJump, func(e *reloc.Env) { e.Mode = reloc.ModeKernel }), fixups.ReasonNone},
		{"7c610164", reloc.Env{Forms: step, Mode: reloc.ModeKernel}, fixups.ReasonNoStop},
		{"7c6000a6", reloc.Env{Forms: step, Mode: reloc.ModeKernel}, fixups.ReasonNoStop},
		{"44000001", reloc.Env{Forms: step, Mode: reloc.ModeKernel}, fixups.ReasonPrivileged},
		{"7fe00008", reloc.Env{Forms: step, Stop: fixups.StopTrap}, fixups.ReasonNoStop},
		{"4e800020", reloc.Env{Forms: step, Stop: fixups.StopTrap}, fixups.ReasonNoStop},
		{"4c000124", reloc.Env{Forms: step, Stop: fixups.StopTrap}, fixups.ReasonNoStop},
		{"48000101", reloc.Env{Forms: jump, Return: fixups.ReturnsSlot, Lang: reloc.LangGo}, fixups.ReasonReturnAddress},
	} {
		for _, a := range orders {
			_, _, err := a.planOf(t, testSite, tt.site, tt.env)
			if got := reloc.ReasonOf(err); got != tt.want {
				t.Errorf("%s %s %+v: %q, want %q", a.info.Name, tt.site, tt.env, got, tt.want)
			}
		}
	}
}

// TestABI: what each kind of site makes dead, and that it is declared.
func TestABI(t *testing.T) {
	for _, tt := range []struct {
		site     string
		env      reloc.Env
		clobbers fixups.RegSet
		stack    uint16
	}{
		{"48000101", nearTo(abiCall), fixups.MakeRegSet(CTR), 0},
		{"48000101", abiCall, tarCTR, 0},
		{"48000101", reloc.Env{Slots: reloc.SlotsNear, ABI: reloc.ABICall, Lang: reloc.LangGo, Features: FeatureISA207}, tar, 0},
		{"4e800421", nearTo(abiCall), fixups.MakeRegSet(R0), 0},
		{"38630001", reloc.Env{ABI: reloc.ABIEntry, Features: FeatureISA207}, tarCTR, 0},
		{"38630001", reloc.Env{ABI: reloc.ABICall, Features: FeatureISA207, Spill: true}, tar, 8},
		{"48000101", nearTo(spill), fixups.RegSet{}, 8},
		{"48000101", nearTo(kernel), fixups.RegSet{}, 16},
		{"48000101", reloc.Env{Slots: reloc.SlotsNear, Spill: true, OS: reloc.Darwin}, fixups.RegSet{}, 16},
		{"48000101", reloc.Env{Slots: reloc.SlotsNear, Spill: true, OS: reloc.Windows, Mode: reloc.ModeKernel}, fixups.RegSet{}, 16},
	} {
		tt.env.Forms = fixups.FormJump.Bit()
		for _, a := range orders {
			p, _, err := a.planOf(t, testSite, tt.site, tt.env)
			if err != nil || p.Clobbers != tt.clobbers || p.Stack != tt.stack {
				t.Errorf("%s %s %+v: %v, clobbers %x, stack %d", a.info.Name, tt.site, tt.env, err, p.Clobbers, p.Stack)
			}
		}
	}
	// Not every big-endian processor has TAR.
	env := reloc.Env{Forms: fixups.FormJump.Bit(), ABI: reloc.ABIEntry}
	for _, a := range orders {
		if _, _, err := a.planOf(t, testSite, "38630001", env); (err == nil) != (a == LE) {
			t.Errorf("%s: %v", a.info.Name, err)
		}
		if _, _, err := a.planOf(t, testSite, "4e800460", reloc.Env{Forms: fixups.FormEmulate.Bit()}); (err == nil) != (a == LE) {
			t.Errorf("%s: bctar emulated: %v", a.info.Name, err)
		}
		// In a kernel TAR is the user's.
		inKernel := reloc.Env{Forms: env.Forms, ABI: reloc.ABICall, Mode: reloc.ModeKernel, Spill: true, Features: FeatureISA207}
		if _, _, err := a.planOf(t, testSite, "38630001", inKernel); reloc.ReasonOf(err) != fixups.ReasonNoScratch {
			t.Errorf("%s in a kernel: %v", a.info.Name, err)
		}
	}
}

// TestZones: whatever the system, a spill is no nearer to the stack pointer than 288
// bytes, which compiled code has to itself (ELFv2, 2.2.2.4).
func TestZones(t *testing.T) {
	for _, a := range orders {
		for _, mode := range []reloc.Mode{reloc.ModeUser, reloc.ModeKernel} {
			for _, os := range []reloc.OS{reloc.Linux, reloc.Windows, reloc.Darwin} {
				env := reloc.Env{Mode: mode, OS: os}
				if zone, kept := env.ZoneOf(a.info); zone != 288 || kept < 288 {
					t.Errorf("%s, mode %d, system %d: %d, %d", a.info.Name, mode, os, zone, kept)
				}
			}
		}
	}
}

// TestReturnPolicy: a call that is there for its return address keeps it, whatever the
// caller asks for.
func TestReturnPolicy(t *testing.T) {
	for _, tt := range []struct {
		site string
		code string // at the target, site + 0x100
		want fixups.Returns
	}{
		{"48000101", "", fixups.ReturnsSlot},
		{"48000101", "7c0802a6 4e800020", fixups.ReturnsOriginal},
		{"48000101", "7c0802a6 f8010010", fixups.ReturnsSlot},
		{"48000005", "", fixups.ReturnsOriginal},
		{"429f0005", "", fixups.ReturnsOriginal},
		{"429f0101", "", fixups.ReturnsOriginal},
		{"42800101", "", fixups.ReturnsSlot},
		{"41820101", "", fixups.ReturnsOriginal},
		{"4e800421", "", fixups.ReturnsSlot},
		{"4d820421", "", fixups.ReturnsOriginal},
	} {
		for _, a := range orders {
			env := reloc.Env{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsNear, Spill: true, Return: fixups.ReturnsSlot}
			if tt.code != "" {
				env.Code = &reloc.Text{Addr: testSite + 0x100, Data: a.unhex(t, tt.code)}
			}
			p, _, err := a.planOf(t, testSite, tt.site, env)
			if err != nil || !p.IsCall || p.Returns != tt.want || (len(p.Escapes) == 1) != (tt.want == fixups.ReturnsSlot) {
				t.Errorf("%s %s: %v, returns %v, escapes %v", a.info.Name, tt.site, err, p.Returns, p.Escapes)
			}
		}
	}
}
