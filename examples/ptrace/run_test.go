//go:build linux && amd64

package main

import (
	"bytes"
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

	"github.com/xol-go/xol/internal/testenv"
)

// outcome is what a program did, probed or not.
type outcome struct {
	out, err string
	status   int // 128 and the signal that killed it
}

// figures is a report.
type figures map[string]int

var buildDir string // set by build

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ptrace")
	if err != nil {
		return "", err
	}
	buildDir = dir
	tool := filepath.Join(dir, "ptrace")
	out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return tool, nil
})

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == launchWord { // by TestLaunch
		os.Exit(launched(os.Args[2:]))
	}
	code := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(code)
}

// tool builds the runner. The tests need permission to trace; where there is none
// they say how many programs were not run.
func tool(t *testing.T, programs int) string {
	t.Helper()
	if testenv.Race {
		t.Skip("another process does the work; runs without the race detector")
	}
	testenv.Tool(t, "go")
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "--all-hot", "1000", "-o", os.DevNull, "--", "/bin/true").CombinedOutput()
	if err != nil && strings.Contains(string(out), "seize") && strings.Contains(string(out), "not permitted") {
		t.Skipf("ptrace is not permitted here: %d programs not run: %s", programs, out)
	}
	if err != nil {
		t.Fatalf("/bin/true: %v\n%s", err, out)
	}
	return path
}

// run starts a command and waits for it.
func run(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	err := cmd.Wait()
	o := outcome{out: out.String(), err: errs.String(), status: cmd.ProcessState.ExitCode()}
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		o.status = 128 + int(ws.Signal())
	} else if err != nil && o.status < 0 {
		t.Fatal(err)
	}
	return o
}

// probed runs a program under the runner.
func probed(t *testing.T, tool, dir string, flags, args []string) (outcome, figures) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report")
	line := append([]string{tool, "-o", report}, flags...)
	o := run(t, dir, append(append(line, "--"), args...)...)
	return o, readReport(t, report)
}

func readReport(t *testing.T, path string) figures {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := figures{}
	for _, line := range strings.Split(string(b), "\n") {
		if name, value, ok := strings.Cut(line, " "); ok {
			if n, err := strconv.Atoi(value); err == nil {
				f[name] = n
			}
		}
	}
	return f
}

// same runs a program with and without probes.
func same(t *testing.T, tool, dir string, flags []string, args ...string) figures {
	t.Helper()
	want := run(t, dir, args...)
	got, f := probed(t, tool, dir, flags, args)
	if got != want {
		t.Errorf("%s %q:\nstatus %d\n%s%s\nwithout probes: status %d\n%s%s", strings.Join(flags, " "), args,
			got.status, got.out, got.err, want.status, want.out, want.err)
	}
	if f["hits"] == 0 || f["stale"] != 0 {
		t.Errorf("%q: %d hits, %d stale", args, f["hits"], f["stale"])
	}
	t.Logf("%s: %d functions, %d sites, %d without plan, %d hit, %d hits, %d/s", filepath.Base(args[0]),
		f["functions"], f["sites"], f["not-probed"], f["sites-hit"], f["hits"], f["hits-per-second"])
	return f
}

// compiled builds testdata/NAME.c.
func compiled(t *testing.T, name string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), name)
	cmd := exec.Command(testenv.Tool(t, "gcc"), "-O2", "-pthread", "-Wall", "-o", bin, "testdata/"+name+".c", "-lm")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

var forms = []string{"auto", "step"}

