package arm64

import (
	"debug/elf"
	"encoding/binary"
	"testing"
	"time"

	"golang.org/x/arch/arm64/arm64asm"

	"github.com/xol-go/xol/reloc"
)

// library is compiled C: Debian's cross C library.
const library = "/usr/aarch64-linux-gnu/lib/libc.so.6"

// text returns the .text of a file, and where it lives.
func text(tb testing.TB, path string) ([]byte, uint64) {
	tb.Helper()
	f, err := elf.Open(path)
	if err != nil {
		tb.Skip(err)
	}
	defer f.Close()
	s := f.Section(".text")
	if s == nil || f.Machine != elf.EM_AARCH64 {
		tb.Skip(path + ": no A64 text")
	}
	code, err := s.Data()
	if err != nil {
		tb.Skip(err)
	}
	return code[:len(code)&^3], s.Addr
}

// decodeAll decodes code from front to back and returns how many words it holds.
func decodeAll(code []byte, pc uint64) (n int) {
	var in reloc.Insn
	for off := 0; off < len(code); off += wordLen {
		_ = A64.Decode(&in, code[off:], pc+uint64(off))
		n++
	}
	return n
}

// BenchmarkDecode decodes the text of a library at a time. of-x/arch is the time in
// parts of what golang.org/x/arch takes for the same words in the same run.
func BenchmarkDecode(b *testing.B) {
	code, pc := text(b, library)
	part := code[:min(len(code), 1<<18)]
	start := time.Now()
	for off := 0; off < len(part); off += wordLen {
		_, _ = arm64asm.Decode(part[off:])
	}
	theirs := float64(time.Since(start).Nanoseconds()) / float64(len(part)/wordLen)
	b.ReportAllocs()
	b.SetBytes(int64(len(code)))
	n := 0
	for b.Loop() {
		n += decodeAll(code, pc)
	}
	own := float64(b.Elapsed().Nanoseconds()) / float64(n)
	b.ReportMetric(own, "ns/insn")
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "insns/s")
	b.ReportMetric(own/theirs, "of-x/arch")
}

// BenchmarkClassify finds the row of every word and nothing else.
func BenchmarkClassify(b *testing.B) {
	code, _ := text(b, library)
	var sum uint32
	n := 0
	for b.Loop() {
		for off := 0; off+wordLen <= len(code); off += wordLen {
			sum += rowOf(binary.LittleEndian.Uint32(code[off:]))
		}
		n += len(code) / wordLen
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/insn")
	if sum == 0 {
		b.Fatal("no rows")
	}
}

func BenchmarkContext(b *testing.B) {
	code, pc := text(b, library)
	env := &reloc.Env{Code: &reloc.Text{Addr: pc, Data: code}}
	ins := make([]reloc.Insn, 0, 4096)
	for off := 0; len(ins) < cap(ins); off += wordLen {
		var in reloc.Insn
		if A64.Decode(&in, code[off:], pc+uint64(off)) == nil {
			ins = append(ins, in)
		}
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for i := range ins {
			_ = A64.Context(&ins[i], env)
		}
		n += len(ins)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/insn")
}

func BenchmarkRegisters(b *testing.B) {
	code, pc := text(b, library)
	ins := make([]reloc.Insn, 0, 4096)
	for off := 0; len(ins) < cap(ins); off += wordLen {
		var in reloc.Insn
		if A64.Decode(&in, code[off:], pc+uint64(off)) == nil {
			ins = append(ins, in)
		}
	}
	var use reloc.RegUse
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for i := range ins {
			A64.Registers(&use, &ins[i])
		}
		n += len(ins)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/insn")
}
