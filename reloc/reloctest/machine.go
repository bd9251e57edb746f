package reloctest

import "github.com/xol-go/xol/fixups"

// machine is a thread of no ISA: every register has a value that depends on its
// number and a seed until it is written, and all of memory can be read.
type machine struct {
	seed uint64
	regs map[fixups.Reg]uint64
	mem  map[uint64]byte
}

func newMachine(seed uint64) *machine {
	return &machine{seed: seed, regs: map[fixups.Reg]uint64{}, mem: map[uint64]byte{}}
}

// first is the value that a register has before anything is written. One seed
// makes all of them 0, one all bits 1.
func (m *machine) first(r fixups.Reg) uint64 {
	switch m.seed {
	case 0:
		return 0
	case 1:
		return ^uint64(0)
	}
	g := rng{m.seed<<16 ^ uint64(r)}
	return g.next()
}

func (m *machine) Reg(r fixups.Reg) (uint64, bool) {
	if v, ok := m.regs[r]; ok {
		return v, true
	}
	return m.first(r), true
}

func (m *machine) SetReg(r fixups.Reg, v uint64) bool { m.regs[r] = v; return true }

func (m *machine) Load(addr uint64, b []byte) bool {
	for i := range b {
		a := addr + uint64(i)
		v, ok := m.mem[a]
		if !ok {
			g := rng{m.seed ^ a}
			v = byte(g.next())
		}
		b[i] = v
	}
	return true
}

func (m *machine) Store(addr uint64, b []byte) bool {
	for i := range b {
		m.mem[addr+uint64(i)] = b[i]
	}
	return true
}

func (m *machine) ShadowPush(uint64) bool    { return true }
func (m *machine) ShadowPop() (uint64, bool) { return 0, false }
