package objfile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const text = 0x401000 // address of .text in newImage

// frames adds an .eh_frame with one entry for each range, as compilers write it;
// a range with mid set begins with a moved CFA.
func (m *image) frames(ranges ...candidate) {
	const addr = 0x410000
	l := m.lay
	out := l.w32(l.w32(nil, 16), 0)
	out = append(out, "\x01zR\x00\x01\x78\x10\x01\x1b\x00\x00\x00"...) // pcrel sdata4
	for _, r := range ranges {
		at := uint64(len(out))
		out = l.w32(l.w32(out, 20), uint32(at+4))
		out = l.w32(l.w32(out, uint32(r.addr-(addr+at+8))), uint32(r.size))
		program := []byte{0, 0x41, 0x0e, 16, 0, 0, 0, 0}
		if r.part {
			program = []byte{0, 0x0e, 16, 0, 0, 0, 0, 0}
		}
		out = append(out, program...)
	}
	m.add(&sec{name: ".eh_frame", typ: elf.SHT_PROGBITS, flags: ro, addr: addr, data: out})
}

// show writes functions as "name@offset+size" with a letter for their source.
func show(funcs []Func) string {
	var out []string
	for _, f := range funcs {
		s := fmt.Sprintf("%s@%x+%x%c", f.Name, uint64(f.Addr)-text, f.Size, f.Source.String()[0])
		if f.IFunc {
			s += "i"
		}
		if f.Part {
			s += "!"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func fsym(name string, off, size uint64) tsym {
	return tsym{name: name, typ: elf.STT_FUNC, bind: elf.STB_GLOBAL, addr: text + off, size: size}
}

func (s tsym) as(bind elf.SymBind) tsym  { s.bind = bind; return s }
func (s tsym) typed(t elf.SymType) tsym  { s.typ = t; return s }
func fr(off, size uint64) candidate      { return candidate{addr: text + off, size: size} }
func cold(off, size uint64) candidate    { return candidate{addr: text + off, size: size, part: true} }
func syms(list ...tsym) []tsym           { return list }
func fdes(list ...candidate) []candidate { return list }

func TestFuncs(t *testing.T) {
	const l, w = elf.STB_LOCAL, elf.STB_WEAK
	cases := []struct {
		name    string
		syms    []tsym
		frames  []candidate
		funcs   string
		entries string
	}{
		{"symbols, any order", syms(fsym("b", 0x40, 8), fsym("a", 0, 16)), nil, "a@0+10s b@40+8s", "a@0 b@40"},
		{"aliases: global, weak, local", syms(fsym("l", 0, 8).as(l), fsym("w", 0, 8).as(w), fsym("g", 0, 8), fsym("g2", 0, 8)), nil, "g@0+8s", "g@0"},
		{"aliases: longest first", syms(fsym("short", 0, 8), fsym("long", 0, 16).as(l)), nil, "long@0+10s", "short@0"},
		{"nested", syms(fsym("in", 4, 4), fsym("out", 0, 16)), nil, "out@0+10s", "out@0 in@4"},
		{"crossing", syms(fsym("a", 0, 16), fsym("b", 8, 16)), nil, "a@0+8s b@8+10s", "a@0 b@8"},
		{"crossing twice", syms(fsym("a", 0, 32), fsym("b", 8, 32), fsym("c", 16, 64)), nil, "a@0+8s b@8+8s c@10+40s", "a@0 b@8 c@10"},
		{"no size", syms(fsym("start", 0, 0), fsym("f", 16, 8)), nil, "f@10+8s", "f@10"},
		{"no size, inside", syms(fsym("in", 4, 0), fsym("f", 0, 8)), nil, "f@0+8s", "f@0 in@4"},
		{"no size, named range", syms(fsym("start", 0, 0)), fdes(fr(0, 0x26)), "start@0+26e", "start@0"},
		{"label names a range", syms(fsym("lab", 0, 0).typed(elf.STT_NOTYPE)), fdes(fr(0, 8)), "lab@0+8e", "lab@0"},
		{"local label does not", syms(fsym("lab", 0, 0).typed(elf.STT_NOTYPE).as(l)), fdes(fr(0, 8)), "@0+8e", "@0"},
		{"ifunc", syms(fsym("memcpy", 0, 8).typed(elf.STT_GNU_IFUNC)), nil, "memcpy@0+8si", "memcpy@0"},
		{"objects are not code", syms(fsym("table", 0, 8).typed(elf.STT_OBJECT)), nil, "", ""},
		{"beyond the section", syms(fsym("f", 0xf0, 0x11), fsym("g", 0x1000, 8), fsym("h", 0, 1<<40)), nil, "", ""},
		{"to the last byte", syms(fsym("f", 0xf0, 0x10)), nil, "f@f0+10s", "f@f0"},
		{"cold by name", syms(fsym("f", 0, 8), fsym("f.cold", 16, 8).as(l), fsym("g.cold.3", 32, 8), fsym("g.coldness", 48, 8)), nil,
			"f@0+8s f.cold@10+8s! g.cold.3@20+8s! g.coldness@30+8s", "f@0 g.coldness@30"},
		{"frames alone", nil, fdes(fr(16, 8), fr(0, 16), cold(32, 8)), "@0+10e @10+8e @20+8e!", "@0 @10"},
		{"frames fill", syms(fsym("f", 16, 16)), fdes(fr(0, 16), fr(16, 16), fr(32, 16)), "@0+10e f@10+10s @20+10e", "@0 f@10 @20"},
		{"frame around symbols", syms(fsym("a", 16, 16), fsym("b", 48, 16)), fdes(fr(0, 80)),
			"@0+10e a@10+10s @20+10e b@30+10s @40+10e", "@0 a@10 @20 b@30 @40"},
		{"symbol longer than its frame", syms(fsym("a", 0, 32)), fdes(fr(0, 16)), "a@0+20s", "a@0"},
		{"frame of dropped code", nil, fdes(candidate{addr: 0, size: 16}, fr(0, 0), fr(0xf8, 16), fr(8, 8)), "@8+8e", "@8"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, lay := range []string{"64le", "32le"} {
				img := newImage(0x100)
				img.lay = layouts[lay]
				if c.syms != nil {
					img.symtab(c.syms...)
				}
				if c.frames != nil {
					img.frames(c.frames...)
				}
				f := img.open(t)
				if got := show(mustFuncs(t, f)); got != c.funcs {
					t.Errorf("%s: functions\n%s, want\n%s", lay, got, c.funcs)
				}
				if got := showEntries(t, f); got != c.entries {
					t.Errorf("%s: entries\n%s, want\n%s", lay, got, c.entries)
				}
				checkTiling(t, f)
			}
		})
	}
}

func showEntries(t *testing.T, f *File) string {
	entries, err := f.Entries()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, fmt.Sprintf("%s@%x", e.Name, uint64(e.Addr)-text))
	}
	return strings.Join(out, " ")
}

