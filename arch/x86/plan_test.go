package x86

import (
	"encoding/hex"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// The addresses of the tests: near slots are 1 MiB away, far ones 85 TiB.
const (
	testSite   = 0x7f1200400000
	testNear   = testSite + 0x100000
	testFar    = 0x2a0000500000
	testSite32 = 0x400000
	testSlot32 = 0xf0000000
)

func planOf(t testing.TB, a *Arch, pc uint64, code string, env reloc.Env) (*reloc.Plan, *reloc.Insn, error) {
	t.Helper()
	var in reloc.Insn
	if err := a.Decode(&in, unhex(t, code), pc); err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	p := new(reloc.Plan)
	return p, &in, a.Plan(p, &in, &env)
}

var (
	spill = reloc.Env{Spill: true}
	none  = reloc.Env{}
)

var (
	near = reloc.Env{Slots: reloc.SlotsNear}
	slot = reloc.Env{Return: fixups.ReturnsSlot}

	data     = reloc.Env{Data: true, Private: true}
	dataSlot = reloc.Env{Data: true, Private: true, Return: fixups.ReturnsSlot}
)

// jumpCode is the code of the jump form, placed at testFar for a site at testSite,
// at testNear if near. The constants are the site's end, 0x7f12004000xx, and what
// the displacements name.
var jumpCode = []struct {
	name, site, want string
	env              reloc.Env
}{
	{"lea r11", "4c8d1d00010000", "49bb07014000127f0000" + "ff250000000007004000127f0000", none},
	{"lea r9d", "448d0d00010000", "41b907014000" + "ff250000000007004000127f0000", none},
	{"lea cx", "668d0d00010000", "66b90701" + "ff250000000007004000127f0000", none},
	{"lea rsp", "488d2500010000", "48bc07014000127f0000" + "ff250000000007004000127f0000", none},
	{"lea r16", "d5408d0500010000", "d510b808014000" + "ff250000000008004000127f0000", none},
	{"mov rax", "488b0500010000", "48a107014000127f0000" + "ff250000000007004000127f0000", none},
	{"mov store ax", "66890500010000", "66a307014000127f0000" + "ff250000000007004000127f0000", none},
	{"mov fs", "64488b0500010000", "6448a108014000127f0000" + "ff250000000008004000127f0000", none},
	{"mov rcx", "488b0d00010000", "489148a107014000127f00004891" + "ff250000000007004000127f0000", none},
	{"mov r9", "4c8b0d00010000", "499148a107014000127f00004991" + "ff250000000007004000127f0000", none},
	{"mov ah", "8a2500010000", "86e0a006014000127f000086e0" + "ff250000000006004000127f0000", none},
	{"mov store ch", "882d00010000", "86e8a206014000127f000086e8" + "ff250000000006004000127f0000", none},
	{"movzx ecx", "0fb60d00010000", "4891a007014000127f00000fb6c04891" + "ff250000000007004000127f0000", none},
	{"movsxd rdi", "48633d00010000", "4897a107014000127f00004863c04897" + "ff250000000007004000127f0000", none},
	{"cmpxchg", "0fb10d00010000", "488d642480" + "56" + "48be07014000127f0000" + "0fb10e" + "5e" + "488da42480000000" + "ff250000000007004000127f0000", spill},
	{"lock cmpxchg16b", "f0480fc70d00010000", "488d642480" + "56" + "48be09014000127f0000" + "f0480fc70e" + "5e" + "488da42480000000" + "ff250000000009004000127f0000", spill},
	{"mulx rsi,rdi", "c4e2c3f63500010000", "488d642480" + "53" + "48bb09014000127f0000" + "c4e2c3f633" + "5b" + "488da42480000000" + "ff250000000009004000127f0000", spill},
	{"cmp rsp", "48392500010000", "488d642480" + "5657" + "488dbc2490000000" + "48be07014000127f0000" + "48393e" + "5f5e" + "488da42480000000" + "ff250000000007004000127f0000", spill},
	{"add rsp", "48032500010000", "488da42478ffffff" + "5657" + "488dbc2498000000" + "48be07014000127f0000" + "48033e" + "48897c2410" + "5f5e5c" + "ff250000000007004000127f0000", spill},
	{"push", "ff3500010000", "488d642480" + "50" + "48a106014000127f0000" + "4889842480000000" + "58" + "488d642478" + "ff250000000006004000127f0000", spill},
	{"pop", "8f0500010000", "488d642480" + "50" + "488b842488000000" + "48a306014000127f0000" + "58" + "488da42488000000" + "ff250000000006004000127f0000", spill},
	{"jmp", "ff2500010000", "488d642480" + "50" + "48a106014000127f0000" + "48870424" + "c28000", spill},
	{"call original", "ff1500010000", "488d642480" + "50" + "48a106014000127f0000" + "48870424" + "ff3513000000" + "8f842480000000" + "488da42480000000" + "ff642480" + "06004000127f0000", spill},
	{"call slot", "ff1500010000", "488d642480" + "50" + "48a106014000127f0000" + "4889842480000000" + "58" + "488da42480000000" + "ff5424f8" + "ff250000000006004000127f0000", reloc.Env{Spill: true, Return: fixups.ReturnsSlot}},
	{"call [rax]", "ff10", "488d642480" + "ff30" + "ff3513000000" + "8f842480000000" + "488da42480000000" + "ff642480" + "02004000127f0000", spill},
	{"call [rsp+8]", "ff542408", "ff742408" + "c7042404004000" + "c7442404127f0000" + "ffa42410000000", none},
	{"call [rsp+rax]", "ff1404", "488d642480" + "ffb40480000000" + "ff3513000000" + "8f842480000000" + "488da42480000000" + "ff642480" + "03004000127f0000", spill},
	{"call [rbx], dead r11", "ff13", "4c8b1b" + "ff3503000000" + "41ffe3" + "02004000127f0000", reloc.Env{ABI: reloc.ABICall}},
	{"call fs:[r12+r13], dead r9", "6443ff142c", "644f8b0c2c" + "ff3503000000" + "41ffe1" + "05004000127f0000", reloc.Env{Dead: fixups.MakeRegSet(9)}},
	{"call [r18], dead rcx", "d510ff12", "d5188b0a" + "ff3502000000" + "ffe1" + "04004000127f0000", reloc.Env{Dead: fixups.MakeRegSet(RCX)}},
	{"call [rip], dead r11", "ff1500010000", "49bb06014000127f0000" + "4d8b1b" + "ff3503000000" + "41ffe3" + "06004000127f0000", reloc.Env{ABI: reloc.ABICall}},
	{"call [rip], dead r12", "ff1500010000", "49bc06014000127f0000" + "4d8b2424" + "ff3503000000" + "41ffe4" + "06004000127f0000", reloc.Env{Dead: fixups.MakeRegSet(12)}},
	{"call [rip], dead r13", "ff1500010000", "49bd06014000127f0000" + "4d8b6d00" + "ff3503000000" + "41ffe5" + "06004000127f0000", reloc.Env{Dead: fixups.MakeRegSet(13)}},
	{"call [rip], near, dead r11", "ff1500010000", "4c8b1dff00f0ff" + "ff3503000000" + "41ffe3" + "06004000127f0000", reloc.Env{Slots: reloc.SlotsNear, ABI: reloc.ABICall}},
	{"call notrack [rax], dead r11", "3eff10", "4c8b18" + "ff3504000000" + "3e41ffe3" + "03004000127f0000", reloc.Env{ABI: reloc.ABICall, IBT: reloc.On}},
	{"call rsp, dead r11", "ffd4", "4c8bdc" + "ff3503000000" + "41ffe3" + "02004000127f0000", reloc.Env{ABI: reloc.ABICall}},
	{"call [rbx], dead r11, execute only", "ff13", "4c8b1b" + "6802004000" + "c7442404127f0000" + "41ffe3", reloc.Env{ABI: reloc.ABICall, ExecuteOnly: true}},
	{"call next, slot", "e800000000", "ff350e000000" + "ff250000000005004000127f0000" + "05004000127f0000", slot},
	{"jmp, dead r11", "ff2500010000", "49bb06014000127f0000" + "41ff23", reloc.Env{ABI: reloc.ABIEntry}},
	{"jmp far, dead r11", "ff2d00010000", "49bb06014000127f0000" + "41ff2b", reloc.Env{ABI: reloc.ABIEntry}},
	{"call slot, dead r11", "ff1500010000", "49bb06014000127f0000" + "41ff13" + "ff250000000006004000127f0000", reloc.Env{ABI: reloc.ABICall, Return: fixups.ReturnsSlot}},
	{"call far, slot, Intel", "48ff18", "48ff18" + "ff250000000003004000127f0000", reloc.Env{Vendor: reloc.VendorIntel, Return: fixups.ReturnsSlot}},
	{"xbegin", "c7f810000000", "c7f80e000000" + "ff250000000006004000127f0000" + "ff250000000016004000127f0000", none},
	{"xbegin, near", "c7f810000000", "c7f81000f0ff" + "e9fbffefff", near},
	{"xbegin rel16, near", "66c7f80080", "c7f8ff7fefff" + "e9faffefff", near},
	{"xend", "0f01d5", "0f01d5" + "ff250000000003004000127f0000", none},
	{"xabort", "c6f801", "c6f801" + "ff250000000003004000127f0000", none},
	{"call rsp", "ffd4", "488d642480" + "50" + "488d842488000000" + "48870424" + "ff3513000000" + "8f842480000000" + "488da42480000000" + "ff642480" + "02004000127f0000", spill},
	{"call rsp, kernel", "ffd4", "54" + "ff3424" + "c744240802004000" + "c744240c127f0000" + "c3", reloc.Env{Spill: true, Mode: reloc.ModeKernel}},
	{"call [rax+8], kernel", "ff5008", "488d6424f8" + "ff7008" + "c744240803004000" + "c744240c127f0000" + "c3", reloc.Env{Spill: true, Mode: reloc.ModeKernel}},
	{"call [rsp+16], 66", "66ff542410", "ff742410" + "c7042405004000" + "c7442404127f0000" + "ffa42418000000", reloc.Env{Spill: true, Vendor: reloc.VendorIntel}},
	{"call [rsp+rax+16], 66", "66ff540410", "488d642480" + "ffb40490000000" + "ff3513000000" + "8f842480000000" + "488da42480000000" + "ff642480" + "05004000127f0000", reloc.Env{Spill: true, Vendor: reloc.VendorIntel}},
	{"call [rax], 66, void rex", "4166ff10", "488d642480" + "ff30" + "ff3513000000" + "8f842480000000" + "488da42480000000" + "ff642480" + "04004000127f0000", reloc.Env{Spill: true, Vendor: reloc.VendorIntel}},
	{"call [rip], 66, near, kernel", "66ff1500010000", "488d6424f8" + "ff35fc00f0ff" + "c744240807004000" + "c744240c127f0000" + "c3", reloc.Env{Slots: reloc.SlotsNear, Spill: true, Vendor: reloc.VendorIntel, Mode: reloc.ModeKernel}},
	{"call notrack [rax]", "3eff10", "488d642480" + "3eff30" + "ff3514000000" + "8f842480000000" + "488da42480000000" + "3eff642480" + "03004000127f0000", reloc.Env{Spill: true, IBT: reloc.On}},
	{"call [r12], short", "41ff1424", "41ff3424" + "c7042404004000" + "c7442404127f0000" + "41ff2424", reloc.Env{Short: true, Mode: reloc.ModeKernel}},
	{"call [rax], short", "ff10", "ff30" + "c7042402004000" + "c7442404127f0000" + "ff20", reloc.Env{Short: true}},
	{"call [rsp+16], short", "ff542410", "ff742410" + "c7042404004000" + "c7442404127f0000" + "ffa42418000000", reloc.Env{Short: true, Mode: reloc.ModeKernel}},
	{"push, zone 8", "ff3500010000", "488d6424f8" + "50" + "48a106014000127f0000" + "4889842408000000" + "58" + "ff250000000006004000127f0000", reloc.Env{Spill: true, Zone: reloc.Bytes{N: 8, Set: true}}},
	{"call rel", "e800010000", "ff350e000000" + "ff250000000005014000127f0000" + "05004000127f0000", none},
	{"call rel, execute only", "e800010000", "6805004000" + "c7442404127f0000" + "488d642480" + "6805014000" + "c7442404127f0000" + "c28000", reloc.Env{ExecuteOnly: true, Spill: true}},
	{"call rel slot", "e800010000", "ff150e000000" + "ff250000000005004000127f0000" + "05014000127f0000", slot},
	{"call r11", "41ffd3", "ff3503000000" + "41ffe3" + "03004000127f0000", none},
	{"jmp", "eb10", "ff250000000012004000127f0000", none},
	{"jmp, IBT", "eb10", "3eff250000000012004000127f0000", reloc.Env{IBT: reloc.On}},
	{"je", "7410", "750e" + "ff250000000012004000127f0000" + "ff250000000002004000127f0000", none},
	{"loop", "e210", "e20e" + "ff250000000002004000127f0000" + "ff250000000012004000127f0000", none},
	{"jecxz", "67e310", "67e30e" + "ff250000000003004000127f0000" + "ff250000000013004000127f0000", none},
	{"jmp near", "eb10", "e90d00f0ff", near},
	{"je near", "7410", "0f840c00f0ff" + "e9f7ffefff", near},
	{"call near", "e800010000", "ff3505000000" + "e9fa00f0ff" + "05004000127f0000", near},
	{"call near slot", "e800010000", "e80001f0ff" + "e9fbffefff", reloc.Env{Slots: reloc.SlotsNear, Return: fixups.ReturnsSlot}},
	{"add near", "48830500010000ff", "488305" + "0001f0ff" + "ff" + "e9fbffefff", near},
	{"jmp near [rip]", "ff2500010000", "ff250001f0ff", near},
	{"add eip-relative, far", "67480305f8ffffff", "67480305f8ffefff" + "ff250000000008004000127f0000", none},
	{"addsd, own base", "f30fb80500010000", "48b808014000127f0000" + "f30fb800" + "ff250000000008004000127f0000", reloc.Env{AllowLost: true}},
	{"add, dead r11", "480b0500010000", "49bb07014000127f0000" + "490b03" + "ff250000000007004000127f0000", reloc.Env{ABI: reloc.ABIEntry}},
	{"vaddps, dead r11", "c5fc580500010000", "49bb08014000127f0000" + "c4c17c5803" + "ff250000000008004000127f0000", reloc.Env{ABI: reloc.ABIEntry}},
	{"vaddps, dead r12", "c5fc580500010000", "49bc08014000127f0000" + "c4c17c580424" + "ff250000000008004000127f0000", reloc.Env{Dead: fixups.MakeRegSet(12)}},
	{"vaddps zmm, dead r13", "62f17c48580500010000", "49bd0a014000127f0000" + "62d17c48584500" + "ff25000000000a004000127f0000", reloc.Env{Dead: fixups.MakeRegSet(13)}},
	{"cmpxchg, data", "0fb10d00010000", "488935f90f0000" + "48be07014000127f0000" + "0fb10e" + "488b35e50f0000" + "ff250000000007004000127f0000", data},
	{"add rsp, data", "48032500010000", "488935f90f0000" + "48be07014000127f0000" + "480326" + "488b35e50f0000" + "ff250000000007004000127f0000", data},
	{"push, data", "ff3500010000", "488935f90f0000" + "48be06014000127f0000" + "ff36" + "488b35e60f0000" + "ff250000000006004000127f0000", data},
	{"jmp, data", "ff2500010000", "488905f90f0000" + "48a106014000127f0000" + "488905f00f0000" + "488b05e10f0000" + "ff25e30f0000", data},
	{"jmp notrack, data", "3eff2500010000", "488905f90f0000" + "48a107014000127f0000" + "488905f00f0000" + "488b05e10f0000" + "3eff25e20f0000", data},
	{"call slot, data", "ff1500010000", "488905f90f0000" + "48a106014000127f0000" + "488905f00f0000" + "488b05e10f0000" + "ff15e30f0000" + "ff250000000006004000127f0000", dataSlot},
	{"call, data", "ff1500010000", "488905f90f0000" + "48a106014000127f0000" + "488905f00f0000" + "48b806004000127f0000" + "50" + "488b05d60f0000" + "ff25d80f0000", data},
	{"call [r9+r12*4+8], data", "43ff54a108", "488905f90f0000" + "4b8b44a108" + "488905f50f0000" + "48b805004000127f0000" + "50" + "488b05db0f0000" + "ff25dd0f0000", data},
	{"call [r16], data", "d510ff10", "488905f90f0000" + "d5188b00" + "488905f60f0000" + "48b804004000127f0000" + "50" + "488b05dc0f0000" + "ff25de0f0000", data},
	{"call rsp, data", "ffd4", "488905f90f0000" + "488bc4" + "488905f70f0000" + "48b802004000127f0000" + "50" + "488b05dd0f0000" + "ff25df0f0000", data},
	{"call [fs:rax], bnd, near, data", "f264ff10", "488905f90f0000" + "64488b00" + "488905f60f0000" + "48b804004000127f0000" + "50" + "488b05dc0f0000" + "ff25de0f0000", reloc.Env{Data: true, Private: true, Slots: reloc.SlotsNear}},
	{"call rel, execute only, data", "e800010000", "6805004000" + "c7442404127f0000" + "c705f10f000005014000" + "c705eb0f0000127f0000" + "ff25e10f0000", reloc.Env{Data: true, Private: true, ExecuteOnly: true}},
	{"call rel slot, execute only, data", "e800010000", "c705fe0f000005014000" + "c705f80f0000127f0000" + "ff15ee0f0000" + "c705e40f000005004000" + "c705de0f0000127f0000" + "ff25d40f0000", reloc.Env{Data: true, Private: true, ExecuteOnly: true, Return: fixups.ReturnsSlot}},
	{"nop", "90", "90" + "ff250000000001004000127f0000", none},
	{"ret", "c20800", "c20800", none},
}

func TestJumpCode(t *testing.T) {
	for _, tt := range jumpCode {
		tt.env.Forms = fixups.FormJump.Bit()
		p, _, err := planOf(t, AMD64, testSite, tt.site, tt.env)
		if err != nil {
			t.Errorf("%s: %s: %v", tt.name, tt.site, err)
			continue
		}
		at := AMD64.testBases(testSite, testFar)
		if tt.env.Slots == reloc.SlotsNear {
			at = AMD64.testBases(testSite, testNear)
		}
		got, err := fixups.Place(nil, p, at)
		if h := hex.EncodeToString(got); err != nil || h != tt.want {
			t.Errorf("%s: %s:\n got %s %v\nwant %s", tt.name, tt.site, h, err, tt.want)
		}
	}
}

// Data in the lowest or highest 2 GiB, and between 2 and 4 GiB, is in reach from
// every slot. The check of the field holds if the site has moved up.
func TestLowData(t *testing.T) {
	for _, tt := range []struct {
		name, site, want string
		pc               uint64
	}{
		{"low", "c5fc580500010000", "c5fc580425" + "08114000", 0x401000},
		{"negative", "48810500ffffff78563412", "48810425" + "0b0f0081" + "78563412", 0xffffffff81001000},
		{"2 to 4 GiB", "0fb10d00010000", "670fb10d" + "ff0f80bf", 0x80001000},
		{"jmp", "48ff2500010000", "48ff2425" + "07114000", 0x401000},
		{"jmp, 2 to 4 GiB", "ff2500010000", "67ff25" + "ff0f80bf", 0x80001000},
	} {
		p, _, err := planOf(t, AMD64, tt.pc, tt.site, reloc.Env{Forms: fixups.FormJump.Bit()})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got, err := fixups.Place(nil, p, fixups.Bases{Site: tt.pc, Slot: 0x7f12c0800100})
		if h := hex.EncodeToString(got); err != nil || !strings.HasPrefix(h, tt.want) {
			t.Errorf("%s:\n got %s %v\nwant %s", tt.name, h, err, tt.want)
		}
		if !p.Far || p.Strategy != fixups.StrategyAbsolute {
			t.Errorf("%s: far %v, strategy %v", tt.name, p.Far, p.Strategy)
		}
		if _, err := fixups.Place(nil, p, fixups.Bases{Site: 0x7f12_0000_1000, Slot: 0x7f12c0800100}); err == nil {
			t.Errorf("%s: placed although the site has moved", tt.name)
		}
	}
}

// A return address between 2 and 4 GiB is not the sign extension of its low half.
func TestHighReturn(t *testing.T) {
	for _, tt := range []struct {
		site, want string
		env        reloc.Env
	}{
		{"e800010000", "ff350e000000" + "ff2500000000" + "050100b000000000" + "050000b000000000", none},
		{"e800010000", "68050000b0" + "c744240400000000" + "488d642480" + "68050100b0" + "c744240400000000" + "c28000", reloc.Env{ExecuteOnly: true, Spill: true}},
		{"ff5008", "488d6424f8" + "ff7008" + "c7442408030000b0" + "c744240c00000000" + "c3", reloc.Env{Spill: true, Mode: reloc.ModeKernel}},
	} {
		tt.env.Forms = fixups.FormJump.Bit()
		p, _, err := planOf(t, AMD64, 0xb0000000, tt.site, tt.env)
		if err != nil {
			t.Errorf("%s: %v", tt.site, err)
			continue
		}
		got, err := fixups.Place(nil, p, AMD64.testBases(0xb0000000, testFar))
		if h := hex.EncodeToString(got); err != nil || h != tt.want {
			t.Errorf("%s:\n got %s %v\nwant %s", tt.site, h, err, tt.want)
		}
	}
}

// In 32-bit mode every slot is in reach, modulo 2^32.
func TestJumpCode32(t *testing.T) {
	for _, tt := range []struct {
		name, site, want string
		env              reloc.Env
	}{
		{"jmp", "e900010000", "e900014010", none},
		{"call", "e800010000", "6805004000" + "e9fb004010", none},
		{"call slot", "e800010000", "e800014010" + "e9fbff3f10", reloc.Env{Return: fixups.ReturnsSlot}},
		{"call [ebx], short", "ff13", "ff33" + "c7042402004000" + "ff23", reloc.Env{Short: true}},
		{"16-bit loop", "66e210", "e205" + "e9fcff3f10" + "66e90800", none},
		{"16-bit call", "66e81000", "66680400" + "66e90c00", none},
		{"16-bit jmp", "66ebfe", "66e9fdff", none},
		{"16-bit je", "667410", "660f840e00" + "e9f9ff3f10", none},
		{"call [esp+4]", "ff542404", "ff742404" + "c7042404004000" + "ffa42408000000", none},
		{"call [esp+eax+4]", "ff540404", "8d6424fc" + "ffb40408000000" + "c744240404004000" + "c3", spill},
		{"16-bit call [esp]", "66ff1424", "66ff3424" + "66c704240400" + "66ffa42402000000", none},
		{"16-bit call [eax]", "66ff10", "8d6424fe" + "66ff30" + "66c74424020300" + "66c3", spill},
		{"16-bit call [ebx], short", "66ff13", "66ff33" + "66c704240300" + "66ff23", reloc.Env{Short: true}},
		{"16-bit call [eax], dead ecx", "66ff10", "0fb708" + "66680300" + "ffe1", reloc.Env{Dead: fixups.MakeRegSet(ECX)}},
		{"16-bit call sp", "66ffd4", "6654" + "66ff3424" + "66c74424020300" + "66c3", spill},
		{"call gs:[16], dead edx", "65ff1510000000", "658b1510000000" + "6807004000" + "ffe2", reloc.Env{Dead: fixups.MakeRegSet(EDX)}},
		{"call [bx+si], dead edx", "67ff10", "678b10" + "6803004000" + "ffe2", reloc.Env{Dead: fixups.MakeRegSet(EDX)}},
		{"call far, slot", "9a785634122300", "9a785634122300" + "e9fbff3f10", reloc.Env{Return: fixups.ReturnsSlot}},
		{"xbegin rel16", "66c7f81000", "c7f80f004010" + "e9faff3f10", none},
		{"call [gs:16], data", "65ff1510000000", "8905001000f0" + "658b0510000000" + "8905081000f0" + "b807004000" + "50" + "8b05001000f0" + "ff25081000f0", reloc.Env{Data: true, Private: true}},
	} {
		tt.env.Forms = fixups.FormJump.Bit()
		p, _, err := planOf(t, I386, testSite32, tt.site, tt.env)
		if err != nil {
			t.Errorf("%s: %s: %v", tt.name, tt.site, err)
			continue
		}
		got, err := fixups.Place(nil, p, I386.testBases(testSite32, testSlot32))
		if h := hex.EncodeToString(got); err != nil || h != tt.want {
			t.Errorf("%s: %s:\n got %s %v\nwant %s", tt.name, tt.site, h, err, tt.want)
		}
	}
}

// What is refused, and why.
func TestRefusals(t *testing.T) {
	jump, step, emulate := fixups.FormJump.Bit(), fixups.FormStep.Bit(), fixups.FormEmulate.Bit()
	for _, tt := range []struct {
		site string
		env  reloc.Env
		want fixups.Reason
	}{
		{"0fb10d00010000", reloc.Env{Forms: jump}, fixups.ReasonNoScratch},
		{"0fb10d00010000", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"01c0", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"8ed0", reloc.Env{}, fixups.ReasonAdjacent},
		{"cd2d", reloc.Env{Forms: jump, OS: reloc.Windows}, fixups.ReasonAdjacent},
		{"cd2d", reloc.Env{Forms: step, OS: reloc.Windows}, fixups.ReasonAdjacent},
		{"c7f800000000", reloc.Env{Forms: step}, fixups.ReasonTransaction},
		{"0f01d5", reloc.Env{Forms: step}, fixups.ReasonTransaction},
		{"0f01d5", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"ff18", reloc.Env{Forms: jump}, fixups.ReasonNoScratch},
		{"ff18", reloc.Env{Forms: jump, Return: fixups.ReturnsSlot}, fixups.ReasonReturnAddress},
		{"48ff18", reloc.Env{Forms: jump, Return: fixups.ReturnsSlot}, fixups.ReasonReturnAddress},
		{"48ff18", reloc.Env{Forms: jump, Return: fixups.ReturnsSlot, Vendor: reloc.VendorAMD}, fixups.ReasonReturnAddress},
		{"ff18", reloc.Env{Forms: step, SHSTK: reloc.On}, fixups.ReasonShadowStack},
		{"ff18", reloc.Env{Forms: step, Stop: fixups.StopTrap}, fixups.ReasonNoStop},
		{"6648ff18", reloc.Env{Forms: step}, fixups.ReasonVendor},
		{"ff18", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"ff28", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"cb", reloc.Env{Forms: emulate}, fixups.ReasonNotEmulated},
		{"ff2d00010000", reloc.Env{Forms: jump, Spill: true}, fixups.ReasonNoScratch},
		{"66e800000000", reloc.Env{}, fixups.ReasonVendor},
		{"667400", reloc.Env{}, fixups.ReasonVendor},
		{"f3e010", reloc.Env{Forms: emulate}, fixups.ReasonVendor},
		{"f2e110", reloc.Env{Forms: emulate}, fixups.ReasonVendor},
		{"66f3e010", reloc.Env{Forms: jump, Vendor: reloc.VendorAMD}, fixups.ReasonVendor},
		{"66f2e110", reloc.Env{Forms: step, Vendor: reloc.VendorAMD}, fixups.ReasonVendor},
		{"66c3", reloc.Env{Forms: emulate}, fixups.ReasonVendor},
		{"66ff2500010000", reloc.Env{Forms: jump, Spill: true, Zone: reloc.Bytes{Set: true}}, fixups.ReasonVendor},
		{"e800010000", reloc.Env{Forms: jump, SHSTK: reloc.On}, fixups.ReasonShadowStack},
		{"ffd0", reloc.Env{Forms: jump, SHSTK: reloc.On}, fixups.ReasonShadowStack},
		{"c3", reloc.Env{Forms: emulate, SHSTK: reloc.On}, fixups.ReasonShadowStack},
		{"ff2500010000", reloc.Env{Forms: jump, SHSTK: reloc.On, Spill: true}, fixups.ReasonShadowStack},
		{"ffd4", reloc.Env{Forms: jump}, fixups.ReasonNoScratch},
		{"ff10", reloc.Env{Forms: jump}, fixups.ReasonNoScratch},
		{"ff5424f8", reloc.Env{Forms: jump, Short: true}, fixups.ReasonNoScratch},
		{"eb00", reloc.Env{Forms: jump, ExecuteOnly: true}, fixups.ReasonNoScratch},
		{"c3", reloc.Env{Forms: step, Stop: fixups.StopTrap}, fixups.ReasonNoStop},
		{"66630500010000", reloc.Env{Forms: emulate}, fixups.ReasonVendor},
		{"66630500010000", reloc.Env{Forms: emulate, Vendor: reloc.VendorAMD}, fixups.ReasonVendor},
		{"66630500010000", reloc.Env{Forms: jump}, fixups.ReasonNoScratch},
		{"ffe0", reloc.Env{Forms: step, Stop: fixups.StopTrap}, fixups.ReasonNoStop},
		{"ff2500010000", reloc.Env{Forms: step, Stop: fixups.StopTrap}, fixups.ReasonNoStop},
		{"ff10", reloc.Env{Forms: step, Stop: fixups.StopTrap}, fixups.ReasonNoStop},
		{"ff9424ffffff7f", reloc.Env{Forms: jump, Spill: true}, fixups.ReasonNoScratch},
		{"ff9424f8ffff7f", reloc.Env{Forms: jump, Short: true, Mode: reloc.ModeKernel}, fixups.ReasonNoScratch},
		{"3e3e3e3e3e3e3e3e3e3e3eff542408", reloc.Env{Forms: jump, Spill: true, IBT: reloc.Off}, fixups.ReasonNoScratch},
		{"ff5424fc", reloc.Env{Forms: jump, Spill: true}, fixups.ReasonNoScratch},
		{"ff13", reloc.Env{Forms: jump, Spill: true, Zone: reloc.Bytes{N: math.MaxInt32, Set: true}}, fixups.ReasonNoScratch},
		{"e800010000", reloc.Env{Return: fixups.ReturnsSlot, Lang: reloc.LangGo, Forms: step | jump}, fixups.ReasonReturnAddress},
		{"90", reloc.Env{Forms: jump, Mode: reloc.ModeKernel, IBT: reloc.On}, fixups.ReasonNoReach},
		{"7410", reloc.Env{Forms: jump, Mode: reloc.ModeKernel, IBT: reloc.On}, fixups.ReasonNoReach},
		{"e800010000", reloc.Env{Forms: jump, Mode: reloc.ModeKernel, IBT: reloc.On, Return: fixups.ReturnsSlot}, fixups.ReasonNoReach},
		{"ff10", reloc.Env{Forms: jump, Mode: reloc.ModeKernel, IBT: reloc.On, Spill: true}, fixups.ReasonNoScratch},
		{"ff2500010000", reloc.Env{Forms: jump, IBT: reloc.On, SHSTK: reloc.Off, Spill: true}, fixups.ReasonNoScratch},
		{"480b0500010000", reloc.Env{Forms: jump, ABI: reloc.ABICall}, fixups.ReasonNoScratch},
		{"480b0500010000", reloc.Env{Forms: jump, Dead: fixups.MakeRegSet(RBP)}, fixups.ReasonNoScratch},
		{"f2480f2c2d00010000", reloc.Env{Forms: jump, AllowLost: true}, fixups.ReasonNoScratch},
	} {
		_, _, err := planOf(t, AMD64, testSite, tt.site, tt.env)
		if err != tt.want {
			t.Errorf("%s: %v, want %v", tt.site, err, tt.want)
		}
	}
}

// state is a machine with flat memory at one page.
type state struct {
	regs map[fixups.Reg]uint64
	mem  map[uint64]byte
}

func newState() *state { return &state{map[fixups.Reg]uint64{}, map[uint64]byte{}} }

func (s *state) Reg(r fixups.Reg) (uint64, bool)    { return s.regs[r], true }
func (s *state) SetReg(r fixups.Reg, v uint64) bool { s.regs[r] = v; return true }
func (s *state) ShadowPush(uint64) bool             { return true }
func (s *state) ShadowPop() (uint64, bool)          { return 0, false }
func (s *state) Load(addr uint64, b []byte) bool {
	for i := range b {
		b[i] = s.mem[addr+uint64(i)]
	}
	return true
}
func (s *state) Store(addr uint64, b []byte) bool {
	for i := range b {
		s.mem[addr+uint64(i)] = b[i]
	}
	return true
}

// emulated runs the emulate form from the given registers.
func emulated(t *testing.T, a *Arch, pc uint64, code string, regs map[fixups.Reg]uint64) *state {
	t.Helper()
	p, _, err := planOf(t, a, pc, code, reloc.Env{Forms: fixups.FormEmulate.Bit(), SHSTK: reloc.Off})
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	s := newState()
	for r, v := range regs {
		s.regs[r] = v
	}
	s.regs[fixups.RegPC] = pc
	var tmp fixups.Temps
	if err := fixups.Run(p.Emulate, s, &fixups.Bases{Site: pc}, &tmp, a.info.Bits); err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return s
}

// All conditions with all flags they can see (SDM volume 1, appendix B).
func TestEmulateConditions(t *testing.T) {
	for cc := range 16 {
		code := hex.EncodeToString([]byte{0x70 | byte(cc), 0x20})
		for n := range 32 {
			f := [5]bool{n&1 != 0, n&2 != 0, n&4 != 0, n&8 != 0, n&16 != 0}
			cf, pf, zf, sf, of := f[0], f[1], f[2], f[3], f[4]
			var flags uint64 = 2
			for i, bit := range [5]uint{0, 2, 6, 7, 11} {
				if f[i] {
					flags |= 1 << bit
				}
			}
			taken := [8]bool{of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of}[cc>>1] != (cc&1 != 0)
			want := uint64(testSite + 2)
			if taken {
				want += 0x20
			}
			s := emulated(t, AMD64, testSite, code, map[fixups.Reg]uint64{FLAGS: flags})
			if s.regs[fixups.RegPC] != want || s.regs[FLAGS] != flags {
				t.Errorf("%s with flags %#x: pc %#x, want %#x", code, flags, s.regs[fixups.RegPC], want)
			}
		}
	}
}

// LOOP counts first and tests then; with an address-size prefix it does so in
// ecx and clears the upper half.
func TestEmulateLoop(t *testing.T) {
	const zf = 1 << 6
	for _, tt := range []struct {
		code             string
		rcx, flags, want uint64
		taken            bool
	}{
		{"e2fe", 1, 0, 0, false},
		{"e2fe", 0, 0, math.MaxUint64, true},
		{"e2fe", 5, 0, 4, true},
		{"67e2fd", 0xffffffff00000001, 0, 0, false},
		{"67e2fd", 0xffffffff00000000, 0, 0xffffffff, true},
		{"e1fe", 5, zf, 4, true},
		{"e1fe", 5, 0, 4, false},
		{"e1fe", 1, zf, 0, false},
		{"e0fe", 5, 0, 4, true},
		{"e0fe", 5, zf, 4, false},
		{"e0fe", 1, 0, 0, false},
		{"e3fe", 0, 0, 0, true},
		{"e3fe", 1 << 32, 0, 1 << 32, false},
		{"67e3fd", 1 << 32, 0, 1 << 32, true},
	} {
		s := emulated(t, AMD64, testSite, tt.code, map[fixups.Reg]uint64{RCX: tt.rcx, FLAGS: tt.flags})
		want := uint64(testSite)
		if !tt.taken {
			want += uint64(len(tt.code) / 2)
		}
		if s.regs[RCX] != tt.want || s.regs[fixups.RegPC] != want {
			t.Errorf("%s rcx=%#x: rcx %#x pc %#x, want %#x %#x", tt.code, tt.rcx, s.regs[RCX], s.regs[fixups.RegPC], tt.want, want)
		}
	}
}

// random makes valid instructions out of random bytes, with a bias to what the
// families are about.
func random(rnd *rand.Rand, code *[16]byte, m64 bool) {
	for i := range code {
		code[i] = byte(rnd.Uint32())
	}
	heads := [...]string{"", "", "\xff", "\x8f\x05", "\x48\x8b", "\x4c\x8b", "\x0f\xb6", "\xe8", "\xe9", "\xeb", "\x74", "\x0f\x85", "\xe2",
		"\x66", "\xf3", "\xc5\xfc\x58\x05", "\xc4\xe2\x43\xf6\x3d", "\x62\xf1\x7c\x48\x58\x05", "\x67", "\xf0\x0f\xb1\x0d", "\xd8", "\x8f\xe9\x78\xe1\x05", "\xd5", "\xc5", "\xc4", "\x62", "\x62\xf4", "\x0f\x0f\x05", "\xc4\xe2\x7d\x18\x05", "\xd5\x7f", "\x62\xd1", "\x48\x0f\x38"}
	n := copy(code[:], heads[rnd.IntN(len(heads))])
	if rnd.IntN(3) == 0 {
		code[n+1] = code[n+1]&0x38 | 5 // a rip-relative operand, often
	}
}

var testEnvs = []reloc.Env{
	{}, {Slots: reloc.SlotsNear}, {Spill: true}, {Spill: true, Return: fixups.ReturnsSlot, IBT: reloc.On},
	{Slots: reloc.SlotsNear, Spill: true, Return: fixups.ReturnsSlot}, {Slots: reloc.SlotsNear, Spill: true, SHSTK: reloc.On},
	{AllowLost: true, ABI: reloc.ABIEntry}, {Dead: fixups.MakeRegSet(RAX, RBX, 8, 12, 13)}, {Short: true}, {Stop: fixups.StopTrap},
	{ExecuteOnly: true, Spill: true}, {Spill: true, Mode: reloc.ModeKernel, IBT: reloc.On}, {Spill: true, Lang: reloc.LangGo},
	{Spill: true, Zone: reloc.Bytes{N: 256, Set: true}}, {Vendor: reloc.VendorIntel}, {Slots: reloc.SlotsRange, SlotMin: -1 << 20, SlotMax: 1 << 20},
	{Slots: reloc.SlotsRange, SlotMin: -1 << 40, SlotMax: 1 << 20, SHSTK: reloc.On},
	{Data: true, Private: true}, {Data: true, Private: true, ExecuteOnly: true, IBT: reloc.On},
	{Data: true, Private: true, Slots: reloc.SlotsNear, Lang: reloc.LangGo},
}

func TestPlanProperties(t *testing.T) {
	n := 200_000
	if testing.Short() {
		n = 20_000
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	rebased = map[[2]int]int{}
	var p reloc.Plan
	plans := map[fixups.Form]int{}
	for range n {
		a, pc := AMD64, uint64(testSite)
		if rnd.IntN(3) == 0 {
			a, pc = I386, testSite32
		} else if rnd.IntN(8) == 0 {
			pc = 0x1000
		}
		var code [16]byte
		random(rnd, &code, a.m64)
		var in reloc.Insn
		if a.Decode(&in, code[:], pc) != nil {
			continue
		}
		env := testEnvs[rnd.IntN(len(testEnvs))]
		for _, f := range reloc.Order {
			env.Forms = f.Bit()
			if err := a.Plan(&p, &in, &env); err != nil {
				if len(p.Code) != 0 || p.SiteLen != 0 {
					t.Fatalf("%x %v: refused, and not empty", in.Raw(), f)
				}
				continue
			}
			plans[p.Form]++
			checkPlan(t, a, &in, &env, &p)
			if t.Failed() {
				t.Fatalf("%s %x %v %+v", a.info.Name, in.Raw(), f, env)
			}
		}
	}
	for _, f := range reloc.Order {
		if plans[f] < n/100 {
			t.Errorf("only %d plans of form %v", plans[f], f)
		}
	}
	for enc := encLegacy; enc <= enc3DNow; enc++ {
		for high := range 2 {
			if n := rebased[[2]int{enc, high}]; n < 10 && !testing.Short() {
				t.Errorf("only %d copies of encoding %d with another base, r8 to r15: %d", n, enc, high)
			}
		}
	}
}

// TestNearJump: the short way and the families say the same, whatever the storage
// held before, and what plans share is not written.
func TestNearJump(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	var mixed, slow reloc.Plan
	made := map[fixups.Class]int{}
	for range 200_000 {
		var code [16]byte
		var in reloc.Insn
		random(rnd, &code, true)
		if AMD64.Decode(&in, code[:], testSite) != nil {
			continue
		}
		env := testEnvs[rnd.IntN(len(testEnvs))]
		env.Slots, env.Forms = reloc.SlotsNear, fixups.FormJump.Bit()
		ins := in
		var fast reloc.Plan
		use := &mixed
		if rnd.IntN(8) == 0 {
			use = &fast
		}
		if !AMD64.nearJump(use, &ins, &env) {
			b := planner{p: use, in: &ins, env: &env, l: lay(&ins), a: AMD64}
			b.form(reloc.Order[rnd.IntN(len(reloc.Order))])
			continue
		}
		b := planner{p: &slow, in: &in, env: &env, l: lay(&in), a: AMD64}
		if r := b.form(fixups.FormJump); r != fixups.ReasonNone || !use.Equal(&slow) || in.Hazards != ins.Hazards {
			t.Fatalf("% x %+v: %v\n%+v\n%+v", in.Raw(), env, r, use, slow)
		}
		made[in.Class]++
	}
	for _, c := range []fixups.Class{fixups.ClassPlain, fixups.ClassPCRelative, fixups.ClassBranch, fixups.ClassCondBranch, fixups.ClassCall} {
		if made[c] < 100 {
			t.Errorf("only %d plans of class %v", made[c], c)
		}
	}
	for off, shared := range map[int]*[16][2]fixups.Point{0: &pointsCopy, 6: &pointsCond, 5: &pointsCall} {
		if !reflect.DeepEqual(makePoints(off), *shared) {
			t.Errorf("the shared boundaries with a tail at %d have been written", off)
		}
	}
}

// TestNearPTWRITE: ptwrite, plain by class, leaves pc in a trace; the short way
// leaves it to the families, which copy it.
func TestNearPTWRITE(t *testing.T) {
	var code [16]byte
	copy(code[:], unhex(t, "f30faee0"))
	var in reloc.Insn
	var p reloc.Plan
	if err := AMD64.Decode(&in, code[:], testSite); err != nil || in.Class != fixups.ClassPlain {
		t.Fatal(err, in.Class)
	}
	for _, slots := range []reloc.Slots{reloc.SlotsNear, reloc.SlotsFar} {
		env := reloc.Env{Forms: fixups.FormJump.Bit(), Slots: slots}
		if err := AMD64.Plan(&p, &in, &env); err != nil || p.Strategy != fixups.StrategyCopy {
			t.Errorf("slots %d: %v, %v", slots, err, p.Strategy)
		}
	}
}

// checkPlan holds a plan against what every plan must keep.
func checkPlan(t *testing.T, a *Arch, in *reloc.Insn, env *reloc.Env, p *reloc.Plan) {
	t.Helper()
	if p.SiteLen != in.Len || p.Strategy == fixups.StrategyNone {
		t.Errorf("site length %d, strategy %v", p.SiteLen, p.Strategy)
	}
	if p.Form == fixups.FormEmulate {
		if err := p.Emulate.CheckEmulate(); err != nil || len(p.Emulate) == 0 || len(p.Code) != 0 {
			t.Error("emulate:", err)
		}
		return
	}
	checkPrograms(t, p)
	checkBoundaries(t, a, p, env.Vendor)
	checkReach(t, a, in, p)
	checkRebased(t, a, in, p)
	if env.Slots == reloc.SlotsRange && (p.Reach.Min > env.SlotMin || p.Reach.Max < env.SlotMax) && a.m64 {
		t.Error("the range asked for is not in reach")
	}
	if env.Slots == reloc.SlotsFar && a.m64 && !p.Far {
		t.Error("a far slot is not in reach")
	}
	if env.SHSTK == reloc.On && p.IsCall && p.Form == fixups.FormJump && p.Returns == fixups.ReturnsOriginal && (&planner{in: in, l: lay(in)}).shadowed() {
		t.Error("a call that the shadow stack misses")
	}
}

func checkPrograms(t *testing.T, p *reloc.Plan) {
	t.Helper()
	var set uint8
	for i := range p.Pre {
		if p.Pre[i].Dst.Kind == fixups.OperandTemp {
			set |= 1 << p.Pre[i].Dst.Reg
		}
	}
	check := func(name string, q fixups.Program, set uint8) {
		if err := q.Check(set); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	check("pre", p.Pre, 0)
	check("post", p.Post, set)
	check("abort", p.Abort, set)
	var lost fixups.RegSet
	for i := range p.Points {
		pt := &p.Points[i]
		check("back", pt.Back, 0)
		check("forward", pt.Forward, 0)
		lost.Union(&pt.Lost)
		if pt.HasBack != (pt.Back != nil) || pt.HasForward != (pt.Forward != nil) {
			t.Errorf("point %d: presence of programs", pt.Off)
		}
		if set == 0 && (pt.State == fixups.StateStart && !pt.HasBack || pt.State != fixups.StateStart && !pt.HasForward) {
			t.Errorf("point %d: %v without its program", pt.Off, pt.State)
		}
		if i > 0 && pt.Off <= p.Points[i-1].Off {
			t.Errorf("point %d is out of order", pt.Off)
		}
	}
	if lost != p.Lost {
		t.Error("lost is not the union of the points'")
	}
}

// checkBoundaries decodes the slot code: its instructions are valid and start
// where there are points, and nowhere else.
func checkBoundaries(t *testing.T, a *Arch, p *reloc.Plan, v reloc.Vendor) {
	t.Helper()
	data := map[int]bool{}
	for i := range p.Relocs {
		if r := &p.Relocs[i]; r.Order == fixups.OrderData {
			data[int(r.Off)] = true
		}
	}
	n, last := 0, -1
	for off := 0; off < len(p.Code); {
		if data[off] {
			off += 8
			continue
		}
		var in reloc.Insn
		if err := a.DecodeFor(&in, p.Code[off:], testSite32, v); err != nil {
			t.Fatalf("slot code %x+%d: %v", p.Code, off, err)
		}
		if p.PointAt(uint64(off)) == nil {
			t.Errorf("slot code %x: no point at %d", p.Code, off)
		}
		last = off
		off += int(in.Len)
		n++
	}
	if n != len(p.Points) {
		t.Errorf("slot code %x: %d instructions, %d points", p.Code, n, len(p.Points))
	}
	if p.Form == fixups.FormStep && p.PointAt(uint64(p.CopyLen)) == nil || last < 0 {
		t.Errorf("no point where the stop is expected, %d", p.CopyLen)
	}
}

// rebased is how many copies with another base checkRebased has seen, by encoding
// and by whether the base is r8 to r15.
var rebased map[[2]int]int

// checkRebased decodes a copy whose operand is in a scratch register: it is the
// site's encoding, of which the scratch register is the only thing that is new.
func checkRebased(t *testing.T, a *Arch, in *reloc.Insn, p *reloc.Plan) {
	t.Helper()
	if in.Class != fixups.ClassPCRelative || p.Strategy != fixups.StrategyDeadReg && (p.Strategy != fixups.StrategyOwnDest || p.Lost.IsEmpty()) {
		return
	}
	code, base := p.Code, fixups.RegNone
	if p.Form == fixups.FormStep {
		base = p.Pre[len(p.Pre)-1].Dst.Reg
	} else {
		base = a.general(int(code[0]&1)<<3 | int(code[1]&7)) // of the mov before
		code = code[p.Points[1].Off:]
	}
	var out reloc.Insn
	if err := a.Decode(&out, code, testSite); err != nil {
		t.Errorf("copy %x: %v", code, err)
		return
	}
	var was, is reloc.RegUse
	a.Registers(&was, in)
	a.Registers(&is, &out)
	if was.Reads.Has(base) || was.Writes.Has(base) && p.Strategy == fixups.StrategyDeadReg {
		t.Errorf("copy %x: the instruction uses %s", code, a.info.Regs.Name(base))
	}
	was.Reads.Add(base)
	from, to := lay(in), lay(&out)
	if was != is || in.Row != out.Row || from.seg() != to.seg() || from.aaa() != to.aaa() || from.bc() != to.bc() ||
		from.opSize() != to.opSize() || out.Class != fixups.ClassPlain && out.Class != in.Class {
		t.Errorf("copy %x says something else: %+v, %+v", code, was, is)
	}
	high := 0
	if base >= 8 && base < 16 {
		high = 1
	}
	rebased[[2]int{from.enc(), high}]++
}

// testBases are a site, a slot, and data a page from it, which wraps around in the
// address space as the slot does.
func (a *Arch) testBases(site, slot uint64) fixups.Bases {
	return fixups.Bases{Site: site, Slot: slot, Data: (slot + 0x1000) & a.branchWrap}
}

// checkReach places the plan at the ends of its reach, where it must fit, and one
// byte beyond, where it must not.
func checkReach(t *testing.T, a *Arch, in *reloc.Insn, p *reloc.Plan) {
	t.Helper()
	place := func(d int64) error {
		_, err := fixups.Place(nil, p, a.testBases(in.PC, in.PC+uint64(d)))
		return err
	}
	fields := func(d int64) bool { // do the fields fit, whatever Reach says
		q := *p
		q.Reach = fixups.Reach{Min: math.MinInt64, Max: math.MaxInt64}
		_, err := fixups.Place(nil, &q, a.testBases(in.PC, in.PC+uint64(d)))
		return err == nil
	}
	r := p.Reach
	if err := place(r.Min); err != nil {
		t.Errorf("at the lower end of the reach: %v", err)
	}
	if err := place(r.Max); err != nil {
		t.Errorf("at the upper end of the reach: %v", err)
	}
	if !a.m64 || p.Far {
		return
	}
	if place(r.Min-1) == nil || place(r.Max+1) == nil {
		t.Error("placed out of reach")
	}
	if fields(r.Min-1) || fields(r.Max+1) {
		t.Error("the reach could be larger")
	}
}

// Warm storage is enough for every plan and every refusal.
func TestPlanAllocations(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var ins []reloc.Insn
	for len(ins) < 400 {
		var code [16]byte
		var in reloc.Insn
		random(rnd, &code, true)
		if AMD64.Decode(&in, code[:], testSite) == nil {
			ins = append(ins, in)
		}
	}
	p := new(reloc.Plan)
	dst := make([]byte, 0, 256)
	all := func() {
		for i := range ins {
			for j := range testEnvs {
				for _, f := range reloc.Order {
					testEnvs[j].Forms = f.Bit()
					if AMD64.Plan(p, &ins[i], &testEnvs[j]) == nil {
						_, _ = fixups.Place(dst, p, AMD64.testBases(testSite, testNear))
					}
				}
			}
		}
	}
	if n := testing.AllocsPerRun(2, all); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
