// Package x86 is the port for the 64-bit and 32-bit modes of x86 processors.
//
// What is known of each encoding stands in the text files of tables/, one row an
// encoding, in the letter codes of the manuals' opcode maps; a generator turns
// them into z_tables.go. Decode classifies by map, mandatory prefix, W, opcode
// and ModRM together, and an encoding without a row is refused as reserved.
package x86

import "github.com/xol-go/xol/reloc"

// Arch is one mode of x86. The zero value is not usable; use [AMD64] or [I386].
type Arch struct {
	info *reloc.Info
	tab  *modeTables
	m64  bool
}

// The instruction sets. They are immutable.
var (
	// AMD64 is 64-bit mode.
	AMD64 = &Arch{info: &infoAMD64, tab: &tables64, m64: true}
	// I386 is protected mode, or compatibility mode, with 32-bit code segments.
	I386 = &Arch{info: &infoI386, tab: &tables32}
)

// Info implements [reloc.Arch].
func (a *Arch) Info() *reloc.Info { return a.info }
