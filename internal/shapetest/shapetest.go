// Package shapetest holds the shapes of a port against its plans.
package shapetest

import (
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Port is a port whose entries can be shapes.
type Port interface {
	reloc.Arch
	reloc.Shaper
}

// Distances are those from an instruction to its target, in bytes.
type Distances struct {
	Unit int64   // all small ones are multiples of it
	Bias int64   // what all have in addition
	Far  []int64 // without the bias
	Step uint64  // from one instruction to the next
}

// Holds makes a shape from two samples of code, one in front of its target and one
// behind it, demands that it is right for every distance that has the same key, and
// returns how many distances it has compared.
func Holds(t *testing.T, a Port, pc uint64, code []byte, by Distances, env *reloc.Env) int {
	t.Helper()
	enc := fixups.NewEncoder(&fixups.Table{Arch: a.Info().Name, Layout: fixups.Layout{Bits: 64, Align: 4, Placing: a.Info().Order(0)}})
	var front, behind fixups.Entry
	key, ok1 := entry(t, a, &front, pc, code, 20*by.Unit+by.Bias, env)
	key2, ok2 := entry(t, a, &behind, pc, code, -20*by.Unit+by.Bias, env)
	if !ok1 || !ok2 || key != key2 {
		t.Fatalf("%x: keys %x %x", code, key, key2)
	}
	id, err := enc.Shape(&front, &behind)
	if err != nil {
		t.Fatal(err)
	}
	var want []fixups.Entry
	far := append([]int64(nil), by.Far...)
	for d := -40 * by.Unit; d <= 40*by.Unit; d += by.Unit {
		far = append(far, d)
	}
	for _, d := range far {
		var e fixups.Entry
		if k, ok := entry(t, a, &e, pc, code, d+by.Bias, env); !ok || k != key {
			continue // planned for what it is
		}
		enc.Run(&fixups.Extent{Addr: pc, Code: e.Bytes}, []uint64{1}, []fixups.Site{{Shape: id, D: int64(e.Target - e.PC)}})
		want = append(want, e)
		pc += by.Step
	}
	data, err := enc.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, a, code, data, want)
	return len(want)
}

// entry describes the instruction with another distance and returns its key.
func entry(t *testing.T, a Port, e *fixups.Entry, pc uint64, code []byte, d int64, env *reloc.Env) (key [2]uint64, ok bool) {
	t.Helper()
	var in reloc.Insn
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

// compare demands that the table has the entries as they were planned.
func compare(t *testing.T, a Port, code, data []byte, want []fixups.Entry) {
	t.Helper()
	view, err := fixups.OpenBinary(data)
	if err != nil || view.Len() != len(want) {
		t.Fatalf("%d entries, %v", len(want), err)
	}
	var got fixups.Entry
	for i := range want {
		r, _ := view.Find(want[i].PC)
		if view.Entry(r, &got); !got.Equal(&want[i]) {
			t.Fatalf("%x: D %d:\nshape %s\nalone %s", code, r.D, got.AppendJSON(nil, "", a.Info().Regs), want[i].AppendJSON(nil, "", a.Info().Regs))
		}
	}
}
