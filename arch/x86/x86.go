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
	info     *reloc.Info
	maps     *mapTables
	lead     *leadTable
	opLog    *[4][4]uint8
	addrLog  [2]uint64 // log2 of the address size in its place in Ext[1], by the prefix 67
	modeFlag uint64    // flagMode64 in its place in Ext[0]
	rexMask  uint64    // 1 in 64-bit mode

	// rexWords are the fields of Ext[1] behind an instruction's first byte, the
	// address size and, for all but 64-bit operands, the operand size.
	rexWords *[256]uint64

	// modWords are the fields of Ext[0] that follow from a ModRM byte, with offsets
	// from the opcode, without and with the prefix 67; from 256 on, those of an
	// instruction without one.
	modWords   [2]*[512]uint64
	branchWrap uint64 // mask of branch targets
	m64        bool
}

// The instruction sets. They are immutable.
var (
	// AMD64 is 64-bit mode.
	AMD64 = &Arch{
		info: &infoAMD64, maps: &maps64, lead: &lead64,
		opLog:   &opLog64,
		addrLog: [2]uint64{3 << l1Addr, 2 << l1Addr}, modeFlag: flagMode64 << l0Flags, rexMask: 1, m64: true,
		modWords: [2]*[512]uint64{&modWords64, &modWords64}, rexWords: &rexWords64, branchWrap: 1<<64 - 1,
	}
	// I386 is protected mode, or compatibility mode, with 32-bit code segments.
	I386 = &Arch{
		info: &infoI386, maps: &maps32, lead: &lead32,
		opLog:   &opLog32,
		addrLog: [2]uint64{2 << l1Addr, 1 << l1Addr}, modWords: [2]*[512]uint64{&modWords32, &modWords16}, rexWords: &rexWords32, branchWrap: 1<<32 - 1,
	}
)

// Info implements [reloc.Arch].
func (a *Arch) Info() *reloc.Info { return a.info }
