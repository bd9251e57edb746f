package emu

import (
	"errors"

	"github.com/xol-go/xol/reloc"
)

// Prot is what may be done with a page.
type Prot uint8

// The permissions; the numbers are those of mmap.
const (
	ProtRead  Prot = 1
	ProtWrite Prot = 2
	ProtExec  Prot = 4
)

// Page is memory of a [CPU]. Live is what the guest uses; Base, of watched
// pages, what it holds before a run. Both may be written between runs.
type Page struct {
	Addr       uint64
	Prot       Prot
	Live, Base []byte
}

// Watched reports whether changes of the page are reported and taken back.
func (p *Page) Watched() bool { return p.Base != nil }

// Batch is a number of runs of one piece of code.
type Batch struct {
	// A run ends when pc is outside [Lo, Hi) after the first step, or after
	// Limit steps. It begins at the pc of its state.
	Lo, Hi uint64
	Limit  uint32

	N       int
	In, Out []uint64 // N states of len(Target.Words) words
	InLines []Line   // of all states, those of state i from InFirst[i] to InFirst[i+1]
	InFirst []uint32

	Stops []Stop // N
	Lines []Line // lines that differ from base after the runs; cap is what is allowed
	// Stepped runs are stepped by the trap flag where a program can see it. In
	// others nothing shows how the engine counts steps.
	Stepped bool
	// Site is where the instruction under judgement stands and SiteLen its length: its
	// bytes are there to be read in all runs, also those that execute others.
	Site    uint64
	SiteLen int
	// Trace, if not nil, receives the pc of each step of the last run.
	Trace []uint64
}

// CPU is one engine of an oracle. It is not safe for concurrent use: every
// worker opens its own.
type CPU interface {
	// Map makes size bytes at addr memory. A watched page is taken back to its
	// base after every run, what it held is reported in Batch.Lines.
	Map(addr uint64, size int, prot Prot, watch bool) (*Page, error)
	Unmap(addr uint64) error
	// Pages returns all memory, in no order.
	Pages() []*Page
	// Forget makes rewritten code at [addr, addr+size) known. Addresses that
	// have never been executed do not need it.
	Forget(addr uint64, size int) error
	// Run executes a batch. b.Lines is grown to what the runs changed.
	Run(b *Batch) error
	// Canary rewrites known code in place and executes it. An error means that
	// the engine ran stale code and nothing it said can be trusted.
	Canary() error
	Close()
}

// Oracle executes code of some targets.
type Oracle interface {
	Name() string
	// Open returns a new engine.
	Open(t *Target) (CPU, error)
	// Limits lists what it cannot execute as a processor would, the first row
	// that matches counts.
	Limits(arch string) []Limit
}

// Describer is an [Oracle] with registers or places of its own: it judges by
// this description instead of that of [TargetOf].
type Describer interface {
	Target(arch string) (*Target, error)
}

// Vendored is an [Oracle] that is one maker's processor: plans for another's are
// unsupported where makers differ.
type Vendored interface {
	Vendor() reloc.Vendor
}

// Shaper is a [CPU] that cannot have all states: Shape makes a random one
// that it can have.
type Shaper interface {
	Shape(words []uint64)
}

// ErrAddress means that an oracle cannot have memory at an address.
var ErrAddress = errors.New("emu: no memory can be at that address")

// ErrStale is returned by [CPU.Canary].
var ErrStale = errors.New("emu: the oracle executed stale code")
