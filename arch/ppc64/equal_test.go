package ppc64

import (
	"fmt"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/reloc"
)

// Site and copy are run side by side on [machine], from states in which every test
// of a branch goes both ways; the copy also stopped at every boundary and taken on by
// its program, after everything that a signal may overwrite has been.

// equalEnvs are environments under which the plans of branches and operands differ.
var equalEnvs = []reloc.Env{
	{Slots: reloc.SlotsNear},
	{Slots: reloc.SlotsNear, ABI: reloc.ABICall, Features: FeatureISA310},
	{Slots: reloc.SlotsNear, Spill: true},
	{Slots: reloc.SlotsNear, Spill: true, Mode: reloc.ModeKernel},
	{Slots: reloc.SlotsNear, Dead: fixups.MakeRegSet(R0), Stop: fixups.StopTrap},
	{Slots: reloc.SlotsNear, Dead: fixups.MakeRegSet(TAR, CTR, R12)},
	{Slots: reloc.SlotsRange, SlotMin: 0x1000, SlotMax: 0x1000, Dead: fixups.MakeRegSet(R12)},
	{},
	{Spill: true, Dead: fixups.MakeRegSet(TAR)},
	{Spill: true, Dead: fixups.MakeRegSet(CTR)},
	{Spill: true, Dead: fixups.MakeRegSet(LR)},
	{Spill: true, Dead: fixups.MakeRegSet(TAR), Mode: reloc.ModeKernel},
	{Dead: fixups.MakeRegSet(TAR, CTR)},
	{Dead: fixups.MakeRegSet(TAR, R0), AllowLost: true},
	{Spill: true, ABI: reloc.ABIEntry, Features: FeatureISA207, Stop: fixups.StopTrap},
}

// equalWords are branches in all forms, and operands relative to pc.
func equalWords() (list []uint64) {
	for bo := range uint64(32) {
		f := bo<<21 | bo*2&31<<16
		for aalk := range uint64(4) {
			list = append(list, wordBC|f|(0x100^aalk<<14)&0xfffc|aalk)
		}
		for lk := range uint64(2) {
			list = append(list, wordBCLR|f|lk, wordBCTAR|f|lk)
			if bo&boKeep != 0 {
				list = append(list, wordBCCTR|f|3<<11|lk)
			}
		}
	}
	for _, li := range []uint64{0, 4, 0x100, 0x1fffffc, 0x2000000, 0x3fffff0} {
		for aalk := range uint64(4) {
			list = append(list, wordB|li|aalk)
		}
	}
	for _, d := range []uint64{0, 1, 0x10000, 0x1f0000, 0xffc0, 0x1fffc1} {
		for _, rt := range []uint64{0, 1, 3, 12, 31} {
			list = append(list, 0x4c000004|rt<<21|d)
		}
	}
	for _, rt := range []uint64{0, 1, 3, 12, 31} {
		for _, d := range []uint64{0, 0x100, 1<<33 - 8, 1 << 33, 1<<34 - 16} {
			field := d>>16<<32 | d&0xffff
			list = append(list, 0x0610000038000000|rt<<21|field, 0x04100000e4000000|rt<<21|field, 0x04100000f4000000|rt<<21|field)
		}
	}
	return list
}

func TestEqual(t *testing.T) {
	if testenv.Race {
		t.Skip("compares plans in one goroutine; runs without the race detector")
	}
	for _, a := range orders {
		t.Run(a.info.Name, func(t *testing.T) {
			plans := map[fixups.Form]int{}
			for n, w := range equalWords() {
				for i := range equalEnvs {
					if a == LE && (n+i)%4 != 0 {
						continue // all but the order is the same
					}
					for _, f := range reloc.Order {
						if a.equal(t, w, i, f) {
							plans[f]++
						}
					}
				}
			}
			t.Log(plans)
			for _, f := range reloc.Order {
				if plans[f] < 800 {
					t.Errorf("%d plans to %v", plans[f], f)
				}
			}
		})
	}
}

