package native

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"
	"time"

	"github.com/xol-go/xol/emu"
)

// TestExecutable: what is written is what another reader of ELF sees.
func TestExecutable(t *testing.T) {
	code, err := runnerProgram()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(elfFile(elfAMD64, code, textBase)))
	if err != nil {
		t.Fatal(err)
	}
	if f.Machine != elf.EM_X86_64 || f.Type != elf.ET_EXEC || f.Entry != textBase || len(f.Progs) != 2 {
		t.Errorf("%+v", f.FileHeader)
	}
	p := f.Progs[0]
	if p.Flags != elf.PF_R|elf.PF_X || p.Vaddr != textPage || p.Vaddr%p.Align != p.Off%p.Align {
		t.Errorf("%+v", p.ProgHeader)
	}
	got := make([]byte, len(code))
	if _, err := p.ReadAt(got, elfHead); err != nil || !bytes.Equal(got, code) {
		t.Errorf("code differs (%v)", err)
	}
	if len(code) > textSize-elfHead {
		t.Errorf("%d bytes", len(code))
	}
}

// TestWords: every word of a state goes in and comes out.
func TestWords(t *testing.T) {
	for _, arch := range []string{"amd64", "386"} {
		e := mustOpen(t, arch)
		b := e.single(e.caseAt(0x90))
		for i := range e.t.Words {
			w := &e.t.Words[i]
			if w.Const || w.Name == "pc" || w.Reg == e.t.Flags {
				continue
			}
			b.In[i] = (uint64(i)*0x0123456789abcdef + 0x1357) & (^uint64(0) >> (64 - w.Bits))
		}
		e.set(b, "flags", 0x202|0x8d5)
		e.Shape(b.In)
		mustRun(t, e, b)
		for i := range e.t.Words {
			if want := b.In[i]; b.Out[i] != want && e.t.Words[i].Name != "pc" {
				t.Errorf("%s %s: %#x, want %#x", arch, e.t.Words[i].Name, b.Out[i], want)
			}
		}
		if got, want := e.get(b, "pc"), b.Lo+1; got != want || b.Stops[0].Kind != emu.StopLeft || b.Stops[0].Steps != 1 {
			t.Errorf("%s: pc %#x, want %#x: %+v", arch, got, want, b.Stops[0])
		}
	}
}

