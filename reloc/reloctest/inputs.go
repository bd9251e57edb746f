package reloctest

import (
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// rng is splitmix64: small, seedable, the same everywhere.
type rng struct{ s uint64 }

func (r *rng) next() uint64 {
	r.s += 0x9e3779b97f4a7c15
	z := r.s
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (r *rng) fill(b []byte) []byte {
	for i := range b {
		b[i] = byte(r.next() >> 11)
	}
	return b
}

// defaultPCs are aligned addresses: low, ordinary, beyond 2 GiB and 4 GiB, and
// next to the ends of the address space, where targets wrap.
func defaultPCs(i *reloc.Info) []uint64 {
	pcs := []uint64{0x401000, 0x80001040, 0}
	if i.Bits == 64 {
		pcs = append(pcs, 0x7f1200400000, 1<<64-64)
	} else {
		pcs = append(pcs, 1<<32-64)
	}
	return pcs
}

// makeInputs are the caller's inputs, those of the Arch's constants and
// generator, random bytes, and generated instructions with a byte changed.
func (s *suite) makeInputs() [][]byte {
	in := append([][]byte(nil), s.opts.Inputs...)
	n := s.opts.Random
	switch {
	case n < 0:
		return in
	case n == 0 && testing.Short():
		n = 100
	case n == 0:
		n = 600
	}
	in = append(in, s.i.Trap)
	in = append(in, s.i.Nops...)
	g, _ := s.a.(reloc.Generator)
	for k := range n {
		b := s.rnd.fill(make([]byte, 1+s.rnd.next()%uint64(s.i.MaxLen+4)))
		if g != nil && k%4 != 0 {
			b = g.AppendRandom(b[:0:0], s.rnd.next)
			if k%4 == 3 && len(b) > 0 {
				b[s.rnd.next()%uint64(len(b))] ^= 1 << (s.rnd.next() & 7)
			}
		}
		in = append(in, b)
	}
	return in
}

// Envs are environments that together reach most of what a port can do: the
// zero value, near, far and odd ranges of slots, every permission alone, all of
// them at once, both ways to stop, and the vendors.
func Envs(i *reloc.Info) []reloc.Env {
	all := reloc.Env{Spill: true, Data: true, AllowLost: true, Private: true, Short: true, AllowUnknown: true}
	for _, r := range i.Regs {
		if r.Num != i.SP && r.Num != i.Flags {
			all.Dead.Add(r.Num)
		}
	}
	near := all
	near.Slots = reloc.SlotsNear
	return []reloc.Env{
		{},
		{Slots: reloc.SlotsNear},
		{Slots: reloc.SlotsRange, SlotMin: 0x1000, SlotMax: 0x1000},
		{Slots: reloc.SlotsRange, SlotMin: -0x40000, SlotMax: 0x40000},
		{Spill: true},
		{Spill: true, Slots: reloc.SlotsNear, Return: fixups.ReturnsSlot},
		{Data: true, ExecuteOnly: true},
		{Data: true, Private: true},
		{Data: true, Private: true, ExecuteOnly: true, Return: fixups.ReturnsSlot},
		{Stop: fixups.StopTrap, Slots: reloc.SlotsNear},
		{Mode: reloc.ModeKernel, Stop: fixups.StopTrap},
		{Vendor: reloc.VendorIntel, SHSTK: reloc.On, IBT: reloc.On, BTI: reloc.On, GCS: reloc.On},
		{Vendor: reloc.VendorAMD, SHSTK: reloc.Off, IBT: reloc.Off, BTI: reloc.Off, GCS: reloc.Off},
		{ABI: reloc.ABICall, Return: fixups.ReturnsSlot},
		all,
		near,
	}
}
