package fixups

import "testing"

// benchTable is a table as a program gives it: four plain instructions of a
// few lengths, then a call.
func benchTable(n int) *Table {
	t := &Table{Arch: "amd64", File: "f", Base: 0x1000, Layout: Layout{Bits: 64}}
	pc := uint64(0x1000)
	for i := range n {
		var e Entry
		if i%5 == 4 {
			e = branch(pc, int64(i%977)*16-4000)
		} else {
			e = plainEntry(pc, make([]byte, 1+(i*7)%6)...)
		}
		e.Func, e.At = "function", pc-0x1000
		t.Entries = append(t.Entries, e)
		pc += uint64(e.Len)
	}
	return t
}

// encoderCalls are the calls that a generator makes for a table.
type encoderCalls struct {
	enc  *Encoder
	call ShapeID
	code []byte
	pcs  []uint64
	lens []int
	d    []int64 // 0: plain
}

func newEncoderCalls(tb testing.TB, table *Table) *encoderCalls {
	c := &encoderCalls{}
	for i := range table.Entries {
		e := &table.Entries[i]
		c.code = append(c.code, e.Bytes...)
		c.pcs, c.lens = append(c.pcs, e.PC), append(c.lens, int(e.Len))
		d := int64(0)
		if e.Class == ClassCall {
			d = int64(e.Target - e.PC)
		}
		c.d = append(c.d, d)
	}
	c.reset(tb, table)
	return c
}

func (c *encoderCalls) reset(tb testing.TB, table *Table) {
	if c.enc == nil {
		c.enc = NewEncoder(table)
	} else {
		c.enc.Reset(table)
	}
	a, b := branch(0, 100), branch(0, 5000)
	var err error
	if c.call, err = c.enc.Shape(&a, &b); err != nil {
		tb.Fatal(err)
	}
	for n := 1; n < 7; n++ {
		p := plainEntry(0, make([]byte, n)...)
		id, err := c.enc.Shape(&p, nil)
		if err != nil {
			tb.Fatal(err)
		}
		c.enc.SetPlain(id)
	}
}

// table makes the calls for a table that starts shift bytes further up.
func (c *encoderCalls) table(shift uint64) {
	c.enc.Begin(Extent{Addr: c.pcs[0] + shift, Code: c.code, Func: "function"})
	for i, pc := range c.pcs {
		if d := c.d[i]; d != 0 {
			c.enc.Site(pc+shift, c.lens[i], c.call, d)
		} else {
			c.enc.Plain(pc+shift, c.lens[i])
		}
	}
}

func TestEncoderAllocs(t *testing.T) {
	table := benchTable(1000)
	c := newEncoderCalls(t, table)
	for i := range c.enc.sec { // room for what is to come
		c.enc.sec[i].data = append(make([]byte, 0, 10<<20), c.enc.sec[i].data...)
	}
	c.enc.sites, c.enc.starts, c.enc.body = make([]byte, 10<<20), make([]byte, 0, 10<<20), make([]byte, 0, 10<<20)
	shift := uint64(0)
	c.table(shift)
	if n := testing.AllocsPerRun(50, func() {
		shift += uint64(len(c.code))
		c.table(shift)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if c.enc.Err() != nil {
		t.Error(c.enc.Err())
	}
}

// BenchmarkEncoder is the cost of the table for an instruction that is decoded
// anyway, end included; one in five is no plain copy.
func BenchmarkEncoder(b *testing.B) {
	table := benchTable(100_000)
	c := newEncoderCalls(b, table)
	var out []byte
	b.ReportAllocs()
	b.SetBytes(int64(len(c.code)))
	for b.Loop() {
		c.reset(b, table)
		c.table(0)
		var err error
		if out, err = c.enc.Append(out[:0]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(c.pcs)), "ns/insn")
	b.ReportMetric(float64(len(out))/float64(len(c.code)), "B/codebyte")
}

// BenchmarkEncoderSite is one call for a site that is no plain copy.
func BenchmarkEncoderSite(b *testing.B) {
	table := benchTable(10)
	c := newEncoderCalls(b, table)
	code := make([]byte, 5*1000)
	pc := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		if pc%5000 == 0 {
			c.enc.sec[secRuns].data, c.enc.body = nil, nil
			c.enc.siteEnd, c.enc.run, c.enc.any, pc = 0, runState{}, false, 0
			c.enc.Begin(Extent{Addr: 0, Code: code})
		}
		c.enc.Site(pc, 5, c.call, int64(pc))
		pc += 5
	}
	if c.enc.Err() != nil {
		b.Fatal(c.enc.Err())
	}
}

func BenchmarkEncoderAdd(b *testing.B) {
	table := benchTable(10_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := table.AppendBinary(nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/insn")
}

func BenchmarkOpenBinary(b *testing.B) {
	data, err := benchTable(100_000).AppendBinary(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := OpenBinary(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/insn")
}

func BenchmarkViewFind(b *testing.B) {
	table := benchTable(100_000)
	data, err := table.AppendBinary(nil)
	if err != nil {
		b.Fatal(err)
	}
	v, err := OpenBinary(data)
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i = (i + 7919) % len(table.Entries)
		if _, ok := v.Find(table.Entries[i].PC); !ok {
			b.Fatal("not found")
		}
	}
}

func BenchmarkViewEntry(b *testing.B) {
	data, err := benchTable(1000).AppendBinary(nil)
	if err != nil {
		b.Fatal(err)
	}
	v, err := OpenBinary(data)
	if err != nil {
		b.Fatal(err)
	}
	var e Entry
	b.ReportAllocs()
	for b.Loop() {
		for r := range v.All() {
			v.Entry(r, &e)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/insn")
}

func BenchmarkAppendJSON(b *testing.B) {
	table := benchTable(1000)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = table.AppendJSONL(dst[:0], testRegs)
	}
	b.SetBytes(int64(len(dst)))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/insn")
}

func BenchmarkParseStep(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseStep("rax = insert t0, 8, 8", testRegs); err != nil {
			b.Fatal(err)
		}
	}
}
