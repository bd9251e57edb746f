package ehframe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func collect(s *Section) (list []FDE, err error) {
	for f, e := range s.All() {
		if e != nil {
			return list, e
		}
		list = append(list, f)
	}
	return list, nil
}

// TestEncodings: every format with every base, both address sizes, both byte
// orders, with and without extended length, give the same range.
func TestEncodings(t *testing.T) {
	formats := map[encoding]int{peUdata2: 2, peUdata4: 4, peUdata8: 8, peSdata2: 2, peSdata4: 4, peSdata8: 8,
		peAbsptr: 0, peSigned: 0, peUleb128: -1, peSleb128: -2}
	bases := []encoding{peAbsptr, pePcrel, peTextrel, peDatarel}
	n := 0
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, ptrSize := range []int{4, 8} {
			for format, width := range formats {
				for _, base := range bases {
					for _, ext := range []bool{false, true} {
						testEncoding(t, newBuilder(order, ptrSize), format|base, width, ext)
						n++
					}
				}
			}
		}
	}
	if n != 320 {
		t.Errorf("%d combinations", n)
	}
}

func testEncoding(t *testing.T, b *builder, e encoding, width int, ext bool) {
	if width == 0 {
		width = b.s.PtrSize
	}
	b.ext = ext
	c := b.cie(1, "zR", byte(e))
	var want uint64
	b.fde(c, func(at uint64) []byte {
		base := map[encoding]uint64{peAbsptr: 0, pePcrel: at, peTextrel: b.s.TextBase, peDatarel: b.s.DataBase}[e&peBase]
		want = base + 0x1234
		if width < 0 {
			return append(leb(leb(nil, 0x1234), 0x88), 0)
		}
		return append(b.number(b.number(nil, 0x1234, width), 0x88, width), 0)
	})
	list, err := collect(b.section())
	if err != nil || len(list) != 1 || list[0].Begin != want || list[0].Size != 0x88 {
		t.Errorf("%v %d %#02x ext=%v: %+v, %v; want %#x", b.s.Order, b.s.PtrSize, e, ext, list, err, want)
	}
}

// leb writes a number that reads the same signed and unsigned.
func leb(p []byte, v uint64) []byte {
	for v >= 0x40 {
		p = append(p, byte(v)|0x80)
		v >>= 7
	}
	return append(p, byte(v))
}

// TestNegative: signed formats reach backwards, and addresses wrap at their size.
func TestNegative(t *testing.T) {
	for _, ptrSize := range []int{4, 8} {
		for _, format := range []encoding{peSdata2, peSdata4, peSdata8, peSleb128, peSigned} {
			b := newBuilder(binary.LittleEndian, ptrSize)
			c := b.cie(1, "zR", byte(format|pePcrel))
			var want uint64
			b.fde(c, func(at uint64) []byte {
				want = at - 0x40
				v := ^uint64(0x3f)
				switch format {
				case peSleb128:
					return []byte{0x40, 0x20, 0}
				case peSigned:
					return append(b.number(b.number(nil, v, ptrSize), 0x20, ptrSize), 0)
				}
				w := map[encoding]int{peSdata2: 2, peSdata4: 4, peSdata8: 8}[format]
				return append(b.number(b.number(nil, v, w), 0x20, w), 0)
			})
			list, err := collect(b.section())
			if err != nil || len(list) != 1 || list[0].Begin != want {
				t.Errorf("%d %#02x: %+v, %v; want %#x", ptrSize, format, list, err, want)
			}
		}
	}
}

