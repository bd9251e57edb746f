package objfile

import (
	"debug/elf"
	"testing"
)

// sdtNote appends a "stapsdt" note.
func sdtNote(l layout, b []byte, pc, base, sem uint64, strs string) []byte {
	desc := l.wword(l.wword(l.wword(nil, pc), base), sem)
	desc = append(desc, strs...)
	b = l.w32(l.w32(l.w32(b, 8), uint32(len(desc))), noteSDT)
	b = append(append(b, "stapsdt\x00"...), desc...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// sdtImage has code that begins with code and notes, a .stapsdt.base at 0x404000
// and semaphores at 0x405000, 0x800 below that in the file.
func sdtImage(l layout, notes []byte, code string) *image {
	img := newImage(0x100)
	img.lay = l
	if !l.is64 {
		img.machine = elf.EM_386
	}
	copy(img.secs[0].data, code)
	img.add(&sec{name: ".stapsdt.base", typ: elf.SHT_PROGBITS, flags: ro, addr: 0x404000, data: []byte{0}})
	img.add(&sec{name: ".probes", typ: elf.SHT_PROGBITS, flags: wa, addr: 0x405000, data: make([]byte, 8)})
	img.add(&sec{name: ".note.stapsdt", typ: elf.SHT_NOTE, data: notes})
	return img
}

func TestSDT(t *testing.T) {
	for _, lay := range []string{"64le", "32le"} {
		l := layouts[lay]
		b := sdtNote(l, nil, text, 0x404000, 0, "libc\x00setjmp\x008@%rdi -4@%esi\x00")
		b = sdtNote(l, b, text+1, 0x404000, 0x405002, "p\x00sem\x00\x00")
		b = sdtNote(l, b, text+1-0x1000, 0x404000-0x1000, 0x405002-0x1000, "p\x00moved\x00\x00")
		b = append(l.w32(l.w32(l.w32(b, 4), 0), 3), "XYZ\x00"...) // another owner's
		img := sdtImage(l, b, "\x0f\x05\x90")
		f := img.open(t)
		var got []Probe
		for p, err := range f.SDT() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p)
		}
		if len(got) != 3 {
			t.Fatalf("%s: %+v", lay, got)
		}
		if p := got[0]; p.Provider != "libc" || p.Name != "setjmp" || p.Args != "8@%rdi -4@%esi" || p.PC != text ||
			p.Offset != FileOffset(img.secs[0].off) || p.Semaphore != 0 || p.RefCtrOffset != 0 || p.Nop != 0 || len(p.Site) != 16 {
			t.Errorf("%s: %+v", lay, p)
		}
		for _, p := range got[1:] {
			if p.PC != text+1 || p.Semaphore != 0x405002 || p.RefCtrOffset != FileOffset(img.sec(".probes").off)+2 || p.Args != "" {
				t.Errorf("%s: %+v", lay, p)
			}
		}
	}
}

func TestSDTDamage(t *testing.T) {
	l := layouts["64le"]
	good := sdtNote(l, nil, text, 0x404000, 0, "a\x00b\x00c\x00")
	cases := map[string][]byte{
		"short descriptor":  append(l.w32(l.w32(l.w32(nil, 8), 4), noteSDT), "stapsdt\x00abcd"...),
		"two strings":       sdtNote(l, nil, text, 0x404000, 0, "a\x00b\x00c"),
		"site not code":     sdtNote(l, nil, 0x405000, 0x404000, 0, "a\x00b\x00c\x00"),
		"site nowhere":      sdtNote(l, nil, 1, 0x404000, 0, "a\x00b\x00c\x00"),
		"semaphore nowhere": sdtNote(l, nil, text, 0x404000, 0x405008, "a\x00b\x00c\x00"),
		"cut":               good[:len(good)-8],
		"huge name":         append(l.w32(l.w32(l.w32(nil, 0xffffffff), 4), noteSDT), "stapsdt\x00abcd"...),
	}
	for name, bad := range cases {
		t.Run(name, func(t *testing.T) {
			img := sdtImage(l, append(append([]byte(nil), good...), bad...), "")
			n := 0
			var last error
			for _, err := range img.open(t).SDT() {
				if last != nil {
					t.Fatal("goes on behind an error")
				}
				n, last = n+1, err
			}
			wantErr(t, last, ErrMalformed)
			if n != 2 {
				t.Errorf("%d yields", n)
			}
		})
	}
}

func TestNops(t *testing.T) {
	cases := []struct {
		arch, b string
		n       int
	}{
		{"amd64", "\x90", 1},
		{"386", "\x66\x90", 2},
		{"amd64", "\x0f\x1f\x00", 3},
		{"amd64", "\x0f\x1f\x40\x00", 4},
		{"amd64", "\x0f\x1f\x44\x00\x00", 5},
		{"amd64", "\x66\x0f\x1f\x44\x00\x00", 6},
		{"amd64", "\x0f\x1f\x80\x00\x00\x00\x00", 7},
		{"amd64", "\x0f\x1f\x84\x00\x00\x00\x00\x00", 8},
		{"amd64", "\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 11},
		{"amd64", "\x0f\x1f\x05\x00\x00\x00\x00", 7},
		{"amd64", "\x0f\x1f\x04\x25\x00\x00\x00\x00", 8},
		{"amd64", "\x0f\x1f\xc0", 3},
		{"amd64", "\x0f\x1f\x44\x00", 0},
		{"amd64", "\x0f\x1f\x04", 0},
		{"amd64", "\x0f\x1f\x48\x00", 0}, // not /0
		{"amd64", "\xf3\x90", 0},
		{"amd64", "\xcc", 0},
		{"amd64", "", 0},
		{"arm64", "\x1f\x20\x03\xd5", 4},
		{"arm64", "\x3f\x20\x03\xd5", 0}, // yield
		{"ppc64", "\x60\x00\x00\x00", 4},
		{"ppc64le", "\x00\x00\x00\x60", 4},
		{"ppc64le", "\x60\x00\x00\x00", 0},
		{"riscv64", "\x01\x00", 2},
		{"riscv64", "\x13\x00\x00\x00", 4},
	}
	for _, c := range cases {
		f := &File{Header: Header{Arch: c.arch}}
		if n := f.nopLen([]byte(c.b + "")); n != c.n {
			t.Errorf("%s % x: %d, want %d", c.arch, c.b, n, c.n)
		}
		if n := f.nopLen([]byte(c.b + "\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc")); c.n > 0 && n != c.n {
			t.Errorf("%s % x and more: %d, want %d", c.arch, c.b, n, c.n)
		}
	}
}
