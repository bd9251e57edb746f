package c_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/objfile"
	"github.com/xol-go/xol/reloc"
)

// example writes the code of docs/c.md to a file.
func example(t *testing.T, dir string) {
	t.Helper()
	doc, err := os.ReadFile("../../docs/c.md")
	if err != nil {
		t.Fatal(err)
	}
	var code []byte
	for _, m := range regexp.MustCompile("(?s)```c\n(.*?)```").FindAllSubmatch(doc, -1) {
		code = append(code, m[1]...)
	}
	if err := os.WriteFile(filepath.Join(dir, "example.h"), code, 0o644); err != nil {
		t.Fatal(err)
	}
}

// platform is where the agent runs.
type platform struct {
	arch string
	cc   []string
	args []string
	exec string // "" on the host itself
	want string // of probed()
}

// armWant: 36 instructions. One call leaves out the b and the udf, the one with
// NULL five behind the cbnz, and hits the load twice.
const armWant = "probes 36, refused 0, by jump 21, hits 66, faults 2\n"

// powerWant: 35 instructions, all but the trap are hit. Two of them three times in
// each call; the call with NULL leaves out four, and hits the load twice.
const powerWant = "probes 35, refused 0, by jump 27, hits 73, faults 2\n"

var platforms = []platform{
	// 13 instructions, of which 6 cannot be emulated. Each of the two calls hits 12
	// probes, all but the ud2: the one with NULL leaves out the jmp, but hits the
	// load twice, since its fault is reported at the site. That fault happens once
	// without the probes, too.
	{"amd64", []string{"gcc", "clang"}, []string{"-no-pie"}, "", "probes 13, refused 0, by jump 6, hits 24, faults 2\n"},
	{"arm64", []string{"aarch64-linux-gnu-gcc"}, []string{"-static", "-DXOL_NO_PROCESS_VM"}, "qemu-aarch64-static", armWant},
	{"ppc64", []string{"powerpc64-linux-gnu-gcc"}, []string{"-static", "-DXOL_NO_PROCESS_VM"}, "qemu-ppc64-static", powerWant},
	{"ppc64le", []string{"powerpc64le-linux-gnu-gcc"}, []string{"-static", "-DXOL_NO_PROCESS_VM"}, "qemu-ppc64le-static", powerWant},
}

