package unicorn

import (
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/reloc"
)

// TestShape holds engine.Shape to the states in which division would end the
// process: the least dividend of each width.
func TestShape(t *testing.T) {
	for _, a := range []reloc.Arch{x86.AMD64, x86.I386} {
		target, err := emu.TargetOf(a.Info().Name)
		if err != nil {
			t.Fatal(err)
		}
		e, err := open(target)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		for _, dividend := range [][2]uint64{{0, 1 << 31}, {0, 1 << 15}, {0xffff0000, 0x12348000}} {
			words := make([]uint64, len(target.Words))
			words[e.acc], words[e.ext] = dividend[0], dividend[1]
			e.Shape(words)
			if words[e.acc] != dividend[0]|1 || words[e.ext] != dividend[1] {
				t.Errorf("%s: %#x became %#x, %#x", a.Info().Name, dividend, words[e.acc], words[e.ext])
			}
		}
	}
}