// bytesOf is one or two words in the byte order.
func (a *Arch) bytesOf(w uint64) []byte {
	b := planner{a: a, p: new(fixups.Plan)}
	if w>>32 != 0 {
		b.word(uint32(w >> 32))
	}
	b.word(uint32(w))
	return b.p.Code
}

// trial is one plan that is compared.
type trial struct {
	*testing.T
	a    *Arch
	in   reloc.Insn
	env  *reloc.Env
	p    reloc.Plan
	code []byte
	at   fixups.Bases
	name string
}

// equal reports whether there is a plan; if so, it is compared.
func (a *Arch) equal(t *testing.T, w uint64, i int, f fixups.Form) bool {
	e := equalEnvs[i]
	env := &e
	env.Forms = f.Bit()
	k := &trial{T: t, a: a, env: env}
	k.name = fmt.Sprintf("%s %#x, environment %d,", a.info.Name, w, i)
	if err := a.Decode(&k.in, a.bytesOf(w), testSite); err != nil {
		t.Errorf("%s: %v", k.name, err)
		return false
	}
	if a.Plan(&k.p, &k.in, env) != nil {
		return false
	}
	k.at = fixups.Bases{Site: testSite, Slot: testFar}
	switch {
	case env.Slots == reloc.SlotsRange:
		k.at.Slot = testSite + uint64(env.SlotMin)
	case env.Slots == reloc.SlotsNear:
		k.at.Slot = testNear
	}
	var err error
	if k.code, err = fixups.PlaceOrder(nil, &k.p, k.at, a.info.Order(0)); err != nil {
		// The targets of some words are further from a near slot than from the site.
		if env.Slots == reloc.SlotsFar || k.p.Holds(int64(k.at.Slot-k.at.Site)) {
			t.Errorf("%s: %v", k.name, err)
		}
		return false
	}
	k.states()
	return true
}

// states runs the plan from states that differ in CTR and CR.
func (k *trial) states() {
	ctrs, crs := []uint64{0, 1, 2, 1<<32 + 1}, []uint64{0, 0xffffffff}
	if k.p.Form == fixups.FormEmulate {
		bit := uint64(1) << (31 - k.in.Ext[0]>>16&31) // the one that the branch tests
		ctrs, crs = append(ctrs, 1<<32, 1<<63, 1<<63+1, ^uint64(0)), append(crs, bit, 0xffffffff^bit)
	}
	for _, ctr := range ctrs {
		for _, cr := range crs {
			want := k.state(ctr, cr)
			want.code, want.addr = k.in.Bytes[:k.in.Len], testSite
			want.regs[pcReg] = testSite
			if err := want.step(); err != nil {
				k.Fatalf("%s: %v", k.name, err)
			}
			switch k.p.Form {
			case fixups.FormEmulate:
				m := k.state(ctr, cr)
				m.regs[pcReg] = testSite
				k.program(m, k.p.Emulate, new(fixups.Temps))
				k.same(want, m, "")
			case fixups.FormStep:
				k.step(want, ctr, cr)
			default:
				for stop := -1; stop < len(k.p.Points) && (stop < 0 || ctr == 1 || ctr == 2); stop++ {
					k.jump(want, ctr, cr, stop)
				}
			}
		}
		if k.Failed() {
			return
		}
	}
}

const (
	stackPointer = 0x7fff00001000
	scribbled    = 0xee // over all that a signal may overwrite
)

// state makes registers and memory.
func (k *trial) state(ctr, cr uint64) *machine {
	m := &machine{a: k.a, mem: map[uint64]byte{}}
	for r := range fixups.Reg(32) {
		m.regs[r] = uint64(r)*0x0101010101010101 ^ 0xf0f0f0f0f0f0f0f0
	}
	m.regs[R1] = stackPointer
	m.regs[LR], m.regs[TAR], m.regs[CTR], m.regs[CR] = 0x123456789ab3, 0x223456789ab2, ctr, cr
	if ctr == 2 && k.p.Form == fixups.FormStep {
		m.regs[LR] = k.at.Slot + 4 // as a target, not to be taken for a branch that fell through
		m.regs[TAR] = k.at.Slot + 4
	}
	for i := range uint64(8) {
		m.mem[k.in.Target+i] = byte(0x80 + i)
	}
	m.code, m.addr = k.code, k.at.Slot
	m.regs[pcReg] = k.at.Slot
	return m
}

