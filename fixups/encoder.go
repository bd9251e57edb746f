package fixups

import (
	"errors"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"io"
	"math/bits"
	"slices"
)

// Encoder writes a binary table (docs/format.md) site by site, in the order of
// their addresses. It has three ways in, which mix freely:
//
//   - [Encoder.Add] takes whole entries.
//   - [Encoder.Begin], [Encoder.Plain] and [Encoder.Site] take what a decoder
//     knows anyway: where an instruction is, how long it is, and which shape it
//     has. The caller keeps a cache from normalised instruction bytes to shapes
//     and asks [Encoder.Shape] once for each. These calls do not allocate,
//     beyond the growth of the sections, and keep the first error for
//     [Encoder.Err] and the end.
//   - [Encoder.Run] takes the same for many instructions at once.
//
// After [Encoder.Stream] the body of the table (bitmaps, sites, bytes of the
// instructions) is written as it is made, and what stays in memory is 56 bytes a
// run, the names and the shapes. Else all is collected until the end.
type Encoder struct {
	err   error
	head  Table
	align uint8 // bytes for each bit of starts
	shift uint8 // log2 of align

	out     output
	body    []byte // not yet written
	bodyLen uint64 // with what was written
	sec     [numSections]section
	lens    []uint8     // length of each shape
	plain   [256]uint32 // shape of plain instructions by length

	run     runState
	starts  []byte // of the current run
	sites   []byte // the same; siteEnd bytes are in use
	siteEnd int    // kept apart, so that adding a site writes no pointer
	last    uint64 // end of the last run that was written
	any     bool   // there was one
	done    uint64 // instructions in the runs that were written
	ended   bool
	name    string // of the last run
	nameAt  uint32

	verdicts, buf, pts []byte // scratch
	own                []byte // code of a run made by Add
	back               Entry
}

// Extent says where instructions are that follow each other: those of one
// function, or a part of it. Gaps between them are allowed.
type Extent struct {
	Addr   uint64 // of the first byte of Code
	Code   []byte // read until the next Begin or Run, or the end; at most 2 GiB
	Func   string // name of the function, "" if none
	At     uint64 // offset of Addr from the start of the function
	InFile bool   // Offset is valid
	Offset uint64 // of the first byte of Code in the file
}

// runState is the run that is being written.
type runState struct {
	Extent
	start   uint64 // first instruction
	next    uint64 // behind the last one
	end     uint64 // behind Code
	base    uint64 // address of bit 0 of the current word of starts
	bits    uint64 // the current word
	entries uint32
}

// NewEncoder returns an encoder for a table with the head of t: Arch, File,
// BuildID, Base and Layout. Entries and Gaps are not looked at.
func NewEncoder(t *Table) *Encoder {
	e := &Encoder{}
	e.Reset(t)
	return e
}

// Reset makes e as new, for another table, but keeps its storage.
func (e *Encoder) Reset(t *Table) {
	old := *e
	*e = Encoder{head: *t, align: max(t.Layout.Align, 1), body: old.body[:0], starts: old.starts[:0], sites: old.sites, lens: old.lens[:0],
		verdicts: old.verdicts, buf: old.buf, pts: old.pts, own: old.own, back: old.back}
	e.head.Entries, e.head.Gaps = nil, nil
	for i := range e.sec {
		e.sec[i] = section{data: old.sec[i].data[:0], item: secItem[i], index: old.sec[i].index, seed: old.sec[i].seed}
		if i >= secShapes {
			if e.sec[i].index == nil {
				e.sec[i].index, e.sec[i].seed = map[uint64]uint32{}, maphash.MakeSeed()
			}
			clear(e.sec[i].index)
		}
	}
	for i := range e.plain {
		e.plain[i] = binNone
	}
	for e.align>>e.shift > 1 {
		e.shift++
	}
	if e.align != 1<<e.shift || e.align > 8 {
		e.fail(fmt.Errorf("%w: alignment %d", ErrEncode, e.align))
	}
	if b := t.Layout.Bits; b != 0 && b != 32 && b != 64 || t.Layout.Insn > BigEndian || t.Layout.Data > BigEndian {
		e.fail(fmt.Errorf("%w: layout %+v", ErrEncode, t.Layout))
	}
	e.str("")
}

// Grow makes room for n more runs.
func (e *Encoder) Grow(n int) {
	runs := &e.sec[secRuns]
	runs.data = slices.Grow(runs.data, n*binRun)
}

// GrowNames makes room for n more bytes of names of functions, each with a byte
// behind it.
func (e *Encoder) GrowNames(n int) {
	names := &e.sec[secStrings]
	names.data = slices.Grow(names.data, n)
}

// Len returns the number of instructions in the runs that have ended.
func (e *Encoder) Len() int { return int(e.done) }

