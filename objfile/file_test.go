package objfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var sentinels = []error{ErrUnreadable, ErrDirectory, ErrNotRegular, ErrNotObject, ErrTruncated, ErrMalformed,
	ErrTooLarge, ErrMachine, ErrType, ErrNoCode, ErrNotMapped, ErrBias, ErrNotFound}

// wantErr checks that err is one line, an *Error, and of exactly one kind.
func wantErr(t *testing.T, err, kind error) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %v", kind)
	}
	if _, ok := errors.AsType[*Error](err); !ok {
		t.Errorf("%T is not *Error", err)
	}
	if strings.ContainsAny(err.Error(), "\n\r") {
		t.Errorf("more than one line: %q", err)
	}
	for _, s := range sentinels {
		if errors.Is(err, s) != (s == kind) {
			t.Errorf("%v: is %v: %v", err, s, s != kind)
		}
	}
}

func TestHeader(t *testing.T) {
	machines := []struct {
		m    elf.Machine
		lay  string
		arch string
		x32  bool
	}{
		{elf.EM_X86_64, "64le", "amd64", false},
		{elf.EM_X86_64, "32le", "amd64", true},
		{elf.EM_386, "32le", "386", false},
		{elf.EM_AARCH64, "64le", "arm64", false},
		{elf.EM_AARCH64, "64be", "arm64", false},
		{elf.EM_PPC64, "64be", "ppc64", false},
		{elf.EM_PPC64, "64le", "ppc64le", false},
		{elf.EM_RISCV, "64le", "riscv64", false},
		{elf.EM_S390, "64be", "s390x", false},
		{elf.EM_X86_64, "64be", "", false},
		{elf.EM_386, "64le", "", false},
		{elf.EM_AARCH64, "32le", "", false},
		{elf.EM_PPC, "32be", "", false},
		{elf.EM_ARM, "32le", "", false},
	}
	for _, m := range machines {
		img := newImage(64)
		img.machine, img.lay, img.entry = m.m, layouts[m.lay], 0x401010
		f, err := openBytes(img.bytes())
		if m.arch == "" {
			wantErr(t, err, ErrMachine)
			continue
		}
		if err != nil {
			t.Errorf("%v %s: %v", m.m, m.lay, err)
			continue
		}
		if f.Arch != m.arch || f.X32 != m.x32 || f.Order != binary.ByteOrder(img.lay.order) || f.Machine != m.m ||
			f.Base != 0x401000 || f.Entry != 0x401010 || len(f.Sections) != 1 || f.Sections[0].Name != ".text" {
			t.Errorf("%v %s: %+v", m.m, m.lay, f.Header)
		}
	}
}

func TestBuildID(t *testing.T) {
	for name, lay := range layouts {
		img := newImage(16)
		img.lay, img.machine = lay, map[string]elf.Machine{"64le": elf.EM_X86_64, "64be": elf.EM_PPC64, "32le": elf.EM_386}[name]
		if img.machine == 0 {
			continue
		}
		note := lay.w32(lay.w32(lay.w32(nil, 3), 2), 9) // another owner's, unaligned sizes
		note = append(note, "Go\x00\x00xy\x00\x00"...)
		note = lay.w32(lay.w32(lay.w32(note, 4), 4), noteGNUBuildID)
		note = append(note, "GNU\x00\xde\xad\xbe\xef"...)
		img.add(&sec{name: ".note.gnu.build-id", typ: elf.SHT_NOTE, flags: ro, addr: 0x400100, data: note})
		if f := img.open(t); f.BuildID != "deadbeef" {
			t.Errorf("%s: section: %q", name, f.BuildID)
		}
		img.noShdrs = true
		img.extra = []phdr{{typ: elf.PT_NOTE, addr: 0x400100}}
		if f := img.open(t); f.BuildID != "deadbeef" {
			t.Errorf("%s: segment: %q", name, f.BuildID)
		}
	}
}

