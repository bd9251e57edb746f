//go:build linux && amd64

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/fixups/linux"
	"github.com/xol-go/xol/reloc"
)

// tracer is the whole of the runner's state. All of it belongs to the one thread
// that traces.
type tracer struct {
	cfg    *config
	tasks  map[int]*task
	early  map[int]early // children that stopped before their parents spoke of them
	procs  map[int]*process
	plan   reloc.Plan // scratch
	count  counters
	images []*image // that were probed, for the report

	child  int // the program that was started, 0 if attached
	result syscall.WaitStatus
	ended  bool // child has
	bell   int  // a child of ours whose end means: leave
	rung   bool
	then   func() error // what to do when every thread is held; nil: they run
	err    error        // what ended the run
}

// process is one thread group.
type process struct {
	pid   int
	space *space
	tasks int
}

// task is one thread.
type task struct {
	tid     int
	proc    *process
	regs    regs
	machine linux.Machine

	// A visit in the step form: from pre to post or abort.
	step  *probe
	plan  reloc.Plan
	at    fixups.Bases
	temps fixups.Temps
	own   bool // the program itself is single-stepping
	late  late // memory while emulating

	swallow bool // a step was taken as done, its SIGTRAP is still to come
	vfork   bool // waits in the kernel for its child to exec or exit
	exiting bool
	fresh   bool // has not had its first stop yet

	held  bool // stopped, and stays so until t.then has been called
	sig   int  // the signal to go on with
	group bool // in a group-stop
}

// early is what is known of a thread that was not introduced yet.
type early struct {
	status syscall.WaitStatus
	parent int
}

func (t *tracer) add(tid int, p *process) *task {
	k := &task{tid: tid, proc: p, fresh: true}
	k.machine = linux.Machine{Parts: []linux.Part{{Map: linux.AMD64UserRegs, Buf: k.regs.bytes()}}, Mem: memory(tid)}
	k.late.Memory = k.machine.Mem
	t.tasks[tid] = k
	p.tasks++
	return k
}

func (t *tracer) addProcess(pid int, s *space) *process {
	p := &process{pid: pid, space: s}
	t.procs[pid] = p
	return p
}

func (t *tracer) remove(k *task) {
	delete(t.tasks, k.tid)
	if k.proc.tasks--; k.proc.tasks == 0 {
		k.proc.space.release()
		delete(t.procs, k.proc.pid)
	}
}

// run waits for stops and answers them until no thread is left, and until the
// program that was started has ended.
func (t *tracer) run() error {
	for t.err == nil && (len(t.tasks) > 0 || t.child != 0 && !t.ended) {
		var status syscall.WaitStatus
		tid, err := syscall.Wait4(-1, &status, wallFlag, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.ECHILD:
			return t.err
		case err != nil:
			return err
		}
		t.report(tid, status)
		t.settleWorld()
	}
	return t.err
}

// report handles what wait said of one thread.
func (t *tracer) report(tid int, status syscall.WaitStatus) {
	if tid == t.bell {
		t.bell, t.rung = 0, true
		return
	}
	k := t.tasks[tid]
	switch {
	case status.Exited() || status.Signaled():
		if tid == t.child {
			t.result, t.ended = status, true
		}
		if k != nil {
			t.remove(k)
		}
		delete(t.early, tid)
		t.adopt(tid)
	case k == nil:
		t.early[tid] = early{status, statusField(tid, "PPid:")}
	default:
		if err := t.stopped(k, status); err != nil && !gone(err) && alive(tid) {
			t.err = fmt.Errorf("thread %d: %w", tid, err)
		}
	}
}

// alive reports whether a thread is stopped, as it was when we began to work on
// it. Anybody may kill a thread at any time, and then all kinds of things fail.
func alive(tid int) bool {
	var r regs
	return !gone(r.get(tid))
}

// adopt takes in children of a process that was killed between making them and
// saying so.
func (t *tracer) adopt(parent int) {
	for tid, e := range t.early {
		if e.parent != parent || t.procs[parent] != nil {
			continue
		}
		delete(t.early, tid)
		if err := request(syscall.PTRACE_DETACH, tid, 0, 0); err != nil && !gone(err) {
			t.err = err
		}
	}
}

func statusField(tid int, name string) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), name); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(v))
			return n
		}
	}
	return 0
}

// settleWorld begins to leave when that was asked for, and calls t.then once
// every thread that can be held is.
func (t *tracer) settleWorld() {
	if t.rung && t.then == nil && !t.waiting() {
		t.rung = false
		t.stopWorld(t.leave)
	}
	if t.then == nil || t.err != nil {
		return
	}
	for _, k := range t.tasks {
		if !k.held && !k.exiting {
			return
		}
	}
	if len(t.early) > 0 {
		return
	}
	then := t.then
	t.then = nil
	t.err = then()
}

// waiting reports whether a thread waits for a child of vfork. No stop reaches
// it, and the child needs the breakpoints as long as it has its parent's memory.
func (t *tracer) waiting() bool {
	for _, k := range t.tasks {
		if k.vfork {
			return true
		}
	}
	return false
}

// stopWorld has every thread stopped and then calls then.
func (t *tracer) stopWorld(then func() error) {
	t.then = then
	for _, k := range t.tasks {
		if !k.held && !k.fresh {
			t.interrupt(k)
		}
	}
}

func (t *tracer) interrupt(k *task) {
	if err := request(ptraceInterrupt, k.tid, 0, 0); err != nil && !gone(err) {
		t.err = err
	}
}

// goOn lets all held threads run.
func (t *tracer) goOnAll() error {
	for _, k := range t.tasks {
		if !k.held {
			continue
		}
		k.held = false
		var err error
		if k.group {
			err = request(ptraceListen, k.tid, 0, 0)
		} else {
			err = t.resume(k, k.sig)
		}
		if err != nil && !gone(err) {
			return err
		}
	}
	return nil
}

// resume lets a thread run on with a signal, 0 for none: single-stepped if a visit
// is under way. When the world is being stopped it is held instead.
func (t *tracer) resume(k *task, sig int) error {
	if t.then != nil && k.step == nil {
		k.held, k.sig, k.group = true, sig, false
		return nil
	}
	return t.release(k, sig)
}

// release is resume for threads that must run even when the world is being
// stopped: they are in the kernel, or a SIGTRAP waits for them there.
func (t *tracer) release(k *task, sig int) error {
	req := syscall.PTRACE_CONT
	if k.step != nil {
		req = syscall.PTRACE_SINGLESTEP
	}
	return request(req, k.tid, 0, uintptr(sig))
}

// passOn resumes a thread that stopped inside a system call.
func (t *tracer) passOn(k *task) error {
	err := t.release(k, 0)
	if err == nil && t.then != nil && !k.vfork {
		t.interrupt(k)
	}
	return err
}
