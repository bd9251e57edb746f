package x86_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/internal/witness"
	"github.com/xol-go/xol/objfile"
	"github.com/xol-go/xol/reloc"
)

// Programs that every gate reads, and those that a whole sweep reads too: many
// instructions (OpenBLAS and x265 hold AVX-512 and FMA4 by hand, chromium is
// large), landing pads (libstdc++ is built with CET), 32-bit code.
var (
	fewPrograms = []string{
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/i686-linux-gnu/lib/libc.so.6",
	}
	morePrograms = []string{
		"/bin/bash",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/lib/x86_64-linux-gnu/libopenblas.so.0",
		"/usr/lib/x86_64-linux-gnu/libx265.so.199",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libLLVM.so.19.1",
		"/usr/lib/chromium/chromium",
	}
)

// TestSweepPrograms reads the functions of programs from front to end.
// XOL_PROGRAMS, a list separated by colons, names others.
func TestSweepPrograms(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("sweeps are long")
	}
	programs := fewPrograms
	if full() {
		programs = append(append(programs[:len(programs):len(programs)], morePrograms...), goPrograms(t)...)
	}
	if v := os.Getenv("XOL_PROGRAMS"); v != "" {
		programs = filepath.SplitList(v)
	}
	s := newSweeper(t)
	s.register = newRegisterSweep(t)
	for _, file := range programs {
		before := s.count
		ended, err := s.program(file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !testenv.Required():
			t.Logf("%s: not here, left out", file)
			continue
		case err != nil:
			t.Errorf("%s: %v", file, err)
			continue
		}
		s.flush()
		c := s.count
		t.Logf("%s: %d instructions, %d read differently, %d refused by Decode alone, %d ranges ended early",
			file, c.probes-before.probes, c.differ-before.differ, c.refused-before.refused, ended)
	}
	s.report(false)
}

// goPrograms builds the assembler of the Go distribution for processors with
// AVX-512, and takes the go command as it is.
func goPrograms(t *testing.T) []string {
	t.Helper()
	tool := testenv.Tool(t, "go")
	out := filepath.Join(t.TempDir(), "asm")
	cmd := exec.Command(tool, "build", "-o", out, "cmd/asm")
	cmd.Env = append(os.Environ(), "GOAMD64=v4", "GOARCH=amd64", "GOOS=linux", "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build cmd/asm: %v\n%s", err, b)
	}
	return []string{out, tool}
}

// program adds the instructions of all functions of a file. A range in which
// Decode refuses something ends there: where the next instruction would be is
// not known. ended counts such ranges.
func (s *sweeper) program(file string) (ended int, err error) {
	f, err := objfile.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	funcs, err := f.Funcs()
	if err != nil {
		return 0, err
	}
	arch, bits := x86.AMD64, 64
	if strings.Contains(file, "i686") {
		arch, bits = x86.I386, 32
	}
	for _, fn := range funcs {
		for r := range f.Code(fn) {
			code, err := f.Bytes(r.Addr, r.Size)
			if err != nil {
				return ended, err
			}
			if !s.sweepCode(arch, bits, code) {
				ended++
			}
		}
	}
	if full() {
		err = s.gaps(f, arch, bits)
	}
	return ended, err
}

// gaps adds what no function is known to cover, which is most of a stripped
// program. Some of it is data, and boundaries are a guess: behind bytes that
// Decode refuses the next byte is tried. All three read the same bytes, so the
// comparison holds whatever they are.
func (s *sweeper) gaps(f *objfile.File, arch *x86.Arch, bits int) error {
	gaps, err := f.Gaps()
	if err != nil {
		return err
	}
	for _, g := range gaps {
		code, err := f.Bytes(g.Addr, g.Size)
		if err != nil {
			return err
		}
		for len(code) > 0 {
			code = code[s.run(arch, bits, code):]
			code = code[min(1, len(code)):]
		}
	}
	return nil
}

// sweepCode goes from instruction to instruction, and reports whether it came to
// the end.
func (s *sweeper) sweepCode(arch *x86.Arch, bits int, code []byte) bool {
	return s.run(arch, bits, code) == len(code)
}

// run returns how many bytes of code were read before something was refused.
func (s *sweeper) run(arch *x86.Arch, bits int, code []byte) int {
	var in reloc.Insn
	for at := 0; at < len(code); at += int(in.Len) {
		var c [16]byte
		n := min(copy(c[:], code[at:]), 15)
		s.add(bits, &c, n)
		if arch.Decode(&in, code[at:], witness.PC) != nil || in.AltLen != 0 {
			return at
		}
	}
	return len(code)
}
