package c_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
)

// alone is a translation unit that has the whole header with external linkage,
// so that nothing is left out.
const alone = "#define XOL_API\n#include \"xol_fixups.h\"\n"

// source writes a file into a directory of the test.
func source(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// freestanding are the ways the header is compiled without a library: words of
// 64 and 32 bits, both languages, every optimisation that turns loops into
// calls.
func freestanding() []target {
	var list []target
	for _, cc := range []string{"gcc", "clang"} {
		for _, bits := range []string{"-m64", "-m32"} {
			list = append(list,
				target{name: cc + bits, cc: cc, args: join(asC, nil, bits, "-O3", "-ffreestanding", "-fno-pic")},
				target{name: cc + bits + "++", cc: cc, args: join(asCPP, nil, bits, "-Os", "-ffreestanding", "-fno-pic")})
		}
	}
	for _, cc := range []string{"powerpc64-linux-gnu-gcc", "aarch64-linux-gnu-gcc"} {
		list = append(list, target{name: cc, cc: cc, args: join(asC, nil, "-O3", "-ffreestanding")})
	}
	return list
}

// TestFreestanding compiles the header alone and demands that nothing is asked
// of any library: no memcpy, no 64-bit division of a 32-bit machine.
func TestFreestanding(t *testing.T) {
	if testenv.Race {
		t.Skip("waits for programs in C, which the race detector does not see; runs without it")
	}
	if testing.Short() {
		t.Skip("short")
	}
	src := source(t, "alone.c", alone)
	for _, tg := range freestanding() {
		t.Run(tg.name, func(t *testing.T) {
			obj := filepath.Join(t.TempDir(), "alone.o")
			compile(t, tg.cc, join(tg.args, warn, "-c", "-o", obj, src)...)
			for sym := range strings.FieldsSeq(compile(t, "nm", "-u", obj)) {
				if sym != "U" && sym != ".TOC." {
					t.Errorf("undefined: %s", sym)
				}
			}
		})
	}
}

// frame is a function in gcc's call graph: its stack and whom it calls.
type frame struct {
	bytes int
	calls []string
}

// readFrames parses what -fcallgraph-info=su writes.
func readFrames(t *testing.T, path string) map[string]*frame {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	frames := map[string]*frame{}
	for _, m := range regexp.MustCompile(`node: \{ title: "([^"]+)" label: "[^"]*\\n(\d+) bytes \(([\w,]+)\)`).FindAllSubmatch(text, -1) {
		n, _ := strconv.Atoi(string(m[2]))
		frames[string(m[1])] = &frame{bytes: n}
		if string(m[3]) == "dynamic" { // "dynamic,bounded" is arguments that are pushed
			t.Errorf("%s: its stack has no bound", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"`).FindAllSubmatch(text, -1) {
		if f := frames[string(m[1])]; f != nil {
			f.calls = append(f.calls, string(m[2]))
		}
	}
	return frames
}

// depth returns the most bytes on the stack below a call of name, return
// addresses included where the ISA pushes them (x86 counts them already). A
// cycle fails the test: the header has no recursion.
func depth(t *testing.T, frames map[string]*frame, name string, open []string) int {
	f := frames[name]
	if f == nil {
		return 0 // a callback
	}
	if slices.Contains(open, name) {
		t.Fatalf("recursion: %q", append(open, name))
	}
	deepest := 0
	for _, callee := range f.calls {
		deepest = max(deepest, depth(t, frames, callee, append(open, name)))
	}
	return f.bytes + deepest
}

// stackLimit is the promise of the header, in bytes.
const stackLimit = 512

// TestStack sums what gcc says of frames over the deepest chain of calls. The
// big-endian ABI of ppc64 is the hardest: no frame has less than 112 bytes.
func TestStack(t *testing.T) {
	if testenv.Race {
		t.Skip("waits for programs in C, which the race detector does not see; runs without it")
	}
	if testing.Short() {
		t.Skip("short")
	}
	for _, cc := range []string{"gcc", "i686-linux-gnu-gcc", "powerpc64-linux-gnu-gcc", "aarch64-linux-gnu-gcc"} {
		for _, opt := range []string{"-O2", "-Os"} {
			t.Run(cc+opt, func(t *testing.T) {
				obj := filepath.Join(t.TempDir(), "api.o")
				compile(t, cc, "-I.", "-std=c11", "-ffreestanding", opt, "-fcallgraph-info=su", "-c", "-o", obj, "testdata/api.c")
				frames := readFrames(t, strings.TrimSuffix(obj, ".o")+".ci")
				for _, name := range []string{"check", "find", "choose", "place", "run", "point"} {
					if frames[name] == nil {
						t.Fatalf("no frame of %s: is the call graph read right?", name)
					}
					n := depth(t, frames, name, nil)
					if n >= stackLimit {
						t.Errorf("%s: %d bytes of stack, the limit is %d", name, n, stackLimit)
					}
					t.Logf("%s: %d bytes of stack", name, n)
				}
				t.Logf("text: %s bytes", strings.Fields(compile(t, "size", obj))[6])
			})
		}
	}
}

// TestEnumerations holds the constants of the header against the spellings of
// package fixups.
func TestEnumerations(t *testing.T) {
	src, err := os.ReadFile("xol_fixups.h")
	if err != nil {
		t.Fatal(err)
	}
	enums := map[string][]string{} // CLASS -> names in order, as in the header
	for _, m := range regexp.MustCompile(`(?s)enum \{([^}=]*)\}`).FindAllSubmatch(src, -1) {
		for name := range strings.FieldsFuncSeq(string(m[1]), func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' }) {
			kind, _, _ := strings.Cut(strings.TrimPrefix(name, "XOL_"), "_")
			enums[kind] = append(enums[kind], strings.TrimPrefix(name, "XOL_"+kind+"_"))
		}
	}
	for kind, spell := range spellings {
		names := enums[kind]
		if len(names) == 0 {
			t.Errorf("no enumeration %s", kind)
		}
		for i, name := range names {
			want := strings.ToUpper(strings.ReplaceAll(spell(uint8(i)), "-", "_"))
			if i == 0 && strings.HasSuffix(want, "(0)") {
				want = "NONE"
			}
			if name != want {
				t.Errorf("XOL_%s_%s is %d, which is %s", kind, name, i, want)
			}
		}
		if last := spell(uint8(len(names))); !strings.Contains(last, "(") {
			t.Errorf("XOL_%s has no %s", kind, last)
		}
	}
}

var spellings = map[string]func(uint8) string{
	"CLASS":    func(i uint8) string { return fixups.Class(i).String() },
	"HAZARD":   func(i uint8) string { return fixups.Hazard(i).String() },
	"REASON":   func(i uint8) string { return fixups.Reason(i).String() },
	"FORM":     func(i uint8) string { return fixups.Form(i).String() },
	"STRATEGY": func(i uint8) string { return fixups.Strategy(i).String() },
	"TAIL":     func(i uint8) string { return fixups.Tail(i).String() },
	"STOP":     func(i uint8) string { return fixups.Stop(i).String() },
	"RETURNS":  func(i uint8) string { return fixups.Returns(i).String() },
	"STATE":    func(i uint8) string { return fixups.State(i).String() },
	"ESCAPE":   func(i uint8) string { return fixups.EscapeKind(i).String() },
	"BASE":     func(i uint8) string { return fixups.Base(i).String() },
	"CHECK":    func(i uint8) string { return fixups.Check(i).String() },
	"ORDER":    func(i uint8) string { return fixups.Order(i).String() },
	"OP":       func(i uint8) string { return fixups.Op(i).String() },
	"COND":     func(i uint8) string { return fixups.Cond(i).String() },
}
