package x86

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// scanner walks code with as little work as a table asks for: of most
// instructions nothing but their length. It knows opcodes of map 0 and 1 behind
// nothing but a REX prefix, as the short way of Decode does, and takes what it
// knows from the same tables; a test compares the two.
//
// Bytes are read in two rounds. The first finds the lengths, which wait for each
// other, and has no branch that goes one way for a jump and another for a move:
// where the instructions are that matter, and what is known of them, is noted
// whether they matter or not, and the note is kept or overwritten. The second
// looks at what was kept.
type scanner struct {
	a      *Arch
	ops    [512]uint64 // by map and opcode: op*
	mods   [256]uint8  // bytes of ModRM, SIB and displacement, and mod*
	kinds  []uint8     // by what ops says, and ModRM: kind*
	notes  [scanNotes]uint64
	direct [4 * 512]uint32 // number of a key plus 1 by map and opcode, of branches by addressClass too; none has a prefix
	slots  []keySlot       // a hash table, half full at most
	shift  uint8           // 64 less the log2 of its size
	keys   []reloc.ScanKey
}

// keySlot is a place in the hash table; n is the number of the key plus 1, 0 in an
// empty one.
type keySlot struct {
	key [2]uint64
	n   uint32
}

// Fields of ops. The next instruction waits for the lengths, so they are made up to
// be added, and what stands for a choice is a mask.
const (
	opLen    = 0       // 4 bits: bytes of opcode and immediate, 4 more: with REX.W
	opModRM  = 8       // 8 bits: all set if there is a ModRM byte
	opKind   = 16      // 16 bits: where in kinds
	opByMod  = 32      // 8 bits: all set if ModRM has a say in the kind
	opHead   = 40      // 4 bits: bytes of the opcode
	opGroup3 = 1 << 44 // ModRM has a say in the length of the immediate
)

// Flags of mods, above the length.
const (
	modLen  = 0xf
	modBase = 1 << 6 // mod 00 with SIB: base 101 means disp32
	modRIP  = 1 << 7
)

// Kinds. Bit 0 says that the instruction is no copy; modRIP is added to them.
// Bits 4 and 5 are, for group 3, the log2 of the bytes of the immediate plus 1.
const (
	kindCopy = 0
	kindOdd  = 1 // a key of its own, no target
	kindRel  = 3 // the immediate is relative
	kindSlow = 4 // left to Decode
)

// Places of fields in a note, behind the offset.
const (
	noteLen   = 32
	noteKind  = 40
	noteField = 48 // offset of a displacement
	noteImm   = 56
)

// scanNotes is how many notes there are between the two rounds.
const scanNotes = 512

// NewScanner implements [reloc.ScanShaper].
func (a *Arch) NewScanner() reloc.Scanner {
	s := &scanner{a: a}
	for m := range s.mods {
		w := a.modWords[0][m]
		s.mods[m] = uint8(w>>l0ImmOff&15-1) | uint8(w/modWordBase)*modBase | uint8(w/(flagRIPRel<<l0Flags)&1)*modRIP
	}
	for opmap := range 2 {
		for op := range 256 {
			s.setOp(opmap, op)
		}
	}
	s.ops[0x0f] = uint64(s.kind(kindSlow)) << opKind
	s.grow(10)
	return s
}

// setOp derives what is known of an opcode from the tables of Decode.
func (s *scanner) setOp(opmap, op int) {
	d := s.a.maps.legacy[opmap][0][op]
	head := uint64(opmap + 1)
	e := head<<opHead | d/descModRM&1*0xff<<opModRM
	kind := d >> descImm & 15
	switch {
	case d&descCommon != 0:
		e |= (d>>descCommonImm&15+head)<<opLen | (d>>(descCommonImm+4)&15+head)<<(opLen+4)
	case (kind == immGroupB || kind == immGroupZ) && d&(descVariants|descModReg) == 0 && d != 0:
		e |= opGroup3 | head<<opLen | head<<(opLen+4)
	default:
		s.ops[opmap<<8|op] = e | uint64(s.kind(kindSlow))<<opKind
		return
	}
	var kinds [256]uint8
	same := true
	for m := range kinds {
		kinds[m] = s.kindOf(d, opmap, op, m)
		if e&opGroup3 != 0 && m>>3&7 < 2 {
			kinds[m] |= uint8(1+2*(kind-immGroupB)) << 4
		}
		same = same && kinds[m] == kinds[0]
	}
	if same {
		e |= uint64(s.kind(kinds[0])) << opKind
	} else {
		e |= 0xff<<opByMod | uint64(len(s.kinds))<<opKind
		s.kinds = append(s.kinds, kinds[:]...)
	}
	s.ops[opmap<<8|op] = e
}

// kind returns a place in kinds with the value k.
func (s *scanner) kind(k uint8) int {
	s.kinds = append(s.kinds, k)
	return len(s.kinds) - 1
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
	case leaf&leafRel != 0:
		return kindRel
	case class == fixups.ClassPlain && hazards == 0 && !mayEmulatePlain(&l):
		return kindCopy
	}
	return kindOdd
}

// Scan implements [reloc.Scanner].
func (s *scanner) Scan(out *reloc.Scan, text []byte, at, end int, pc uint64) int {
	text = text[:end+16]
	for at < end {
		next, notes := s.lengths(out, text, at, end)
		s.keep(out, text, pc, notes)
		if next == at || notes < scanNotes {
			return next
		}
		at = next
	}
	return at
}

