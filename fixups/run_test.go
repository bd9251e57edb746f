package fixups

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// machine is memory of bytes that come into being when they are read, and all
// registers.
type machine struct {
	regs    map[Reg]uint64
	set     map[Reg]bool // registers that were written
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
	return &machine{regs: map[Reg]uint64{}, set: map[Reg]bool{}, mem: map[uint64]byte{}, rnd: newSeeded(seed), noReg: RegNone}
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
	m.regs[r], m.set[r] = v, true
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

// run1 executes one program on a machine whose rax and rdx are given, and
// returns rax.
func run1(t *testing.T, bits int, rax, rdx uint64, lines ...string) uint64 {
	t.Helper()
	m := newMachine(1)
	m.regs[0], m.regs[1] = rax, rdx
	at := Bases{Site: 0x1000, Slot: 0xffff_ffff_0000_0000, Data: 0x9000}
	if err := Run(prog(t, lines...), m, &at, &Temps{}, bits); err != nil {
		t.Fatalf("%v: %v", lines, err)
	}
	return m.regs[0]
}

func TestRunOps(t *testing.T) {
	const top = 1 << 63
	for _, c := range []struct {
		step     string
		rax, rdx uint64
		want64   uint64
		want32   uint64
	}{
		{"rax = mov rdx", 0, 1<<63 | 5, 1<<63 | 5, 5},
		{"rax = mov -0x1", 0, 0, ^uint64(0), 0xffffffff},
		{"rax = mov site+0x10", 0, 0, 0x1010, 0x1010},
		{"rax = mov site-0x1001", 0, 0, ^uint64(0), 0xffffffff},
		{"rax = mov slot+0x1", 0, 0, 0xffffffff00000001, 1},
		{"rax = mov data-0x1", 0, 0, 0x8fff, 0x8fff},
		{"rax = add rax, rdx", ^uint64(0), 1, 0, 0},
		{"rax = add rax, rdx", 0xffffffff, 1, 1 << 32, 0},
		{"rax = sub rax, rdx", 0, 1, ^uint64(0), 0xffffffff},
		{"rax = and rax, rdx", 0xff00ff00, 0x0ff00ff0, 0x0f000f00, 0x0f000f00},
		{"rax = or rax, rdx", 0xff00ff00, 0x0ff00ff0, 0xfff0fff0, 0xfff0fff0},
		{"rax = xor rax, rdx", 0xff00ff00, 0x0ff00ff0, 0xf0f0f0f0, 0xf0f0f0f0},
		{"rax = shl rax, rdx", 1, 63, top, 0},
		{"rax = shl rax, rdx", 1, 31, 1 << 31, 1 << 31},
		{"rax = shl rax, rdx", 1, 32, 1 << 32, 0},
		{"rax = shl rax, rdx", 1, 64, 0, 0},
		{"rax = shl rax, rdx", 1, 1 << 32, 0, 1}, // a 32-bit machine sees a count of 0
		{"rax = shr rax, rdx", top, 63, 1, 0},
		{"rax = shr rax, rdx", 0x80000000, 31, 1, 1},
		{"rax = shr rax, rdx", top | 0x80000000, 64, 0, 0},
		{"rax = shr rax, rdx", top | 0x80000000, 0, top | 0x80000000, 0x80000000},
		{"rax = zext8 rdx", 0, 0xfedcba98, 0x98, 0x98},
		{"rax = zext16 rdx", 0, 0xfedcba98, 0xba98, 0xba98},
		{"rax = zext32 rdx", 0, 0x1fedcba98, 0xfedcba98, 0xfedcba98},
		{"rax = sext8 rdx", 0, 0x80, 0xffffffffffffff80, 0xffffff80},
		{"rax = sext8 rdx", 0, 0xff7f, 0x7f, 0x7f},
		{"rax = sext16 rdx", 0, 0x8000, 0xffffffffffff8000, 0xffff8000},
		{"rax = sext32 rdx", 0, 0x80000000, 0xffffffff80000000, 0x80000000},
		{"rax = extract rdx, 6, 1", 0, 0x40, 1, 1},
		{"rax = extract rdx, 8, 8", 0, 0x123456, 0x34, 0x34},
		{"rax = extract rdx, 0, 64", 0, top | 1, top | 1, 1},
		{"rax = extract rdx, 63, 1", 0, top, 1, 0},
		{"rax = insert rdx, 8, 8", 0x11223344, 0xaabb, 0x1122bb44, 0x1122bb44},
		{"rax = insert rdx, 0, 64", 5, top | 9, top | 9, 9},
		{"rax = insert rdx, 63, 1", 0, 1, top, 0},
		{"rax = insert rdx, 0, 1", ^uint64(0), 2, ^uint64(1), 0xfffffffe},
		{"rax = shpop rdx", 0, 7, 7, 7},
		{"rax = shpop", 3, 0, 3, 3},
	} {
		if got := run1(t, 64, c.rax, c.rdx, c.step); got != c.want64 {
			t.Errorf("%s, rax %#x, rdx %#x: %#x, want %#x", c.step, c.rax, c.rdx, got, c.want64)
		}
		want32 := c.want32
		if c.step == "rax = shpop" {
			want32 = c.rax
		}
		if got := run1(t, 32, c.rax, c.rdx, c.step); got != want32 {
			t.Errorf("32 bits: %s, rax %#x, rdx %#x: %#x, want %#x", c.step, c.rax, c.rdx, got, want32)
		}
	}
}

func TestRunConditions(t *testing.T) {
	// Both orders of -1, 0, 1 and the ends of the range, at each width, held
	// against Go's own comparisons.
	vals := []uint64{0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 32, 1<<63 - 1, 1 << 63, ^uint64(0)}
	for _, w := range []uint{8, 16, 32, 64} {
		for _, a := range vals {
			for _, b := range vals {
				ua, ub := a<<(64-w), b<<(64-w)
				sa, sb := int64(ua), int64(ub)
				for cond, want := range map[string]bool{"eq": ua == ub, "ne": ua != ub, "lt": sa < sb, "le": sa <= sb, "gt": sa > sb, "ge": sa >= sb,
					"b": ua < ub, "be": ua <= ub, "a": ua > ub, "ae": ua >= ub} {
					lines := []string{fmt.Sprintf("skip 1 if rax %s rdx w%d", cond, w), "rax = mov 0x1234"}
					if got := run1(t, 64, a, b, lines...) != 0x1234; got != want && a != 0x1234 {
						t.Errorf("%#x %s %#x w%d: %v", a, cond, b, w, got)
					}
				}
			}
		}
	}
}

func TestRunSkips(t *testing.T) {
	lines := []string{"skip 2 if rax eq 0 w64", "rax = add rax, 1", "rax = add rax, 2", "rax = add rax, 4"}
	if got := run1(t, 64, 0, 0, lines...); got != 4 {
		t.Errorf("skipped: %d", got)
	}
	if got := run1(t, 64, 8, 0, lines...); got != 15 {
		t.Errorf("not skipped: %d", got)
	}
	if got := run1(t, 64, 0, 0, append([]string{"skip 31 if rax eq 0 w8"}, repeat(31, "rax = add rax, 1")...)...); got != 0 {
		t.Errorf("skipped to the end: %d", got)
	}
}

func TestRunMemory(t *testing.T) {
	for _, bits := range []int{64, 32} {
		m := newMachine(1)
		for i := range 8 {
			m.mem[0x1000+uint64(i)] = byte(0x81 + i)
		}
		at := Bases{Site: 0x1000}
		want := map[string]uint64{"1le": 0x81, "1be": 0x81, "2le": 0x8281, "2be": 0x8182, "4le": 0x84838281, "4be": 0x81828384, "8le": 0x8887868584838281, "8be": 0x8182838485868788}
		for sz, v := range want {
			if bits == 32 {
				v &= 0xffffffff
			}
			p := prog(t, "rax = load"+sz+" site", "store"+sz+" site+0x100, rax", "store"+sz+" site+0x200, -0x7f7e7d7c7b7a7978")
			if err := Run(p, m, &at, &Temps{}, bits); err != nil || m.regs[0] != v {
				t.Errorf("%d bits: load%s: %#x, %v, want %#x", bits, sz, m.regs[0], err, v)
			}
			n := uint64(sz[0] - '0')
			for i := range n {
				if bits == 64 && m.mem[0x1100+i] != m.mem[0x1000+i] {
					t.Errorf("store%s does not undo load%s", sz, sz)
				}
			}
			if _, ok := m.mem[0x1100+n]; ok {
				t.Errorf("store%s writes more", sz)
			}
			low := m.mem[0x1200]
			if sz[1] == 'b' {
				low = m.mem[0x1200+n-1]
			}
			if low != 0x88 {
				t.Errorf("store%s: %#x", sz, low)
			}
			for i := range n {
				delete(m.mem, 0x1100+i)
				delete(m.mem, 0x1200+i)
			}
		}
	}
}

func TestRunFaults(t *testing.T) {
	m := newMachine(1)
	m.hasBad, m.bad = true, 0x1003
	at := Bases{Site: 0x1000, Slot: 0x2000}
	run := func(lines ...string) error {
		m.regs[0] = 5
		m.loads, m.stores = 0, 0
		return Run(prog(t, lines...), m, &at, &Temps{}, 32)
	}
	var e *AccessError
	if err := run("t0 = load4le site", "rax = mov 1"); !errors.As(err, &e) || *e != (AccessError{Addr: 0x1000, Size: 4}) || m.regs[0] != 5 {
		t.Errorf("load: %v", err)
	}
	if err := run("store2be site+2, rax", "rax = mov 1"); !errors.As(err, &e) || *e != (AccessError{Addr: 0x1002, Size: 2, Write: true}) || m.regs[0] != 5 {
		t.Errorf("store: %v", err)
	}
	if err := run("t0 = load1le site+4", "t1 = load1le site+2"); err != nil || m.loads != 2 {
		t.Errorf("beside: %v", err)
	}
	m.badPush = true
	if err := run("shpush site", "rax = mov 1"); !errors.As(err, &e) || !e.Shadow || !e.Write || e.Size != 4 || m.regs[0] != 5 {
		t.Errorf("push: %v", err)
	}
	for _, e := range []error{&AccessError{Addr: 1, Size: 2}, &AccessError{Write: true}, &AccessError{Shadow: true}} {
		if !strings.HasPrefix(e.Error(), "fixups: ") {
			t.Error(e)
		}
	}
	m.noReg = 1
	for _, line := range []string{"rax = mov rdx", "rdx = mov rax", "rax = add rax, rdx", "rdx = insert rax, 0, 8", "rax = shpop rdx", "store8le site+0x10, rdx"} {
		if err := run(line); err != ErrNoRegister {
			t.Errorf("%s: %v", line, err)
		}
	}
	if err := run("rax = mov data"); err != ErrBases {
		t.Errorf("data that is not there: %v", err)
	}
	for _, bits := range []int{0, 16, 63, 65, -64} {
		if err := Run(nil, m, &at, &Temps{}, bits); err != ErrProgram {
			t.Errorf("%d bits: %v", bits, err)
		}
	}
	if err := Run(make(Program, MaxSteps+1), m, &at, &Temps{}, 64); err != ErrProgram {
		t.Errorf("too many steps: %v", err)
	}
}

func TestRunShadow(t *testing.T) {
	m := newMachine(1)
	m.hasShad = true
	at := Bases{Site: 0x1000}
	if err := Run(prog(t, "shpush site+5", "shpush 7", "rax = shpop 1", "rdx = shpop"), m, &at, &Temps{}, 64); err != nil || m.regs[0] != 7 || m.regs[1] != 0x1005 {
		t.Errorf("%v, %v", m.regs, err)
	}
}

// Temporaries go from one program of a visit to the next.
func TestRunTemps(t *testing.T) {
	m := newMachine(1)
	m.regs[0] = 42
	var temps Temps
	pre, post := prog(t, "t7 = mov rax", "rax = mov 0"), prog(t, "rax = mov t7")
	if pre.Check(0) != nil || post.Check(pre.Sets()) != nil {
		t.Fatal("programs")
	}
	at := Bases{}
	if Run(pre, m, &at, &temps, 64) != nil || m.regs[0] != 0 || Run(post, m, &at, &temps, 64) != nil || m.regs[0] != 42 {
		t.Errorf("%v, %v", m.regs, temps)
	}
}

// counting counts what a program does.
type counting struct {
	*machine
	changes int // to registers, memory and the shadow stack
}

func (c *counting) SetReg(r Reg, v uint64) bool { c.changes++; return c.machine.SetReg(r, v) }

// TestRunEmulateAllOrNothing: an emulate program whose access faults has
// changed nothing, whichever access it is.
func TestRunEmulateAllOrNothing(t *testing.T) {
	g := newGen(t, 12)
	faults := 0
	for range 3000 {
		p := g.program(0, true)
		for i := range p {
			if p[i].Op != OpLoad && p[i].Op != OpStore {
				continue
			}
			m := &faulting{counting: counting{machine: newMachine(g.Uint64())}, nth: g.IntN(3)}
			err := Run(p, m, &Bases{Site: 1, Slot: 2, Data: 3}, &Temps{}, pick(g, 32, 64))
			var e *AccessError
			if errors.As(err, &e) && !e.Shadow {
				faults++
				if m.changes+m.stores != 0 {
					t.Fatalf("%v: changed something before %v", p, err)
				}
			}
		}
	}
	if faults < 100 {
		t.Errorf("only %d faults", faults)
	}
}

// faulting fails its nth access.
type faulting struct {
	counting
	nth int
}

func (f *faulting) Load(a uint64, b []byte) bool {
	f.nth--
	return f.nth >= 0 && f.counting.Load(a, b)
}

func (f *faulting) Store(a uint64, b []byte) bool {
	f.nth--
	return f.nth >= 0 && f.counting.Store(a, b)
}

// decodeProgram makes steps of bytes, good and bad ones.
func decodeProgram(b []byte) Program {
	var p Program
	for ; len(b) >= 32 && len(p) <= MaxSteps; b = b[32:] {
		p = append(p, getStep(b, 0))
	}
	return p
}

func encodeProgram(p Program) []byte {
	var b []byte
	for i := range p {
		b = putStep(b, &p[i], &delta{}, &p[i])
	}
	return b
}

// FuzzRun: a program that Check accepts runs without a malformed step; no
// program makes Run panic or read more than 32 words.
func FuzzRun(f *testing.F) {
	g := gen{newSeeded(3)}
	for range 20 {
		f.Add(encodeProgram(g.program(0, false)), uint64(1), false)
	}
	f.Fuzz(func(t *testing.T, code []byte, seed uint64, narrow bool) {
		p := decodeProgram(code)
		m := newMachine(seed)
		bits := 64
		if narrow {
			bits = 32
		}
		err := Run(p, m, &Bases{Site: seed, Slot: ^seed, Data: 1}, &Temps{}, bits)
		if m.loads > MaxSteps {
			t.Fatalf("%d loads", m.loads)
		}
		if p.Check(0) != nil {
			return
		}
		if err != nil {
			t.Fatalf("%v: %v", p, err)
		}
		if m.stores > MaxStores {
			t.Fatalf("%v: %d stores", p, m.stores)
		}
		if narrow {
			for r, v := range m.regs {
				if v>>32 != 0 && m.set[r] {
					t.Fatalf("%v: register %d is %#x", p, r, v)
				}
			}
		}
	})
}

// TestRunNil: no addresses are zeros, no temporaries are some of Run's own.
func TestRunNil(t *testing.T) {
	m := newMachine(1)
	if err := Run(prog(t, "t0 = mov site+0x5", "pc = add t0, slot"), m, nil, nil, 64); err != nil {
		t.Fatal(err)
	}
	if v, _ := m.Reg(RegPC); v != 5 {
		t.Errorf("pc %#x", v)
	}
	if err := Run(prog(t, "rax = mov data"), m, nil, nil, 64); err != ErrBases {
		t.Errorf("no data: %v", err)
	}
	if err := Run(nil, m, nil, nil, 64); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

func TestRunAllocs(t *testing.T) {
	p, m, at, temps := benchProgram(t)
	if n := testing.AllocsPerRun(100, func() {
		if Run(p, m, at, temps, 64) != nil {
			t.Error("failed")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// benchProgram is the post program of a stepped conditional branch: it looks
// at flags that are scattered, and at pc.
func benchProgram(t testing.TB) (Program, Machine, *Bases, *Temps) {
	p := prog(t, "t0 = extract flags, 6, 1", "t1 = extract flags, 7, 1", "t2 = extract flags, 11, 1", "t1 = xor t1, t2", "t0 = or t0, t1",
		"t3 = load8le rsp", "skip 2 if t0 eq 0 w64", "pc = mov site+0x10", "rax = add rax, t3", "rdx = mov rax")
	if err := p.Check(0); err != nil {
		t.Fatal(err)
	}
	return p, &flatMachine{}, &Bases{Site: 0x1000}, &Temps{}
}

// flatMachine is as cheap as a machine can be: Run is what is measured.
type flatMachine struct{ regs [256]uint64 }

func (m *flatMachine) Reg(r Reg) (uint64, bool)     { return m.regs[r&255], true }
func (m *flatMachine) SetReg(r Reg, v uint64) bool  { m.regs[r&255] = v; return true }
func (m *flatMachine) Load(_ uint64, b []byte) bool { clear(b); return true }
func (m *flatMachine) Store(uint64, []byte) bool    { return true }
func (m *flatMachine) ShadowPush(uint64) bool       { return true }
func (m *flatMachine) ShadowPop() (uint64, bool)    { return 0, false }

func BenchmarkRun(b *testing.B) {
	p, m, at, temps := benchProgram(b)
	b.ReportAllocs()
	for b.Loop() {
		if Run(p, m, at, temps, 64) != nil {
			b.Fatal("failed")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(p)), "ns/step")
}