// TestPrograms runs programs of the system with a probe on every instruction of
// every function that they enter, in all their libraries, the dynamic linker and
// the C library among them.
func TestPrograms(t *testing.T) {
	dir := t.TempDir()
	var lines bytes.Buffer
	for i := range 300 {
		fmt.Fprintf(&lines, "%d line %x\n", i*7919%1009, i*i)
	}
	for _, name := range []string{"in", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), lines.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		flags string
		auto  bool // not by step alone
		args  []string
	}{
		{"--all-hot 1 --limit 3", false, []string{"ls", "-l", "--color=always"}},
		{"--all-hot 1 --limit 3", true, []string{"sort", "-n", "in"}},
		{"--all-hot 1 --limit 3", false, []string{"gzip", "-9c", "in"}},
		{"--all-hot 1 --limit 3", true, []string{"grep", "-En", "line (1|2)+[0-9a-f]?7", "in"}},
		{"--all-hot 1 --limit 3", false, []string{"sha256sum", "in", "b"}},
		{"--all-hot 1 --limit 3", true, []string{"awk", "{s+=$1;a[$1%7]++} END{print s, a[3], sqrt(s), length(a)}", "in"}},
		{"--all-hot 2 --limit 1", true, []string{"perl", "-e", `print join(",", map { sprintf("%.3f", sin) } 1..20), "\n"; print scalar reverse "abc"`}},
		{"--all-hot 2 --limit 1 --exec", false, []string{"bash", "-c", `for i in 3 1 2; do (echo "$((i*i))"); done | sort -r; f() { return 3; }; f`}},
		{"--all-hot 3000 --limit 2", true, []string{"/usr/bin/python3", "-S", "-c", "print(sorted(str(i * i) for i in range(100))[:5])"}},
	}
	path := tool(t, len(tests))
	for _, tt := range tests {
		for i, form := range forms {
			if i > 0 && tt.auto {
				continue // one form is enough for programs that take long
			}
			t.Run(filepath.Base(tt.args[0])+"/"+form, func(t *testing.T) {
				if _, err := exec.LookPath(tt.args[0]); err != nil {
					t.Skip(err) // python3 is not on every system
				}
				t.Parallel()
				same(t, path, dir, append(strings.Fields(tt.flags), "--form", form), tt.args...)
			})
		}
	}
}

// TestLibrary names functions of the C library.
func TestLibrary(t *testing.T) {
	path := tool(t, 1)
	bin := compiled(t, "libc")
	f := same(t, path, "", []string{"--limit", "20", "--func", "main", "--func", "libc.so.6:*printf*", "--func", "libc.so.6:qsort*",
		"--func", "libc.so.6:mem*", "--func", "libc.so.6:*strto*", "--func", "libm.so.6:*"}, bin)
	if f["functions"] < 10 {
		t.Errorf("%d functions", f["functions"])
	}
}

// TestThreads: threads, a storm of signals, system calls that are interrupted.
func TestThreads(t *testing.T) {
	path := tool(t, len(forms))
	bin := compiled(t, "threads")
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			f := same(t, path, "", []string{"--form", form, "--all-hot", "1", "--limit", "5"}, bin)
			if f["signals"] < 50 || f["taken-back"] == 0 || f["children"] != 4 {
				t.Errorf("%d signals, %d visits taken back, %d children", f["signals"], f["taken-back"], f["children"])
			}
		})
	}
}

// TestFaults: the program's handlers see each fault at the site.
func TestFaults(t *testing.T) {
	path := tool(t, len(forms))
	bin := compiled(t, "faults")
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			f := same(t, path, "", []string{"--form", form, "--all-hot", "1", "--limit", "10"}, bin)
			if f["faults"] < 40 || form == "auto" && f["emulate-failed"] == 0 {
				t.Errorf("%d faults, %d of emulated instructions", f["faults"], f["emulate-failed"])
			}
		})
	}
}

// TestFamily: fork, vfork, clone, posix_spawn and exec, in probed functions.
func TestFamily(t *testing.T) {
	path := tool(t, 4)
	bin := compiled(t, "family")
	for _, flags := range []string{"--form auto", "--form step", "--form auto --exec --object main --object libc.so.6", "--form step --children leave"} {
		t.Run(flags, func(t *testing.T) {
			f := same(t, path, "", append(strings.Fields(flags), "--all-hot", "1", "--limit", "4"), bin)
			if f["children"] < 18 || f["execs"] < 5 {
				t.Errorf("%d children, %d execs", f["children"], f["execs"])
			}
			if strings.Contains(flags, "leave") && f["moved"] == 0 {
				t.Error("no child was moved out of a slot")
			}
		})
	}
}

// TestStops: job control, sleeps that signals interrupt, threads that end in a
// step, and an exec by a thread that is not the first.
func TestStops(t *testing.T) {
	path := tool(t, len(forms))
	bin := compiled(t, "stops")
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			f := same(t, path, "", []string{"--form", form, "--all-hot", "1", "--limit", "10"}, bin)
			if f["signals"] < 30 || f["execs"] != 2 {
				t.Errorf("%d signals, %d execs", f["signals"], f["execs"])
			}
		})
	}
}

// TestTraps: a program with breakpoints and single steps of its own. Its handler is
// not probed: the kernel resets it if a trap comes while SIGTRAP is blocked.
func TestTraps(t *testing.T) {
	path := tool(t, len(forms))
	bin := compiled(t, "traps")
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			same(t, path, "", []string{"--form", form, "--func", "stepped", "--func", "trace", "--func", "broken", "--func", "main"}, bin)
		})
	}
}

