package arm64

import (
	"debug/elf"
	"os"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"

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

// programText is the text of a program of A64, XOL_BENCH_FILE or a cross compiler's
// C library, and where it lives.
func programText(b *testing.B) ([]byte, uint64) {
	b.Helper()
	path := os.Getenv("XOL_BENCH_FILE")
	if path == "" {
		path = "/usr/aarch64-linux-gnu/lib/libc.so.6"
	}
	f, err := elf.Open(path)
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	s := f.Section(".text")
	if s == nil || f.Machine != elf.EM_AARCH64 {
		b.Skip(path + ": no A64 text")
	}
	code, err := s.Data()
	if err != nil {
		b.Skip(err)
	}
	return code[:len(code)&^3], s.Addr
}

// BenchmarkText goes over the instructions of a program: decoding and classifying,
// the near jump plan and its placing besides, and, to compare, a disassembler's
// decoding. Ratios of one run are what counts.
func BenchmarkText(b *testing.B) {
	code, pc := programText(b)
	n := len(code) / 4
	run := func(name string, f func(code []byte, pc uint64)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(code)))
			for b.Loop() {
				for off := 0; off < len(code); off += 4 {
					f(code[off:], pc+uint64(off))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/insn")
		})
	}
	var in reloc.Insn
	var p reloc.Plan
	dst := make([]byte, 0, 256)
	env := reloc.Env{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsNear}
	run("classify", func(code []byte, pc uint64) { _ = A64.Decode(&in, code, pc) })
	run("relocate", func(code []byte, pc uint64) {
		if A64.Decode(&in, code, pc) == nil && A64.Plan(&p, &in, &env) == nil {
			dst, _ = fixups.Place(dst[:0], &p, fixups.Bases{Site: pc, Slot: pc + 0x4000000})
		}
	})
	run("arm64asm", func(code []byte, pc uint64) { _, _ = arm64asm.Decode(code) })
}
