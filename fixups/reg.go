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

// Remove takes r out of the set.
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

// Name returns the name of r: "pc", "rax", "xmm3.1" for a part, or "rN" with a
// leading % ("%201") for a number the ISA does not have.
func (n RegNames) Name(r Reg) string {
	if r == RegPC {
		return "pc"
	}
	if v, i, ok := r.Part(); ok {
		return n.Name(v) + "." + strconv.Itoa(i)
	}
	for i := range n {
		if n[i].Num == r {
			return n[i].Name
		}
	}
	return "%" + strconv.Itoa(int(r))
}

// Reg is the inverse of Name.
func (n RegNames) Reg(name string) (Reg, bool) {
	if name == "pc" {
		return RegPC, true
	}
	if num, ok := strings.CutPrefix(name, "%"); ok {
		v, err := strconv.ParseUint(num, 10, 8)
		return Reg(v), err == nil
	}
	whole, part, isPart := strings.Cut(name, ".")
	for i := range n {
		if n[i].Name == name {
			return n[i].Num, true
		}
		if isPart && n[i].Name == whole && len(part) == 1 && part[0] >= '0' && part[0] <= '7' {
			return RegPart(n[i].Num, int(part[0]-'0')), true
		}
	}
	return RegNone, false
}
