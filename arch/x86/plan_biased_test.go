package x86

import (
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// TestBiased: in a file that is loaded anywhere, a target below 4 GiB is no
// reason to name it absolutely. Every plan it does get can be placed after any
// load bias.
func TestBiased(t *testing.T) {
	var p reloc.Plan
	for _, code := range [][]byte{
		{0xff, 0x35, 0, 1, 0, 0},             // push [rip+0x100]
		{0x01, 0x05, 0, 1, 0, 0},             // add [rip+0x100], eax
		{0x0f, 0x28, 0x05, 0, 0, 0, 0x7f},    // movaps xmm0, [rip+0x7f000000]
		{0x67, 0x8b, 0x0d, 0, 1, 0, 0},       // mov ecx, [eip+0x100]
		{0x48, 0x8d, 0x0d, 0, 1, 0, 0},       // lea rcx, [rip+0x100]
		{0x48, 0x8b, 0x05, 0, 1, 0, 0},       // mov rax, [rip+0x100]
		{0xc5, 0xfc, 0x28, 0x05, 0, 1, 0, 0}, // vmovaps ymm0, [rip+0x100]
	} {
		plans := 0
		for _, env := range []reloc.Env{{Biased: true}, {Biased: true, Spill: true}, {Biased: true, AllowLost: true}} {
			env.Forms = fixups.FormJump.Bit()
			if reloc.Relocate(&p, AMD64, code, 0x1000, &env) != nil {
				continue
			}
			plans++
			for _, bias := range []uint64{0, 0x5555_5555_4000, 0x7fff_f000_0000} {
				if code[0] == 0x67 && bias != 0 {
					continue // its address is cut to 32 bits: the site itself is not movable
				}
				site := 0x1000 + bias
				if _, err := fixups.Place(nil, &p, fixups.Bases{Site: site, Slot: 0x2a00_0050_0000}); err != nil {
					t.Errorf("% x, %v, bias %#x: %v", code, p.Strategy, bias, err)
				}
			}
		}
		if plans == 0 {
			t.Errorf("% x: no plan", code)
		}
	}
}