func TestIndirect(t *testing.T) {
	b := newBuilder(binary.BigEndian, 8)
	c := b.cie(1, "zR", byte(peIndirect|peUdata4))
	b.fde(c, func(uint64) []byte { return []byte{0, 0, 0x70, 0, 0, 0, 0, 9, 0} })
	s := b.section()
	if _, err := collect(s); err == nil {
		t.Error("no error without Deref")
	}
	s.Deref = func(a uint64) (uint64, bool) { return 0x12345, a == 0x7000 }
	if list, err := collect(s); err != nil || list[0].Begin != 0x12345 || list[0].Size != 9 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestAligned: DW_EH_PE_aligned pads to the address size, wherever the field is.
func TestAligned(t *testing.T) {
	for pad := range 8 {
		b := newBuilder(binary.LittleEndian, 8)
		b.s.Addr += uint64(pad)
		c := b.cie(1, "zR", byte(peAligned))
		b.fde(c, func(at uint64) []byte {
			p := make([]byte, -at&7)
			return append(b.number(b.number(p, 0x401000, 8), 0x10, 8), 0)
		})
		if list, err := collect(b.section()); err != nil || list[0].Begin != 0x401000 || list[0].Size != 0x10 {
			t.Errorf("pad %d: %+v, %v", pad, list, err)
		}
	}
}

// TestAugmentations: what stands in front of R must be stepped over exactly.
func TestAugmentations(t *testing.T) {
	b := newBuilder(binary.LittleEndian, 8)
	pc4 := byte(pePcrel | peSdata4)
	b.plain(b.cie(1, "zPLR", byte(peIndirect|pePcrel|peSdata4), 1, 2, 3, 4, pc4, pc4), 0x1000, 16)
	b.plain(b.cie(3, "zRS", pc4), 0x2000, 16)
	b.plain(b.cie(4, "zRBG", pc4), 0x3000, 16)
	b.fde(b.cie(1, "zP", byte(peOmit)), func(uint64) []byte { return append(b.number(b.number(nil, 0, 8), 0, 8), 0) })
	noAug := b.cie(1, "")
	b.fde(noAug, func(uint64) []byte { return b.number(b.number(nil, 0x4000, 8), 16, 8) })
	gcc2 := b.cie(1, "eh", 1, 2, 3, 4, 5, 6, 7, 8)
	b.fde(gcc2, func(uint64) []byte { return b.number(b.number(nil, 0x5000, 8), 16, 8) })
	list, err := collect(b.section())
	if err != nil || len(list) != 6 {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, want := range []uint64{0x1000, 0x2000, 0x3000, 0, 0x4000, 0x5000} {
		if list[i].Begin != want || list[i].Signal != (i == 1) {
			t.Errorf("%d: %+v", i, list[i])
		}
	}
}

func TestLSDA(t *testing.T) {
	b := newBuilder(binary.LittleEndian, 8)
	c := b.cie(1, "zLR", byte(pePcrel|peSdata4), byte(pePcrel|peSdata4))
	b.fde(c, func(at uint64) []byte {
		p := b.u32(b.u32(nil, uint32(0x1000-at)), 16)
		p = append(p, 4)
		return b.u32(p, uint32(0x9000-(at+9)))
	})
	b.fde(c, func(at uint64) []byte { return append(b.u32(b.u32(nil, uint32(0x2000-at)), 16), 4, 0, 0, 0, 0) })
	list, err := collect(b.section())
	if err != nil || list[0].LSDA != 0x9000 || list[1].LSDA != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestMid(t *testing.T) {
	b := newBuilder(binary.LittleEndian, 8)
	c := b.cie(1, "zR", byte(pePcrel|peSdata4))
	programs := map[bool][][]byte{
		false: {{}, {0x41, 0x0e, 16}, {0, 0}, {0x02, 9, 0x0e, 16}, {0x07, 16}, {0x0a}},
		true:  {{0x0e, 16}, {0x0c, 7, 16}, {0x86, 2}, {0, 0x0e, 16}},
	}
	for want, list := range programs {
		for _, p := range list {
			b.out = b.out[:24]
			b.plain(c, 0x1000, 4, p...)
			if list, err := collect(b.section()); err != nil || list[0].Mid != want {
				t.Errorf("% x: %+v, %v", p, list, err)
			}
		}
	}
}

func TestTerminators(t *testing.T) {
	b := newBuilder(binary.LittleEndian, 8)
	c := b.cie(1, "zR", byte(pePcrel|peSdata4))
	b.plain(c, 0x1000, 16)
	b.out = append(b.out, 0, 0, 0, 0)
	b.plain(c, 0x2000, 16)
	b.out = append(b.out, 0, 0, 0, 0, 0, 0)
	s := b.section()
	if list, err := collect(s); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	s.ToTerminator = true
	if list, err := collect(s); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestDamage: each damage is one error that names the entry, after the good ones.
func TestDamage(t *testing.T) {
	pc4 := byte(pePcrel | peSdata4)
	cases := []struct {
		name, reason string
		do           func(b *builder, c int)
	}{
		{"short length", "too small", func(b *builder, c int) { b.out = append(b.out, 2, 0, 0, 0, 0, 0) }},
		{"long length", "reaches behind", func(b *builder, c int) { b.out = append(b.out, 0xff, 0xff, 0, 0, 0) }},
		{"huge length", "reaches behind", func(b *builder, c int) {
			b.out = append(b.out, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
		}},
		{"cut length", "cut in its length", func(b *builder, c int) { b.out = append(b.out, 1, 0) }},
		{"cut extended", "cut in its extended", func(b *builder, c int) { b.out = append(b.out, 0xff, 0xff, 0xff, 0xff, 1) }},
		{"no CIE", "no CIE", func(b *builder, c int) { b.plain(c+8, 0x1000, 16) }},
		{"CIE ahead", "no CIE", func(b *builder, c int) { b.plain(c+0x1000, 0x1000, 16) }},
		{"FDE as CIE", "no CIE", func(b *builder, c int) { b.plain(b.plain(c, 1, 1), 0x1000, 16) }},
		{"version", "version 2", func(b *builder, c int) { b.cie(2, "zR", pc4) }},
		{"endless string", "does not end", func(b *builder, c int) {
			b.entry(func(int) uint32 { return 0 }, func(uint64) []byte { return []byte("\x01zRabcdefghijklm") })
		}},
		{"unknown letter", "unknown augmentation", func(b *builder, c int) { b.cie(1, "zQR", 0, pc4) }},
		{"augmentation too long", "augmentation data", func(b *builder, c int) {
			b.entry(func(int) uint32 { return 0 }, func(uint64) []byte { return []byte("\x01zR\x00\x01\x78\x10\x7f\x1b") })
		}},
		{"encoding", "unknown pointer encoding", func(b *builder, c int) { b.plain(b.cie(1, "zR", 0x05), 0x1000, 16) }},
		{"base", "unknown pointer base", func(b *builder, c int) { b.plain(b.cie(1, "zR", 0x63), 0x1000, 16) }},
		{"omitted", "no address", func(b *builder, c int) { b.cie(1, "zR", 0xff) }},
		{"cut FDE", "cut", func(b *builder, c int) { b.fde(c, func(uint64) []byte { return nil }) }},
		{"LEB128", "LEB128", func(b *builder, c int) {
			b.fde(b.cie(1, "zR", byte(peUleb128)), func(uint64) []byte {
				return []byte(strings.Repeat("\x80", 12))
			})
		}},
		{"wraps", "wraps around", func(b *builder, c int) {
			b.fde(b.cie(1, "zR", 0), func(uint64) []byte { return append(b.number(b.number(nil, 1<<64-8, 8), 16, 8), 0) })
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder(binary.LittleEndian, 8)
			cie := b.cie(1, "zR", pc4)
			b.plain(cie, 0x1000, 16)
			c.do(b, cie)
			list, err := collect(b.section())
			e, ok := errors.AsType[*Error](err)
			if !ok || !strings.Contains(e.Reason, c.reason) || len(list) == 0 {
				t.Errorf("%v, %+v", err, list)
			}
			if ok && int(e.Offset) >= len(b.out) {
				t.Errorf("offset %#x of %#x", e.Offset, len(b.out))
			}
		})
	}
}

// TestCuts: a section cut anywhere ends in an error or with the entries that are
// whole, and never reads behind the cut.
func TestCuts(t *testing.T) {
	b := newBuilder(binary.LittleEndian, 8)
	c := b.cie(1, "zPLR", byte(pePcrel|peSdata4), 1, 2, 3, 4, byte(pePcrel|peSdata4), byte(pePcrel|peSdata4))
	for i := range 4 {
		b.fde(c, func(at uint64) []byte { return append(b.u32(b.u32(nil, uint32(0x1000*i)), 16), 4, 1, 2, 3, 4) })
	}
	whole := b.out
	for n := range whole {
		s := b.section()
		s.Data = whole[:n:n]
		list, err := collect(s)
		if len(list) > 4 || err == nil && len(list) == 4 {
			t.Errorf("cut at %d: %d entries, %v", n, len(list), err)
		}
	}
}

func TestFromHeader(t *testing.T) {
	b := newBuilder(binary.LittleEndian, 8)
	hdr := b.s
	hdr.Addr = 0x3f0000
	hdr.Data = []byte{1, byte(pePcrel | peSdata4), 3, 0x3b, 0xfc, 0xff, 0, 0}
	if a, err := hdr.FromHeader(); err != nil || a != 0x400000 {
		t.Errorf("%#x, %v", a, err)
	}
	for _, bad := range [][]byte{{}, {1}, {2, 0x1b, 3, 0x3b, 1, 0, 0, 0}, {1, 0xff, 3, 0x3b, 1, 0, 0, 0}, {1, 0x1b, 3, 0x3b, 1, 0}} {
		hdr.Data = bad
		if a, err := hdr.FromHeader(); err == nil {
			t.Errorf("% x: %#x", bad, a)
		}
	}
}

// TestLinear: a section in which every FDE names another place inside one long
// entry must not be parsed over and over.
func TestLinear(t *testing.T) {
	b := newBuilder(binary.LittleEndian, 8)
	c := b.cie(1, "zR", byte(pePcrel|peSdata4))
	for i := range 100_000 {
		b.plain(c, uint64(0x1000*i), 16)
	}
	n := 0
	for _, err := range b.section().All() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 100_000 {
		t.Error(n)
	}
	b.plain(c+1, 0x1000, 16)
	if _, err := collect(b.section()); err == nil {
		t.Error("a CIE inside a CIE was accepted")
	}
}

func FuzzEHFrame(f *testing.F) {
	for _, ext := range []bool{false, true} {
		for _, size := range []int{4, 8} {
			b := newBuilder(binary.LittleEndian, size)
			b.ext = ext
			pc4 := byte(pePcrel | peSdata4)
			b.plain(b.cie(1, "zPLR", byte(peIndirect|pePcrel|peSdata4), 1, 2, 3, 4, pc4, pc4), 0x1000, 16)
			b.plain(b.cie(4, "zRS", pc4), 0x2000, 16, 0x0e, 16)
			b.plain(b.cie(1, "zR", byte(peAligned)), 0x2000, 16, 0x0e, 16)
			b.plain(b.cie(3, "zR", byte(peUleb128|peFuncrel)), 0x2000, 16, 0x0e, 16)
			f.Add(b.out, uint64(0x400000), size == 8, false, false)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, addr uint64, wide, big, toEnd bool) {
		s := &Section{Data: data, Addr: addr, Order: binary.LittleEndian, PtrSize: 4, ToTerminator: toEnd}
		s.Deref = func(a uint64) (uint64, bool) { return a + 1, a%2 == 0 }
		if wide {
			s.PtrSize = 8
		}
		if big {
			s.Order = binary.BigEndian
		}
		last := uint64(0)
		n := 0
		for fde, err := range s.All() {
			if err != nil {
				if e, ok := errors.AsType[*Error](err); !ok || e.Offset > uint64(len(data)) || strings.Contains(e.Error(), "\n") {
					t.Fatal(err)
				}
				break
			}
			if n > 0 && fde.Offset <= last || fde.Size != 0 && fde.Begin+fde.Size-1 < fde.Begin {
				t.Fatalf("%+v behind %#x", fde, last)
			}
			last, n = fde.Offset, n+1
		}
		if n > len(data)/8 {
			t.Fatal(fmt.Sprint(n, " entries in ", len(data), " bytes"))
		}
		s.FromHeader()
	})
}
