package objfile

import (
	"debug/elf"
	"testing"
)

// twoSegments loads its code 0x1000 above its place in the file, and one byte of
// the file twice.
func twoSegments(t *testing.T) *File {
	f := newImage(16).open(t)
	f.size = 0x4000
	f.Segments = []Segment{
		{0x401000, 0x1000, 0x800, 0x800, elf.PF_R | elf.PF_X},
		{0x402800, 0x1800, 0x100, 0x2000, elf.PF_R | elf.PF_W},
		{0x500000, 0x1700, 0x80, 0x80, elf.PF_R},
	}
	return f
}

func TestOffsets(t *testing.T) {
	f := twoSegments(t)
	pairs := []struct {
		a   VAddr
		off FileOffset
	}{{0x401000, 0x1000}, {0x4017ff, 0x17ff}, {0x402800, 0x1800}, {0x4028ff, 0x18ff}}
	for _, p := range pairs {
		if off, err := f.OffsetOf(p.a); err != nil || off != p.off {
			t.Errorf("OffsetOf(%#x) = %#x, %v", p.a, off, err)
		}
		if a, err := f.AddrOf(p.off); err != nil || a != p.a {
			t.Errorf("AddrOf(%#x) = %#x, %v", p.off, a, err)
		}
	}
	if off, err := f.OffsetOf(0x500010); err != nil || off != 0x1710 {
		t.Errorf("second mapping: %#x, %v", off, err)
	}
	if a, err := f.AddrOf(0x1710); err != nil || a != 0x401710 {
		t.Errorf("the executable mapping is not preferred: %#x, %v", a, err)
	}
	for _, a := range []VAddr{0, 0x400fff, 0x401800, 0x4027ff, 0x402900, 0x4047ff, 0x500080, 1<<64 - 1} {
		_, err := f.OffsetOf(a)
		wantErr(t, err, ErrNotMapped)
	}
	for _, off := range []FileOffset{0, 0xfff, 0x1900, 1<<64 - 1} {
		_, err := f.AddrOf(off)
		wantErr(t, err, ErrNotMapped)
	}
}

func TestRuntimeAddr(t *testing.T) {
	f := twoSegments(t)
	for _, bias := range []uint64{0, 0x1000, 0x555555554000, 1<<64 - 0x400000} {
		r, err := f.RuntimeAddrOf(0x401234, bias)
		if err != nil || uint64(r) != 0x401234+bias {
			t.Errorf("bias %#x: %#x, %v", bias, r, err)
		}
		if a, err := f.VAddrOf(r, bias); err != nil || a != 0x401234 {
			t.Errorf("bias %#x: back to %#x, %v", bias, a, err)
		}
	}
	_, err := f.RuntimeAddrOf(0x401234, 0x800)
	wantErr(t, err, ErrBias)
	_, err = f.VAddrOf(0x401234, 1)
	wantErr(t, err, ErrBias)
	f.lay.is64 = false
	if r, err := f.RuntimeAddrOf(0x401000, 0xffc00000); err != nil || r != 0x1000 {
		t.Errorf("32-bit addresses do not wrap: %#x, %v", r, err)
	}
}

func TestBiasOf(t *testing.T) {
	f := twoSegments(t)
	const bias = 0x7f0000000000
	_, err := f.BiasOf(bias, 0x3000)
	wantErr(t, err, ErrNotMapped)
	if got, err := f.BiasOf(bias+0x401000, 0x1000); err != nil || got != bias {
		t.Errorf("%#x, %v", got, err)
	}
	_, err = f.BiasOf(bias+0x401800, 0x1000)
	wantErr(t, err, ErrBias)
}
