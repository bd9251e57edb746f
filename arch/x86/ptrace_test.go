//go:build linux && amd64

package x86_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/fixups/linux"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/reloc"
)

// What the kernel and the processor do with instructions of the system is decided
// by them: each site runs in a process of its own, once where it is and once by
// each of its plans, driven as docs/design.md asks of a consumer. Registers, pc, the
// signal and its code must be the same, in a child too.

// lives are where a mode's code lives.
type lives struct {
	arch             reloc.Arch
	cs               uint64
	site, near, far  uint64
	stack, stackSize uint64
	regs             *linux.Map
}

var live64 = lives{arch: x86.AMD64, cs: 0x33, site: 0x200000000000, near: 0x200000100000, far: 0x2a0000500000,
	stack: 0x200000200000, stackSize: 0x10000, regs: linux.AMD64UserRegs}

var live32 = lives{arch: x86.I386, cs: 0x23, site: 0x20000000, near: 0x20100000, far: 0x20300000,
	stack: 0x20200000, stackSize: 0x10000, regs: linux.I386UserRegs64}

// systemCase is a site and the registers that matter to it.
type systemCase struct {
	name, code string
	set        func(m *tracee, l *lives, r *syscall.PtraceRegs)
	// stepOnly: the program steps itself, and who has emulated an instruction must
	// trap for it; or a fault, of which an emulation only says where it would be.
	stepOnly bool
}

func rax(v uint64) func(*tracee, *lives, *syscall.PtraceRegs) {
	return func(_ *tracee, _ *lives, r *syscall.PtraceRegs) { r.Rax, r.Orig_rax = v, ^uint64(0) }
}

// top puts words on the stack.
func top(flags uint64, words ...uint64) func(*tracee, *lives, *syscall.PtraceRegs) {
	return func(m *tracee, l *lives, r *syscall.PtraceRegs) {
		for i, w := range words {
			if l.cs == 0x33 {
				m.poke(r.Rsp+8*uint64(i), le(w, 8))
			} else {
				m.poke(r.Rsp+4*uint64(i), le(w, 4))
			}
		}
		r.Eflags |= flags
	}
}

const (
	trapFlag   = 0x100
	overflow   = 0x800
	elsewhere  = 0x80 // behind the site, where other code of the program is
	cloneVM    = 0x100
	sigchld    = 17
	sysFork    = 57
	sysClone   = 56
	sysGetppid = 110
	sysReturn  = 15
	sys32Fork  = 2
	sys32Ppid  = 64
)

var systemCases64 = []systemCase{
	{name: "getppid", code: "0f05", set: rax(sysGetppid)},
	{name: "getppid, own TF", code: "0f05", stepOnly: true, set: func(m *tracee, l *lives, r *syscall.PtraceRegs) {
		r.Rax, r.Eflags = sysGetppid, r.Eflags|trapFlag
	}},
	{name: "getppid with prefixes", code: "662e0f05", set: rax(sysGetppid)},
	{name: "no such call", code: "0f05", set: rax(4095)},
	{name: "fork", code: "0f05", set: rax(sysFork)},
	{name: "clone", code: "0f05", set: func(m *tracee, l *lives, r *syscall.PtraceRegs) {
		r.Rax, r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8 = sysClone, cloneVM|sigchld, l.stack+0x1000, 0, 0, 0
	}},
	{name: "rt_sigreturn", code: "0f05", set: sigreturn},
	{name: "int 0x80", code: "cd80", set: rax(sys32Ppid)},
	{name: "int 0x80, fork", code: "cd80", set: rax(sys32Fork)},
	{name: "int 3", code: "cd03"},
	{name: "int 4", code: "cd04"},
	{name: "int 0x20", code: "cd20"},
	{name: "int3", code: "cc"},
	{name: "int1", code: "f1"},
	{name: "ud2", code: "0f0b"},
	{name: "ud1", code: "0fb90500100000"},
	{name: "ud0", code: "0fffc0"},
	{name: "hlt", code: "f4"},
	{name: "cli", code: "fa"},
	{name: "sti", code: "fb"},
	{name: "in", code: "e460"},
	{name: "out", code: "ee"},
	{name: "rep insb", code: "f36c"},
	{name: "wrmsr", code: "0f30"},
	{name: "mov cr3,rax", code: "0f22d8"},
	{name: "mov rax,dr7", code: "0f21f8"},
	{name: "lgdt [rsp]", code: "0f011424"},
	{name: "lidt [rip]", code: "0f011d00100000"},
	{name: "lmsw [rip]", code: "0f013500100000"},
	{name: "swapgs", code: "0f01f8"},
	{name: "sysret", code: "480f07"},
	{name: "sysexit", code: "0f35"},
	{name: "rsm", code: "0faa"},
	{name: "vmcall", code: "0f01c1"},
	{name: "vmrun", code: "0f01d8"},
	{name: "vmmcall", code: "0f01d9"},
	{name: "xsetbv", code: "0f01d1"},
	{name: "iretq", code: "48cf", set: iretFrame(0)},
	{name: "iretq, TF", code: "48cf", set: iretFrame(trapFlag)},
	{name: "iretq, bad cs", code: "48cf", set: top(0, 0, 1, 2, 3, 4)},
	{name: "popf", code: "9d", set: top(0, 0x246)},
	// All but the flag ID, which a tracer cannot set.
	{name: "popf, all", code: "9d", set: top(0, 0x1fffff&^trapFlag)},
	{name: "popf, TF", code: "9d", set: top(0, 0x346)},
	{name: "popf, own TF", stepOnly: true, code: "9d", set: top(trapFlag, 0x246)},
	{name: "popf, TF and own TF", stepOnly: true, code: "9d", set: top(trapFlag, 0x346)},
	{name: "popfw, TF", code: "669d", set: top(0, 0x346)},
	{name: "popf, no stack", stepOnly: true, code: "9d", set: func(m *tracee, l *lives, r *syscall.PtraceRegs) { r.Rsp = l.stack - 8 }},
	{name: "pushf", code: "9c"},
	{name: "pushf, own TF", stepOnly: true, code: "9c", set: top(trapFlag)},
	{name: "xtest", code: "0f01d6"},
	{name: "xend", code: "0f01d5"},
}

