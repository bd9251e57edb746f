// Command x86tables turns the rows of arch/x86/tables into arch/x86/z_tables.go
// and docs/isa-x86.md. Usage: x86tables DIR, where DIR is arch/x86.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: x86tables DIR")
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

// What is generated, from arch/x86.
const (
	codeFile = "z_tables.go"
	pageFile = "../../docs/isa-x86.md"
)

// generate returns what the two files must hold.
func generate(dir string) (code, page []byte, err error) {
	tables := os.DirFS(filepath.Join(dir, "tables"))
	rows, have, err := parseAll(tables)
	if err != nil {
		return nil, nil, err
	}
	rex2, err := parseREX2(tables)
	if err != nil {
		return nil, nil, err
	}
	m, err := build(rows, have, rex2)
	if err != nil {
		return nil, nil, err
	}
	code, err = m.emit()
	return code, writePage(rows), err
}
