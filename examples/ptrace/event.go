//go:build linux && amd64

package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// stopped answers one ptrace stop.
func (t *tracer) stopped(k *task, status syscall.WaitStatus) error {
	t.count.stops++
	event := int(uint32(status) >> 16)
	fresh := k.fresh
	k.fresh = false
	switch event {
	case 0:
		if status.StopSignal() == syscall.SIGTRAP {
			return t.trapped(k)
		}
		return t.signalled(k, status.StopSignal())
	case eventStop:
		if fresh && t.cfg.leave && k.proc.space.users == 1 && k.tid == k.proc.pid {
			return t.letGo(k)
		}
		return t.eventStop(k, status.StopSignal())
	case syscall.PTRACE_EVENT_CLONE, syscall.PTRACE_EVENT_FORK, syscall.PTRACE_EVENT_VFORK:
		return t.born(k, event)
	case syscall.PTRACE_EVENT_VFORK_DONE:
		k.vfork = false
		return t.passOn(k)
	case syscall.PTRACE_EVENT_EXEC:
		return t.execed(k)
	case syscall.PTRACE_EVENT_EXIT:
		k.exiting, k.step = true, nil
		return t.release(k, 0)
	}
	return fmt.Errorf("stop %#x that was not asked for", uint32(status))
}

// eventStop handles stops without a signal: the first of a new thread, those of
// PTRACE_INTERRUPT, and group-stops.
func (t *tracer) eventStop(k *task, sig syscall.Signal) error {
	group := sig != syscall.SIGTRAP
	switch {
	case t.then == nil && group:
		return request(ptraceListen, k.tid, 0, 0)
	case t.then == nil:
		return t.resume(k, 0)
	case trapPending(k.tid):
		// A breakpoint or a finished step, not yet reported. It will be next, and
		// another interrupt would only come before it again.
		return t.release(k, 0)
	case k.step != nil: // the copy has not run
		if err := t.takeBack(k); err != nil {
			return err
		}
	}
	k.held, k.sig, k.group = true, 0, group
	return nil
}

func eventMessage(tid int) (int, error) {
	var msg uint64
	err := request(syscall.PTRACE_GETEVENTMSG, tid, 0, uintptr(unsafe.Pointer(&msg)))
	return int(msg), err
}

// Flags of clone(2).
const (
	cloneVM     = 0x100
	cloneThread = 0x10000
)

// born takes in a new thread or process.
func (t *tracer) born(k *task, event int) error {
	child, err := eventMessage(k.tid)
	if err != nil {
		return err
	}
	if err := k.regs.get(k.tid); err != nil {
		return err
	}
	flags := cloneFlags(k)
	p, s := k.proc, k.proc.space
	switch {
	case flags&cloneThread != 0:
	case flags&cloneVM != 0:
		s.users++
		p = t.addProcess(child, s)
	default:
		if s, err = s.fork(child); err != nil {
			if os.IsNotExist(err) { // killed already
				return t.passOn(k)
			}
			return err
		}
		p = t.addProcess(child, s)
	}
	k.vfork = event == syscall.PTRACE_EVENT_VFORK
	t.add(child, p)
	t.count.children++
	err = t.passOn(k)
	if e, ok := t.early[child]; ok {
		delete(t.early, child)
		t.report(child, e.status)
	}
	return err
}

// cloneFlags are the flags of the system call that k is in.
func cloneFlags(k *task) uint64 {
	switch k.regs.Orig_rax {
	case 56: // clone
		return k.regs.Rdi
	case 58: // vfork
		return cloneVM
	case 435: // clone3: the first member of its argument
		var b [8]byte
		if k.machine.Mem.Load(k.regs.Rdi, b[:]) {
			return binary.LittleEndian.Uint64(b[:])
		}
	}
	return 0 // fork
}

// letGo releases the child of a fork at its first stop. It has the breakpoints and
// slots of its parent, and begins behind the copy of a system call if that was
// stepped.
func (t *tracer) letGo(k *task) error {
	if err := k.regs.get(k.tid); err != nil {
		return err
	}
	if err := t.outOfSlot(k); err != nil {
		return err
	}
	if err := t.clear(k.proc.space, k); err != nil {
		return err
	}
	return t.forget(k, 0)
}

