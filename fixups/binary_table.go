package fixups

import "fmt"

// AppendBinary appends t in the binary format. Texts are not stored. The error
// wraps [ErrEncode]: what [Table.Check] refuses, entries that were cut off, the
// last address of all in an entry, and a Layout without Bits. The format has to state the width of a word, and one that
// is taken for granted would be wrong for a table that comes from JSONL.
func (t *Table) AppendBinary(dst []byte) ([]byte, error) {
	if t.Layout.Bits == 0 {
		return dst, fmt.Errorf("%w: Layout.Bits of the table is not set", ErrEncode)
	}
	if err := t.Check(); err != nil {
		return dst, fmt.Errorf("%w: %w", ErrEncode, err)
	}
	e := NewEncoder(t)
	for i := range t.Entries {
		if err := e.Add(&t.Entries[i]); err != nil {
			return dst, err
		}
	}
	for _, g := range t.Gaps {
		e.Gap(g)
	}
	return e.Append(dst)
}

// Add adds an entry. Its plain shapes are found by themselves: the first
// instruction of a length that is plain, has no hazard and no target.
//
// What moves with the target is guessed here, from one sample; the guess
// decides only how many entries share a shape, never what they say.
func (e *Encoder) Add(en *Entry) error {
	if e.err != nil {
		return e.err
	}
	x := delta{d: displacement(en)}
	n := len(e.lens)
	if err := e.addable(en); err != nil {
		e.fail(err)
		return err
	}
	id := e.shape(en, en, &x)
	if int(id) == n && !e.yields(id, en, displacement(en)) {
		e.fail(fmt.Errorf("%w: site %#x does not read back as it was written", ErrEncode, en.PC))
		return e.err
	}
	if !e.continues(en) {
		e.begin(Extent{Addr: en.PC, Code: e.own[:0], Func: en.Func, At: en.At, InFile: en.InFile, Offset: en.Offset})
	}
	// The bytes come one entry at a time; flush stores them from here.
	e.run.Code = append(e.run.Code, en.Bytes...)
	e.own = e.run.Code
	e.run.end += uint64(en.Len)
	if x.d == 0 && en.Class == ClassPlain && en.Hazards == 0 && !en.HasTarget && en.Reason == ReasonNone {
		e.SetPlain(id)
	}
	if x.d == 0 && e.plain[en.Len] == uint32(id) {
		e.Plain(en.PC, int(en.Len))
	} else {
		e.Site(en.PC, int(en.Len), id, x.d)
	}
	return e.err
}

// addable is checkEntry, and what an entry must be to follow the others.
func (e *Encoder) addable(en *Entry) error {
	if err := e.checkEntry(en); err != nil {
		return err
	}
	if en.PC+uint64(en.Len) <= en.PC || en.PC&uint64(e.align-1) != 0 {
		return fmt.Errorf("%w: site %#x of %d bytes", ErrEncode, en.PC, en.Len)
	}
	return nil
}

// continues reports whether en follows the last entry in the same function and
// the same part of the file, so that both are in one run.
func (e *Encoder) continues(en *Entry) bool {
	r := &e.run
	off := en.PC - r.Addr
	return r.next != r.start && en.PC == r.next && r.next == r.end && r.Func == en.Func && (en.Func == "" || r.At+off == en.At) &&
		r.InFile == en.InFile && (!en.InFile || r.Offset+off == en.Offset) && off < binMaxRun-256
}

// Table reads the whole table. Nothing of it refers to the view's bytes.
func (v *View) Table() *Table {
	t := v.head
	t.Entries = make([]Entry, 0, v.entries)
	for r := range v.All() {
		var e Entry
		v.Entry(r, &e)
		e.Bytes = append([]byte(nil), e.Bytes...)
		t.Entries = append(t.Entries, e)
	}
	for g := range v.Gaps() {
		t.Gaps = append(t.Gaps, g)
	}
	return &t
}
