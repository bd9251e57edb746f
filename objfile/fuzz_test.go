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
	for _, img := range seeds() {
		img.tight = true
		b := img.bytes()
		useAll(t, b)
		for i := range b {
			old := b[i]
			for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff, old + 1, old - 1} {
				b[i] = v
				useAll(t, b)
			}
			b[i] = old
		}
		for n := range b {
			useAll(t, b[:n:n])
		}
	}
}