var systemCases32 = []systemCase{
	{name: "int 0x80", code: "cd80", set: rax(sys32Ppid)},
	{name: "int 0x80, fork", code: "cd80", set: rax(sys32Fork)},
	{name: "int 3", code: "cd03"},
	{name: "int3", code: "cc"},
	{name: "into, no overflow", code: "ce"},
	{name: "into", code: "ce", set: top(overflow)},
	{name: "int1", code: "f1"},
	{name: "ud2", code: "0f0b"},
	{name: "hlt", code: "f4"},
	{name: "cli", code: "fa"},
	{name: "in", code: "e460"},
	{name: "mov cr0,eax", code: "0f22c0"},
	{name: "sysexit", code: "0f35"},
	{name: "iret", code: "cf", set: func(m *tracee, l *lives, r *syscall.PtraceRegs) { top(0, l.site+elsewhere, l.cs, 0x346)(m, l, r) }},
	{name: "popf", code: "9d", set: top(0, 0x246)},
	{name: "popf, TF", code: "9d", set: top(0, 0x346)},
	{name: "pushf", code: "9c"},
}

func iretFrame(flags uint64) func(*tracee, *lives, *syscall.PtraceRegs) {
	return func(m *tracee, l *lives, r *syscall.PtraceRegs) {
		top(0, l.site+elsewhere, l.cs, 0x246|flags, l.stack+0x2000, r.Ss)(m, l, r)
	}
}

// sigreturn puts a signal frame on the stack, which continues elsewhere (Linux,
// struct ucontext and struct sigcontext of x86-64).
func sigreturn(m *tracee, l *lives, r *syscall.PtraceRegs) {
	var words [48]uint64
	const sigcontext = 5 // in words: flags, link, stack
	for i := range 16 {
		words[sigcontext+i] = 0x1000 + uint64(i)
	}
	words[sigcontext+15] = l.stack + 0x3000
	words[sigcontext+16] = l.site + elsewhere
	words[sigcontext+17] = 0x246
	words[sigcontext+18] = l.cs | 0x2b<<48
	for i, w := range words {
		m.poke(r.Rsp+8*uint64(i), le(w, 8))
	}
	rax(sysReturn)(m, l, r)
}

func TestSystemOnLinux(t *testing.T) {
	if testing.Short() {
		t.Skip("traces processes, not in short mode")
	}
	for _, mode := range []struct {
		l     *lives
		cases []systemCase
	}{{&live64, systemCases64}, {&live32, systemCases32}} {
		name := mode.l.arch.Info().Name
		for _, c := range mode.cases {
			t.Run(name+"/"+c.name, func(t *testing.T) { c.run(t, mode.l) })
		}
	}
}

