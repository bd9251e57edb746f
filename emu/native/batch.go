package native

// The runner of processors that a program cannot single-step: it executes a case
// from its first instruction until a trap or a fault. Code memory holds traps but
// for what the case may execute, so wherever control goes, it stops: the pc in the
// signal frame says where.
//
// As on x86 the program is a loop in a signal handler: the kernel stores a thread's
// state in a signal frame and loads it from there.

// system is what the runner needs to know of a kernel's interface.
type system struct {
	read, write, mmap, munmap, mprotect, sigaction, sigaltstack, prctl, exitGroup uint32

	context  int32  // where the machine context is in a ucontext
	words    int    // of a machine context that records have
	vectorVL uint64 // length of SVE vectors that is asked for, bytes; 0: not asked
}

// batchSignals are those that end a run.
var batchSignals = [...]uint64{sigILL, sigTRAP, sigBUS, sigFPE, sigSEGV, sigSYS}

// A record of a run: what the runner adds, then the machine context.
const (
	recSpecial = 8 * iota // what frames do not have
	recInfo0              // siginfo: signal, error; code; address
	recInfo1
	recInfo2
	recFrame // address of the machine context
	recFirst // changed lines: the first, their number
	recCount

	recContext = 64
)

// runner is the program in the making.
type runner struct {
	risc
	sys      *system
	emulated bool
}

// batchProgram assembles the program. An emulated one leaves other memory alone: it
// may be the emulator's.
func batchProgram(r risc, sys *system, emulated bool) ([]byte, error) {
	p := &runner{r, sys, emulated}
	p.start()
	p.handler()
	p.harvest()
	p.command()
	p.loadState()
	p.data()
	return r.common().link()
}

func (p *runner) label(name string) { p.common().label(name) }

// sysCall is a system call with constant arguments; a string is a label.
func (p *runner) sysCall(nr uint32, args ...any) {
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			p.setLabel(a0+vreg(i), v)
		case int:
			p.set(a0+vreg(i), uint64(v))
		case uint64:
			p.set(a0+vreg(i), v)
		}
	}
	p.call(nr)
}

// start makes the process what runs need, as on x86.
func (p *runner) start() {
	const rw, sharedFixed = 3, 0x11
	s := p.sys
	p.sysCall(s.mmap, uint64(sharedBase), sharedSize, rw, sharedFixed, sharedFile, 0)
	if !p.emulated {
		p.sysCall(s.munmap, 0, uint64(textPage))
		p.sysCall(s.munmap, uint64(textPage+textSize), uint64(sharedBase-textPage-textSize))
		p.sysCall(s.munmap, uint64(sharedBase+sharedSize), uint64(userEnd-sharedBase-sharedSize))
	}
	p.sysCall(s.sigaltstack, "altstack", 0)
	for _, n := range batchSignals {
		p.sysCall(s.sigaction, n, "action", 0, 8)
	}
	if s.vectorVL > 0 {
		const setVectorLength = 50
		p.sysCall(s.prctl, setVectorLength, s.vectorVL, 0, 0, 0)
	}
	p.trap()
}

// copyDwords copies n words of 8 bytes from s to d, which move on. It uses a0 and
// a1.
func (p *runner) copyDwords(d, s vreg, n int, name string) {
	p.set(a1, uint64(n)*8)
	p.add(a1, a1, s)
	p.label(name)
	p.load(a0, s, 0)
	p.store(d, 0, a0)
	p.addImm(s, s, 8)
	p.addImm(d, d, 8)
	p.branch(isNotEqual, s, a1, name)
}

// handler stores the end of the run. s0 is the control block, s1 the machine
// context, s2 the record.
func (p *runner) handler() {
	p.label("handler")
	p.set(s0, sharedBase+offCtrl)
	p.addImm(s1, a2, p.sys.context)
	p.load(s2, s0, ctlOut)
	p.special(s2, false)
	for i := range int32(3) {
		p.load(a0, a1, 8*i)
		p.store(s2, recInfo0+8*i, a0)
	}
	p.store(s2, recFrame, s1)
	p.addImm(s3, s2, recContext)
	p.addImm(s4, s1, 0)
	p.copyDwords(s3, s4, p.sys.words, "frame")
	p.load(a0, s0, ctlActive)
	p.set(a1, 0)
	p.branch(isEqual, a0, a1, "answer")
}

