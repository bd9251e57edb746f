package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Calls whose return address is not where the callee returns to but a value: the
// way in which code without rip-relative operands learns where it is. The callee
// must find the site's, whatever the caller of the planner wants of calls.

// readsReturn reports whether the callee is known to read its return address: it is
// the next instruction, or its first instruction reads the top word of the stack.
// The latter needs the callee's bytes; a call to an unknown callee is a real call.
func (b *planner) readsReturn() bool {
	if b.env.Return != fixups.ReturnsSlot {
		return false
	}
	if !b.shadowed() {
		return true
	}
	if b.env.Code == nil {
		return false
	}
	return b.a.readsTop(b.in.Target, b.env.Code)
}

// maxStubs is how many instructions of a callee are looked at: a landing pad and
// jumps that a linker puts between.
const maxStubs = 4

// readsTop reports whether the code at pc, behind landing pads and direct jumps,
// begins with an instruction that takes the word at the stack pointer into a register
// or changes it there:
//
//	mov reg,[sp]   pop   push [sp]   add|or|adc|sbb|and|sub|xor|cmp|inc|dec|xchg with [sp]
//
// Returns do not count. Nor does a load from any other place on the stack.
func (a *Arch) readsTop(pc uint64, code reloc.Code) bool {
	var in reloc.Insn
	for range maxStubs {
		c := code.Bytes(pc)
		if len(c) == 0 || a.Decode(&in, c, pc) != nil {
			return false
		}
		l := lay(&in)
		switch {
		case isEndbr(&in):
			pc = in.Next()
		case in.Class == fixups.ClassBranch && l.has(flagRelImm) && in.AltLen == 0:
			pc = in.Target
		default:
			return l.popsTop() || l.isTop(&in)
		}
	}
	return false
}

// popsTop reports whether the instruction is a POP of a general register or to memory.
func (l *layout) popsTop() bool {
	if l.opmap() != 0 || l.enc() != encLegacy && l.enc() != encREX2 {
		return false
	}
	return l.opcode()&0xf8 == 0x58 || l.opcode() == 0x8f
}

// isTop reports whether the instruction is an arithmetic one, MOV from memory, PUSH
// or XCHG, with the word at the stack pointer as its operand.
func (l *layout) isTop(in *reloc.Insn) bool {
	if l.opmap() != 0 || l.enc() != encLegacy && l.enc() != encREX2 || !l.has(flagSIB) {
		return false
	}
	sib := in.Bytes[l.modrmOff()+1]
	if l.rmFieldSIB(sib) != 4 || int(sib>>3&7)|l.x()<<3|l.x4()<<4 != 4 || l.mod() != 0 && signed(&in.Bytes, l.dispOff(), l.dispLen()) != 0 {
		return false
	}
	switch op := l.opcode(); {
	case op < 0x40:
		return op&7 < 4
	case op == 0xff:
		return l.reg() < 2 || l.reg() == 6
	default:
		return op == 0x80 || op == 0x81 || op == 0x83 || op == 0x86 || op == 0x87 || op == 0x8a || op == 0x8b
	}
}
