package fixups

import "math/rand/v2"

// machine is memory of bytes that come into being when they are read, and all
// registers.
type machine struct {
	regs    map[Reg]uint64
	mem     map[uint64]byte
	rnd     *rand.Rand
	noReg   Reg    // a register it does not have
	bad     uint64 // accesses that touch this address fault
	hasBad  bool
	shadow  []uint64
	hasShad bool
	badPush bool
	loads   int
	stores  int
}

func newMachine(seed uint64) *machine {
	return &machine{regs: map[Reg]uint64{}, mem: map[uint64]byte{}, rnd: newSeeded(seed), noReg: RegNone}
}

func (m *machine) Reg(r Reg) (uint64, bool) {
	if r == m.noReg {
		return 0, false
	}
	v, ok := m.regs[r]
	if !ok {
		v = m.rnd.Uint64()
		m.regs[r] = v
	}
	return v, true
}

func (m *machine) SetReg(r Reg, v uint64) bool {
	if r == m.noReg {
		return false
	}
	m.regs[r] = v
	return true
}

func (m *machine) faults(addr uint64, n int) bool {
	return m.hasBad && m.bad-addr < uint64(n)
}

func (m *machine) Load(addr uint64, b []byte) bool {
	if m.faults(addr, len(b)) {
		return false
	}
	m.loads++
	for i := range b {
		c, ok := m.mem[addr+uint64(i)]
		if !ok {
			c = byte(m.rnd.Uint32())
			m.mem[addr+uint64(i)] = c
		}
		b[i] = c
	}
	return true
}

func (m *machine) Store(addr uint64, b []byte) bool {
	if m.faults(addr, len(b)) {
		return false
	}
	m.stores++
	for i := range b {
		m.mem[addr+uint64(i)] = b[i]
	}
	return true
}

func (m *machine) ShadowPush(v uint64) bool {
	if m.badPush {
		return false
	}
	if m.hasShad {
		m.shadow = append(m.shadow, v)
	}
	return true
}

func (m *machine) ShadowPop() (uint64, bool) {
	if !m.hasShad || len(m.shadow) == 0 {
		return 0, false
	}
	v := m.shadow[len(m.shadow)-1]
	m.shadow = m.shadow[:len(m.shadow)-1]
	return v, true
}
