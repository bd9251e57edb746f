package objfile

import (
	"bufio"
	"bytes"
	"cmp"
	"debug/elf"
	"debug/gosym"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/xol-go/xol/internal/testenv"
)

// openReal opens a program of the machine, or skips.
func openReal(t testing.TB, path string) *File {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// coverage is the part of a section that functions cover.
func coverage(t testing.TB, f *File, section string) float64 {
	t.Helper()
	var all, covered uint64
	for _, s := range f.Sections {
		if s.Name != section {
			continue
		}
		all += s.Size
		for _, fn := range mustFuncs(t, f) {
			if s.Range().Contains(fn.Addr) {
				covered += fn.Size
			}
		}
	}
	if all == 0 {
		t.Fatalf("no %s", section)
	}
	return float64(covered) / float64(all)
}

// TestStripped: nearly all of a stripped C program is covered by .eh_frame.
func TestStripped(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not Linux")
	}
	f := openReal(t, "/bin/ls")
	if c := coverage(t, f, ".text"); c < 0.95 {
		t.Errorf("%.3f of .text covered", c)
	}
	n := 0
	for _, fn := range mustFuncs(t, f) {
		if fn.Source == FromEHFrame {
			n++
		}
	}
	if n < 100 || f.BuildID == "" {
		t.Errorf("%d functions from .eh_frame, build id %q", n, f.BuildID)
	}
	checkTiling(t, f)
	entries, err := f.Entries()
	if err != nil || len(entries) < 100 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	if f.Entry != 0 && !slices.ContainsFunc(entries, func(e Entry) bool { return e.Addr == f.Entry }) {
		t.Errorf("the program's entry %#x is not one", uint64(f.Entry))
	}
}

// libraries are found on most Linux machines, by any of their usual names.
var libraries = []string{
	"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/bin/bash",
}

func TestLibraries(t *testing.T) {
	for _, path := range libraries {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f := openReal(t, path)
			checkTiling(t, f)
			if c := coverage(t, f, ".text"); c < 0.8 {
				t.Errorf("%.3f of .text covered", c)
			}
			for p, err := range f.SDT() {
				if err != nil {
					t.Fatal(err)
				}
				if p.Nop == 0 {
					t.Errorf("%s:%s at %#x: % x", p.Provider, p.Name, uint64(p.PC), p.Site)
				}
			}
		})
	}
}

// TestAgainstReadelf compares the ranges of .eh_frame with binutils.
func TestAgainstReadelf(t *testing.T) {
	readelf := testenv.Tool(t, "readelf")
	for _, path := range append([]string{"/bin/ls"}, libraries...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f := openReal(t, path)
			frames, err := f.frameRanges()
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, c := range frames {
				got[fmt.Sprintf("%016x..%016x", c.addr, c.end())] = true
			}
			// It may fail for a separate debug file that it misses; the count tells.
			out, _ := exec.Command(readelf, "--debug-dump=frames", "--wide", path).Output()
			n := 0
			for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
				_, pc, ok := strings.Cut(sc.Text(), " pc=")
				if ok && strings.Contains(sc.Text(), "FDE") {
					if n++; !got[pc] {
						t.Errorf("readelf has %s", pc)
					}
				}
			}
			if n == 0 || n < len(got) {
				t.Errorf("%d ranges, readelf has %d", len(got), n)
			}
		})
	}
}

// run runs a command and returns its standard output.
func run(t testing.TB, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.Bytes())
	}
	return out
}

const tinyProgram = `package main

import "os"

//go:noinline
func add(a, b int) int { return a + b }

func main() { os.Exit(add(len(os.Args), -1)) }
`

