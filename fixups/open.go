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
	v     *View
	data  []byte
	off   [numSections]int // where the sections are in data
	names [3]uint32        // strings of the header
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

func (c *checker) header() error {
	b := c.data
	if len(b) < binHeader+binSection*numSections {
		return headerError(len(b), "%d bytes are too few", len(b))
	}
	n := int64(le.Uint32(b[12:]))
	switch {
	case string(b[:8]) != binMagic:
		return headerError(0, "magic % x", b[:8])
	case le.Uint16(b[8:]) != binVersion:
		return headerError(8, "version %d, this reader knows %d", le.Uint16(b[8:]), binVersion)
	case le.Uint16(b[10:]) != 0:
		return headerError(10, "flags %#x", le.Uint16(b[10:]))
	case le.Uint64(b[16:]) != uint64(len(b)):
		return headerError(16, "file length %d, but there are %d bytes", le.Uint64(b[16:]), len(b))
	case le.Uint32(b[28:]) != numSections:
		return headerError(28, "%d sections, not %d", le.Uint32(b[28:]), numSections)
	case n < binHeader+binSection*numSections || n%8 != 0 || n > int64(len(b)):
		return headerError(12, "header length %d", n)
	case b[40] != 32 && b[40] != 64:
		return headerError(40, "words of %d bits", b[40])
	case !accessSize(b[41]):
		return headerError(41, "alignment %d", b[41])
	case b[42] > byte(BigEndian) || b[43] > byte(BigEndian):
		return headerError(42, "byte orders %d and %d", b[42], b[43])
	case le.Uint64(b[64:]) != 0:
		return headerError(64, "not zero")
	}
	if !zero(b[binHeader+binSection*numSections : n]) {
		return headerError(binHeader+binSection*numSections, "unknown fields that are not zero")
	}
	if err := c.sections(int(n)); err != nil {
		return err
	}
	if crc := checksumOf(b); crc != le.Uint32(b[binCRCOffset:]) {
		return headerError(binCRCOffset, "checksum %#x, computed %#x", le.Uint32(b[binCRCOffset:]), crc)
	}
	v := c.v
	v.head.Base = le.Uint64(b[32:])
	v.head.Layout = Layout{Bits: b[40], Align: b[41], Placing: Placing{End(b[42]), End(b[43])}}
	v.mask = uint64(b[41] - 1)
	for 1<<v.shift < b[41] {
		v.shift++
	}
	c.names = [3]uint32{le.Uint32(b[44:]), le.Uint32(b[48:]), le.Uint32(b[52:])}
	return nil
}

func checksumOf(b []byte) uint32 {
	crc := crc32.Update(0, castagnoli, b[:binCRCOffset])
	crc = crc32.Update(crc, castagnoli, []byte{0, 0, 0, 0})
	return crc32.Update(crc, castagnoli, b[binCRCOffset+4:])
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
func (c *checker) sections(at int) error {
	for i := range numSections {
		pos := binHeader + binSection*i
		b := c.data[pos:]
		count, item := le.Uint64(b[16:]), uint64(secItem[i])
		left := uint64(len(c.data) - at)
		switch {
		case le.Uint32(b) != uint32(i+1):
			return headerError(pos, "section of kind %d, not %d (%s)", le.Uint32(b), i+1, secNames[i])
		case le.Uint32(b[4:]) != uint32(item):
			return headerError(pos+4, "%s: items of %d bytes, not %d", secNames[i], le.Uint32(b[4:]), item)
		case le.Uint64(b[8:]) != uint64(at):
			return headerError(pos+8, "%s: at %#x, not %#x", secNames[i], le.Uint64(b[8:]), at)
		case count > left/item || i != secText && count >= 1<<32:
			return headerError(pos+16, "%s: %d items do not fit", secNames[i], count)
		}
		size := int(count * item)
		if uint64(align8(size)) > left || !zero(c.data[at+size:at+align8(size)]) {
			return headerError(pos+16, "%s: padding", secNames[i])
		}
		c.off[i], c.v.sec[i] = at, c.data[at:at+size:at+size]
		at += align8(size)
	}
	if at != len(c.data) {
		return headerError(16, "%d bytes behind the last section", len(c.data)-at)
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
		if uint64(c.names[i]) >= uint64(len(c.v.strings)) {
			return headerError(44+4*i, "string %d", c.names[i])
		}
		*s = c.v.str(c.names[i])
	}
	return nil
}

var errRange = errors.New("out of range")
