package unicorn

import (
	"encoding/binary"
	"fmt"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
)

// canaryAddr is where the canary lives, in no arena of any target.
const canaryAddr = 0x70000000

// Canary implements [emu.CPU]: it writes mov eax, imm32 over the mov eax, imm32
// of the last time and executes it. The emulator keeps translated code; if the
// new number does not appear, it ran the old one.
func (e *engine) Canary() error { return e.fireCanary(true) }

// fireCanary is Canary; without forget it leaves out what makes new code known.
func (e *engine) fireCanary(forget bool) error {
	if e.canary == nil {
		p, err := e.Map(canaryAddr, 4096, emu.ProtRead|emu.ProtExec, false)
		if err != nil {
			return err
		}
		for i := range p.Live {
			p.Live[i] = e.t.Fill
		}
		e.canary = p
	}
	e.shots++
	want := uint32(0x5eed0000 + e.shots)
	e.canary.Live[0] = 0xb8 // mov eax, imm32
	binary.LittleEndian.PutUint32(e.canary.Live[1:], want)
	if forget {
		if err := e.Forget(canaryAddr, 5); err != nil {
			return err
		}
	}
	n := len(e.t.Words)
	b := emu.Batch{Lo: canaryAddr, Hi: canaryAddr, Limit: 1, N: 1, In: make([]uint64, n), Out: make([]uint64, n),
		InFirst: make([]uint32, 2), Stops: make([]emu.Stop, 1)}
	for i := range e.t.Words {
		switch w := &e.t.Words[i]; {
		case w.Reg == fixups.RegPC:
			b.In[i] = canaryAddr
		case w.Reg == e.t.Flags:
			b.In[i] = e.t.FlagsSet
		case w.Const:
			b.In[i] = w.Value
		}
	}
	if err := e.Run(&b); err != nil {
		return err
	}
	// Register 0 is rax or eax in both targets.
	if got := uint32(b.Out[0]); got != want {
		return fmt.Errorf("%w: eax = %#x, want %#x", emu.ErrStale, got, want)
	}
	return nil
}
