//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/fixups/linux"
	"github.com/xol-go/xol/reloc"
)

// maxChain is how many probes are emulated in a row before the thread is let run:
// a signal must not wait for ever.
const maxChain = 256

// trapped handles SIGTRAP: a breakpoint of ours, the end of a step of ours, or
// something of the program's own.
func (t *tracer) trapped(k *task) error {
	var si siginfo
	if err := si.get(k.tid); err != nil {
		return err
	}
	if err := k.regs.get(k.tid); err != nil {
		return err
	}
	stepped := si.code() == trapTrace || si.code() == trapBrkpt
	s := k.proc.space
	switch {
	case k.step != nil && stepped:
		return t.stepped(k, &si)
	case k.swallow && stepped:
		k.swallow = false
		return t.resume(k, 0)
	case si.code() != siKernel || s.image == nil:
	case !s.booted && k.regs.Rip-1 == s.image.entry:
		return t.arrived(k)
	case s.booted && s.image.probes[k.regs.Rip-1] != nil:
		k.regs.Rip--
		return t.visit(k)
	}
	return t.signalled(k, syscall.SIGTRAP)
}

// arrived is the first thing that a program does: its libraries are loaded.
func (t *tracer) arrived(k *task) error {
	s := k.proc.space
	if _, err := s.swap(s.image.entry, []byte{s.first}); err != nil {
		return err
	}
	k.regs.Rip--
	if err := k.regs.set(k.tid); err != nil {
		return err
	}
	if err := t.setUp(k, k.proc.pid == t.child && t.count.execs == 1); err != nil {
		return err
	}
	return t.visit(k)
}

// visit takes a stopped thread, whose registers have been read, through the
// probes it stands at: by emulation as long as that goes, then by one step.
func (t *tracer) visit(k *task) error {
	for range maxChain {
		own := k.regs.Eflags&trapFlag != 0 // not ours: the kernel hides that
		p, err := t.here(k)
		if err != nil {
			return err
		}
		if p == nil {
			break
		}
		done, err := t.emulate(k, p)
		if err != nil {
			return err
		}
		if !done {
			return t.begin(k, p, own)
		}
		if own {
			return t.ownTrap(k)
		}
	}
	if err := k.regs.set(k.tid); err != nil {
		return err
	}
	return t.resume(k, 0)
}

// here returns the probe that the thread is at, nil if it is at none or is to pass
// without one. Before anything else the bytes are looked at: the program may have
// changed its code.
func (t *tracer) here(k *task) (*probe, error) {
	s := k.proc.space
	p := s.image.probes[k.regs.Rip]
	if p == nil || t.then != nil { // the probe goes, or waits
		return nil, nil
	}
	switch s.look(p) {
	case unarmed:
		return nil, nil
	case stale:
		t.count.stale++
		return nil, s.disarm(p)
	}
	fn := p.fn
	switch {
	case p == fn.entry && !fn.named && !s.full[fn]: // watched
		if p.hits+1 >= t.cfg.hot {
			return p, t.armFunction(s, fn)
		}
	case t.cfg.limit > 0 && p.steps >= t.cfg.limit:
		return nil, s.disarm(p)
	}
	return p, nil
}

// emulate executes the instruction at p by its program. Its store, of which there
// is at most one, is kept back until the program has come to its end: if that is a
// branch to an address that no processor goes to, or if the store fails, nothing
// has changed but the runner's copy of the registers, which is put back. The step
// form then makes the processor fail, at the site and with the signal it has for
// that.
func (t *tracer) emulate(k *task, p *probe) (done bool, err error) {
	if !p.emulate {
		return false, nil
	}
	if err := k.proc.space.image.relocate(&k.plan, p, fixups.FormEmulate); err != nil {
		return false, fmt.Errorf("%v: the plan of %#x is gone: %w", p.fn, p.addr, err)
	}
	k.at = fixups.Bases{Site: p.addr, Slot: p.slot}
	saved := k.regs
	k.late.n = 0
	k.machine.Mem = &k.late
	err = fixups.Run(k.plan.Emulate, &k.machine, &k.at, &k.temps, 64)
	k.machine.Mem = k.late.Memory
	if err == nil && canonical(k.regs.Rip) && k.late.commit() {
		p.hits++
		p.steps++
		t.count.emulated++
		return true, nil
	}
	if _, ok := errors.AsType[*fixups.AccessError](err); err != nil && !ok {
		return false, fmt.Errorf("%v: %#x: % x: %w", p.fn, p.addr, p.code, err)
	}
	k.regs = saved
	t.count.failed++
	return false, nil
}

// canonical reports whether an address can surely be branched to: the lower half,
// by four levels of page tables. With five there is more, and the step form knows.
func canonical(a uint64) bool { return a < 1<<47 }

// late is memory whose last store has not happened yet.
type late struct {
	linux.Memory
	addr uint64
	buf  [8]byte
	n    int
}

// Store remembers a store. A second one makes the first happen.
func (l *late) Store(addr uint64, b []byte) bool {
	ok := l.commit()
	l.addr, l.n = addr, copy(l.buf[:], b)
	return ok
}

// commit makes the store happen.
func (l *late) commit() bool {
	n := l.n
	l.n = 0
	return n == 0 || l.Memory.Store(l.addr, l.buf[:n])
}

