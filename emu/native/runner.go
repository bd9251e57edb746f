package native

import "encoding/binary"

// The runner is the program that executes cases: a loop inside a signal handler.
//
// The kernel stores a thread's whole state in a signal frame when it delivers
// a signal, and loads one when the handler returns. So a run is: write the state
// into the frame, with the trap flag set, and return. The first instruction
// executes; the trap that follows is the next signal. While pc is in the
// window of the run, the handler returns at once. Otherwise, and for every other
// signal, the frame is the end of the run: it is copied out, memory is compared
// with its base and put back, and the next state is written.
//
// One program serves both modes: a frame may say that its code is 32-bit. The
// processor then executes as it does for an i386 process; only the kernel's
// entries would differ, and they are closed. Everything but the calls of the
// runner itself is answered with a signal (seccomp).

// Linux, x86-64: system calls and constants.
const (
	sysRead      = 0
	sysWrite     = 1
	sysMmap      = 9
	sysMunmap    = 11
	sysSigaction = 13
	sysSigreturn = 15
	sysSigstack  = 131
	sysPrctl     = 157
	sysExitGroup = 231

	sigILL, sigTRAP, sigBUS, sigFPE, sigSEGV, sigSYS = 4, 5, 7, 8, 11, 31

	trapDebug  = 1
	flagTF     = 0x100
	selCode64  = 0x33
	selCode32  = 0x23
	selData    = 0x2b
	sharedFile = 3
)

var runnerSignals = [...]int32{sigILL, sigTRAP, sigBUS, sigFPE, sigSEGV, sigSYS}

// runnerProgram assembles the program.
func runnerProgram() ([]byte, error) {
	a := newAsm(textBase)
	a.start()
	a.handler()
	a.finish()
	a.command()
	a.loadState()
	a.data()
	return a.link()
}

// call is a system call with constant arguments; a string is a label.
func (a *asm) call(nr uint32, args ...any) {
	for i, r := range [6]reg{rdi, rsi, rdx, r10, r8, r9} {
		if i == len(args) {
			break
		}
		switch v := args[i].(type) {
		case string:
			a.setLabel(r, v)
		case int:
			a.set(r, uint64(v))
		case uint64:
			a.set(r, v)
		}
	}
	a.raw(0xb8)
	a.le32(nr)
	a.syscall()
}

// start makes the process what runs need: the shared memory, and no other but
// the program itself; the stack is gone from here on. Then the first signal.
func (a *asm) start() {
	const rw, sharedFixed = 3, 0x11
	a.call(sysMmap, uint64(sharedBase), sharedSize, rw, sharedFixed, sharedFile, 0)
	a.call(sysMunmap, 0, uint64(textPage))
	a.call(sysMunmap, uint64(textPage+textSize), uint64(sharedBase-textPage-textSize))
	a.call(sysMunmap, uint64(sharedBase+sharedSize), uint64(userEnd-sharedBase-sharedSize))
	a.call(sysSigstack, "altstack", 0)
	for _, s := range runnerSignals {
		a.call(sysSigaction, int(s), "action", 0, 8)
	}
	const setDumpable, noNewPrivs, setSeccomp, filter = 4, 38, 22, 2
	a.call(sysPrctl, setDumpable, 0, 0, 0, 0)
	a.call(sysPrctl, noNewPrivs, 1, 0, 0, 0)
	a.call(sysPrctl, setSeccomp, filter, "guard", 0, 0)
	a.set(r15, sharedBase+offCtrl)
	a.store(r15, ctlGuard, rax)
	a.raw(0x0f, 0x0b) // ud2
}

