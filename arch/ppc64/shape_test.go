package ppc64

import (
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/shapetest"
	"github.com/xol-go/xol/reloc"
)

// relativeWords are instructions with a target, and distances in which two of one key
// may differ.
var relativeWords = []struct {
	word string
	far  []int64
}{
	{"48000400", []int64{-1 << 25, -1 << 20, 1 << 20, 1<<25 - 4}},
	{"48000401", []int64{-1 << 25, -1 << 20, 1 << 20, 1<<25 - 4}},
	{"41820400", []int64{-1 << 15, 1<<15 - 4}},
	{"42000401", []int64{-1 << 15, 1<<15 - 4}},
	{"429f0401", []int64{-1 << 15, 1<<15 - 4}},
	{"4c601004", []int64{-1 << 31, 1<<31 - 1<<16}},
	{"0610000038600400", []int64{-1 << 33, -1 << 25, 1 << 25, 1<<33 - 8}},
	{"04100000e4600400", []int64{-1 << 33, -1 << 25, 1 << 25, 1<<33 - 8}},
	{"04100000f4200400", []int64{-1 << 33, -1 << 25, 1 << 25, 1<<33 - 8}},
}

// TestShapes: a shape made from two samples, one in front of its target and one behind
// it, is right for every distance that has the same key.
func TestShapes(t *testing.T) {
	for _, a := range orders {
		for _, pc := range []uint64{0x10001000, 0x7f1200400000} {
			for i, env := range []reloc.Env{{}, {Spill: true, AllowLost: true, ABI: reloc.ABICall, Features: FeatureISA207},
				{Return: fixups.ReturnsSlot, Biased: true}, {Mode: reloc.ModeKernel, Spill: true}} {
				for _, w := range relativeWords {
					code := a.unhex(t, w.word)
					by := shapetest.Distances{Unit: 4, Far: w.far, Step: uint64(len(code))}
					if w.word[:2] == "4c" { // addpcis counts in 64 KiB behind itself
						by.Unit, by.Bias = pcisUnit, 4
					}
					if n := shapetest.Holds(t, a, pc, code, by, &env); n < 50 {
						t.Errorf("%s, environment %d: %d distances", w.word, i, n)
					}
				}
			}
		}
	}
}
