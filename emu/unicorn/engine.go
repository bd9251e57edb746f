package unicorn

// #cgo CFLAGS: -O2 -Wall -Wextra
// #cgo LDFLAGS: -lunicorn
// #include <stdlib.h>
// #include "engine.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
)

// Oracle is Unicorn as an [emu.Oracle].
var Oracle emu.Oracle = oracle{}

type oracle struct{}

// Name implements [emu.Oracle].
func (oracle) Name() string { return "unicorn" }

// Limits implements [emu.Oracle].
func (oracle) Limits(arch string) []emu.Limit { return limits[arch] }

// Open implements [emu.Oracle].
func (oracle) Open(t *emu.Target) (emu.CPU, error) { return open(t) }

// engine is one Unicorn engine.
type engine struct {
	x     *C.xu
	t     *emu.Target
	proc  *processor
	pages []*emu.Page
	trace [C.XU_MAX_TRACE]uint64

	canary *emu.Page
	shots  int // canary rewrites so far

	acc, ext int // words of rax and rdx
}

func open(t *emu.Target) (*engine, error) {
	proc := processors[t.Arch]
	if proc == nil {
		return nil, fmt.Errorf("unicorn: no registers for %s", t.Arch)
	}
	words := make([]C.xu_word, len(t.Words))
	pc, acc, ext := 0, 0, 0
	for i := range t.Words {
		w := &t.Words[i]
		u, part, ok := proc.word(w)
		if !ok {
			return nil, fmt.Errorf("unicorn: no register %s", w.Name)
		}
		words[i] = C.xu_word{id: C.int32_t(u.id), size: C.uint8_t(u.size), part: C.uint8_t(part), api: bit(u.api), fixed: bit(w.ReadOnly)}
		setFields(&words[i], u.fields)
		switch {
		case w.Reg == fixups.RegPC:
			pc = i
		case w.Name == "rax", w.Name == "eax":
			acc = i
		case w.Name == "rdx", w.Name == "edx":
			ext = i
		}
	}
	var msg [128]C.char
	x := C.xu_open(C.int(proc.isa), &words[0], C.uint32_t(len(words)), C.uint32_t(pc), &msg[0], C.size_t(len(msg)))
	if x == nil {
		return nil, fmt.Errorf("unicorn: %s", C.GoString(&msg[0]))
	}
	return &engine{x: x, t: t, proc: proc, acc: acc, ext: ext}, nil
}

// setFields describes the fields of a word.
func setFields(w *C.xu_word, fields []ucField) {
	w.nfields = C.uint8_t(len(fields))
	for i := range fields {
		f, c := &fields[i], &w.fields[i]
		c.id, c.size, c.shift, c.bits, c.src = C.int32_t(f.id), C.uint8_t(f.size), C.uint8_t(f.shift), C.uint8_t(f.bits), C.uint8_t(f.src)
		c.up, c.base = C.uint8_t(f.up), C.uint64_t(f.base)
		for k, v := range f.try {
			c.try[k] = C.uint64_t(v)
		}
		for k, v := range f.code {
			c.code[k] = C.uint32_t(v)
		}
	}
}

// Instruction sets of the shim.
const (
	isaX64     = C.XU_X86_64
	isaX32     = C.XU_X86_32
	isaA64     = C.XU_A64
	isaPowerBE = C.XU_POWER_BE
	isaPowerLE = C.XU_POWER_LE
)

// Shape implements [emu.Shaper].
func (e *engine) Shape(words []uint64) {
	if e.proc.shape != nil {
		e.proc.shape(e, words)
	}
}

func bit(b bool) C.uint8_t {
	if b {
		return 1
	}
	return 0
}

// Close implements [emu.CPU].
func (e *engine) Close() {
	C.xu_close(e.x)
	e.x = nil
}

