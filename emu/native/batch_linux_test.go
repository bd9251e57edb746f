package native

import (
	"bytes"
	"debug/elf"
	"testing"
	"time"

	"github.com/xol-go/xol/emu"
)

// batchArches are those whose runner does not step.
var batchArches = []string{"arm64", "ppc64", "ppc64le"}

// batch opens the judge of an instruction set whose runner does not step.
func batch(t *testing.T, arch string) (*engine, *batchISA) {
	t.Helper()
	e := mustOpen(t, arch)
	return e, e.isa.(*batchISA)
}

// insn is instruction words as they are in memory.
func (x *batchISA) insn(words ...uint32) []byte {
	code := make([]byte, 4*len(words))
	for i, w := range words {
		x.m.kind.order.PutUint32(code[4*i:], w)
	}
	return code
}

// forms are instructions by what they do: the first register is register 3, at the
// address in register 4.
type forms struct{ nop, load, store, indirect, undefined, trap, self, add uint32 }

func formsOf(arch string) forms {
	if arch == "arm64" {
		return forms{nop: 0xd503201f, load: 0xf9400083, store: 0xf9000083, indirect: 0xd61f0080, undefined: 0, trap: 0xd4200000,
			self: 0x14000000, add: 0x91000463}
	}
	return forms{nop: 0x60000000, load: 0xe8640000, store: 0xf8640000, indirect: 0x4e800420, undefined: 0, trap: 0x7fe00008,
		self: 0x48000000, add: 0x38630001}
}

// reg is the name of a general register.
func (x *batchISA) reg(n string) string {
	if x.m.arch == "arm64" {
		return "x" + n
	}
	return "r" + n
}

// TestBatchExecutable: what is written is what another reader of ELF sees.
func TestBatchExecutable(t *testing.T) {
	for _, m := range machines() {
		for _, emulated := range []bool{false, true} {
			code, err := batchProgram(m.risc(emulated), &m.sys, emulated)
			if err != nil {
				t.Fatal(err)
			}
			if len(code) > textSize-elfHead {
				t.Errorf("%s: %d bytes", m.arch, len(code))
			}
			f, err := elf.NewFile(bytes.NewReader(elfFile(m.kind, code, textBase)))
			if err != nil {
				t.Fatal(err)
			}
			if uint16(f.Machine) != m.kind.machine || f.ByteOrder != m.kind.order || f.Entry != textBase || len(f.Progs) != 2 {
				t.Errorf("%s: %+v", m.arch, f.FileHeader)
			}
		}
	}
}

// TestBatchWords: every word of a state goes in and comes out.
func TestBatchWords(t *testing.T) {
	for _, arch := range batchArches {
		t.Run(arch, func(t *testing.T) {
			e, x := batch(t, arch)
			b := e.single(e.caseAt(x.insn(formsOf(arch).nop)...))
			for i := range e.t.Words {
				w := &e.t.Words[i]
				if w.Const || w.Name == "pc" {
					continue
				}
				mask := x.masks[i]
				if w.Vary != 0 {
					mask = w.Vary
				}
				b.In[i] = (uint64(i)*0x0123456789abcdef+0x1357)&mask | w.Value
			}
			e.Shape(b.In)
			mustRun(t, e, b)
			for i := range e.t.Words {
				if want := b.In[i]; b.Out[i] != want && e.t.Words[i].Name != "pc" {
					t.Errorf("%s: %#x, want %#x", e.t.Words[i].Name, b.Out[i], want)
				}
			}
			if got, want := e.get(b, "pc"), b.Lo+4; got != want || b.Stops[0].Kind != emu.StopLeft {
				t.Errorf("pc %#x, want %#x: %+v", got, want, b.Stops[0])
			}
		})
	}
}

