package corpus

import (
	"encoding/hex"
	"fmt"
	"iter"
	"strings"

	"github.com/xol-go/xol/fixups"
)

// Row is the one case that a row of a port's tables has: the shortest of its
// encodings, the rest of it zeros. The file that they stand in is made from the
// tables and compared with them by a test, so a row without a case fails, and so
// does a row that changes its class.
type Row struct {
	Modes   []string // GOARCH spellings of the modes in which it holds
	Bytes   []byte   // memory order, one instruction
	Class   fixups.Class
	Hazards fixups.Hazards
	Pattern string // as in the table
	Name    string // mnemonic
}

// rowFiles are the files of rows, one a port.
var rowFiles = []string{"x86_rows.txt", "arm64_rows.txt", "ppc64_rows.txt"}

// Rows iterates over the rows of all ports.
func Rows() iter.Seq[Row] { return rowsOf(rowFiles...) }

// X86Rows iterates over the rows of the x86 tables, in the order of their
// numbers. A row of which the encoding, class or hazards differ between the
// modes comes twice.
func X86Rows() iter.Seq[Row] { return rowsOf("x86_rows.txt") }

// ARM64Rows iterates over the rows of the A64 tables, in the order of their numbers.
func ARM64Rows() iter.Seq[Row] { return rowsOf("arm64_rows.txt") }

// PPC64Rows iterates over the rows of the Power tables, in the order of their
// numbers. Each comes twice, once in each byte order.
func PPC64Rows() iter.Seq[Row] { return rowsOf("ppc64_rows.txt") }

func rowsOf(files ...string) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for _, name := range files {
			text, err := texts.ReadFile(name)
			if err != nil {
				panic("corpus: " + err.Error())
			}
			rows, err := ParseRows(text)
			if err != nil {
				panic(name + ": " + err.Error())
			}
			for _, r := range rows {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// ParseRows reads lines of six fields between tabs: modes, bytes, class, hazards
// ("-" for none), pattern, mnemonic. Lines that begin with # are comments.
func ParseRows(text []byte) ([]Row, error) {
	var rows []Row
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		r, err := parseRow(strings.Split(line, "\t"))
		if err != nil {
			return nil, &SyntaxError{Line: n, Msg: err.Error()}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func parseRow(f []string) (r Row, err error) {
	if len(f) != 6 {
		return r, fmt.Errorf("%d fields, want 6", len(f))
	}
	r = Row{Modes: strings.Split(f[0], ","), Pattern: f[4], Name: f[5]}
	if r.Bytes, err = hex.DecodeString(f[1]); err != nil {
		return r, err
	}
	if err = r.Class.UnmarshalText([]byte(f[2])); err != nil || f[3] == "-" {
		return r, err
	}
	r.Hazards, err = parseHazards(f[3])
	return r, err
}

// FormatRows writes one line for each row.
func FormatRows(rows []Row) []byte {
	var b []byte
	for _, r := range rows {
		hazards := "-"
		for h := range r.Hazards.All() {
			if hazards == "-" {
				hazards = h.String()
			} else {
				hazards += "," + h.String()
			}
		}
		b = fmt.Appendf(b, "%s\t%x\t%v\t%s\t%s\t%s\n", strings.Join(r.Modes, ","), r.Bytes, r.Class, hazards, r.Pattern, r.Name)
	}
	return b
}
