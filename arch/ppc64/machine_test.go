package ppc64

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/xol-go/xol/fixups"
)

// machine runs the few instructions that slot code is made of, as the manual's
// pseudocode has them, and is a [fixups.Machine] for programs.
type machine struct {
	a    *Arch
	regs [pcReg + 1]uint64
	mem  map[uint64]byte
	code []byte // at addr
	addr uint64
}

// pcReg is where regs has pc.
const pcReg = 127

func (m *machine) Reg(r fixups.Reg) (uint64, bool) { return m.regs[min(r, pcReg)], true }

func (m *machine) SetReg(r fixups.Reg, v uint64) bool {
	m.regs[min(r, pcReg)] = v
	return true
}

func (m *machine) ShadowPush(uint64) bool         { return true }
func (m *machine) ShadowPop() (v uint64, ok bool) { return 0, false }

func (m *machine) Load(addr uint64, b []byte) bool {
	for i := range b {
		b[i] = m.mem[addr+uint64(i)]
	}
	return true
}

func (m *machine) Store(addr uint64, b []byte) bool {
	for i := range b {
		m.mem[addr+uint64(i)] = b[i]
	}
	return true
}

func (m *machine) order() binary.ByteOrder {
	if m.a.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (m *machine) load(addr uint64) uint64 {
	var b [8]byte
	m.Load(addr, b[:])
	return m.order().Uint64(b[:])
}

func (m *machine) store(addr, v uint64) {
	var b [8]byte
	m.order().PutUint64(b[:], v)
	m.Store(addr, b[:])
}

var errOutside = errors.New("outside of what the machine knows")

// step executes the instruction at pc.
func (m *machine) step() error {
	pc := m.regs[pcReg]
	off := pc - m.addr
	if off+4 > uint64(len(m.code)) {
		return errOutside
	}
	w := m.a.word(m.code[off:])
	next := pc + 4
	if w>>26 == 1 {
		next += 4
	}
	m.regs[pcReg] = next
	rt, ra, d := fixups.Reg(w>>21&31), fixups.Reg(w>>16&31), uint64(int64(int16(w)))
	base := m.regs[ra]
	if ra == 0 {
		base = 0
	}
	switch op := w >> 26; op {
	case 1:
		return m.prefixed(w, m.a.word(m.code[off+4:]), pc)
	case 14: // addi
		m.regs[rt] = base + d
	case 15: // addis
		m.regs[rt] = base + d<<16
	case 16, 18, 19:
		return m.branch(w, pc)
	case 24: // ori
		m.regs[ra] = m.regs[rt] | uint64(uint16(w))
	case 25: // oris
		m.regs[ra] = m.regs[rt] | uint64(uint16(w))<<16
	case 30: // rldicr ra,rt,32,31
		if w&0x7ff != 0x7c6 {
			return errOutside
		}
		m.regs[ra] = bits.RotateLeft64(m.regs[rt], 32) &^ (1<<32 - 1)
	case 58: // ld
		m.regs[rt] = m.load(base + d&^3)
	case 62: // std, stdu
		m.store(base+d&^3, m.regs[rt])
		if w&3 == 1 {
			m.regs[ra] = base + d&^3
		}
	case 31:
		return m.special(w, rt)
	default:
		return fmt.Errorf("%08x: %w", w, errOutside)
	}
	return nil
}

// special is mtspr and mfspr.
func (m *machine) special(w uint32, rt fixups.Reg) error {
	spr, ok := map[uint32]fixups.Reg{8: LR, 9: CTR, 815: TAR}[w>>16&31|w>>11&31<<5]
	switch {
	case ok && w&0x7ff == 0x3a6:
		m.regs[spr] = m.regs[rt]
	case ok && w&0x7ff == 0x2a6:
		m.regs[rt] = m.regs[spr]
	default:
		return fmt.Errorf("%08x: %w", w, errOutside)
	}
	return nil
}

// branch is every branch, and addpcis, at pc.
func (m *machine) branch(w uint32, pc uint64) error {
	var target uint64
	op, xo := w>>26, w>>1&0x3ff
	aa, lk := w&2 != 0, w&1 != 0
	switch {
	case op == 19 && w>>1&31 == 2:
		d := w&0xffc0 | w>>15&0x3e | w&1
		m.regs[fixups.Reg(w>>21&31)] = pc + 4 + uint64(int64(int16(d)))<<16
		return nil
	case op == 18:
		target = uint64(int64(int32(w<<6)>>6) &^ 3)
	case op == 16:
		target = uint64(int64(int16(w)) &^ 3)
	case xo == 16:
		target = m.regs[LR] &^ 3
	case xo == 528:
		target = m.regs[CTR] &^ 3
	case xo == 560:
		target = m.regs[TAR] &^ 3
	default:
		return errOutside
	}
	if op != 19 && !aa {
		target += pc
	}
	taken := true
	if op != 18 {
		bo, bi := w>>21&31, w>>16&31
		cr := m.regs[CR]>>(31-bi)&1 != 0
		ctrOK := true
		if bo&4 == 0 {
			m.regs[CTR]--
			ctrOK = (m.regs[CTR] != 0) != (bo&2 != 0)
		}
		taken = ctrOK && (bo&16 != 0 || cr == (bo&8 != 0))
	}
	if lk {
		m.regs[LR] = pc + 4
	}
	if taken {
		m.regs[pcReg] = target
	}
	return nil
}

// prefixed is paddi, pli, pld and pstd.
func (m *machine) prefixed(p, w uint32, pc uint64) error {
	d := int64(uint64(p&0x3ffff)<<46|uint64(w&0xffff)<<30) >> 30
	rt, ra := fixups.Reg(w>>21&31), fixups.Reg(w>>16&31)
	base := m.regs[ra]
	switch {
	case p&fieldR != 0:
		base = pc
	case ra == 0:
		base = 0
	}
	addr := base + uint64(d)
	switch {
	case pc&63 == 60:
		return errors.New("a prefix at the end of 64 bytes")
	case p>>20&0xfee == 0x060 && w>>26 == 14:
		m.regs[rt] = addr
	case p>>20&0xfee == 0x040 && w>>26 == 57:
		m.regs[rt] = m.load(addr)
	case p>>20&0xfee == 0x040 && w>>26 == 61:
		m.store(addr, m.regs[rt])
	default:
		return errOutside
	}
	return nil
}