// systemEnvs are the plans that are tried.
var systemEnvs = []reloc.Env{
	{Forms: fixups.FormEmulate.Bit()},
	{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsNear},
	{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsFar},
	{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsFar, Spill: true},
	{Forms: fixups.FormStep.Bit(), Slots: reloc.SlotsNear},
	{Forms: fixups.FormStep.Bit(), Slots: reloc.SlotsFar},
	{Forms: fixups.FormStep.Bit(), Slots: reloc.SlotsNear, Stop: fixups.StopTrap},
}

// run compares a site with its plans.
func (c *systemCase) run(t *testing.T, l *lives) {
	code, err := hex.DecodeString(c.code)
	if err != nil {
		t.Fatal(err)
	}
	want := inTracee(t, l, code, c, func(m *tracee, r *syscall.PtraceRegs) outcome {
		r.Rip = l.site
		return m.cont(r)
	})
	if want.sig == 0 {
		t.Fatalf("the site alone: %+v", want)
	}
	plans := 0
	for _, env := range systemEnvs {
		var p reloc.Plan
		if c.stepOnly && env.Forms.Has(fixups.FormEmulate) || c.stepOnly && env.Forms.Has(fixups.FormJump) || reloc.Relocate(&p, l.arch, code, l.site, &env) != nil {
			continue
		}
		plans++
		at := fixups.Bases{Site: l.site, Slot: l.near}
		if env.Slots == reloc.SlotsFar {
			at.Slot = l.far
		}
		got := inTracee(t, l, code, c, func(m *tracee, r *syscall.PtraceRegs) outcome { return m.visit(&p, &at, r) })
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v, stop %v, slot %#x:\n got %+v\nwant %+v", p.Form, p.Stop, at.Slot, got, want)
		}
	}
	if plans == 0 {
		t.Error("no plans")
	}
}

// outcome is how a visit ends: by the signal that stops the program, with its code
// and the registers it is delivered with, and those of a child at its end.
type outcome struct {
	sig   syscall.Signal
	code  int32
	regs  syscall.PtraceRegs
	stack uint64 // the word at the top
	child *syscall.PtraceRegs
}

// tracee is a process of which nothing is used but what is put into it.
type tracee struct {
	t     *testing.T
	l     *lives
	pid   int
	mem   *os.File
	file  linux.File
	kids  []int
	child *syscall.PtraceRegs
}

// inTracee starts a process, puts the site into it, and lets do run it.
func inTracee(t *testing.T, l *lives, code []byte, c *systemCase, do func(*tracee, *syscall.PtraceRegs) outcome) outcome {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m := startTracee(t, l)
	defer m.kill()
	for _, a := range []uint64{l.site, l.near, l.far} {
		m.fill(a, 0xcc)
	}
	m.poke(l.site, append(append([]byte(nil), code...), 0x90, 0x90, 0x90))
	m.poke(l.site+elsewhere, []byte{0x90, 0x90, 0x90})
	r := m.regs()
	rnd := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	for _, p := range []*uint64{&r.Rax, &r.Rbx, &r.Rcx, &r.Rdx, &r.Rsi, &r.Rdi, &r.Rbp, &r.R8, &r.R9, &r.R10, &r.R11, &r.R12, &r.R13, &r.R14, &r.R15} {
		*p = rnd.Uint64()
		if l.cs == 0x23 {
			*p &= 1<<32 - 1
		}
	}
	r.Rsp, r.Cs, r.Eflags, r.Orig_rax = l.stack+l.stackSize/2, l.cs, 0x202, ^uint64(0)
	if l.cs == 0x23 {
		r.Ds, r.Es, r.Ss = 0x2b, 0x2b, 0x2b
	}
	if c.set != nil {
		c.set(m, l, &r)
	}
	o := do(m, &r)
	o.child = m.child
	if len(m.kids) > 0 && o.regs.Rax == uint64(m.kids[0]) {
		o.regs.Rax = 1 // not the number, but that it is one
	}
	o.regs.Orig_rax = 0 // how the kernel was entered last
	if o.regs.Rip-l.near < 4096 || o.regs.Rip-l.far < 4096 {
		t.Errorf("pc is %#x, in the slot", o.regs.Rip)
	}
	var word [8]byte
	if m.file.Load(o.regs.Rsp, word[:]) {
		o.stack = uint64(word[0]) | uint64(word[1])<<8
	}
	return o
}

