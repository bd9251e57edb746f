package fixups

import (
	"bytes"
	"errors"
	"testing"
)

// TestAdopt: entries written with shapes that other encoders have made are what
// they were, and a table that is streamed is the same as one that is collected.
func TestAdopt(t *testing.T) {
	g := newGen(t, 13)
	for range 50 {
		want := g.table(g.IntN(60))
		var makers [3]*Encoder
		for i := range makers {
			makers[i] = NewEncoder(want)
		}
		collected, streamed := NewEncoder(want), NewEncoder(want)
		var out bytes.Buffer
		streamed.Stream(&out)
		for i := range want.Entries {
			en := &want.Entries[i]
			m := makers[g.IntN(len(makers))]
			id, err := m.Shape(en, nil)
			if err != nil {
				t.Fatal(err)
			}
			x := Extent{Addr: en.PC, Code: en.Bytes, Func: en.Func, At: en.At, InFile: en.InFile, Offset: en.Offset}
			for _, e := range []*Encoder{collected, streamed} {
				e.Run(&x, []uint64{1}, []Site{{Shape: e.Adopt(m.Shapes(), id), D: displacement(en)}})
			}
		}
		for _, gap := range want.Gaps {
			collected.Gap(gap)
			streamed.Gap(gap)
		}
		data, err := collected.Append(nil)
		if err := errors.Join(err, streamed.Close()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(data, out.Bytes()) {
			t.Fatal("streamed and collected differ")
		}
		checkTableEqual(t, open(t, data).Table(), want)
	}
}

// TestRun writes a table by runs and by sites.
func TestRun(t *testing.T) {
	a, b := branch(0x1000, 100), branch(0x1000, 5000)
	plain := plainEntry(0, 1, 2)
	fresh := func() (*Encoder, ShapeID) {
		e := NewEncoder(&Table{Layout: Layout{Bits: 64}})
		call, err := e.Shape(&a, &b)
		two, err2 := e.Shape(&plain, nil)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		e.SetPlain(two)
		return e, call
	}
	g := newGen(t, 15)
	one, call := fresh()
	all, _ := fresh()
	pc := uint64(0x1000)
	for i := range 60 {
		x := Extent{Addr: pc, Func: string(rune('a' + i%26)), At: uint64(i), InFile: i&1 != 0, Offset: pc + 5}
		if !x.InFile {
			x.Offset = 0
		}
		var starts []uint64
		var sites []Site
		for range 1 + g.IntN(100) {
			off := len(x.Code)
			for len(starts) <= off/64 {
				starts = append(starts, 0)
			}
			starts[off/64] |= 1 << (off % 64)
			if g.bool() {
				x.Code = append(x.Code, g.bytes(2)...)
				continue
			}
			d := g.val()
			sites = append(sites, Site{uint32(off), call, d})
			x.Code = append(x.Code, g.bytes(5)...)
		}
		for len(starts) < (len(x.Code)+63)/64 {
			starts = append(starts, 0)
		}
		all.Run(&x, starts, sites)
		one.Begin(x)
		for off, k := 0, 0; off < len(x.Code); {
			if k < len(sites) && int(sites[k].Off) == off {
				one.Site(pc+uint64(off), 5, call, sites[k].D)
				off, k = off+5, k+1
			} else {
				one.Plain(pc+uint64(off), 2)
				off += 2
			}
		}
		pc += uint64(len(x.Code)) + uint64(g.IntN(3))
	}
	want, err := one.Append(nil)
	got, err2 := all.Append(nil)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	open(t, want)
	if !bytes.Equal(got, want) {
		t.Error("runs and sites differ")
	}
}

func TestRunRefuses(t *testing.T) {
	a, b := branch(0x1000, 100), branch(0x1000, 5000)
	code := make([]byte, 10)
	for name, c := range map[string]struct {
		addr   uint64
		starts []uint64
		sites  []Site
	}{
		"before":        {0xfff, []uint64{0x21}, nil},
		"at the top":    {^uint64(0) - 5, []uint64{0x21}, nil},
		"no start":      {0x2000, []uint64{0x20}, nil},
		"behind":        {0x2000, []uint64{0x421}, nil},
		"words":         {0x2000, []uint64{0x21, 0}, nil},
		"no words":      {0x2000, nil, nil},
		"site inside":   {0x2000, []uint64{0x21}, []Site{{Off: 1}}},
		"site overlaps": {0x2000, []uint64{0x23}, []Site{{Off: 0}, {Off: 1}}},
		"site order":    {0x2000, []uint64{0x21}, []Site{{Off: 5}, {Off: 0}}},
		"site length":   {0x2000, []uint64{0x11}, []Site{{Off: 0}}},
		"site behind":   {0x2000, []uint64{0x41}, []Site{{Off: 6}}},
		"no shape":      {0x2000, []uint64{0x21}, []Site{{Shape: 7}}},
	} {
		e := NewEncoder(&Table{Layout: Layout{Bits: 64}})
		if _, err := e.Shape(&a, &b); err != nil {
			t.Fatal(err)
		}
		e.Run(&Extent{Addr: 0x1000, Code: code}, []uint64{0x21}, []Site{{}, {Off: 5}})
		if e.Err() != nil {
			t.Fatal(e.Err())
		}
		e.Run(&Extent{Addr: c.addr, Code: code}, c.starts, c.sites)
		if !errors.Is(e.Err(), ErrEncode) {
			t.Errorf("%s: %v", name, e.Err())
		}
	}
	e := NewEncoder(&Table{})
	if e.Adopt(e.Shapes(), 0); !errors.Is(e.Err(), ErrEncode) {
		t.Errorf("adopted a shape that is not there: %v", e.Err())
	}
}

// A failure of what is written to comes out, and nothing more is written.
func TestStreamFails(t *testing.T) {
	e := NewEncoder(&Table{Layout: Layout{Bits: 64}})
	p := plainEntry(0, 0x90)
	id, err := e.Shape(&p, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.SetPlain(id)
	w := &failing{left: binFront + 100}
	e.Stream(w)
	code := make([]byte, 2*streamBytes)
	e.Begin(Extent{Code: code})
	for pc := range code {
		e.Plain(uint64(pc), 1)
	}
	if err := e.Close(); !errors.Is(err, errFailing) || w.after != 0 {
		t.Errorf("%v; %d calls after it", err, w.after)
	}
}

type failing struct{ left, after int }

var errFailing = errors.New("no room")

func (f *failing) Write(b []byte) (int, error) {
	if f.left < 0 {
		f.after++
	}
	if f.left -= len(b); f.left < 0 {
		return 0, errFailing
	}
	return len(b), nil
}

// A Reset encoder writes what a new one writes.
func TestEncoderReset(t *testing.T) {
	g := newGen(t, 14)
	e := NewEncoder(g.table(0))
	for range 20 {
		table := g.table(g.IntN(40))
		e.Reset(table)
		for i := range table.Entries {
			if err := e.Add(&table.Entries[i]); err != nil {
				t.Fatal(err)
			}
		}
		for _, gap := range table.Gaps {
			e.Gap(gap)
		}
		var out bytes.Buffer
		n, err := e.WriteTo(&out)
		if err != nil || n != int64(out.Len()) || !bytes.Equal(out.Bytes(), encode(t, table)) {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
}
