//go:build linux && amd64

package agent_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/xol-go/xol/internal/relocgen"
	"github.com/xol-go/xol/internal/testenv"
)

// limit is for one program; what runs in a second takes some when every
// instruction is a trap and the machine has other work.
const limit = 4 * time.Minute

// scratch is one directory for all tests: tables and builds are made once.
var scratch string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "xol-agent")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// ready skips what executes probed programs where it would say nothing new.
func ready(t *testing.T) {
	t.Helper()
	if testing.Short() || testenv.Race {
		t.Skip("runs other programs for seconds")
	}
	t.Parallel()
}

// once makes a file of a name in the scratch directory, the first time it is
// asked for.
func once(t *testing.T, name string, create func(path string) error) string {
	t.Helper()
	path := filepath.Join(scratch, name)
	f, _ := made.LoadOrStore(name, sync.OnceValue(func() error { return create(path) }))
	if err := f.(func() error)(); err != nil {
		t.Fatal(err)
	}
	return path
}

var made sync.Map

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// build makes the targets of the Makefile with a compiler, in a directory.
func build(t *testing.T, cc, dir string, args ...string) string {
	t.Helper()
	testenv.Tool(t, cc)
	testenv.Tool(t, "make")
	testenv.Tool(t, "objcopy")
	return once(t, dir, func(path string) error {
		if err := os.Mkdir(path, 0o777); err != nil {
			return err
		}
		return command("make", append([]string{"-s", "-C", "c", "CC=" + cc, "OUT=" + path, "all", "demo"}, args...)...)
	})
}

// compile makes a program of testdata.
func compile(t *testing.T, name, cc, source string, args ...string) string {
	t.Helper()
	testenv.Tool(t, cc)
	return once(t, name, func(path string) error {
		return command(cc, append(args, "-O2", "-Wall", "-Wextra", "-Werror", "-Wl,--build-id", "-o", path, "testdata/"+source)...)
	})
}

// table makes the table that the agent wants of a program or library, or of some
// of its sites.
func table(t *testing.T, file string, which ...string) string {
	t.Helper()
	return once(t, filepath.Base(file)+strings.Join(which, "")+".rfx", func(path string) error {
		var out bytes.Buffer
		args := []string{"relocgen", "table", "-q", "--binary", "--form=jump", "--slots=near", "--spill", "-o", path}
		args = append(append(args, which...), file)
		if relocgen.Main(args, &relocgen.Streams{In: &bytes.Buffer{}, Out: &out, Err: &out}) != 0 {
			return fmt.Errorf("%s\n%s", strings.Join(args, " "), out.Bytes())
		}
		return nil
	})
}

