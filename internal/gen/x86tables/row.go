package main

import "fmt"

// space is an encoding with its opcode maps.
type space uint8

const (
	spaceLegacy space = iota
	spaceREX2
	spaceVEX
	spaceEVEX
	spaceXOP
	space3DNow
)

// source is one text file of rows.
type source struct {
	file  string
	space space
	opmap int
}

// sources are all files, in the order of their row numbers. Rows of the same
// map of the same space may be spread over several files.
var sources = []source{
	{"one.txt", spaceLegacy, 0},
	{"x87.txt", spaceLegacy, 0},
	{"0f.txt", spaceLegacy, 1},
	{"0f38.txt", spaceLegacy, 2},
	{"0f3a.txt", spaceLegacy, 3},
	{"3dnow.txt", space3DNow, 0},
	{"vex1.txt", spaceVEX, 1},
	{"vex2.txt", spaceVEX, 2},
	{"vex3.txt", spaceVEX, 3},
	{"vex5.txt", spaceVEX, 5},
	{"vex7.txt", spaceVEX, 7},
	{"xop8.txt", spaceXOP, 8},
	{"xop9.txt", spaceXOP, 9},
	{"xop10.txt", spaceXOP, 10},
	{"evex1.txt", spaceEVEX, 1},
	{"evex2.txt", spaceEVEX, 2},
	{"evex3.txt", spaceEVEX, 3},
	{"evex4.txt", spaceEVEX, 4},
	{"evex5.txt", spaceEVEX, 5},
	{"evex6.txt", spaceEVEX, 6},
	{"evex7.txt", spaceEVEX, 7},
}

// row is one encoding.
type row struct {
	pos    string // file:line
	src    source
	text   string // opcode and conditions as written
	manual string // the @source that holds

	op    int  // opcode
	plusR bool // eight opcodes
	cond  cond

	name     string
	operands []operand
	implicit []operand
	class    string
	hazards  []string
	system   string // what may be done with it in each mode, by systemRules
	attrs    map[string]bool

	id   int
	used bool // some encoding reaches it
}

// operand is an access to a letter code or a fixed register.
type operand struct {
	access byte // r w x c n
	code   string
}

// cond are the conditions of a row. Sets are bit masks; zero is any.
type cond struct {
	pp     uint8 // bit 0 none, 1 66, 2 F3, 3 F2
	w, l   uint8
	reg    uint8
	rm     uint8
	mod    uint8 // bit 0 memory, 1 register
	mode   uint8 // bit 0 32-bit, 1 64-bit
	nd, nf uint8
	rex2no bool
	rex2   bool
}

// point is one encoding, as far as rows can tell encodings apart.
type point struct {
	mode64 bool
	space  space
	opmap  int
	pp     int
	op     int
	w, l   int
	nd, nf int
	modrm  int
}

func in(set uint8, v int) bool { return set == 0 || set>>v&1 != 0 }

// matches reports whether the row holds for p.
func (r *row) matches(p *point) bool {
	c := &r.cond
	if r.src.opmap != p.opmap || !r.holdsIn(p.space) || !r.isOp(p.op) {
		return false
	}
	if !in(c.mode, b2i(p.mode64)) || !in(c.pp, p.pp) || !in(c.w, p.w) || !in(c.l, p.l) {
		return false
	}
	if !in(c.nd, p.nd) || !in(c.nf, p.nf) {
		return false
	}
	return in(c.mod, b2i(p.modrm>>6 == 3)) && in(c.reg, p.modrm>>3&7) && in(c.rm, p.modrm&7)
}

func (r *row) isOp(op int) bool {
	if r.plusR {
		return op&^7 == r.op
	}
	return op == r.op
}

// holdsIn reports whether a row of a legacy map holds behind REX2 too.
func (r *row) holdsIn(s space) bool {
	if s == spaceREX2 {
		return r.src.space == spaceLegacy && !r.cond.rex2no
	}
	return r.src.space == s && !r.cond.rex2
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (r *row) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %s", r.pos, fmt.Sprintf(format, args...))
}
