package x86

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Vectors with which other decoders are known to have trouble.
func TestDecodeVectors(t *testing.T) {
	for _, tt := range []struct {
		code, name string
		len        int
		dispOff    int
		target     uint64 // if not 0
	}{
		{"c5f877c3", "vzeroupper", 3, 0, 0},
		{"c5fc280578563412", "vmovaps", 8, 4, 0x1008 + 0x12345678},
		{"62f17c48100578563412", "vmovups", 10, 6, 0x100a + 0x12345678},
		{"67488b0578563412", "mov", 8, 4, 0x1008 + 0x12345678},
		{"67c5f8280500000000", "vmovaps", 9, 5, 0x1009},
		{"64c5f82800", "vmovaps", 5, 0, 0},
		{"f30f1efa", "endbr64", 4, 0, 0},
		{"660f38f6c8", "adcx", 5, 0, 0},
		{"62f57c4858c1", "vaddph", 6, 0, 0},
		{"c4e31968248240", "vfmaddps", 7, 0, 0},
		{"8fe878c2c010", "vprotd", 6, 0, 0},
		{"0f0d8600010000", "prefetch", 7, 3, 0},
		{"4889c390", "mov", 3, 0, 0},
		{"e800000080", "call", 5, 0, 0xffffffff80001005},
		{"7ffe", "jg", 2, 0, 0x1000},
		{"d500a10807060504030201", "jmpabs", 11, 0, 0x0102030405060708},
	} {
		var in reloc.Insn
		if err := AMD64.Decode(&in, unhex(t, tt.code), 0x1000); err != nil {
			t.Errorf("%s: %v after %d bytes", tt.code, err, in.Len)
			continue
		}
		if got := makeRow(in.Row).Name; int(in.Len) != tt.len || got != tt.name {
			t.Errorf("%s: %s of %d bytes, want %s of %d", tt.code, got, in.Len, tt.name, tt.len)
		}
		if l := lay(&in); tt.dispOff != 0 && l.dispOff() != tt.dispOff {
			t.Errorf("%s: displacement at %d, want %d", tt.code, l.dispOff(), tt.dispOff)
		}
		if tt.target != 0 && in.Target != tt.target {
			t.Errorf("%s: target %#x, want %#x", tt.code, in.Target, tt.target)
		}
	}
}

// The short way through common code answers as the long one does.
func TestShortWayAgrees(t *testing.T) {
	for _, a := range arches {
		rnd := rand.New(rand.NewPCG(5, 6)).Uint64
		for range 500000 {
			var code [16]byte
			if rnd()&1 == 0 {
				copy(code[:], a.AppendRandom(nil, rnd))
			} else {
				binary.LittleEndian.PutUint64(code[:], rnd())
			}
			binary.LittleEndian.PutUint64(code[8:], binary.LittleEndian.Uint64(code[8:])^rnd())
			got, want := reloc.Insn{}, reloc.Insn{PC: 0x1000}
			err := a.Decode(&got, code[:], 0x1000)
			if wantErr := a.decode(&want, &code, 16); err != wantErr || got != want {
				t.Fatalf("%s: %x: %v, %v\n%+v\n%+v", a.info.Name, code, err, wantErr, got, want)
			}
		}
	}
}