// TestBatchStops: each way in which a run ends, stepped and not.
func TestBatchStops(t *testing.T) {
	const lost = canaryAddr + 0x2340000
	for _, arch := range batchArches {
		t.Run(arch, func(t *testing.T) {
			e, x := batch(t, arch)
			f := formsOf(arch)
			tests := []struct {
				name string
				code []uint32
				r4   uint64
				kind emu.StopKind
				addr uint64
				at   uint64 // pc, from the start of the code
			}{
				{name: "left", code: []uint32{f.nop, f.nop, f.nop}, at: 12},
				{name: "read", code: []uint32{f.nop, f.load}, r4: lost, kind: emu.StopFault, addr: lost, at: 4},
				{name: "write", code: []uint32{f.store}, r4: lost, kind: emu.StopFault, addr: lost},
				{name: "code is not written", code: []uint32{f.store}, r4: canaryAddr, kind: emu.StopFault, addr: canaryAddr},
				{name: "branch to nowhere", code: []uint32{f.indirect}, r4: lost, at: lost - canaryAddr - 64},
				{name: "branch to data", code: []uint32{f.indirect}, r4: sharedBase, at: sharedBase - canaryAddr - 64},
				{name: "branch to a trap", code: []uint32{f.indirect}, r4: canaryAddr + 0x800, at: 0x800 - 64},
				{name: "undefined", code: []uint32{f.nop, f.undefined}, kind: emu.StopInvalid, at: 4},
				{name: "trap", code: []uint32{f.nop, f.trap}, kind: emu.StopException, at: 4},
			}
			for _, tt := range tests {
				for _, stepped := range []bool{false, true} {
					b := e.single(e.caseAt(x.insn(tt.code...)...))
					b.Hi, b.Limit = b.Lo+uint64(4*len(tt.code)), 1000
					if stepped {
						b.Limit = 50
					}
					e.set(b, x.reg("4"), tt.r4)
					if arch != "arm64" {
						e.set(b, "ctr", tt.r4)
					}
					mustRun(t, e, b)
					s := &b.Stops[0]
					if s.Kind != tt.kind || s.Addr != tt.addr {
						t.Errorf("%s, stepped %v: %+v", tt.name, stepped, *s)
					}
					if got := e.get(b, "pc") - b.Lo; got != tt.at {
						t.Errorf("%s, stepped %v: pc is %#x from the start, want %#x", tt.name, stepped, got, tt.at)
					}
				}
			}
			if e.deaths != 0 {
				t.Errorf("%d programs died", e.deaths)
			}
		})
	}
}

// TestBatchSteps: a run that is stepped passes all its instructions, a branch
// forwards and back among them, stops where it is told to, and may read what
// follows as data.
func TestBatchSteps(t *testing.T) {
	for _, arch := range batchArches {
		t.Run(arch, func(t *testing.T) {
			e, x := batch(t, arch)
			add, branch := formsOf(arch).add, func(to int32) uint32 { return 0x14000000 | uint32(to)&0x3ffffff }
			if arch != "arm64" {
				branch = func(to int32) uint32 { return 0x48000000 | uint32(4*to)&0x3fffffc }
			}
			// 0: b 3; 1: add; 2: b 5; 3: add; 4: b 1; 5: add; then data
			code := x.insn(branch(3), add, branch(3), add, branch(-3), add, 0x12345678)
			at := e.caseAt(code...)
			want := []uint64{0, 12, 16, 4, 8, 20}
			for limit := range uint32(9) {
				b := e.single(at)
				b.Lo, b.Hi, b.Limit = at, at+uint64(len(code))-4, limit
				b.Trace = make([]uint64, 0, 16)
				mustRun(t, e, b)
				n := min(int(limit), len(want))
				if len(b.Trace) != n {
					t.Fatalf("%d steps of %d: %x", len(b.Trace), n, b.Trace)
				}
				for i, pc := range b.Trace {
					if pc != at+want[i] {
						t.Errorf("step %d of %d at %#x, want %#x", i, limit, pc-at, want[i])
					}
				}
				sum := uint64(0)
				for _, off := range want[:n] {
					if off == 4 || off == 12 || off == 20 {
						sum++
					}
				}
				if got := e.get(b, x.reg("3")); got != sum {
					t.Errorf("%d steps: the sum is %d, want %d", limit, got, sum)
				}
				kind := emu.StopLimit
				if n == len(want) {
					kind = emu.StopLeft
				}
				if b.Stops[0].Kind != kind {
					t.Errorf("%d steps end as %v, want %v", limit, b.Stops[0].Kind, kind)
				}
			}
		})
	}
}

