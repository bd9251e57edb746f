//go:build linux && amd64

package main

import (
	"syscall"
)

// leave lets the programs run on without us and without a trace: every thread is
// stopped, and none is in the middle of a visit.
func (t *tracer) leave() error {
	spaces := map[*space]*task{}
	for _, k := range t.tasks {
		if k.exiting {
			continue
		}
		if err := k.regs.get(k.tid); gone(err) {
			continue
		} else if err != nil {
			return err
		}
		if err := t.outOfSlot(k); err != nil && !gone(err) {
			return err
		}
		if old := spaces[k.proc.space]; old == nil || old.group && !k.group {
			spaces[k.proc.space] = k
		}
	}
	for s, k := range spaces {
		if err := t.clear(s, k); err != nil && !gone(err) {
			return err
		}
	}
	for _, k := range t.tasks {
		if err := t.forget(k, k.sig); err != nil {
			return err
		}
	}
	return nil
}

// clear takes breakpoints and slots out of a space; k has it and is stopped.
func (t *tracer) clear(s *space, k *task) error {
	if err := s.restore(); err != nil {
		return err
	}
	if s.image == nil {
		return nil
	}
	var si siginfo
	if k.sig != 0 {
		if err := si.get(k.tid); err != nil {
			return err
		}
	}
	for _, o := range s.image.objects {
		if o.slots == nil {
			continue
		}
		if _, err := t.inject(k, sysMunmap, o.slots.addr, o.slots.size); err != nil {
			return err
		}
	}
	if k.sig != 0 {
		return si.set(k.tid) // the stop is another one now; the signal is the same
	}
	return nil
}

// forget detaches from one thread.
func (t *tracer) forget(k *task, sig int) error {
	err := request(syscall.PTRACE_DETACH, k.tid, 0, uintptr(sig))
	t.remove(k)
	if gone(err) {
		return nil
	}
	return err
}