// checkTiling: code of functions and gaps are all executable bytes, each once.
func checkTiling(t testing.TB, f *File) {
	t.Helper()
	var all []Range
	for _, fn := range mustFuncs(t, f) {
		all = slices.AppendSeq(all, f.Code(fn))
	}
	gaps, err := f.Gaps()
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range gaps {
		if g.Size == 0 || i > 0 && g.Addr < gaps[i-1].End() {
			t.Errorf("gap %+v behind %+v", g, gaps[max(i-1, 0)])
		}
		all = append(all, g.Range)
	}
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.Addr, b.Addr) })
	i := 0
	for _, s := range f.Sections {
		for pos := s.Addr; pos < s.Range().End(); i++ {
			if i == len(all) || all[i].Addr != pos || all[i].Size == 0 || all[i].End() > s.Range().End() {
				t.Fatalf("%s: at %#x comes %+v", s.Name, uint64(pos), all[min(i, len(all)-1)])
			}
			pos = all[i].End()
		}
	}
	if i != len(all) {
		t.Errorf("%d ranges outside the sections", len(all)-i)
	}
}

func TestDynsym(t *testing.T) {
	img := newImage(0x100)
	img.symtabAs(elf.SHT_DYNSYM, ".dynsym", ".dynstr", syms(fsym("f", 0, 8), fsym("g", 16, 8)))
	img.symtab(fsym("f_local_name", 0, 8), fsym("h", 32, 8))
	f := img.open(t)
	if got, want := show(mustFuncs(t, f)), "f_local_name@0+8s g@10+8s h@20+8s"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for name, addr := range map[string]VAddr{"f": text, "f_local_name": text, "g": text + 16, "h": text + 32} {
		if fns, err := f.Lookup(name); err != nil || len(fns) != 1 || fns[0].Addr != addr {
			t.Errorf("%s: %+v, %v", name, fns, err)
		}
	}
	_, err := f.Lookup("nope")
	wantErr(t, err, ErrNotFound)
	_, err = f.Lookup("")
	wantErr(t, err, ErrNotFound)
	_, err = f.FuncAt(text + 8)
	wantErr(t, err, ErrNotFound)
	var names []string
	for s, err := range f.Symbols() {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "f_local_name h f g" {
		t.Error(got)
	}
}

func TestDamagedSymbols(t *testing.T) {
	good := func() *image {
		img := newImage(0x1000)
		img.symtab(fsym("f", 0, 8))
		return img
	}
	for name, damage := range map[string]func(img *image){
		"half a symbol": func(m *image) { s := m.sec(".symtab"); s.data = s.data[:len(s.data)-1] },
		"no strings":    func(m *image) { m.sec(".symtab").link = "" },
		"wrong strings": func(m *image) { m.sec(".symtab").link = ".text" },
		"names overlap": func(m *image) {
			// 4096 names of a megabyte each from a table of one megabyte.
			var list []tsym
			for i := range uint64(0x1000) {
				list = append(list, fsym("", i, 1))
			}
			m.secs = m.secs[:1]
			m.symtab(list...)
			m.sec(".strtab").data = []byte(strings.Repeat("x", 1<<20))
		},
	} {
		t.Run(name, func(t *testing.T) {
			img := good()
			damage(img)
			f := img.open(t)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := f.Funcs()
			runtime.ReadMemStats(&after)
			wantErr(t, err, ErrMalformed)
			if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
				t.Errorf("%d MiB allocated for a file of at most 2 MiB", n>>20)
			}
		})
	}
	img := good()
	img.frames(fr(0, 8))
	s := img.sec(".eh_frame")
	s.data = s.data[:len(s.data)-4]
	_, err := img.open(t).Funcs()
	wantErr(t, err, ErrMalformed)
}

