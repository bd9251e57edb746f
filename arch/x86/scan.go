package x86

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/scankeys"
	"github.com/xol-go/xol/reloc"
)

// scanner walks code with as little work as a table asks for: of most
// instructions nothing but their length. It knows opcodes of map 0 and 1 behind
// nothing but a REX prefix, as the short way of Decode does, and takes what it
// knows from the same tables; a test compares the two. The rest it decodes.
//
// Bytes are read in two rounds. The first finds the lengths, each of which waits
// for the one before, so two parts of the code are walked at once (scan_walk.go):
// while one waits, the other goes on. It has no branch that goes one way for a jump
// and another for a move: where the instructions are that matter, and what is
// known of them, is noted whether they matter or not, and the note is kept or
// overwritten. The second round looks at what was kept.
type scanner struct {
	a      *Arch
	text   [scanBytes + 16]byte   // of the group, from a multiple of 64 bytes on
	starts [scanBytes / 64]uint64 // the same
	rexes  [256]uint8             // by byte: rex*
	ops    [512]scanOp            // by map and opcode
	mods   [256]uint8             // bytes of ModRM, SIB and displacement, and mod*
	kinds  [scanKinds]uint8       // by what ops says, and ModRM: kind*
	nkinds int
	seen   [1 << 16]uint8 // by length and kind: 1 if met
	lanes  [2]lane

	group   group
	stretch [1]reloc.ScanPart // of a long part
	direct  [4 * 512]uint32   // number of a key plus 1 by map and opcode, of branches by addressClass too; none has a prefix
	scankeys.Table
	in reloc.Insn // what was decoded last
}

// scanOp is what is known of an opcode, in 8 bytes. What stands for a choice is a
// mask, and none of it needs a shift.
type scanOp struct {
	len   uint8  // bytes of opcode and immediate
	modrm uint8  // all set if there is a ModRM byte
	byMod uint8  // all set if ModRM has a say in the kind
	wide  uint8  // scanMore if REX.W makes the immediate 4 bytes longer
	kind  uint16 // where in kinds
	_     uint16
}

// Bits of rexes. The low six are how far the opcode is shifted, modulo 64.
const (
	rexAny  = 8
	rexWide = scanMore
)

// scanMore says, in rexes together with wide, in mods and in kinds, that more has a
// say in the length.
const scanMore = 1 << 6

// scanKinds is how many kinds there can be.
const scanKinds = 1 << 14

// Flags of mods, above the length.
const (
	modLen  = 0xf
	modBase = scanMore // mod 00 with SIB: base 101 means disp32
	modRIP  = 1 << 7
)

// Kinds. Bit 0 says that the instruction is no copy; modRIP is added to them.
// With scanMore, bits 4 and 5 are the log2 of the bytes of the immediate of group 3.
const (
	kindCopy  = 0
	kindOdd   = 1 // a key of its own, no target
	kindRel8  = 3 // the immediate is relative and has one byte
	kindRel32 = 11
	kindSlow  = 4  // left to Decode
	kindImm8  = 17 // a key without the immediate, which is D and has one byte
	kindImm32 = 25
	kindOther = 9 // it was left to Decode, which found no copy
)

// Places of fields in a note, behind the offset.
const (
	noteLen   = 32 // 8 bits
	noteKind  = 40 // 8 bits
	noteOther = 48 // where in others
)

// NewScanner implements [reloc.ScanShaper].
func (a *Arch) NewScanner() reloc.Scanner {
	s := &scanner{a: a}
	if a.m64 {
		for b := 0x40; b < 0x50; b++ {
			s.rexes[b] = uint8(rexAny | b>>3&1*rexWide)
		}
	}
	for m := range s.mods {
		w := a.modWords[0][m]
		s.mods[m] = uint8(w>>l0ImmOff&15-1) | uint8(w/modWordBase)*modBase | uint8(w/(flagRIPRel<<l0Flags)&1)*modRIP
	}
	for opmap := range 2 {
		for op := range 256 {
			s.setOp(opmap, op)
		}
	}
	s.ops[0x0f] = scanOp{kind: s.kind(kindSlow)}
	s.Grow(10)
	return s
}

