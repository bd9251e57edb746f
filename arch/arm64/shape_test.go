package arm64

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
				if n := shapeHolds(t, pc, unhex(t, w.word), w.far, &env); n < 50 {
					t.Errorf("%s, environment %d: %d distances", w.word, i, n)
				}
			}
		}
	}
}

// shapeHolds returns how many distances it has compared.
func shapeHolds(t *testing.T, pc uint64, code []byte, far []int64, env *reloc.Env) int {
	t.Helper()
	a, unit := A64, int64(4)
	if code[3]&0x9f == 0x90 { // adrp counts in pages
		unit = 1 << 12
	}
	var in reloc.Insn
	entry := func(e *fixups.Entry, d int64, pc uint64) (key [2]uint64, ok bool) {
		if a.Decode(&in, code, pc) != nil {
			t.Fatalf("%x", code)
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
		pc += uint64(unit)
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