func TestRefusals(t *testing.T) {
	good := newImage(64).bytes()
	edit := func(off int, b ...byte) []byte {
		c := bytes.Clone(good)
		copy(c[off:], b)
		return c
	}
	typed := func(typ elf.Type) []byte {
		img := newImage(64)
		img.typ = typ
		return img.bytes()
	}
	debug := newImage(64)
	debug.secs[0].typ = elf.SHT_NOBITS
	overlap := newImage(64)
	overlap.add(&sec{name: ".two", typ: elf.SHT_PROGBITS, flags: ax, addr: 0x401020, data: make([]byte, 64)})
	unloaded := newImage(64)
	unloaded.add(&sec{name: ".two", typ: elf.SHT_PROGBITS, flags: ax, addr: 0x402000, data: make([]byte, 64), noLoad: true})
	noCode := newImage(64)
	noCode.secs[0].flags = ro
	cases := []struct {
		name string
		b    []byte
		kind error
	}{
		{"empty", nil, ErrNotObject},
		{"text", []byte("#!/bin/sh\n"), ErrNotObject},
		{"pe", []byte("MZ\x90"), ErrNotObject},
		{"magic only", good[:4], ErrTruncated},
		{"half a header", good[:40], ErrTruncated},
		{"no program headers", good[:64], ErrTruncated},
		{"half the code", good[:0x1020], ErrTruncated},
		{"last byte gone", good[:len(good)-1], ErrTruncated},
		{"class", edit(4, 3), ErrMalformed},
		{"byte order", edit(5, 0), ErrMalformed},
		{"version", edit(6, 2), ErrMalformed},
		{"phentsize", edit(54, 55), ErrMalformed},
		{"shentsize", edit(58, 63), ErrMalformed},
		{"phoff", edit(32, 0, 0, 0, 0, 0, 0, 0, 0x80), ErrTruncated},
		{"shoff", edit(40, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), ErrTruncated},
		{"shstrndx", edit(62, 200), ErrMalformed},
		{"segment past the end", edit(64+32, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1), ErrTruncated},
		{"segment larger in file", edit(64+40, 1, 0), ErrMalformed},
		{"segment wraps", edit(64+16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), ErrMalformed},
		{"section elsewhere", edit(64+8, 1), ErrMalformed},
		{"overlap", overlap.bytes(), ErrMalformed},
		{"section not loaded", unloaded.bytes(), ErrMalformed},
		{"relocatable", typed(elf.ET_REL), ErrType},
		{"core", typed(elf.ET_CORE), ErrType},
		{"other type", typed(0xfe00), ErrType},
		{"debug file", debug.bytes(), ErrNoCode},
		{"no code", noCode.bytes(), ErrNoCode},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := openBytes(c.b)
			wantErr(t, err, c.kind)
		})
	}
}

// TestManySections: extended numbering puts the counts into section 0, whose
// claims must not be believed beyond the file.
func TestManySections(t *testing.T) {
	b := newImage(64).bytes()
	shoff := binary.LittleEndian.Uint64(b[40:])
	num, strndx := binary.LittleEndian.Uint16(b[60:]), binary.LittleEndian.Uint16(b[62:])
	binary.LittleEndian.PutUint16(b[60:], 0)
	binary.LittleEndian.PutUint16(b[62:], uint16(elf.SHN_XINDEX))
	binary.LittleEndian.PutUint64(b[shoff+32:], uint64(num))
	binary.LittleEndian.PutUint32(b[shoff+40:], uint32(strndx))
	f, err := openBytes(b)
	if err != nil || f.Sections[0].Name != ".text" {
		t.Fatalf("%v, %+v", err, f)
	}
	binary.LittleEndian.PutUint64(b[shoff+32:], maxSections)
	_, err = openBytes(b)
	wantErr(t, err, ErrTruncated)
	binary.LittleEndian.PutUint64(b[shoff+32:], 1<<60)
	_, err = openBytes(b)
	wantErr(t, err, ErrTooLarge)
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(dir)
	wantErr(t, err, ErrDirectory)
	if !strings.HasPrefix(err.Error(), dir+": ") {
		t.Errorf("%q does not begin with the path", err)
	}
	missing := filepath.Join(dir, "missing")
	_, err = Open(missing)
	wantErr(t, err, ErrUnreadable)
	if !errors.Is(err, os.ErrNotExist) || strings.Count(err.Error(), missing) != 1 {
		t.Errorf("%q", err)
	}
	if _, err := os.Stat(os.DevNull); err == nil && os.DevNull == "/dev/null" {
		_, err := Open(os.DevNull)
		wantErr(t, err, ErrNotRegular)
	}
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Open(text)
	wantErr(t, err, ErrNotObject)
}

