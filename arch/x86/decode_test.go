package x86

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"testing"

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