// handler is entered with rdi the signal and rdx the frame. The trap flag and DF
// are clear; AC may be set.
func (a *asm) handler() {
	a.label("handler")
	a.raw(0x6a, 0x02, 0x9d) // push 2; popf
	a.set(r15, sharedBase+offCtrl)
	a.mov(rbp, rdx)
	a.lea(rbx, rdx, ucContext)
	a.load(r14, rbx, scFPState)
	a.load(rax, r15, ctlActive)
	a.test(rax)
	a.jcc(equal, "answer")
	a.mov(r13, rdi) // the signal
	a.opcode()      // r12 := kind of the last opcode
	a.set(r11, stopSignal)
	a.imm(7, r13, sigTRAP)
	a.jcc(notEqual, "finish")
	a.load(rax, rbx, recTrap)
	a.imm(7, rax, trapDebug)
	a.jcc(notEqual, "finish")

	// A step is done. Flags that it pushed show our trap flag.
	a.imm(7, r12, opPush)
	a.jcc(notEqual, "stepped")
	a.load(rax, r15, ctlHide)
	a.test(rax)
	a.jcc(equal, "stepped")
	a.load(rax, rbx, recSP)
	a.raw(0x80, 0x60, 0x01, 0xfe) // and byte [rax+1], ^1
	a.label("stepped")
	a.load(rcx, rbx, recIP)
	a.mov(rax, rcx)
	a.ea(1, 0x2b, rax, r15, ctlLo) // sub rax, [lo]
	a.set(r11, stopLeft)
	a.cmpMem(rax, r15, ctlSize)
	a.jcc(aboveEqual, "finish")
	a.set(r11, stopLimit)
	a.load(rdx, r15, ctlSteps)
	a.cmpMem(rdx, r15, ctlLimit)
	a.jcc(aboveEqual, "finish")
	a.trace()
	a.imm(0, rdx, 1)
	a.store(r15, ctlSteps, rdx)
	a.store(r15, ctlLast, rcx)
	a.load(rax, rbx, recFlags)
	a.raw(0x48, 0x0d) // or rax, imm32
	a.le32(flagTF)
	a.store(rbx, recFlags, rax)
	a.label("return")
	a.mov(rsp, rbp)
	a.call(sysSigreturn)
}

// opcode sets r12 to the kind of the opcode at the pc of the last step. If that
// is not readable, nothing was executed there: the signal is a fault at that pc.
func (a *asm) opcode() {
	a.set(r12, opOther)
	a.load(rcx, r15, ctlLast)
	a.imm(7, r13, sigTRAP)
	a.jcc(notEqual, "kind")
	a.label("prefix")
	a.raw(0x0f, 0xb6, 0x01) // movzx eax, byte [rcx]
	a.raw(0x4d, 0x0f, 0xb6, 0xa4, 0x07)
	a.le32(ctlOpcodes) // movzx r12, byte [r15+rax+opcodes]
	a.imm(0, rcx, 1)
	a.imm(7, r12, opPrefix)
	a.jcc(equal, "prefix")
	a.label("kind")
}

// trace notes that the step number rdx begins at rcx.
func (a *asm) trace() {
	a.cmpMem(rdx, r15, ctlTrace)
	a.jcc(aboveEqual, "traced")
	a.raw(0x49, 0x89, 0x8c, 0xd7)
	a.le32(offTrace) // mov [r15+rdx*8+trace], rcx
	a.label("traced")
}

// finish stores the end of run number r10: r11 is its kind, r12 the kind of
// opcode, r13 the signal.
func (a *asm) finish() {
	a.label("finish")
	a.load(r10, r15, ctlDone)
	a.mov(rdi, r10)
	a.mulMem(rdi, r15, ctlRecord)
	a.add(rdi, r15)
	a.imm(0, rdi, offOut)
	a.mov(r9, rdi)
	a.mov(rsi, rbx)
	a.copyN(contextWords)
	a.raw(0xf3, 0x48, 0x0f, 0xae, 0xc0) // rdfsbase rax
	a.store(r9, recFS, rax)
	a.raw(0xf3, 0x48, 0x0f, 0xae, 0xc8) // rdgsbase rax
	a.store(r9, recGS, rax)
	a.lea(rdi, r9, recX)
	a.mov(rsi, r14)
	a.copyN(xHeader / 8)
	a.load(rcx, r15, ctlExtra)
	a.copyWords()

	a.mov(r9, r10)
	a.shl(r9, 6)
	a.add(r9, r15)
	a.imm(0, r9, offStops)
	a.store(r9, stopKind, r11)
	a.store(r9, stopOp, r12)
	a.store(r9, stopSig, r13)
	a.load(rax, r15, ctlSteps)
	a.store(r9, stopSteps, rax)
	a.load(rax, r15, ctlLines)
	a.store(r9, stopFirst, rax)
	a.harvest()
	a.load(rax, r15, ctlLines)
	a.sub(rax, rdx) // rdx: the first
	a.store(r9, stopLines, rax)

	a.imm(0, r10, 1)
	a.store(r15, ctlDone, r10)
	a.cmpMem(r10, r15, ctlRuns)
	a.jcc(below, "load")
	a.storeImm(r15, ctlActive, 0)
	a.jmp("answer")
}

