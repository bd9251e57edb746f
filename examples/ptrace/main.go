//go:build linux && amd64

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/xol-go/xol/fixups"
)

// config is what the command line says.
type config struct {
	funcs   []string
	objects []string
	hot     uint64 // 0: only funcs
	form    string
	limit   uint64
	count   bool
	exec    bool
	leave   bool // children of fork run without probes
	pid     int
	during  time.Duration
	out     string
	args    []string
}

const usage = `usage: ptrace [flags] -- PROGRAM [ARGUMENT]...
       ptrace [flags] -p PID

Runs a program with a probe on every instruction of some of its functions.

  --func [OBJECT:]NAME   probe this function (may be repeated). Wildcards * ? [..];
                         OBJECT is the base name of a library, else (and by main) the
                         program is meant; NAME may be an address in the file, 0x...
  --all-hot N            probe each function that has been entered N times
  --object NAME          of these objects only: main, or the name of a library (may be
                         repeated; wildcards)
  --form FORM            auto (emulate, else step), step, emulate
  --limit N              take a probe out when it was executed N times
  --count                list the sites that were hit, the busiest first
  --exec                 probe programs that are executed later, too
  --children WHAT        follow: probe the children of fork; leave: let them go
  --for DURATION         leave the program after that time (as SIGINT does)
  -p PID                 attach to a running process
  -o FILE                write the report there, not to standard error
`

// list is a flag that may be repeated.
type list []string

func (l *list) String() string     { return fmt.Sprint(*l) }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func parse(args []string) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("ptrace", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Var((*list)(&c.funcs), "func", "")
	fs.Var((*list)(&c.objects), "object", "")
	fs.Uint64Var(&c.hot, "all-hot", 0, "")
	fs.StringVar(&c.form, "form", "auto", "")
	fs.Uint64Var(&c.limit, "limit", 0, "")
	fs.BoolVar(&c.count, "count", false, "")
	fs.BoolVar(&c.exec, "exec", false, "")
	children := fs.String("children", "follow", "")
	fs.DurationVar(&c.during, "for", 0, "")
	fs.IntVar(&c.pid, "p", 0, "")
	fs.StringVar(&c.out, "o", "", "")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	c.args = fs.Args()
	switch {
	case c.form != "auto" && c.form != "step" && c.form != "emulate":
		return nil, fmt.Errorf("no form %q: auto, step or emulate", c.form)
	case *children != "follow" && *children != "leave":
		return nil, fmt.Errorf("--children %q: follow or leave", *children)
	case (c.pid == 0) == (len(c.args) == 0):
		return nil, errors.New("a program to start, or -p and the number of one that runs")
	case len(c.funcs) == 0 && c.hot == 0:
		return nil, errors.New("nothing to probe: --func or --all-hot")
	}
	c.leave = *children == "leave"
	return c, nil
}

// The program is started by a copy of ourselves, which waits until it is traced
// and executes it then: so it is seized before its first instruction, and no
// signal was needed to stop it. It says on descriptor 4 that it runs: os.StartProcess
// returns before the kernel is done with executing the copy, and a tracer that comes
// that early is told of it and takes the copy for the program. Another copy only
// waits: its end is the bell that wakes the loop in wait4.
const launchWord = "wait-for-the-other-end-of-descriptor-3"

// init keeps main on the first thread of the process. Only the thread that traces
// may make ptrace calls, and the launcher must be the thread that is seized.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) > 1 && os.Args[1] == launchWord {
		os.Exit(launched(os.Args[2:]))
	}
	c, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "ptrace: %v\n%s", err, usage)
		os.Exit(2)
	}
	status, err := trace(c)
	if err != nil {
		fmt.Fprintf(os.Stderr, "ptrace: %v\n", err)
		os.Exit(1)
	}
	os.Exit(status)
}

// launched is a copy of ourselves: it says that it is there, waits for a byte, and
// for the end of file if there is none, and becomes the program PATH ARGV0 ARGUMENT...
func launched(args []string) int {
	syscall.CloseOnExec(3)
	var b [1]byte
	if _, err := syscall.Write(4, b[:]); err != nil {
		return 0
	}
	syscall.Close(4)
	if n, err := syscall.Read(3, b[:]); n != 1 || err != nil || len(args) == 0 {
		return 0
	}
	err := syscall.Exec(args[0], args[1:], os.Environ())
	fmt.Fprintf(os.Stderr, "ptrace: %s: %v\n", args[0], err)
	return 127
}