// TestGo: goroutines, preemption, garbage collection, a fault that is a panic.
func TestGo(t *testing.T) {
	path := tool(t, len(forms))
	bin := filepath.Join(t.TempDir(), "goroutines")
	if out, err := exec.Command("go", "build", "-o", bin, "./testdata/goroutines").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			same(t, path, "", []string{"--form", form, "--all-hot", "1", "--limit", "3"}, bin)
		})
	}
}

// clean is what testdata/stays.c prints at its end if nothing is left of us.
const clean = "thread 0: wrong 0\nthread 1: wrong 0\nthread 2: wrong 0\n" +
	"bytes that differ 0, mappings that are nobody's 0\nTracerPid:\t0\n"

// TestLeave starts a program and leaves it in the middle.
func TestLeave(t *testing.T) {
	path := tool(t, 4)
	bin := compiled(t, "stays")
	for i, flags := range []string{"--all-hot 1 --form auto", "--all-hot 1 --form step", "--all-hot 3 --limit 50", "--func work --func waits --form step"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			during := fmt.Sprintf("%dms", 600+90*i)
			got, f := probed(t, path, "", append(strings.Fields(flags), "--for", during), []string{bin, "3000"})
			if got.out != "ready\n"+clean || got.err != "" || got.status != 0 {
				t.Errorf("status %d\n%s%s", got.status, got.out, got.err)
			}
			if f["hits"] == 0 {
				t.Error("no hits")
			}
		})
	}
}

// TestAttach takes a running program, with threads that work and one that waits,
// probes it, and leaves on SIGINT.
func TestAttach(t *testing.T) {
	path := tool(t, 2)
	bin := compiled(t, "stays")
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			prog := exec.Command(bin, "2500")
			var out bytes.Buffer
			prog.Stdout = &out
			if err := prog.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(200 * time.Millisecond)
			report := filepath.Join(t.TempDir(), "report")
			tr := exec.Command(path, "-o", report, "--form", form, "--all-hot", "1", "-p", strconv.Itoa(prog.Process.Pid))
			var errs bytes.Buffer
			tr.Stderr = &errs
			if err := tr.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(800 * time.Millisecond)
			tr.Process.Signal(os.Interrupt)
			if err := tr.Wait(); err != nil {
				t.Errorf("%v\n%s", err, &errs)
			}
			if err := prog.Wait(); err != nil || out.String() != "ready\n"+clean {
				t.Errorf("%v\n%s", err, &out)
			}
			if f := readReport(t, report); f["hits"] == 0 {
				t.Error("no hits")
			}
		})
	}
}

// TestLaunch: a copy of ourselves that may be seized has left its own execve
// behind, which takes all handlers of signals away: those of Go are there again.
func TestLaunch(t *testing.T) {
	for range 20 {
		pid, pipe, err := launch()
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || !strings.Contains(string(b), "\nSigCgt:\t") || strings.Contains(string(b), "\nSigCgt:\t0000000000000000\n") {
			t.Errorf("%v\n%s", err, b)
		}
		pipe.Close()
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || status.ExitStatus() != 0 {
			t.Errorf("%v, %#x", err, status)
		}
	}
}

// TestStatus: the program's own status comes back, and what is wrong is said.
func TestStatus(t *testing.T) {
	path := tool(t, 8)
	tests := []struct {
		args   string
		status int
		text   string
	}{
		{"--all-hot 1000 -- /bin/sh -c exit~7", 7, ""},
		{"--all-hot 1000 -- /bin/sh -c kill~-TERM~$$", 128 + 15, ""},
		{"--func no_such_function -- /bin/true", 1, `no function matches "no_such_function"`},
		{"--all-hot 1 -- /no/such/program", 1, "no such file"},
		{"--all-hot 1 -p 999999999", 1, "999999999"},
		{"-- /bin/true", 2, "nothing to probe"},
		{"--func main:nothing -- /bin/sh", 1, `no function matches "main:nothing"`},
		{"--func main:* --limit 1 -- /bin/sh -c exit~5", 5, ""},
		{"--form jump --all-hot 1 -- /bin/true", 2, "no form"},
	}
	for _, tt := range tests {
		args := strings.Fields(tt.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "~", " ")
		}
		got := run(t, "", append([]string{path}, args...)...)
		if got.status != tt.status || !strings.Contains(got.err, tt.text) {
			t.Errorf("%q: status %d\n%s", args, got.status, got.err)
		}
	}
}