// execed handles a new program: nothing of the old one is left, its other threads
// included, and the thread that made the call has the id of the process.
func (t *tracer) execed(k *task) error {
	old, err := eventMessage(k.tid)
	if err != nil {
		return err
	}
	p := k.proc
	if old != k.tid { // the leader's place was taken
		if e := t.tasks[old]; e != nil {
			t.remove(k)
			delete(t.tasks, old)
			e.tid = k.tid
			e.machine.Mem = memory(e.tid)
			e.late.Memory = e.machine.Mem
			t.tasks[e.tid], k = e, e
		}
	}
	k.step, k.swallow, k.vfork = nil, false, false
	p.space.release()
	if p.space, err = openSpace(p.pid); err != nil {
		return err
	}
	first := p.pid == t.child && t.count.execs == 0
	if first { // what came before was our launcher
		t.count.stops, t.count.signals, t.count.children = 0, 0, 0
	}
	t.count.execs++
	if !first && !t.cfg.exec {
		return t.forget(k, 0)
	}
	if err := t.boot(k, first); err != nil {
		return err
	}
	return t.passOn(k)
}

// boot puts a breakpoint at the entry of a new program. When it is reached, the
// libraries are there.
func (t *tracer) boot(k *task, must bool) error {
	s := k.proc.space
	image, err := loadImage(k.tid)
	if err != nil {
		if must {
			return err
		}
		return nil // not a program that can be probed: it runs as it is
	}
	b, err := s.swap(image.entry, []byte{int3})
	if err != nil {
		return err
	}
	s.image, s.first = image, b[0]
	return nil
}

// setUp plans and arms what was asked for. k is stopped, and all others that have
// its memory are, or are not where a breakpoint will be.
func (t *tracer) setUp(k *task, must bool) error {
	s := k.proc.space
	image, err := loadImage(k.tid)
	if err != nil {
		return err
	}
	s.image, s.booted = image, true
	t.images = append(t.images, image)
	if err := image.choose(t.cfg); err != nil && must {
		return err
	}
	for _, o := range image.objects {
		if o.skip != "" {
			t.count.skipped = append(t.count.skipped, o.path+": "+o.skip)
		}
		if len(o.funcs) == 0 {
			continue
		}
		if err := t.reserve(k, o); err != nil {
			return err
		}
		t.count.objects++
		if err := t.armObject(s, o); err != nil {
			return err
		}
	}
	return nil
}

func (t *tracer) armObject(s *space, o *object) error {
	var entries []*probe
	for _, fn := range o.funcs {
		if fn.named {
			if err := t.armFunction(s, fn); err != nil {
				return err
			}
			continue
		}
		if t.watch(s.image, fn); fn.entry != nil {
			entries = append(entries, fn.entry)
		}
	}
	return t.arm(s, entries)
}

// armFunction puts a probe on every instruction of fn.
func (t *tracer) armFunction(s *space, fn *function) error {
	s.full[fn] = true
	if err := t.fill(s.image, fn); err != nil {
		return err
	}
	return t.arm(s, fn.full)
}

// signalled handles a signal that is about to be delivered, sent or caused by the
// thread itself. A visit that is under way is brought to an end first: the program
// sees its signal at the site, or behind it.
func (t *tracer) signalled(k *task, sig syscall.Signal) error {
	var si siginfo
	if err := si.get(k.tid); err != nil {
		return err
	}
	t.count.signals++
	if err := k.regs.get(k.tid); err != nil {
		return err
	}
	p := k.step
	if p == nil {
		if err := t.outOfSlot(k); err != nil {
			return err
		}
		return t.resume(k, int(sig))
	}
	if trapPending(k.tid) { // the copy has run; what it caused comes before its trap
		k.swallow = true
		if err := t.finish(k); err != nil {
			return err
		}
	} else if err := t.takeBack(k); err != nil {
		return err
	}
	if err := t.relabel(k, &si, p); err != nil {
		return err
	}
	return t.resume(k, int(sig))
}

// relabel replaces an address in the slot by that in the site where a siginfo
// names the instruction: illegal instructions, arithmetic, seccomp.
func (t *tracer) relabel(k *task, si *siginfo, p *probe) error {
	if si.code() <= 0 {
		return nil // somebody sent it
	}
	switch si.signal() {
	case syscall.SIGSEGV, syscall.SIGBUS: // the address is one of data
		t.count.faults++
		return nil
	case syscall.SIGILL, syscall.SIGFPE, syscall.SIGSYS:
		t.count.faults++
	default:
		return nil
	}
	if d := si.addr() - p.slot; d <= uint64(len(p.code)) {
		si.setAddr(p.addr + d)
		return si.set(k.tid)
	}
	return nil
}