// library is the path of a library as the dynamic linker finds it for a program.
func library(t *testing.T, program, name string) string {
	t.Helper()
	out, err := exec.Command(testenv.Tool(t, "ldd"), program).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range strings.Fields(string(out)) {
		if strings.HasPrefix(f, "/") && strings.HasPrefix(filepath.Base(f), name) {
			path, err := filepath.EvalSymlinks(f)
			if err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	t.Fatalf("%s has no %s", program, name)
	return ""
}

// job is a program to run with and without probes.
type job struct {
	args   []string
	tables []string // files that tables are made of
	parts  []string // flags, for each of which there is a table of some sites of the program
	env    []string
	input  string // standard input
}

// result is what a run leaves.
type result struct {
	stdout, stderr string
	code           int
	log            map[string]uint64 // sums of all processes
	last           map[string]uint64 // the last process to end
	cpu            time.Duration     // user and system
}

func (j *job) run(t *testing.T, env ...string) *result {
	t.Helper()
	cmd := exec.Command(j.args[0], j.args[1:]...)
	// Nothing that depends on the user or the language of the machine.
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + scratch}, env...)
	cmd.Stdin = strings.NewReader(j.input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(limit, func() { cmd.Process.Kill() })
	cmd.Wait()
	timer.Stop()
	end := cmd.ProcessState
	return &result{stdout: stdout.String(), stderr: stderr.String(), code: end.ExitCode(), cpu: end.UserTime() + end.SystemTime()}
}

// numbers adds the counts of lines of the agent's log: words and numbers.
func numbers(into map[string]uint64, line string) {
	f := strings.Fields(line)
	for i := 3; i+1 < len(f); i += 2 {
		if n, err := strconv.ParseUint(f[i+1], 10, 64); err == nil {
			into[f[i]] += n
		}
	}
}

// probed runs the program plain and with the agent, compares, and holds the
// counts of the agent to what must be.
func (j *job) probed(t *testing.T, preload string) *result {
	t.Helper()
	plain := j.run(t)
	var tables []string
	for _, f := range j.tables {
		tables = append(tables, table(t, f))
	}
	for _, flag := range j.parts {
		tables = append(tables, table(t, j.args[0], flag))
	}
	log := filepath.Join(t.TempDir(), "log")
	env := append([]string{"XOL_TABLE=" + strings.Join(tables, ":"), "XOL_LOG=" + log}, j.env...)
	if preload != "" {
		env = append(env, "LD_PRELOAD="+preload)
	}
	got := j.run(t, env...)
	text, _ := os.ReadFile(log)
	if got.code != plain.code || got.stdout != plain.stdout || got.stderr != plain.stderr {
		t.Errorf("%q: exit %d, plain %d\n%.3000s%.1000s\nplain:\n%.3000s%.1000s\nlog:\n%.2000s",
			j.args, got.code, plain.code, got.stdout, got.stderr, plain.stdout, plain.stderr, text)
	}
	got.log, got.last = map[string]uint64{}, map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		numbers(got.log, line)
		if strings.Contains(line, " end ") {
			got.last = map[string]uint64{}
			numbers(got.last, line)
		}
	}
	l := got.log
	if l["probes"] == 0 || l["syscalls"] == 0 || l["hits"] == 0 || l["stale"] != 0 || l["unresolved"] != 0 {
		t.Errorf("%q: not as it should be:\n%s", j.args, text)
	}
	t.Logf("%s: %d hits, %d served, back %d, forward %d; cpu %.2f s, plain %.3f s\n%s", filepath.Base(j.args[0]), got.last["hits"],
		got.last["served"], got.last["back"], got.last["forward"], got.cpu.Seconds(), plain.cpu.Seconds(), text)
	return got
}

// TestHandlersAlone: what runs in handlers calls nobody, and all code of the
// agent is where no probe is set.
func TestHandlersAlone(t *testing.T) {
	for _, cc := range []string{"gcc", "clang"} {
		dir := build(t, cc, "agent-"+cc)
		for _, name := range []string{"trap.o", "install.o"} {
			f, err := elf.Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for _, s := range f.Sections {
				if s.Flags&elf.SHF_EXECINSTR != 0 && s.Size > 0 && s.Name != "xol_text" {
					t.Errorf("%s, %s: %d bytes of code in %s", cc, name, s.Size, s.Name)
				}
			}
			syms, err := f.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range syms {
				if name == "trap.o" && s.Section == elf.SHN_UNDEF && s.Name != "" && s.Name != "_GLOBAL_OFFSET_TABLE_" {
					t.Errorf("%s: handlers use %s", cc, s.Name)
				}
			}
		}
	}
}

// TestSelf: the demo, which has the agent and all of libc in it.
func TestSelf(t *testing.T) {
	ready(t)
	for _, cc := range []string{"gcc", "clang"} {
		demo := filepath.Join(build(t, cc, "agent-"+cc), "demo")
		named := once(t, "demo-"+cc, func(path string) error { return os.Symlink(demo, path) })
		counts := filepath.Join(t.TempDir(), "counts")
		j := job{args: []string{named}, tables: []string{named}, env: []string{"XOL_COUNTS=" + counts}}
		j.probed(t, "")
		text, err := os.ReadFile(counts)
		if err != nil || !strings.Contains(string(text), " main+0x0\n") {
			t.Errorf("%s: %v, no count for main in\n%.500s", cc, err, text)
		}
	}
}

// TestStress: threads are taken out of slots at boundaries inside of them, by the
// programs of the points.
func TestStress(t *testing.T) {
	ready(t)
	demo := filepath.Join(build(t, "gcc", "agent-gcc"), "demo")
	named := once(t, "demo-gcc", func(path string) error { return os.Symlink(demo, path) })
	j := job{args: []string{named}, tables: []string{named}, env: []string{"XOL_STRESS=1"}}
	if got := j.probed(t, ""); got.log["back"] < 100 || got.log["forward"] < 10000 {
		t.Errorf("back %d, forward %d", got.log["back"], got.log["forward"])
	}
}

