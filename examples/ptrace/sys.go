//go:build linux && amd64

package main

import (
	"encoding/binary"
	"errors"
	"syscall"
	"unsafe"

	"github.com/xol-go/xol/fixups/linux"
)

// Requests, options and events of ptrace that package syscall lacks (ptrace(2)).
const (
	ptraceGetSiginfo  = 0x4202
	ptraceSetSiginfo  = 0x4203
	ptraceSeize       = 0x4206
	ptraceInterrupt   = 0x4207
	ptraceListen      = 0x4208
	ptracePeekSiginfo = 0x4209
	ptraceGetSigmask  = 0x420a
	ptraceSetSigmask  = 0x420b

	optExitKill = 1 << 20
	options     = syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACEFORK | syscall.PTRACE_O_TRACEVFORK |
		syscall.PTRACE_O_TRACEEXEC | syscall.PTRACE_O_TRACEVFORKDONE | syscall.PTRACE_O_TRACEEXIT

	eventStop = 128
	wallFlag  = 0x40000000 // __WALL: threads too, not only processes
)

// Codes in a siginfo (sigaction(2)): who sent a SIGTRAP.
const (
	siKernel  = 0x80 // int3
	trapBrkpt = 1    // a stepped system call
	trapTrace = 2    // any other single-step
)

const (
	trapFlag = 1 << 8 // TF of rflags
	int3     = 0xcc
)

// request makes a ptrace call. Only the thread that traces may do so.
func request(req, tid int, addr, data uintptr) error {
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PTRACE, uintptr(req), uintptr(tid), addr, data, 0, 0); e != 0 {
		return e
	}
	return nil
}

// gone reports whether a call failed because the thread is not stopped any more:
// somebody has killed it, and its end will be reported.
func gone(err error) bool { return errors.Is(err, syscall.ESRCH) }

// regs are the registers of a thread as struct user_regs_struct has them: fields
// for the runner, bytes for the fixup programs.
type regs struct{ syscall.PtraceRegs }

func (r *regs) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&r.PtraceRegs)), unsafe.Sizeof(r.PtraceRegs))
}

func (r *regs) get(tid int) error {
	return request(syscall.PTRACE_GETREGS, tid, 0, uintptr(unsafe.Pointer(&r.PtraceRegs)))
}

func (r *regs) set(tid int) error {
	return request(syscall.PTRACE_SETREGS, tid, 0, uintptr(unsafe.Pointer(&r.PtraceRegs)))
}

// siginfo is a siginfo_t.
type siginfo [128]byte

func (s *siginfo) signal() syscall.Signal {
	return syscall.Signal(int32(binary.LittleEndian.Uint32(s[0:])))
}
func (s *siginfo) code() int32      { return int32(binary.LittleEndian.Uint32(s[8:])) }
func (s *siginfo) addr() uint64     { return binary.LittleEndian.Uint64(s[16:]) }
func (s *siginfo) setAddr(a uint64) { binary.LittleEndian.PutUint64(s[16:], a) }

func (s *siginfo) get(tid int) error {
	return request(ptraceGetSiginfo, tid, 0, uintptr(unsafe.Pointer(s)))
}

func (s *siginfo) set(tid int) error {
	return request(ptraceSetSiginfo, tid, 0, uintptr(unsafe.Pointer(s)))
}

// segv makes s the signal of a failed access to mapped or unmapped memory.
func (s *siginfo) segv(addr uint64) {
	*s = siginfo{}
	binary.LittleEndian.PutUint32(s[0:], uint32(syscall.SIGSEGV))
	binary.LittleEndian.PutUint32(s[8:], 1) // SEGV_MAPERR
	s.setAddr(addr)
}

// protection makes s the signal of what the processor refuses without naming an
// address.
func (s *siginfo) protection() {
	s.segv(0)
	binary.LittleEndian.PutUint32(s[8:], siKernel)
}

// trap makes s the signal of a single-step that ended at addr.
func (s *siginfo) trap(addr uint64) {
	*s = siginfo{}
	binary.LittleEndian.PutUint32(s[0:], uint32(syscall.SIGTRAP))
	binary.LittleEndian.PutUint32(s[8:], trapTrace)
	s.setAddr(addr)
}

// trapPending reports whether the kernel has a SIGTRAP for the thread that has
// not been reported yet: from one of our breakpoints, or from a step that is done.
func trapPending(tid int) bool {
	var list [8]siginfo
	args := struct {
		off   uint64
		flags uint32
		n     int32
	}{n: int32(len(list))}
	n, _, e := syscall.RawSyscall6(syscall.SYS_PTRACE, ptracePeekSiginfo, uintptr(tid), uintptr(unsafe.Pointer(&args)),
		uintptr(unsafe.Pointer(&list)), 0, 0)
	if e != 0 {
		return false
	}
	for i := range list[:n] {
		if list[i].signal() == syscall.SIGTRAP && list[i].code() > 0 {
			return true
		}
	}
	return false
}

// sigmask reads or writes the signal mask of a stopped thread.
func sigmask(req, tid int, mask *uint64) error {
	return request(req, tid, 8, uintptr(unsafe.Pointer(mask)))
}

type iovec struct {
	base unsafe.Pointer
	n    uint64
}

// access reads or writes the memory of a process as the process itself could:
// process_vm_readv and process_vm_writev obey the protection of pages, which
// /proc/PID/mem does not. A push below the mapped stack fails here and not in the
// thread, whose stack grows; the runner steps then.
func access(nr uintptr, tid int, addr uint64, b []byte) bool {
	local := iovec{unsafe.Pointer(&b[0]), uint64(len(b))}
	remote := struct{ base, n uint64 }{addr, uint64(len(b))}
	n, _, e := syscall.RawSyscall6(nr, uintptr(tid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	return e == 0 && int(n) == len(b)
}

const (
	sysReadv  = 310 // process_vm_readv
	sysWritev = 311
)

// memory is the memory of a thread for fixup programs. A store that crosses into
// a page that is not writable must change nothing: one that touches two pages
// tries the second one first, with what is there already.
func memory(tid int) linux.Memory {
	return linux.Funcs{
		LoadFunc: func(addr uint64, b []byte) bool { return access(sysReadv, tid, addr, b) },
		StoreFunc: func(addr uint64, b []byte) bool {
			if last := addr + uint64(len(b)) - 1; last&^0xfff != addr&^0xfff {
				var old [1]byte
				if !access(sysReadv, tid, last, old[:]) || !access(sysWritev, tid, last, old[:]) {
					return false
				}
			}
			return access(sysWritev, tid, addr, b)
		},
	}
}
