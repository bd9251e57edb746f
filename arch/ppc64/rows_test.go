package ppc64

import (
	"math/rand/v2"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Every row has encodings that decode to it in both orders, and every cut of them
// asks for more bytes.
func TestRowsDecode(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2)).Uint64
	for id := uint32(1); id < uint32(len(facts)); id++ {
		for range 20 {
			w, ok := randomOf(id, rnd)
			if !ok {
				t.Errorf("no encoding of row %d, %s : %s", id, rowTexts[id].pattern, rowTexts[id].name)
				break
			}
			for _, a := range arches {
				checkCuts(t, a, id, a.appendWords(nil, id, w))
			}
		}
	}
}

// checkCuts decodes code, which is one instruction of row id, whole and cut.
func checkCuts(t *testing.T, a *Arch, id uint32, code []byte) {
	t.Helper()
	var in, short reloc.Insn
	if err := a.Decode(&in, code, 0x1000); err != nil || int(in.Len) != len(code) || in.Row != id {
		t.Fatalf("%s: %x: %d bytes, row %d, %v; want row %d", a.info.Name, code, in.Len, in.Row, err, id)
	}
	if err := a.Decode(&short, append(code[:len(code):len(code)], make([]byte, 8)...), 0x1000); err != nil || short != in {
		t.Fatalf("%s: %x: what follows matters: %v\n%+v\n%+v", a.info.Name, code, err, in, short)
	}
	for n := range code {
		if err := a.Decode(&short, code[:n:n], 0x1000); err != fixups.ReasonTruncated || int(short.Len) != n {
			t.Fatalf("%s: %x cut to %d: %d bytes, %v", a.info.Name, code, n, short.Len, err)
		}
	}
}

// What Rows says agrees with Row and RowOf, and every row has a source.
func TestRows(t *testing.T) {
	rows := BE.Rows()
	for i, r := range rows {
		if got, ok := LE.Row(r.ID); !ok || got != r || r.ID != uint32(i+1) {
			t.Errorf("row %d: %+v, %v", i, got, ok)
		}
		if r.Source == "" || r.Name == "" || r.Class == fixups.ClassInvalid {
			t.Errorf("row %+v is incomplete", r)
		}
	}
	if _, ok := BE.Row(0); ok {
		t.Error("row 0 exists")
	}
	if _, ok := BE.Row(uint32(len(rows) + 1)); ok {
		t.Error("a row behind the last exists")
	}
}

// Registers are named by Info, whatever the encoding, and the same in both orders.
func TestRegistersAreNamed(t *testing.T) {
	named := fixups.RegSet{}
	for _, r := range BE.info.Regs {
		named.Add(r.Num)
	}
	rnd := rand.New(rand.NewPCG(3, 4)).Uint64
	var in reloc.Insn
	var use, other reloc.RegUse
	for range 200000 {
		code := BE.AppendRandom(nil, rnd)
		if err := BE.Decode(&in, code, 0); err != nil {
			t.Fatalf("%x: %v", code, err)
		}
		BE.Registers(&use, &in)
		LE.Registers(&other, &in)
		all := use.Reads
		all.Union(&use.Writes)
		for r := range all.All() {
			if !named.Has(r) {
				t.Fatalf("%x %s: register %d has no name", code, makeRow(in.Row).Name, r)
			}
		}
		for r := range use.Kills.All() {
			if !use.Writes.Has(r) {
				t.Fatalf("%x: kills %s but does not write it", code, BE.info.Regs.Name(r))
			}
		}
		if use != other {
			t.Fatalf("%x: %+v, %+v", code, use, other)
		}
	}
}

// regs makes a set from names.
func regSet(t *testing.T, names ...string) (s fixups.RegSet) {
	t.Helper()
next:
	for _, n := range names {
		for _, r := range BE.info.Regs {
			if r.Name == n {
				s.Add(r.Num)
				continue next
			}
		}
		t.Fatalf("no register %s", n)
	}
	return s
}

