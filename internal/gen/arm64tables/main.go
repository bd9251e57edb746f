// Command arm64tables turns the rows of arch/arm64/tables into
// arch/arm64/z_tables.go and docs/isa-arm64.md. Usage: arm64tables DIR, where DIR
// is arch/arm64.
package main

import "github.com/xol-go/xol/internal/gen/bitrows"

func main() { port.Tables().Main() }

var port = bitrows.Port{
	Arch:    "arm64",
	Files:   []string{"branch.txt", "system.txt", "integer.txt", "memory.txt", "vector.txt"},
	Words:   1,
	Unnamed: []string{"any"},
	Rules:   []string{"", "copy", "jump", "register", "user"},
	Targets: []bitrows.Target{
		{},
		{Name: "imm26", Fields: []string{"imm26"}},
		{Name: "imm19", Fields: []string{"imm19"}},
		{Name: "imm14", Fields: []string{"imm14"}},
		{Name: "imm9", Fields: []string{"imm9"}},
		{Name: "adr", Fields: []string{"immhi"}},
		{Name: "adrp", Fields: []string{"immhi"}},
		{Name: "back16", Fields: []string{"imm16"}, Operand: true},
		{Name: "lit19", Fields: []string{"imm19"}},
	},
	Attr:     parseOperand,
	Check:    inGroup,
	Dispatch: build,
}

// groups are the main groups of the encoding index (C4.1) that a file is about, as
// mask and value.
var groups = map[string][][2]uint64{
	"branch.txt":  {{0x1c000000, 0x14000000}, {0xffff0000, 0}}, // branches, exceptions, system; UDF
	"system.txt":  {{0x1c000000, 0x14000000}},
	"integer.txt": {{0x1c000000, 0x10000000}, {0x0e000000, 0x0a000000}},                           // immediate, register
	"memory.txt":  {{0x0a000000, 0x08000000}},                                                     // loads and stores
	"vector.txt":  {{0x0e000000, 0x0e000000}, {0x1e000000, 0x04000000}, {0x9e000000, 0x80000000}}, // floating point and Advanced SIMD, SVE, SME
}

// inGroup demands that all words of the row belong to one of its file's groups: a
// group row that reaches beyond would say of others what the index does not.
func inGroup(r *bitrows.Row) error {
	for _, g := range groups[r.File] {
		if r.Mask&g[0] == g[0] && r.Value&g[0] == g[1] {
			return nil
		}
	}
	return r.Errorf("words outside of the groups of %s", r.File)
}
