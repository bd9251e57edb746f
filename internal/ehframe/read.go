package ehframe

import (
	"bytes"
	"fmt"
)

// encoding is a DW_EH_PE byte: format in the low nibble, what it is relative to
// in bits 4..6, indirection in bit 7 (LSB Core, "DWARF Exception Header Encoding").
type encoding uint8

const (
	peAbsptr   encoding = 0x00
	peUleb128  encoding = 0x01
	peUdata2   encoding = 0x02
	peUdata4   encoding = 0x03
	peUdata8   encoding = 0x04
	peSigned   encoding = 0x08 // an address-sized signed value
	peSleb128  encoding = 0x09
	peSdata2   encoding = 0x0a
	peSdata4   encoding = 0x0b
	peSdata8   encoding = 0x0c
	peFormat   encoding = 0x0f
	pePcrel    encoding = 0x10
	peTextrel  encoding = 0x20
	peDatarel  encoding = 0x30
	peFuncrel  encoding = 0x40
	peAligned  encoding = 0x50
	peBase     encoding = 0x70
	peIndirect encoding = 0x80
	peOmit     encoding = 0xff
)

// reader reads fields of one entry. After the first failure it stays failed.
type reader struct {
	s    *Section
	data []byte // the section up to the end of the entry
	pos  uint64
	off  uint64 // of the entry, for errors
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = &Error{r.off, fmt.Sprintf(format, args...)}
	}
}

// take returns the next n bytes, or nil after a failure.
func (r *reader) take(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.data))-r.pos {
		r.fail("cut: %d bytes wanted at %#x", n, r.pos)
	}
	if r.err != nil {
		return nil
	}
	b := r.data[r.pos : r.pos+n]
	r.pos += n
	return b
}

func (r *reader) byte() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// uint reads an unsigned field of 2, 4 or 8 bytes.
func (r *reader) uint(n int) uint64 {
	b := r.take(uint64(n))
	switch {
	case b == nil:
		return 0
	case n == 2:
		return uint64(r.s.Order.Uint16(b))
	case n == 4:
		return uint64(r.s.Order.Uint32(b))
	}
	return r.s.Order.Uint64(b)
}

// leb reads a LEB128 number, sign-extended if signed. Bits above 64 must be
// absent; producers may pad, but not beyond ten bytes.
func (r *reader) leb(signed bool) uint64 {
	var v uint64
	for shift := uint(0); shift < 70; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if signed && b&0x40 != 0 && shift+7 < 64 {
				v |= ^uint64(0) << (shift + 7)
			}
			return v
		}
	}
	r.fail("LEB128 number of more than ten bytes")
	return 0
}

// value reads the stored number of an encoding, without its base.
func (r *reader) value(e encoding) uint64 {
	switch e & peFormat {
	case peAbsptr:
		return r.uint(r.s.PtrSize)
	case peSigned:
		return signExtend(r.uint(r.s.PtrSize), r.s.PtrSize)
	case peUleb128:
		return r.leb(false)
	case peSleb128:
		return r.leb(true)
	case peUdata2:
		return r.uint(2)
	case peUdata4:
		return r.uint(4)
	case peUdata8, peSdata8:
		return r.uint(8)
	case peSdata2:
		return signExtend(r.uint(2), 2)
	case peSdata4:
		return signExtend(r.uint(4), 4)
	}
	r.fail("unknown pointer encoding %#02x", uint8(e))
	return 0
}

func signExtend(v uint64, size int) uint64 {
	shift := uint(64 - 8*size)
	return uint64(int64(v<<shift) >> shift)
}

// pointer reads an address. A stored zero is "no address" whatever it is
// relative to, which is how unwinders read optional pointers too.
func (r *reader) pointer(e encoding, funcBase uint64) uint64 {
	if e == peOmit {
		return 0
	}
	if e&peBase == peAligned {
		// LSB: the value is an absolute address at the next aligned place.
		size := uint64(r.s.PtrSize)
		r.take(-(r.s.Addr + r.pos) & (size - 1))
		e = e&peIndirect | peAbsptr
	}
	at := r.s.Addr + r.pos
	v := r.value(e)
	if v == 0 {
		return 0
	}
	switch e & peBase {
	case peAbsptr:
	case pePcrel:
		v += at
	case peTextrel:
		v += r.s.TextBase
	case peDatarel:
		v += r.s.DataBase
	case peFuncrel:
		v += funcBase
	default:
		r.fail("unknown pointer base %#02x", uint8(e))
	}
	v = r.wrap(v)
	if e&peIndirect != 0 && r.err == nil {
		return r.deref(v)
	}
	return v
}

// wrap reduces an address to the address size of the file.
func (r *reader) wrap(v uint64) uint64 {
	if r.s.PtrSize == 4 {
		return uint64(uint32(v))
	}
	return v
}