func TestRegisters(t *testing.T) {
	type list []string
	for _, tt := range []struct {
		words                []uint32
		reads, writes, kills list
	}{
		{[]uint32{0x7c632214}, list{"r3", "r4"}, list{"r3"}, list{"r3"}},                                                      // add r3,r3,r4
		{[]uint32{0x7c632615}, list{"r3", "r4", "xer"}, list{"r3", "xer", "cr"}, list{"r3"}},                                  // addo. r3,r3,r4
		{[]uint32{0x70630001}, list{"r3", "xer"}, list{"r3", "cr"}, list{"r3"}},                                               // andi. r3,r3,1
		{[]uint32{0x7c60212d}, list{"r3", "r4", "xer"}, list{"cr"}, nil},                                                      // stwcx. r3,0,r4
		{[]uint32{0x10632406}, list{"v3", "v4", "vscr"}, list{"v3", "cr"}, list{"v3"}},                                        // vcmpequb. v3,v3,v4
		{[]uint32{0xfc602091}, list{"f0", "f4", "fpscr"}, list{"f3", "fpscr", "cr"}, nil},                                     // fmr. f3,f4
		{[]uint32{0x38600001}, nil, list{"r3"}, list{"r3"}},                                                                   // li r3,1
		{[]uint32{0xf821ffe1}, list{"r1"}, list{"r1"}, list{"r1"}},                                                            // stdu r1,-32(r1)
		{[]uint32{0xbb9d0000}, list{"r29"}, list{"r28", "r29", "r30", "r31"}, nil},                                            // lmw r28,0(r29)
		{[]uint32{0x4200fff8}, list{"ctr"}, list{"ctr"}, list{"ctr"}},                                                         // bdnz
		{[]uint32{0x41820041}, list{"cr"}, list{"lr"}, list{"lr"}},                                                            // beql
		{[]uint32{0x4e800421}, list{"ctr"}, list{"lr"}, list{"lr"}},                                                           // bctrl
		{[]uint32{0x4d820420}, list{"ctr", "cr"}, nil, nil},                                                                   // beqctr
		{[]uint32{0x4e800020}, list{"lr"}, nil, nil},                                                                          // blr
		{[]uint32{0x7c7000a6}, list{"msr"}, list{"r3"}, list{"r3"}},                                                           // mfmsr r3
		{[]uint32{0x7c6802a6}, list{"lr"}, list{"r3"}, list{"r3"}},                                                            // mflr r3
		{[]uint32{0xf0231497}, list{"v1", "v2", "v3", "fpscr"}, list{"v1", "fpscr", "cr"}, nil},                               // a vector-scalar word
		{[]uint32{0xf4240011}, list{"r4"}, list{"f1"}, list{"f1"}},                                                            // lxv vs1,16(r4)
		{[]uint32{0x18640010}, list{"r4"}, list{"v2", "v3"}, list{"v2", "v3"}},                                                // lxvp vs34,16(r4)
		{[]uint32{0xe0840000}, list{"r4"}, list{"r4", "r5"}, list{"r4", "r5"}},                                                // lq r4,0(r4)
		{[]uint32{0x04100000, 0xc8c00014}, nil, list{"f6"}, list{"f6"}},                                                       // plxv vs6,20
		{[]uint32{0x7c0004ac}, nil, nil, nil},                                                                                 // sync
		{[]uint32{0x07900000, 0xec021811}, list{"f0", "f1", "f2", "f3", "fpscr"}, list{"f0", "f1", "f2", "f3", "fpscr"}, nil}, // pmxvi8ger4pp
	} {
		var in reloc.Insn
		if err := BE.Decode(&in, encode(BE, tt.words...), 0); err != nil {
			t.Errorf("%x: %v", tt.words, err)
			continue
		}
		var use reloc.RegUse
		BE.Registers(&use, &in)
		want := reloc.RegUse{Reads: regSet(t, tt.reads...), Writes: regSet(t, tt.writes...), Kills: regSet(t, tt.kills...)}
		if use != want {
			t.Errorf("%x %s: %s; want %s", tt.words, makeRow(in.Row).Name, names(&use), names(&want))
		}
	}
}

func names(use *reloc.RegUse) (s string) {
	for i, set := range []fixups.RegSet{use.Reads, use.Writes, use.Kills} {
		s += [...]string{"reads", "; writes", "; kills"}[i]
		for r := range set.All() {
			s += " " + BE.info.Regs.Name(r)
		}
	}
	return s
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	codes := [][]byte{encode(BE, 0x7c632214), encode(BE, 0x04100000, 0xe4600100), encode(BE, 0), {0x48}, {}}
	var in reloc.Insn
	var use reloc.RegUse
	if n := testing.AllocsPerRun(100, func() {
		for _, c := range codes {
			if BE.Decode(&in, c, 0) == nil {
				BE.Registers(&use, &in)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
