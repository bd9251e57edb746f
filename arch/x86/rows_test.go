package x86

import (
	"math/rand/v2"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

var arches = []*Arch{AMD64, I386}

// Every row has encodings that decode to it, and every cut of them asks for more
// bytes.
func TestRowsDecode(t *testing.T) {
	for _, a := range arches {
		rnd := rand.New(rand.NewPCG(1, 2)).Uint64
		for id := uint32(1); id < uint32(len(facts)); id++ {
			if !a.holds(id) {
				continue
			}
			for range 20 {
				code, ok := a.randomOf(nil, id, rnd)
				if !ok {
					t.Errorf("%s: no encoding of row %d, %s : %s", a.info.Name, id, rowTexts[id].pattern, rowTexts[id].name)
					break
				}
				checkCuts(t, a, code)
			}
		}
	}
}

// checkCuts decodes code, which is one valid instruction, whole and cut.
func checkCuts(t *testing.T, a *Arch, code []byte) {
	t.Helper()
	var in, short reloc.Insn
	if err := a.Decode(&in, code, 0x1000); err != nil || int(in.Len) != len(code) {
		t.Fatalf("%s: %x: %d bytes, %v", a.info.Name, code, in.Len, err)
	}
	if err := a.Decode(&short, append(code[:len(code):len(code)], make([]byte, 16)...), 0x1000); err != nil || short != in {
		t.Fatalf("%s: %x: what follows matters: %v\n%+v\n%+v", a.info.Name, code, err, in, short)
	}
	for n := range code {
		if err := a.Decode(&short, code[:n], 0x1000); err != fixups.ReasonTruncated || int(short.Len) != n {
			t.Fatalf("%s: %x cut to %d: %d bytes, %v", a.info.Name, code, n, short.Len, err)
		}
	}
}

// What Rows says agrees with Row and RowOf, and every row has a source.
func TestRows(t *testing.T) {
	rows := AMD64.Rows()
	for i, r := range rows {
		if got, ok := AMD64.Row(r.ID); !ok || got != r || r.ID != uint32(i+1) {
			t.Errorf("row %d: %+v, %v", i, got, ok)
		}
		if r.Source == "" || r.Name == "" || r.Class == fixups.ClassInvalid {
			t.Errorf("row %+v is incomplete", r)
		}
	}
	if _, ok := AMD64.Row(0); ok {
		t.Error("row 0 exists")
	}
	if _, ok := AMD64.Row(uint32(len(rows) + 1)); ok {
		t.Error("a row behind the last exists")
	}
}

// Registers are named by Info, whatever the encoding.
func TestRegistersAreNamed(t *testing.T) {
	for _, a := range arches {
		named := fixups.RegSet{}
		for _, r := range a.info.Regs {
			named.Add(r.Num)
		}
		rnd := rand.New(rand.NewPCG(3, 4)).Uint64
		var in reloc.Insn
		var use reloc.RegUse
		for range 200000 {
			code := a.AppendRandom(nil, rnd)
			if err := a.Decode(&in, code, 0); err != nil {
				t.Fatalf("%s: %x: %v", a.info.Name, code, err)
			}
			a.Registers(&use, &in)
			all := use.Reads
			all.Union(&use.Writes)
			for r := range all.All() {
				if !named.Has(r) {
					t.Fatalf("%s: %x %s: register %d has no name", a.info.Name, code, makeRow(in.Row).Name, r)
				}
			}
			for r := range use.Kills.All() {
				if !use.Writes.Has(r) {
					t.Fatalf("%s: %x: kills %s but does not write it", a.info.Name, code, a.info.Regs.Name(r))
				}
			}
		}
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	codes := [][]byte{unhex(t, "488b0578563412"), unhex(t, "62f17c48100578563412"), unhex(t, "f30f1efa"), unhex(t, "0f04"), {0x48}, {}}
	var in reloc.Insn
	var use reloc.RegUse
	if n := testing.AllocsPerRun(100, func() {
		for _, c := range codes {
			if AMD64.Decode(&in, c, 0) == nil {
				AMD64.Registers(&use, &in)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
