package unicorn

import (
	"encoding/binary"
	"fmt"

	"github.com/xol-go/xol/emu"
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
		e.t.FillAt(p.Live, canaryAddr)
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
	b := emu.Batch{Lo: canaryAddr, Hi: canaryAddr, Limit: 1, N: 1, In: e.t.Plain(), Out: e.t.Plain(),
		InFirst: make([]uint32, 2), Stops: make([]emu.Stop, 1)}
	b.In[e.t.WordOf("pc")] = canaryAddr
	if err := e.Run(&b); err != nil {
		return err
	}
	// Register 0 is rax or eax in both targets.
	if got := uint32(b.Out[0]); got != want {
		return fmt.Errorf("%w: eax = %#x, want %#x", emu.ErrStale, got, want)
	}
	return nil
}
