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

	// ReadOnly: programs may read but not write it here. So are lowest parts of
	// vector registers: writing one zeroes the higher parts, some of which the
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

// Get reads r from a structure, false if it does not have r or is too short.
func (m *Map) Get(buf []byte, r fixups.Reg) (uint64, bool) {
	f := m.Field(r)
	if f == nil || int(f.Off)+int(f.Size) > len(buf) {
		return 0, false
	}
	b := buf[f.Off:][:f.Size]
	switch f.Size {
	case 2:
		return uint64(m.order().Uint16(b)), true
	case 4:
		return uint64(m.order().Uint32(b)), true
	}
	return m.order().Uint64(b), true
}

// Set writes r into a structure, false (and nothing is changed) if it does not
// have r, is too short, or r is read-only there.
func (m *Map) Set(buf []byte, r fixups.Reg, v uint64) bool {
	f := m.Field(r)
	if f == nil || f.ReadOnly || int(f.Off)+int(f.Size) > len(buf) {
		return false
	}
	b := buf[f.Off:][:f.Size]
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
