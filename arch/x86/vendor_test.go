package x86

import (
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Lengths and targets of near branches with a 66 prefix, by vendor.
func TestVendorDecode(t *testing.T) {
	for _, tt := range []struct {
		code            string
		n, alt          uint8 // Intel's length, the other
		target, amdsays uint64
	}{
		{"66e9000100000000", 6, 4, testSite + 0x106, 0x0104},
		{"66e8feffffff0000", 6, 4, testSite + 4, 0x0002},
		{"660f84000100000000", 7, 5, testSite + 0x107, 0x0105},
		{"66eb100000000000", 3, 0, testSite + 0x13, 0x13},
		{"667480000000000", 3, 0, testSite - 0x7d, 0xff83},
		{"66e3100000000000", 3, 0, testSite + 0x13, 0x13},
		{"66c30000000000", 2, 0, 0, 0},
		{"66ffd0000000000", 3, 0, 0, 0},
		{"6648e900010000", 7, 0, testSite + 0x107, testSite + 0x107},
		{"e900010000000000", 5, 0, testSite + 0x105, testSite + 0x105},
	} {
		code := append(unhex(t, tt.code[:len(tt.code)&^1]), make([]byte, 16)...)
		var plain, intel, amd reloc.Insn
		if a, b, c := AMD64.Decode(&plain, code, testSite), AMD64.DecodeFor(&intel, code, testSite, reloc.VendorIntel), AMD64.DecodeFor(&amd, code, testSite, reloc.VendorAMD); a != nil || b != nil || c != nil {
			t.Fatalf("%s: %v %v %v", tt.code, a, b, c)
		}
		if plain != intel || plain.Len != tt.n || plain.AltLen != tt.alt || plain.Target != tt.target {
			t.Errorf("%s: %d or %d bytes to %#x\n%+v\n%+v", tt.code, plain.Len, plain.AltLen, plain.Target, plain, intel)
		}
		n, alt := tt.n, tt.alt
		if alt != 0 {
			n, alt = alt, n
		}
		if amd.Len != n || amd.AltLen != alt || amd.Target != tt.amdsays || amd.Class != plain.Class || amd.Hazards != plain.Hazards {
			t.Errorf("%s: on AMD %d or %d bytes to %#x", tt.code, amd.Len, amd.AltLen, amd.Target)
		}
		for _, c := range amd.Bytes[amd.Len:] {
			if c != 0 {
				t.Errorf("%s: bytes behind the instruction: %x", tt.code, amd.Bytes)
			}
		}
		// A cut is judged by the length that holds.
		for k := range int(plain.Len) {
			var cut reloc.Insn
			err := AMD64.DecodeFor(&cut, code[:k], testSite, reloc.VendorAMD)
			if want := k >= int(n); (err == nil) != want || want && cut != amd || !want && err != fixups.ReasonTruncated {
				t.Errorf("%s cut to %d: %v", tt.code, k, err)
			}
		}
	}
}

// An instruction that was decoded for one vendor has no plan for another's
// processors, and in 32-bit mode there is nothing to tell apart.
func TestVendorPlans(t *testing.T) {
	vendors := []reloc.Vendor{reloc.VendorUnknown, reloc.VendorIntel, reloc.VendorAMD}
	for _, code := range []string{"66e900010000", "66e800010000", "660f8400010000", "66eb10", "667410", "66e210", "66c3", "66ffd0", "66ff10"} {
		for _, v := range vendors {
			for _, w := range vendors {
				for _, a := range []*Arch{AMD64, I386} {
					var in reloc.Insn
					var p reloc.Plan
					if err := a.DecodeFor(&in, append(unhex(t, code), make([]byte, 16)...), 0x401000, v); err != nil {
						t.Fatal(err)
					}
					err := a.Plan(&p, &in, &reloc.Env{Forms: fixups.FormEmulate.Bit(), Vendor: w})
					same := v == w || v == reloc.VendorUnknown && w == reloc.VendorIntel // Decode's is Intel's length
					same = same || v == reloc.VendorIntel && w == reloc.VendorIntel
					if ok := a == I386 || same && w != reloc.VendorUnknown; ok != (err == nil) || err != nil && err != fixups.ReasonVendor {
						t.Errorf("%s %s: decoded for %d, planned for %d: %v", a.info.Name, code, v, w, err)
					}
				}
			}
		}
	}
}

// The engine decodes for the vendor that the environment names.
func TestVendorAnalyze(t *testing.T) {
	var in reloc.Insn
	code := unhex(t, "66e900010000")
	if err := reloc.Analyze(&in, AMD64, code, testSite, &reloc.Env{Vendor: reloc.VendorAMD}); err != nil || in.Len != 4 {
		t.Errorf("%d bytes, %v", in.Len, err)
	}
	if err := reloc.Analyze(&in, AMD64, code, testSite, &reloc.Env{}); err != nil || in.Len != 6 {
		t.Errorf("%d bytes, %v", in.Len, err)
	}
	if err := reloc.DecodeFor(&in, AMD64, code, testSite, nil); err != nil || in.Len != 6 {
		t.Errorf("%d bytes, %v", in.Len, err)
	}
}