// visit drives a plan.
func (m *tracee) visit(p *reloc.Plan, at *fixups.Bases, r *syscall.PtraceRegs) outcome {
	if p.Form == fixups.FormEmulate {
		m.program(p.Emulate, at, new(fixups.Temps), r)
		return m.cont(r)
	}
	code := make([]byte, len(p.Code))
	if _, err := fixups.Place(code[:0], p, *at); err != nil {
		m.t.Fatal(err)
	}
	m.poke(at.Slot, code)
	if p.Form == fixups.FormJump {
		r.Rip = at.Slot
		o := m.cont(r)
		if res, ok := reloc.Resume(p, o.regs.Rip, at.Slot, reloc.Fault); ok {
			m.program(res.Program, at, new(fixups.Temps), &o.regs)
		}
		return o
	}
	var temps fixups.Temps
	m.program(p.Pre, at, &temps, r)
	r.Rip = at.Slot
	own := r.Eflags&trapFlag != 0
	const trapTrace, trapBrkpt = 2, 1
	var o outcome
	stopped := false
	if p.Stop == fixups.StopTrap {
		o = m.cont(r)
		stopped = o.sig == syscall.SIGTRAP && o.regs.Rip-at.Slot-uint64(p.CopyLen) <= 1
	} else {
		o = m.step(r)
		stopped = o.sig == syscall.SIGTRAP && (o.code == trapTrace || o.code == trapBrkpt || o.code == int32(syscall.SIGTRAP))
	}
	if p.Stop == fixups.StopTrap && m.child != nil { // it has met the trap as well
		m.program(p.Post, at, new(fixups.Temps), m.child)
		m.setRegs(m.kids[0], m.child)
		m.contChild(m.kids[0])
	}
	if !stopped {
		m.program(p.Abort, at, &temps, &o.regs)
		return o
	}
	m.program(p.Post, at, &temps, &o.regs)
	if own && o.code == trapTrace { // the program's own step ends here too
		return o
	}
	return m.cont(&o.regs)
}

func (m *tracee) program(p fixups.Program, at *fixups.Bases, temps *fixups.Temps, r *syscall.PtraceRegs) {
	buf := (*[unsafe.Sizeof(*r)]byte)(unsafe.Pointer(r))[:]
	w := linux.Machine{Parts: []linux.Part{{Map: m.l.regs, Buf: buf}}, Mem: &m.file}
	if err := fixups.Run(p, &w, at, temps, m.l.arch.Info().Bits); err != nil {
		m.t.Fatal(err)
	}
}

