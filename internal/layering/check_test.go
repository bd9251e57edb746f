package layering

import (
	"strings"
	"testing"
)

// world is a small module that breaks no rule, in go list's own form.
const world = `
{"ImportPath": "fmt", "Standard": true}
{"ImportPath": "golang.org/x/arch/x86/x86asm", "Module": {"Path": "golang.org/x/arch"}, "Imports": ["fmt"]}
{"ImportPath": "github.com/xol-go/xol/fixups", "Imports": ["fmt"]}
{"ImportPath": "github.com/xol-go/xol/reloc", "Imports": ["fmt", "github.com/xol-go/xol/fixups"],
 "XTestImports": ["github.com/xol-go/xol/arch/x86"]}
{"ImportPath": "github.com/xol-go/xol/arch/x86/internal/tab", "Imports": ["github.com/xol-go/xol/arch/x86/internal/row"]}
{"ImportPath": "github.com/xol-go/xol/arch/x86/internal/row", "Imports": ["fmt"]}
{"ImportPath": "github.com/xol-go/xol/arch/x86",
 "Imports": ["github.com/xol-go/xol/reloc", "github.com/xol-go/xol/arch/x86/internal/tab"],
 "TestImports": ["golang.org/x/arch/x86/x86asm"]}
{"ImportPath": "github.com/xol-go/xol/arch/arm64", "Imports": ["github.com/xol-go/xol/reloc"]}
{"ImportPath": "github.com/xol-go/xol/arch", "Imports": ["github.com/xol-go/xol/arch/x86", "github.com/xol-go/xol/arch/arm64"]}
{"ImportPath": "github.com/xol-go/xol/internal/relocgen",
 "Imports": ["golang.org/x/arch/x86/x86asm", "github.com/xol-go/xol/arch"]}
{"ImportPath": "github.com/xol-go/xol/cmd/relocgen", "Imports": ["github.com/xol-go/xol/internal/relocgen"]}
`

func TestCheckAccepts(t *testing.T) {
	pkgs, err := Read(strings.NewReader(world))
	if err != nil {
		t.Fatal(err)
	}
	if bad := Check(pkgs, Rules); len(bad) != 0 {
		t.Errorf("a correct module is refused:\n%s", strings.Join(bad, "\n"))
	}
}

// TestCheckRefuses adds one bad package at a time. want is the whole list of
// violations, so a rule that fires twice or beside the point fails as well.
func TestCheckRefuses(t *testing.T) {
	const pre = "github.com/xol-go/xol/"
	tests := []struct {
		name, pkg, want string
	}{
		{"fixups above itself",
			`{"ImportPath": "` + pre + `fixups", "Imports": ["` + pre + `reloc"]}`,
			pre + "fixups imports " + pre + "reloc: not an arrow of the design"},
		{"reloc knows a port",
			`{"ImportPath": "` + pre + `reloc", "Imports": ["` + pre + `arch/x86"]}`,
			pre + "reloc imports " + pre + "arch/x86: not an arrow of the design"},
		{"a port knows another",
			`{"ImportPath": "` + pre + `arch/ppc64", "Imports": ["` + pre + `arch/arm64"]}`,
			pre + "arch/ppc64 imports " + pre + "arch/arm64: not an arrow of the design"},
		{"a port uses another's internals",
			`{"ImportPath": "` + pre + `arch/ppc64", "Imports": ["` + pre + `arch/x86/internal/tab"]}`,
			pre + "arch/ppc64 imports " + pre + "arch/x86/internal/tab: not an arrow of the design"},
		{"a port looks up",
			`{"ImportPath": "` + pre + `arch/ppc64", "Imports": ["` + pre + `arch"]}`,
			pre + "arch/ppc64 imports " + pre + "arch: not an arrow of the design"},
		{"the corpus knows the contract",
			`{"ImportPath": "` + pre + `corpus", "Imports": ["` + pre + `reloc"]}`,
			pre + "corpus imports " + pre + "reloc: not an arrow of the design"},
		{"x/arch in a port",
			`{"ImportPath": "` + pre + `arch/ppc64", "Imports": ["golang.org/x/arch/x86/x86asm"]}`,
			pre + "arch/ppc64 imports golang.org/x/arch/x86/x86asm: external module not allowed here"},
		{"x/arch in objfile",
			`{"ImportPath": "` + pre + `objfile", "Imports": ["golang.org/x/arch/x86/x86asm"]}`,
			pre + "objfile imports golang.org/x/arch/x86/x86asm: external module not allowed here"},
		{"the library knows the command",
			`{"ImportPath": "` + pre + `objfile", "Imports": ["` + pre + `internal/relocgen"]}`,
			pre + "objfile imports " + pre + "internal/relocgen: not an arrow of the design"},
		{"cgo",
			`{"ImportPath": "` + pre + `emu/native", "CgoFiles": ["run.go"]}`,
			pre + "emu/native: run.go uses cgo"},
		{"cgo in a test",
			`{"ImportPath": "` + pre + `emu/native", "TestImports": ["C"]}`,
			pre + "emu/native: a test uses cgo"},
		{"unicorn in a test",
			`{"ImportPath": "` + pre + `emu", "XTestImports": ["github.com/unicorn-engine/unicorn"]}`,
			pre + "emu: Unicorn (github.com/unicorn-engine/unicorn) outside its own module"},
		{"unicorn behind a dependency",
			`{"ImportPath": "example.org/x", "Imports": ["github.com/unicorn-engine/unicorn"]}`,
			"example.org/x: Unicorn (github.com/unicorn-engine/unicorn) outside its own module"},
		{"a package nobody thought of",
			`{"ImportPath": "` + pre + `util"}`,
			pre + "util: no rule governs this package; add one to internal/layering/rules.go"},
		{"a prefix is not a parent",
			`{"ImportPath": "` + pre + `fixupsx"}`,
			pre + "fixupsx: no rule governs this package; add one to internal/layering/rules.go"},
		{"the root is a package like any other",
			`{"ImportPath": "github.com/xol-go/xol"}`,
			"github.com/xol-go/xol: no rule governs this package; add one to internal/layering/rules.go"},
		{"a list without -deps",
			`{"ImportPath": "` + pre + `corpus", "Imports": ["strings"]}`,
			pre + "corpus imports strings: not in the package list; was it made with -deps?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pkgs, err := Read(strings.NewReader(world + tt.pkg))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(Check(pkgs, Rules), "\n"); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	if _, err := Read(strings.NewReader(`{"ImportPath": "fmt"} {"Impor`)); err == nil {
		t.Error("cut output was read without an error")
	}
}
