package layering

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Package is what the checker needs of one object of `go list -json`.
type Package struct {
	ImportPath   string
	Standard     bool
	Module       *struct{ Path string }
	Imports      []string
	TestImports  []string
	XTestImports []string
	CgoFiles     []string
}

// Fields is the value for go list's -json flag that fills a [Package].
const Fields = "ImportPath,Standard,Module,Imports,TestImports,XTestImports,CgoFiles"

// Read parses the concatenated objects that `go list -json` prints.
func Read(r io.Reader) ([]Package, error) {
	var pkgs []Package
	for dec := json.NewDecoder(r); ; {
		var p Package
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return pkgs, nil
		case err != nil:
			return nil, fmt.Errorf("go list output: %w", err)
		}
		pkgs = append(pkgs, p)
	}
}

// Check holds every package of the module in pkgs against the rules and
// returns one line for each violation. pkgs must contain the dependencies too
// (go list -deps): they say which import is the standard library's and which
// module an external one belongs to. Direct imports suffice, because an arrow
// that is allowed leads to a package that is itself checked.
func Check(pkgs []Package, rules []Rule) []string {
	byPath := make(map[string]*Package, len(pkgs))
	for i := range pkgs {
		byPath[pkgs[i].ImportPath] = &pkgs[i]
	}
	var bad []string
	for i := range pkgs {
		p := &pkgs[i]
		bad = append(bad, checkUnicorn(p)...)
		rel, ours := within(p.ImportPath)
		if !ours {
			continue
		}
		bad = append(bad, checkCgo(p)...)
		r := find(rules, rel)
		if r == nil {
			bad = append(bad, fmt.Sprintf("%s: no rule governs this package; add one to internal/layering/rules.go", p.ImportPath))
			continue
		}
		for _, imp := range p.Imports {
			if why := r.judge(rel, imp, byPath[imp]); why != "" {
				bad = append(bad, fmt.Sprintf("%s imports %s: %s", p.ImportPath, imp, why))
			}
		}
	}
	return bad
}

// judge returns why a package at rel, governed by r, must not import imp, or
// the empty string. dep is imp's own entry, nil if the list lacks it.
func (r *Rule) judge(rel, imp string, dep *Package) string {
	if imp == "C" {
		return "cgo"
	}
	if to, ours := within(imp); ours {
		for _, pat := range r.May {
			if match(strings.Replace(pat, "self", tree(rel), 1), to) {
				return ""
			}
		}
		return "not an arrow of the design"
	}
	switch {
	case dep == nil:
		return "not in the package list; was it made with -deps?"
	case dep.Standard:
		return ""
	case dep.Module != nil && slices.Contains(r.External, dep.Module.Path):
		return ""
	}
	return "external module not allowed here"
}

// checkCgo reports cgo in any file of p, test files included.
func checkCgo(p *Package) []string {
	var bad []string
	for _, f := range p.CgoFiles {
		bad = append(bad, fmt.Sprintf("%s: %s uses cgo", p.ImportPath, f))
	}
	for _, imp := range slices.Concat(p.TestImports, p.XTestImports) {
		if imp == "C" {
			bad = append(bad, fmt.Sprintf("%s: a test uses cgo", p.ImportPath))
		}
	}
	return bad
}

// checkUnicorn reports any trace of Unicorn, in our packages, in their tests
// and in their dependencies.
func checkUnicorn(p *Package) []string {
	var bad []string
	for _, path := range slices.Concat([]string{p.ImportPath}, p.Imports, p.TestImports, p.XTestImports) {
		if strings.Contains(strings.ToLower(path), "unicorn") {
			bad = append(bad, fmt.Sprintf("%s: Unicorn (%s) outside its own module", p.ImportPath, path))
		}
	}
	return bad
}

// find returns the first rule whose pattern matches rel, or nil.
func find(rules []Rule, rel string) *Rule {
	for i := range rules {
		if match(rules[i].Pkg, rel) {
			return &rules[i]
		}
	}
	return nil
}

// match reports whether rel is pat, or lies below it if pat ends in "/...".
func match(pat, rel string) bool {
	base, tree := strings.CutSuffix(pat, "/...")
	return rel == base || tree && strings.HasPrefix(rel, base+"/")
}

// tree is the tree that a package belongs to: the first two elements of its
// path, which name a port, a judge or a command together with its internals.
func tree(rel string) string {
	parts := strings.SplitN(rel, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// within cuts the module's path off an import path. The module's root is ".".
func within(path string) (rel string, ours bool) {
	if path == Module {
		return ".", true
	}
	return strings.CutPrefix(path, Module+"/")
}
