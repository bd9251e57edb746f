package fixups

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"slices"
)

// Encoder writes a binary table (docs/format.md) site by site, in the order of
// their addresses. It has two ways in, which mix freely:
//
//   - [Encoder.Add] takes whole entries.
//   - [Encoder.Begin], [Encoder.Plain] and [Encoder.Site] take what a decoder
//     knows anyway: where an instruction is, how long it is, and which shape it
//     has. The caller keeps a cache from normalised instruction bytes to shapes
//     and asks [Encoder.Shape] once for each. These calls do not allocate,
//     beyond the growth of the sections, and keep the first error for
//     [Encoder.Err] and the end.
//
// The sections are collected in memory, about 1.2 bytes for each byte of code
// and 16 for each site that is not plain.
type Encoder struct {
	err   error
	head  Table
	align uint8 // bytes for each bit of starts
	shift uint8 // log2 of align

	sec     [numSections]section
	sites   []byte      // room for sites; siteEnd bytes are in use
	siteEnd int         // kept apart, so that adding a site writes no pointer
	lens    []uint8     // length of each shape
	plain   [256]uint32 // shape of plain instructions by length

	run  runState
	last uint64 // end of the last run that was written
	any  bool   // there was one
	done uint64 // instructions in the runs that were written

	verdicts, buf, pts []byte // scratch
	own                []byte // code of a run made by Add
	back               Entry
}

