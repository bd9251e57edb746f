package native

import (
	"fmt"
	"os/exec"
	"runtime"

	"github.com/xol-go/xol/emu"
)

// machine is an instruction set whose programs do not single-step themselves: its
// runner is the one in batch.go.
type machine struct {
	arch      string // GOARCH spelling
	kind      elfKind
	sys       system
	risc      func(emulated bool) risc
	emulators []string // names of the program that executes where no processor does
	model     string   // of the processor that it is asked for
	guard     uint64   // protection of pages whose landing pads are checked

	// target is emu's description with the registers that are there.
	target func(f *frame) (*emu.Target, error)
	// frame reads where a machine context has what.
	frame func(f *frame, record []byte) error
	// place finds a word by its name; in a context that is put together by pack.
	place func(f *frame, name string) (slot, bool)
	// compose writes what a context has beside the words, seal what follows from
	// them.
	compose, seal func(f *frame, context []byte)
	// parts are where the areas of a context begin.
	parts func(f *frame, context []byte) [numAreas]int

	// access is the direction of a failed access, if the context tells it.
	access func(context []byte) emu.Access

	// length is how many bytes an instruction has that begins with a word.
	length func(word uint32) int
	// direct is where a branch leads that names its target.
	direct func(word uint32, pc uint64) (uint64, bool)
	// constant is an instruction that sets register 0 to a number.
	constant func(n uint32) (word uint32, want uint64)
	shape    func(f *frame, t *emu.Target, words []uint64)

	features []capability
	limits   []emu.Limit
}

// Areas of a machine context: its fixed part, and those that are found by looking.
const (
	areaFixed = iota
	areaFloat
	areaVector
	areaSpecial // the runner's own word
	numAreas
)

// slot is where a word is: in an area, from its start; if mask is not zero, in bits
// of what is there, from bit shift on.
type slot struct {
	area  uint8
	size  uint8 // bytes
	shift uint8
	off   int
	mask  uint64
}

// frame is what is known of the signal frames of a machine that runs.
type frame struct {
	emulated bool
	context  []byte        // of the first signal
	areas    [numAreas]int // of a composed context
	vl       int           // bytes of an SVE vector, 0: none
	guard    uint64        // [machine.guard], if there is such protection
	lacks    []string      // features, by name
}

// capability is something that a processor may lack. Its probe is an instruction
// that has no effect; rows are the encodings that need it.
type capability struct {
	name  string
	probe uint32
	// beyond: states do not have what it needs, so it counts as absent everywhere.
	beyond bool
	rows   []row
}

// has reports whether a feature is there.
func (f *frame) has(name string) bool {
	for _, x := range f.lacks {
		if x == name {
			return false
		}
	}
	return true
}

// limitsOf is the capability table: what is absent, then what no process can judge.
func (m *machine) limitsOf(f *frame) []emu.Limit {
	var rows []emu.Limit
	for i := range m.features {
		if x := &m.features[i]; !f.has(x.name) {
			rows = append(rows, x.limits()...)
		}
	}
	return append(rows, m.limits...)
}

func (x *capability) limits() []emu.Limit { return (&feature{name: x.name, rows: x.rows}).limits() }

// launch is how a runner is made and started.
type launch struct {
	kind     elfKind
	program  func() ([]byte, error)
	emulator []string // what executes it; empty: the kernel
}

// launch says how the runner is executed: by this processor, or by the emulator.
func (m *machine) launch() (l launch, emulated bool, err error) {
	l.kind = m.kind
	emulated = runtime.GOARCH != m.arch
	if emulated {
		path, err := findProgram(m.emulators)
		if err != nil {
			return l, false, fmt.Errorf("%w: %s: %w", ErrAbsent, m.arch, err)
		}
		l.emulator = []string{path, "-cpu", m.model}
	}
	l.program = func() ([]byte, error) { return batchProgram(m.risc(emulated), &m.sys, emulated) }
	return l, emulated, nil
}

func findProgram(names []string) (path string, err error) {
	for _, name := range names {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}

// machines are those that the judge has.
func machines() []*machine {
	return []*machine{machineARM64(), machinePPC64(true), machinePPC64(false)}
}
