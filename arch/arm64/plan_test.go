package arm64

import (
	"encoding/hex"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// The addresses of the tests: near slots are 4 KiB away, far ones 85 TiB.
const (
	testSite = 0x7f1200400000
	testNear = testSite + 0x1000
	testFar  = 0x2a0000500000
)

var (
	dead16 = fixups.MakeRegSet(16)
	deadIP = fixups.MakeRegSet(16, 17)
	three  = fixups.MakeRegSet(15, 16, 17)
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func planOf(t testing.TB, pc uint64, code string, env reloc.Env) (*reloc.Plan, *reloc.Insn, error) {
	t.Helper()
	var in reloc.Insn
	if err := A64.Decode(&in, unhex(t, code), pc); err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	p := new(reloc.Plan)
	return p, &in, A64.Plan(p, &in, &env)
}

// jumpCode is the code of the jump form, placed at testFar for a site at testSite,
// at testNear unless far slots are asked for.
var jumpCode = []struct {
	name, site, want string
	env              reloc.Env
}{
	{"add", "63040091", "6304009100fcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"add, dead", "63040091", "630400917000005800025fd60000000004004000127f0000", reloc.Env{Dead: dead16}},
	{"add, dead, execute only", "63040091", "63040091900080d21008a0f250e2cff21000e0f200025fd6", reloc.Env{Dead: dead16, ExecuteOnly: true}},
	{"add x16, dead x16 and x17", "10060091", "100600917100005820025fd60000000004004000127f0000", reloc.Env{Dead: deadIP}},
	{"add, dead, BTI", "63040091", "630400917000005800025fd60000000004004000127f0000", reloc.Env{Dead: dead16, BTI: reloc.On, GCS: reloc.Off}},
	{"add, dead, GCS", "63040091", "630400917000005800021fd60000000004004000127f0000", reloc.Env{Dead: dead16, BTI: reloc.Off, GCS: reloc.On}},
	{"b", "10000014", "10fcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"b, dead", "10000014", "5000005800025fd640004000127f0000", reloc.Env{Dead: dead16}},
	{"b to itself", "00000014", "00fcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"b.eq", "00020054", "4000005400fcff170efcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"b.al", "0e020054", "2e0000540ffcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"b.nv", "0f020054", "2f0000540ffcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"bc.eq", "10020054", "5000005400fcff170efcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"bc.eq, dead", "10020054", "70000054b000005800025fd6b000005800025fd60000000004004000127f000040004000127f0000", reloc.Env{Dead: dead16}},
	{"b.eq, short", "00020054", "0082ff5400fcff17", reloc.Env{Slots: reloc.SlotsRange, SlotMin: 0x1000, SlotMax: 0x1000}},
	{"cbz x16", "d00000b4", "500000b400fcff1704fcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"cbz x16, dead", "d00000b4", "700000b4b000005800025fd6b000005800025fd60000000004004000127f000018004000127f0000", reloc.Env{Dead: dead16}},
	{"cbnz w3, execute only", "c3000035", "c3000035900080d21008a0f250e2cff21000e0f200025fd6100380d21008a0f250e2cff21000e0f200025fd6", reloc.Env{Dead: dead16, ExecuteOnly: true}},
	{"tbz x0, 33", "60000cb6", "400008b600fcff1701dcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"tbnz, short", "60000037", "6080073700fcff17", reloc.Env{Slots: reloc.SlotsRange, SlotMin: 0x1000, SlotMax: 0x1000}},
	{"cbge w1, w2", "41002274", "4100227400fcff1700fcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"cbhi w1, 5", "41804275", "61804275b000005800025fd6b000005800025fd60000000004004000127f000008004000127f0000", reloc.Env{Dead: dead16}},
	{"cbeq w1, 5, short", "4180c275", "4180c27500fcff1700fcff17", reloc.Env{Slots: reloc.SlotsRange, SlotMin: 0x1000, SlotMax: 0x1000}},
	{"bl", "10000094", "fefffff0de1300910efcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"bl, short", "10000094", "3e80ff100ffcff17", reloc.Env{Slots: reloc.SlotsRange, SlotMin: 0x1000, SlotMax: 0x1000}},
	{"bl, call", "10000094", "9e000058b000005800025fd60000000004004000127f000040004000127f0000", reloc.Env{ABI: reloc.ABICall}},
	{"bl, execute only", "10000094", "9e0080d21e08a0f25ee2cff21e00e0f2100880d21008a0f250e2cff21000e0f200025fd6", reloc.Env{Dead: dead16, ExecuteOnly: true}},
	{"bl slot", "10000094", "10fcff9700fcff17", reloc.Env{Slots: reloc.SlotsNear, Return: fixups.ReturnsSlot}},
	{"bl slot, call", "10000094", "9e000058c0033fd69000005800025fd640004000127f000004004000127f0000", reloc.Env{ABI: reloc.ABICall, Return: fixups.ReturnsSlot}},
	{"bl slot, call, execute only", "10000094", "1e0880d21e08a0f25ee2cff21e00e0f2c0033fd6900080d21008a0f250e2cff21000e0f200025fd6", reloc.Env{ABI: reloc.ABICall, Return: fixups.ReturnsSlot, ExecuteOnly: true}},
	{"bl next, slot", "01000094", "fefffff0de130091fffbff17", reloc.Env{Slots: reloc.SlotsNear, Return: fixups.ReturnsSlot}},
	{"blr x9", "20013fd6", "fefffff0de13009120015fd6", reloc.Env{Slots: reloc.SlotsNear}},
	{"blr x9, far", "20013fd6", "5e00005820015fd604004000127f0000", reloc.Env{}},
	{"blr x9, no page is guarded", "20013fd6", "5e00005820011fd604004000127f0000", reloc.Env{BTI: reloc.Off}},
	{"blr x9, dead", "20013fd6", "5e00005820015fd604004000127f0000", reloc.Env{Dead: dead16}},
	{"blr x16, BTI", "00023fd6", "5e00005800021fd604004000127f0000", reloc.Env{BTI: reloc.On}},
	{"blr x30, dead", "c0033fd6", "f0031eaa7e00005800021fd60000000004004000127f0000", reloc.Env{ABI: reloc.ABICall}},
	{"blr x30, slot", "c0033fd6", "c0033fd600fcff17", reloc.Env{Slots: reloc.SlotsNear, Return: fixups.ReturnsSlot}},
	{"blraa x8, x9", "09093fd7", "f00308aa3011c1da5e00005800021fd604004000127f0000", reloc.Env{ABI: reloc.ABICall}},
	{"blrab x8, sp", "1f0d3fd7", "f00308aaf017c1da5e00005800021fd604004000127f0000", reloc.Env{ABI: reloc.ABICall}},
	{"blraaz x8", "1f093fd6", "f00308aaf033c1da5e00005800021fd604004000127f0000", reloc.Env{ABI: reloc.ABICall}},
	{"blrabz x30", "df0f3fd6", "f0031eaaf037c1da5e00005800021fd604004000127f0000", reloc.Env{ABI: reloc.ABICall}},
	{"br x3", "60001fd6", "60001fd6", reloc.Env{}},
	{"ret", "c0035fd6", "c0035fd6", reloc.Env{}},
	{"braa", "1f091fd7", "1f091fd7", reloc.Env{}},
	{"retab", "ff0f5fd6", "ff0f5fd6", reloc.Env{}},
	{"retaasppcr x3", "e30b5fd6", "e30b5fd6", reloc.Env{}},
	{"adr x4", "a43f0010", "e4fffff084d01f91fffbff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"adr x4, short", "a43f0010", "a4bfff1000fcff17", reloc.Env{Slots: reloc.SlotsRange, SlotMin: 0x1000, SlotMax: 0x1000}},
	{"adr x4, dead", "a43f0010", "84000058b000005800025fd600000000f4074000127f000004004000127f0000", reloc.Env{Dead: dead16}},
	{"adr x4, execute only", "a43f0010", "84fe80d20408a0f244e2cff20400e0f2900080d21008a0f250e2cff21000e0f200025fd6", reloc.Env{Dead: dead16, ExecuteOnly: true}},
	{"adr xzr", "1f080010", "1f2003d500fcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"adrp x5", "05006090", "e5ff5ff000fcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"adrp x5, far end", "e5ff7ff0", "05009ed2e507a0f265e2cff20500e0f2fdfbff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"adrp x5, other end", "05008090", "050080d20508a0f225e2cff20500e0f2fdfbff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"adrp x5, dead", "05006090", "85000058b000005800025fd600000000000040c0127f000004004000127f0000", reloc.Env{Dead: dead16}},
	{"ldr w3, near", "e3ffff18", "e37fff1800fcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"ldr w3, short", "e3ffff18", "e37fff1800fcff17", reloc.Env{Slots: reloc.SlotsRange, SlotMin: 0x1000, SlotMax: 0x1000}},
	{"ldr w3, spill", "e3ffff18", "f00f1ff8f0ffffd010f23f91030240b9f00741f8fcfbff17", reloc.Env{Slots: reloc.SlotsNear, Spill: true}},
	{"ldr x16, spill", "10080058", "f10f1ff8f1fffff031020491300240f9f10741f8fcfbff17", reloc.Env{Slots: reloc.SlotsNear, Spill: true}},
	{"ldr w3, dead", "e3ffff18", "90000058030240b99000005800025fd6fcff3f00127f000004004000127f0000", reloc.Env{Dead: dead16}},
	{"ldr x5, own", "05080058", "e5fffff0a5000491a50040f9fefbff17", reloc.Env{Slots: reloc.SlotsNear, AllowLost: true}},
	{"ldrsw x5, own", "05080098", "e5fffff0a5000491a50080b9fefbff17", reloc.Env{Slots: reloc.SlotsNear, AllowLost: true}},
	{"ldr x5, lost or dead", "05080058", "90000058050240f99000005800025fd600014000127f000004004000127f0000", reloc.Env{AllowLost: true, Dead: dead16}},
	{"ldr xzr, spill", "1f080058", "f00f1ff8f0fffff0100204911f0240f9f00741f8fcfbff17", reloc.Env{Slots: reloc.SlotsNear, Spill: true}},
	{"ldr xzr, lost does not help", "1f080058", "1f88ff5800fcff17", reloc.Env{Slots: reloc.SlotsNear, AllowLost: true}},
	{"ldr x5, spill, zone 16", "05080058", "f00f1ef8f0fffff010020491050240f9f00742f8fcfbff17", reloc.Env{Slots: reloc.SlotsNear, Spill: true, Zone: reloc.Bytes{N: 16, Set: true}}},
	{"ldr q7, spill", "0708009c", "f00f1ff8f0fffff0100204910702c03df00741f8fcfbff17", reloc.Env{Slots: reloc.SlotsNear, Spill: true}},
	{"ldr s7, spill", "0708001c", "f00f1ff8f0fffff010020491070240bdf00741f8fcfbff17", reloc.Env{Slots: reloc.SlotsNear, Spill: true}},
	{"ldr d1, dead", "4100005c", "90000058010240fd9000005800025fd608004000127f000004004000127f0000", reloc.Env{Dead: dead16}},
	{"ldr q7, spill and dead", "0708009c", "900000580702c03d9000005800025fd600014000127f000004004000127f0000", reloc.Env{Spill: true, Dead: dead16}},
	{"prfm, short", "000800d8", "0088ffd800fcff17", reloc.Env{Slots: reloc.SlotsRange, SlotMin: 0x1000, SlotMax: 0x1000}},
	{"prfm", "000800d8", "1f2003d500fcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"autiasppc", "5f0080f3", "900000581e92c1da9000005800025fd6f8ff3f00127f000004004000127f0000", reloc.Env{Dead: dead16}},
	{"autibsppc, near", "5f00a0f3", "f0ffffd010e23f911e96c1dafefbff17", reloc.Env{Slots: reloc.SlotsNear, Dead: dead16}},
	{"autiasppc, known slot", "5f0080f3", "5f8080f300fcff17", reloc.Env{Slots: reloc.SlotsRange, SlotMin: 0x1000, SlotMax: 0x1000}},
	{"retabsppc", "5f002055", "50000058f00f5fd6f8ff3f00127f0000", reloc.Env{Dead: dead16}},
	{"paciasppc", "fea3c1da", "5f2403d5f1031eaaf0030091af000058fe8bc1dafe0311aa9000005800025fd600004000127f000004004000127f0000", reloc.Env{Dead: three}},
	{"pacnbibsppc", "fe87c1da", "f1031eaaf0030091effffff0ef010091fe8fc1dafe0311aafbfbff17", reloc.Env{Slots: reloc.SlotsNear, Dead: three}},
	{"svc", "010000d4", "010000d400fcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"brk", "200020d4", "200020d400fcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"tstart x0", "603023d5", "603023d500fcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"nop", "1f2003d5", "1f2003d500fcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"bti c", "5f2403d5", "5f2403d500fcff17", reloc.Env{Slots: reloc.SlotsNear}},
	{"mrs x0, elr_el1", "204038d5", "204038d500fcff17", reloc.Env{Slots: reloc.SlotsNear}},
}

func TestJumpCode(t *testing.T) {
	for _, tt := range jumpCode {
		tt.env.Forms = fixups.FormJump.Bit()
		p, _, err := planOf(t, testSite, tt.site, tt.env)
		if err != nil {
			t.Errorf("%s: %s: %v", tt.name, tt.site, err)
			continue
		}
		at := fixups.Bases{Site: testSite, Slot: testNear}
		if tt.env.Slots == reloc.SlotsFar {
			at.Slot = testFar
		}
		got, err := fixups.Place(nil, p, at)
		if h := hex.EncodeToString(got); err != nil || h != tt.want {
			t.Errorf("%s: %s:\n got %s %v\nwant %s", tt.name, tt.site, h, err, tt.want)
		}
	}
}

// TestReturnInSlot: the address that a call leaves in the slot is that of the way
// out, however long the code before it is, and whoever is stopped on the way there
// gets it too.
func TestReturnInSlot(t *testing.T) {
	for _, env := range []reloc.Env{
		{Slots: reloc.SlotsNear}, {ABI: reloc.ABICall}, {ABI: reloc.ABICall, ExecuteOnly: true},
	} {
		env.Forms, env.Return = fixups.FormJump.Bit(), fixups.ReturnsSlot
		p, _, err := planOf(t, testSite, "10000094", env)
		if err != nil || len(p.Escapes) != 1 {
			t.Fatalf("%v, %d escapes", err, len(p.Escapes))
		}
		back := p.Escapes[0].Off
		if pt := p.PointAt(uint64(back)); pt == nil || pt.State != fixups.StateDone {
			t.Errorf("nothing that ends at %d", back)
		}
		for i := range p.Points {
			pt := &p.Points[i]
			if pt.State == fixups.StatePart && pt.Forward[0].A != fixups.SlotPlus(int64(back)) {
				t.Errorf("from %d on, the call leaves %v, the way out is at %d", pt.Off, pt.Forward[0].A, back)
			}
		}
	}
}
