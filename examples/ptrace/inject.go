//go:build linux && amd64

package main

import (
	"fmt"
	"syscall"
)

// System calls that are made in the traced process.
const (
	sysMmap   = 9
	sysMunmap = 11
)

// inject lets a stopped thread make a system call and puts everything back. The
// instruction for it is written over the program's entry point for that moment:
// nobody executes there any more (or yet). A system call in which the thread was
// interrupted is restarted afterwards all the same, because the kernel decides
// that by the registers that are there when the thread goes on.
//
// All signals but SIGTRAP are blocked meanwhile; what arrives stays with the
// kernel. The thread must be in a stop from which it returns to user code.
func (t *tracer) inject(k *task, nr uint64, args ...uint64) (result uint64, err error) {
	at := k.proc.space.image.entry
	var saved, r regs
	var mask uint64
	if err := saved.get(k.tid); err != nil {
		return 0, err
	}
	if err := sigmask(ptraceGetSigmask, k.tid, &mask); err != nil {
		return 0, err
	}
	code, err := k.proc.space.swap(at, []byte{0x0f, 0x05})
	if err != nil {
		return 0, err
	}
	r = saved
	r.Rip, r.Rax, r.Orig_rax = at, nr, ^uint64(0)
	for i, p := range []*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8, &r.R9}[:len(args)] {
		*p = args[i]
	}
	err = t.callOnce(k, &r)
	// Whatever happened, everything is put back.
	_, werr := k.proc.space.swap(at, code)
	rerr := saved.set(k.tid)
	merr := sigmask(ptraceSetSigmask, k.tid, &mask)
	return r.Rax, firstError(err, werr, rerr, merr)
}

// callOnce lets k take one step with registers r, with signals blocked, and reads
// them back.
func (t *tracer) callOnce(k *task, r *regs) error {
	all := ^uint64(1 << (syscall.SIGTRAP - 1))
	if err := sigmask(ptraceSetSigmask, k.tid, &all); err != nil {
		return err
	}
	if err := r.set(k.tid); err != nil {
		return err
	}
	if err := t.stepOnce(k); err != nil {
		return err
	}
	return r.get(k.tid)
}

// stepOnce steps k alone and waits for it: all else that happens meanwhile stays
// with the kernel until somebody asks.
func (t *tracer) stepOnce(k *task) error {
	for {
		if err := request(syscall.PTRACE_SINGLESTEP, k.tid, 0, 0); err != nil {
			return err
		}
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(k.tid, &status, wallFlag, nil); err != nil {
			return err
		}
		if !status.Stopped() {
			t.report(k.tid, status)
			return fmt.Errorf("thread %d ended during a system call of ours", k.tid)
		}
		if status.StopSignal() == syscall.SIGTRAP && status>>16 == 0 {
			return nil
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
