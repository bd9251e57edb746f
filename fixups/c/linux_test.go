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
	wide := 0 // bytes of a whole vector, where there may be some
	if fixups.RegPart(0, 0) <= r && r < fixups.RegPart(255, 7) {
		wide = []int{0, 16, 32, 256}[g.IntN(4)]
	}
	buf := make([]byte, m.Size+32*wide)
	for j := range buf {
		buf[j] = byte(mix(v, uint64(j)))
	}
	mach := linux.Machine{Parts: []linux.Part{{Map: m, Buf: buf[:m.Size]}}, HideTrap: hide}
	if wide != 0 {
		mach.Parts[0].Wide, mach.Parts[0].WideSize = buf[m.Size:], wide
	}
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
	s.add(string(b), "regs %x %x %x %x %x", i, uint16(r), v, b2i(hide), wide)
}
