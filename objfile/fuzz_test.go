package objfile

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"strings"
	"testing"
)

// meter counts what is read, so that a small file cannot make for much work.
type meter struct {
	r io.ReaderAt
	n *int
}

func (m meter) ReadAt(p []byte, off int64) (int, error) {
	*m.n += len(p)
	return m.r.ReadAt(p, off)
}

// useAll calls everything and checks what holds for any file.
func useAll(t testing.TB, b []byte) {
	read := 0
	f, err := New(meter{bytes.NewReader(b), &read}, int64(len(b)))
	if err != nil {
		checkError(t, err)
		return
	}
	funcs, err := f.Funcs()
	if err != nil {
		checkError(t, err)
	} else {
		checkFuncs(t, f, funcs)
	}
	for _, err := range f.Symbols() {
		if err != nil {
			checkError(t, err)
		}
	}
	n := 0
	for p, err := range f.SDT() {
		if err != nil {
			checkError(t, err)
		} else if off, err := f.OffsetOf(p.PC); err != nil || off != p.Offset {
			t.Fatalf("%+v", p)
		}
		n++
	}
	if n > len(b) {
		t.Fatalf("%d probes in %d bytes", n, len(b))
	}
	if limit := 40*len(b) + 1<<16; read > limit {
		t.Fatalf("read %d bytes of a file of %d", read, len(b))
	}
}

func checkError(t testing.TB, err error) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind == nil || strings.ContainsAny(err.Error(), "\r\n") || len(err.Error()) > 1000 {
		t.Fatalf("%q", err)
	}
}

func checkFuncs(t testing.TB, f *File, funcs []Func) {
	t.Helper()
	checkTiling(t, f)
	names := 0
	for _, fn := range funcs {
		names += len(fn.Name)
		if got, err := f.FuncAt(fn.Range().End() - 1); err != nil || got != fn {
			t.Fatalf("%+v, %v, want %+v", got, err, fn)
		}
		if _, err := f.OffsetOf(fn.Addr); err != nil {
			t.Fatal(err)
		}
	}
	if names > 100*int(f.size)+1<<18 {
		t.Fatalf("%d bytes of names", names)
	}
	entries, err := f.Entries()
	if err != nil {
		checkError(t, err)
	}
	for i, e := range entries {
		if i > 0 && e.Addr < entries[i-1].Addr {
			t.Fatalf("%+v behind %+v", e, entries[i-1])
		}
	}
	if _, err := f.Lookup("f"); err != nil && !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}

// seeds are images with every kind of table.
func seeds() []*image {
	var out []*image
	for _, lay := range []string{"64le", "64be", "32le"} {
		for _, magic := range []uint32{magicGo12, magicGo116, magicGo120} {
			img := goImage(lay, magic, someGo, 0x1f8)
			img.symtab(fsym("f", 0, 0x10), fsym("g", 8, 0x20), fsym("h", 0x40, 0))
			img.frames(fr(0x20, 0x10), cold(0x40, 0x10))
			out = append(out, img)
		}
	}
	l := layouts["64le"]
	notes := sdtNote(l, nil, text, 0x404000, 0x405002, "libc\x00setjmp\x008@%rdi -4@%esi\x00")
	out = append(out, sdtImage(l, notes, "\x90"))
	arm := newImage(0x100)
	arm.machine = elf.EM_AARCH64
	arm.symtab(fsym("$x", 0, 0).typed(elf.STT_NOTYPE), fsym("$d", 0x10, 0).typed(elf.STT_NOTYPE), fsym("f", 0, 0x40))
	out = append(out, arm)
	bare := goImage("64le", magicGo120, someGo, 0x1f8)
	bare.noShdrs = true
	return append(out, bare)
}

// FuzzOpen feeds hostile files. The seeds are packed, so that mutations hit
// something other than padding.
func FuzzOpen(f *testing.F) {
	for _, img := range seeds() {
		img.tight = true
		f.Add(img.bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) { useAll(t, b) })
}

// TestEveryByte damages each byte of each seed in several ways: nothing may panic
// or contradict itself.
func TestEveryByte(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 17
	}
	for _, img := range seeds() {
		img.tight = true
		b := img.bytes()
		useAll(t, b)
		for i := 0; i < len(b); i += step {
			old := b[i]
			for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff, old + 1, old - 1} {
				b[i] = v
				useAll(t, b)
			}
			b[i] = old
		}
		for n := 0; n < len(b); n += step {
			useAll(t, b[:n:n])
		}
	}
}

// TestOverlaid: many headers that name the same bytes must not multiply work.
func TestOverlaid(t *testing.T) {
	const n = 3000
	big := bytes.Repeat([]byte("\x00x"), 1<<15)
	add := func(s sec) func(img *image) {
		return func(img *image) {
			for range n {
				one := s
				img.add(&one)
			}
		}
	}
	for name, damage := range map[string]func(img *image){
		"relocations": add(sec{name: ".rela.dyn", typ: elf.SHT_RELA, flags: ro, noLoad: true}),
		"probes":      add(sec{name: ".note.stapsdt", typ: elf.SHT_NOTE}),
		"frames":      add(sec{name: ".eh_frame", typ: elf.SHT_PROGBITS}),
		"symbols":     add(sec{name: ".symtab", typ: elf.SHT_SYMTAB, link: ".strtab"}),
		"build ids":   add(sec{name: ".note.gnu.build-id", typ: elf.SHT_NOTE}),
		"descriptors": add(sec{name: ".opd", typ: elf.SHT_PROGBITS}),
		"tables":      add(sec{name: ".gopclntab", typ: elf.SHT_PROGBITS}),
		"notes": func(img *image) {
			for range n {
				img.extra = append(img.extra, phdr{typ: elf.PT_NOTE, addr: 0x470000})
			}
		},
		"segments": func(img *image) {
			for i := range uint64(n) {
				img.extra = append(img.extra, phdr{typ: elf.PT_LOAD, flags: elf.PF_X | elf.PF_W, addr: 0x1000000 + i<<20, off: 64, filesz: 1 << 15, memsz: 1 << 15})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			img := goImage("64le", magicGo120, someGo, 0x1f8)
			img.tight = true
			img.symtab(fsym("f", 0, 8))
			img.add(&sec{name: ".big", typ: elf.SHT_PROGBITS, flags: ro, addr: 0x470000, data: big})
			img.overlay = ".big"
			damage(img)
			useAll(t, img.bytes())
		})
	}
}