// TestBatchMemory: what a run changed is reported in order and taken back; what a
// state brings along is there.
func TestBatchMemory(t *testing.T) {
	const data = 0x30000000
	for _, arch := range batchArches {
		t.Run(arch, func(t *testing.T) {
			e, x := batch(t, arch)
			p, err := e.Map(data, 4096, emu.ProtRead|emu.ProtWrite, true)
			if err != nil {
				t.Fatal(err)
			}
			f := formsOf(arch)
			b := e.single(e.caseAt(x.insn(f.load, f.add, f.store)...))
			b.Hi, b.Limit = b.Lo+12, 1000
			e.set(b, x.reg("4"), data+0x3c)
			var l emu.Line
			l.Addr = data
			x.m.kind.order.PutUint32(l.Data[0x3c:], 0x11111111)
			b.InLines, b.InFirst = []emu.Line{l}, []uint32{0, 1}
			for range 2 {
				mustRun(t, e, b)
				if len(b.Lines) < 1 || len(b.Lines) > 2 || b.Lines[0].Addr != data {
					t.Fatalf("%v", b.Lines)
				}
				want := uint64(0x11111112)
				if e.t.Fill[0] == 0x7f { // big-endian
					want = 0x1111111100000001
				}
				if got := e.get(b, x.reg("3")); got != want {
					t.Errorf("loaded %#x, want %#x", got, want)
				}
				if !bytes.Equal(p.Live, p.Base) {
					t.Error("memory is not as before")
				}
			}
		})
	}
}

// TestBatchStale: code that is rewritten in place is the code that runs, on pages
// that were executed before.
func TestBatchStale(t *testing.T) {
	for _, arch := range batchArches {
		t.Run(arch, func(t *testing.T) {
			e, x := batch(t, arch)
			for n := range uint32(200) {
				w, want := x.m.constant(n)
				b := e.single(e.caseAt(x.insn(w)...))
				mustRun(t, e, b)
				if b.Out[0] != want {
					t.Fatalf("%d: %#x, want %#x", n, b.Out[0], want)
				}
			}
		})
	}
}

// TestBatchSurvives: a run that destroys the runner, and one that does not end,
// cost themselves alone.
func TestBatchSurvives(t *testing.T) {
	for _, arch := range batchArches {
		t.Run(arch, func(t *testing.T) {
			t.Parallel()
			e, x := batch(t, arch)
			e.p.patience = time.Second
			f := formsOf(arch)
			one := e.single(e.caseAt(x.insn(f.store)...))
			words := len(e.t.Words)
			b := &emu.Batch{Lo: one.Lo, Hi: one.Hi, Limit: 1, N: 3, Out: make([]uint64, 3*words), InFirst: make([]uint32, 4), Stops: make([]emu.Stop, 3)}
			r3, r4 := e.wordOf(x.reg("3")), e.wordOf(x.reg("4"))
			for i := range 3 {
				in := append([]uint64(nil), one.In...)
				in[r4], in[r3] = 0x12340000, uint64(i)
				if i == 1 {
					in[r4], in[r3] = sharedBase+ctlOut, 8 // where the handler will write
				}
				b.In = append(b.In, in...)
			}
			mustRun(t, e, b)
			for i, want := range []emu.StopKind{emu.StopFault, emu.StopError, emu.StopFault} {
				if b.Stops[i].Kind != want {
					t.Errorf("run %d ends as %v, want %v", i, b.Stops[i].Kind, want)
				}
			}
			loop := e.single(e.caseAt(x.insn(f.self)...))
			mustRun(t, e, loop)
			if got := loop.Stops[0].Kind; got != emu.StopError || e.deaths != 2 {
				t.Errorf("an endless run ends as %v, %d programs died", got, e.deaths)
			}
			if err := e.Canary(); err != nil {
				t.Error(err)
			}
		})
	}
}
