// Command ppc64tables turns the rows of arch/ppc64/tables into
// arch/ppc64/z_tables.go and docs/isa-ppc64.md. Usage: ppc64tables DIR, where DIR
// is arch/ppc64.
package main

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/gen/bitrows"
)

func main() { port.Tables().Main() }

// port has reserved bits, which processors ignore, as fields called / and z.
var port = bitrows.Port{
	Arch:    "ppc64",
	Files:   []string{"branch.txt", "system.txt", "integer.txt", "memory.txt", "vector.txt", "prefixed.txt"},
	Words:   2,
	Unnamed: []string{"/", "any", "z"},
	Note:    " Both byte orders have the same words.",
	Rules:   []string{"", "copy", "jump", "user", "never", "trap", "entry"},
	// The fields of LI and BD can be fixed in the pattern.
	Targets: []bitrows.Target{
		{},
		{Name: "LI"},
		{Name: "BD"},
		{Name: "d", Fields: []string{"d0", "d1", "d2"}},
		{Name: "d34", Fields: []string{"d0", "d1"}},
	},
	Attr:     parseAttr,
	Check:    check,
	Dispatch: build,
}

// parseAttr reads priv, or a register.
func parseAttr(r *bitrows.Row, text string) error {
	if text == "priv" {
		r.Priv = true
		return nil
	}
	return parseOperand(r, text)
}

// check demands a primary opcode: the first window of the dispatch is nothing else.
func check(r *bitrows.Row) error {
	switch {
	case !r.Prefixed && r.Mask>>26 != 63:
		return r.Errorf("no primary opcode")
	case r.Class == fixups.ClassPCRelative && r.Target == "":
		return r.Errorf("pc-relative without a target")
	}
	return nil
}
