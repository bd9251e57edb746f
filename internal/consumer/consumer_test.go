package consumer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/xol-go/xol"

// The consumer's module: it imports the library and pins the command as a
// tool, which brings in everything that either of them depends on.
const (
	goMod = `module example.org/probe

go 1.26.0

require ` + module + ` v0.0.0

replace ` + module + ` => ROOT

tool ` + module + `/cmd/relocgen
`
	mainGo = `package main

import (
	_ "` + module + `/arch/x86"
	_ "` + module + `/fixups"
	_ "` + module + `/reloc"
)

func main() {}
`
)

// TestThrowaway tidies and builds such a module and looks at what it was made
// to require. go mod tidy ignores build constraints, so it is the one that
// finds a test dependency or a cgo binding that the library let through.
func TestThrowaway(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command from a second module")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"arch/x86", "cmd/relocgen", "fixups", "reloc"} {
		if _, err := os.Stat(filepath.Join(root, dir)); err != nil {
			t.Skipf("not written yet: %s", dir)
		}
	}
	c := consumer{t, t.TempDir()}
	c.write("go.mod", strings.ReplaceAll(goMod, "ROOT", root))
	c.write("main.go", mainGo)

	c.run("go", "mod", "tidy")
	c.run("go", "build", "-o", os.DevNull, "./...")
	if help := c.run("go", "tool", "relocgen", "--help"); !strings.Contains(help, "relocgen") {
		t.Errorf("relocgen --help says:\n%s", help)
	}

	graph := c.run("go", "list", "-m", "all")
	if !strings.Contains(graph, module) {
		t.Errorf("the module graph lacks %s:\n%s", module, graph)
	}
	for name, text := range map[string]string{
		"go.mod":           c.read("go.mod"),
		"go.sum":           c.read("go.sum"),
		"the module graph": graph,
	} {
		for _, word := range []string{"unicorn", "honnef.co", "golang.org/x/perf"} {
			if strings.Contains(strings.ToLower(text), word) {
				t.Errorf("%s names %s:\n%s", name, word, text)
			}
		}
	}
}

// consumer is a module in a directory of its own.
type consumer struct {
	t   *testing.T
	dir string
}

func (c consumer) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c consumer) read(name string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// run executes a command in the consumer's directory, outside any workspace,
// and returns its standard output.
func (c consumer) run(name string, args ...string) string {
	c.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		c.t.Fatalf("%v: %v\n%s%s", cmd, err, stdout.String(), stderr.String())
	}
	return stdout.String()
}
