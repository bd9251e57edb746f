package objfile

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// toy is an instruction set whose first byte is the length of the instruction;
// c3 returns, 00 is unknown, 1f is four bytes of which vendors differ.
type toy struct{}

func (toy) Info() *reloc.Info { return &reloc.Info{Name: "toy", MinLen: 1, MaxLen: 15} }

func (toy) Decode(in *reloc.Insn, code []byte, pc uint64) error {
	*in = reloc.Insn{PC: pc, Len: code[0], Class: fixups.ClassPlain}
	switch code[0] {
	case 0:
		in.Len = 1
		return fixups.ReasonUnknown
	case 0xc3:
		in.Len, in.Class = 1, fixups.ClassReturn
	case 0x1f:
		in.Len, in.AltLen = 4, 2
	}
	if int(in.Len) > len(code) {
		return fixups.ReasonTruncated
	}
	return nil
}

func (toy) Plan(*reloc.Plan, *reloc.Insn, *reloc.Env) error { return fixups.ReasonUnknown }

// sweepAll sweeps the function at 0 of size n over code, on arm64 so that data can
// be marked.
func sweepAll(t *testing.T, code string, n uint64, more ...tsym) (*File, []uint64, []error) {
	t.Helper()
	img := newImage(0)
	img.machine = elf.EM_AARCH64
	img.secs[0].data = []byte(code)
	img.symtab(append(more, fsym("f", 0, n))...)
	f := img.open(t)
	var pcs []uint64
	var errs []error
	for in, err := range f.Insns(mustFuncs(t, f)[0], toy{}) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		pcs = append(pcs, in.PC-text)
	}
	return f, pcs, errs
}

func TestInsns(t *testing.T) {
	// Instructions of up to 15 bytes, over several windows.
	var code []byte
	var want []uint64
	for i := 0; len(code) < 3*sweepWindow; i++ {
		want = append(want, uint64(len(code)))
		n := i%15 + 1
		code = append(code, byte(n))
		code = append(code, strings.Repeat("\x00", n-1)...)
	}
	_, pcs, errs := sweepAll(t, string(code), uint64(len(code)))
	if len(errs) != 0 || len(pcs) != len(want) {
		t.Fatalf("%d of %d instructions, %v", len(pcs), len(want), errs)
	}
	for i := range want {
		if pcs[i] != want[i] {
			t.Fatalf("%d: %#x, want %#x", i, pcs[i], want[i])
		}
	}
}

func TestInsnsErrors(t *testing.T) {
	mark := func(name string, off uint64) tsym { return fsym(name, off, 0).typed(elf.STT_NOTYPE) }
	cases := []struct {
		name, code string
		n          uint64
		pcs        int
		reason     error
	}{
		{"unknown", "\x01\x02\x00\x00\x01\x01", 6, 2, fixups.ReasonUnknown},
		{"vendor", "\x01\x1f\x00\x00\x00\x01", 6, 1, fixups.ReasonVendor},
		{"leaves the function", "\x01\x01\x03\x00\x00\x01", 4, 2, fixups.ReasonTruncated},
		{"leaves the section", "\x01\x01\x03\x00", 4, 2, fixups.ReasonTruncated},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, pcs, errs := sweepAll(t, c.code, c.n)
			if len(pcs) != c.pcs || len(errs) != 1 || !errors.Is(errs[0], c.reason) {
				t.Fatalf("%v, %v", pcs, errs)
			}
			e, ok := errors.AsType[*InsnError](errs[0])
			if !ok || e.Arch != "arm64" || len(e.Bytes) == 0 || strings.Contains(e.Error(), "\n") {
				t.Errorf("%v", errs[0])
			}
		})
	}
	// Behind data the sweep begins anew.
	_, pcs, errs := sweepAll(t, "\x01\x00\xff\xff\xff\xff\x01\xc3", 8, mark("$x", 0), mark("$d", 2), mark("$x", 6))
	if len(errs) != 1 || len(pcs) != 3 || pcs[1] != 6 {
		t.Errorf("%v, %v", pcs, errs)
	}
}

// decoder is a port of which nothing but Decode is asked.
type decoder struct{ instructions }

type instructions interface {
	Info() *reloc.Info
	Decode(in *reloc.Insn, code []byte, pc uint64) error
}

func (decoder) Plan(*reloc.Plan, *reloc.Insn, *reloc.Env) error { return fixups.ReasonUnknown }

// TestInsnsResync: where lengths are known without a row, the sweep goes on.
func TestInsnsResync(t *testing.T) {
	f := powerImage("64be", ppcNop, 0x04000000, 0x0badbeef, ppcNop, 0, ppcBlr).open(t)
	var got []uint64
	errs := 0
	for in, err := range f.Insns(mustFuncs(t, f)[0], decoder{ppc64.BE}) {
		if err != nil {
			errs++
			continue
		}
		got = append(got, in.PC-text)
	}
	if !slices.Equal(got, []uint64{0, 12, 20}) || errs != 2 {
		t.Errorf("%d, %d errors", got, errs)
	}
}