// Map implements [emu.CPU].
func (e *engine) Map(addr uint64, size int, prot emu.Prot, watch bool) (*emu.Page, error) {
	var base unsafe.Pointer
	w := C.int(0)
	if watch {
		w = 1
	}
	live := C.xu_map(e.x, C.uint64_t(addr), C.uint64_t(size), C.int(prot), w, &base)
	if live == nil {
		return nil, fmt.Errorf("unicorn: %w: %d bytes at %#x", emu.ErrAddress, size, addr)
	}
	p := &emu.Page{Addr: addr, Prot: prot, Live: unsafe.Slice((*byte)(live), size)}
	if base != nil {
		p.Base = unsafe.Slice((*byte)(base), size)
	}
	e.pages = append(e.pages, p)
	return p, nil
}

// Unmap implements [emu.CPU].
func (e *engine) Unmap(addr uint64) error {
	i := slices.IndexFunc(e.pages, func(p *emu.Page) bool { return p.Addr == addr })
	if i < 0 {
		return fmt.Errorf("unicorn: nothing is mapped at %#x", addr)
	}
	e.pages = slices.Delete(e.pages, i, i+1)
	if r := C.xu_unmap(e.x, C.uint64_t(addr)); r != 0 {
		return fmt.Errorf("unicorn: unmap %#x: error %d", addr, int(r))
	}
	return nil
}

// Pages implements [emu.CPU].
func (e *engine) Pages() []*emu.Page { return e.pages }

// Forget implements [emu.CPU].
func (e *engine) Forget(addr uint64, size int) error {
	if r := C.xu_forget(e.x, C.uint64_t(addr), C.uint64_t(size)); r != 0 {
		return fmt.Errorf("unicorn: remove cache %#x: error %d", addr, int(r))
	}
	return nil
}

var errState = errors.New("unicorn: a state holds memory that is not watched")

// Run implements [emu.CPU].
func (e *engine) Run(b *emu.Batch) error {
	words := len(e.t.Words)
	if b.N == 0 || len(b.In) < b.N*words || len(b.Out) < b.N*words || len(b.InFirst) <= b.N || len(b.Stops) < b.N {
		return errors.New("unicorn: batch too small")
	}
	trace := (*C.uint64_t)(nil)
	if b.Trace != nil {
		trace = (*C.uint64_t)(unsafe.Pointer(&e.trace[0]))
	}
	for {
		room := cap(b.Lines)
		if room == 0 {
			b.Lines = make([]emu.Line, 0, 64)
			continue
		}
		b.Lines = b.Lines[:room]
		done := C.xu_run(e.x, C.uint64_t(b.Lo), C.uint64_t(b.Hi), C.uint32_t(b.Limit), C.uint32_t(b.N),
			(*C.uint64_t)(unsafe.Pointer(&b.In[0])), (*C.uint64_t)(unsafe.Pointer(&b.Out[0])),
			(*C.xu_line)(unsafe.Pointer(unsafe.SliceData(b.InLines))), (*C.uint32_t)(unsafe.Pointer(&b.InFirst[0])),
			(*C.xu_stop)(unsafe.Pointer(&b.Stops[0])),
			(*C.xu_line)(unsafe.Pointer(unsafe.SliceData(b.Lines))), C.uint32_t(room), trace)
		if int(done) == b.N {
			break
		}
		if room >= e.watched()/emu.LineSize*b.N {
			return errState
		}
		b.Lines = make([]emu.Line, 0, 4*room)
	}
	last := &b.Stops[b.N-1]
	b.Lines = b.Lines[:last.First+last.Lines]
	if b.Trace != nil {
		b.Trace = append(b.Trace[:0], e.trace[:min(int(last.Steps), len(e.trace))]...)
	}
	return nil
}

func (e *engine) watched() int {
	n := 0
	for _, p := range e.pages {
		n += len(p.Base)
	}
	return n
}

// Sizes of the shim's structures, for the test of their layout.
const (
	sizeofLine   = uintptr(C.sizeof_xu_line)
	sizeofStop   = uintptr(C.sizeof_xu_stop)
	offsetofKind = unsafe.Offsetof(C.xu_stop{}.kind)
)
