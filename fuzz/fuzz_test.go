package fuzz

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
	"github.com/xol-go/xol/reloc/reloctest"
)

// regsOf names registers for the JSON decoder.
func regsOf(name string) (fixups.RegNames, bool) {
	a, ok := arch.ByName(name)
	if !ok {
		return nil, false
	}
	return a.Info().Regs, true
}

// FuzzTable makes an entry for any bytes in any environment and demands that it
// is well formed, made the same way twice, and comes back from every codec
// (C6, C7, C8).
func FuzzTable(f *testing.F) {
	for seed := range uint64(8) {
		f.Add([]byte(nil), uint64(0x401000), seed)
	}
	f.Add([]byte{0xf0, 0x48, 0x0f, 0xb1, 0x0d, 0, 1, 0, 0}, uint64(0x7f1200400000), uint64(1))
	f.Fuzz(func(t *testing.T, code []byte, pc, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		for a := range arch.All() {
			insn := code
			if len(code) == 0 {
				insn = AppendInsn(nil, a, rnd.Uint64)
			}
			info := a.Info()
			at := pc &^ uint64(info.Align-1) & (^uint64(0) >> (64 - uint(info.Bits)))
			envs := reloctest.Envs(info)
			check(t, a, insn, at, &envs[rnd.IntN(len(envs))], seed&1 == 0)
		}
	})
}

func check(t *testing.T, a reloc.Arch, code []byte, pc uint64, env *reloc.Env, both bool) {
	var e, again fixups.Entry
	err := reloc.Describe(&e, a, code, pc, env, both)
	if err2 := reloc.Describe(&again, a, code, pc, env, both); err != err2 || !e.Equal(&again) {
		t.Fatalf("%x at %#x: two answers", code, pc)
	}
	if len(e.Bytes) == 0 {
		return // nothing was given
	}
	if err := e.Check(); err != nil {
		t.Fatalf("%x at %#x: %v", code, pc, err)
	}
	info := a.Info()
	tab := fixups.Table{Arch: info.Name, Entries: []fixups.Entry{e},
		Layout: fixups.Layout{Bits: uint8(info.Bits), Align: uint8(info.Align), Placing: info.Order(reloc.DataDefault)}}
	doc := tab.AppendJSON(nil, info.Regs)
	back, err := fixups.DecodeJSON(doc, regsOf)
	if err != nil || !back.Entries[0].Equal(&e) {
		t.Fatalf("%x at %#x: JSON gives another entry (%v)\n%s", code, pc, err, doc)
	}
	if int(e.Len) != len(e.Bytes) || int(e.Len)%info.Align != 0 {
		return // cut: the binary form has no such entries
	}
	raw, err := tab.AppendBinary(nil)
	if err != nil {
		t.Fatalf("%x at %#x: %v", code, pc, err)
	}
	view, err := fixups.OpenBinary(raw)
	if err != nil {
		t.Fatalf("%x at %#x: own table refused: %v", code, pc, err)
	}
	if got := view.Table(); !got.Entries[0].Equal(&e) {
		t.Fatalf("%x at %#x: the binary form gives another entry\n%s\n%s", code, pc,
			got.AppendJSON(nil, info.Regs), doc)
	}
}

// TestAppendInsn holds the shares: most inputs decode, some do not, and the same
// choices give the same bytes.
func TestAppendInsn(t *testing.T) {
	for a := range arch.All() {
		r1, r2 := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
		const n = 4000
		good := 0
		var in reloc.Insn
		for range n {
			b := AppendInsn(nil, a, r1.Uint64)
			if !bytes.Equal(b, AppendInsn(nil, a, r2.Uint64)) {
				t.Fatal("same choices, other bytes")
			}
			if a.Decode(&in, b, 0x1000) == nil {
				good++
			}
		}
		if good < n/2 || good > n*95/100 {
			t.Errorf("%s: %d of %d inputs decode", a.Info().Name, good, n)
		}
	}
}