func (r *reader) deref(addr uint64) uint64 {
	if r.s.Deref != nil {
		if v, ok := r.s.Deref(addr); ok {
			return r.wrap(v)
		}
	}
	r.fail("indirect pointer: nothing to read at %#x", addr)
	return 0
}

// cie parses a common information entry from its version byte on.
func (r *reader) cie(off uint32) (cie, error) {
	c := cie{off: off, ptr: peAbsptr, lsda: peOmit}
	version := r.byte()
	if r.err == nil && version != 1 && version != 3 && version != 4 {
		r.fail("CIE version %d", version)
	}
	aug := r.cstring()
	if bytes.HasPrefix(aug, []byte("eh")) {
		r.take(uint64(r.s.PtrSize)) // GCC 2's exception table pointer
		aug = aug[2:]
	}
	if version == 4 {
		if size, seg := r.byte(), r.byte(); r.err == nil && (int(size) != r.s.PtrSize || seg != 0) {
			r.fail("CIE with addresses of %d bytes and segment selectors of %d", size, seg)
		}
	}
	r.leb(false) // code alignment factor
	r.leb(true)  // data alignment factor
	if version == 1 {
		r.byte() // return address register
	} else {
		r.leb(false)
	}
	r.augmentation(&c, aug)
	return c, r.err
}

// cstring reads a string up to its NUL. It must end inside the entry.
func (r *reader) cstring() []byte {
	if r.err != nil {
		return nil
	}
	n := bytes.IndexByte(r.data[r.pos:], 0)
	if n < 0 {
		r.fail("augmentation string does not end")
		return nil
	}
	b := r.data[r.pos : r.pos+uint64(n)]
	r.pos += uint64(n) + 1
	return b
}

// augmentation reads the fields that the augmentation string announces. With
// 'z' in front their total size is known, so unknown letters at the end could be
// skipped; they are refused, for they may change how FDEs are read.
func (r *reader) augmentation(c *cie, aug []byte) {
	if len(aug) > 0 && aug[0] == 'z' {
		c.augmented = true
		n := r.leb(false)
		if r.err == nil && n > uint64(len(r.data))-r.pos {
			r.fail("augmentation data of %d bytes", n)
		}
		aug = aug[1:]
	}
	for _, ch := range aug {
		switch ch {
		case 'R':
			c.ptr = encoding(r.byte())
		case 'L':
			c.lsda = encoding(r.byte())
		case 'P':
			r.skipPointer(encoding(r.byte()))
		case 'S':
			c.signal = true
		case 'B', 'G': // A64: return addresses signed with key B; frames tagged (MTE)
		default:
			r.fail("unknown augmentation %q", ch)
		}
		if r.err != nil {
			return
		}
	}
	if c.ptr == peOmit {
		r.fail("CIE whose FDEs have no address")
	}
}

// skipPointer reads a pointer for its length only: the personality routine may
// be indirect through a slot that only the loader fills.
func (r *reader) skipPointer(e encoding) {
	if e != peOmit {
		r.pointer(e&^peIndirect, 0)
	}
}

// fde parses a frame description entry from its initial location on.
func (r *reader) fde(c cie) (FDE, error) {
	f := FDE{Offset: r.off, Signal: c.signal}
	f.Begin = r.pointer(c.ptr, 0)
	// The length has the format of the address, but is relative to nothing.
	f.Size = r.wrap(r.value(c.ptr))
	if c.augmented {
		n := r.leb(false)
		end := r.pos + n
		if r.err == nil && n > uint64(len(r.data))-r.pos {
			r.fail("augmentation data of %d bytes", n)
		}
		if r.err == nil && n > 0 && c.lsda != peOmit {
			f.LSDA = r.pointer(c.lsda&^peIndirect, f.Begin)
		}
		if r.err == nil {
			r.pos = end
		}
	}
	if r.err != nil {
		return FDE{}, r.err
	}
	if f.Size != 0 && f.Size-1 > r.wrap(^uint64(0))-f.Begin {
		r.fail("range %#x+%#x wraps around", f.Begin, f.Size)
	}
	f.Mid = changesState(r.data[r.pos:])
	return f, r.err
}

// Call frame instructions that mean a state other than that of a function entry
// (DWARF 5 section 6.4.2).
const (
	cfaNop          = 0x00
	cfaDefCFA       = 0x0c
	cfaDefCFAOffset = 0x0e
	cfaOffset       = 0x80 // in the top two bits
)

// changesState reports whether the call frame program first moves the CFA or
// says that a register was saved, before it advances past the first instruction.
func changesState(program []byte) bool {
	for _, op := range program {
		switch {
		case op == cfaNop:
			continue
		case op == cfaDefCFA, op == cfaDefCFAOffset, op&0xc0 == cfaOffset:
			return true
		}
		return false
	}
	return false
}
