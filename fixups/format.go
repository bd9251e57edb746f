package fixups

import (
	"fmt"
	"strconv"
	"strings"
)

// Append appends s in the text grammar of docs/format.md, with registers named
// by regs. It writes any step; [ParseStep] reads back what [Program.Check]
// accepts, with the fields that the operation does not use as zero.
func (s *Step) Append(dst []byte, regs RegNames) []byte {
	if s.Op.writes() {
		dst = s.Dst.Append(dst, regs)
		dst = append(dst, " = "...)
	}
	dst = append(dst, s.Op.String()...)
	switch s.Op {
	case OpZext, OpSext:
		dst = strconv.AppendUint(dst, uint64(s.Width), 10)
	case OpLoad, OpStore:
		dst = strconv.AppendUint(dst, uint64(s.Size), 10)
		dst = append(dst, s.Order.String()...)
	case OpSkip:
		return s.appendSkip(dst, regs)
	case OpShPop:
		if s.A.Kind == OperandNone {
			return dst
		}
	}
	dst = append(dst, ' ')
	dst = s.A.Append(dst, regs)
	switch {
	case s.Op == OpExtract || s.Op == OpInsert:
		dst = append(dst, ", "...)
		dst = strconv.AppendUint(dst, uint64(s.Lsb), 10)
		dst = append(dst, ", "...)
		dst = strconv.AppendUint(dst, uint64(s.Width), 10)
	case s.Op.binary():
		dst = append(dst, ", "...)
		dst = s.B.Append(dst, regs)
	}
	return dst
}

func (s *Step) appendSkip(dst []byte, regs RegNames) []byte {
	dst = append(dst, ' ')
	dst = strconv.AppendUint(dst, uint64(s.Skip), 10)
	dst = append(dst, " if "...)
	dst = s.A.Append(dst, regs)
	dst = append(dst, ' ')
	dst = append(dst, s.Cond.String()...)
	dst = append(dst, ' ')
	dst = s.B.Append(dst, regs)
	dst = append(dst, " w"...)
	return strconv.AppendUint(dst, uint64(s.Width), 10)
}

// Append appends o in the text grammar of docs/format.md.
func (o *Operand) Append(dst []byte, regs RegNames) []byte {
	switch o.Kind {
	case OperandReg:
		return regs.appendOperand(dst, o.Reg)
	case OperandTemp:
		return strconv.AppendUint(append(dst, 't'), uint64(o.Reg), 10)
	case OperandConst:
		return appendHex(dst, o.Val)
	case OperandSite:
		return appendBase(dst, "site", o.Val)
	case OperandSlot:
		return appendBase(dst, "slot", o.Val)
	case OperandData:
		return appendBase(dst, "data", o.Val)
	}
	return append(dst, "none"...)
}

// appendOperand is AppendName, by number where the name is a word of the
// grammar.
func (n RegNames) appendOperand(dst []byte, r Reg) []byte {
	start := len(dst)
	dst = n.AppendName(dst, r)
	v, part, isPart := r.Part()
	if r == RegPC || n.index(v) < 0 || !reserved(n[n.index(v)].Name) {
		return dst
	}
	dst = strconv.AppendUint(append(dst[:start], '%'), uint64(v), 10)
	if isPart {
		dst = append(dst, '.', '0'+byte(part))
	}
	return dst
}

// reserved reports whether a register cannot be written by this name: the
// grammar gives it a meaning of its own, or it is not a word of the grammar.
func reserved(name string) bool {
	if keyword(name) || startsNumber(name) || name == "" || name[0] == '%' {
		return true
	}
	for i := range len(name) {
		if !isWord(name[i]) {
			return true
		}
	}
	return false
}

// keyword reports whether name has a meaning of its own where a register could
// stand.
func keyword(name string) bool {
	switch name {
	case "pc", "site", "slot", "data", "none", "skip", "shpush":
		return true
	}
	return isTemp(name) || strings.HasPrefix(name, "store")
}

func isTemp(word string) bool {
	return len(word) == 2 && word[0] == 't' && word[1] >= '0' && word[1] <= '7'
}

func startsNumber(word string) bool { return word != "" && word[0] >= '0' && word[0] <= '9' }

func appendBase(dst []byte, base string, v int64) []byte {
	dst = append(dst, base...)
	if v == 0 {
		return dst
	}
	if v > 0 {
		dst = append(dst, '+')
	}
	return appendHex(dst, v)
}

// appendHex appends v as signed hexadecimal, zero as 0.
func appendHex(dst []byte, v int64) []byte {
	if v == 0 {
		return append(dst, '0')
	}
	u := uint64(v)
	if v < 0 {
		dst = append(dst, '-')
		u = -u
	}
	return appendAddr(dst, u)
}

// appendAddr appends v as 0x and hexadecimal digits.
func appendAddr(dst []byte, v uint64) []byte {
	return strconv.AppendUint(append(dst, "0x"...), v, 16)
}

// Format returns s in the text grammar of docs/format.md.
func (s *Step) Format(regs RegNames) string { return string(s.Append(nil, regs)) }

// String returns s with registers by number.
func (s Step) String() string { return s.Format(nil) }

// Format returns the steps of p in the text grammar of docs/format.md, one
// string each.
func (p Program) Format(regs RegNames) []string {
	out := make([]string, len(p))
	for i := range p {
		out[i] = p[i].Format(regs)
	}
	return out
}

// String returns the byte order's word in the text grammar.
func (e End) String() string {
	switch e {
	case LittleEndian:
		return "le"
	case BigEndian:
		return "be"
	}
	return fmt.Sprintf("end(%d)", uint8(e))
}

// canon returns s without the fields that its operation does not use. Codecs
// write steps in this form, so equal programs have equal encodings.
func (s *Step) canon() Step {
	c := Step{Op: s.Op, A: s.A.canon()}
	if s.Op.writes() {
		c.Dst = s.Dst.canon()
		c.Dst.Val = 0
	}
	if s.Op.binary() {
		c.B = s.B.canon()
	}
	switch s.Op {
	case OpZext, OpSext:
		c.Width = s.Width
	case OpExtract, OpInsert:
		c.Lsb, c.Width = s.Lsb, s.Width
	case OpLoad, OpStore:
		c.Size, c.Order = s.Size, s.Order
	case OpSkip:
		c.Cond, c.Width, c.Skip = s.Cond, s.Width, s.Skip
	}
	return c
}

func (o *Operand) canon() Operand {
	switch o.Kind {
	case OperandReg, OperandTemp:
		return Operand{Kind: o.Kind, Reg: o.Reg}
	case OperandNone:
		return Operand{}
	}
	return Operand{Kind: o.Kind, Val: o.Val}
}
