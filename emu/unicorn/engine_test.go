package unicorn

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/xol-go/xol/emu"
)

func targets() []*emu.Target { return emu.Targets() }

var nops = map[string][]byte{"amd64": {0x90}, "386": {0x90}, "arm64": {0x1f, 0x20, 0x03, 0xd5},
	"ppc64": {0x60, 0, 0, 0}, "ppc64le": {0, 0, 0, 0x60}}

func mustOpen(t testing.TB, target *emu.Target) *engine {
	t.Helper()
	e, err := open(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func TestShimLayout(t *testing.T) {
	if got := unsafe.Sizeof(emu.Line{}); got != sizeofLine {
		t.Errorf("Line is %d bytes in Go, %d in C", got, sizeofLine)
	}
	if got := unsafe.Sizeof(emu.Stop{}); got != sizeofStop {
		t.Errorf("Stop is %d bytes in Go, %d in C", got, sizeofStop)
	}
	var s emu.Stop
	if got := unsafe.Offsetof(s.Kind); got != offsetofKind {
		t.Errorf("Stop.Kind is at %d in Go, %d in C", got, offsetofKind)
	}
}

// TestCanary: the canary is silent when rewritten code is made known, and trips
// when it is not.
func TestCanary(t *testing.T) {
	for _, target := range targets() {
		e := mustOpen(t, target)
		for range 3 {
			if err := e.Canary(); err != nil {
				t.Errorf("%s: %v", target.Arch, err)
			}
		}
		if err := e.fireCanary(false); !errors.Is(err, emu.ErrStale) {
			t.Errorf("%s: stale code was not noticed: %v", target.Arch, err)
		}
	}
}

// TestWords: every register that can be set is read back, and a run of one
// instruction changes nothing else.
func TestWords(t *testing.T) {
	for _, target := range targets() {
		e := mustOpen(t, target)
		s := target.Sites[0]
		p, err := e.Map(s.Addr, int(s.Size), emu.ProtRead|emu.ProtExec, false)
		if err != nil {
			t.Fatal(err)
		}
		target.FillAt(p.Live, s.Addr)
		copy(p.Live, nops[target.Arch])
		n := len(target.Words)
		b := emu.Batch{Lo: s.Addr, Hi: s.Addr, Limit: 1, N: 1, In: make([]uint64, n), Out: make([]uint64, n),
			InFirst: make([]uint32, 2), Stops: make([]emu.Stop, 1)}
		pc := -1
		for i := range target.Words {
			w := &target.Words[i]
			b.In[i] = 0x0123456789abcdef * uint64(2*i+3) & (1<<w.Bits - 1)
			if w.Bits == 64 {
				b.In[i] = 0x0123456789abcdef * uint64(2*i+3)
			}
			switch {
			case w.Name == "pc":
				pc = i
				b.In[i] = s.Addr
			case w.Vary != 0:
				b.In[i] = b.In[i]&w.Vary | w.Value
			case w.Name == "mxcsr":
				b.In[i] = 0x9fc0
			case w.Name == "fcw":
				b.In[i] = 0x0c7f
			case w.Name == "fsw":
				b.In[i] = 0x3900
			case w.ReadOnly, w.Const:
				b.In[i] = w.Value
			}
		}
		if err := e.Run(&b); err != nil {
			t.Fatal(err)
		}
		if b.Stops[0].Kind != emu.StopLimit || b.Out[pc] != s.Addr+uint64(len(nops[target.Arch])) {
			t.Fatalf("%s: stop %+v at %#x", target.Arch, b.Stops[0], b.Out[pc])
		}
		for i := range target.Words {
			if w := &target.Words[i]; i != pc && !w.ReadOnly && b.In[i] != b.Out[i] {
				t.Errorf("%s: %s = %#x, set to %#x", target.Arch, w.Name, b.Out[i], b.In[i])
			}
		}
	}
}