// harvest reports each line of the watched pages that differs from its base,
// and puts it back. There is room for all lines of all runs. rdx is left at the
// number of lines before.
func (a *asm) harvest() {
	a.load(rdx, r15, ctlLines)
	a.load(r8, r15, ctlPages)
	a.lea(r11, r15, offPages)
	a.label("page")
	a.imm(5, r8, 1)
	a.jcc(negative, "harvested")
	a.load(rcx, r11, 8)  // live
	a.load(r12, r11, 16) // base
	a.load(r13, r11, 24) // size
	a.add(r13, rcx)      // end of live
	a.label("line")
	a.raw(0x66, 0x0f, 0x6f, 0x01)             // movdqa xmm0, [rcx]
	a.raw(0x66, 0x41, 0x0f, 0x74, 0x04, 0x24) // pcmpeqb xmm0, [r12]
	for i := byte(1); i < 4; i++ {
		a.raw(0x66, 0x0f, 0x6f, 0x49, 16*i)             // movdqa xmm1, [rcx+16*i]
		a.raw(0x66, 0x41, 0x0f, 0x74, 0x4c, 0x24, 16*i) // pcmpeqb xmm1, [r12+16*i]
		a.raw(0x66, 0x0f, 0xdb, 0xc1)                   // pand xmm0, xmm1
	}
	a.raw(0x66, 0x0f, 0xd7, 0xc0) // pmovmskb eax, xmm0
	a.raw(0x3d)                   // cmp eax, 0xffff
	a.le32(0xffff)
	a.jcc(equal, "same")
	a.load(rax, r15, ctlLines)
	a.raw(0x48, 0x6b, 0xf8, lineEntry) // imul rdi, rax, lineEntry
	a.add(rdi, r15)
	a.imm(0, rdi, offOutLines)
	a.imm(0, rax, 1)
	a.store(r15, ctlLines, rax)
	a.mov(rax, rcx)
	a.ea(1, 0x2b, rax, r11, 8) // offset in the page
	a.addTo(rax, r11, 0)
	a.store(rdi, 0, rax)
	a.imm(0, rdi, 8)
	a.mov(rax, rcx)
	a.mov(rsi, rcx)
	a.copyN(8)
	a.mov(rdi, rax)
	a.mov(rsi, r12)
	a.copyN(8)
	a.mov(rcx, rax)
	a.label("same")
	a.imm(0, rcx, 64)
	a.imm(0, r12, 64)
	a.cmp(rcx, r13)
	a.jcc(below, "line")
	a.imm(0, r11, pageEntry)
	a.jmp("page")
	a.label("harvested")
}

// command answers the last command with a byte and waits for the next. The end
// of the pipe is the end of the program.
func (a *asm) command() {
	a.label("answer")
	a.set(rdi, 1)
	a.setLabel(rsi, "byte")
	a.set(rdx, 1)
	a.call(sysWrite)
	a.label("wait")
	a.set(rdi, 0)
	a.lea(rsi, r15, ctlOpcodes-8)
	a.set(rdx, 1)
	a.call(sysRead)
	a.test(rax)
	a.jcc(negative, "wait")
	a.jcc(equal, "exit")
	a.load(rax, r15, ctlCommand)
	a.imm(7, rax, commandRun)
	a.jcc(notEqual, "call")
	a.storeImm(r15, ctlActive, 1)
	a.jmp("load")

	a.label("call")
	a.load(rdi, r15, ctlArg0)
	a.load(rsi, r15, ctlArg1)
	a.load(rdx, r15, ctlArg2)
	a.load(r10, r15, ctlArg3)
	a.load(r8, r15, ctlArg4)
	a.load(r9, r15, ctlArg5)
	a.load(rax, r15, ctlNumber)
	a.syscall()
	a.store(r15, ctlResult, rax)
	a.jmp("answer")

	a.label("exit")
	a.set(rdi, 0)
	a.call(sysExitGroup)
}

