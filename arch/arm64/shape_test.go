package arm64

import (
	"strings"
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
	{"00010014", []int64{-1 << 27, -1 << 20, 1 << 20, 1<<27 - 4}},
	{"00010094", []int64{-1 << 27, -1 << 20, 1 << 20, 1<<27 - 4}},
	{"00080054", []int64{-1 << 20, 1<<20 - 4}},
	{"10080054", []int64{-1 << 20, 1<<20 - 4}},
	{"0e080054", []int64{-1 << 20, 1<<20 - 4}},
	{"100800b4", []int64{-1 << 20, 1<<20 - 4}},
	{"00080036", []int64{-1 << 15, 1<<15 - 4}},
	{"41080274", []int64{-1 << 10, 1<<10 - 4}},
	{"41880275", []int64{-1 << 10, 1<<10 - 4}},
	{"05080010", []int64{-1 << 20, 1<<20 - 1, 1001}},
	{"05080090", []int64{1<<13 - 1<<32 + 1<<28, 1<<32 - 1<<29}},
	{"05080058", []int64{-1 << 20, 1<<20 - 4}},
	{"05080098", []int64{-1 << 20, 1<<20 - 4}},
	{"0508009c", []int64{-1 << 20, 1<<20 - 4}},
	{"050800d8", []int64{-1 << 20, 1<<20 - 4}},
}

// TestShapes: a shape made from two samples, one in front of its target and one behind
// it, is right for every distance that has the same key.
func TestShapes(t *testing.T) {
	for _, pc := range []uint64{0x10001000, 0x7f1200400000} {
		for i, env := range []reloc.Env{{}, {Spill: true, AllowLost: true, ABI: reloc.ABICall},
			{Return: fixups.ReturnsSlot, Biased: true}, {BTI: reloc.On, GCS: reloc.Off, Spill: true, OS: reloc.Darwin}, {Mode: reloc.ModeKernel, DataOrder: reloc.DataBig}} {
			for _, w := range relativeWords {
				by := shapetest.Distances{Unit: 4, Far: w.far, Step: 4}
				if strings.HasSuffix(w.word, "90") { // adrp counts in pages
					by.Unit, by.Step = 1<<12, 1<<12
				}
				if n := shapetest.Holds(t, A64, pc, unhex(t, w.word), by, &env); n < 50 {
					t.Errorf("%s, environment %d: %d distances", w.word, i, n)
				}
			}
		}
	}
}
