package arm64

import (
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Plan and Place of one decoded instruction.
func BenchmarkPlan(b *testing.B) {
	near := reloc.Env{Slots: reloc.SlotsNear}
	for _, bb := range []struct {
		name, code string
		env        reloc.Env
	}{
		{"plain near", "63040091", near},
		{"plain far", "63040091", reloc.Env{Dead: dead16}},
		{"b near", "10000014", near},
		{"b.cond near", "00020054", near},
		{"bl near", "10000094", near},
		{"bl near slot", "10000094", reloc.Env{Slots: reloc.SlotsNear, Return: fixups.ReturnsSlot}},
		{"adrp near", "05006090", near},
		{"adr near", "a43f0010", near},
		{"ldr spill", "05080058", reloc.Env{Slots: reloc.SlotsNear, Spill: true}},
		{"b.cond emulate", "00020054", reloc.Env{Forms: fixups.FormEmulate.Bit()}},
		{"plain step", "63040091", reloc.Env{Forms: fixups.FormStep.Bit()}},
	} {
		if bb.env.Forms == 0 {
			bb.env.Forms = fixups.FormJump.Bit()
		}
		code := unhex(b, bb.code)
		at := fixups.Bases{Site: testSite, Slot: testNear}
		b.Run(bb.name, func(b *testing.B) {
			var in reloc.Insn
			var p reloc.Plan
			if err := A64.Decode(&in, code, testSite); err != nil {
				b.Fatal(err)
			}
			dst := make([]byte, 0, 256)
			b.ReportAllocs()
			for b.Loop() {
				if err := A64.Plan(&p, &in, &bb.env); err != nil {
					b.Fatal(err)
				}
				if _, err := fixups.Place(dst, &p, at); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "insns/s")
		})
	}
}
