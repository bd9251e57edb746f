package layering

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// platforms are those on which build constraints are known to pick different
// files: a forbidden import must not hide behind one of them.
var platforms = []string{"linux/amd64", "linux/386", "darwin/arm64", "windows/amd64", "js/wasm"}

func TestArrows(t *testing.T) {
	for _, platform := range platforms {
		t.Run(strings.ReplaceAll(platform, "/", "_"), func(t *testing.T) {
			pkgs := list(t, platform)
			ours := 0
			for _, p := range pkgs {
				if _, ok := within(p.ImportPath); ok {
					ours++
				}
			}
			if ours == 0 {
				t.Fatal("go list shows no package of the module: nothing was checked")
			}
			for _, line := range Check(pkgs, Rules) {
				t.Error(line)
			}
		})
	}
}

// list runs go list for a platform with cgo on: files that import "C" would
// otherwise be left out of the answer.
func list(t *testing.T, platform string) []Package {
	t.Helper()
	goos, goarch, _ := strings.Cut(platform, "/")
	cmd := exec.Command("go", "list", "-deps", "-json="+Fields, "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, stderr.Bytes())
	}
	pkgs, err := Read(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

// TestSources reads the imports of every Go file of the module, whatever its
// build constraints: go mod tidy in an importer's module ignores them too.
func TestSources(t *testing.T) {
	files := 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && skipDir(path, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range f.Imports {
			switch v := imp.Path.Value; {
			case v == `"C"`:
				t.Errorf("%s: uses cgo", path)
			case strings.Contains(v, "unicorn"):
				t.Errorf("%s: imports %s", path, v)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Fatal("no Go file seen")
	}
}

// skipDir reports directories that are not part of the module: nested
// modules, and what the go command ignores.
func skipDir(path, name string) bool {
	if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

// TestModuleFiles looks at the text of go.mod and go.sum: a requirement that
// no package uses yet would already be every importer's.
func TestModuleFiles(t *testing.T) {
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"unicorn", "honnef.co", "golang.org/x/perf"} {
			if strings.Contains(strings.ToLower(string(text)), word) {
				t.Errorf("%s names %s", name, word)
			}
		}
		for line := range strings.Lines(string(text)) {
			if word, _, _ := strings.Cut(line, " "); word == "toolchain" || word == "tool" || word == "replace" {
				t.Errorf("%s has a %s line: %s", name, word, line)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(root, "go.work")); err == nil {
		t.Error("go.work: the nested modules are to be built each by itself")
	}
}