// setOp derives what is known of an opcode from the tables of Decode.
func (s *scanner) setOp(opmap, op int) {
	d := s.a.maps.legacy[opmap][0][op]
	imm := d >> descImm & 15
	bytes, wide := uint64(immLen[imm][2]), uint64(immLen[imm][3]) // C6 and C7: one of eight is not like the others, which kindOf tells
	more := uint8(0)
	switch {
	case d&descCommon != 0:
		bytes, wide = d>>descCommonImm&15, d>>(descCommonImm+4)&15
	case d == 0 || d&(descVariants|descModReg) != 0:
		imm = immMoffs
	case imm == immGroupB || imm == immGroupZ:
		bytes, wide, more = 0, 0, uint8(scanMore|2*(imm-immGroupB)<<4)
	}
	o := &s.ops[opmap<<8|op]
	if imm == immMoffs && d&descCommon == 0 || wide != bytes && wide != bytes+4 {
		*o = scanOp{kind: s.kind(kindSlow)}
		return
	}
	*o = scanOp{len: uint8(bytes) + uint8(opmap+1), modrm: uint8(d / descModRM & 1 * 0xff), wide: uint8((wide - bytes) / 4 * scanMore)}
	var kinds [256]uint8
	same := true
	for m := range kinds {
		if m > 0 && o.modrm == 0 {
			break
		}
		kinds[m] = s.kindOf(d, opmap, op, m)
		if m>>3&7 < 2 {
			kinds[m] |= more
		}
		same = same && kinds[m] == kinds[0]
	}
	switch {
	case same:
		o.kind = s.kind(kinds[0])
	case s.nkinds+len(kinds) > scanKinds-64: // there is room for all there are
		o.kind = s.kind(kindSlow)
	default:
		o.byMod, o.kind = 0xff, uint16(s.nkinds)
		s.nkinds += copy(s.kinds[s.nkinds:], kinds[:])
	}
}

// kind returns a place in kinds with the value k.
func (s *scanner) kind(k uint8) uint16 {
	for i, old := range s.kinds[:s.nkinds] {
		if old == k {
			return uint16(i)
		}
	}
	s.kinds[s.nkinds] = k
	s.nkinds++
	return uint16(s.nkinds - 1)
}

// kindOf is the kind of an opcode with a ModRM byte, without a pc-relative
// operand.
func (s *scanner) kindOf(d uint64, opmap, op, modrm int) uint8 {
	leaf := leaves[d&descBase+uint64(shapeOf[d>>descShape&7][modrm])]
	hazards, class := fixups.Hazards(leaf&factHazards), fixups.Class(leaf>>leafClass&15)
	l := layout{uint64(op) | uint64(modrm)<<8 | uint64(opmap)<<l0Map}
	switch {
	case leaf>>leafRow&0xffff == 0 || leaf&leafSeldom != 0 || class == fixups.ClassInvalid ||
		class == fixups.ClassTrap || hazards.Has(fixups.HazardShadow):
		return kindSlow
	case leaf&leafRel != 0 && immLen[d>>descImm&15][2] == 1:
		return kindRel8
	case leaf&leafRel != 0 && immLen[d>>descImm&15][2] == 4:
		return kindRel32
	case leaf&leafRel != 0:
		return kindSlow
	case class == fixups.ClassPlain && hazards == 0 && !mayEmulatePlain(&l):
		return kindCopy
	case opmap == 0 && op == 0x6a: // pushesImm
		return kindImm8
	case opmap == 0 && op == 0x68:
		return kindImm32
	}
	return kindOdd
}

