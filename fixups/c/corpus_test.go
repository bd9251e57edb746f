package c_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/reloc"
	"github.com/xol-go/xol/reloc/reloctest"
)

// wishes change what plans come out; each makes a table of each case.
var wishes = []func(*reloc.Env){
	func(*reloc.Env) {},
	func(e *reloc.Env) { e.Spill, e.Short = true, true },
	func(e *reloc.Env) { e.Return, e.AllowLost, e.ABI = fixups.ReturnsSlot, true, reloc.ABICall },
	func(e *reloc.Env) { e.Stop, e.ABI, e.Lang = fixups.StopTrap, reloc.ABIEntry, reloc.LangGo },
	func(e *reloc.Env) { e.Mode, e.Vendor = reloc.ModeKernel, reloc.VendorAMD },
	func(e *reloc.Env) { e.SHSTK, e.IBT, e.Vendor = reloc.On, reloc.On, reloc.VendorIntel },
	func(e *reloc.Env) { e.Spill, e.Return, e.SHSTK = true, fixups.ReturnsSlot, reloc.Off },
}

// caseTable is the table of the instructions of a case.
func caseTable(t *testing.T, a reloc.Arch, c *corpus.Case, wish func(*reloc.Env)) []byte {
	t.Helper()
	info := a.Info()
	env, err := reloctest.ParseEnv(c.Env, info)
	if err != nil {
		t.Fatal(err)
	}
	wish(&env)
	env.Code = &reloc.Text{Addr: c.PC, Data: c.Bytes}
	tab := &fixups.Table{Arch: c.Arch, File: c.Name, Base: c.PC,
		Layout: fixups.Layout{Bits: uint8(info.Bits), Align: uint8(info.Align), Placing: info.Order(env.DataOrder)}}
	off := 0
	top := false
	for _, n := range c.Lens {
		var e fixups.Entry
		// A refusal is an entry too.
		_ = reloc.Describe(&e, a, c.Bytes[off:], c.PC+uint64(off), &env, true)
		if int(e.Len) == n && len(e.Bytes) == n {
			tab.Entries = append(tab.Entries, e)
			top = top || beyond(&e, info.Bits)
		}
		off += n
	}
	data, err := tab.AppendBinary(nil)
	if top {
		if !errors.Is(err, fixups.ErrEncode) {
			t.Fatalf("%s: %v, want %v", c.Key(), err, fixups.ErrEncode)
		}
		tab.Entries = slices.DeleteFunc(tab.Entries, func(e fixups.Entry) bool { return beyond(&e, info.Bits) })
		data, err = tab.AppendBinary(nil)
	}
	if err != nil {
		t.Fatalf("%s: %v", c.Key(), err)
	}
	return data
}

// beyond reports whether an instruction ends where no table does: at 2^64 or
// behind the last address.
func beyond(e *fixups.Entry, bits int) bool {
	end := e.PC + uint64(e.Len)
	return end <= e.PC || bits == 32 && end > 1<<32
}

// TestCorpus compares every plan of the corpus: each program is run and each
// template placed by both sides.
func TestCorpus(t *testing.T) {
	if testenv.Race {
		t.Skip("waits for programs in C, which the race detector does not see; runs without it")
	}
	g := newGen(t, 2)
	var s script
	tables := map[string]bool{}
	for c := range corpus.All() {
		a, ok := arch.ByName(c.Arch)
		if !ok {
			continue // no port yet
		}
		for _, wish := range wishes[:rounds(len(wishes))] {
			data := caseTable(t, a, c, wish)
			if tables[string(data)] {
				continue
			}
			tables[string(data)] = true
			v := s.open(data)
			if v.err != nil {
				t.Fatalf("%s: %v", c.Key(), v.err)
			}
			s.all(g, v, 3)
		}
	}
	if len(tables) < 100 || len(s.seen) < rounds(1000) {
		t.Errorf("%d tables, %d plans: the corpus is not what it was", len(tables), len(s.seen))
	}
	t.Logf("%d tables, %d different plans", len(tables), len(s.seen))
	playAll(t, &s)
}