// build compiles the agent.
func (m *platform) build(t *testing.T, dir, cc string) string {
	t.Helper()
	agent := filepath.Join(dir, "agent-"+cc)
	compile(t, cc, join([]string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-I.", "-I" + dir, "-o", agent, "testdata/agent.c"}, m.args)...)
	return agent
}

func (m *platform) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	if m.exec != "" {
		args = append([]string{testenv.Tool(t, m.exec)}, args...)
	}
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	return string(out), err
}

// agentTable writes the table of functions of a program, and returns their ranges
// as the agent takes them.
func agentTable(t *testing.T, m *platform, agent, table string, names ...string) (ranges []string) {
	t.Helper()
	f, err := objfile.Open(agent)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, ok := arch.ByName(m.arch)
	if !ok {
		t.Skip("no port " + m.arch)
	}
	info := a.Info()
	tab := &fixups.Table{Arch: info.Name, Base: uint64(f.Base), Layout: fixups.Layout{Bits: uint8(info.Bits), Align: uint8(info.Align), Placing: info.Order(reloc.DataDefault)}}
	for _, name := range names {
		fns, err := f.Lookup(name)
		if err != nil {
			continue // not every C library has it
		}
		for _, fn := range fns {
			ranges = append(ranges, fmt.Sprintf("%x", uint64(fn.Addr)), fmt.Sprintf("%x", uint64(fn.Range().End())))
			for r := range f.Code(fn) {
				describeRange(t, tab, a, f, r)
			}
		}
	}
	sortEntries(tab)
	data, err := tab.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(table, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return ranges
}

func describeRange(t *testing.T, tab *fixups.Table, a reloc.Arch, f *objfile.File, r objfile.Range) {
	t.Helper()
	code, err := f.Bytes(r.Addr, r.Size)
	if err != nil {
		t.Fatal(err)
	}
	env := reloc.Env{Code: &reloc.Text{Addr: uint64(r.Addr), Data: code}, SHSTK: reloc.Off, IBT: reloc.Off, BTI: reloc.Off, GCS: reloc.Off}
	for off := 0; off < len(code); {
		var e fixups.Entry
		err := reloc.Describe(&e, a, code[off:], uint64(r.Addr)+uint64(off), &env, true)
		if err != nil && e.Class == fixups.ClassInvalid {
			off += a.Info().Past(&reloc.Insn{Len: e.Len}, len(code)-off)
			continue
		}
		tab.Entries = append(tab.Entries, e)
		off += int(e.Len)
	}
}

func sortEntries(tab *fixups.Table) {
	slices.SortFunc(tab.Entries, func(a, b fixups.Entry) int { return cmp.Compare(a.PC, b.PC) })
	tab.Entries = slices.CompactFunc(tab.Entries, func(a, b fixups.Entry) bool { return a.PC == b.PC })
}

// TestAgent compiles the example of docs/c.md, and probes a function with it:
// emulated instructions, copies in slots, and a fault in a slot that the
// program's handler sees at the site.
func TestAgent(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("runs on Linux, not in short mode")
	}
	dir := t.TempDir()
	example(t, dir)
	for i := range platforms {
		m := &platforms[i]
		t.Run(m.arch, func(t *testing.T) {
			if m.exec == "" && runtime.GOARCH != m.arch {
				t.Skip("not on " + m.arch)
			}
			for _, cc := range m.cc {
				agent := m.build(t, dir, cc)
				table := agent + ".rfx"
				agentTable(t, m, agent, table, "probed_code", "probed")
				out, err := m.run(t, agent, table)
				if err != nil || out != m.want {
					t.Errorf("%s: %v\n%s", cc, err, out)
				}
			}
		})
	}
}

// worked are the functions of the agent and of the C library that get probes.
var worked = []string{"work_hash", "work_series", "work_fib", "work_word", "by_value", "work", "qsort", "__qsort_r", "qsort_r", "msort_with_tmp", "msort_with_tmp.part.0",
	"__snprintf", "snprintf", "__vsnprintf_internal", "__vfprintf_internal", "__printf_fp_l", "___printf_fp", "__printf_fp", "_itoa_word", "_itoa", "hack_digit", "__printf_fp_l.isra.0",
	"____strtol_l_internal", "____strtoul_l_internal", "____strtod_l_internal", "strtod", "strtol", "strtoul", "round_and_return", "str_to_mpn", "__mpn_mul", "__mpn_divrem", "__mpn_extract_double"}

// TestAgentWork probes every instruction of functions of the C library and of the
// program that are hot, and finds their output unchanged.
func TestAgentWork(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("runs on Linux, not in short mode")
	}
	dir := t.TempDir()
	example(t, dir)
	for i := range platforms {
		m := platforms[i]
		t.Run(m.arch, func(t *testing.T) {
			if m.exec == "" {
				if runtime.GOARCH != m.arch {
					t.Skip("not on " + m.arch)
				}
				m.args = append(slices.Clone(m.args), "-static")
			}
			agent := m.build(t, dir, m.cc[0])
			table := agent + ".rfx"
			ranges := agentTable(t, &m, agent, table, worked...)
			out, err := m.run(t, slices.Concat([]string{agent, table}, ranges)...)
			var probes, refused, jumps, hits, size int
			if _, serr := fmt.Sscanf(out, "probes %d, refused %d, by jump %d, hits %d, output of %d bytes", &probes, &refused, &jumps, &hits, &size); serr != nil || err != nil {
				t.Fatalf("%v, %v\n%.3000s", err, serr, out)
			}
			t.Log(strings.TrimSpace(out))
			if probes < 3000 || refused*100 > probes || jumps < 1000 || hits < 20_000 || size < 800 {
				t.Errorf("too little: %s", out)
			}
		})
	}
}