// lengths is the first round. It returns where it stopped and how many notes it
// has made.
func (s *scanner) lengths(out *reloc.Scan, text []byte, at, end int) (next, notes int) {
	starts, kinds, rexMask, copies := out.Starts, s.kinds, s.a.rexMask*8, out.Copies
	ops, mods, list := &s.ops, &s.mods, &s.notes
	pos, last, n := uint64(at), uint64(end), uint64(0)
	for pos < last && n < scanNotes {
		w := binary.LittleEndian.Uint64(text[pos:])
		rex := (w&0xff ^ 0x40 - 16) >> 60 & rexMask // 8 bits or none
		wide := w & rex >> 1                        // 4 with REX.W
		w >>= rex & 63
		e := ops[w&0xff]
		if w&0xff == 0x0f {
			w >>= 8
			e = ops[256+w&0xff]
		}
		m := uint64(mods[w>>8&0xff]) & (e >> opModRM)
		bare := e >> (wide & 63) & 15
		size := rex>>3 + bare + m&modLen
		if m&modBase != 0 && w>>16&7 == 5 {
			size += 4
		}
		kind := uint64(kinds[e>>opKind&0xffff+w>>8&(e>>opByMod)&0xff])
		head := e >> opHead & 15
		imm := bare - head
		if e&opGroup3 != 0 {
			imm = 1 << (kind >> 4) >> 1
			size += imm
			kind &= 15
		}
		head += rex >> 3
		kind |= m & modRIP
		if kind&kindSlow != 0 || pos+size > last {
			break
		}
		starts[pos>>6] |= 1 << (pos & 63)
		odd := (kind | kind>>7) & 1
		copies |= uint32(1-odd) << (size & 15)
		list[n&(scanNotes-1)] = pos | size<<noteLen | kind<<noteKind | (head+1)<<noteField | imm<<noteImm
		n += odd
		pos += size
	}
	out.Copies = copies
	return int(pos), int(n)
}

// keep is the second round: the keys of what was noted.
func (s *scanner) keep(out *reloc.Scan, text []byte, pc uint64, notes int) {
	sites := out.Sites
	for _, note := range s.notes[:notes] {
		off, size, kind := note&(1<<32-1), note>>noteLen&15, note>>noteKind&0xff
		b := text[off : off+16]
		field, width := note>>noteField&15, uint64(4)
		var n uint32
		var d, class uint64
		var own bool
		switch kind {
		case kindOdd:
			if size == 1 {
				n = s.direct[b[0]]
			}
		case kindRel:
			width = note >> noteImm & 15
			field = size - width
			d = size + relative(b, field, width)
			class = addressClass(pc + off + d)
			if field == 1 {
				n = s.direct[class>>1<<9|uint64(b[0])]
			} else if field == 2 && b[0] == 0x0f {
				n = s.direct[class>>1<<9|256|uint64(b[1])]
			}
		default: // pc-relative operand
			d = size + relative(b, field, 4)
			class = addressClass(pc + off + d)
			own = mayCover(d, size)
		}
		if target := (pc + off + d) & s.a.branchWrap; class != 0 && (own || d <= size || target != pc+off+d) {
			sites = append(sites, fixups.Site{Off: uint32(off), Shape: reloc.ScanOwn, D: int64(target - (pc + off))})
			out.Own++
			continue
		}
		if n == 0 {
			n = s.find(b, pc+off, kind, size, field, width, class)
		}
		sites = append(sites, fixups.Site{Off: uint32(off), Shape: fixups.ShapeID(n - 1), D: int64(d)})
	}
	out.Sites = sites
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
	if class != 0 {
		clearBytes(&key, int(field), int(width))
		key[1] |= class << 56
	}
	n := s.lookup(&key)
	if n == 0 {
		var in reloc.Insn
		s.a.Decode(&in, b, pc)
		n = uint32(s.Key(&in, &key)) + 1
	}
	switch {
	case kind == kindOdd && size == 1:
		s.direct[b[0]] = n
	case kind == kindRel && field == 1:
		s.direct[class>>1<<9|uint64(b[0])] = n
	case kind == kindRel && b[0] == 0x0f && field == 2:
		s.direct[class>>1<<9|256|uint64(b[1])] = n
	}
	return n
}

// Key implements [reloc.Scanner].
func (s *scanner) Key(in *reloc.Insn, key *[2]uint64) fixups.ShapeID {
	if n := s.lookup(key); n != 0 {
		return fixups.ShapeID(n - 1)
	}
	s.keys = append(s.keys, reloc.ScanKey{Key: *key, Insn: *in})
	if 2*len(s.keys) > len(s.slots) {
		s.grow(64 - s.shift + 1)
	} else {
		s.insert(key, uint32(len(s.keys)))
	}
	return fixups.ShapeID(len(s.keys) - 1)
}

// Keys implements [reloc.Scanner].
func (s *scanner) Keys() []reloc.ScanKey { return s.keys[:len(s.keys):len(s.keys)] }

func (s *scanner) hash(key *[2]uint64) uint64 {
	return (key[0] ^ key[1]*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd >> (s.shift & 63)
}

func (s *scanner) lookup(key *[2]uint64) uint32 {
	for i := s.hash(key); ; i++ {
		slot := &s.slots[i&uint64(len(s.slots)-1)]
		if slot.n == 0 || slot.key == *key {
			return slot.n
		}
	}
}

func (s *scanner) insert(key *[2]uint64, n uint32) {
	i := s.hash(key)
	for s.slots[i&uint64(len(s.slots)-1)].n != 0 {
		i++
	}
	s.slots[i&uint64(len(s.slots)-1)] = keySlot{*key, n}
}

// grow makes a new hash table of 1<<bits slots.
func (s *scanner) grow(bits uint8) {
	s.slots, s.shift = make([]keySlot, 1<<bits), 64-bits
	for i := range s.keys {
		s.insert(&s.keys[i].Key, uint32(i+1))
	}
}
