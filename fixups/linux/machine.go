package linux

import (
	"encoding/binary"
	"io"

	"github.com/xol-go/xol/fixups"
)

// Part is a structure that holds registers of a thread.
type Part struct {
	Map *Map
	Buf []byte // changed in place

	// Wide, if not nil, are the whole vectors where Buf holds the lower parts of
	// them, WideSize bytes each, one behind the other in the order of their numbers:
	// the Z registers of arm64 as NT_ARM_SVE and a signal frame's sve_context have
	// them, always in little-endian order. Reads come from Buf, writes go to both;
	// one of part 0 zeroes the rest of the vector.
	Wide     []byte
	WideSize int
}

// Memory is the memory of a thread. Each call is one access of 1, 2, 4 or 8
// bytes, false if it faults (and then nothing is changed).
type Memory interface {
	Load(addr uint64, b []byte) bool
	Store(addr uint64, b []byte) bool
}

// Shadow is the shadow stack of a thread; see [fixups.Machine].
type Shadow interface {
	ShadowPush(v uint64) bool
	ShadowPop() (uint64, bool)
}

// Machine is a [fixups.Machine] over structures of Linux. The caller reads them
// from the thread before and writes them back after; only what a program sets
// changes. It is for one goroutine at a time.
type Machine struct {
	Parts []Part // the first that has a register decides
	Mem   Memory
	// Shadow is the shadow stack, nil if the thread has it off.
	Shadow Shadow
	// HideTrap: the trap flag in the structure is that of a stepper. Programs do
	// not see it, and what they write leaves it alone. Under ptrace the kernel
	// hides it already, but for a thread that is about to step popf or iret and
	// for one that has, until it ran on without a step.
	HideTrap bool
}

var _ fixups.Machine = (*Machine)(nil)

// part returns the part that has r, nil if there is none.
func (m *Machine) part(r fixups.Reg) *Part {
	for i := range m.Parts {
		if m.Parts[i].Map.Field(r) != nil {
			return &m.Parts[i]
		}
	}
	return nil
}

// Reg implements [fixups.Machine].
func (m *Machine) Reg(r fixups.Reg) (uint64, bool) {
	p := m.part(r)
	if p == nil {
		return 0, false
	}
	v, ok := p.Map.Get(p.Buf, r)
	if m.HideTrap && r == p.Map.Flags {
		v &^= p.Map.Trap
	}
	return v, ok
}

// SetReg implements [fixups.Machine].
func (m *Machine) SetReg(r fixups.Reg, v uint64) bool {
	p := m.part(r)
	if p == nil {
		return false
	}
	if m.HideTrap && r == p.Map.Flags {
		old, _ := p.Map.Get(p.Buf, r)
		v = v&^p.Map.Trap | old&p.Map.Trap
	}
	vector, ok := p.wide(r)
	if !ok || !p.Map.Set(p.Buf, r, v) {
		return false
	}
	if vector != nil {
		_, i, _ := r.Part()
		if i == 0 {
			clear(vector)
		}
		binary.LittleEndian.PutUint64(vector[8*i:], v)
	}
	return true
}

// wide returns the vector in Wide that r is a part of, nil if it is none; false if
// Wide is too short.
func (p *Part) wide(r fixups.Reg) ([]byte, bool) {
	first, _, _ := p.Map.firstVector().Part()
	v, i, ok := r.Part()
	if p.Wide == nil || !ok || first == fixups.RegNone {
		return nil, true
	}
	at := int(v-first) * p.WideSize
	if 8*i+8 > p.WideSize || at+p.WideSize > len(p.Wide) {
		return nil, false
	}
	return p.Wide[at : at+p.WideSize], true
}

// Load implements [fixups.Machine].
func (m *Machine) Load(addr uint64, b []byte) bool { return m.Mem.Load(addr, b) }

// Store implements [fixups.Machine].
func (m *Machine) Store(addr uint64, b []byte) bool { return m.Mem.Store(addr, b) }

// ShadowPush implements [fixups.Machine].
func (m *Machine) ShadowPush(v uint64) bool { return m.Shadow == nil || m.Shadow.ShadowPush(v) }

// ShadowPop implements [fixups.Machine].
func (m *Machine) ShadowPop() (uint64, bool) {
	if m.Shadow == nil {
		return 0, false
	}
	return m.Shadow.ShadowPop()
}

// File is [Memory] that is read and written at offsets which are addresses:
// /proc/PID/mem of a stopped thread. An access that comes back short is a
// fault. Before a store, File reads the same bytes: a store that crosses into a
// page that is not there then faults before anything has been written. (The
// kernel writes to read-only private pages through that file, too; a store
// that must fault there needs [Funcs].)
type File struct {
	R io.ReaderAt
	W io.WriterAt // nil: every store faults

	old [8]byte // here, so that a store allocates nothing
}

// Load implements [Memory].
func (f *File) Load(addr uint64, b []byte) bool {
	if int64(addr) < 0 {
		return false // no offset reaches the upper half
	}
	n, _ := f.R.ReadAt(b, int64(addr))
	return n == len(b)
}

// Store implements [Memory].
func (f *File) Store(addr uint64, b []byte) bool {
	if f.W == nil || len(b) > len(f.old) || !f.Load(addr, f.old[:len(b)]) {
		return false
	}
	n, _ := f.W.WriteAt(b, int64(addr))
	return n == len(b)
}

// Funcs is [Memory] by two functions: PTRACE_PEEKDATA, process_vm_readv, an
// emulator.
type Funcs struct {
	LoadFunc  func(addr uint64, b []byte) bool
	StoreFunc func(addr uint64, b []byte) bool // nil: every store faults
}

// Load implements [Memory].
func (f Funcs) Load(addr uint64, b []byte) bool { return f.LoadFunc(addr, b) }

// Store implements [Memory].
func (f Funcs) Store(addr uint64, b []byte) bool { return f.StoreFunc != nil && f.StoreFunc(addr, b) }