// TestStops: each way in which a run ends.
func TestStops(t *testing.T) {
	const lost = canaryAddr + 0x2340000
	type end struct {
		kind   emu.StopKind
		num    uint16
		addr   uint64
		access emu.Access
		steps  uint32
	}
	tests := []struct {
		name string
		arch string // empty: both
		code []byte
		ax   uint64
		want end
		at   uint64 // pc, from the start of the code
	}{
		{name: "left", code: []byte{0x90, 0x90, 0x90}, want: end{steps: 3}, at: 3},
		{name: "limit", code: []byte{0xeb, 0xfe}, want: end{kind: emu.StopLimit, steps: 50}},
		{name: "read", code: []byte{0x90, 0x8a, 0x00}, ax: lost, want: end{kind: emu.StopFault, addr: lost, access: emu.AccessRead, steps: 2}, at: 1},
		{name: "write", code: []byte{0x88, 0x00}, ax: lost, want: end{kind: emu.StopFault, addr: lost, access: emu.AccessWrite, steps: 1}},
		{name: "branch", code: []byte{0xff, 0xe0}, ax: lost, want: end{steps: 1}, at: lost - canaryAddr - 64},
		{name: "code is not written", code: []byte{0x88, 0x00}, ax: canaryAddr, want: end{kind: emu.StopFault, addr: canaryAddr, access: emu.AccessWrite, steps: 1}},
		{name: "divide", code: []byte{0xf7, 0xf0}, want: end{kind: emu.StopException, num: 0, steps: 1}},
		{name: "undefined", code: []byte{0x0f, 0x0b}, want: end{kind: emu.StopInvalid, num: 6, steps: 1}},
		{name: "privileged", code: []byte{0xf4}, want: end{kind: emu.StopException, num: 13, steps: 1}},
		{name: "trap", code: []byte{0xcc}, want: end{kind: emu.StopException, num: 3, steps: 1}, at: 1},
		{name: "no address", arch: "amd64", code: []byte{0x8a, 0x00}, ax: 1 << 62, want: end{kind: emu.StopException, num: 13, steps: 1}},
		// System calls are closed: getpid.
		{name: "syscall", arch: "amd64", code: []byte{0x0f, 0x05}, ax: 39, want: end{kind: emu.StopException, num: NumSystemCall, steps: 1}, at: 2},
		{name: "int 80", code: []byte{0xcd, 0x80}, ax: 20, want: end{kind: emu.StopException, num: NumSystemCall, steps: 1}, at: 2},
	}
	for _, arch := range []string{"amd64", "386"} {
		e := mustOpen(t, arch)
		ax := map[string]string{"amd64": "rax", "386": "eax"}[arch]
		for _, tt := range tests {
			if tt.arch != "" && tt.arch != arch {
				continue
			}
			b := e.single(e.caseAt(tt.code...))
			b.Hi, b.Limit = b.Lo+uint64(len(tt.code)), 50
			e.set(b, ax, tt.ax)
			mustRun(t, e, b)
			s := &b.Stops[0]
			if got := (end{s.Kind, s.Num, s.Addr, s.Access, s.Steps}); got != tt.want {
				t.Errorf("%s %s: %+v, want %+v", arch, tt.name, got, tt.want)
			}
			if got := e.get(b, "pc") - b.Lo; got != tt.at {
				t.Errorf("%s %s: pc is %#x from the start, want %#x", arch, tt.name, got, tt.at)
			}
			if got := e.get(b, ax); got != tt.ax {
				t.Errorf("%s %s: %s = %#x, want %#x", arch, tt.name, ax, got, tt.ax)
			}
		}
		if e.deaths != 0 {
			t.Errorf("%s: %d programs died", arch, e.deaths)
		}
	}
}