// keep is the second round: the sites of what was noted in a part. pc is the address
// of the text of the group.
func (s *scanner) keep(sites []fixups.Site, base, pc uint64, part *reloc.ScanPart, notes []uint64) []fixups.Site {
	part.Sites, part.Own = len(notes), 0
	for _, note := range notes {
		off, size, kind := note&(scanBytes-1), note>>noteLen&15, note>>noteKind&0xff
		b := s.text[off : off+16]
		field, width := uint64(0), uint64(4)
		var n uint32
		var d, class uint64
		var own bool
		switch kind {
		case kindOdd:
			if size == 1 {
				n = s.direct[b[0]]
			}
		case kindRel8, kindRel32:
			width = kind>>3*3 + 1
			field = size - width
			d = size + relative(b, field, width)
			class = addressClass(pc + off + d)
			if field == 1 {
				n = s.direct[class>>1<<9|uint64(b[0])]
			} else if field == 2 && b[0] == 0x0f {
				n = s.direct[class>>1<<9|256|uint64(b[1])]
			}
		case kindImm8, kindImm32:
			width = kind>>3&1*3 + 1
			field = size - width
			d = relative(b, field, width)
			if field == 1 {
				n = s.direct[b[0]]
			}
		case kindOther:
			site := s.group.others[note>>noteOther]
			if site.Shape == reloc.ScanOwn {
				part.Own++
			}
			sites = append(sites, site)
			continue
		default: // pc-relative operand
			field = s.dispField(b)
			d = size + relative(b, field, 4)
			class = addressClass(pc + off + d)
			own = mayCover(d, size)
		}
		if target := (pc + off + d) & s.a.branchWrap; class != 0 && (own || d <= size || target != pc+off+d) {
			sites = append(sites, fixups.Site{Off: uint32(off - base), Shape: reloc.ScanOwn, D: int64(target - (pc + off))})
			part.Own++
			continue
		}
		if n == 0 {
			n = s.find(b, pc+off, kind, size, field, width, class)
		}
		sites = append(sites, fixups.Site{Off: uint32(off - base), Shape: fixups.ShapeID(n - 1), D: int64(d)})
	}
	return sites
}

// dispField is where the displacement of an instruction is that the walk knew and
// whose ModRM byte has no SIB byte behind it.
func (s *scanner) dispField(b []byte) uint64 {
	i := uint64(0)
	if s.rexes[b[0]] != 0 {
		i = 1
	}
	if b[i&1] == 0x0f {
		i++
	}
	return i + 2
}

// relative is the field of 1 or 4 bytes at off, extended.
func relative(b []byte, off, width uint64) uint64 {
	v := uint64(binary.LittleEndian.Uint32(b[off:]))
	drop := 64 - 8*width
	return uint64(int64(v<<(drop&63)) >> (drop & 63))
}

// find returns the number plus 1 of the key of the instruction at the start of b.
func (s *scanner) find(b []byte, pc, kind, size, field, width, class uint64) uint32 {
	k := &keep[size&15]
	key := [2]uint64{binary.LittleEndian.Uint64(b) & k[0], binary.LittleEndian.Uint64(b[8:]) & k[1]}
	if class != 0 || kind&^8 == kindImm8 {
		clearBytes(&key, int(field), int(width))
		key[1] |= class << 56
	}
	n := s.Lookup(&key)
	if n == 0 {
		var in reloc.Insn
		s.a.Decode(&in, b, pc)
		n = uint32(s.Key(&in, &key)) + 1
	}
	switch {
	case kind == kindOdd && size == 1, kind&^8 == kindImm8 && field == 1:
		s.direct[b[0]] = n
	case kind&3 == kindRel8 && field == 1:
		s.direct[class>>1<<9|uint64(b[0])] = n
	case kind&3 == kindRel8 && b[0] == 0x0f && field == 2:
		s.direct[class>>1<<9|256|uint64(b[1])] = n
	}
	return n
}