// TestSignalFrames: what unwinders know as the frame of a signal begins a byte
// early, and is not taken for a function without a symbol.
func TestSignalFrames(t *testing.T) {
	img := newImage(0x100)
	img.frames(fr(0xf, 10))
	s := img.sec(".eh_frame")
	s.data = bytes.Replace(s.data, []byte("zR\x00\x01\x78\x10\x01\x1b\x00"), []byte("zRS\x00\x01\x78\x10\x01\x1b"), 1)
	f := img.open(t)
	if got := show(mustFuncs(t, f)); got != "" {
		t.Error(got)
	}
	if gaps, err := f.Gaps(); err != nil || len(gaps) != 1 {
		t.Error(gaps, err)
	}
	img.symtab(fsym("restore", 0x10, 9))
	if got := show(mustFuncs(t, img.open(t))); got != "restore@10+9s" {
		t.Error(got)
	}
}

// TestFrameHeader: without section headers, .eh_frame is found through its header.
func TestFrameHeader(t *testing.T) {
	img := newImage(0x100)
	img.frames(fr(0, 16), fr(16, 8))
	fs := img.sec(".eh_frame")
	fs.data = append(fs.data, 0, 0, 0, 0, 0xff, 0xff) // terminator, then something else
	const hdr = 0x420000
	ptr := binary.LittleEndian.AppendUint32(nil, 1<<32+0x410000-(hdr+4))
	data := append([]byte{1, 0x1b, 3, 0x3b}, ptr...)
	img.add(&sec{name: ".eh_frame_hdr", typ: elf.SHT_PROGBITS, flags: ro, addr: hdr, data: data})
	img.extra = []phdr{{typ: elf.PT_GNU_EH_FRAME, addr: hdr}}
	img.noShdrs = true
	if got := show(mustFuncs(t, img.open(t))); got != "@0+10e @10+8e" {
		t.Error(got)
	}
	img.sec(".eh_frame_hdr").data[0] = 2
	_, err := img.open(t).Funcs()
	wantErr(t, err, ErrMalformed)
}