// TestTrapFlag: pushf sees the step's flag only where the run is stepped, and a
// flag that popf sets is reported.
func TestTrapFlag(t *testing.T) {
	const stack = 0x20000000
	for _, arch := range []string{"amd64", "386"} {
		e := mustOpen(t, arch)
		sp := map[string]string{"amd64": "rsp", "386": "esp"}[arch]
		p, err := e.Map(stack, 4096, emu.ProtRead|emu.ProtWrite, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range [][]byte{{0x9c}, {0x66, 0x9c}} {
			for _, stepped := range []bool{false, true} {
				b := e.single(e.caseAt(code...))
				b.Stepped = stepped
				e.set(b, sp, stack+0x800)
				mustRun(t, e, b)
				if len(b.Lines) != 1 {
					t.Fatalf("%s: %d lines", arch, len(b.Lines))
				}
				l := &b.Lines[0]
				at := e.get(b, sp) - l.Addr
				if got := l.Data[at+1]&1 != 0; got != stepped {
					t.Errorf("%s % x: trap flag pushed: %v, stepped %v", arch, code, got, stepped)
				}
				if e.get(b, "flags")&flagTF != 0 {
					t.Errorf("%s % x: the trap flag stays", arch, code)
				}
			}
		}
		for _, flags := range []uint64{0x202, 0x302} {
			binary.LittleEndian.PutUint64(p.Base[0x800:], flags)
			copy(p.Live, p.Base)
			b := e.single(e.caseAt(0x9d))
			e.set(b, sp, stack+0x800)
			mustRun(t, e, b)
			if got := e.get(b, "flags"); got != flags {
				t.Errorf("%s: popf of %#x makes %#x", arch, flags, got)
			}
		}
	}
}

// TestMemory: what a run changed is reported in order and taken back; what a
// state brings along is there.
func TestMemory(t *testing.T) {
	const data = 0x30000000
	e := mustOpen(t, "amd64")
	var pages []*emu.Page
	for _, a := range []uint64{data + 0x1000, data} {
		p, err := e.Map(a, 4096, emu.ProtRead|emu.ProtWrite, true)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, p)
	}
	if _, err := e.Map(data, 4096, emu.ProtRead, false); err == nil {
		t.Error("a page is mapped twice")
	}
	// mov [rbx], rax across the pages; xor ecx, [rdx]
	b := e.single(e.caseAt(0x48, 0x89, 0x03, 0x33, 0x0a))
	b.Hi, b.Limit = b.Lo+5, 9
	e.set(b, "rax", 0x1122334455667788)
	e.set(b, "rbx", data+0xffc)
	e.set(b, "rdx", data+0x1040)
	b.InLines = []emu.Line{{Addr: data + 0x1040, Data: [64]byte{0xaa, 0xbb}}}
	b.InFirst = []uint32{0, 1}
	for range 2 {
		mustRun(t, e, b)
		if got := e.get(b, "rcx"); got != 0xbbaa {
			t.Errorf("rcx = %#x", got)
		}
		if len(b.Lines) != 3 || b.Lines[0].Addr != data+0xfc0 || b.Lines[1].Addr != data+0x1000 || b.Lines[2].Addr != data+0x1040 {
			t.Fatalf("%v", b.Lines)
		}
		if b.Lines[0].Data[60] != 0x88 || b.Lines[1].Data[3] != 0x11 {
			t.Errorf("%v", b.Lines)
		}
	}
	for _, p := range pages {
		if !bytes.Equal(p.Live, p.Base) {
			t.Errorf("%#x is not as before", p.Addr)
		}
	}
	if err := e.Unmap(data); err != nil {
		t.Fatal(err)
	}
	mustRun(t, e, &emu.Batch{Lo: b.Lo, Hi: b.Hi, Limit: 9, N: 1, In: b.In, Out: b.Out, InFirst: []uint32{0, 0}, Stops: b.Stops})
	if s := b.Stops[0]; s.Kind != emu.StopFault || s.Addr != data+0xffc {
		t.Errorf("%+v", s)
	}
	b.InLines[0].Addr = data
	if err := e.Run(b); err == nil {
		t.Error("a line without memory is accepted")
	}
}

// TestSurvives: a run that destroys the runner, and one that does not end, cost
// themselves alone.
func TestSurvives(t *testing.T) {
	e := mustOpen(t, "amd64")
	e.p.patience = 2 * time.Second
	words := len(e.t.Words)
	one := e.single(e.caseAt(0x48, 0x89, 0x03)) // mov [rbx], rax
	b := &emu.Batch{Lo: one.Lo, Hi: one.Hi, Limit: 1, N: 3, Out: make([]uint64, 3*words), InFirst: make([]uint32, 4), Stops: make([]emu.Stop, 3)}
	rbx, rax := e.wordOf("rbx"), e.wordOf("rax")
	for i := range 3 {
		in := append([]uint64(nil), one.In...)
		in[rbx], in[rax] = 0x12340000, uint64(i)
		if i == 1 {
			in[rbx], in[rax] = sharedBase+ctlPages, 1<<40 // what the handler will walk
		}
		b.In = append(b.In, in...)
	}
	mustRun(t, e, b)
	for i, want := range []emu.StopKind{emu.StopFault, emu.StopError, emu.StopFault} {
		if b.Stops[i].Kind != want {
			t.Errorf("run %d ends as %v, want %v", i, b.Stops[i].Kind, want)
		}
	}
	if e.deaths != 1 {
		t.Errorf("%d programs died", e.deaths)
	}
	loop := e.single(e.caseAt(0xeb, 0xfe))
	loop.Hi, loop.Limit = loop.Lo+2, 1<<31
	mustRun(t, e, loop)
	if got := loop.Stops[0].Kind; got != emu.StopError || e.deaths != 2 {
		t.Errorf("an endless run ends as %v, %d programs died", got, e.deaths)
	}
	if err := e.Canary(); err != nil {
		t.Error(err)
	}
}
