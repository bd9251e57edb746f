// Package native is an [emu.Oracle] that executes on the processor itself: a
// program of plain machine code, written by this package, runs batches of states
// in a signal handler. It judges what emulators lack (AVX, XSAVE, SHA and
// everything else that this machine has) and says what the kernel and the
// processor really do. It needs Linux on an x86-64 processor, no compiler, no
// permission and no file.
//
// Code of arm64, ppc64 and ppc64le runs on such a processor, or under qemu-user,
// which needs the program of that name.
//
// # What runs
//
// On x86, each instruction is single-stepped by the trap flag; instructions that would
// show it (pushf) do not, except where a plan is stepped itself. System calls of
// the code under judgement raise a signal (seccomp); a run that takes the program
// down costs that run alone. 32-bit cases run in the same program, in a 32-bit
// code segment.
//
// Elsewhere programs cannot step themselves. There, memory holds traps but for the
// code that a run may execute.
//
// # What is absent
//
// A feature that the processor or the kernel does not have is a row of the
// capability table ([Features]): instructions that need it are unsupported, never
// compared, and counted by the name of the feature.
package native

import (
	"errors"
	"fmt"
	"sync"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/reloc"
)

// ErrAbsent means that this machine cannot execute the code: another operating
// system or processor, or a kernel that forbids what the runner needs.
var ErrAbsent = errors.New("native: the judge is absent")

// Oracle is the processor as an [emu.Oracle]. What the processor can do is asked
// once, when it is first needed. It must not be copied.
type Oracle struct {
	once     sync.Once
	features *Features // of x86
	err      error

	others map[string]*other // other instruction sets, by their GOARCH names
}

// other is a machine and what is known of it.
type other struct {
	machine *machine
	once    sync.Once
	frame   *frame
	err     error
}

// known asks the machine once.
func (x *other) known() (*frame, error) {
	x.once.Do(func() { x.frame, x.err = bootMachine(x.machine) })
	return x.frame, x.err
}

// New returns an oracle. It starts nothing.
func New() *Oracle {
	o := &Oracle{others: map[string]*other{}}
	for _, m := range machines() {
		o.others[m.arch] = &other{machine: m}
	}
	return o
}

// Name implements [emu.Oracle].
func (o *Oracle) Name() string { return "native" }

// Ready reports whether code of an instruction set can be executed: an error says
// what is missing.
func (o *Oracle) Ready(arch string) error {
	_, err := o.Target(arch)
	return err
}

// Absent lists the features of an instruction set that are absent, by name.
func (o *Oracle) Absent(arch string) ([]string, error) {
	if x := o.others[arch]; x != nil {
		f, err := x.known()
		if err != nil {
			return nil, err
		}
		return f.lacks, nil
	}
	f, err := o.Features()
	if err != nil {
		return nil, err
	}
	return f.Absent(), nil
}

// Features returns what this processor has if it is an x86-64 one, or why it cannot
// be asked.
func (o *Oracle) Features() (*Features, error) {
	o.once.Do(func() { o.features, o.err = detect() })
	return o.features, o.err
}

// Vendor implements [emu.Vendored].
func (o *Oracle) Vendor() reloc.Vendor {
	f, err := o.Features()
	switch {
	case err != nil:
		return reloc.VendorUnknown
	case f.intel:
		return reloc.VendorIntel
	}
	return reloc.VendorAMD
}

// Target implements [emu.Describer]: the registers that the processor has.
func (o *Oracle) Target(arch string) (*emu.Target, error) {
	if x := o.others[arch]; x != nil {
		f, err := x.known()
		if err != nil {
			return nil, err
		}
		return x.machine.target(f)
	}
	f, err := o.Features()
	if err != nil {
		return nil, err
	}
	return target(arch, f)
}

// Limits implements [emu.Oracle].
func (o *Oracle) Limits(arch string) []emu.Limit {
	if x := o.others[arch]; x != nil {
		f, err := x.known()
		if err != nil {
			return nil
		}
		return x.machine.limitsOf(f)
	}
	f, err := o.Features()
	if err != nil {
		return nil
	}
	return f.limits(arch)
}

// Open implements [emu.Oracle].
func (o *Oracle) Open(t *emu.Target) (emu.CPU, error) {
	var cpu emu.CPU
	if x := o.others[t.Arch]; x != nil {
		f, err := x.known()
		if err != nil {
			return nil, err
		}
		cpu, err = openMachine(x.machine, t, f)
		if err != nil {
			return nil, fmt.Errorf("native: %w", err)
		}
		return cpu, nil
	}
	f, err := o.Features()
	if err != nil {
		return nil, err
	}
	cpu, err = open(t, f)
	if err != nil {
		return nil, fmt.Errorf("native: %w", err)
	}
	return cpu, nil
}