func (k *trial) program(m *machine, p fixups.Program, temps *fixups.Temps) {
	if err := fixups.Run(p, m, &k.at, temps, 64); err != nil {
		k.Fatalf("%s: %v", k.name, err)
	}
}

// step runs one instruction of the slot, and before that shows that Abort undoes Pre.
func (k *trial) step(want *machine, ctr, cr uint64) {
	temps := new(fixups.Temps)
	m := k.state(ctr, cr)
	k.program(m, k.p.Pre, temps)
	k.program(m, k.p.Abort, temps)
	before := k.state(ctr, cr)
	before.regs[pcReg] = testSite
	k.same(before, m, "aborted")
	m = k.state(ctr, cr)
	k.program(m, k.p.Pre, temps)
	m.regs[pcReg] = k.at.Slot
	if err := m.step(); err != nil {
		k.Fatalf("%s: %v", k.name, err)
	}
	k.program(m, k.p.Post, temps)
	k.same(want, m, "stepped")
}

// jump runs the slot until it is left, or up to boundary stop and on by its program.
func (k *trial) jump(want *machine, ctr, cr uint64, stop int) {
	m := k.state(ctr, cr)
	for n := 0; n < 64; n++ {
		off := m.regs[pcReg] - k.at.Slot
		if off >= uint64(len(k.code)) {
			break
		}
		if stop >= 0 && uint64(k.p.Points[stop].Off) == off {
			k.resume(want, m, &k.p.Points[stop])
			return
		}
		if err := m.step(); err != nil {
			k.Fatalf("%s: at %#x: %v", k.name, off, err)
		}
	}
	if stop < 0 {
		k.same(want, m, "run")
	}
}

// resume does what a tool does with a thread that a signal finds at a boundary.
func (k *trial) resume(want, m *machine, pt *fixups.Point) {
	if k.p.Stack != 0 && m.regs[R1] <= stackPointer {
		_, kept := k.env.ZoneOf(k.a.info)
		for a := m.regs[R1] - uint64(kept) - 512; a < m.regs[R1]-uint64(kept); a++ {
			m.mem[a] = scribbled
		}
	}
	what := fmt.Sprintf("stopped at %d", pt.Off)
	if pt.HasBack && (pt.State == fixups.StateStart || !pt.HasForward) {
		k.program(m, pt.Back, new(fixups.Temps))
		if m.regs[pcReg] != testSite {
			k.Errorf("%s: %s: back leads to %#x", k.name, what, m.regs[pcReg])
		}
		for r := range pt.Lost.All() {
			m.regs[r] = 0
		}
		m.code, m.addr = k.in.Bytes[:k.in.Len], testSite
		if err := m.step(); err != nil {
			k.Fatalf("%s: %v", k.name, err)
		}
	} else {
		k.program(m, pt.Forward, new(fixups.Temps))
	}
	k.same(want, m, what)
}

// same compares all but what the plan declares.
func (k *trial) same(want, got *machine, what string) {
	for i, v := range want.regs {
		if r := fixups.Reg(i); got.regs[r] != v && !k.p.Clobbers.Has(r) {
			k.Errorf("%s %s: %s: register %d is %#x, want %#x\n%s", k.name, k.p.Form, what, r, got.regs[r], v, k.a.words(k.code))
			return
		}
	}
	zone, _ := k.env.ZoneOf(k.a.info)
	below := stackPointer - uint64(zone) // what lies there is nobody's
	for addr, v := range got.mem {
		if want.mem[addr] != v && (addr >= below || addr < below-uint64(k.p.Stack) && v != scribbled) {
			k.Errorf("%s %s: %s: [%#x] is %#x, want %#x\n%s", k.name, k.p.Form, what, addr, v, want.mem[addr], k.a.words(k.code))
			return
		}
	}
}