func TestReturns(t *testing.T) {
	f, _, _ := sweepAll(t, "\xc3\x02\xc3\x01\xc3\x00\xc3", 7)
	var got []VAddr
	n := 0
	for a, err := range f.Returns(mustFuncs(t, f)[0], toy{}) {
		if err != nil {
			n++
			continue
		}
		got = append(got, a-text)
	}
	if len(got) != 2 || got[0] != 0 || got[1] != 4 || n != 1 {
		t.Errorf("%v, %d errors", got, n)
	}
	for range f.Returns(mustFuncs(t, f)[0], toy{}) {
		break // must be possible
	}
}

// TestSweepReal sweeps real programs: wrong bounds would soon show as bytes that
// are no instructions.
func TestSweepReal(t *testing.T) {
	for _, path := range []string{"/bin/ls", "/bin/bash", "/lib/x86_64-linux-gnu/libc.so.6", "/usr/i686-linux-gnu/lib/libc.so.6"} {
		t.Run(path, func(t *testing.T) {
			f := openReal(t, path)
			a, ok := arch.ByELF(f.Machine, f.Order == binary.ByteOrder(binary.BigEndian))
			if !ok {
				t.Skip("no port for ", f.Arch)
			}
			insns, returns := 0, 0
			funcs := mustFuncs(t, f)
			for _, fn := range funcs {
				end := fn.Addr
				for in, err := range f.Insns(fn, a) {
					if err != nil {
						t.Fatalf("%s: %v", fn.Name, err)
					}
					if VAddr(in.PC) != end {
						t.Fatalf("%s: %#x comes behind %#x", fn.Name, in.PC, uint64(end))
					}
					end += VAddr(in.Len)
					insns++
				}
				if end != fn.Range().End() {
					t.Fatalf("%s ends at %#x, not %#x", fn.Name, uint64(fn.Range().End()), uint64(end))
				}
				for range f.Returns(fn, a) {
					returns++
				}
			}
			if insns < 10_000 || returns < len(funcs)/2 {
				t.Errorf("%d instructions, %d returns in %d functions", insns, returns, len(funcs))
			}
		})
	}
}

// TestSweepCross sweeps libraries of other machines and Go's own programs for them:
// each byte of a function's code is in an instruction or in a refused one, and
// those are few.
func TestSweepCross(t *testing.T) {
	paths := []string{"/usr/aarch64-linux-gnu/lib/libc.so.6", "/usr/aarch64-linux-gnu/lib/libstdc++.so.6",
		"/usr/powerpc64-linux-gnu/lib/libc.so.6", "/usr/powerpc64le-linux-gnu/lib/libc.so.6", "/usr/powerpc64le-linux-gnu/lib/libstdc++.so.6"}
	if testing.Short() {
		paths = paths[:1]
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) { sweepCross(t, openReal(t, path), 100_000) })
	}
	if testing.Short() {
		return
	}
	for _, goarch := range []string{"arm64", "ppc64", "ppc64le"} {
		t.Run("go "+goarch, func(t *testing.T) { sweepCross(t, openReal(t, buildGo(t, goarch, "-ldflags=-s -w")), 100_000) })
	}
}

func sweepCross(t *testing.T, f *File, least int) {
	a, ok := arch.ByName(f.Arch)
	if !ok {
		t.Skip("no port for ", f.Arch)
	}
	insns, refused, zeros := 0, 0, 0 // linkage stubs of Power are padded with zeros
	for _, fn := range mustFuncs(t, f) {
		var size, seen uint64
		for r := range f.Code(fn) {
			size += r.Size
		}
		for in, err := range f.Insns(fn, a) {
			e, bad := errors.AsType[*InsnError](err)
			switch {
			case bad && errors.Is(err, fixups.ReasonReserved):
				refused++
				seen += uint64(min(len(e.Bytes), 4))
				if string(e.Bytes[:4]) == "\x00\x00\x00\x00" {
					zeros++
				}
			case err != nil:
				t.Fatalf("%s: %v", fn.Name, err)
			default:
				insns++
				seen += uint64(in.Len)
			}
		}
		if seen > size || seen+4*uint64(refused) < size {
			t.Fatalf("%s: %d of %d bytes of code", fn.Name, seen, size)
		}
	}
	t.Logf("%d instructions, %d words without a row, %d of them zero", insns, refused, zeros)
	if insns < least || (refused-zeros)*1000 > insns {
		t.Errorf("%d instructions, %d words without a row", insns, refused)
	}
}
