// Command x86tables turns the rows of arch/x86/tables into
// arch/x86/z_tables.go. Usage: x86tables DIR, where DIR is arch/x86.
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
	out, err := generate(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "z_tables.go"), out, 0o644)
}

// generate returns what z_tables.go must hold.
func generate(dir string) ([]byte, error) {
	tables := os.DirFS(filepath.Join(dir, "tables"))
	rows, have, err := parseAll(tables)
	if err != nil {
		return nil, err
	}
	rex2, err := parseREX2(tables)
	if err != nil {
		return nil, err
	}
	m, err := build(rows, have, rex2)
	if err != nil {
		return nil, err
	}
	return m.emit()
}