// buildGo builds the tiny program and returns its path.
func buildGo(t *testing.T, arch string, args ...string) string {
	t.Helper()
	gotool := testenv.Tool(t, "go")
	dir := t.TempDir()
	for name, content := range map[string]string{"main.go": tinyProgram, "go.mod": "module tiny\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	exe := filepath.Join(dir, "tiny")
	cmd := exec.Command(gotool, append(append([]string{"build", "-o", exe}, args...), ".")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}

// TestGoStripped: a stripped Go program has the bounds of the unstripped one, on
// every architecture: symbols say the same as the function table.
func TestGoStripped(t *testing.T) {
	arches := []string{"amd64", "386", "arm64", "ppc64", "ppc64le"}
	if testing.Short() {
		arches = arches[:1]
	}
	for _, arch := range arches {
		t.Run(arch, func(t *testing.T) {
			plain := openReal(t, buildGo(t, arch))
			stripped := openReal(t, buildGo(t, arch, "-ldflags=-s -w"))
			if stripped.Arch != arch {
				t.Errorf("arch %s", stripped.Arch)
			}
			a, b := mustFuncs(t, plain), mustFuncs(t, stripped)
			if len(a) != len(b) || len(a) < 1000 {
				t.Fatalf("%d functions, stripped %d", len(a), len(b))
			}
			for i := range a {
				// Assembly functions carry their ABI in the symbol only, and the symbol
				// table has no middle dots.
				name := strings.ReplaceAll(b[i].Name, "·", ".")
				if a[i].Addr != b[i].Addr || a[i].Size != b[i].Size || strings.TrimSuffix(a[i].Name, ".abi0") != name ||
					a[i].Source != FromSymbol || b[i].Source != FromPclntab {
					t.Fatalf("%+v, stripped %+v", a[i], b[i])
				}
			}
			checkTiling(t, plain)
			checkTiling(t, stripped)
			if fns, err := stripped.Lookup("main.add"); err != nil || len(fns) != 1 {
				t.Errorf("%+v, %v", fns, err)
			}
			againstDebugELF(t, plain)
		})
	}
}

// againstDebugELF: every sized function symbol that the standard library sees is
// inside one of ours, at its start unless nested.
func againstDebugELF(t *testing.T, f *File) {
	ref, err := elf.Open(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer ref.Close()
	list, err := ref.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range list {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 || slices.Contains(goMarkers[:], s.Name) {
			continue
		}
		n++
		if fn, err := f.FuncAt(VAddr(s.Value)); err != nil || uint64(fn.Addr) != s.Value || fn.Size != s.Size {
			t.Errorf("%s at %#x: %+v, %v", s.Name, s.Value, fn, err)
		}
	}
	if n < 1000 {
		t.Errorf("%d symbols", n)
	}
}

// TestGoPIE: the function table of a position-independent program, whose
// moduledata is filled in by relocations.
func TestGoPIE(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	f := openReal(t, buildGo(t, "amd64", "-buildmode=pie", "-ldflags=-s -w"))
	if f.Type != elf.ET_DYN {
		t.Errorf("%v", f.Type)
	}
	if c := coverage(t, f, ".text"); c < 0.9 {
		t.Errorf("%.3f of .text covered", c)
	}
	if fns, err := f.Lookup("main.add"); err != nil || len(fns) != 1 {
		t.Errorf("%+v, %v", fns, err)
	}
}

// TestSelf reads the program that runs: its addresses must be the real ones, and
// debug/gosym must see the same functions.
func TestSelf(t *testing.T) {
	exe, err := os.Executable()
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("no ELF executable: ", err)
	}
	f := openReal(t, exe)
	var pcs [1]uintptr
	runtime.Callers(1, pcs[:])
	frame, _ := runtime.CallersFrames(pcs[:]).Next()
	if f.Type == elf.ET_EXEC {
		fn, err := f.FuncAt(VAddr(frame.PC))
		if err != nil || fn.Name != frame.Function || uintptr(fn.Addr) != frame.Entry {
			t.Errorf("%+v, %v, want %+v", fn, err, frame)
		}
	}
	tab, err := f.goTable()
	if err != nil || tab == nil {
		t.Fatal("no function table: ", err)
	}
	s := f.section(".gopclntab")
	b, err := f.read(s.off, s.size, s.name)
	if err != nil {
		t.Fatal(err)
	}
	base, ok, err := f.pclntabAt(s.addr, b).base()
	if !ok || err != nil {
		t.Fatal("no base: ", err)
	}
	ref, err := gosym.NewTable(nil, gosym.NewLineTable(b, base))
	if err != nil {
		t.Fatal(err)
	}
	var funcs []Func
	for _, c := range tab.list {
		name, _ := tab.names.at(tab.nameOff[c.ord])
		funcs = append(funcs, Func{Name: name, Addr: VAddr(c.addr), Size: c.size})
	}
	slices.SortFunc(funcs, func(a, b Func) int { return cmp.Compare(a.Addr, b.Addr) })
	compareGosym(t, funcs, ref.Funcs)
}

// TestMaps computes the load bias of this process from its own mappings.
func TestMaps(t *testing.T) {
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	f := openReal(t, exe)
	want := uint64(0)
	var pcs [1]uintptr
	runtime.Callers(1, pcs[:])
	frame, _ := runtime.CallersFrames(pcs[:]).Next()
	fns, err := f.Lookup(frame.Function)
	if err != nil {
		t.Fatal(err)
	}
	want = uint64(frame.Entry) - uint64(fns[0].Addr)
	n := 0
	for line := range strings.Lines(string(b)) {
		var lo, hi, off uint64
		var perm string
		if _, err := fmt.Sscanf(line, "%x-%x %s %x", &lo, &hi, &perm, &off); err != nil || !strings.Contains(perm, "x") || !strings.Contains(line, exe) {
			continue
		}
		n++
		bias, err := f.BiasOf(RuntimeAddr(lo), FileOffset(off))
		if err != nil || bias != want {
			t.Errorf("%s: %#x, %v, want %#x", line, bias, err, want)
		}
		if r, err := f.RuntimeAddrOf(fns[0].Addr, bias); err != nil || uintptr(r) != frame.Entry {
			t.Errorf("%#x, %v", r, err)
		}
	}
	if n == 0 {
		t.Error("no executable mapping of " + exe)
	}
}

// TestMappingSymbolsReal cross-compiles literal pools, where there is a compiler.
func TestMappingSymbolsReal(t *testing.T) {
	gcc := testenv.Tool(t, "aarch64-linux-gnu-gcc")
	dir := t.TempDir()
	src := filepath.Join(dir, "a.s")
	asm := ".globl f\n.type f,%function\nf: ldr x0, 1f\n ret\n1: .quad 0x1122334455667788\n nop\n.size f,.-f\n"
	if err := os.WriteFile(src, []byte(asm), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, dir, gcc, "-nostdlib", "-shared", "-o", "a.so", src)
	f := openReal(t, filepath.Join(dir, "a.so"))
	fns, err := f.Lookup("f")
	if err != nil || len(fns) != 1 || fns[0].Size != 20 {
		t.Fatalf("%+v, %v", fns, err)
	}
	var got []Range
	for r := range f.Code(fns[0]) {
		got = append(got, Range{r.Addr - fns[0].Addr, r.Size})
	}
	if want := []Range{{0, 8}, {16, 4}}; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

const crossSource = `extern int g(int);
__attribute__((noinline)) int f(int a) { return g(a) + 1; }
int h(int a) { return f(a) * 2; }
`

// TestCrossC compiles C for other machines, where there are compilers: function
// descriptors and local entries must lead to the first instruction, which saves
// the return address.
func TestCrossC(t *testing.T) {
	cases := []struct {
		triple, arch string
		local        VAddr  // distance of the local entry
		first        string // bytes at the entry of f, as far as they are certain
	}{
		{"powerpc64-linux-gnu", "ppc64", 0, "\x7c\x08\x02\xa6"},
		{"powerpc64le-linux-gnu", "ppc64le", 8, "\xa6\x02\x08\x7c"},
		{"aarch64-linux-gnu", "arm64", 0, "\xfd\x7b"},
		{"i686-linux-gnu", "386", 0, ""},
	}
	for _, c := range cases {
		t.Run(c.arch, func(t *testing.T) {
			gcc := testenv.Tool(t, c.triple+"-gcc")
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a.c"), []byte(crossSource), 0o644); err != nil {
				t.Fatal(err)
			}
			run(t, dir, gcc, "-O1", "-fPIC", "-shared", "-nostdlib", "-s", "-o", "a.so", "a.c")
			f := openReal(t, filepath.Join(dir, "a.so"))
			checkTiling(t, f)
			if f.Arch != c.arch {
				t.Errorf("arch %s", f.Arch)
			}
			entries, err := f.Entries()
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == "f" })
			if i < 0 || entries[i].Addr != entries[i].Global+c.local {
				t.Fatalf("%+v", entries)
			}
			if b, err := f.Bytes(entries[i].Addr, 4); err != nil || !strings.HasPrefix(string(b), c.first) {
				t.Errorf("% x, %v", b, err)
			}
			if fns, err := f.Lookup("h"); err != nil || len(fns) != 1 || fns[0].Source != FromSymbol {
				t.Errorf("%+v, %v", fns, err)
			}
		})
	}
}
