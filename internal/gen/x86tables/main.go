// Command x86tables turns the rows of arch/x86/tables into arch/x86/z_tables.go
// and docs/isa-x86.md. Usage: x86tables DIR, where DIR is arch/x86.
package main

import (
	"os"
	"path/filepath"

	"github.com/xol-go/xol/internal/gen"
)

var tables = gen.Tables{Arch: "x86", Generate: generate}

func main() { tables.Main() }

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
