package linux

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
)

// Field is where one register is in a structure.
type Field struct {
	Reg  fixups.Reg // number of the ISA, or a part of a vector register
	Off  uint16     // bytes from the start of the structure
	Size uint8      // bytes: 2, 4 or 8. What is read is zero-extended.

	// Lsb and Bits: the register is Bits bits of the word, from bit Lsb on (0 the
	// lowest), shifted by Shift to the left. Bits 0: it is the whole word. The
	// other bits of the word are nobody's, and stay when the register is written.
	Lsb, Bits, Shift uint8
	// Zeroes is how many bytes behind the word a write zeroes: the rest of a vector
	// of which this is the lowest part. What of the vector lies elsewhere is the
	// machine's (see [Part.Wide]).
	Zeroes uint8

	// ReadOnly: programs may read but not write it here. So are lowest parts of
	// xmm registers: writing one zeroes the higher parts, some of which the
	// structure does not hold.
	ReadOnly bool
	// C is the name of the member in C, of the index for gregset_t; empty behind
	// the first of an array.
	C string
}

// Map says where the registers of an instruction set are in one structure of
// Linux. Maps are immutable.
type Map struct {
	Name   string     // of the map in C: amd64_user_regs
	Arch   string     // GOARCH spelling: whose register numbers these are
	Struct string     // C type of the structure
	Size   int        // bytes of the structure that the map needs
	Flags  fixups.Reg // register with the trap flag, RegNone if it is not here
	Trap   uint64     // the trap flag's bit
	Fields []Field    // in the order of their offsets

	// Order is the byte order of the structure.
	Order fixups.End
}

// Field returns where r is, nil if the structure does not have it.
func (m *Map) Field(r fixups.Reg) *Field {
	for i := range m.Fields {
		if m.Fields[i].Reg == r {
			return &m.Fields[i]
		}
	}
	return nil
}

// firstVector returns the first vector register whose write zeroes what is behind
// it, RegNone if there is none.
func (m *Map) firstVector() fixups.Reg {
	for i := range m.Fields {
		if m.Fields[i].Zeroes != 0 {
			return m.Fields[i].Reg
		}
	}
	return fixups.RegNone
}

// Get reads r from a structure, false if it does not have r or is too short.
func (m *Map) Get(buf []byte, r fixups.Reg) (uint64, bool) {
	f := m.Field(r)
	if f == nil || int(f.Off)+int(f.Size) > len(buf) {
		return 0, false
	}
	v := m.word(buf[f.Off:][:f.Size])
	if f.Bits != 0 {
		v = v >> f.Lsb & f.mask() << f.Shift
	}
	return v, true
}

// mask has the lowest Bits bits set.
func (f *Field) mask() uint64 { return 1<<f.Bits - 1 }

func (m *Map) word(b []byte) uint64 {
	switch len(b) {
	case 2:
		return uint64(m.order().Uint16(b))
	case 4:
		return uint64(m.order().Uint32(b))
	}
	return m.order().Uint64(b)
}

// Set writes r into a structure, false (and nothing is changed) if it does not
// have r, is too short, or r is read-only there.
func (m *Map) Set(buf []byte, r fixups.Reg, v uint64) bool {
	f := m.Field(r)
	if f == nil || f.ReadOnly || int(f.Off)+int(f.Size)+int(f.Zeroes) > len(buf) {
		return false
	}
	b := buf[f.Off:][:f.Size]
	if f.Bits != 0 {
		v = m.word(b)&^(f.mask()<<f.Lsb) | v>>f.Shift&f.mask()<<f.Lsb
	}
	clear(buf[int(f.Off)+int(f.Size):][:f.Zeroes])
	switch f.Size {
	case 2:
		m.order().PutUint16(b, uint16(v))
	case 4:
		m.order().PutUint32(b, uint32(v))
	default:
		m.order().PutUint64(b, v)
	}
	return true
}

func (m *Map) order() binary.ByteOrder {
	if m.Order == fixups.BigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// Serves reports whether every register that p reads is in one of maps, and
// every one that it writes may be written there. Then Run does not return
// [fixups.ErrNoRegister] on a [Machine] over them.
func Serves(p fixups.Program, maps ...*Map) bool {
	for i := range p {
		s := &p[i]
		if !readable(maps, &s.A) || !readable(maps, &s.B) || s.Op == fixups.OpInsert && !readable(maps, &s.Dst) {
			return false
		}
		if s.Dst.Kind == fixups.OperandReg {
			if f := find(maps, s.Dst.Reg); f == nil || f.ReadOnly {
				return false
			}
		}
	}
	return true
}

func readable(maps []*Map, o *fixups.Operand) bool {
	return o.Kind != fixups.OperandReg || find(maps, o.Reg) != nil
}

// find returns the field of r in the first map that has it.
func find(maps []*Map, r fixups.Reg) *Field {
	for _, m := range maps {
		if f := m.Field(r); f != nil {
			return f
		}
	}
	return nil
}

// Maps are all maps, those of one architecture together.
func Maps() []*Map {
	return []*Map{AMD64PtRegs, AMD64UserRegs, AMD64GRegs, AMD64FPRegs,
		I386PtRegs, I386UserRegs, I386UserRegs64, I386GRegs, I386FPXRegs, I386FPState,
		ARM64PtRegs, ARM64MContext, ARM64FPSIMDContext, ARM64FPRegs,
		PPC64PtRegs, PPC64GRegs, PPC64FPRegs, PPC64VRRegs, PPC64VSX, PPC64TAR,
		PPC64LEPtRegs, PPC64LEGRegs, PPC64LEFPRegs, PPC64LEVRRegs, PPC64LEVSX, PPC64LETAR}
}