// Err returns the first error.
func (e *Encoder) Err() error { return e.err }

func (e *Encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// SetPlain makes id the shape of plain instructions of its length. A length
// keeps the first one it is given. The shape must not move with a target.
func (e *Encoder) SetPlain(id ShapeID) {
	if int(id) >= len(e.lens) {
		e.fail(fmt.Errorf("%w: no shape %d", ErrEncode, id))
	} else if p := &e.plain[e.lens[id]]; *p == binNone {
		*p = uint32(id)
	}
}

// Begin says where the instructions of the following calls are. It ends what
// was begun before.
func (e *Encoder) Begin(r Extent) {
	r.Code = r.Code[:len(r.Code):len(r.Code)] // Add appends to it
	e.begin(r)
}

func (e *Encoder) begin(r Extent) {
	e.flush()
	if !e.follows(&r) {
		return
	}
	e.run = runState{Extent: r, end: r.Addr + uint64(len(r.Code))}
	e.open(r.Addr)
}

// follows reports whether r lies behind all that was written.
func (e *Encoder) follows(r *Extent) bool {
	if e.any && r.Addr < e.last || r.Addr+uint64(len(r.Code)) < r.Addr {
		e.fail(fmt.Errorf("%w: run at %#x of %d bytes, behind one that ends at %#x", ErrEncode, r.Addr, len(r.Code), e.last))
		return false
	}
	return true
}

// open starts a run at pc, inside the code that was begun.
func (e *Encoder) open(pc uint64) {
	r := &e.run
	r.start, r.next = pc, pc
	r.base, r.bits, r.entries = pc, 0, 0
	e.starts, e.siteEnd = e.starts[:0], 0
}

// Plain adds an instruction of n bytes at pc that has the shape given to
// [Encoder.SetPlain] for its length.
func (e *Encoder) Plain(pc uint64, n int) {
	r := &e.run
	if pc == r.next && uint(n) < 256 && e.plain[n] != binNone && uint64(n) <= r.end-pc {
		if i := (pc - r.base) >> (e.shift & 63); i < 64 {
			r.bits |= 1 << (i & 63)
			r.next = pc + uint64(n)
			return
		}
	}
	e.plainSlow(pc, n)
}

// plainSlow is Plain where a word of starts ends, a gap comes before pc, or
// something is wrong.
func (e *Encoder) plainSlow(pc uint64, n int) {
	if !e.seek(pc, n) {
		return
	}
	if e.plain[n] == binNone {
		e.fail(fmt.Errorf("%w: site %#x: no plain shape of %d bytes", ErrEncode, pc, n))
		return
	}
	e.mark(pc, n)
}

// Site adds an instruction of n bytes at pc with the given shape and D.
func (e *Encoder) Site(pc uint64, n int, id ShapeID, d int64) {
	r := &e.run
	if pc != r.next || int(id) >= len(e.lens) || int(e.lens[id]) != n || uint64(n) > r.end-pc {
		if !e.seek(pc, n) {
			return
		}
		if int(id) >= len(e.lens) || int(e.lens[id]) != n {
			e.fail(fmt.Errorf("%w: site %#x: shape %d is not one of %d bytes", ErrEncode, pc, id, n))
			return
		}
	}
	at := e.siteEnd
	if len(e.sites)-at < binSite {
		e.sites = append(e.sites, make([]byte, max(1<<12, len(e.sites)))...)
	}
	putSite(e.sites[at:], uint32(pc-r.start), id, d)
	e.siteEnd = at + binSite
	if i := (pc - r.base) >> (e.shift & 63); i < 64 {
		r.bits |= 1 << (i & 63)
		r.next = pc + uint64(n)
		return
	}
	e.mark(pc, n)
}

func putSite(b []byte, off uint32, id ShapeID, d int64) {
	b = b[:binSite:binSite]
	le.PutUint64(b, uint64(off)|uint64(id)<<32)
	le.PutUint64(b[8:], uint64(d))
}

// mark sets the bit of an instruction start, and moves behind it.
func (e *Encoder) mark(pc uint64, n int) {
	r := &e.run
	if (pc-r.base)>>(e.shift&63) >= 64 {
		e.fill(pc)
	}
	r.bits |= 1 << ((pc - r.base) >> (e.shift & 63) & 63)
	r.next = pc + uint64(n)
}

// fill writes the words of starts that lie wholly before pc.
func (e *Encoder) fill(pc uint64) {
	r := &e.run
	for step := uint64(64) << e.shift; pc-r.base >= step; r.base += step {
		e.word()
	}
	if pc-r.start > binMaxRun {
		e.fail(fmt.Errorf("%w: run at %#x of more than %d bytes", ErrEncode, r.start, uint64(binMaxRun)))
	}
}

// word writes the current word of starts.
func (e *Encoder) word() {
	r := &e.run
	e.starts = le.AppendUint64(e.starts, r.bits)
	r.entries += uint32(bits.OnesCount64(r.bits))
	r.bits = 0
}

// seek makes pc the next address, with a gap before it, and reports whether n
// bytes can stand there.
func (e *Encoder) seek(pc uint64, n int) bool {
	r := &e.run
	if e.err != nil {
		return false
	}
	if pc < r.next || pc > r.end || n < 1 || n > 255 || uint64(n) > r.end-pc || (pc|uint64(n))&uint64(e.align-1) != 0 {
		e.fail(fmt.Errorf("%w: site %#x of %d bytes in code that ends at %#x, behind one that ends at %#x", ErrEncode, pc, n, r.end, r.next))
		return false
	}
	if pc != r.next {
		e.flush()
		e.open(pc)
	}
	return true
}

// flush writes the current run, if it has instructions.
func (e *Encoder) flush() {
	r := &e.run
	size := r.next - r.start
	if e.err != nil || size == 0 {
		return
	}
	e.fill(r.next)
	if r.base != r.next {
		e.word()
	}
	from := r.start - r.Addr
	at := e.bodyLen
	e.room(len(e.starts) + e.siteEnd + int(size) + 7)
	e.body = append(append(e.body, e.starts...), e.sites[:e.siteEnd]...)
	x := r.Extent
	x.Code, x.Addr, x.At, x.Offset = r.Code[from:][:size], r.start, r.At+from, r.Offset+from
	e.endRun(&x, at, uint32(e.siteEnd/binSite), r.entries)
	e.open(r.next)
}

// room grows the body for n more bytes, without clearing them.
func (e *Encoder) room(n int) { e.body = slices.Grow(e.body, n) }

// endRun writes the text and the record of the run x, whose starts and sites
// stand at the end of the body, from at on.
func (e *Encoder) endRun(x *Extent, at uint64, sites, entries uint32) {
	e.body = append(e.body, x.Code...)
	for len(e.body)&7 != 0 {
		e.body = append(e.body, 0)
	}
	// The body is written in whole words of 8 bytes, so what is left of it begins
	// at a multiple of 8 too.
	n := uint64(len(x.Code))
	e.bodyLen = at + (n+63<<e.shift)>>(e.shift+6)*8 + uint64(sites)*binSite + (n+7)&^7
	var flags uint32
	offset, funcAt := uint64(0), x.At
	if x.InFile {
		flags, offset = binInFile, x.Offset
	}
	if x.Func == "" {
		funcAt = 0
	}
	if x.Func != e.name { // most functions are one run, and names seldom repeat
		e.name, e.nameAt = x.Func, e.appendName(x.Func)
	}
	b := le.AppendUint64(e.sec[secRuns].data, x.Addr)
	b = le.AppendUint32(b, uint32(n))
	b = le.AppendUint32(b, e.nameAt)
	b = le.AppendUint64(b, funcAt)
	b = le.AppendUint64(b, offset)
	b = le.AppendUint64(b, at)
	b = le.AppendUint32(b, sites)
	b = le.AppendUint32(b, entries)
	b = le.AppendUint32(b, flags)
	e.sec[secRuns].data = le.AppendUint32(b, 0)
	e.last, e.any = x.Addr+n, true
	e.done += uint64(entries)
	if e.out.w != nil && len(e.body) >= streamBytes {
		e.drain()
	}
}

// appendName appends the name of a function to the strings.
func (e *Encoder) appendName(v string) uint32 {
	if v == "" {
		return 0
	}
	return e.newString(v)
}

// Gap adds executable bytes about which nothing is said. Gaps come in the order
// of their addresses.
func (e *Encoder) Gap(r Range) {
	sec := &e.sec[secGaps]
	if n := len(sec.data); n > 0 {
		if end := le.Uint64(sec.data[n-16:]) + le.Uint64(sec.data[n-8:]); r.Addr < end {
			e.fail(fmt.Errorf("%w: gap at %#x, behind one that ends at %#x", ErrEncode, r.Addr, end))
		}
	}
	if r.Size == 0 || r.Addr+r.Size-1 < r.Addr {
		e.fail(fmt.Errorf("%w: gap at %#x of %d bytes", ErrEncode, r.Addr, r.Size))
	}
	sec.data = le.AppendUint64(sec.data, r.Addr)
	sec.data = le.AppendUint64(sec.data, r.Size)
}

// streamBytes is how much of the body is written at once.
const streamBytes = 256 << 10

// output counts and sums what is written.
type output struct {
	w   io.Writer
	n   int64
	crc uint32
	err error
}

func (o *output) write(b []byte) {
	if o.err == nil && len(b) > 0 {
		var n int
		n, o.err = o.w.Write(b)
		o.n += int64(n)
		o.crc = crc32.Update(o.crc, castagnoli, b)
	}
}

// Stream has the table written to w while it is made, the rest by
// [Encoder.Close]. It comes before all sites.
func (e *Encoder) Stream(w io.Writer) {
	if e.any || e.out.w != nil {
		e.fail(errors.New("fixups: Encoder.Stream behind sites"))
		return
	}
	e.out.w = w
	e.out.write(front())
}

// drain writes the body as far as it goes.
func (e *Encoder) drain() {
	e.out.write(e.body)
	e.body = e.body[:0]
	if e.out.err != nil {
		e.fail(e.out.err)
	}
}

// Append ends the table and appends the whole of it to dst. The encoder is of
// no further use.
func (e *Encoder) Append(dst []byte) ([]byte, error) {
	a := appender{dst}
	if _, err := e.WriteTo(&a); err != nil {
		return dst, err
	}
	return a.b, nil
}

type appender struct{ b []byte }

func (a *appender) Write(b []byte) (int, error) {
	a.b = append(a.b, b...)
	return len(b), nil
}

// WriteTo ends the table and writes the whole of it. The encoder is of no
// further use.
func (e *Encoder) WriteTo(w io.Writer) (int64, error) {
	if e.out.w != nil || e.ended {
		return 0, errors.New("fixups: encoder used after its end")
	}
	if err := e.finish(); err != nil {
		return 0, err
	}
	e.out.w = w
	e.out.write(front())
	e.tail()
	return e.out.n, e.out.err
}

// Close ends a table whose beginning [Encoder.Stream] has written. The encoder is
// of no further use.
func (e *Encoder) Close() error {
	if e.out.w == nil || e.ended {
		return errors.New("fixups: Encoder.Close without Stream, or twice")
	}
	if err := e.finish(); err != nil {
		return err
	}
	e.tail()
	return e.out.err
}

// front is how a file begins.
func front() []byte {
	b := append(make([]byte, 0, binFront), binMagic...)
	return append(le.AppendUint16(b, binVersion), make([]byte, binFront-len(binMagic)-2)...)
}

// finish ends the last run and completes the sections.
func (e *Encoder) finish() error {
	e.flush()
	e.putPlain()
	for i := range e.sec {
		if uint64(e.sec[i].len()) >= 1<<32 {
			e.fail(fmt.Errorf("%w: %d %s", ErrEncode, e.sec[i].len(), secNames[i]))
		}
	}
	e.ended = true
	return e.err
}

// tail writes what is left of the body, the other sections, and the end.
func (e *Encoder) tail() {
	o := &e.out
	names := [3]uint32{e.str(e.head.Arch), e.str(e.head.File), e.str(e.head.BuildID)}
	if e.err != nil { // a NUL in a name
		o.err = e.err
		return
	}
	o.write(e.body)
	table := make([]byte, 0, binSection*numSections)
	at := uint64(binFront)
	for i := range e.sec {
		count := uint64(e.sec[i].len())
		size := uint64(len(e.sec[i].data))
		if i == secBody {
			count, size = e.bodyLen, e.bodyLen
		}
		table = le.AppendUint32(table, uint32(i+1))
		table = le.AppendUint32(table, uint32(secItem[i]))
		table = le.AppendUint64(table, at)
		table = le.AppendUint64(table, count)
		at += (size + 7) &^ 7
		o.write(e.sec[i].data)
		o.write(make([]byte, -size&7))
	}
	l := e.head.Layout
	b := le.AppendUint64(make([]byte, 0, binMinEnd), at+binMinEnd)
	b = le.AppendUint64(b, e.head.Base)
	b = append(b, wordBits(l), e.align, byte(l.Insn), byte(l.Data))
	for _, s := range names {
		b = le.AppendUint32(b, s)
	}
	b = le.AppendUint64(b, e.done)
	b = le.AppendUint32(b, numSections)
	b = le.AppendUint32(b, 0)
	b = append(b, table...)
	o.write(le.AppendUint32(b, binMinEnd))
	o.write(le.AppendUint32(nil, o.crc))
}

func wordBits(l Layout) byte {
	if l.Bits == 0 {
		return 64
	}
	return l.Bits
}

// putPlain writes the shapes of plain instructions by length.
func (e *Encoder) putPlain() {
	sec := &e.sec[secPlain]
	n := len(e.plain)
	for n > 0 && e.plain[n-1] == binNone {
		n--
	}
	for _, id := range e.plain[:n] {
		sec.data = le.AppendUint32(sec.data, id)
	}
}