// begin starts a visit in the step form: pre with the stop disarmed, pc := slot,
// arm; no signal goes along with the step.
func (t *tracer) begin(k *task, p *probe, own bool) error {
	if p.slot == 0 {
		return t.fault(k, p)
	}
	if err := k.proc.space.image.relocate(&k.plan, p, fixups.FormStep); err != nil {
		return fmt.Errorf("%v: the plan of %#x is gone: %w", p.fn, p.addr, err)
	}
	k.step, k.own = p, own
	k.at = fixups.Bases{Site: p.addr, Slot: p.slot}
	k.temps = fixups.Temps{}
	if err := k.program(k.plan.Pre); err != nil {
		return err
	}
	k.regs.Rip = p.slot
	if err := k.regs.set(k.tid); err != nil {
		return err
	}
	return t.release(k, 0)
}

// program runs a program of the visit that is under way.
func (k *task) program(prog fixups.Program) error {
	if err := fixups.Run(prog, &k.machine, &k.at, &k.temps, 64); err != nil {
		return fmt.Errorf("%v: %#x: % x: %w", k.step.fn, k.step.addr, k.step.code, err)
	}
	return nil
}

// stepped ends a visit after the trap of its step; that trap has disarmed it.
func (t *tracer) stepped(k *task, si *siginfo) error {
	own, setsTF := k.own && si.code() == trapTrace, k.step.setsTF
	if err := t.finish(k); err != nil {
		return err
	}
	switch {
	case own:
		return t.ownTrap(k)
	case si.code() == trapBrkpt:
		// The thread is still on its way out of a system call. If that was
		// interrupted, the kernel takes the length of the instruction from pc before
		// it lets the thread go: pc must be behind the site and nowhere else.
		return t.resume(k, 0)
	case setsTF:
		// And after popf it takes the flag of another step at once for the program's:
		// going on without a step in between makes it forget.
		return t.resume(k, 0)
	}
	return t.visit(k)
}

// finish runs post, always: it looks at pc itself.
func (t *tracer) finish(k *task) error {
	p := k.step
	if err := k.program(k.plan.Post); err != nil {
		return err
	}
	k.step = nil
	p.steps++
	t.count.stepped++
	if !p.repeats || k.regs.Rip != p.addr {
		p.hits++
	}
	return k.regs.set(k.tid)
}

// takeBack ends a visit whose copy has not run, or has faulted: scratch and pc
// are as if the thread had just come to the site.
func (t *tracer) takeBack(k *task) error {
	if err := k.regs.get(k.tid); err != nil {
		return err
	}
	// Before popf and iret the kernel takes the stepper's trap flag for one that the
	// instruction is about to change, and does not hide it.
	if !k.own {
		k.regs.Eflags &^= trapFlag
	}
	if err := k.program(k.plan.Abort); err != nil {
		return err
	}
	k.step = nil
	t.count.takenBack++
	return k.regs.set(k.tid)
}

// ownTrap passes on the trap of a program that single-steps itself: the visit
// was one instruction, so it is due now.
func (t *tracer) ownTrap(k *task) error {
	var si siginfo
	if err := si.get(k.tid); err != nil {
		return err
	}
	if err := k.regs.set(k.tid); err != nil {
		return err
	}
	si.trap(k.regs.Rip)
	if err := si.set(k.tid); err != nil {
		return err
	}
	return t.resume(k, int(syscall.SIGTRAP))
}

// fault delivers what an instruction that failed to be emulated would have got,
// for a site without a plan to step: a failed access, or a branch to nowhere.
func (t *tracer) fault(k *task, p *probe) error {
	saved := k.regs
	err := fixups.Run(k.plan.Emulate, &k.machine, &k.at, &k.temps, 64)
	k.regs = saved
	var si siginfo
	access, ok := errors.AsType[*fixups.AccessError](err)
	switch {
	case ok:
		si.segv(access.Addr)
	case err != nil:
		return fmt.Errorf("%v: %#x: failed once, and then: %w", p.fn, p.addr, err)
	default:
		si.protection()
	}
	t.count.faults++
	if err := k.regs.set(k.tid); err != nil {
		return err
	}
	if err := si.set(k.tid); err != nil {
		return err
	}
	return t.resume(k, int(syscall.SIGSEGV))
}

// outOfSlot moves a thread that is in a slot without being stepped: a child of
// clone or vfork, which begins behind the copy, in the guard tail.
func (t *tracer) outOfSlot(k *task) error {
	image := k.proc.space.image
	if image == nil {
		return nil
	}
	for _, o := range image.objects {
		if o.slots == nil {
			continue
		}
		p := o.slots.at(k.regs.Rip)
		if p == nil {
			continue
		}
		if err := image.relocate(&k.plan, p, fixups.FormStep); err != nil {
			return err
		}
		r, ok := reloc.Resume(&k.plan, k.regs.Rip, p.slot, reloc.Signal)
		if !ok {
			return fmt.Errorf("%v: thread %d is lost at %#x in the slot of %#x", p.fn, k.tid, k.regs.Rip, p.addr)
		}
		k.at = fixups.Bases{Site: p.addr, Slot: p.slot}
		k.step = p
		err := k.program(r.Program)
		k.step = nil
		t.count.moved++
		return firstError(err, k.regs.set(k.tid))
	}
	return nil
}