// TestSparse: a file may claim terabytes without having them.
func TestSparse(t *testing.T) {
	img := newImage(64)
	img.symtab(tsym{name: "f", typ: elf.STT_FUNC, addr: 0x401000, size: 8})
	b := img.bytes()
	shoff := binary.LittleEndian.Uint64(b[40:])
	binary.LittleEndian.PutUint64(b[shoff+2*64+32:], 1<<40) // size of .symtab
	f, err := New(sparse{bytes.NewReader(b)}, 1<<50)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Funcs()
	wantErr(t, err, ErrTooLarge)
}

// sparse is b followed by zeros without end.
type sparse struct{ r io.ReaderAt }

func (s sparse) ReadAt(p []byte, off int64) (int, error) {
	n, _ := s.r.ReadAt(p, off)
	clear(p[n:])
	return len(p), nil
}

// TestShrinks: the file is shorter by the time that its code is read.
func TestShrinks(t *testing.T) {
	b := newImage(64).bytes()
	f, err := New(shrinking{bytes.NewReader(b), new(bool)}, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	*f.r.(shrinking).gone = true
	_, err = f.Bytes(0x401000, 64)
	wantErr(t, err, ErrTruncated)
	_, err = f.ReadCode(make([]byte, 8), 0x401000)
	wantErr(t, err, ErrTruncated)
}

type shrinking struct {
	r    io.ReaderAt
	gone *bool
}

func (s shrinking) ReadAt(p []byte, off int64) (int, error) {
	if *s.gone {
		return 0, io.EOF
	}
	return s.r.ReadAt(p, off)
}

func TestNoSectionHeaders(t *testing.T) {
	img := newImage(64)
	img.add(&sec{name: ".data", typ: elf.SHT_PROGBITS, flags: wa, addr: 0x403000, data: make([]byte, 8)})
	img.noShdrs = true
	f := img.open(t)
	if len(f.Sections) != 1 || f.Sections[0] != (Section{"", 0x401000, 0x1000, 64, false}) {
		t.Errorf("%+v", f.Sections)
	}
	if funcs := mustFuncs(t, f); len(funcs) != 0 {
		t.Errorf("functions from nowhere: %v", funcs)
	}
	gaps, err := f.Gaps()
	if err != nil || len(gaps) != 1 || gaps[0].Range != (Range{0x401000, 64}) {
		t.Errorf("%v, %v", gaps, err)
	}
}

func TestReadCode(t *testing.T) {
	img := newImage(64)
	for i := range img.secs[0].data {
		img.secs[0].data[i] = byte(i)
	}
	f := img.open(t)
	b, err := f.Bytes(0x401010, 4)
	if err != nil || !bytes.Equal(b, []byte{16, 17, 18, 19}) {
		t.Errorf("% x, %v", b, err)
	}
	_, err = f.Bytes(0x401010, 0x31)
	wantErr(t, err, ErrNotMapped)
	_, err = f.Bytes(0x401040, 1)
	wantErr(t, err, ErrNotMapped)
	_, err = f.Bytes(0x401010, 1<<63)
	wantErr(t, err, ErrNotMapped)
	buf := make([]byte, 16)
	n, err := f.ReadCode(buf, 0x40103c)
	if err != nil || n != 4 || buf[3] != 63 {
		t.Errorf("%d, % x, %v", n, buf, err)
	}
	if a := testing.AllocsPerRun(10, func() { f.ReadCode(buf, 0x401000) }); a != 0 {
		t.Errorf("ReadCode allocates %v times", a)
	}
}

// TestConcurrent uses one File from several goroutines; run it with -race.
func TestConcurrent(t *testing.T) {
	img := goImage("64le", magicGo120, someGo, 0x1f8)
	img.symtab(fsym("f", 0, 0x10), fsym("g", 8, 0x20))
	img.frames(fr(0x20, 0x10))
	b := img.bytes()
	f, err := openBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		wg.Go(func() {
			entries, _ := f.Entries()
			gaps, _ := f.Gaps()
			fns, _ := f.Lookup("g")
			n := 0
			for range f.Symbols() {
				n++
			}
			funcs, _ := f.Funcs()
			got[i] = fmt.Sprint(entries, gaps, fns, n, funcs)
		})
	}
	wg.Wait()
	for _, s := range got {
		if s != got[0] || s == "" {
			t.Fatalf("%s\n%s", s, got[0])
		}
	}
}
