package fixups

import (
	"errors"
	"fmt"
	"hash/crc32"
)

// OpenBinary checks a binary table by all the rules of docs/format.md and
// returns a view of it. data is kept, and must not change while the view or
// entries read from it are in use. It allocates a copy of the strings and
// nothing else that grows with data.
//
// The error is a [*FormatError], which says at which offset which rule is
// broken, and wraps [ErrBinary].
func OpenBinary(data []byte) (*View, error) {
	v := &View{}
	c := checker{v: v, data: data}
	if err := c.header(); err != nil {
		return nil, err
	}
	for _, check := range []func() error{c.strings, c.steps, c.relocs, c.points, c.escapes, c.verdicts, c.shapes, c.plain, c.runs, c.gaps, c.head} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// checker holds a table against the rules, structure by structure. What a
// structure points at is checked before it.
type checker struct {
	v    *View
	data []byte
	end  int              // where the end of the file begins
	off  [numSections]int // where the sections are in data
	steps32
}

// steps32 is room for one program.
type steps32 [MaxSteps]Step

// fail makes the error for item i of a section.
func (c *checker) fail(sec, i int, format string, args ...any) error {
	return &FormatError{Offset: c.off[sec] + i*secItem[sec], What: fmt.Sprintf("%s[%d]", secNames[sec], i), Err: fmt.Errorf(format, args...)}
}

func headerError(off int, format string, args ...any) error {
	return &FormatError{Offset: off, What: "header", Err: fmt.Errorf(format, args...)}
}

// header checks both ends of the file, and the sections between them.
func (c *checker) header() error {
	b := c.data
	if len(b) < binFront+binMinEnd {
		return headerError(len(b), "%d bytes are too few", len(b))
	}
	last := len(b) - binLast
	n := int64(le.Uint32(b[last:]))
	switch {
	case string(b[:8]) != binMagic:
		return headerError(0, "magic % x", b[:8])
	case le.Uint16(b[8:]) != binVersion:
		return headerError(8, "version %d, this reader knows %d", le.Uint16(b[8:]), binVersion)
	case !zero(b[10:binFront]):
		return headerError(10, "flags % x", b[10:binFront])
	case n < binMinEnd || n%8 != 0 || n > int64(len(b)-binFront):
		return headerError(last, "an end of %d bytes", n)
	}
	c.end = len(b) - int(n)
	if err := c.endFields(b[c.end:]); err != nil {
		return err
	}
	if err := c.sections(); err != nil {
		return err
	}
	if crc := crc32.Checksum(b[:last+4], castagnoli); crc != le.Uint32(b[last+4:]) {
		return headerError(last+4, "checksum %#x, computed %#x", le.Uint32(b[last+4:]), crc)
	}
	return nil
}

// endFields reads the fixed fields of the end of the file.
func (c *checker) endFields(b []byte) error {
	unknown := b[binEnd+binSection*numSections : len(b)-binLast]
	switch {
	case le.Uint64(b) != uint64(len(c.data)):
		return headerError(c.end, "file length %d, but there are %d bytes", le.Uint64(b), len(c.data))
	case b[16] != 32 && b[16] != 64:
		return headerError(c.end+16, "words of %d bits", b[16])
	case !accessSize(b[17]):
		return headerError(c.end+17, "alignment %d", b[17])
	case b[18] > byte(BigEndian) || b[19] > byte(BigEndian):
		return headerError(c.end+18, "byte orders %d and %d", b[18], b[19])
	case le.Uint32(b[40:]) != numSections:
		return headerError(c.end+40, "%d sections, not %d", le.Uint32(b[40:]), numSections)
	case !zero(b[44:48]):
		return headerError(c.end+44, "not zero")
	case !zero(unknown):
		return headerError(c.end+binEnd+binSection*numSections, "unknown fields that are not zero")
	}
	v := c.v
	v.head.Base = le.Uint64(b[8:])
	v.head.Layout = Layout{Bits: b[16], Align: b[17], Placing: Placing{End(b[18]), End(b[19])}}
	v.mask = uint64(b[17] - 1)
	for 1<<v.shift < b[17] {
		v.shift++
	}
	return nil
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// sections checks that the sections lie one behind the other and fill the file.
func (c *checker) sections() error {
	at := binFront
	for i := range numSections {
		pos := c.end + binEnd + binSection*i
		b := c.data[pos:]
		count, item := le.Uint64(b[16:]), uint64(secItem[i])
		left := uint64(c.end - at)
		switch {
		case le.Uint32(b) != uint32(i+1):
			return headerError(pos, "section of kind %d, not %d (%s)", le.Uint32(b), i+1, secNames[i])
		case le.Uint32(b[4:]) != uint32(item):
			return headerError(pos+4, "%s: items of %d bytes, not %d", secNames[i], le.Uint32(b[4:]), item)
		case le.Uint64(b[8:]) != uint64(at):
			return headerError(pos+8, "%s: at %#x, not %#x", secNames[i], le.Uint64(b[8:]), at)
		case count > left/item || i != secBody && count >= 1<<32:
			return headerError(pos+16, "%s: %d items do not fit", secNames[i], count)
		}
		size := int(count * item)
		if uint64(align8(size)) > left || !zero(c.data[at+size:at+align8(size)]) {
			return headerError(pos+16, "%s: padding", secNames[i])
		}
		c.off[i], c.v.sec[i] = at, c.data[at:at+size:at+size]
		at += align8(size)
	}
	if at != c.end {
		return headerError(c.end, "%d bytes behind the last section", c.end-at)
	}
	return nil
}

// count returns the number of items of a section.
func (c *checker) count(sec int) int { return len(c.v.sec[sec]) / secItem[sec] }

// item returns item i of a section.
func (c *checker) item(sec, i int) []byte {
	n := secItem[sec]
	return c.v.sec[sec][i*n:][:n:n]
}

// spanOK reports whether a span lies in a section.
func (c *checker) spanOK(sec int, s span) bool {
	return uint64(s.first)+uint64(s.count) <= uint64(c.count(sec))
}

func (c *checker) strings() error {
	s := c.v.sec[secStrings]
	if len(s) == 0 || s[0] != 0 || s[len(s)-1] != 0 {
		return c.fail(secStrings, 0, "does not begin and end with NUL")
	}
	c.v.strings = string(s)
	return nil
}

// head reads the strings of the header.
func (c *checker) head() error {
	for i, s := range []*string{&c.v.head.Arch, &c.v.head.File, &c.v.head.BuildID} {
		pos := c.end + 20 + 4*i
		name := le.Uint32(c.data[pos:])
		if uint64(name) >= uint64(len(c.v.strings)) {
			return headerError(pos, "string %d", name)
		}
		*s = c.v.str(name)
	}
	return nil
}

var errRange = errors.New("out of range")
