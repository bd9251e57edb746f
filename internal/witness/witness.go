// Package witness asks other decoders what they make of bytes: Zydis and LLVM,
// as small C programs that tests compile and talk to in batches. It supports
// tests; nothing else imports it.
//
// A witness is no judge. Where two of them agree and the library does not, a
// human reads the manual and writes down who is right.
package witness

import (
	"bufio"
	"embed"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/xol-go/xol/internal/testenv"
)

//go:embed programs
var programs embed.FS

// Probe is one question: what is the instruction at the start of Code?
type Probe struct {
	Bits uint8 // 32 or 64
	Len  uint8 // bytes of Code that exist
	Code [16]byte
}

// Answer is what a witness says. Offsets and sizes are in bytes.
type Answer struct {
	Len                 uint8 // 0: refused
	Flags               Flags
	FieldOff, FieldSize uint8  // of the branch displacement, with Rel
	DispOff, DispSize   uint8  // of the displacement of the memory operand; zydis only
	Kind                Kind   // zydis only
	Target              uint64 // with Rel or RIP
}

// Kind is the kind of an instruction.
type Kind uint8

// The kinds.
const (
	Other Kind = iota
	Branch
	CondBranch
	Call
	IndirectBranch
	IndirectCall
	Return
	Trap
	KernelEntry
	Privileged
)

// Flags say what kind of operand depends on pc.
type Flags uint8

// The flags.
const (
	Rel Flags = 1 << iota // a branch displacement
	RIP                   // a pc-relative memory operand
	EIP                   // the same, with a 32-bit address
)

// PC is where every probe lives.
const PC = 0x40001000

// Witness is a running decoder.
type Witness struct {
	Name string

	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

// Zydis starts the witness over libZydis, or ends the test as
// [testenv.Missing] does.
func Zydis(t testing.TB) *Witness {
	t.Helper()
	if _, err := os.Stat("/usr/include/Zydis/Zydis.h"); err != nil {
		testenv.Missing(t, "libzydis-dev")
	}
	return start(t, "zydis", build(t, "zydis", "-lZydis"))
}

// llvmLibraries are where Debian has LLVM's shared library, newest first.
var llvmLibraries = []string{
	"/usr/lib/*/libLLVM.so.19.1",
	"/usr/lib/llvm-19/lib/libLLVM.so.19.1",
}

// LLVM starts the witness over libLLVM 19, or ends the test as
// [testenv.Missing] does. Older versions know neither APX nor much of AMX, so
// their silence would mean nothing.
func LLVM(t testing.TB) *Witness {
	t.Helper()
	for _, pattern := range llvmLibraries {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return start(t, "llvm", build(t, "llvm", "-ldl"), found[0])
		}
	}
	testenv.Missing(t, "libllvm19")
	return nil
}

// build compiles one of the programs and returns its path.
func build(t testing.TB, name string, libs ...string) string {
	t.Helper()
	cc := testenv.Tool(t, "gcc", "cc", "clang")
	dir := t.TempDir()
	if err := os.CopyFS(dir, programs); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, name)
	args := append([]string{"-O2", "-o", exe, filepath.Join(dir, "programs", name+".c")}, libs...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return exe
}

func start(t testing.TB, name, exe string, args ...string) *Witness {
	t.Helper()
	cmd := exec.Command(exe, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &Witness{Name: name, in: in, out: bufio.NewReaderSize(out, 1<<20), cmd: cmd}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	return w
}

// Sizes of the records of programs/wire.h.
const (
	probeSize  = 18
	answerSize = 16
	regsSize   = 48
	textSize   = 64
)

// Check asks about all probes. dst must be as long as probes; regs and texts
// too unless they are nil.
func (w *Witness) Check(dst []Answer, regs []Regs, texts []string, probes []Probe) error {
	var want uint32
	if regs != nil {
		want |= 1
	}
	if texts != nil {
		want |= 2
	}
	sent := make(chan error, 1)
	go func() { sent <- w.send(want, probes) }()
	if err := w.receive(dst, regs, texts); err != nil {
		return fmt.Errorf("%s: %w", w.Name, err)
	}
	return <-sent
}

func (w *Witness) send(want uint32, probes []Probe) error {
	var head [16]byte
	binary.NativeEndian.PutUint32(head[0:], want)
	binary.NativeEndian.PutUint32(head[4:], uint32(len(probes)))
	binary.NativeEndian.PutUint64(head[8:], PC)
	if _, err := w.in.Write(head[:]); err != nil {
		return err
	}
	if len(probes) == 0 {
		return nil
	}
	_, err := w.in.Write(unsafe.Slice((*byte)(unsafe.Pointer(&probes[0])), len(probes)*probeSize))
	return err
}

func (w *Witness) receive(dst []Answer, regs []Regs, texts []string) error {
	var buf [textSize]byte
	for i := range dst {
		b, err := w.record(buf[:answerSize])
		if err != nil {
			return err
		}
		dst[i] = Answer{
			Len: b[0], Flags: Flags(b[1]), FieldOff: b[2], FieldSize: b[3], DispOff: b[4], DispSize: b[5],
			Kind:   Kind(b[6]),
			Target: binary.NativeEndian.Uint64(b[8:]),
		}
		if regs != nil {
			if b, err = w.record(buf[:regsSize]); err != nil {
				return err
			}
			for j, s := range []*RegSet{&regs[i].Read, &regs[i].Write, &regs[i].Kill} {
				s[0], s[1] = binary.NativeEndian.Uint64(b[16*j:]), binary.NativeEndian.Uint64(b[16*j+8:])
			}
		}
		if texts != nil {
			if b, err = w.record(buf[:textSize]); err != nil {
				return err
			}
			texts[i] = cString(b)
		}
	}
	return nil
}

func (w *Witness) record(b []byte) ([]byte, error) {
	_, err := io.ReadFull(w.out, b)
	return b, err
}

func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
