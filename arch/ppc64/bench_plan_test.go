package ppc64_test

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"golang.org/x/arch/ppc64/ppc64asm"

	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

const (
	benchSite = 0x7f1200400000
	benchNear = benchSite + 0x100000
	benchFar  = 0x400000500000
)

// Plan and Place of one decoded instruction.
func BenchmarkPlan(b *testing.B) {
	near := reloc.Env{Slots: reloc.SlotsNear}
	tar := fixups.MakeRegSet(ppc64.TAR)
	for _, bb := range []struct {
		name string
		word uint32
		env  reloc.Env
	}{
		{"plain near", 0x38630001, near},
		{"plain spill far", 0x38630001, reloc.Env{Spill: true, Dead: tar}},
		{"b near", 0x48000100, near},
		{"bc near", 0x41820040, near},
		{"bl near spill", 0x48000101, reloc.Env{Slots: reloc.SlotsNear, Spill: true}},
		{"bl near slot", 0x48000101, reloc.Env{Slots: reloc.SlotsNear, Return: fixups.ReturnsSlot}},
		{"bc far", 0x41820040, reloc.Env{Spill: true, Dead: tar}},
		{"bc emulate", 0x41820040, reloc.Env{Forms: fixups.FormEmulate.Bit()}},
		{"plain step", 0x38630001, reloc.Env{Forms: fixups.FormStep.Bit()}},
	} {
		if bb.env.Forms == 0 {
			bb.env.Forms = fixups.FormJump.Bit()
		}
		at := fixups.Bases{Site: benchSite, Slot: benchFar}
		if bb.env.Slots == reloc.SlotsNear {
			at.Slot = benchNear
		}
		order := ppc64.LE.Info().Order(reloc.DataDefault)
		b.Run(bb.name, func(b *testing.B) {
			var in reloc.Insn
			var p reloc.Plan
			if err := ppc64.LE.Decode(&in, binary.LittleEndian.AppendUint32(nil, bb.word), benchSite); err != nil {
				b.Fatal(err)
			}
			dst := make([]byte, 0, 256)
			b.ReportAllocs()
			for b.Loop() {
				if err := ppc64.LE.Plan(&p, &in, &bb.env); err != nil {
					b.Fatal(err)
				}
				if _, err := fixups.PlaceOrder(dst, &p, at, order); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "insns/s")
		})
	}
}

// benchTexts are C libraries of cross compilers.
var benchTexts = map[string]*ppc64.Arch{
	"/usr/powerpc64le-linux-gnu/lib/libc.so.6": ppc64.LE,
	"/usr/powerpc64-linux-gnu/lib/libc.so.6":   ppc64.BE,
}

// BenchmarkText decodes every instruction of a C library, makes and places its near
// jump plan, and has x/arch decode it.
func BenchmarkText(b *testing.B) {
	for path, a := range benchTexts {
		code, pc := benchText(b, path)
		run := func(name string, insn func([]byte, uint64)) {
			b.Run(a.Info().Name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(code)))
				n := 0
				for b.Loop() {
					for off := 0; off+8 <= len(code); off += 4 {
						insn(code[off:], pc+uint64(off))
						n++
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/insn")
				b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "insns/s")
			})
		}
		var in reloc.Insn
		var p reloc.Plan
		env := reloc.Env{Slots: reloc.SlotsNear, Forms: fixups.FormJump.Bit(), Spill: true}
		order := a.Info().Order(reloc.DataDefault)
		dst := make([]byte, 0, 256)
		var bo binary.ByteOrder = binary.LittleEndian
		if a.Info().BigEndian {
			bo = binary.BigEndian
		}
		run("decode", func(c []byte, pc uint64) { a.Decode(&in, c, pc) })
		run("relocate", func(c []byte, pc uint64) {
			if a.Decode(&in, c, pc) == nil && a.Plan(&p, &in, &env) == nil {
				dst, _ = fixups.PlaceOrder(dst[:0], &p, fixups.Bases{Site: pc, Slot: (pc + 0x1000000) &^ 63}, order)
			}
		})
		run("xarch", func(c []byte, pc uint64) { ppc64asm.Decode(c, bo) })
	}
}

// benchText returns the text of an ELF file.
func benchText(b *testing.B, path string) ([]byte, uint64) {
	f, err := elf.Open(path)
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	s := f.Section(".text")
	data, err := s.Data()
	if err != nil {
		b.Fatal(err)
	}
	return data, s.Addr
}