// TestSanitized: the half of the agent that is no handler, under sanitizers. The
// search for leaks is off: a thread that the sanitizer has cloned with all signals
// blocked, by calls of its own, does it, and now and then makes a system call in
// libc, which kills it (README, limits); the program waits for it for ever.
func TestSanitized(t *testing.T) {
	ready(t)
	dir := build(t, "gcc", "agent-sanitized", "STATIC=", "SANITIZE=-fsanitize=address,undefined -fno-sanitize-recover=all")
	demo := once(t, "demo-sanitized", func(path string) error { return os.Symlink(filepath.Join(dir, "demo"), path) })
	j := job{args: []string{demo}, tables: []string{demo, library(t, demo, "libc.so")},
		env: []string{"XOL_FUNCS=sieve,by_weight", "ASAN_OPTIONS=detect_leaks=0"}}
	j.probed(t, "")
}

// TestTrapping: the handlers with every undefined operation a trap of its own.
func TestTrapping(t *testing.T) {
	ready(t)
	dir := build(t, "clang", "agent-trapping", "CFLAGS=-O1 -fsanitize=undefined -fsanitize-trap=undefined")
	exe := compile(t, "signals-trapping", "gcc", "signals.c", "-pthread")
	j := job{args: []string{exe}, tables: []string{exe, library(t, exe, "libc.so")}, env: []string{"XOL_FUNCS=main,work,step,callee"}}
	j.probed(t, filepath.Join(dir, "agent.so"))
}

// TestSignals: faults, a storm of signals, masks, threads and children, with a
// probe on every instruction of the program, libc and the dynamic linker.
func TestSignals(t *testing.T) {
	ready(t)
	for _, c := range []struct {
		cc   string
		args []string
	}{{"gcc", []string{"-pthread"}}, {"clang", []string{"-pthread", "-no-pie"}}} {
		exe := compile(t, "signals-"+c.cc, c.cc, "signals.c", c.args...)
		libc, ld := library(t, exe, "libc.so"), library(t, exe, "ld-linux")
		j := job{args: []string{exe}, tables: []string{exe, libc, ld}}
		got := j.probed(t, filepath.Join(build(t, c.cc, "agent-"+c.cc), "agent.so"))
		if got.log["served"] == 0 || got.log["back"] == 0 || got.log["forward"] == 0 || got.log["chained"] == 0 {
			t.Errorf("%s: %v", c.cc, got.log)
		}
	}
}

// TestParts: several tables of one object, of sites that alternate.
func TestParts(t *testing.T) {
	ready(t)
	exe := compile(t, "throw", "g++", "throw.cc", "-fnon-call-exceptions")
	j := job{args: []string{exe}, tables: []string{library(t, exe, "libc.so")}, parts: []string{"--entries", "--returns", "--only=fixups"}}
	j.probed(t, filepath.Join(build(t, "gcc", "agent-gcc"), "agent.so"))
}

// TestThrow: unwinding through probed frames, and out of a signal handler.
func TestThrow(t *testing.T) {
	ready(t)
	exe := compile(t, "throw", "g++", "throw.cc", "-fnon-call-exceptions")
	files := []string{exe, library(t, exe, "libc.so"), library(t, exe, "libgcc_s.so"), library(t, exe, "libstdc++.so")}
	j := job{args: []string{exe}, tables: files}
	j.probed(t, filepath.Join(build(t, "gcc", "agent-gcc"), "agent.so"))
}

// readme is text to work on.
func readme(t *testing.T, lines int) string {
	t.Helper()
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.SplitAfter(string(b), "\n")
	return strings.Join(all[:min(lines, len(all))], "")
}

