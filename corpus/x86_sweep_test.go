package corpus_test

import (
	"bytes"
	"iter"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// The sweep walks every opcode of every map with the prefixes, bits and ModRM
// bytes that can lead to different rows, in both modes. What it finds is the one
// case of each row, and the census.

// opcodeMap is one opcode map of one encoding.
type opcodeMap struct {
	name  string
	heads iter.Seq2[int, []byte] // which mandatory prefix (0 to 3), and the bytes before the opcode
	late  bool                   // the opcode stands behind ModRM (3DNow!)
}

// legacyMap is a map behind escape bytes, without and with REX.W.
func legacyMap(m64 bool, name string, escape ...byte) opcodeMap {
	return opcodeMap{name: name, late: name == "3DNow!", heads: func(yield func(int, []byte) bool) {
		for pp, pfx := range [][]byte{{}, {0x66}, {0xf3}, {0xf2}} {
			for _, rex := range [][]byte{{}, {0x48}} {
				if len(rex) > 0 && !m64 {
					continue
				}
				if !yield(pp, cat(pfx, rex, escape)) {
					return
				}
			}
		}
	}}
}

func cat(parts ...[]byte) (b []byte) {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// rex2Map is map 0 or 1 behind REX2 (APX).
func rex2Map(name string, m0 byte) opcodeMap {
	return opcodeMap{name: name, heads: func(yield func(int, []byte) bool) {
		for pp, pfx := range [][]byte{{}, {0x66}, {0xf3}, {0xf2}} {
			for _, w := range []byte{0, 8} {
				if !yield(pp, cat(pfx, []byte{0xd5, m0<<7 | w})) {
					return
				}
			}
		}
	}}
}

// vexMap is a map of three-byte VEX or of XOP: all pp, W and L, vvvv unused
// (1111) and used.
func vexMap(name string, lead, mmmmm byte) opcodeMap {
	return opcodeMap{name: name, heads: func(yield func(int, []byte) bool) {
		for pp := range byte(4) {
			for i := range byte(8) {
				w, l, vvvv := i&1, i>>1&1, [2]byte{15, 14}[i>>2&1]
				if !yield(int(pp), []byte{lead, 0xe0 | mmmmm, w<<7 | vvvv<<3 | l<<2 | pp}) {
					return
				}
			}
		}
	}}
}

// evexMap is a map of EVEX: all pp, W and L'L, vvvv unused and used, and the
// settings of z, b and aaa that rows tell apart (ND and NF are among them in what
// APX promoted).
func evexMap(name string, mmm byte) opcodeMap {
	settings := []byte{0, 0x10, 0x01, 0x81, 0x11, 0x04, 0x14}
	return opcodeMap{name: name, heads: func(yield func(int, []byte) bool) {
		for pp := range byte(4) {
			for i := range byte(16) {
				w, ll, vvvv := i&1, i>>1&3, [2]byte{15, 14}[i>>3&1]
				for _, zbaaa := range settings {
					if !yield(int(pp), []byte{0x62, 0xf0 | mmm, w<<7 | vvvv<<3 | 4 | pp, zbaaa | ll<<5 | 8}) {
						return
					}
				}
			}
		}
	}}
}

func x86Maps(m64 bool) []opcodeMap {
	maps := []opcodeMap{
		legacyMap(m64, "one-byte"), legacyMap(m64, "0F", 0x0f), legacyMap(m64, "0F38", 0x0f, 0x38),
		legacyMap(m64, "0F3A", 0x0f, 0x3a), legacyMap(m64, "3DNow!", 0x0f, 0x0f),
	}
	if m64 {
		maps = append(maps, rex2Map("REX2 0", 0), rex2Map("REX2 1", 1))
	}
	for _, m := range []byte{1, 2, 3, 5, 6, 7} {
		maps = append(maps, vexMap("VEX "+string('0'+m), 0xc4, m))
	}
	for m := range byte(7) {
		maps = append(maps, evexMap("EVEX "+string('1'+m), m+1))
	}
	return append(maps, vexMap("XOP 8", 0x8f, 8), vexMap("XOP 9", 0x8f, 9), vexMap("XOP 10", 0x8f, 10))
}

// found is an encoding of a row.
type found struct {
	head    []byte
	bytes   []byte
	class   fixups.Class
	hazards fixups.Hazards
}

// mapCount is the census of one map in one mode: opcodes are counted once for
// each mandatory prefix.
type mapCount struct {
	name     string
	opcodes  int
	reserved int // no ModRM makes it valid
	rows     map[uint32]fixups.Class
}

// sweepX86 decodes everything. The case of a row is the shortest encoding behind
// the first head that leads to it.
func sweepX86(a *x86.Arch, m64 bool) (map[uint32]found, []mapCount) {
	best := map[uint32]found{}
	var counts []mapCount
	for _, m := range x86Maps(m64) {
		c := mapCount{name: m.name, rows: map[uint32]fixups.Class{}}
		valid := map[[2]int]bool{}
		for pp, head := range m.heads {
			for op := range 256 {
				if sweepOpcode(a, head, byte(op), m.late, best, c.rows) {
					valid[[2]int{pp, op}] = true
				}
			}
		}
		c.opcodes, c.reserved = 4*256, 4*256-len(valid)
		counts = append(counts, c)
	}
	return best, counts
}

// sweepOpcode tries the ModRM bytes of one opcode: all registers, and memory with
// and without SIB. It stops where a refusal says that ModRM makes no difference.
// Prefixes and escapes to other maps are no opcodes.
func sweepOpcode(a *x86.Arch, head []byte, op byte, late bool, best map[uint32]found, rows map[uint32]fixups.Class) bool {
	if isEscape(a, head, op) {
		return false
	}
	var in reloc.Insn
	any := false
	for _, modrm := range modrms {
		var buf [20]byte
		n := copy(buf[:], head)
		if buf[n], buf[n+1] = op, modrm; late {
			buf[n], buf[n+1] = modrm, op
			if modrm < 0xc0 && modrm&7 == 4 {
				continue // SIB would stand where the opcode is
			}
		}
		if a.Decode(&in, buf[:], 0x401000) != nil {
			if !late && int(in.Len) <= n+1 {
				break
			}
			continue
		}
		any = true
		if _, ok := rows[in.Row]; !ok {
			rows[in.Row] = in.Class
		}
		if f, ok := best[in.Row]; !ok || bytes.Equal(f.head, head) && int(in.Len) < len(f.bytes) {
			best[in.Row] = found{head, bytes.Clone(in.Raw()), in.Class, in.Hazards}
		}
	}
	return any
}

// modrms are the ModRM bytes that rows can tell apart: memory without and with
// SIB (whose index may be a vector), and registers.
var modrms = func() (list []byte) {
	for i := range byte(64) {
		if i&7 == 0 || i&7 == 4 {
			list = append(list, i)
		}
	}
	for i := range byte(64) {
		list = append(list, 0xc0|i)
	}
	return list
}()

// isEscape: in the one-byte map and in 0F, some opcodes are prefixes or lead to
// other maps.
func isEscape(a *x86.Arch, head []byte, op byte) bool {
	tail := head
	for len(tail) > 0 && (tail[0] == 0x66 || tail[0] == 0xf2 || tail[0] == 0xf3 || tail[0] == 0x48) {
		tail = tail[1:]
	}
	switch {
	case len(tail) == 0:
		switch op {
		case 0x0f, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3:
			return true
		}
		return a == x86.AMD64 && (op>>4 == 4 || op == 0xd5 || op == 0x62 || op == 0xc4 || op == 0xc5)
	case len(tail) == 1:
		return op == 0x38 || op == 0x3a || op == 0x0f
	}
	return false
}
