// Package bitrows reads the tables of ports whose instructions are words of 32
// bits, in which a row says what each bit of a word is, and writes what does not
// depend on how such a port finds the row of a word.
package bitrows

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/xol-go/xol/internal/gen"
)

// Port is what the rows of one port may say.
type Port struct {
	Arch    string   // the port is arch/Arch
	Files   []string // the tables in the order in which their rows are numbered
	Words   int      // at most, in a row: 1, or 2 where there are prefixes
	Unnamed []string // fields that may occur more than once
	Note    string   // the last sentence of the page's introduction

	Rules   []string // values of sys, in the order of the constants in the port
	Targets []Target // in the order of the constants in the port, the first none

	// Attr reads an attribute that not all ports have: that of a register.
	Attr func(r *Row, text string) error
	// Check demands what the port alone does, of all rows.
	Check func(r *Row) error
	// Dispatch makes the tables that find the row of a word, and returns what
	// writes them.
	Dispatch func(rows []*Row) (emit func(*bytes.Buffer), err error)
}

// Target is a way to compute a target.
type Target struct {
	Name    string
	Fields  []string // that it needs
	Operand bool     // pc is an operand, whatever the class is
}

// familyFile declares the families of the port.
const familyFile = "family.go"

// Tables are the files that the port's rows generate.
func (p *Port) Tables() gen.Tables { return gen.Tables{Arch: p.Arch, Generate: p.generate} }

func (p *Port) generate(dir string) (code, page []byte, err error) {
	src, err := os.ReadFile(filepath.Join(dir, familyFile))
	if err != nil {
		return nil, nil, err
	}
	rows, emit, err := p.Parse(os.DirFS(filepath.Join(dir, "tables")), families(src))
	if err != nil {
		return nil, nil, err
	}
	code, err = p.code(rows, emit)
	return code, p.page(rows), err
}

// Parse reads the tables that dir has, and finds out how words find their rows.
func (p *Port) Parse(dir fs.FS, families []string) (rows []*Row, emit func(*bytes.Buffer), err error) {
	rows, err = p.parseAll(dir, families)
	if err != nil {
		return nil, nil, err
	}
	emit, err = p.Dispatch(rows)
	return rows, emit, err
}

// families lists the constants of the port's type family, in order.
func families(src []byte) (list []string) {
	for _, m := range regexp.MustCompile(`(?m)^\t(fam[A-Za-z]+)\b`).FindAllSubmatch(src, -1) {
		list = append(list, string(m[1]))
	}
	return list
}