// harvest reports each line of the watched pages that differs from its base, and
// puts it back; then it goes on to the next run.
func (p *runner) harvest() {
	p.load(s3, s0, ctlLines)
	p.store(s2, recFirst, s3)
	p.load(s4, s0, ctlPages)
	p.set(s5, sharedBase+offPages)
	p.load(s9, s0, ctlLineAt) // where the next line goes
	p.label("page")
	p.set(a0, 0)
	p.branch(isEqual, s4, a0, "harvested")
	p.load(s6, s5, 8)  // live
	p.load(s7, s5, 16) // base
	p.load(s8, s5, 24)
	p.add(s8, s8, s6) // end of live
	p.label("line")
	p.set(a2, 0)
	for i := range int32(8) {
		p.load(a0, s6, 8*i)
		p.load(a1, s7, 8*i)
		p.xor(a0, a0, a1)
		p.or(a2, a2, a0)
	}
	p.set(a0, 0)
	p.branch(isEqual, a2, a0, "same")
	p.load(a0, s5, 8)
	p.sub(a0, s6, a0)
	p.load(a1, s5, 0)
	p.add(a0, a0, a1)
	p.store(s9, 0, a0)
	for i := range int32(8) {
		p.load(a0, s6, 8*i)
		p.load(a1, s7, 8*i)
		p.store(s9, 8+8*i, a0)
		p.store(s6, 8*i, a1)
	}
	p.addImm(s9, s9, lineEntry)
	p.addImm(s3, s3, 1)
	p.label("same")
	p.addImm(s6, s6, 64)
	p.addImm(s7, s7, 64)
	p.branch(isBelow, s6, s8, "line")
	p.addImm(s5, s5, pageEntry)
	p.addImm(s4, s4, -1)
	p.jump("page")

	p.label("harvested")
	p.load(a0, s0, ctlLines)
	p.sub(a0, s3, a0)
	p.store(s2, recCount, a0)
	p.store(s0, ctlLines, s3)
	p.store(s0, ctlLineAt, s9)
	p.load(a2, s0, ctlRecord)
	for _, at := range [2]int32{ctlIn, ctlOut} {
		p.load(a0, s0, at)
		p.add(a0, a0, a2)
		p.store(s0, at, a0)
	}
	p.load(a0, s0, ctlDone)
	p.addImm(a0, a0, 1)
	p.store(s0, ctlDone, a0)
	p.load(a1, s0, ctlRuns)
	p.branch(isBelow, a0, a1, "load")
	p.set(a0, 0)
	p.store(s0, ctlActive, a0)
}

// command answers the last command with a byte and waits for the next. The end of
// the pipe is the end of the program.
func (p *runner) command() {
	s := p.sys
	p.label("answer")
	p.sysCall(s.write, 1, "byte", 1)
	p.label("wait")
	p.set(a0, 0)
	p.set(a1, sharedBase+ctlOpcodes-8)
	p.set(a2, 1)
	p.call(s.read)
	p.set(a1, 0)
	p.branch(isEqual, a0, a1, "exit")
	p.set(a1, 1)
	p.branch(isNotEqual, a0, a1, "wait")
	p.load(a0, s0, ctlCommand)
	p.set(a1, commandRun)
	p.branch(isNotEqual, a0, a1, "call")
	p.set(a0, 1)
	p.store(s0, ctlActive, a0)
	p.changes()
	p.jump("load")

	p.label("call")
	for i := range vreg(6) {
		p.load(a0+i, s0, ctlArg0+8*int32(i))
	}
	p.load(s3, s0, ctlNumber)
	p.callReg(s3)
	p.store(s0, ctlResult, a0)
	p.jump("answer")

	p.label("exit")
	p.sysCall(s.exitGroup, 0)
}

// changes makes rewritten code known: each entry of the table at offTrace is a page,
// its size and protection, and the rewritten part. Processors look at caches, the
// emulator at what the kernel is asked to permit.
func (p *runner) changes() {
	const rwx = 7
	p.load(s4, s0, ctlChanges)
	p.set(s5, sharedBase+offTrace)
	p.label("change")
	p.set(a0, 0)
	p.branch(isEqual, s4, a0, "changed")
	p.load(a0, s5, 0)
	p.load(a1, s5, 8)
	p.set(a2, rwx)
	p.call(p.sys.mprotect)
	p.load(a0, s5, 0)
	p.load(a1, s5, 8)
	p.load(a2, s5, 16)
	p.call(p.sys.mprotect)
	p.load(s6, s5, 24)
	p.load(s7, s5, 32)
	p.label("flush")
	p.flush(s6)
	p.addImm(s6, s6, lineStep)
	p.branch(isBelow, s6, s7, "flush")
	p.addImm(s5, s5, changeEntry)
	p.addImm(s4, s4, -1)
	p.jump("change")
	p.label("changed")
}

// loadState writes the next state into the frame and returns to it.
func (p *runner) loadState() {
	p.label("load")
	p.load(s3, s0, ctlDone)
	p.shl(s3, s3, 2)
	p.set(s4, sharedBase+offFirst)
	p.add(s3, s3, s4)
	p.load32(s4, s3, 0) // first line
	p.load32(s5, s3, 4) // behind the last
	p.load(s6, s0, ctlInAt)
	p.label("input")
	p.branch(isNotBelow, s4, s5, "inputs")
	p.load(s7, s6, 0)
	for i := range int32(8) {
		p.load(a0, s6, 8+8*i)
		p.store(s7, 8*i, a0)
	}
	p.addImm(s6, s6, lineEntry)
	p.addImm(s4, s4, 1)
	p.jump("input")
	p.label("inputs")
	p.store(s0, ctlInAt, s6)

	p.load(s2, s0, ctlIn)
	p.addImm(s3, s2, recContext)
	p.addImm(s4, s1, 0)
	p.copyDwords(s4, s3, p.sys.words, "restore")
	p.special(s2, true)
	p.leave()
}

// data are the structures that the system calls read.
func (p *runner) data() {
	c := p.common()
	for len(c.b)%8 != 0 {
		c.raw(0)
	}
	c.label("byte")
	c.dword(0)
	c.label("altstack")
	c.dword(sharedBase + offAltStack)
	c.dword(0)
	c.dword(altStackSize)
	c.label("action")
	const info, onStack = 4, 0x08000000
	c.quad("handler")
	c.dword(info | onStack)
	c.dword(0)
	c.dword(^uint64(0))
}
