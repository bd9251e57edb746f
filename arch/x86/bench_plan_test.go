package x86

import (
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Decode, Plan and Place of one instruction at a time: what a probe tool pays for
// a site.
func BenchmarkRelocate(b *testing.B) {
	for _, bb := range []struct {
		name, code string
		env        reloc.Env
	}{
		{"plain near", "4889c3", reloc.Env{Slots: reloc.SlotsNear}},
		{"plain far", "4889c3", reloc.Env{}},
		{"rip near", "488b0500010000", reloc.Env{Slots: reloc.SlotsNear}},
		{"mov rip far", "488b0d00010000", reloc.Env{}},
		{"rip spill", "480b0500010000", reloc.Env{Spill: true}},
		{"jmp near", "e900010000", reloc.Env{Slots: reloc.SlotsNear}},
		{"jcc near", "0f8400010000", reloc.Env{Slots: reloc.SlotsNear}},
		{"jcc far", "0f8400010000", reloc.Env{}},
		{"call near", "e800010000", reloc.Env{Slots: reloc.SlotsNear}},
		{"call near slot", "e800010000", reloc.Env{Slots: reloc.SlotsNear, Return: fixups.ReturnsSlot}},
		{"jcc emulate", "0f8400010000", reloc.Env{Forms: fixups.FormEmulate.Bit()}},
		{"plain step", "4889c3", reloc.Env{Forms: fixups.FormStep.Bit()}},
	} {
		if bb.env.Forms == 0 {
			bb.env.Forms = fixups.FormJump.Bit()
		}
		code := append(unhex(b, bb.code), make([]byte, 16)...)
		b.Run(bb.name, func(b *testing.B) {
			var in reloc.Insn
			var p reloc.Plan
			dst := make([]byte, 0, 256)
			b.ReportAllocs()
			for b.Loop() {
				if err := AMD64.Decode(&in, code, testSite); err != nil {
					b.Fatal(err)
				}
				if err := AMD64.Plan(&p, &in, &bb.env); err != nil {
					b.Fatal(err)
				}
				if _, err := fixups.Place(dst, &p, fixups.Bases{Site: testSite, Slot: testNear}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "insns/s")
		})
	}
}

// BenchmarkRelocateText makes and places the near jump plan of every instruction
// of a program.
func BenchmarkRelocateText(b *testing.B) {
	for name, path := range programs() {
		b.Run(name, func(b *testing.B) {
			code, pc := text(b, path)
			env := reloc.Env{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsNear}
			var in reloc.Insn
			var p reloc.Plan
			dst := make([]byte, 0, 256)
			b.ReportAllocs()
			b.SetBytes(int64(len(code)))
			n := 0
			for b.Loop() {
				for off := 0; off < len(code); n++ {
					if AMD64.Decode(&in, code[off:], pc+uint64(off)) != nil {
						off++
						continue
					}
					off += int(in.Len)
					if AMD64.Plan(&p, &in, &env) == nil {
						dst, _ = fixups.Place(dst[:0], &p, fixups.Bases{Site: in.PC, Slot: in.PC + 0x20000000})
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/insn")
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "insns/s")
		})
	}
}
