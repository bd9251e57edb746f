package objfile

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/xol-go/xol/internal/testenv"
)

func TestSortByAddr(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testenv.Seed(t), 41))
	tie := func(a, b candidate) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.ord, b.ord)) }
	for range 300 {
		list := make([]candidate, rnd.IntN(400))
		base, width := rnd.Uint64(), rnd.IntN(64)
		for i := range list {
			list[i] = candidate{addr: base + rnd.Uint64()>>width, size: rnd.Uint64N(3), ord: uint32(i)}
		}
		if rnd.IntN(4) == 0 {
			slices.SortFunc(list, func(a, b candidate) int { return cmp.Compare(a.addr, b.addr) })
		}
		want := slices.Clone(list)
		slices.SortFunc(want, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.addr, b.addr), tie(a, b)) })
		sortByAddr(list, func(c *candidate) uint64 { return c.addr }, tie)
		if !slices.Equal(list, want) {
			t.Fatalf("%d of width %d are out of order", len(list), width)
		}
	}
}