func startTracee(t *testing.T, l *lives) *tracee {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.StartProcess(exe, []string{exe, "-test.run=^$"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		t.Skipf("no ptrace: %v", err)
	}
	m := &tracee{t: t, l: l, pid: p.Pid}
	m.wait(p.Pid)
	const exitKill = 0x100000
	if err := syscall.PtraceSetOptions(p.Pid, exitKill|syscall.PTRACE_O_TRACEFORK|syscall.PTRACE_O_TRACECLONE|syscall.PTRACE_O_TRACEVFORK); err != nil {
		t.Fatal(err)
	}
	m.mem, err = os.OpenFile(filepath.Join("/proc", fmt.Sprint(p.Pid), "mem"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	m.file = linux.File{R: m.mem, W: m.mem}
	for _, a := range []uint64{l.site, l.near, l.far, l.stack} {
		m.mmap(a, l.stackSize)
	}
	return m
}

// mmap makes the process map memory at addr that may be read, written and executed.
func (m *tracee) mmap(addr, size uint64) {
	r := m.regs()
	m.poke(r.Rip, []byte{0x0f, 0x05, 0xcc})
	q := r
	const private, fixed, anonymous = 2, 0x10, 0x20
	q.Rax, q.Rdi, q.Rsi, q.Rdx, q.R10, q.R8, q.R9 = 9, addr, size, 7, private|fixed|anonymous, ^uint64(0), 0
	q.Orig_rax = ^uint64(0)
	if o := m.cont(&q); o.regs.Rax != addr {
		m.t.Fatalf("mmap of %#x: %#x", addr, o.regs.Rax)
	}
	m.setRegs(m.pid, &r)
}

func (m *tracee) kill() {
	m.mem.Close()
	for _, pid := range append(m.kids, m.pid) {
		syscall.Kill(pid, syscall.SIGKILL)
		var ws syscall.WaitStatus
		syscall.Wait4(pid, &ws, syscall.WALL, nil)
	}
}

func (m *tracee) regs() syscall.PtraceRegs { return m.regsOf(m.pid) }

// regsOf reads the registers of a process. While it runs 32-bit code the kernel
// answers in the structure of that mode, and wants to be answered in it.
func (m *tracee) regsOf(pid int) (r syscall.PtraceRegs) {
	var buf [unsafe.Sizeof(r)]byte
	if n := m.regset(syscall.PTRACE_GETREGSET, pid, buf[:]); n == len(buf) {
		return *(*syscall.PtraceRegs)(unsafe.Pointer(&buf))
	}
	w := (*[17]uint32)(unsafe.Pointer(&buf))
	for i, p := range fields32(&r) {
		*p = uint64(w[i])
	}
	return r
}

func (m *tracee) setRegs(pid int, r *syscall.PtraceRegs) {
	var buf [unsafe.Sizeof(*r)]byte
	if n := m.regset(syscall.PTRACE_GETREGSET, pid, buf[:]); n == len(buf) {
		*(*syscall.PtraceRegs)(unsafe.Pointer(&buf)) = *r
		m.regset(syscall.PTRACE_SETREGSET, pid, buf[:])
		return
	}
	w := (*[17]uint32)(unsafe.Pointer(&buf))
	for i, p := range fields32(r) {
		w[i] = uint32(*p)
	}
	m.regset(syscall.PTRACE_SETREGSET, pid, buf[:4*len(w)])
}

// fields32 are the members of the structure of 32-bit mode (Linux, struct
// user_regs_struct).
func fields32(r *syscall.PtraceRegs) [17]*uint64 {
	return [17]*uint64{&r.Rbx, &r.Rcx, &r.Rdx, &r.Rsi, &r.Rdi, &r.Rbp, &r.Rax, &r.Ds, &r.Es, &r.Fs, &r.Gs,
		&r.Orig_rax, &r.Rip, &r.Cs, &r.Eflags, &r.Rsp, &r.Ss}
}

// regset reads or writes the general registers and returns their size in bytes.
func (m *tracee) regset(request, pid int, buf []byte) int {
	const general = 1 // NT_PRSTATUS
	v := syscall.Iovec{Base: &buf[0], Len: uint64(len(buf))}
	if _, _, e := syscall.Syscall6(syscall.SYS_PTRACE, uintptr(request), uintptr(pid), general, uintptr(unsafe.Pointer(&v)), 0, 0); e != 0 {
		m.t.Fatal(e)
	}
	return int(v.Len)
}

func (m *tracee) poke(addr uint64, b []byte) {
	if _, err := m.mem.WriteAt(b, int64(addr)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *tracee) fill(addr uint64, v byte) {
	b := make([]byte, 4096)
	for i := range b {
		b[i] = v
	}
	m.poke(addr, b)
}

func (m *tracee) cont(r *syscall.PtraceRegs) outcome {
	return m.resume(r, func() error { return syscall.PtraceCont(m.pid, 0) })
}

func (m *tracee) step(r *syscall.PtraceRegs) outcome {
	return m.resume(r, func() error { return syscall.PtraceSingleStep(m.pid) })
}

// resume lets the process go on until a signal stops it. A child that is made on
// the way runs to its own stop.
func (m *tracee) resume(r *syscall.PtraceRegs, run func() error) outcome {
	m.setRegs(m.pid, r)
	for {
		if err := run(); err != nil {
			m.t.Fatal(err)
		}
		ws := m.wait(m.pid)
		if ws.StopSignal() == syscall.SIGTRAP && ws.TrapCause() > 0 {
			m.follow()
			continue
		}
		o := outcome{sig: ws.StopSignal(), regs: m.regs()}
		var info [128]byte
		const getSigInfo = 0x4202
		if _, _, e := syscall.Syscall6(syscall.SYS_PTRACE, getSigInfo, uintptr(m.pid), 0, uintptr(unsafe.Pointer(&info)), 0, 0); e != 0 {
			m.t.Fatal(e)
		}
		o.code = int32(uint32(info[8]) | uint32(info[9])<<8 | uint32(info[10])<<16 | uint32(info[11])<<24)
		return o
	}
}

// follow lets the new child run, without steps, to the trap that ends its way.
func (m *tracee) follow() {
	msg, err := syscall.PtraceGetEventMsg(m.pid)
	if err != nil {
		m.t.Fatal(err)
	}
	child := int(msg)
	m.wait(child)
	m.kids = append(m.kids, child) // lives on, for its death would be a signal
	m.contChild(child)
}

func (m *tracee) contChild(pid int) {
	if err := syscall.PtraceCont(pid, 0); err != nil {
		m.t.Fatal(err)
	}
	m.wait(pid)
	r := m.regsOf(pid)
	r.Orig_rax = 0
	m.child = &r
}

func (m *tracee) wait(pid int) (ws syscall.WaitStatus) {
	for {
		_, err := syscall.Wait4(pid, &ws, syscall.WALL, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || !ws.Stopped() {
			m.t.Fatalf("process %d: %#x, %v", pid, uint32(ws), err)
		}
		return ws
	}
}

func le(v uint64, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
	return b
}
