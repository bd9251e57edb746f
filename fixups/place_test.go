package fixups

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"
)

// place1 places n bytes of zeros (or fill) with the given relocs.
func place1(t *testing.T, fill byte, n int, at Bases, o Placing, relocs ...Reloc) string {
	t.Helper()
	p := Plan{Code: bytes.Repeat([]byte{fill}, n), Far: true, Relocs: relocs}
	out, err := PlaceOrder([]byte{0xaa}, &p, at, o)
	if err != nil {
		t.Fatal(err)
	}
	if out[0] != 0xaa || len(out) != n+1 {
		t.Fatalf("% x", out)
	}
	return hex.EncodeToString(out[1:])
}

func TestPlaceFields(t *testing.T) {
	at := Bases{Site: 0x401000, Slot: 0x500000, Data: 0x123456789abcdef0, Regs: map[Reg]uint64{7: 0x7000},
		Insn: func(i int) uint64 { return 0x500000 + uint64(i)*0x10 }}
	be, mixed := Placing{BigEndian, BigEndian}, Placing{Insn: LittleEndian, Data: BigEndian}
	for _, c := range []struct {
		name  string
		fill  byte
		n     int
		order Placing
		rel   []Reloc
		want  string
	}{
		{"x86 rel32", 0, 5, Placing{}, []Reloc{{Off: 1, Size: 4, Bits: 32, PCRel: true, Check: CheckSigned, Addend: 0x20 - 4}}, "00" + "1b10f0ff"},
		{"abs64", 0xff, 8, Placing{}, []Reloc{{Size: 8, Bits: 64, Addend: 5}}, "0510400000000000"},
		{"abs64 of data, big-endian data", 0, 8, mixed, []Reloc{{Size: 8, Bits: 64, Base: BaseData, Order: OrderData}}, "123456789abcdef0"},
		{"the same in instruction order", 0, 8, mixed, []Reloc{{Size: 8, Bits: 64, Base: BaseData}}, "f0debc9a78563412"},
		{"slot", 0, 4, Placing{}, []Reloc{{Size: 4, Bits: 32, Base: BaseSlot, Addend: -1}}, "ffff4f00"},
		{"copy of the third instruction", 0, 4, Placing{}, []Reloc{{Size: 4, Bits: 32, Base: BaseInsn, Index: 2}}, "20005000"},
		{"a register", 0, 2, Placing{}, []Reloc{{Size: 2, Bits: 16, Base: BaseReg, Index: 7}}, "0070"},
		{"one bit", 0, 1, Placing{}, []Reloc{{Size: 1, Lsb: 3, Bits: 1, Addend: 0, Shift: 22}}, "08"},
		{"neighbours kept", 0xff, 2, Placing{}, []Reloc{{Size: 2, Lsb: 4, Bits: 8, Shift: 63}}, "0ff0"},
		// A64 b: imm26 in words; ADRP: immlo, immhi of the page distance; add lo12.
		{"A64 b", 0, 4, Placing{}, []Reloc{{Size: 4, Bits: 26, Shift: 2, PCRel: true, Check: CheckSigned}}, "0004fc03"},
		{"A64 adrp", 0, 4, Placing{}, []Reloc{
			{Size: 4, Lsb: 29, Bits: 2, Shift: 12, Page: 12, PCRel: true, Addend: 0x1fff, Check: CheckWrap},
			{Size: 4, Lsb: 5, Bits: 19, Shift: 14, Page: 12, PCRel: true, Addend: 0x1fff, Check: CheckSigned}},
			"00f8ff40"},
		{"A64 add lo12", 0, 4, Placing{}, []Reloc{{Size: 4, Lsb: 10, Bits: 12, Addend: 0xabc, Check: CheckWrap}}, "00f02a00"},
		{"A64 movz/movk quarters", 0, 8, Placing{}, []Reloc{
			{Size: 2, Bits: 16, Base: BaseData, Check: CheckWrap}, {Off: 2, Size: 2, Bits: 16, Shift: 16, Base: BaseData, Check: CheckWrap},
			{Off: 4, Size: 2, Bits: 16, Shift: 32, Base: BaseData, Check: CheckWrap}, {Off: 6, Size: 2, Bits: 16, Shift: 48, Base: BaseData, Check: CheckWrap}},
			"f0debc9a78563412"},
		// Power li in words, big-endian; two halves of a split displacement.
		{"Power b", 0, 4, be, []Reloc{{Size: 4, Lsb: 2, Bits: 24, Shift: 2, PCRel: true, Check: CheckSigned}}, "03f01000"},
		{"Power halves", 0, 8, be, []Reloc{
			{Size: 4, Bits: 18, Shift: 16, PCRel: true, Check: CheckSigned, Addend: -0x10}, {Off: 4, Size: 4, Bits: 16, Check: CheckWrap, PCRel: true, Addend: 4 - 0x10}},
			"0003fff000000ff0"},
		// RISC-V style: the carry of the low part goes into the addend.
		{"RISC-V hi20", 0, 4, Placing{}, []Reloc{{Size: 4, Lsb: 12, Bits: 20, Shift: 12, PCRel: true, Addend: 0x800 + 0x801, Check: CheckSigned}}, "0020f0ff"},
	} {
		got := place1(t, c.fill, c.n, at, c.order, c.rel...)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Each check, at both ends of what the field holds and one step outside.
func TestPlaceChecks(t *testing.T) {
	for _, c := range []struct {
		check  Check
		lo, hi int64
	}{{CheckSigned, -128, 127}, {CheckUnsigned, 0, 255}} {
		for v, ok := range map[int64]bool{c.lo: true, c.hi: true, c.lo - 1: false, c.hi + 1: false, math.MinInt64: false, math.MaxInt64: false} {
			p := Plan{Code: []byte{0}, Far: true, Relocs: []Reloc{{Size: 1, Bits: 8, Check: c.check, Addend: v}}}
			dst := []byte{1, 2}
			out, err := Place(dst, &p, Bases{Slot: 0x1000})
			var e *ReachError
			switch {
			case ok && (err != nil || out[2] != byte(v)):
				t.Errorf("%v %d: % x, %v", c.check, v, out, err)
			case !ok && (!errors.As(err, &e) || !errors.Is(err, ErrReach) || e.Reloc != 0 || e.Value != v || len(out) != 2):
				t.Errorf("%v %d: % x, %v", c.check, v, out, err)
			}
		}
	}
	for _, check := range []Check{CheckNone, CheckWrap} {
		p := Plan{Code: []byte{0}, Far: true, Relocs: []Reloc{{Size: 1, Bits: 8, Check: check, Addend: 0x1234}}}
		if out, err := Place(nil, &p, Bases{}); err != nil || out[0] != 0x34 {
			t.Errorf("%v: % x, %v", check, out, err)
		}
	}
	p := Plan{Code: make([]byte, 8), Far: true, Relocs: []Reloc{{Size: 8, Bits: 64, Check: CheckSigned, Addend: math.MinInt64}}}
	if _, err := Place(nil, &p, Bases{}); err != nil {
		t.Errorf("64 bits: %v", err)
	}
}

func TestPlaceReach(t *testing.T) {
	const site = 1 << 40
	plan := func(r Reach) *Plan { return &Plan{Code: []byte{0x90}, Reach: r} }
	for _, c := range []struct {
		reach Reach
		d     int64
		over  int64
		ok    bool
	}{
		{Reach{Min: -100, Max: 100}, -100, 0, true},
		{Reach{Min: -100, Max: 100}, 100, 0, true},
		{Reach{Min: -100, Max: 100}, -101, -1, false},
		{Reach{Min: -100, Max: 100}, 101, 1, false},
		{Reach{Min: math.MinInt64, Max: -5}, math.MaxInt64, math.MaxInt64, false},
		{Reach{Min: 5, Max: math.MaxInt64}, math.MinInt64, math.MinInt64, false},
		{AnyReach(), math.MinInt64, 0, true},
		{AnyReach(), math.MaxInt64, 0, true},
		{Reach{Min: 1, Max: 0}, 0, -1, false},
		{Reach{Min: -1 << 20, Max: 1 << 20, Align: 65536}, -65536, 0, true},
		{Reach{Min: -1 << 20, Max: 1 << 20, Align: 65536}, -65535, 0, false},
		{Reach{Min: -1 << 20, Max: 1 << 20, Align: 16, Residue: 4}, -12, 0, true},
		{Reach{Min: -1 << 20, Max: 1 << 20, Align: 16, Residue: 4}, 4, 0, true},
		{Reach{Min: -1 << 20, Max: 1 << 20, Align: 16, Residue: 4}, -4, 0, false},
		{Reach{Min: -1 << 20, Max: 1 << 20, Align: 1 << 31}, 0, 0, true},
	} {
		p := plan(c.reach)
		_, err := Place(nil, p, Bases{Site: site, Slot: site + uint64(c.d)})
		var e *ReachError
		if c.ok != (err == nil) || err != nil && (!errors.As(err, &e) || e.Over != c.over || e.Reloc != -1) || p.Holds(c.d) != c.ok {
			t.Errorf("%+v, %d: %v", c.reach, c.d, err)
		}
	}
	far := plan(Reach{Align: 4, Residue: 1})
	far.Far = true
	if !far.Holds(math.MinInt64+1) || far.Holds(0) {
		t.Error("a far plan looks at its residue and at nothing else")
	}
	if _, err := Place(nil, far, Bases{}); err == nil || !strings.Contains(err.Error(), "residue 1 modulo 4") {
		t.Error(err)
	}
}

func TestPlaceAlign(t *testing.T) {
	for slot, ok := range map[uint64]bool{0: true, 64: true, 1 << 63: true, 32: false, 65: false, 63: false} {
		p := Plan{Code: []byte{0x90}, Far: true, SlotAlign: 64}
		if _, err := Place(nil, &p, Bases{Slot: slot}); (err == nil) != ok || err != nil && err != ErrAlign {
			t.Errorf("%#x: %v", slot, err)
		}
	}
}

func TestPlaceErrors(t *testing.T) {
	for _, base := range []Base{BaseData, BaseInsn, BaseReg} {
		p := Plan{Code: make([]byte, 8), Far: true, Relocs: []Reloc{{Size: 8, Bits: 64}, {Size: 8, Bits: 64, Base: base, Index: 3}}}
		if out, err := Place([]byte{1}, &p, Bases{Regs: map[Reg]uint64{4: 0}}); err != ErrBases || len(out) != 1 {
			t.Errorf("%v: %v", base, err)
		}
	}
	for _, r := range []Reloc{{}, {Size: 3, Bits: 1}, {Size: 4, Bits: 0}, {Size: 4, Bits: 33}, {Size: 4, Bits: 1, Lsb: 32}, {Off: 5, Size: 4, Bits: 1},
		{Size: 8, Bits: 65}, {Size: 4, Bits: 1, Shift: 64}, {Size: 4, Bits: 1, Page: 64}, {Size: 4, Bits: 1, Base: 5}, {Size: 4, Bits: 1, Check: 4},
		{Size: 4, Bits: 1, Order: 2}, {Size: 4, Lsb: 255, Bits: 255}, {Off: 65535, Size: 8, Bits: 1}} {
		p := Plan{Code: make([]byte, 8), Far: true, Relocs: []Reloc{r}}
		if _, err := Place(nil, &p, Bases{}); err != ErrReloc {
			t.Errorf("%+v: %v", r, err)
		}
	}
	emulate := Plan{Form: FormEmulate, Emulate: Program{{Op: OpMov, Dst: PC(), A: SitePlus(1)}}, SlotAlign: 64, Reach: Reach{Min: 1}}
	if out, err := Place(nil, &emulate, Bases{Slot: 3}); err != nil || len(out) != 0 {
		t.Errorf("no code: % x, %v", out, err)
	}
	reset := emulate
	reset.Reset()
	for _, p := range []*Plan{{}, &reset, {Form: FormStep, Strategy: StrategyCopy}, {Form: FormJump, Emulate: emulate.Emulate}} {
		if out, err := Place([]byte{1}, p, Bases{}); err != ErrNoPlan || len(out) != 1 {
			t.Errorf("%v without code: % x, %v", p.Form, out, err)
		}
	}
}

// FuzzPlace: what is placed reads back as the value, in the field and nowhere
// else; what is refused leaves dst alone.
func FuzzPlace(f *testing.F) {
	g := gen{newSeeded(4)}
	for range 20 {
		n := 1 + g.IntN(20)
		r := g.reloc(n)
		f.Add(g.bytes(n), putReloc(nil, &r, &delta{}, &r), g.Uint64(), g.Uint64(), g.bool(), g.bool())
	}
	f.Fuzz(func(t *testing.T, code, raw []byte, site, slot uint64, bigInsn, bigData bool) {
		if len(raw) < 24 || len(code) > maxCode {
			return
		}
		r := getReloc(raw, 0)
		order := Placing{}
		if bigInsn {
			order.Insn = BigEndian
		}
		if bigData {
			order.Data = BigEndian
		}
		p := Plan{Code: code, Far: true, Relocs: []Reloc{r}}
		at := Bases{Site: site, Slot: slot, Data: 1, Regs: map[Reg]uint64{Reg(r.Index): site}, Insn: func(int) uint64 { return slot }}
		before := bytes.Clone(code)
		out, err := PlaceOrder(nil, &p, at, order)
		if !bytes.Equal(code, before) {
			t.Fatal("the template was changed")
		}
		if (len(code) == 0) != (err == ErrNoPlan) {
			t.Fatalf("%d bytes of code, %v", len(code), err)
		}
		if err != nil {
			if len(out) != 0 || err != ErrNoPlan && !errors.Is(err, ErrReach) && err != ErrReloc {
				t.Fatalf("% x, %v", out, err)
			}
			return
		}
		end := order.Insn
		if r.Order == OrderData {
			end = order.Data
		}
		v, err := r.Value(&at)
		if err != nil {
			t.Fatal(err)
		}
		word := getWord(out[r.Off:][:r.Size], end)
		mask := fieldMask(0, r.Bits)
		if got := word >> r.Lsb & mask; got != uint64(v)&mask {
			t.Fatalf("%+v: field %#x, value %#x", r, got, v)
		}
		putWord(out[r.Off:][:r.Size], word&^(mask<<r.Lsb)|getWord(code[r.Off:][:r.Size], end)&(mask<<r.Lsb), end)
		if !bytes.Equal(out, code) {
			t.Fatalf("%+v: bytes outside the field changed", r)
		}
	})
}

// benchPlan has the relocs of a far conditional branch: two literals.
func benchPlan() *Plan {
	return &Plan{Code: make([]byte, 30), Far: true, Relocs: []Reloc{
		{Off: 8, Size: 8, Bits: 64, Addend: 6}, {Off: 22, Size: 8, Bits: 64, Addend: 0x1234}, {Off: 1, Size: 4, Bits: 32, Base: BaseSlot, PCRel: true, Check: CheckSigned}}}
}

func TestPlaceAllocs(t *testing.T) {
	p := benchPlan()
	dst := make([]byte, 0, 64)
	at := Bases{Site: 0x1000, Slot: 1 << 40}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := Place(dst, p, at); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPlace(b *testing.B) {
	p := benchPlan()
	dst := make([]byte, 0, 64)
	at := Bases{Site: 0x1000, Slot: 1 << 40}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Place(dst, p, at); err != nil {
			b.Fatal(err)
		}
	}
}
