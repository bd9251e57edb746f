package native

import "encoding/binary"

// a64 is [risc] for A64 (Arm ARM DDI 0487, C6.2, where each encoding is).
type a64 struct{ code }

func (a *a64) common() *code { return &a.code }

// a64Regs are the registers behind the names: x0 to x5, and some that no call
// changes. x16 is for what takes two instructions.
func a64Reg(r vreg) uint32 {
	if r < s0 {
		return uint32(r)
	}
	return 19 + uint32(r-s0)
}

const (
	a64Temp    = 16
	a64Syscall = 8 // where the number of a system call goes
)

func (a *a64) three(op uint32, d, n, m vreg) {
	a.word(op | a64Reg(m)<<16 | a64Reg(n)<<5 | a64Reg(d))
}

// imm is MOVZ and three MOVK.
func (a *a64) imm(d uint32, v uint64) {
	for i := range uint32(4) {
		op := uint32(0xf2800000)
		if i == 0 {
			op = 0xd2800000
		}
		a.word(op | i<<21 | uint32(v>>(16*i)&0xffff)<<5 | d)
	}
}

func (a *a64) set(d vreg, v uint64) { a.imm(a64Reg(d), v) }

func (a *a64) setLabel(d vreg, label string) {
	for i := range 4 {
		shift := 16 * i
		a.refer(label, func(b []byte, to, _ uint64) {
			a.order.PutUint32(b, a.order.Uint32(b)|uint32(to>>shift&0xffff)<<5)
		})
		op := uint32(0xf2800000)
		if i == 0 {
			op = 0xd2800000
		}
		a.word(op | uint32(i)<<21 | a64Reg(d))
	}
}

func (a *a64) load(d, base vreg, off int32) {
	a.word(0xf9400000 | uint32(off/8)<<10 | a64Reg(base)<<5 | a64Reg(d))
}

func (a *a64) store(base vreg, off int32, s vreg) {
	a.word(0xf9000000 | uint32(off/8)<<10 | a64Reg(base)<<5 | a64Reg(s))
}

func (a *a64) load32(d, base vreg, off int32) {
	a.word(0xb9400000 | uint32(off/4)<<10 | a64Reg(base)<<5 | a64Reg(d))
}

func (a *a64) add(d, n, m vreg) { a.three(0x8b000000, d, n, m) }
func (a *a64) sub(d, n, m vreg) { a.three(0xcb000000, d, n, m) }
func (a *a64) xor(d, n, m vreg) { a.three(0xca000000, d, n, m) }
func (a *a64) or(d, n, m vreg)  { a.three(0xaa000000, d, n, m) }

func (a *a64) addImm(d, n vreg, v int32) {
	op := uint32(0x91000000)
	if v < 0 {
		op, v = 0xd1000000, -v
	}
	a.word(op | uint32(v)<<10 | a64Reg(n)<<5 | a64Reg(d))
}

// shl is UBFM with the rotation 64-n.
func (a *a64) shl(d, n vreg, by uint8) {
	a.word(0xd3400000 | uint32(64-by)&63<<16 | uint32(63-by)<<10 | a64Reg(n)<<5 | a64Reg(d))
}

// branch is SUBS XZR and B.cond.
func (a *a64) branch(c relation, n, m vreg, label string) {
	a.word(0xeb00001f | a64Reg(m)<<16 | a64Reg(n)<<5)
	cond := [...]uint32{isEqual: 0, isNotEqual: 1, isBelow: 3, isNotBelow: 2}[c]
	a.refer(label, func(b []byte, to, from uint64) {
		a.order.PutUint32(b, a.order.Uint32(b)|uint32(to-from)>>2&(1<<19-1)<<5)
	})
	a.word(0x54000000 | cond)
}

func (a *a64) jump(label string) {
	a.refer(label, func(b []byte, to, from uint64) {
		a.order.PutUint32(b, a.order.Uint32(b)|uint32(to-from)>>2&(1<<26-1))
	})
	a.word(0x14000000)
}

func (a *a64) call(nr uint32) {
	a.imm(a64Syscall, uint64(nr))
	a.word(0xd4000001) // svc #0
}

func (a *a64) callReg(nr vreg) {
	a.word(0xaa0003e0 | a64Reg(nr)<<16 | a64Syscall) // mov
	a.word(0xd4000001)
}

func (a *a64) flush(r vreg) {
	a.word(0xd50b7b20 | a64Reg(r)) // dc cvau
	a.word(0xd5033b9f)             // dsb ish
	a.word(0xd50b7520 | a64Reg(r)) // ic ivau
	a.word(0xd5033b9f)
	a.word(0xd5033fdf) // isb
}

// special: TPIDR_EL0.
func (a *a64) special(base vreg, load bool) {
	if load {
		a.word(0xf9400000 | a64Reg(base)<<5 | a64Temp)
		a.word(0xd51bd040 | a64Temp) // msr tpidr_el0, x16
		return
	}
	a.word(0xd53bd040 | a64Temp)
	a.word(0xf9000000 | a64Reg(base)<<5 | a64Temp)
}

func (a *a64) trap() { a.word(0xd4200000) }

// leave: the stack pointer is that of the entry, where the frame is.
func (a *a64) leave() { a.call(a64Sigreturn) }

const a64Sigreturn = 139

func newA64() risc { return &a64{newCode(textBase, binary.LittleEndian)} }
