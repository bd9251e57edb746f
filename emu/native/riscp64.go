package native

import "encoding/binary"

// power is [risc] for 64-bit Power (Power ISA v3.1C, book I, where each encoding
// is; the ABI of handlers and system calls is that of Linux).
type power struct {
	code
	emulated bool // by qemu-user, whose frames are found by r1 itself
}

func (a *power) common() *code { return &a.code }

// p64Reg: arguments are in r3 to r8, r14 to r31 are kept by calls. r11 and r12 are
// for what takes more than one instruction.
func p64Reg(r vreg) uint32 {
	if r < s0 {
		return 3 + uint32(r)
	}
	return 14 + uint32(r-s0)
}

const (
	p64Temp    = 11
	p64Syscall = 0
)

// d and x are the forms of instructions: D and DS, with a displacement, X and XO.
func (a *power) d(op, t, ra uint32, v int32) {
	a.word(op<<26 | t<<21 | ra<<16 | uint32(v)&0xffff)
}

func (a *power) x(op, xo, t, ra, rb uint32) {
	a.word(op<<26 | t<<21 | ra<<16 | rb<<11 | xo<<1)
}

// imm is lis, ori, sldi, oris, ori.
func (a *power) imm(t uint32, v uint64) {
	a.d(15, t, 0, int32(v>>48))
	a.d(24, t, t, int32(v>>32))
	a.sldi(t, t, 32)
	a.d(25, t, t, int32(v>>16))
	a.d(24, t, t, int32(v))
}

// sldi is rldicr with the mask 0 to 63-n.
func (a *power) sldi(ra, rs, n uint32) {
	me := 63 - n
	a.word(30<<26 | rs<<21 | ra<<16 | n&31<<11 | me&31<<6 | me>>5<<5 | 1<<2 | n>>5<<1)
}

func (a *power) set(d vreg, v uint64) { a.imm(p64Reg(d), v) }

func (a *power) setLabel(d vreg, label string) {
	t := p64Reg(d)
	half := func(shift int) {
		a.refer(label, func(b []byte, to, _ uint64) {
			a.order.PutUint32(b, a.order.Uint32(b)|uint32(to>>shift&0xffff))
		})
	}
	half(48)
	a.d(15, t, 0, 0)
	half(32)
	a.d(24, t, t, 0)
	a.sldi(t, t, 32)
	half(16)
	a.d(25, t, t, 0)
	half(0)
	a.d(24, t, t, 0)
}

func (a *power) load(d, base vreg, off int32)       { a.d(58, p64Reg(d), p64Reg(base), off) }
func (a *power) store(base vreg, off int32, s vreg) { a.d(62, p64Reg(s), p64Reg(base), off) }
func (a *power) load32(d, base vreg, off int32)     { a.d(32, p64Reg(d), p64Reg(base), off) }

func (a *power) add(d, n, m vreg) { a.x(31, 266, p64Reg(d), p64Reg(n), p64Reg(m)) }

// sub is subf, which subtracts its first operand.
func (a *power) sub(d, n, m vreg) { a.x(31, 40, p64Reg(d), p64Reg(m), p64Reg(n)) }
func (a *power) xor(d, n, m vreg) { a.x(31, 316, p64Reg(n), p64Reg(d), p64Reg(m)) }
func (a *power) or(d, n, m vreg)  { a.x(31, 444, p64Reg(n), p64Reg(d), p64Reg(m)) }

func (a *power) addImm(d, n vreg, v int32) { a.d(14, p64Reg(d), p64Reg(n), v) }

func (a *power) shl(d, n vreg, by uint8) { a.sldi(p64Reg(d), p64Reg(n), uint32(by)) }

// branch is cmpld cr0 and bc.
func (a *power) branch(c relation, n, m vreg, label string) {
	a.x(31, 32, 1, p64Reg(n), p64Reg(m)) // L = 1
	const ifSet, ifClear = 12 << 21, 4 << 21
	const less, equal = 0 << 16, 2 << 16
	cond := [...]uint32{isEqual: ifSet | equal, isNotEqual: ifClear | equal, isBelow: ifSet | less, isNotBelow: ifClear | less}[c]
	a.refer(label, func(b []byte, to, from uint64) {
		a.order.PutUint32(b, a.order.Uint32(b)|uint32(to-from)&0xfffc)
	})
	a.word(16<<26 | cond)
}

func (a *power) jump(label string) {
	a.refer(label, func(b []byte, to, from uint64) {
		a.order.PutUint32(b, a.order.Uint32(b)|uint32(to-from)&0x3fffffc)
	})
	a.word(18 << 26)
}

func (a *power) call(nr uint32) {
	a.d(14, p64Syscall, 0, int32(nr))
	a.system()
}

func (a *power) callReg(nr vreg) {
	a.x(31, 444, p64Reg(nr), p64Syscall, p64Reg(nr)) // mr
	a.system()
}

// system is sc; an error is the summary overflow of cr0 and a positive number.
func (a *power) system() {
	a.word(17<<26 | 2)
	a.word(16<<26 | 4<<21 | 3<<16 | 8) // bns over the next
	a.x(31, 104, 3, 3, 0)              // neg r3, r3
}

func (a *power) flush(r vreg) {
	a.x(31, 54, 0, 0, p64Reg(r))  // dcbst
	a.x(31, 598, 0, 0, 0)         // sync
	a.x(31, 982, 0, 0, p64Reg(r)) // icbi
	a.x(31, 598, 0, 0, 0)
	a.x(19, 150, 0, 0, 0) // isync
}

// special: TAR, SPR 815, whose halves are swapped in encodings.
func (a *power) special(base vreg, load bool) {
	const tar = 815&31<<5 | 815>>5
	if load {
		a.d(58, p64Temp, p64Reg(base), 0)
		a.word(31<<26 | p64Temp<<21 | tar<<11 | 467<<1)
		// The emulator keeps exceptions of the last operation, which it adds to those
		// of an outer product: 0 + 0 has none.
		a.x(60, 154<<2, 0, 0, 0) // xxlxor vs0, vs0, vs0
		a.word(63<<26 | 21<<1)   // fadd f0, f0, f0
		return
	}
	a.word(31<<26 | p64Temp<<21 | tar<<11 | 339<<1)
	a.d(62, p64Temp, p64Reg(base), 0)
}

func (a *power) trap() { a.word(0x7fe00008) }

// leave is what the kernel's trampoline does: it takes the handler's frame of 128
// bytes off the stack, and the kernel finds the signal's there. qemu-user's own
// trampoline leaves r1 alone.
func (a *power) leave() {
	if !a.emulated {
		a.d(14, 1, 1, 128)
	}
	a.d(14, p64Syscall, 0, 172) // rt_sigreturn
	a.word(17<<26 | 2)
}

func newPower(big, emulated bool) risc {
	var order binary.ByteOrder = binary.LittleEndian
	if big {
		order = binary.BigEndian
	}
	return &power{newCode(textBase, order), emulated}
}
