package ehframe

import "encoding/binary"

// builder writes an .eh_frame section.
type builder struct {
	s   Section
	out []byte
	ext bool // use the 64-bit extended length
}

func newBuilder(order binary.ByteOrder, ptrSize int) *builder {
	return &builder{s: Section{Addr: 0x400000, Order: order, PtrSize: ptrSize, TextBase: 0x100000, DataBase: 0x200000}}
}

func (b *builder) u32(p []byte, v uint32) []byte {
	return b.s.Order.(binary.AppendByteOrder).AppendUint32(p, v)
}

func (b *builder) number(p []byte, v uint64, size int) []byte {
	o := b.s.Order.(binary.AppendByteOrder)
	switch size {
	case 2:
		return o.AppendUint16(p, uint16(v))
	case 4:
		return o.AppendUint32(p, uint32(v))
	}
	return o.AppendUint64(p, v)
}

// entry appends length, id and what body makes of the address it begins at; it
// returns the entry's offset. idOf computes the id from its own offset.
func (b *builder) entry(idOf func(pos int) uint32, body func(at uint64) []byte) int {
	start := len(b.out)
	head := 4
	if b.ext {
		head = 12
	}
	in := body(b.s.Addr + uint64(start+head+4))
	for (head+4+len(in))%8 != 0 {
		in = append(in, 0)
	}
	if b.ext {
		b.out = b.u32(b.out, 0xffffffff)
		b.out = b.number(b.out, uint64(4+len(in)), 8)
	} else {
		b.out = b.u32(b.out, uint32(4+len(in)))
	}
	b.out = b.u32(b.out, idOf(len(b.out)))
	b.out = append(b.out, in...)
	return start
}

// cie appends a CIE: version, augmentation string and its data.
func (b *builder) cie(version byte, aug string, data ...byte) int {
	return b.entry(func(int) uint32 { return 0 }, func(uint64) []byte {
		in := append(append([]byte{version}, aug...), 0)
		if version == 4 {
			in = append(in, byte(b.s.PtrSize), 0)
		}
		in = append(in, 1, 0x78, 16)
		if len(aug) > 0 && aug[0] == 'z' {
			in = append(in, byte(len(data)))
		}
		return append(in, data...)
	})
}

// fde appends an FDE of the CIE at offset c.
func (b *builder) fde(c int, body func(at uint64) []byte) int {
	return b.entry(func(pos int) uint32 { return uint32(pos - c) }, body)
}

// plain appends an FDE with addresses of four bytes relative to their place, as
// compilers emit.
func (b *builder) plain(c int, begin uint64, size uint32, program ...byte) int {
	return b.fde(c, func(at uint64) []byte {
		return append(append(b.u32(b.u32(nil, uint32(begin-at)), size), 0), program...)
	})
}

func (b *builder) section() *Section {
	s := b.s
	s.Data = b.out
	return &s
}
