package x86

import (
	"debug/elf"
	"os/exec"
	"testing"

	"github.com/xol-go/xol/reloc"
)

// text returns the .text of a program, and where it lives.
func text(tb testing.TB, path string) ([]byte, uint64) {
	tb.Helper()
	f, err := elf.Open(path)
	if err != nil {
		tb.Skip(err)
	}
	defer f.Close()
	s := f.Section(".text")
	if s == nil || f.Machine != elf.EM_X86_64 {
		tb.Skip(path + ": no x86-64 text")
	}
	code, err := s.Data()
	if err != nil {
		tb.Skip(err)
	}
	return code, s.Addr
}

// programs are what is at hand: compiled C and compiled Go.
func programs() map[string]string {
	p := map[string]string{"c": "/bin/bash"}
	if file, err := exec.LookPath("go"); err == nil {
		p["go"] = file
	}
	return p
}

// BenchmarkDecode decodes the whole text of a program a time.
func BenchmarkDecode(b *testing.B) {
	for name, path := range programs() {
		b.Run(name, func(b *testing.B) {
			code, pc := text(b, path)
			b.ReportAllocs()
			b.SetBytes(int64(len(code)))
			n := 0
			for b.Loop() {
				n += sweep(code, pc)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/insn")
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "insns/s")
		})
	}
}

// sweep decodes code from front to back and returns how many instructions it
// holds; what does not decode is skipped by its bytes.
func sweep(code []byte, pc uint64) (n int) {
	var in reloc.Insn
	for off := 0; off < len(code); n++ {
		if AMD64.Decode(&in, code[off:], pc+uint64(off)) != nil {
			off++
			continue
		}
		off += int(in.Len)
	}
	return n
}

func BenchmarkRegisters(b *testing.B) {
	code, pc := text(b, programs()["c"])
	var ins []reloc.Insn
	for off := 0; off < len(code) && len(ins) < 4096; {
		var in reloc.Insn
		if AMD64.Decode(&in, code[off:], pc+uint64(off)) != nil {
			off++
			continue
		}
		ins = append(ins, in)
		off += int(in.Len)
	}
	var use reloc.RegUse
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for i := range ins {
			AMD64.Registers(&use, &ins[i])
		}
		n += len(ins)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/insn")
}
