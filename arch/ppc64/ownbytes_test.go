package ppc64

import (
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// TestOwnBytes: an access relative to pc that touches the instruction itself, and one
// byte in front of that and behind.
func TestOwnBytes(t *testing.T) {
	for _, tt := range []struct {
		op   uint64 // prefix and suffix
		size int64
	}{
		{0x0610000088600000, 1}, {0x0610000098600000, 1}, {0x06100000a0600000, 2}, {0x06100000a8600000, 2}, {0x06100000b0600000, 2},
		{0x0610000080600000, 4}, {0x0610000090600000, 4}, {0x06100000c0600000, 4}, {0x06100000d0600000, 4}, {0x06100000c8600000, 8}, {0x06100000d8600000, 8},
		{0x04100000a4600000, 4}, {0x04100000e4600000, 8}, {0x04100000f4600000, 8}, {0x04100000a8600000, 8}, {0x04100000ac600000, 4},
		{0x04100000b8600000, 8}, {0x04100000bc600000, 4}, {0x04100000c8600000, 16}, {0x04100000dc600000, 16}, {0x04100000e0400000, 16},
		{0x04100000f0400000, 16}, {0x04100000e8400000, 32}, {0x04100000f8400000, 32}, {0x0610000038600000, 0},
	} {
		for _, d := range []int64{-33, -32, -17, -16, -9, -8, -5, -4, -3, -2, -1, 0, 1, 7, 8} {
			for _, a := range orders {
				var in reloc.Insn
				w := tt.op | uint64(d)>>16&fieldD0<<32 | uint64(d)&fieldD1
				if err := a.Decode(&in, a.bytesOf(w), testSite); err != nil {
					t.Fatalf("%#x: %v", w, err)
				}
				want := tt.size != 0 && d < 8 && d+tt.size > 0
				if got := in.Hazards.Has(fixups.HazardReadsOwnBytes); got != want {
					t.Errorf("%s %#x at %+d: %t", a.info.Name, w, d, got)
				}
			}
		}
	}
}
