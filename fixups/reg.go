package fixups

import (
	"iter"
	"math/bits"
	"strconv"
	"strings"
)

// Reg is a register number of an ISA: the DWARF number where one exists, else
// a number the port chose above them (below 256). Numbers of RegPart name a
// 64-bit part of a vector register; RegPC is the program counter of every ISA.
type Reg uint16

const (
	// RegPC is the program counter, on every ISA.
	RegPC Reg = 0xffff
	// RegNone is no register.
	RegNone Reg = 0xfffe

	regPart Reg = 0x1000
)

// RegPart is the i-th 64-bit part (0 = lowest) of vector register v. Writing
// part 0 of an A64 or VEX vector zeroes the higher parts. i is at most 7.
func RegPart(v Reg, i int) Reg { return regPart | v<<3 | Reg(i&7) }

// Part splits a RegPart number.
func (r Reg) Part() (v Reg, i int, ok bool) {
	if r < regPart || r >= regPart+256<<3 {
		return r, 0, false
	}
	return (r - regPart) >> 3, int(r & 7), true
}

// Valid reports whether r names something a program can read or write: a
// number below 256, a part, or RegPC.
func (r Reg) Valid() bool {
	_, _, part := r.Part()
	return r < 256 || part || r == RegPC
}

// RegSet is a set of whole registers (numbers below 256).
type RegSet [4]uint64

// Add puts r into the set; RegPC, RegNone and numbers of 256 and more are
// ignored, a part stands for its whole register.
func (s *RegSet) Add(r Reg) {
	if v, _, ok := r.Part(); ok {
		r = v
	}
	if r < 256 {
		s[r>>6] |= 1 << (r & 63)
	}
}

// Remove takes r out of the set; only whole registers are members.
func (s *RegSet) Remove(r Reg) {
	if r < 256 {
		s[r>>6] &^= 1 << (r & 63)
	}
}

// Has reports whether r is in the set.
func (s *RegSet) Has(r Reg) bool { return r < 256 && s[r>>6]>>(r&63)&1 != 0 }

// IsEmpty reports whether the set has no member.
func (s *RegSet) IsEmpty() bool { return *s == RegSet{} }

// Union adds all members of t.
func (s *RegSet) Union(t *RegSet) {
	for i := range s {
		s[i] |= t[i]
	}
}

// Intersects reports whether the sets share a member.
func (s *RegSet) Intersects(t *RegSet) bool {
	return s[0]&t[0]|s[1]&t[1]|s[2]&t[2]|s[3]&t[3] != 0
}

// All iterates over the members in the order of their numbers.
func (s RegSet) All() iter.Seq[Reg] {
	return func(yield func(Reg) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(Reg(i<<6 + bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}

// MakeRegSet returns the set of the given registers.
func MakeRegSet(regs ...Reg) RegSet {
	var s RegSet
	for _, r := range regs {
		s.Add(r)
	}
	return s
}

// RegName gives a register its name: full width, lower case.
type RegName struct {
	Num  Reg
	Name string
	Bits uint16 // width of the whole register
}

// RegNames is the register file of an ISA, in the order in which registers are
// printed. It is immutable.
type RegNames []RegName

// Name returns the name of r: "pc", "rax", "xmm3.1" for a part, or "%N" for
// number N if the ISA has no such register.
func (n RegNames) Name(r Reg) string {
	if r == RegPC {
		return "pc"
	}
	if _, _, part := r.Part(); !part {
		if i := n.index(r); i >= 0 {
			return n[i].Name
		}
	}
	return string(n.AppendName(nil, r))
}

// index returns where register r is in n, -1 if it is not. Most files list
// their registers in the order of their numbers, so its own place comes first.
func (n RegNames) index(r Reg) int {
	if int(r) < len(n) && n[r].Num == r {
		return int(r)
	}
	for i := range n {
		if n[i].Num == r {
			return i
		}
	}
	return -1
}

// AppendName appends Name(r) to dst.
func (n RegNames) AppendName(dst []byte, r Reg) []byte {
	if r == RegPC {
		return append(dst, "pc"...)
	}
	v, part, isPart := r.Part()
	dst = n.appendWhole(dst, v)
	if isPart {
		dst = append(dst, '.', '0'+byte(part))
	}
	return dst
}

func (n RegNames) appendWhole(dst []byte, r Reg) []byte {
	if i := n.index(r); i >= 0 {
		return append(dst, n[i].Name...)
	}
	return strconv.AppendUint(append(dst, '%'), uint64(r), 10)
}

// Reg is the inverse of Name, for every valid register.
func (n RegNames) Reg(name string) (Reg, bool) {
	if name == "pc" {
		return RegPC, true
	}
	if r, ok := n.whole(name); ok {
		return r, true
	}
	i := len(name) - 2
	if i < 1 || name[i] != '.' || name[i+1] < '0' || name[i+1] > '7' {
		return RegNone, false
	}
	r, ok := n.whole(name[:i])
	if !ok {
		return RegNone, false
	}
	return RegPart(r, int(name[i+1]-'0')), true
}

func (n RegNames) whole(name string) (Reg, bool) {
	if num, ok := strings.CutPrefix(name, "%"); ok {
		v, err := strconv.ParseUint(num, 10, 8)
		return Reg(v), err == nil && num == strconv.FormatUint(v, 10)
	}
	for i := range n {
		if n[i].Name == name {
			return n[i].Num, true
		}
	}
	return RegNone, false
}
