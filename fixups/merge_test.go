package fixups

import (
	"bytes"
	"errors"
	"testing"
)

// TestMerge: parts that were made one by one and put together are the table
// that was made in one go.
func TestMerge(t *testing.T) {
	g := newGen(t, 13)
	for range 50 {
		want := g.table(g.IntN(60))
		var whole *Encoder
		parts := 1 + g.IntN(4)
		for i := range parts {
			e := NewEncoder(want)
			// The same plain shapes for all, as a generator has them.
			for _, p := range plainOf(want) {
				id, err := e.Shape(&p, nil)
				if err != nil {
					t.Fatal(err)
				}
				e.SetPlain(id)
			}
			n := len(want.Entries)
			for j := n * i / parts; j < n*(i+1)/parts; j++ {
				if err := e.Add(&want.Entries[j]); err != nil {
					t.Fatal(err)
				}
			}
			n = len(want.Gaps)
			for _, gap := range want.Gaps[n*i/parts : n*(i+1)/parts] {
				e.Gap(gap)
			}
			if whole == nil {
				whole = e
			} else if err := whole.Merge(e); err != nil {
				t.Fatal(err)
			}
		}
		data, err := whole.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		checkTableEqual(t, open(t, data).Table(), want)
	}
}

// plainOf returns the first entry that can be plain of each length.
func plainOf(t *Table) []Entry {
	var out []Entry
	seen := map[uint8]bool{}
	for _, e := range t.Entries {
		if e.Class == ClassPlain && e.Hazards == 0 && !e.HasTarget && e.Reason == ReasonNone && !seen[e.Len] {
			seen[e.Len] = true
			out = append(out, e)
		}
	}
	return out
}

func TestMergeRefuses(t *testing.T) {
	part := func(pc uint64, l Layout, b ...byte) *Encoder {
		e := NewEncoder(&Table{Layout: l})
		en := plainEntry(pc, b...)
		if err := e.Add(&en); err != nil {
			t.Fatal(err)
		}
		return e
	}
	bad := part(0x3000, Layout{}, 1)
	bad.Plain(0, 1)
	other := NewEncoder(&Table{})
	en := plainEntry(0x3000, 1)
	en.Patch = 0
	if err := other.Add(&en); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]*Encoder{
		"before":       part(0x1000, Layout{}, 1),
		"other layout": part(0x3000, Layout{Bits: 32}, 1),
		"other order":  part(0x3000, Layout{Placing: Placing{Data: BigEndian}}, 1),
		"other plain":  other,
		"failed":       bad,
	} {
		e := part(0x2000, Layout{}, 1)
		if err := e.Merge(o); !errors.Is(err, ErrEncode) || !errors.Is(e.Err(), ErrEncode) {
			t.Errorf("%s: %v", name, err)
		}
	}
	e := part(0x2000, Layout{}, 1)
	if err := e.Merge(part(0x3000, Layout{Bits: 64, Align: 1}, 2, 3)); err != nil {
		t.Error(err)
	}
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