// TestPrograms runs programs of the system with a probe on every instruction of
// theirs and of libc, and of hot functions where all would take too long.
func TestPrograms(t *testing.T) {
	shell := `trap 'echo got USR1' USR1; kill -USR1 $$; for i in 1 2 3; do echo $((i * i)); done
f() { local x=$1; echo "${x//a/b}"; }; f banana; echo $(echo sub | tr a-z A-Z); (exit 3); echo $?; [[ abc =~ b(.) ]] && echo ${BASH_REMATCH[1]}`
	perl := `my %h = map { $_ => $_ ** 2 } 1 .. 40; print join(",", map { "$_=$h{$_}" } sort { $a <=> $b } keys %h), "\n";
eval { die "x\n" }; print $@; $_ = "a1b22c333"; print "$1 " while /(\d+)/g; printf "%.3f\n", sqrt 2;`
	python := "import re, json\nprint(sum(i * i for i in range(300)), json.dumps({'a': [1, 2.5, None]}), re.sub('a+', 'b', 'caaat'))"
	for _, p := range []struct {
		name  string
		args  []string
		lines int
		funcs string
	}{
		{"ls", []string{"-la", "/usr"}, 0, ""},
		{"sort", []string{"-k2"}, 40, ""},
		{"gzip", []string{"-9n"}, 30, ""},
		{"sha256sum", nil, 30, ""},
		{"grep", []string{"-nE", "[a-z]+ing"}, 12, ""},
		{"sed", []string{"s/the/THE/g"}, 40, ""},
		{"awk", []string{`{n += NF; c[$1]++} END {print n, c["the"], sin(1)}`}, 30, ""},
		{"bash", []string{"-c", shell}, 0, ""},
		{"perl", []string{"-e", perl}, 0, "Perl_runops_standard,Perl_pp_add,Perl_pp_padsv,Perl_sv_setsv_flags,Perl_sv_2pv_flags,Perl_pp_match,Perl_hv_common,qsort,malloc,free,memchr"},
		{"/usr/bin/python3", []string{"-I", "-S", "-c", python}, 0, "PyObject_GetAttr,PyLong_FromLong,PyDict_GetItem,PyList_Append,malloc"},
	} {
		t.Run(filepath.Base(p.name), func(t *testing.T) {
			ready(t)
			path, err := exec.LookPath(p.name)
			if err != nil {
				t.Skip(err)
			}
			j := job{args: append([]string{path}, p.args...), input: readme(t, p.lines)}
			exe, err := filepath.EvalSymlinks(path)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(exe); err != nil || !bytes.HasPrefix(b, []byte(elf.ELFMAG)) || !bytes.Contains(b, []byte("GNU\x00")) {
				t.Skipf("%s is no program with a build id", exe)
			}
			j.tables = []string{exe, library(t, exe, "libc.so")}
			if p.funcs != "" {
				j.env = []string{"XOL_FUNCS=" + p.funcs}
			}
			j.probed(t, filepath.Join(build(t, "gcc", "agent-gcc"), "agent.so"))
		})
	}
}

// TestRefused: tables of other things, damaged tables, and tables without
// system calls set no probe and leave the program alone.
func TestRefused(t *testing.T) {
	ready(t)
	agent := filepath.Join(build(t, "gcc", "agent-gcc"), "agent.so")
	exe := compile(t, "signals-gcc", "gcc", "signals.c", "-pthread")
	other := compile(t, "throw", "g++", "throw.cc", "-fnon-call-exceptions")
	good, err := os.ReadFile(table(t, exe))
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.rfx")
	good[len(good)/2] ^= 1
	if err := os.WriteFile(bad, good, 0o666); err != nil {
		t.Fatal(err)
	}
	echo, err := exec.LookPath("echo")
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	for list, why := range map[string]string{
		"":                        "",
		bad:                       bad + ": checksum",
		"/nonexistent":            "/nonexistent: cannot be read",
		pipe:                      "pipe: cannot be read",
		t.TempDir():               ": cannot be read",
		strings.Repeat("x", 9999): ": cannot be read",
		table(t, other):           ".rfx: its build id is that of no loaded object",
		bad + ":" + table(t, exe): ".rfx: its build id is that of no loaded object",
	} {
		log := filepath.Join(t.TempDir(), "log")
		j := job{args: []string{echo, "hello"}}
		got := j.run(t, "LD_PRELOAD="+agent, "XOL_TABLE="+list, "XOL_LOG="+log)
		text, err := os.ReadFile(log)
		if err != nil || got.stdout != "hello\n" || !strings.Contains(string(text), "no probes") || !strings.Contains(string(text), why) || strings.Contains(string(text), "hits") {
			t.Errorf("%q: %q, %v\n%s", list, got.stdout, err, text)
		}
	}
}
