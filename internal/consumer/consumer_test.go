package consumer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/xol-go/xol"

// goMod is the consumer's module: it imports the library and pins the command
// as a tool, which brings in everything that either of them depends on. Its
// program is the README's.
const goMod = `module example.org/probe

go 1.26.0

require ` + module + ` v0.0.0

replace ` + module + ` => ROOT

tool ` + module + `/cmd/relocgen
`

// TestThrowaway tidies and builds such a module and looks at what it was made
// to require. go mod tidy ignores build constraints, so it is the one that
// finds a test dependency or a cgo binding that the library let through.
// Then it does what the README does, and compares what comes out.
func TestThrowaway(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command from a second module")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	doc := readme(t, filepath.Join(root, "README.md"))
	c := consumer{t, t.TempDir()}
	c.write("go.mod", strings.ReplaceAll(goMod, "ROOT", root))
	c.write("main.go", doc.program)

	c.run("go", "mod", "tidy")
	c.run("go", "build", "-o", os.DevNull, "./...")
	if help := c.run("go", "tool", "relocgen", "--help"); !strings.Contains(help, "relocgen") {
		t.Errorf("relocgen --help says:\n%s", help)
	}
	c.requires(c.run("go", "list", "-m", "all"))

	if got := c.run("go", "run", "."); got != doc.prints {
		t.Errorf("the README's program prints\n%s\nand not\n%s", got, doc.prints)
	}
	for _, s := range doc.sessions {
		args := append([]string{"tool", "relocgen"}, strings.Fields(s.args)...)
		if got := c.run("go", args...); got != s.prints {
			t.Errorf("relocgen %s prints\n%s\nand the README\n%s", s.args, got, s.prints)
		}
	}
}

// page is what a README promises: a program and what it prints, and calls of
// the command with what they print.
type page struct {
	program, prints string
	sessions        []session
}

// session is one call of relocgen. args holds no quotes.
type session struct{ args, prints string }

// readme finds the promises of a page in its fenced blocks: the program is the
// ```go block, what it prints the ```text block, and each call a "$ relocgen"
// line of a ```console block.
func readme(t *testing.T, path string) page {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc page
	lang := ""
	for line := range strings.Lines(string(text)) {
		if fence, ok := strings.CutPrefix(line, "```"); ok {
			lang = strings.TrimSpace(fence)
			continue
		}
		args, call := strings.CutPrefix(line, "$ relocgen ")
		switch {
		case lang == "go":
			doc.program += line
		case lang == "text":
			doc.prints += line
		case lang == "console" && call:
			doc.sessions = append(doc.sessions, session{args: strings.TrimSpace(args)})
		case lang == "console" && len(doc.sessions) > 0:
			doc.sessions[len(doc.sessions)-1].prints += line
		}
	}
	if doc.program == "" || doc.prints == "" || len(doc.sessions) == 0 {
		t.Fatalf("%s: a program, what it prints, or a call of relocgen is missing", path)
	}
	return doc
}

// consumer is a module in a directory of its own.
type consumer struct {
	t   *testing.T
	dir string
}

// requires looks for modules that no consumer may be made to require.
func (c consumer) requires(graph string) {
	c.t.Helper()
	if !strings.Contains(graph, module) {
		c.t.Errorf("the module graph lacks %s:\n%s", module, graph)
	}
	for name, text := range map[string]string{
		"go.mod":           c.read("go.mod"),
		"go.sum":           c.read("go.sum"),
		"the module graph": graph,
	} {
		for _, word := range []string{"unicorn", "honnef.co", "golang.org/x/perf"} {
			if strings.Contains(strings.ToLower(text), word) {
				c.t.Errorf("%s names %s:\n%s", name, word, text)
			}
		}
	}
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
