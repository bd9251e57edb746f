package native

import (
	"testing"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/internal/testenv"
)

func mustOpen(t *testing.T, arch string) *engine {
	t.Helper()
	o := New()
	target, err := o.Target(arch)
	if err != nil {
		testenv.Missing(t, err.Error())
	}
	cpu, err := o.Open(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cpu.Close)
	e := cpu.(*engine)
	if err := e.Canary(); err != nil {
		t.Fatal(err)
	}
	return e
}

// set sets a word of a batch's only state.
func (e *engine) set(b *emu.Batch, name string, v uint64) { b.In[e.wordOf(name)] = v }

func (e *engine) get(b *emu.Batch, name string) uint64 { return b.Out[e.wordOf(name)] }

func (e *engine) wordOf(name string) int {
	for i := range e.t.Words {
		if e.t.Words[i].Name == name {
			return i
		}
	}
	panic(name)
}

func mustRun(t *testing.T, e *engine, b *emu.Batch) {
	t.Helper()
	if err := e.Run(b); err != nil {
		t.Fatal(err)
	}
}
