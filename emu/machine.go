package emu

import (
	"slices"

	"github.com/xol-go/xol/fixups"
)

// machine is a [fixups.Machine] over a [State] and the memory of a CPU. Stores
// go to the state's lines: the CPU's memory does not change.
type machine struct {
	t     *Target
	x     *index
	pages []*Page
	state *State
}

// Reg implements [fixups.Machine].
func (m *machine) Reg(r fixups.Reg) (uint64, bool) {
	i := m.x.word(r)
	if i < 0 {
		return 0, false
	}
	return m.state.Words[i], true
}

// SetReg implements [fixups.Machine].
func (m *machine) SetReg(r fixups.Reg, v uint64) bool {
	i := m.x.word(r)
	if i < 0 || m.t.Words[i].ReadOnly {
		return false
	}
	if i == m.x.pc && m.t.Branch != nil {
		v = m.t.Branch(v)
	}
	m.state.Words[i] = v & m.x.mask[i]
	if v, part, _ := r.Part(); m.t.ZeroesUpper && part == 0 && v < 256 {
		clear(m.state.Words[i+1 : i+max(1, int(m.x.n[v]))])
	}
	return true
}

func (m *machine) page(addr uint64) *Page {
	for _, p := range m.pages {
		if addr-p.Addr < uint64(len(p.Live)) {
			return p
		}
	}
	return nil
}

// line returns the overlay line that holds addr, nil if there is none, and where
// it is or would be. There are few lines, and the last is asked for most.
func (m *machine) line(addr uint64) (*Line, int) {
	at := addr &^ (LineSize - 1)
	lines := m.state.Lines
	i := len(lines)
	for i > 0 && lines[i-1].Addr > at {
		i--
	}
	if i > 0 && lines[i-1].Addr == at {
		return &lines[i-1], i - 1
	}
	return nil, i
}

// Load implements [fixups.Machine].
func (m *machine) Load(addr uint64, b []byte) bool {
	if !m.allowed(addr, len(b), ProtRead) {
		return false
	}
	for i := range b {
		b[i] = m.peek(addr + uint64(i))
	}
	return true
}

// peek returns the byte at addr, which is mapped.
func (m *machine) peek(addr uint64) byte {
	if l, _ := m.line(addr); l != nil {
		return l.Data[addr-l.Addr]
	}
	p := m.page(addr)
	if p == nil {
		return 0
	}
	if p.Watched() {
		return p.Base[addr-p.Addr]
	}
	return p.Live[addr-p.Addr]
}

func (m *machine) allowed(addr uint64, n int, prot Prot) bool {
	for _, a := range [2]uint64{addr, addr + uint64(n) - 1} {
		if p := m.page(a); p == nil || p.Prot&prot != prot {
			return false
		}
	}
	return true
}

// Store implements [fixups.Machine].
func (m *machine) Store(addr uint64, b []byte) bool {
	if !m.allowed(addr, len(b), ProtWrite) {
		return false
	}
	for i, v := range b {
		m.poke(addr+uint64(i), v)
	}
	return true
}

// poke writes one byte of mapped memory. What is not watched is scratch of the
// slot: it is written through.
func (m *machine) poke(addr uint64, v byte) {
	if p := m.page(addr); !p.Watched() {
		p.Live[addr-p.Addr] = v
		return
	}
	l := m.overlay(addr)
	l.Data[addr-l.Addr] = v
}

// overlay returns the state's line that holds addr, which is watched; it makes
// one that holds the base if there is none.
func (m *machine) overlay(addr uint64) *Line {
	l, at := m.line(addr)
	if l == nil {
		p := m.page(addr)
		n := Line{Addr: addr &^ (LineSize - 1)}
		copy(n.Data[:], p.Base[n.Addr-p.Addr:])
		m.state.Lines = slices.Insert(m.state.Lines, at, n)
		l = &m.state.Lines[at]
	}
	return l
}

// ShadowPush implements [fixups.Machine]: no oracle has a shadow stack.
func (m *machine) ShadowPush(uint64) bool { return true }

// ShadowPop implements [fixups.Machine].
func (m *machine) ShadowPop() (uint64, bool) { return 0, false }