// Extent says where instructions are that follow each other: those of one
// function, or a part of it. Gaps between them are allowed.
type Extent struct {
	Addr   uint64 // of the first byte of Code
	Code   []byte // read until the next Begin, Merge or the end; at most 2 GiB
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
	text    uint64
	starts  uint32
	sites   uint32
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
	*e = Encoder{head: *t, align: max(t.Layout.Align, 1), sites: old.sites, lens: old.lens[:0],
		verdicts: old.verdicts, buf: old.buf, pts: old.pts, own: old.own, back: old.back}
	e.head.Entries, e.head.Gaps = nil, nil
	for i := range e.sec {
		e.sec[i] = section{data: old.sec[i].data[:0], item: secItem[i], index: old.sec[i].index}
		if i >= secShapes {
			if e.sec[i].index == nil {
				e.sec[i].index = map[string]uint32{}
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

// Grow makes room for the instructions of n more bytes of code, one in four of
// them a site of its own.
func (e *Encoder) Grow(n int) {
	e.sec[secText].data = slices.Grow(e.sec[secText].data, n)
	e.sec[secStarts].data = slices.Grow(e.sec[secStarts].data, n>>(e.shift+2))
	sites := slices.Grow(e.sites[:e.siteEnd], n)
	e.sites = sites[:cap(sites)] // not cleared: siteEnd says what is in use
}

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
	if e.any && r.Addr < e.last || r.Addr+uint64(len(r.Code)) < r.Addr {
		e.fail(fmt.Errorf("%w: run at %#x of %d bytes, behind one that ends at %#x", ErrEncode, r.Addr, len(r.Code), e.last))
		return
	}
	e.run = runState{Extent: r, end: r.Addr + uint64(len(r.Code))}
	e.open(r.Addr)
}

// open starts a run at pc, inside the code that was begun.
func (e *Encoder) open(pc uint64) {
	r := &e.run
	r.start, r.next = pc, pc
	r.base, r.bits, r.entries = pc, 0, 0
	r.text = uint64(len(e.sec[secText].data))
	r.starts = uint32(e.sec[secStarts].len())
	r.sites = uint32(e.siteEnd / 16)
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
	if len(e.sites)-at < 16 {
		e.sites = append(e.sites, make([]byte, max(1<<12, len(e.sites)))...)
	}
	b := e.sites[at : at+16 : at+16]
	le.PutUint64(b, uint64(uint32(pc-r.start))|uint64(id)<<32)
	le.PutUint64(b[8:], uint64(d))
	e.siteEnd = at + 16
	if i := (pc - r.base) >> (e.shift & 63); i < 64 {
		r.bits |= 1 << (i & 63)
		r.next = pc + uint64(n)
		return
	}
	e.mark(pc, n)
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
	r, sec := &e.run, &e.sec[secStarts]
	for step := uint64(64) << e.shift; pc-r.base >= step; r.base += step {
		e.word(sec)
	}
	if pc-r.start > binMaxRun {
		e.fail(fmt.Errorf("%w: run at %#x of more than %d bytes", ErrEncode, r.start, uint64(binMaxRun)))
	}
}

// word writes the current word of starts.
func (e *Encoder) word(sec *section) {
	r := &e.run
	sec.data = le.AppendUint64(sec.data, r.bits)
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
		e.word(&e.sec[secStarts])
	}
	from := r.start - r.Addr
	text := &e.sec[secText]
	text.data = append(text.data, r.Code[from:from+size]...)
	var flags uint32
	var offset uint64
	if r.InFile {
		flags, offset = binInFile, r.Offset+from
	}
	at := r.At + from
	if r.Func == "" {
		at = 0
	}
	name := e.str(r.Func)
	b := le.AppendUint64(e.sec[secRuns].data, r.start)
	b = le.AppendUint32(b, uint32(size))
	b = le.AppendUint32(b, name)
	b = le.AppendUint64(b, at)
	b = le.AppendUint64(b, offset)
	b = le.AppendUint64(b, r.text)
	b = le.AppendUint32(b, r.starts)
	b = le.AppendUint32(b, r.sites)
	b = le.AppendUint32(b, uint32(e.siteEnd/16)-r.sites)
	b = le.AppendUint32(b, r.entries)
	b = le.AppendUint32(b, flags)
	e.sec[secRuns].data = le.AppendUint32(b, 0)
	e.last, e.any = r.next, true
	e.done += uint64(r.entries)
	e.open(r.next)
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

// Append ends the table and appends the whole of it to dst. The encoder is of
// no further use.
func (e *Encoder) Append(dst []byte) ([]byte, error) {
	head, err := e.finish()
	if err != nil {
		return dst, err
	}
	dst = append(dst, head...)
	for i := range e.sec {
		dst = append(dst, e.sec[i].data...)
		dst = append(dst, padding(len(e.sec[i].data))...)
	}
	return dst, nil
}

// WriteTo ends the table and writes the whole of it. The encoder is of no
// further use.
func (e *Encoder) WriteTo(w io.Writer) (int64, error) {
	head, err := e.finish()
	if err != nil {
		return 0, err
	}
	n, err := w.Write(head)
	written := int64(n)
	for i := range e.sec {
		for _, b := range [][]byte{e.sec[i].data, padding(len(e.sec[i].data))} {
			if err != nil {
				return written, err
			}
			n, err = w.Write(b)
			written += int64(n)
		}
	}
	return written, err
}

func padding(n int) []byte { return make([]byte, align8(n)-n) }

// finish ends the last run and returns the header, checksum included.
func (e *Encoder) finish() ([]byte, error) {
	e.flush()
	e.putPlain()
	e.sec[secSites].data = e.sites[:e.siteEnd]
	arch, file, id := e.str(e.head.Arch), e.str(e.head.File), e.str(e.head.BuildID)
	for i := range e.sec {
		if i != secStarts && i != secText && uint64(e.sec[i].len()) >= 1<<32 {
			e.fail(fmt.Errorf("%w: %d %s", ErrEncode, e.sec[i].len(), secNames[i]))
		}
	}
	if uint64(e.sec[secStarts].len()) >= 1<<32 {
		e.fail(fmt.Errorf("%w: too many instructions", ErrEncode))
	}
	if e.err != nil {
		return nil, e.err
	}
	size := binHeader + binSection*numSections
	table := make([]byte, 0, binSection*numSections)
	for i := range e.sec {
		table = le.AppendUint32(table, uint32(i+1))
		table = le.AppendUint32(table, uint32(secItem[i]))
		table = le.AppendUint64(table, uint64(size))
		table = le.AppendUint64(table, uint64(e.sec[i].len()))
		size += align8(len(e.sec[i].data))
	}
	l := e.head.Layout
	h := append(make([]byte, 0, binHeader+len(table)), binMagic...)
	h = le.AppendUint16(h, binVersion)
	h = le.AppendUint16(h, 0)
	h = le.AppendUint32(h, uint32(binHeader+len(table)))
	h = le.AppendUint64(h, uint64(size))
	h = le.AppendUint32(h, 0)
	h = le.AppendUint32(h, numSections)
	h = le.AppendUint64(h, e.head.Base)
	h = append(h, wordBits(l), e.align, byte(l.Insn), byte(l.Data))
	h = le.AppendUint32(h, arch)
	h = le.AppendUint32(h, file)
	h = le.AppendUint32(h, id)
	h = le.AppendUint64(h, e.done)
	h = le.AppendUint64(h, 0)
	h = append(h, table...)
	le.PutUint32(h[binCRCOffset:], e.checksum(h))
	return h, nil
}

func wordBits(l Layout) byte {
	if l.Bits == 0 {
		return 64
	}
	return l.Bits
}

// checksum is that of the whole file. The header's field is still zero.
func (e *Encoder) checksum(head []byte) uint32 {
	crc := crc32.Update(0, castagnoli, head)
	for i := range e.sec {
		crc = crc32.Update(crc, castagnoli, e.sec[i].data)
		crc = crc32.Update(crc, castagnoli, padding(len(e.sec[i].data)))
	}
	return crc
}

// putPlain writes the shapes of plain instructions by length.
func (e *Encoder) putPlain() {
	sec := &e.sec[secPlain]
	if len(sec.data) > 0 {
		e.fail(errors.New("fixups: encoder used after its end"))
		return
	}
	n := len(e.plain)
	for n > 0 && e.plain[n-1] == binNone {
		n--
	}
	for _, id := range e.plain[:n] {
		sec.data = le.AppendUint32(sec.data, id)
	}
}