func TestMappingSymbols(t *testing.T) {
	img := newImage(0x100)
	img.machine = elf.EM_AARCH64
	mark := func(name string, off uint64) tsym { return fsym(name, off, 0).typed(elf.STT_NOTYPE).as(elf.STB_LOCAL) }
	img.symtab(mark("$x", 0), mark("$d", 0x10), mark("$x.7", 0x18), mark("$d.lit", 0x38), mark("$dollar", 0x3c), mark("$x", 0x40), mark("$d", 0xf0),
		fsym("f", 0, 0x40), fsym("g", 0x38, 0x8))
	f := img.open(t)
	if got := show(mustFuncs(t, f)); got != "f@0+40s" { // g is data
		t.Error(got)
	}
	var code []string
	for r := range f.Code(mustFuncs(t, f)[0]) {
		code = append(code, fmt.Sprintf("%x+%x", uint64(r.Addr)-text, r.Size))
	}
	if got := strings.Join(code, " "); got != "0+10 18+20" {
		t.Error(got)
	}
	gaps, err := f.Gaps()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range gaps {
		got = append(got, fmt.Sprintf("%x+%x:%v", uint64(g.Addr)-text, g.Size, g.Data))
	}
	if got := strings.Join(got, " "); got != "10+8:true 38+8:true 40+b0:false f0+10:true" {
		t.Error(got)
	}
	checkTiling(t, f)
	img.machine = elf.EM_X86_64 // where $d means nothing
	if got := show(mustFuncs(t, img.open(t))); got != "f@0+40s" {
		t.Error(got)
	}
}

func TestGoMarkers(t *testing.T) {
	img := newImage(0x100)
	img.symtab(fsym("go:buildid", 0, 0x70), fsym("main.main", 0x80, 0x20), fsym("go:textfipsstart", 0xc0, 1))
	f := img.open(t)
	if got := show(mustFuncs(t, f)); got != "main.main@80+20s" {
		t.Error(got)
	}
	checkTiling(t, f)
}

// TestLocalEntry: st_other of 64-bit Power's second ABI.
func TestLocalEntry(t *testing.T) {
	img := newImage(0x100)
	img.machine, img.flags = elf.EM_PPC64, 2
	var list []tsym
	for i := range uint64(8) {
		s := fsym(fmt.Sprint("f", i), 0x20*i, 0x20)
		s.other = uint8(i << 5)
		list = append(list, s)
	}
	img.symtab(list...)
	entries, err := img.open(t).Entries()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []VAddr{0, 0, 4, 8, 16, 32, 64, 0} {
		at := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == fmt.Sprint("f", i) })
		if e := entries[at]; e.Global != text+VAddr(0x20*i) || e.Addr != e.Global+want {
			t.Errorf("%d: %+v", i, e)
		}
	}
	img.flags = 1
	entries, _ = img.open(t).Entries()
	for _, e := range entries {
		if e.Addr != e.Global {
			t.Errorf("first ABI: %+v", e)
		}
	}
}

// TestDescriptors: 64-bit Power's first ABI, with the code address in the
// descriptor or in its relocation.
func TestDescriptors(t *testing.T) {
	img := newImage(0x100)
	img.machine, img.flags, img.lay = elf.EM_PPC64, 1, layouts["64be"]
	l := img.lay
	const opd = 0x405000
	var b []byte
	for _, code := range []uint64{text + 0x20, 0, text + 0x60} {
		b = l.w64(l.w64(l.w64(b, code), 0x9000), 0)
	}
	img.add(&sec{name: ".opd", typ: elf.SHT_PROGBITS, flags: wa, addr: opd, data: b})
	rel := l.w64(l.w64(l.w64(nil, opd+24), uint64(elf.R_PPC64_RELATIVE)), text+0x40)
	rel = l.w64(l.w64(l.w64(rel, opd+48), uint64(elf.R_PPC64_ADDR64)), text+0x80) // not one that counts
	img.add(&sec{name: ".rela.dyn", typ: elf.SHT_RELA, flags: ro, addr: 0x406000, data: rel})
	d := func(name string, i, size uint64) tsym { return fsym(name, opd+24*i-text, size) }
	img.symtab(d("a", 0, 0x20), d("b", 1, 0x20), d("c", 2, 0x20), fsym(".a", 0x20, 0x20).as(elf.STB_LOCAL), d("past", 3, 8))
	f := img.open(t)
	if got := show(mustFuncs(t, f)); got != "a@20+20s b@40+20s c@60+20s" {
		t.Error(got)
	}
	for at, want := range map[VAddr]VAddr{opd: text + 0x20, opd + 24: text + 0x40, opd + 48: text + 0x60,
		opd - 1: 0, opd + 8: 0, opd + 16: 0, opd + 72: 0, text + 0x20: 0, 1<<64 - 1: 0} {
		if code, ok := f.Descriptor(at); ok != (want != 0) || ok && code != want {
			t.Errorf("%#x: %#x, %t, want %#x", at, code, ok, want)
		}
	}
}