// launch starts a copy of ourselves and returns the end of the pipe that it waits
// for. It is not waited for here: the loop does that.
func launch(args ...string) (pid int, pipe *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	defer r.Close()
	ready, there, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	defer ready.Close()
	self, err := os.Executable()
	if err != nil {
		return 0, nil, err
	}
	p, err := os.StartProcess(self, append([]string{self, launchWord}, args...), &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, r, there}})
	there.Close()
	if err != nil {
		return 0, nil, err
	}
	var b [1]byte
	if _, err := ready.Read(b[:]); err != nil {
		return 0, nil, fmt.Errorf("process %d ended before it began: %w", p.Pid, err)
	}
	pid = p.Pid
	return pid, w, p.Release()
}

// trace runs the whole and returns the exit status: the program's, if one was
// started, 128 and the signal that killed it.
func trace(c *config) (int, error) {
	out := os.Stderr
	if c.out != "" {
		f, err := os.Create(c.out)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		out = f
	}
	t := &tracer{cfg: c, tasks: map[int]*task{}, early: map[int]early{}, procs: map[int]*process{}}
	t.count.refused = map[fixups.Reason]int{}
	bell, pipe, err := launch()
	if err != nil {
		return 0, err
	}
	t.bell = bell
	listen(pipe, c.during)
	if c.pid != 0 {
		err = t.attach(c.pid)
	} else {
		err = t.start(c.args)
	}
	begin := time.Now()
	if err == nil {
		err = t.run()
	}
	if err != nil {
		t.abandon()
		return 0, err
	}
	t.count.print(out, t.images, c.count, time.Since(begin))
	switch {
	case t.result.Signaled():
		return 128 + int(t.result.Signal()), nil
	case t.ended:
		return t.result.ExitStatus(), nil
	}
	return 0, nil
}

// listen rings the bell at the first signal, or when the time is up. A second
// signal ends the runner.
func listen(bell *os.File, during time.Duration) {
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM)
	var after <-chan time.Time
	if during > 0 {
		after = time.After(during)
	}
	go func() {
		select {
		case <-ch:
		case <-after:
		}
		bell.Close()
		<-ch
		os.Exit(1)
	}()
}

// start starts the program under the tracer.
func (t *tracer) start(args []string) error {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	pid, pipe, err := launch(append([]string{path}, args...)...)
	if err != nil {
		return err
	}
	t.child = pid
	if err := request(ptraceSeize, pid, 0, options|optExitKill); err != nil {
		return fmt.Errorf("seize %d: %w", pid, err)
	}
	s, err := openSpace(pid)
	if err != nil {
		return err
	}
	t.add(pid, t.addProcess(pid, s)).fresh = false
	_, err = pipe.Write([]byte{1})
	return errors.Join(err, pipe.Close())
}

// attach seizes every thread of a process, has them all stopped, and probes it.
func (t *tracer) attach(pid int) error {
	s, err := openSpace(pid)
	if os.IsNotExist(err) {
		return fmt.Errorf("there is no process %d", pid)
	}
	if err != nil {
		return err
	}
	p := t.addProcess(pid, s)
	for again := true; again; { // threads made meanwhile by threads that were not seized yet
		again = false
		dir, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return err
		}
		for _, e := range dir {
			tid, err := strconv.Atoi(e.Name())
			if err != nil || t.tasks[tid] != nil {
				continue
			}
			switch err := request(ptraceSeize, tid, 0, options); {
			case err == nil:
				t.add(tid, p).fresh = false
				again = true
			case gone(err): // it has ended
			case errors.Is(err, syscall.EPERM) && len(t.tasks) > 0: // seized as a child of one that was
			default:
				return fmt.Errorf("seize %d: %w", tid, err)
			}
		}
	}
	if len(t.tasks) == 0 {
		return fmt.Errorf("process %d has no threads", pid)
	}
	// The image first: the entry point is where system calls are made.
	t.stopWorld(func() error {
		for _, k := range t.tasks {
			if k.exiting {
				continue
			}
			if err := t.setUp(k, true); err != nil {
				return err
			}
			break
		}
		return t.goOnAll()
	})
	return nil
}

// abandon is for errors of our own: breakpoints are taken out as far as possible.
// The kernel lets the threads go when we end.
func (t *tracer) abandon() {
	for _, p := range t.procs {
		_ = p.space.restore()
	}
}
