package objfile

import (
	"debug/elf"
	"slices"
	"testing"

	"github.com/xol-go/xol/internal/testenv"
)

const (
	ppcNop  = 0x60000000
	ppcBlr  = 0x4e800020
	ppcBctr = 0x4e800420
)

// powerImage has one function f of these words, in either byte order, and then one
// word more that belongs to nobody.
func powerImage(order string, words ...uint32) *image {
	img := newImage(0)
	img.machine, img.lay = elf.EM_PPC64, layouts[order]
	var b []byte
	for _, w := range append(words, ppcNop) {
		b = img.lay.w32(b, w)
	}
	img.sec(".text").data = b
	img.symtab(fsym("f", 0, 4*uint64(len(words))))
	return img
}

// TestPowerData: traceback and jump tables are told by their form, and what is
// nearly one is code.
func TestPowerData(t *testing.T) {
	short := []uint32{ppcNop, ppcBlr, 0, 1, 0x80000000}
	full := []uint32{ppcBlr, 0, 0x000c2040, 0x40000000, 4, 0x00036b69, 0x6c6c0000} // offset, and the name "kil"
	le := slices.Clone(short)
	le[3], le[4] = 0x01000000, 0x80
	number := []uint32{ppcBlr, 0, 0x40000000, 0x000c2040, 4, 0x696b0003, 0x6c} // fixed part as a number
	jump := []uint32{ppcBctr, 12, 20, 0xfffffffc, ppcNop, ppcBlr, ppcNop, ppcBlr}
	with := func(list []uint32, i int, w uint32) []uint32 {
		out := slices.Clone(list)
		out[i] = w
		return out
	}
	cases := []struct {
		name, order string
		words       []uint32
		data        Range // from the function's start
	}{
		{"shortest", "64be", short, Range{8, 12}},
		{"shortest", "64le", le, Range{8, 12}},
		{"with offset and name", "64be", full, Range{4, 24}},
		{"as a number", "64le", number, Range{4, 24}},
		{"wrong offset", "64be", with(full, 4, 8), Range{}},
		{"another version", "64be", with(short, 3, 0x01000001), Range{}},
		{"name with less padding", "64be", with(full, 5, 0x00056b69), Range{4, 24}},
		{"name far behind the end", "64be", with(full, 5, 0x00076b69), Range{}},
		{"a trap in code", "64be", []uint32{ppcNop, 0, ppcNop, ppcNop, ppcBlr}, Range{}},
		{"jumps", "64be", jump, Range{4, 12}},
		{"jumps", "64le", jump, Range{4, 12}},
		{"into the table", "64be", with(jump, 1, 0), Range{}},
		{"not to an instruction", "64be", with(jump, 1, 14), Range{}},
		{"out of the function", "64be", with(jump, 1, 0x40), Range{}},
		{"all backwards", "64be", []uint32{ppcBctr, 0xfffffffc, 0xfffffff8, ppcBlr}, Range{}},
		{"not behind bctr", "64be", with(jump, 0, ppcNop), Range{}},
	}
	for _, c := range cases {
		t.Run(c.name+" "+c.order, func(t *testing.T) {
			f := powerImage(c.order, c.words...).open(t)
			checkTiling(t, f)
			var got []Range
			gaps, err := f.Gaps()
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range gaps {
				if g.Data {
					got = append(got, Range{g.Addr - text, g.Size})
				}
			}
			var want []Range
			if c.data.Size != 0 {
				want = []Range{c.data}
			}
			if !slices.Equal(got, want) {
				t.Errorf("data %v, want %v", got, want)
			}
		})
	}
}

// TestPowerReal: words without a meaning are rare in the functions of compiled
// libraries, once their tables are known.
func TestPowerReal(t *testing.T) {
	testenv.Tool(t, "powerpc64-linux-gnu-gcc") // whose C library is read
	for _, path := range []string{"/usr/powerpc64-linux-gnu/lib/libc.so.6", "/usr/powerpc64-linux-gnu/lib/libm.so.6",
		"/usr/powerpc64le-linux-gnu/lib/libc.so.6", "/usr/powerpc64le-linux-gnu/lib/libm.so.6"} {
		f := openReal(t, path)
		checkTiling(t, f)
		tables, zeros, words := 0, 0, 0
		for _, fn := range mustFuncs(t, f) {
			var size uint64
			for r := range f.Code(fn) {
				size += r.Size
				b, err := f.Bytes(r.Addr, r.Size)
				if err != nil {
					t.Fatal(err)
				}
				for ; len(b) >= 4; b = b[4:] {
					words++
					if f.lay.order.Uint32(b)>>26 == 0 {
						zeros++
					}
				}
			}
			if size < fn.Size {
				tables++
			}
		}
		if n := len(mustFuncs(t, f)); 100*tables < 97*n || zeros*2000 > words {
			t.Errorf("%s: tables in %d of %d functions, %d of %d words have major opcode 0", path, tables, n, zeros, words)
		}
	}
}
