package ppc64

import (
	"testing"

	"github.com/xol-go/xol/fixups"
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
	{"4c601004", []int64{4 - 1<<31, 4 + 1<<31 - 1<<16}},
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
					if n := a.shapeHolds(t, pc, a.unhex(t, w.word), w.far, &env); n < 50 {
						t.Errorf("%s, environment %d: %d distances", w.word, i, n)
					}
				}
			}
		}
	}
}

// shapeHolds returns how many distances it has compared.
func (a *Arch) shapeHolds(t *testing.T, pc uint64, code []byte, far []int64, env *reloc.Env) int {
	t.Helper()
	unit := int64(4)
	if code[0] == 0x4c || code[3] == 0x4c { // addpcis counts in 64 KiB behind itself
		unit = pcisUnit
	}
	var in reloc.Insn
	entry := func(e *fixups.Entry, d int64, pc uint64) (key [2]uint64, ok bool) {
		if a.Decode(&in, code, pc) != nil {
			t.Fatalf("%x", code)
		}
		if unit == pcisUnit && uint64(d)%pcisUnit != 4 {
			d += 4
		}
		b := a.Retarget(nil, &in, d)
		if a.Decode(&in, b, pc) != nil || in.Target != pc+uint64(d) {
			t.Fatalf("%x: %d becomes %x with %#x", code, d, b, in.Target-pc)
		}
		ok = a.ShapeKey(&in, &key) == reloc.ShapeKeyed
		reloc.Describe(e, a, b, pc, env, true)
		e.Reads, e.Writes, e.Kills = fixups.RegSet{}, fixups.RegSet{}, fixups.RegSet{}
		return key, ok
	}
	enc := fixups.NewEncoder(&fixups.Table{Arch: a.info.Name, Layout: fixups.Layout{Bits: 64, Align: 4, Placing: a.info.Order(0)}})
	var front, behind fixups.Entry
	key, ok1 := entry(&front, 20*unit, pc)
	key2, ok2 := entry(&behind, -20*unit, pc)
	if !ok1 || !ok2 || key != key2 {
		t.Fatalf("%x: keys %x %x", code, key, key2)
	}
	id, err := enc.Shape(&front, &behind)
	if err != nil {
		t.Fatal(err)
	}
	var want []fixups.Entry
	for d := -40 * unit; d <= 40*unit; d += unit {
		far = append(far, d)
	}
	for _, d := range far {
		var e fixups.Entry
		if k, ok := entry(&e, d, pc); !ok || k != key {
			continue // planned for what it is
		}
		enc.Run(&fixups.Extent{Addr: pc, Code: e.Bytes}, []uint64{1}, []fixups.Site{{Shape: id, D: int64(e.Target - e.PC)}})
		want = append(want, e)
		pc += uint64(len(e.Bytes))
	}
	data, err := enc.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	view, err := fixups.OpenBinary(data)
	if err != nil || view.Len() != len(want) {
		t.Fatalf("%d entries, %v", len(want), err)
	}
	var got fixups.Entry
	for i := range want {
		r, _ := view.Find(want[i].PC)
		if view.Entry(r, &got); !got.Equal(&want[i]) {
			t.Fatalf("%x: D %d:\nshape %s\nalone %s", code, r.D, got.AppendJSON(nil, "", a.info.Regs), want[i].AppendJSON(nil, "", a.info.Regs))
		}
	}
	return len(want)
}