// loadState writes state number ctlDone into the frame and returns to it.
func (a *asm) loadState() {
	a.label("load")
	a.load(r10, r15, ctlDone)
	a.raw(0x47, 0x8b, 0xa4, 0x97)
	a.le32(offFirst) // mov r12d, [r15+r10*4+first]
	a.raw(0x47, 0x8b, 0xac, 0x97)
	a.le32(offFirst + 4) // mov r13d, the next
	a.label("input")
	a.cmp(r12, r13)
	a.jcc(aboveEqual, "inputs")
	a.raw(0x49, 0x6b, 0xf4, lineEntry) // imul rsi, r12, lineEntry
	a.add(rsi, r15)
	a.imm(0, rsi, offInLines)
	a.load(rdi, rsi, 0)
	a.imm(0, rsi, 8)
	a.copyN(8)
	a.imm(0, r12, 1)
	a.jmp("input")
	a.label("inputs")

	a.mulMem(r10, r15, ctlRecord)
	a.add(r10, r15)
	a.imm(0, r10, offIn)
	a.mov(rsi, r10)
	a.mov(rdi, rbx)
	a.copyN(loadedWords)
	a.lea(rsi, r10, recX)
	a.mov(rdi, r14)
	a.copyN(xSoftware / 8)
	a.imm(0, rsi, xHeader-xSoftware)
	a.imm(0, rdi, xHeader-xSoftware)
	a.load(rcx, r15, ctlExtra)
	a.copyWords()

	// Segments. In 32-bit code the data segments must be there, in 64-bit code
	// only the bases count.
	a.load(rax, r15, ctlMode32)
	a.test(rax)
	a.jcc(equal, "bases")
	a.raw(0xb8)
	a.le32(selData)
	a.raw(0x8e, 0xd8, 0x8e, 0xc0)             // mov ds, eax; mov es, eax
	a.raw(0x31, 0xc0, 0x8e, 0xe0, 0x8e, 0xe8) // xor eax, eax; mov fs, eax; mov gs, eax
	a.label("bases")
	a.load(rax, r10, recFS)
	a.raw(0xf3, 0x48, 0x0f, 0xae, 0xd0) // wrfsbase rax
	a.load(rax, r10, recGS)
	a.raw(0xf3, 0x48, 0x0f, 0xae, 0xd8) // wrgsbase rax

	a.storeImm(rbp, ucSigmask, 0)
	a.load(rcx, rbx, recIP)
	a.store(r15, ctlLast, rcx)
	a.set(rdx, 0)
	a.trace2()
	a.storeImm(r15, ctlSteps, 1)
	a.jmp("return")
}

// trace2 is trace for the first step.
func (a *asm) trace2() {
	a.cmpMem(rdx, r15, ctlTrace)
	a.jcc(aboveEqual, "first")
	a.store(r15, offTrace, rcx)
	a.label("first")
}

// data are the structures that the system calls read.
func (a *asm) data() {
	a.align(8)
	a.label("byte")
	a.le64(1)
	a.label("altstack")
	a.le64(sharedBase + offAltStack)
	a.le64(0)
	a.le64(altStackSize)
	a.label("action")
	const info, onStack, restorer = 4, 0x08000000, 0x04000000
	a.quad("handler")
	a.le64(info | onStack | restorer)
	a.quad("handler") // never returned to
	a.le64(^uint64(0))
	filter := guard()
	a.label("guard")
	a.le64(uint64(len(filter) / 8))
	a.quad("filter")
	a.label("filter")
	a.raw(filter...)
}

// guard is the seccomp filter (Linux, BPF): the calls that the runner makes,
// from where it makes them. Everything else raises a signal.
func guard() []byte {
	const (
		load, jumpEqual, jumpGreaterEqual, jumpGreater, ret = 0x20, 0x15, 0x35, 0x25, 0x06

		offNumber, offArch, offIP = 0, 4, 8
		archX8664                 = 0xc000003e
		answerTrap, answerAllow   = 0x00030000, 0x7fff0000
	)
	var f []byte
	op := func(code uint16, yes, no byte, k uint32) {
		f = binary.LittleEndian.AppendUint16(f, code)
		f = append(f, yes, no)
		f = binary.LittleEndian.AppendUint32(f, k)
	}
	calls := [...]uint32{sysRead, sysWrite, sysMmap, sysMunmap, sysSigreturn, sysExitGroup}
	n := byte(len(calls))
	op(load, 0, 0, offArch)
	op(jumpEqual, 0, 6+n, archX8664)
	op(load, 0, 0, offIP+4)
	op(jumpEqual, 0, 4+n, textPage>>32)
	op(load, 0, 0, offIP)
	op(jumpGreaterEqual, 0, 2+n, textPage&0xffffffff)
	op(jumpGreater, 1+n, 0, textPage&0xffffffff+textSize-1)
	op(load, 0, 0, offNumber)
	for i, c := range calls {
		op(jumpEqual, n-byte(i), 0, c)
	}
	op(ret, 0, 0, answerTrap)
	op(ret, 0, 0, answerAllow)
	return f
}
