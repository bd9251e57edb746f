package unicorn

import (
	"fmt"

	"github.com/xol-go/xol/emu"
)

// canaryAddr is where the canary lives, in no arena of any target.
const canaryAddr = 0x70000000

// Canary implements [emu.CPU]: it writes code that loads a number over the code of
// the last time and executes it. The emulator keeps translated code; if the
// new number does not appear, it ran the old one.
func (e *engine) Canary() error { return e.fireCanary(true) }

// fireCanary is Canary; without forget it leaves out what makes new code known.
func (e *engine) fireCanary(forget bool) error {
	if e.canary == nil {
		p, err := e.Map(canaryAddr, 4096, emu.ProtRead|emu.ProtExec, false)
		if err != nil {
			return err
		}
		e.t.FillAt(p.Live, canaryAddr)
		e.canary = p
	}
	e.shots++
	want := uint32(0x5eed0000 + e.shots)
	n := copy(e.canary.Live, e.proc.canary(want))
	if forget {
		if err := e.Forget(canaryAddr, n); err != nil {
			return err
		}
	}
	b := emu.Batch{Lo: canaryAddr, Hi: canaryAddr + uint64(n), Limit: 8, N: 1, In: e.t.Plain(), Out: e.t.Plain(),
		InFirst: make([]uint32, 2), Stops: make([]emu.Stop, 1)}
	b.In[e.t.WordOf("pc")] = canaryAddr
	if err := e.Run(&b); err != nil {
		return err
	}
	if got := uint32(b.Out[0]); got != want {
		return fmt.Errorf("%w: %s = %#x, want %#x", emu.ErrStale, e.t.Words[0].Name, got, want)
	}
	return nil
}