// What prefixes change: length, class, hazards and target.
func TestDecodePrefixes(t *testing.T) {
	const vendor, pad = fixups.HazardVendor, fixups.HazardLandingPad
	for _, tt := range []struct {
		arch        *Arch
		code        string
		len, altLen uint8
		class       fixups.Class
		target      uint64
		has, hasNot fixups.Hazard
	}{
		{AMD64, "66e811223344", 6, 4, fixups.ClassCall, 0x44332211 + 0x1006, vendor, pad},
		{AMD64, "660f8011223344", 7, 5, fixups.ClassCondBranch, 0x44332211 + 0x1007, vendor, pad},
		{AMD64, "66eb10", 3, 0, fixups.ClassBranch, 0x1013, vendor, pad},
		{AMD64, "6648e811223344", 7, 0, fixups.ClassCall, 0x44332211 + 0x1007, fixups.HazardPushesPC, vendor},
		{AMD64, "6648c3", 3, 0, fixups.ClassReturn, 0, fixups.HazardShadowStack, vendor},
		{AMD64, "66c3", 2, 0, fixups.ClassReturn, 0, vendor, pad},
		{AMD64, "66ffd0", 3, 0, fixups.ClassIndirectCall, 0, vendor, fixups.HazardRepeats},
		{AMD64, "ffd0", 2, 0, fixups.ClassIndirectCall, 0, pad, vendor},
		{AMD64, "3effd0", 3, 0, fixups.ClassIndirectCall, 0, fixups.HazardPushesPC, pad},
		{AMD64, "643effd0", 4, 0, fixups.ClassIndirectCall, 0, pad, vendor},
		{AMD64, "48ff2c24", 4, 0, fixups.ClassIndirectBranch, 0, vendor, fixups.HazardRepeats},
		{AMD64, "f3a4", 2, 0, fixups.ClassPlain, 0, fixups.HazardRepeats, vendor},
		{AMD64, "f2f00fb10b", 5, 0, fixups.ClassPlain, 0, fixups.HazardTransaction, fixups.HazardRepeats},
		{AMD64, "f38603", 3, 0, fixups.ClassPlain, 0, fixups.HazardTransaction, fixups.HazardRepeats},
		{AMD64, "f30fb10b", 4, 0, fixups.ClassPlain, 0, 63, fixups.HazardTransaction},
		{AMD64, "f390", 2, 0, fixups.ClassPlain, 0, 63, fixups.HazardRepeats},
		{AMD64, "66c7f81122", 5, 0, fixups.ClassTransaction, 0x1005 + 0x2211, fixups.HazardTransaction, vendor},
		{AMD64, "678d0511223344", 7, 0, fixups.ClassPCRelative, 0x44332211 + 0x1007, fixups.HazardReadsPC, vendor},
		{AMD64, "ff1511223344", 6, 0, fixups.ClassIndirectCall, 0x44332211 + 0x1006, fixups.HazardReadsPC, vendor},
		{I386, "66e81122", 4, 0, fixups.ClassCall, 0x2211 + 0x1004, fixups.HazardPushesPC, vendor},
		{I386, "66e900f0", 4, 0, fixups.ClassBranch, 4, 63, vendor},
		{I386, "e900f0ffff", 5, 0, fixups.ClassBranch, 5, 63, vendor},
		{I386, "66c7f800f0", 5, 0, fixups.ClassTransaction, 5, fixups.HazardTransaction, vendor},
		{I386, "8b0511223344", 6, 0, fixups.ClassPlain, 0, 63, fixups.HazardReadsPC},
	} {
		var in reloc.Insn
		code := unhex(t, tt.code)
		if err := tt.arch.Decode(&in, code, 0x1000); err != nil {
			t.Errorf("%s %s: %v", tt.arch.info.Name, tt.code, err)
			continue
		}
		if in.Len != tt.len || in.AltLen != tt.altLen || in.Class != tt.class || in.Target != tt.target {
			t.Errorf("%s %s: %d (%d) bytes, %v, target %#x", tt.arch.info.Name, tt.code, in.Len, in.AltLen, in.Class, in.Target)
		}
		if tt.has != 63 && !in.Hazards.Has(tt.has) || in.Hazards.Has(tt.hasNot) {
			t.Errorf("%s %s: hazards %#x", tt.arch.info.Name, tt.code, in.Hazards)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tt := range []struct {
		arch *Arch
		code string
		want fixups.Reason
		len  uint8
	}{
		{AMD64, "", fixups.ReasonTruncated, 0},
		{AMD64, "48", fixups.ReasonTruncated, 1},
		{AMD64, "06", fixups.ReasonReserved, 1},
		{AMD64, "0f04", fixups.ReasonReserved, 2},
		{AMD64, "f048ffc0", fixups.ReasonReserved, 4},   // lock of a register
		{AMD64, "f08b00", fixups.ReasonReserved, 3},     // lock of a load
		{AMD64, "f00fba2000", fixups.ReasonReserved, 4}, // lock bt
		{AMD64, "66c5f828c0", fixups.ReasonReserved, 2}, // 66 before VEX
		{AMD64, "48c5f828c0", fixups.ReasonReserved, 2}, // REX before VEX
		{AMD64, "666666666666666666666666666666", fixups.ReasonReserved, 15},
		{AMD64, "6666666666666666666666666666", fixups.ReasonTruncated, 14},
		{AMD64, "6666666666666666666666668b80", fixups.ReasonReserved, 14}, // 18 bytes would follow
		{AMD64, "666666666666666666666666e8", fixups.ReasonReserved, 13},
		{AMD64, "0f0fc000", fixups.ReasonReserved, 4}, // 3DNow suffix
		{AMD64, "d50170", fixups.ReasonReserved, 3},   // REX2 jcc
		{I386, "c500", fixups.ReasonNone, 2},          // lds
		{I386, "c5", fixups.ReasonTruncated, 1},
		{I386, "0f05", fixups.ReasonNone, 2},
	} {
		var in reloc.Insn
		err := tt.arch.Decode(&in, unhex(t, tt.code), 0)
		if tt.want == fixups.ReasonNone {
			if err != nil {
				t.Errorf("%s %s: %v", tt.arch.info.Name, tt.code, err)
			}
			continue
		}
		if err != tt.want || in.Len != tt.len {
			t.Errorf("%s %s: %v after %d bytes, want %v after %d", tt.arch.info.Name, tt.code, err, in.Len, tt.want, tt.len)
		}
	}
}

// Where the fields of each kind of prefix are.
func TestLayout(t *testing.T) {
	for _, tt := range []struct {
		code                                      string
		enc, opmap, op, w, r, x, b, vvvv, ll, pp  int
		opOff, modrmOff, dispOff, dispLen, immOff int
	}{
		{"4f8b44a510", encLegacy, 0, 0x8b, 1, 1, 1, 1, 0, 0, 0, 1, 2, 4, 1, 5},
		{"81808000000078563412", encLegacy, 0, 0x81, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 6},
		{"660f3a0fc108", encLegacy, 3, 0x0f, 0, 0, 0, 0, 0, 0, 1, 3, 4, 5, 0, 5},
		{"d5cd8bc1", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, // jcc: reserved
		{"d55d8bc1", encREX2, 0, 0x8b, 1, 1, 0, 1, 0, 0, 0, 2, 3, 4, 0, 4},
		{"c5f55805", encVEX2, 1, 0x58, 0, 0, 0, 0, 1, 1, 1, 2, 3, 4, 4, 8},
		{"c44289f7c1", encVEX3, 2, 0xf7, 1, 1, 0, 1, 14, 0, 1, 3, 4, 5, 0, 5},
		{"62f1f54958c2", encEVEX, 1, 0x58, 1, 0, 0, 0, 1, 2, 1, 4, 5, 6, 0, 6},
	} {
		var in reloc.Insn
		code := append(unhex(t, tt.code), 0, 0, 0, 0)
		err := AMD64.Decode(&in, code, 0)
		if tt.modrmOff == 0 {
			if err != fixups.ReasonReserved {
				t.Errorf("%s: %v", tt.code, err)
			}
			continue
		}
		l := lay(&in)
		if l.enc() != tt.enc || l.opmap() != tt.opmap || int(l.opcode()) != tt.op || l.w() != tt.w || l.r() != tt.r ||
			l.x() != tt.x || l.b() != tt.b || l.vvvv() != tt.vvvv || l.ll() != tt.ll || l.pp() != tt.pp {
			t.Errorf("%s: %v, fields %#x %#x", tt.code, err, l[0], l[1])
		}
		if l.opcodeOff() != tt.opOff || l.modrmOff() != tt.modrmOff || l.dispOff() != tt.dispOff || l.dispLen() != tt.dispLen || l.immOff() != tt.immOff {
			t.Errorf("%s: %v, offsets %#x", tt.code, err, l[0])
		}
	}
}
