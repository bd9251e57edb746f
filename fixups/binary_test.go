package fixups

import (
	"bytes"
	"errors"
	"hash/crc32"
	"testing"
)

func encode(t *testing.T, table *Table) []byte {
	t.Helper()
	data, err := table.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func open(t *testing.T, data []byte) *View {
	t.Helper()
	v, err := OpenBinary(data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBinaryRoundTrip(t *testing.T) {
	g := newGen(t, 5)
	for range 200 {
		want := g.table(g.IntN(60))
		data := encode(t, want)
		v := open(t, data)
		got := v.Table()
		checkTableEqual(t, got, want)
		l := want.Layout
		l.Align = max(l.Align, 1)
		if got.Layout != l || v.Len() != len(want.Entries) {
			t.Errorf("layout %+v, %d entries, want %+v, %d", got.Layout, v.Len(), l, len(want.Entries))
		}
		if again := encode(t, got); !bytes.Equal(again, data) {
			t.Fatal("a second encoding differs")
		}
		checkFind(t, v, want)
	}
}

// checkFind looks for every address in and around the table.
func checkFind(t *testing.T, v *View, want *Table) {
	t.Helper()
	var e Entry
	if n := len(want.Entries); n == 0 {
		return
	}
	lo, last := want.Entries[0].PC, &want.Entries[len(want.Entries)-1]
	for pc := lo - 2; pc != last.PC+uint64(last.Len)+2; pc++ {
		r, ok := v.Find(pc)
		if ok != (want.Find(pc) != nil) {
			t.Fatalf("%#x: found %v", pc, ok)
		}
		if !ok {
			continue
		}
		w := want.Find(pc)
		v.Entry(r, &e) // storage is reused on purpose
		if !e.Equal(w) || r.Len != w.Len || r.PC != pc || v.Class(r) != w.Class || !bytes.Equal(v.Bytes(r), w.Bytes) {
			t.Fatalf("%#x: %s, want %s", pc, e.AppendJSON(nil, "", testRegs), w.AppendJSON(nil, "", testRegs))
		}
	}
}

// Both ends of the address space but its last byte, and none.
func TestBinaryEdges(t *testing.T) {
	one := func(pc uint64) Entry { return Entry{PC: pc, Len: 1, Bytes: []byte{0x90}, Class: ClassPlain} }
	for _, entries := range [][]Entry{nil, {one(0)}, {one(^uint64(0) - 1)}, {one(0), one(1), one(1 << 63), one(^uint64(0) - 1)}} {
		want := &Table{Arch: "x", Entries: entries, Layout: Layout{Bits: 64}}
		checkTableEqual(t, open(t, encode(t, want)).Table(), want)
	}
	v := open(t, encode(t, &Table{Layout: Layout{Bits: 64}}))
	if _, ok := v.Find(0); ok {
		t.Error("found something in an empty table")
	}
}

// A long run: many words of starts, instructions of the greatest length.
func TestBinaryLongRun(t *testing.T) {
	g := newGen(t, 6)
	want := &Table{Arch: "x", Layout: Layout{Bits: 64, Align: 4}}
	pc := uint64(0x1000)
	for range 3000 {
		n := 4 * (1 + g.IntN(63))
		want.Entries = append(want.Entries, Entry{PC: pc, Len: uint8(n), Bytes: g.bytes(n), Class: ClassPlain, Func: "f", At: pc - 0x1000})
		pc += uint64(n)
	}
	v := open(t, encode(t, want))
	checkTableEqual(t, v.Table(), want)
	if n := len(v.sec[secRuns]) / binRun; n != 1 {
		t.Errorf("%d runs", n)
	}
	if r := v.run(0); r.nsites != 0 {
		t.Errorf("%d sites", r.nsites)
	}
	checkFind(t, v, want)
}

func TestEncoderRefuses(t *testing.T) {
	ok := Entry{PC: 0x1000, Len: 1, Bytes: []byte{0x90}, Class: ClassPlain}
	for name, change := range map[string]func(*Entry){
		"no bytes":       func(e *Entry) { e.Bytes = nil },
		"no length":      func(e *Entry) { e.Len, e.Bytes = 0, nil },
		"top of memory":  func(e *Entry) { e.PC = ^uint64(0) },
		"class":          func(e *Entry) { e.Class = 99 },
		"hazard":         func(e *Entry) { e.Hazards = 1 << 40 },
		"reason":         func(e *Entry) { e.Reason = 99 },
		"overlap":        func(e *Entry) { e.PC = 0xfff },
		"name":           func(e *Entry) { e.Func = "a\x00b" },
		"other form":     func(e *Entry) { e.Forms = []Verdict{{Form: FormStep, Plan: Plan{Form: FormJump, SiteLen: 1}}} },
		"other length":   func(e *Entry) { e.Forms = []Verdict{{Plan: Plan{SiteLen: 2}}} },
		"no site length": func(e *Entry) { e.Forms = []Verdict{{}} },
		"alignment":      func(e *Entry) { e.Forms = []Verdict{{Plan: Plan{SiteLen: 1, SlotAlign: 3}}} },
		"bad program": func(e *Entry) {
			e.Forms = []Verdict{{Plan: Plan{SiteLen: 1, Emulate: Program{{Op: OpMov, Dst: PC(), A: T(0)}}}}}
		},
		"verdicts": func(e *Entry) { e.Forms = make([]Verdict, 256) },
		"relocs": func(e *Entry) {
			e.Forms = []Verdict{{Form: FormJump, Plan: Plan{Form: FormJump, SiteLen: 1, Code: make([]byte, 4), Relocs: make([]Reloc, maxItems+1)}}}
		},
	} {
		e := ok
		change(&e)
		table := &Table{Layout: Layout{Bits: 64}, Entries: []Entry{{PC: 0xffe, Len: 2, Bytes: []byte{0x66, 0x90}}, e}}
		if _, err := table.AppendBinary(nil); !errors.Is(err, ErrEncode) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, l := range []Layout{{}, {Align: 1}, {Bits: 64, Align: 3}, {Bits: 64, Align: 16}, {Bits: 16}, {Bits: 64, Placing: Placing{Insn: 2}}} {
		if _, err := (&Table{Layout: l}).AppendBinary(nil); !errors.Is(err, ErrEncode) {
			t.Errorf("%+v: %v", l, err)
		}
	}
	for _, gaps := range [][]Range{{{Addr: 1}}, {{Addr: ^uint64(0), Size: 2}}, {{Addr: 5, Size: 2}, {Addr: 6, Size: 1}}} {
		if _, err := (&Table{Gaps: gaps, Layout: Layout{Bits: 64}}).AppendBinary(nil); !errors.Is(err, ErrEncode) {
			t.Errorf("%v: %v", gaps, err)
		}
	}
}

// branch is an entry for a branch of five bytes with displacement d, as a port
// would plan it: near re-encoded, far by a literal, stepped, emulated.
func branch(pc uint64, d int64) Entry {
	rel := d - 5
	e := Entry{PC: pc, Len: 5, Class: ClassCall, HasTarget: true, Target: pc + uint64(d), Patch: PatchTrap | PatchBranch,
		Bytes: []byte{0xe8, byte(rel), byte(rel >> 8), byte(rel >> 16), byte(rel >> 24)}}
	site := Reloc{Off: 1, Size: 4, Bits: 32, Base: BaseSite, Addend: d - 4, PCRel: true, Check: CheckSigned}
	e.Forms = []Verdict{
		{Form: FormEmulate, Plan: Plan{Form: FormEmulate, Strategy: StrategyEmulate, SiteLen: 5, Emulate: Program{
			{Op: OpSub, Dst: T(0), A: R(7), B: Const(8)},
			{Op: OpStore, Size: 8, A: T(0), B: SitePlus(5)},
			{Op: OpMov, Dst: R(7), A: T(0)},
			{Op: OpMov, Dst: PC(), A: SitePlus(d)},
		}}},
		{Form: FormStep, Plan: Plan{Form: FormStep, Strategy: StrategyReEncode, SiteLen: 5, Code: []byte{0xe8, 0, 0, 0, 0, 0xcc}, CopyLen: 5,
			Relocs: []Reloc{site}, Reach: Reach{Min: d - 5 - (1<<31 - 1), Max: d - 5 + 1<<31},
			Post:   Program{{Op: OpMov, Dst: PC(), A: SitePlus(d)}},
			Points: []Point{{HasBack: true, Back: Program{{Op: OpMov, Dst: PC(), A: SitePlus(0)}}}}}},
		{Form: FormStep, Far: true, Reason: ReasonNoReach},
	}
	return e
}

// plainEntry is a copy of n bytes with a jump behind it.
func plainEntry(pc uint64, b ...byte) Entry {
	n := len(b)
	code := append(append([]byte{}, b...), 0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	return Entry{PC: pc, Len: uint8(n), Bytes: b, Class: ClassPlain, Patch: PatchTrap | PatchBranch, Forms: []Verdict{
		{Form: FormEmulate, Reason: ReasonNotEmulated},
		{Form: FormJump, Far: true, Plan: Plan{Form: FormJump, Strategy: StrategyCopy, Far: true, Reach: AnyReach(), SiteLen: uint8(n), Tail: TailJump, Code: code,
			Relocs: []Reloc{{Off: uint16(n) + 6, Size: 8, Bits: 64, Addend: int64(n)}}}},
	}}
}

// TestEncoderFastPath writes the same sites by shapes and by entries.
func TestEncoderFastPath(t *testing.T) {
	want := &Table{Arch: "amd64", File: "f", Base: 0x1000, Layout: Layout{Bits: 64}}
	e := NewEncoder(want)
	a, b := branch(0x1000, 100), branch(0x1000, 5000)
	call, err := e.Shape(&a, &b)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < 5; n++ {
		p := plainEntry(0, make([]byte, n)...)
		id, err := e.Shape(&p, nil)
		if err != nil {
			t.Fatal(err)
		}
		e.SetPlain(id)
	}
	g := newGen(t, 7)
	pc := uint64(0x1000)
	for i := range 40 {
		var code []byte
		start := pc
		var entries []Entry
		for range 30 {
			var en Entry
			switch g.IntN(8) {
			case 0:
				en = branch(pc, pick(g, g.val()%1000, 5, 4, 0, -8, 1<<31))
			case 1:
				skip := 1 + g.IntN(200) // a gap
				code = append(code, make([]byte, skip)...)
				pc += uint64(skip)
				continue
			default:
				en = plainEntry(pc, g.bytes(1+g.IntN(4))...)
			}
			code = append(code, en.Bytes...)
			en.Func, en.At, en.InFile, en.Offset = "f", pc-start+uint64(i), true, pc+7
			entries = append(entries, en)
			pc += uint64(en.Len)
		}
		e.Begin(Extent{Addr: start, Code: code, Func: "f", At: uint64(i), InFile: true, Offset: start + 7})
		for j := range entries {
			if en := &entries[j]; en.Class == ClassPlain {
				e.Plain(en.PC, int(en.Len))
			} else {
				e.Site(en.PC, int(en.Len), call, int64(en.Target-en.PC))
			}
		}
		want.Entries = append(want.Entries, entries...)
	}
	data, err := e.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	checkTableEqual(t, open(t, data).Table(), want)
	checkTableEqual(t, open(t, encode(t, want)).Table(), want)
}

// A shape is refused unless the samples differ in nothing but D.
func TestShapeSamples(t *testing.T) {
	fresh := func() *Encoder { return NewEncoder(&Table{Arch: "amd64"}) }
	a, b := branch(0x1000, 100), branch(0x7000, 5000)
	if _, err := fresh().Shape(&a, &b); err != nil {
		t.Error(err)
	}
	e := fresh()
	c := branch(0x9000, -5)
	x, _ := e.Shape(&a, &b)
	y, _ := e.Shape(&b, &c)
	z, err := e.Shape(&c, &a)
	if x != y || y != z || err != nil {
		t.Errorf("shapes %d %d %d, %v", x, y, z, err)
	}
	for name, change := range map[string]func(*Entry){
		"same D":      func(e *Entry) { *e = branch(0x7000, 100) },
		"class":       func(e *Entry) { e.Class = ClassBranch },
		"length":      func(e *Entry) { e.Len, e.Bytes = 6, append(e.Bytes, 0) },
		"forms":       func(e *Entry) { e.Forms = e.Forms[:1] },
		"reason":      func(e *Entry) { e.Forms[2].Reason = ReasonNoRoom },
		"code":        func(e *Entry) { e.Forms[1].Plan.Code[0]++ },
		"addend":      func(e *Entry) { e.Forms[1].Plan.Relocs[0].Addend++ },
		"reach":       func(e *Entry) { e.Forms[1].Plan.Reach.Max-- },
		"steps":       func(e *Entry) { e.Forms[0].Plan.Emulate = e.Forms[0].Plan.Emulate[:3] },
		"constant":    func(e *Entry) { e.Forms[0].Plan.Emulate[0].B.Val++ },
		"points":      func(e *Entry) { e.Forms[1].Plan.Points = nil },
		"back":        func(e *Entry) { e.Forms[1].Plan.Points[0].Back = nil },
		"no target":   func(e *Entry) { e.HasTarget = false },
		"malformed":   func(e *Entry) { e.Forms[1].Plan.SlotAlign = 3 },
		"other plan":  func(e *Entry) { e.Forms[1].Reason = ReasonNoReach },
		"destination": func(e *Entry) { e.Forms[0].Plan.Emulate[3].Dst = R(0) },
	} {
		b := branch(0x7000, 5000)
		change(&b)
		e := fresh()
		if _, err := e.Shape(&a, &b); !errors.Is(err, ErrEncode) {
			t.Errorf("%s: %v", name, err)
		}
		if e.Err() != nil {
			t.Errorf("%s: the encoder is spoiled: %v", name, e.Err())
		}
	}
}

// TestReach: ends of a reach that are the greater or the lesser of a constant and
// of D plus another are found from samples on both sides, and hold for every D.
func TestReach(t *testing.T) {
	at := func(d int64, lo, hi, loD, hiD int64) Entry {
		e := branch(0x1000, d)
		e.Forms[1].Plan.Reach = Reach{Min: max(lo, d+loD), Max: min(hi, d+hiD)}
		return e
	}
	for _, c := range [][4]int64{{-1000, 1000, -980, 1010}, {-1000, 1000, -1000, 1000}, {-1 << 31, 1<<31 - 1, -1<<31 + 20, 1<<31 - 30}} {
		e := NewEncoder(&Table{Layout: Layout{Bits: 64}})
		a, b := at(100, c[0], c[1], c[2], c[3]), at(-100, c[0], c[1], c[2], c[3])
		id, err := e.Shape(&a, &b)
		if other, err2 := e.Shape(&b, &a); err != nil || err2 != nil || id != other {
			t.Fatalf("%v: shapes %d and %d, %v, %v", c, id, other, err, err2)
		}
		for d := int64(-130); d < 131; d++ {
			x := at(d, c[0], c[1], c[2], c[3])
			if !e.yields(id, &x, d) {
				t.Fatalf("%v: D %d differs", c, d)
			}
		}
	}
}

// TestShapeOf: values that move with a number of an instruction without a target
// are found from two samples, and samples with targets are refused.
func TestShapeOf(t *testing.T) {
	push := func(v int64) Entry {
		e := branch(0x1000, 100)
		e.Class, e.HasTarget, e.Target = ClassPlain, false, 0
		e.Forms = []Verdict{{Form: FormEmulate, Plan: Plan{Form: FormEmulate, Strategy: StrategyEmulate, SiteLen: e.Len,
			Emulate: Program{{Op: OpStore, A: T(0), B: Const(v), Size: 8}}}}}
		p := &e.Forms[0].Plan.Emulate
		*p = append(Program{{Op: OpMov, Dst: T(0), A: R(4)}}, *p...)
		*p = append(*p, Step{Op: OpMov, Dst: PC(), A: SitePlus(int64(e.Len))})
		return e
	}
	e := NewEncoder(&Table{Layout: Layout{Bits: 64}})
	a, b := push(100), push(-100)
	id, err := e.ShapeOf(&a, &b, 100, -100)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []int64{0, 1, -1, 5, 1<<31 - 1, -1 << 31, 1<<63 - 1} {
		if x := push(d); !e.yields(id, &x, d) || e.yields(id, &x, d+1) {
			t.Errorf("D %d differs", d)
		}
	}
	if _, err := e.ShapeOf(&a, &b, 100, -99); !errors.Is(err, ErrEncode) {
		t.Errorf("a number that the samples do not have: %v", err)
	}
	c, d := branch(0x1000, 100), branch(0x1000, -100)
	if _, err := e.ShapeOf(&c, &d, 100, -100); !errors.Is(err, ErrEncode) {
		t.Errorf("samples with targets: %v", err)
	}
}

func TestEncoderCallsRefused(t *testing.T) {
	for name, call := range map[string]func(e *Encoder, call ShapeID){
		"plain of no shape": func(e *Encoder, _ ShapeID) { e.Plain(0x1000, 2) },
		"plain of none":     func(e *Encoder, _ ShapeID) { e.Plain(0x1000, 0) },
		"negative":          func(e *Encoder, _ ShapeID) { e.Plain(0x1000, -1) },
		"too long":          func(e *Encoder, _ ShapeID) { e.Plain(0x1000, 300) },
		"before":            func(e *Encoder, _ ShapeID) { e.Plain(0xfff, 1) },
		"behind":            func(e *Encoder, _ ShapeID) { e.Plain(0x1020, 1) },
		"half outside":      func(e *Encoder, s ShapeID) { e.Site(0x101c, 5, s, 0) },
		"site of length":    func(e *Encoder, s ShapeID) { e.Site(0x1000, 4, s, 0) },
		"site of no shape":  func(e *Encoder, s ShapeID) { e.Site(0x1000, 5, s+100, 0) },
		"overlap":           func(e *Encoder, s ShapeID) { e.Site(0x1000, 5, s, 0); e.Plain(0x1004, 1) },
		"begin before":      func(e *Encoder, s ShapeID) { e.Plain(0x1000, 1); e.Begin(Extent{Addr: 0x1000}) },
		"begin at the top":  func(e *Encoder, s ShapeID) { e.Begin(Extent{Addr: ^uint64(0), Code: make([]byte, 2)}) },
		"plain shape":       func(e *Encoder, s ShapeID) { e.SetPlain(s + 100) },
		"ended":             func(e *Encoder, s ShapeID) { e.Plain(0x1000, 1); e.Append(nil) },
	} {
		e := NewEncoder(&Table{Arch: "amd64"})
		a, b, p := branch(0, 100), branch(0, 200), plainEntry(0, 0x90)
		id, err := e.Shape(&a, &b)
		if err != nil {
			t.Fatal(err)
		}
		one, _ := e.Shape(&p, nil)
		e.SetPlain(one)
		e.Begin(Extent{Addr: 0x1000, Code: make([]byte, 0x20)})
		call(e, id)
		if _, err := e.Append(nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// reseal corrects the checksum.
func reseal(data []byte) {
	n := len(data) - 4
	le.PutUint32(data[n:], crc32.Checksum(data[:n], castagnoli))
}

// exercise uses all of a table that was accepted: nothing may panic.
func exercise(t *testing.T, data []byte) (accepted bool) {
	t.Helper()
	v, err := OpenBinary(data)
	if err != nil {
		var fe *FormatError
		if !errors.Is(err, ErrBinary) || !errors.As(err, &fe) || fe.Offset < 0 || fe.Offset > len(data) {
			t.Fatalf("%#v", err)
		}
		return false
	}
	var e Entry
	var dst []byte
	n := 0
	m := newMachine(1)
	for r := range v.All() {
		n++
		if found, ok := v.Find(r.PC); !ok || found != r {
			t.Fatalf("%#x: %+v is not found: %+v", r.PC, r, found)
		}
		v.Entry(r, &e)
		if err := e.Check(); err != nil {
			t.Fatalf("accepted, but %v", err)
		}
		for i := range e.Forms {
			p := &e.Forms[i].Plan
			dst, _ = Place(dst[:0], p, Bases{Site: r.PC, Slot: r.PC + 64, Data: 1})
			Run(p.Emulate, m, &Bases{Site: r.PC}, &Temps{}, 64)
		}
	}
	if n != v.Len() {
		t.Fatalf("%d entries, counted %d", v.Len(), n)
	}
	return true
}

// TestBinaryHostile changes every byte of a table in several ways.
func TestBinaryHostile(t *testing.T) {
	g := newGen(t, 8)
	table := g.table(3)
	table.Layout.Bits = 64
	table.Entries = append(table.Entries, branch(1<<50, 100), plainEntry(1<<50+5, 0x90))
	good := encode(t, table)
	data := bytes.Clone(good)
	accepted, changes := 0, 4
	if testing.Short() {
		changes = 1
	}
	for i := range data {
		for _, x := range []byte{1, 0x80, 0xff, byte(g.Uint32()) | 2}[:changes] {
			data[i] ^= x
			if i < len(data)-4 {
				if _, err := OpenBinary(data); err == nil {
					t.Fatalf("offset %#x: a wrong checksum is accepted", i)
				}
				reseal(data)
			}
			if exercise(t, data) {
				accepted++
			}
			copy(data, good)
		}
	}
	if accepted == 0 {
		t.Error("no change was harmless: the test does not reach behind the checks")
	}
	for n := range good {
		if _, err := OpenBinary(good[:n]); err == nil {
			t.Fatalf("%d of %d bytes accepted", n, len(good))
		}
	}
	if _, err := OpenBinary(append(bytes.Clone(good), 0)); err == nil {
		t.Error("a byte too many accepted")
	}
}

// A longer end is fine if what is not known is zero.
func TestBinaryLongerEnd(t *testing.T) {
	want := newGen(t, 9).table(10)
	data := encode(t, want)
	n := len(data) - binLast
	longer := append(append(bytes.Clone(data[:n]), make([]byte, 16)...), data[n:]...)
	le.PutUint32(longer[n+16:], binMinEnd+16)
	le.PutUint64(longer[len(data)-binMinEnd:], uint64(len(longer)))
	reseal(longer)
	checkTableEqual(t, open(t, longer).Table(), want)
	longer[n] = 1
	reseal(longer)
	if _, err := OpenBinary(longer); !errors.Is(err, ErrBinary) {
		t.Errorf("an unknown field that is not zero: %v", err)
	}
}

func FuzzBinary(f *testing.F) {
	data, err := gen{newSeeded(2)}.table(3).AppendBinary(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, uint32(0), uint32(0))
	f.Add(data, uint32(72), uint32(1))
	f.Fuzz(func(t *testing.T, data []byte, at, x uint32) {
		data = bytes.Clone(data)
		if len(data) >= binFront+binMinEnd {
			if i := int(at % uint32(len(data))); i+4 <= len(data) {
				le.PutUint32(data[i:], le.Uint32(data[i:])^x)
			}
			reseal(data)
		}
		exercise(t, data)
	})
}

func TestViewAllocs(t *testing.T) {
	table := newGen(t, 10).table(300)
	v := open(t, encode(t, table))
	var e Entry
	for r := range v.All() {
		v.Entry(r, &e)
	}
	pc := table.Entries[len(table.Entries)/2].PC
	if n := testing.AllocsPerRun(100, func() {
		r, _ := v.Find(pc)
		v.Entry(r, &e)
	}); n != 0 {
		t.Errorf("Find and Entry: %v allocations", n)
	}
}
