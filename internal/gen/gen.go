// Package gen is what the commands that generate the tables of the ports share.
package gen

import (
	"fmt"
	"os"
	"path/filepath"
)

// Tables are the generated files of one port.
type Tables struct {
	Arch string // the port is arch/Arch, the command ArchTables

	// Generate returns what the files must hold, from the port's directory.
	Generate func(dir string) (code, page []byte, err error)
}

// CodeFile is the Go file that is generated, from the port's directory.
const CodeFile = "z_tables.go"

// PageFile is the page that is generated, from the port's directory.
func (t Tables) PageFile() string { return "../../docs/isa-" + t.Arch + ".md" }

// Main writes the files. The command's argument is the port's directory.
func (t Tables) Main() {
	if len(os.Args) != 2 {
		fmt.Fprintf(os.Stderr, "usage: %stables DIR\n", t.Arch)
		os.Exit(2)
	}
	if err := t.write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (t Tables) write(dir string) error {
	code, page, err := t.Generate(dir)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, CodeFile), code, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, t.PageFile()), page, 0o644)
}
