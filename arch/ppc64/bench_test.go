package ppc64_test

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"golang.org/x/arch/ppc64/ppc64asm"

	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/reloc"
)

// programs are the C libraries for cross compilers: compiled C of either order.
var programs = []struct {
	name, path string
	arch       *ppc64.Arch
	order      binary.ByteOrder
}{
	{"ppc64", "/usr/powerpc64-linux-gnu/lib/libc.so.6", ppc64.BE, binary.BigEndian},
	{"ppc64le", "/usr/powerpc64le-linux-gnu/lib/libc.so.6", ppc64.LE, binary.LittleEndian},
}

// text returns the .text of a program, whole words, and where it lives.
func text(tb testing.TB, path string) ([]byte, uint64) {
	tb.Helper()
	f, err := elf.Open(path)
	if err != nil {
		tb.Skip(err)
	}
	defer f.Close()
	s := f.Section(".text")
	if s == nil || f.Machine != elf.EM_PPC64 {
		tb.Skip(path + ": no text of Power")
	}
	code, err := s.Data()
	if err != nil {
		tb.Skip(err)
	}
	return code[:len(code)&^3], s.Addr
}

// report gives times by instruction.
func report(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/insn")
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "insns/s")
}

// BenchmarkDecode decodes the whole text of a program a time. The goal P6 is 0.04 of
// what golang.org/x/arch takes for the same (BenchmarkXArch).
func BenchmarkDecode(b *testing.B) {
	for _, p := range programs {
		b.Run(p.name, func(b *testing.B) {
			code, pc := text(b, p.path)
			b.ReportAllocs()
			b.SetBytes(int64(len(code)))
			n := 0
			for b.Loop() {
				n += sweepText(p.arch, code, pc)
			}
			report(b, n)
		})
	}
}

// sweepText decodes code from front to back and returns how many instructions it
// holds; words without a row count as one.
func sweepText(a *ppc64.Arch, code []byte, pc uint64) (n int) {
	var in reloc.Insn
	for off := 0; off < len(code); n++ {
		if a.Decode(&in, code[off:], pc+uint64(off)) != nil {
			off += 4
			continue
		}
		off += int(in.Len)
	}
	return n
}

// BenchmarkXArch is BenchmarkDecode with golang.org/x/arch.
func BenchmarkXArch(b *testing.B) {
	for _, p := range programs {
		b.Run(p.name, func(b *testing.B) {
			code, _ := text(b, p.path)
			b.ReportAllocs()
			b.SetBytes(int64(len(code)))
			n := 0
			for b.Loop() {
				for off := 0; off < len(code); n++ {
					in, err := ppc64asm.Decode(code[off:], p.order)
					if err != nil || in.Len == 0 {
						off += 4
						continue
					}
					off += in.Len
				}
			}
			report(b, n)
		})
	}
}

// BenchmarkContext looks at the neighbours of each instruction.
func BenchmarkContext(b *testing.B) {
	for _, p := range programs {
		b.Run(p.name, func(b *testing.B) {
			code, pc := text(b, p.path)
			env := &reloc.Env{Code: &reloc.Text{Addr: pc, Data: code}}
			b.ReportAllocs()
			n := 0
			var in reloc.Insn
			for b.Loop() {
				for off := 0; off < len(code); n++ {
					if p.arch.Decode(&in, code[off:], pc+uint64(off)) != nil {
						off += 4
						continue
					}
					_ = p.arch.Context(&in, env)
					off += int(in.Len)
				}
			}
			report(b, n)
		})
	}
}

func BenchmarkRegisters(b *testing.B) {
	for _, p := range programs {
		b.Run(p.name, func(b *testing.B) {
			code, pc := text(b, p.path)
			var ins []reloc.Insn
			for off := 0; off < len(code) && len(ins) < 4096; off += 4 {
				var in reloc.Insn
				if p.arch.Decode(&in, code[off:], pc+uint64(off)) == nil {
					ins = append(ins, in)
				}
			}
			var use reloc.RegUse
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				for i := range ins {
					p.arch.Registers(&use, &ins[i])
				}
				n += len(ins)
			}
			report(b, n)
		})
	}
}
