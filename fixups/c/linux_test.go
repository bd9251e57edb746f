package c_test

import (
	"fmt"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/fixups/linux"
)

// TestMaps reads and writes every register number of every structure of Linux
// on both sides: values, and which bytes of the structure change.
func TestMaps(t *testing.T) {
	g := newGen(t, 4)
	var s script
	for i, m := range linux.Maps() {
		for reg := range 256 {
			s.regs(g, i, m, fixups.Reg(reg))
			for part := range 3 {
				s.regs(g, i, m, fixups.RegPart(fixups.Reg(reg), part))
			}
		}
		s.regs(g, i, m, fixups.RegPC)
		s.regs(g, i, m, fixups.RegNone)
		if m.Flags != fixups.RegNone {
			for range 8 {
				s.regs(g, i, m, m.Flags)
			}
		}
	}
	playAll(t, &s)
}

func (s *script) regs(g gen, i int, m *linux.Map, r fixups.Reg) {
	v, hide := g.Uint64(), g.bool()
	buf := make([]byte, m.Size)
	for j := range buf {
		buf[j] = byte(mix(v, uint64(j)))
	}
	mach := linux.Machine{Parts: []linux.Part{{Map: m, Buf: buf}}, HideTrap: hide}
	var b []byte
	if x, ok := mach.Reg(r); ok {
		b = fmt.Appendf(b, "get %x", x)
	}
	if mach.SetReg(r, v) {
		b = append(b, " set"...)
	}
	for j := range buf {
		if buf[j] != byte(mix(v, uint64(j))) {
			b = fmt.Appendf(b, " %x=%x", j, buf[j])
		}
	}
	s.add(string(b), "regs %x %x %x %x", i, uint16(r), v, b2i(hide))
}
