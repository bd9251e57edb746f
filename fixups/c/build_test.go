package c_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/xol-go/xol/internal/testenv"
)

// target is a machine and a language that the driver is built for.
type target struct {
	name string
	cc   string   // compiler
	args []string // of the compiler
	exec string   // runs the program, "" on the host itself
}

var (
	warn  = []string{"-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wno-sign-conversion", "-I."}
	asC   = []string{"-std=c11", "-xc"}
	asCPP = []string{"-std=c++17", "-xc++"}
	asan  = []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"}
	ubsan = []string{"-fsanitize=undefined", "-fsanitize-trap=undefined"} // needs no library
)

// hosts are the builds of the host's own words, with the sanitizers.
var hosts = []target{
	{name: "gcc", cc: "gcc", args: join(asC, asan, "-O1")},
	{name: "clang++", cc: "clang++", args: join(asCPP, ubsan, "-O2")},
}

// crosses have other words and byte orders.
var crosses = []target{
	{name: "386", cc: "i686-linux-gnu-gcc", args: join(asC, nil, "-O2", "-static"), exec: "qemu-i386-static"},
	{name: "ppc64", cc: "powerpc64-linux-gnu-gcc", args: join(asC, nil, "-O2", "-static"), exec: "qemu-ppc64-static"},
	{name: "arm64", cc: "aarch64-linux-gnu-gcc", args: join(asC, nil, "-Os", "-static"), exec: "qemu-aarch64-static"},
}

func join(a, b []string, more ...string) []string {
	return append(append(append([]string{}, a...), b...), more...)
}

var (
	buildDir  = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "xol-c") })
	buildLock sync.Mutex
	built     = map[string]string{}
)

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := buildDir(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// driver returns the path of the driver for a target.
func (tg *target) driver(t *testing.T) string {
	t.Helper()
	buildLock.Lock()
	defer buildLock.Unlock()
	if path, ok := built[tg.name]; ok {
		return path
	}
	dir, err := buildDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "driver-"+tg.name)
	compile(t, tg.cc, join(tg.args, warn, "-o", path, "testdata/driver.c")...)
	built[tg.name] = path
	return path
}

// compile runs a compiler and returns what it prints.
func compile(t *testing.T, cc string, args ...string) string {
	t.Helper()
	out, err := exec.Command(testenv.Tool(t, cc), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", cc, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// play gives a script to a driver and compares line by line. It returns the
// rules that tables were refused for.
func (tg *target) play(t *testing.T, s *script) (rules map[string]bool) {
	t.Helper()
	rules = map[string]bool{}
	path := tg.driver(t)
	cmd := exec.Command(path)
	if tg.exec != "" {
		cmd = exec.Command(testenv.Tool(t, tg.exec), path)
	}
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(s.in), &stderr
	out, err := cmd.Output()
	bad, n := 0, 0
	for sc := bufio.NewScanner(bytes.NewReader(out)); n < len(s.lines) && sc.Scan(); n++ {
		got, rule, refused := strings.Cut(sc.Text(), " #")
		if refused {
			rules[rule] = true
		}
		if got != s.lines[n].want && bad < 5 {
			t.Errorf("%s\nGo: %s\nC:  %s", s.lines[n].cmd, s.lines[n].want, got)
			bad++
		}
	}
	if n < len(s.lines) {
		t.Errorf("no answer to %q, line %d", s.lines[n].cmd, n)
	}
	if err != nil {
		t.Errorf("%v\n%.4000s", err, stderr.String())
	}
	t.Logf("%d answers compared", n)
	return rules
}
