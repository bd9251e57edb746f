package native

// risc is an assembler for the runner of processors that cannot be single-stepped
// by a program: the few operations that it is made of, so that it is written once.
type risc interface {
	common() *code

	set(d vreg, v uint64)
	setLabel(d vreg, label string)
	load(d, base vreg, off int32) // 64 bits; off is a multiple of 8 below 32 KiB
	store(base vreg, off int32, s vreg)
	load32(d, base vreg, off int32) // zero-extended
	add(d, a, b vreg)
	sub(d, a, b vreg)
	xor(d, a, b vreg)
	or(d, a, b vreg)
	addImm(d, a vreg, v int32) // below 2048 in either direction
	shl(d, a vreg, n uint8)
	branch(c relation, a, b vreg, label string) // unsigned
	jump(label string)

	// call makes system call nr with what is in a0 to a5; the result is in a0,
	// negative if it is an error. callReg takes the number from a register.
	call(nr uint32)
	callReg(nr vreg)
	// flush makes code at the address in a register, up to lineStep bytes of it,
	// known to the fetch of instructions.
	flush(a vreg)
	// special moves the registers that signal frames do not have between the
	// processor and the words at base.
	special(base vreg, load bool)
	trap()
	// leave returns from the handler, which is entered with the signal, siginfo and
	// ucontext in a0, a1 and a2.
	leave()
}

// vreg is a register of [risc].
type vreg uint8

// a0 to a5 hold the arguments of system calls, of which calls may change all;
// s0 to s9 are the runner's.
const (
	a0 vreg = iota
	a1
	a2
	a3
	a4
	a5
	s0
	s1
	s2
	s3
	s4
	s5
	s6
	s7
	s8
	s9
)

// relation is what a branch asks of two numbers.
type relation uint8

const (
	isEqual relation = iota
	isNotEqual
	isBelow
	isNotBelow
)

// lineStep is the distance of calls of flush, bytes: no cache line is smaller.
const lineStep = 16
