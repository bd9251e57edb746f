package native

import "encoding/binary"

// asm writes the few instructions that the runner is made of (Intel SDM volume
// 2). All branches are rel32, all displacements disp32: there is nothing to
// choose, so nothing to get wrong.
type asm struct{ code }

// reg is a general register by its number in encodings.
type reg byte

const (
	rax reg = iota
	rcx
	rdx
	rbx
	rsp
	rbp
	rsi
	rdi
	r8
	r9
	r10
	r11
	r12
	r13
	r14
	r15
)

func newAsm(base uint64) *asm { return &asm{newCode(base, binary.LittleEndian)} }

func (a *asm) le32(v uint32) { a.b = binary.LittleEndian.AppendUint32(a.b, v) }

func (a *asm) le64(v uint64) { a.b = binary.LittleEndian.AppendUint64(a.b, v) }

func (a *asm) align(n int) {
	for len(a.b)%n != 0 {
		a.raw(0xcc)
	}
}

// ea is REX.W (or none, for 32 bits), an opcode and the operand [base+disp].
func (a *asm) ea(w byte, op byte, r, base reg, disp int32) {
	if rex := 0x40 | w<<3 | byte(r>>3)<<2 | byte(base>>3); rex != 0x40 {
		a.raw(rex)
	}
	a.raw(op, 0x80|byte(r&7)<<3|byte(base&7))
	if base&7 == 4 {
		a.raw(0x24)
	}
	a.le32(uint32(disp))
}

// rr is REX.W, an opcode and the operand rm in a register.
func (a *asm) rr(op byte, r, rm reg) {
	a.raw(0x48|byte(r>>3)<<2|byte(rm>>3), op, 0xc0|byte(r&7)<<3|byte(rm&7))
}

func (a *asm) load(r, base reg, disp int32)      { a.ea(1, 0x8b, r, base, disp) }
func (a *asm) store(base reg, disp int32, r reg) { a.ea(1, 0x89, r, base, disp) }
func (a *asm) lea(r, base reg, disp int32)       { a.ea(1, 0x8d, r, base, disp) }
func (a *asm) mov(dst, src reg)                  { a.rr(0x89, src, dst) }
func (a *asm) add(dst, src reg)                  { a.rr(0x01, src, dst) }
func (a *asm) sub(dst, src reg)                  { a.rr(0x29, src, dst) }
func (a *asm) cmp(x, y reg)                      { a.rr(0x39, y, x) }
func (a *asm) test(x reg)                        { a.rr(0x85, x, x) }

// addTo adds memory to a register.
func (a *asm) addTo(r, base reg, disp int32) { a.ea(1, 0x03, r, base, disp) }

// cmpMem compares a register with memory.
func (a *asm) cmpMem(r, base reg, disp int32) { a.ea(1, 0x3b, r, base, disp) }

// imm is group 1: op 0 add, 4 and, 5 sub, 7 cmp.
func (a *asm) imm(op byte, r reg, v int32) {
	a.raw(0x48|byte(r>>3), 0x81, 0xc0|op<<3|byte(r&7))
	a.le32(uint32(v))
}

// mulMem is imul r, [base+disp].
func (a *asm) mulMem(r, base reg, disp int32) {
	a.raw(0x48|byte(r>>3)<<2|byte(base>>3), 0x0f, 0xaf, 0x80|byte(r&7)<<3|byte(base&7))
	a.le32(uint32(disp))
}

func (a *asm) shl(r reg, n byte) { a.raw(0x48|byte(r>>3), 0xc1, 0xe0|byte(r&7), n) }

// set is mov r, imm64.
func (a *asm) set(r reg, v uint64) {
	a.raw(0x48|byte(r>>3), 0xb8|byte(r&7))
	a.le64(v)
}

// setLabel is mov r, the address of a label.
func (a *asm) setLabel(r reg, label string) {
	a.raw(0x48|byte(r>>3), 0xb8|byte(r&7))
	a.quad(label)
}

// storeImm stores a sign-extended constant in 64 bits of memory.
func (a *asm) storeImm(base reg, disp int32, v int32) {
	a.ea(1, 0xc7, 0, base, disp)
	a.le32(uint32(v))
}

// Conditions by their number in encodings.
const (
	below      = 2
	aboveEqual = 3
	equal      = 4
	notEqual   = 5
	negative   = 8
)

func (a *asm) jcc(cond byte, label string) {
	a.raw(0x0f, 0x80|cond)
	a.branch(label)
}

func (a *asm) jmp(label string) {
	a.raw(0xe9)
	a.branch(label)
}

func (a *asm) branch(label string) {
	a.refer(label, func(b []byte, to, from uint64) { binary.LittleEndian.PutUint32(b, uint32(to-from-4)) })
	a.le32(0)
}

func (a *asm) syscall() { a.raw(0x0f, 0x05) }

// copyWords copies rcx words of 8 bytes from rsi to rdi, upwards.
func (a *asm) copyWords() { a.raw(0xf3, 0x48, 0xa5) }

// copyN copies n words.
func (a *asm) copyN(n uint32) {
	a.raw(0xb9) // mov ecx, n
	a.le32(n)
	a.copyWords()
}
