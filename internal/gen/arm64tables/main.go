// Command arm64tables turns the rows of arch/arm64/tables into
// arch/arm64/z_tables.go and docs/isa-arm64.md. Usage: arm64tables DIR, where DIR
// is arch/arm64.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: arm64tables DIR")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string) error {
	code, page, err := generate(dir)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, codeFile), code, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, pageFile), page, 0o644)
}

// What is generated, from arch/arm64.
const (
	codeFile   = "z_tables.go"
	pageFile   = "../../docs/isa-arm64.md"
	familyFile = "family.go"
)

// generate returns what the two files must hold.
func generate(dir string) (code, page []byte, err error) {
	src, err := os.ReadFile(filepath.Join(dir, familyFile))
	if err != nil {
		return nil, nil, err
	}
	rows, err := parseAll(os.DirFS(filepath.Join(dir, "tables")), families(src))
	if err != nil {
		return nil, nil, err
	}
	d, err := build(rows)
	if err != nil {
		return nil, nil, err
	}
	code, err = emit(rows, d)
	return code, writePage(rows), err
}
