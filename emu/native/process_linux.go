package native

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"github.com/xol-go/xol/emu"
)

// patience is how long a command may take without finishing a run. It is not
// part of any verdict but the one that says so: a step takes microseconds.
const patience = 10 * time.Second

// process is a runner and the memory that is shared with it.
type process struct {
	launch
	cmd    *exec.Cmd
	in     *os.File // where commands go
	out    *os.File // where answers come from
	shared []byte
	file   *os.File // of shared

	patience time.Duration
}

// memfdCreate is the number of the system call by GOARCH (Linux).
var memfdCreate = map[string]uintptr{"amd64": 319, "386": 356, "arm": 385, "arm64": 279, "loong64": 279, "riscv64": 279,
	"ppc64": 360, "ppc64le": 360, "s390x": 350}

// memfd makes a file in memory.
func memfd(name string) (*os.File, error) {
	const closeOnExec = 1
	nr, ok := memfdCreate[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("native: no memory files on %s", runtime.GOARCH)
	}
	b := append([]byte(name), 0)
	fd, _, e := syscall.Syscall(nr, uintptr(unsafe.Pointer(&b[0])), closeOnExec, 0)
	if e != 0 {
		return nil, fmt.Errorf("native: memory file: %w", e)
	}
	return os.NewFile(fd, name), nil
}

// executable puts the program into a file that can be executed: one that nobody
// has open for writing.
func (l *launch) executable() (*os.File, error) {
	code, err := l.program()
	if err != nil {
		return nil, err
	}
	if len(code) > textSize-elfHead {
		return nil, fmt.Errorf("native: a runner of %d bytes", len(code))
	}
	w, err := memfd("xol-runner")
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if _, err := w.Write(elfFile(l.kind, code, textBase)); err != nil {
		return nil, err
	}
	return os.Open(fmt.Sprintf("/proc/self/fd/%d", w.Fd()))
}

// newProcess starts a runner.
func newProcess(l launch) (*process, error) {
	p := &process{launch: l, patience: patience}
	var err error
	if p.file, err = memfd("xol-shared"); err != nil {
		return nil, err
	}
	if err = p.file.Truncate(sharedSize); err == nil {
		p.shared, err = syscall.Mmap(int(p.file.Fd()), 0, sharedSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	}
	if err == nil {
		err = p.start()
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	return p, nil
}

// start starts the program, which begins with an answer.
func (p *process) start() error {
	p.put(ctlOut, sharedBase+offOut) // what the first signal shows
	exe, err := p.executable()
	if err != nil {
		return err
	}
	defer exe.Close()
	childIn, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer childIn.Close()
	p.in = in
	out, childOut, err := os.Pipe()
	if err != nil {
		return err
	}
	defer childOut.Close()
	p.out = out
	// A fork in another goroutine may hold the program open for writing for a
	// moment, and then it cannot be executed.
	for try := 0; ; try++ {
		path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), exe.Fd())
		if len(p.emulator) > 0 {
			p.cmd = exec.Command(p.emulator[0], append(p.emulator[1:len(p.emulator):len(p.emulator)], path)...)
		} else {
			p.cmd = exec.Command(path)
			p.cmd.Args = []string{"xol-runner"}
		}
		p.cmd.Env = []string{}
		p.cmd.Stdin, p.cmd.Stdout = childIn, childOut
		p.cmd.ExtraFiles = []*os.File{p.file}
		err = p.cmd.Start()
		if !errors.Is(err, syscall.ETXTBSY) || try == 100 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		p.cmd = nil
		return err
	}
	childOut.Close()
	return p.answer()
}

var errStuck = errors.New("native: no answer")

// answer waits for the end of the command. While runs end it goes on waiting.
func (p *process) answer() error {
	var b [1]byte
	done := uint64(0)
	for {
		if err := p.out.SetReadDeadline(time.Now().Add(p.patience)); err != nil {
			return err
		}
		_, err := io.ReadFull(p.out, b[:])
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if now := p.get(ctlDone); now != done {
			done = now
			continue
		}
		return errStuck
	}
}

// command gives a command and waits for its end.
func (p *process) command(c uint64) error {
	p.put(ctlCommand, c)
	if _, err := p.in.Write([]byte{0}); err != nil {
		return err
	}
	return p.answer()
}

// call makes the runner execute a system call.
func (p *process) call(nr uint64, args ...uint64) error {
	p.put(ctlNumber, nr)
	for i := range 6 {
		v := uint64(0)
		if i < len(args) {
			v = args[i]
		}
		p.put(ctlArg0+8*i, v)
	}
	if err := p.command(commandCall); err != nil {
		return err
	}
	if r := int64(p.get(ctlResult)); r < 0 && r > -4096 {
		return syscall.Errno(-r)
	}
	return nil
}

func (p *process) get(off int) uint64 { return p.kind.order.Uint64(p.shared[off:]) }

func (p *process) put(off int, v uint64) { p.kind.order.PutUint64(p.shared[off:], v) }

// stop ends the program, whatever it does.
func (p *process) stop() {
	if p.in != nil {
		p.in.Close()
		p.in = nil
	}
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
	if p.out != nil {
		p.out.Close()
		p.out = nil
	}
}

func (p *process) close() {
	p.stop()
	if p.shared != nil {
		_ = syscall.Munmap(p.shared)
		p.shared = nil
	}
	if p.file != nil {
		p.file.Close()
		p.file = nil
	}
}

var _ emu.CPU = (*engine)(nil)
