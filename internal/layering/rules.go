// Package layering holds the import rules of the module and the checker that
// enforces them.
//
//	fixups <- reloc <- arch/* <- arch <- objfile, patch, check, emu, fuzz, cmd
//	corpus is a leaf beside fixups
//
// Everything that is not written down in [Rules] is forbidden, so a new
// package or a new dependency is a decision that a reader of this file sees.
package layering

// Module is the path of the module whose packages the rules govern. Patterns
// in a [Rule] are relative to it.
const Module = "github.com/xol-go/xol"

// Rule says what one group of packages may import outside its test files.
// The standard library is always allowed, cgo never.
type Rule struct {
	// Pkg is a path below [Module]; a trailing "/..." takes in everything
	// below it as well. The first rule that matches a package governs it.
	Pkg string
	// May lists the packages of the module that may be imported, in the
	// pattern language of Pkg. "self/..." stands for the importing package's
	// own tree: arch/x86 and everything below it, for instance.
	May []string
	// External lists module paths outside this one.
	External []string
}

// The groups that rules are built from, lowest first.
var (
	leaf     = []string{"fixups"}
	contract = []string{"fixups", "reloc"}
	ports    = []string{"fixups", "reloc", "arch", "arch/x86", "arch/arm64", "arch/ppc64"}
	library  = append([]string{"corpus", "objfile", "patch", "check"}, ports...)
	judges   = append([]string{"fixups/...", "reloc/...", "emu", "emu/native", "fuzz/..."}, library...)
)

// Rules is the table of arrows. Tests are exempt from it (an external test
// package may look down on its own package from above), but not from the
// rules about cgo and Unicorn.
var Rules = []Rule{
	// The leaves: what runs inside a consumer depends on nothing.
	{Pkg: "fixups"},
	{Pkg: "fixups/...", May: leaf},
	{Pkg: "corpus/...", May: leaf},

	// The contract, and the ports behind it. A port sees no other port.
	{Pkg: "reloc", May: leaf},
	{Pkg: "reloc/...", May: contract},
	{Pkg: "arch", May: ports},
	{Pkg: "arch/...", May: append([]string{"self/...", "internal/wordscan", "internal/scankeys"}, contract...)},
	{Pkg: "internal/wordscan", May: append([]string{"internal/scankeys"}, contract...)},
	{Pkg: "internal/scankeys", May: contract},

	// What is built on the ports. None of it needs anything but the standard
	// library, so importing it adds nothing to an importer's module graph.
	{Pkg: "objfile", May: append([]string{"internal/ehframe"}, ports...)},
	{Pkg: "patch", May: append([]string{"objfile"}, ports...)},
	{Pkg: "check", May: append([]string{"objfile", "patch"}, ports...)},
	{Pkg: "emu", May: append([]string{"self/..."}, library...)},
	{Pkg: "emu/...", May: append([]string{"self/...", "emu"}, library...)},
	{Pkg: "fuzz/...", May: append([]string{"self/...", "emu", "emu/native"}, library...)},

	// The command, and the only packages that may show text from x/arch.
	{
		Pkg: "internal/relocgen/...",
		May: append([]string{"self/..."}, judges...),
		External: []string{
			"github.com/ianlancetaylor/demangle",
			"github.com/schollz/progressbar/v3",
			"github.com/urfave/cli/v3",
			"golang.org/x/arch",
			"golang.org/x/term",
		},
	},
	{
		Pkg:      "cmd/relocgen",
		May:      []string{"internal/relocgen"},
		External: []string{"github.com/urfave/cli/v3"},
	},

	// Supports: parsers, table generators, what tests share.
	{Pkg: "internal/ehframe"},
	{Pkg: "internal/gen/gentest", May: []string{"internal/gen", "internal/testenv"}},
	{Pkg: "internal/gen/...", May: append([]string{"internal/gen/...", "corpus"}, contract...)},
	{Pkg: "internal/consumer"},
	{Pkg: "internal/layering"},
	{Pkg: "internal/shapetest", May: contract},
	{Pkg: "internal/testenv"},
	{Pkg: "internal/witness", May: []string{"internal/testenv"}},
	{Pkg: "examples/...", May: append([]string{"fixups/..."}, library...)},
}
