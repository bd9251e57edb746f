package objfile

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"debug/gosym"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// gofn is a function of a table to be; its code is at text+off.
type gofn struct {
	name      string
	off, size uint64
}

// buildPclntab builds a function table of one of the four formats; end is where the
// last function's room ends.
func buildPclntab(l layout, magic uint32, quantum byte, fns []gofn, end uint64) []byte {
	relative := magic == magicGo118 || magic == magicGo120
	var names, pcs, records []byte
	pcs = append(pcs, 0) // offset 0 means no table
	type place struct{ name, pcsp int }
	var places []place
	for _, fn := range fns {
		places = append(places, place{name: len(names), pcsp: len(pcs)})
		names = append(append(names, fn.name...), 0)
		half := fn.size / 2 / uint64(quantum) * uint64(quantum)
		pcs = append(pcs, 2) // from -1 to 0
		pcs = append(pcs, uvarint(half/uint64(quantum))...)
		pcs = append(pcs, 16) // up by 8
		pcs = append(pcs, uvarint((fn.size-half)/uint64(quantum))...)
		pcs = append(pcs, 0)
	}
	field := 4
	if !relative {
		field = l.wordSize()
	}
	tab := (2*len(fns) + 1) * field
	recSize := field + 5*4
	head := 8 + 8*l.wordSize()
	if magic == magicGo12 {
		head = 8 + l.wordSize()
	}
	// The parts: header, function table, records, names, pc tables.
	funcsAt, recordsAt := head, head+tab
	namesAt := recordsAt + len(fns)*recSize
	pcsAt := namesAt + len(names)
	b := append(l.w32(nil, magic), 0, 0, quantum, byte(l.wordSize()))
	words := map[uint32][]int{
		magicGo12: {len(fns)}, magicGo116: {len(fns), 0, namesAt, 0, 0, pcsAt, funcsAt, 0},
		magicGo118: {len(fns), 0, 0, namesAt, 0, 0, pcsAt, funcsAt}, magicGo120: {len(fns), 0, 0, namesAt, 0, 0, pcsAt, funcsAt},
	}[magic]
	for _, w := range words {
		b = l.wword(b, uint64(w))
	}
	recBase, nameBase, pcBase := funcsAt, namesAt, pcsAt
	if magic == magicGo12 {
		recBase, nameBase, pcBase = 0, 0, 0
	}
	entry := func(p []byte, off uint64) []byte {
		if relative {
			return l.w32(p, uint32(off))
		}
		return l.wword(p, text+off)
	}
	for i, fn := range fns {
		b = entry(b, fn.off)
		rec := uint64(recordsAt + i*recSize - recBase)
		if relative {
			b = l.w32(b, uint32(rec))
		} else {
			b = l.wword(b, rec)
		}
		records = entry(records, fn.off)
		for _, v := range []int{namesAt - nameBase + places[i].name, 0, 0, pcsAt - pcBase + places[i].pcsp, 0} {
			records = l.w32(records, uint32(v))
		}
	}
	b = entry(b, end)
	return append(append(append(b, records...), names...), pcs...)
}

func uvarint(v uint64) []byte {
	var b []byte
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

const (
	tabAddr    = 0x430000
	moduleAddr = 0x440000
)

// moduledata builds the front of runtime.moduledata.
func moduledata(l layout, tab []byte, nfunc, first, end uint64) []byte {
	f := &File{Header: Header{Order: l.order}, lay: l}
	t := f.pclntabAt(tabAddr, tab)
	words := make([]uint64, moduleLength)
	words[moduleTable], words[moduleFuncs], words[moduleCount] = tabAddr, tabAddr+t.funcs, nfunc+1
	words[moduleMinPC], words[moduleMaxPC], words[moduleText] = text+first, text+end, text
	b := l.wword(nil, 0x1234) // something in front
	for _, w := range words {
		b = l.wword(b, w)
	}
	return b
}

func goImage(lay string, magic uint32, fns []gofn, end uint64) *image {
	img := newImage(0x200)
	img.lay = layouts[lay]
	img.machine = map[string]elf.Machine{"64le": elf.EM_X86_64, "64be": elf.EM_PPC64, "32le": elf.EM_386}[lay]
	tab := buildPclntab(img.lay, magic, 1, fns, end)
	img.add(&sec{name: ".gopclntab", typ: elf.SHT_PROGBITS, flags: ro, addr: tabAddr, data: tab})
	img.add(&sec{name: ".go.buildinfo", typ: elf.SHT_PROGBITS, flags: ro, addr: 0x450000, data: []byte("x")})
	img.add(&sec{name: ".data", typ: elf.SHT_PROGBITS, flags: wa, addr: moduleAddr, data: moduledata(img.lay, tab, uint64(len(fns)), fns[0].off, end)})
	return img
}

var someGo = []gofn{{"main.a", 0x20, 0x18}, {"main.b", 0x40, 0x40}, {"main.c", 0x80, 0x12}, {"main.long", 0xa0, 0x155}}

const wantGo = "main.a@20+18p main.b@40+40p main.c@80+12p main.long@a0+155p"

func TestPclntab(t *testing.T) {
	for _, lay := range []string{"64le", "64be", "32le"} {
		for _, magic := range []uint32{magicGo12, magicGo116, magicGo118, magicGo120} {
			t.Run(fmt.Sprintf("%s/%x", lay, magic), func(t *testing.T) {
				img := goImage(lay, magic, someGo, 0x1f8)
				f := img.open(t)
				if got := show(mustFuncs(t, f)); got != wantGo {
					t.Errorf("by name: %s", got)
				}
				checkTiling(t, f)
				img.noShdrs = true
				if got := show(mustFuncs(t, img.open(t))); got != wantGo {
					t.Errorf("without section headers: %s", got)
				}
				img.noShdrs = false
				img.sec(".gopclntab").name = ".data.rel.ro"
				img.sec(".data.rel.ro").data = append(make([]byte, 64), img.sec(".data.rel.ro").data...)
				img.sec(".data.rel.ro").addr -= 64
				if got := show(mustFuncs(t, img.open(t))); got != wantGo {
					t.Errorf("in .data.rel.ro: %s", got)
				}
			})
		}
	}
}

// TestPclntabMerge: other sources come first; what is left of a function is used
// only from its start on, since padding belongs to the room behind it.
func TestPclntabMerge(t *testing.T) {
	img := goImage("64le", magicGo120, someGo, 0x1f8)
	img.symtab(fsym("main.b", 0x40, 0x30), fsym("inner", 0xb0, 0x10), fsym("main.c.abi0", 0x80, 0x12))
	img.frames(fr(0x20, 0x10))
	got := show(mustFuncs(t, img.open(t)))
	if want := "@20+10e main.b@40+30s main.c.abi0@80+12s main.long@a0+10p inner@b0+10s"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestPclntabRelocated: in a position-independent program runtime.moduledata is
// filled in by the loader.
func TestPclntabRelocated(t *testing.T) {
	img := goImage("64le", magicGo120, someGo, 0x1f8)
	img.typ = elf.ET_DYN
	data := img.sec(".data")
	var rela []byte
	for i := range moduleLength {
		at := 8 * (i + 1)
		v := img.lay.u64(data.data[at:])
		if i == moduleCount || v == 0 {
			continue
		}
		img.lay.order.PutUint64(data.data[at:], 0)
		rela = img.lay.w64(img.lay.w64(img.lay.w64(rela, moduleAddr+uint64(at)), uint64(elf.R_X86_64_RELATIVE)), v)
	}
	img.add(&sec{name: ".rela.dyn", typ: elf.SHT_RELA, flags: ro, addr: 0x460000, data: rela})
	if got := show(mustFuncs(t, img.open(t))); got != wantGo {
		t.Error(got)
	}
}

// TestPclntabNoBase: a table whose base cannot be confirmed is not used.
func TestPclntabNoBase(t *testing.T) {
	for _, word := range []int{moduleTable, moduleFuncs, moduleCount, moduleMinPC, moduleMaxPC, moduleText} {
		img := goImage("64le", magicGo120, someGo, 0x1f8)
		img.sec(".data").data[8+8*word]++
		if funcs := mustFuncs(t, img.open(t)); len(funcs) != 0 {
			t.Errorf("word %d: %s", word, show(funcs))
		}
	}
}

func TestPclntabDamage(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"magic":      func(b []byte) []byte { b[0]++; return b },
		"ptr size":   func(b []byte) []byte { b[7] = 4; return b },
		"cut header": func(b []byte) []byte { return b[:40] },
		"count":      func(b []byte) []byte { b[8+6] = 1; return b },
		"descending": func(b []byte) []byte { b[72+4*2+1] = 1; return b },
		"record":     func(b []byte) []byte { b[72+4+3] = 0x7f; return b },
	} {
		t.Run(name, func(t *testing.T) {
			img := goImage("64le", magicGo120, someGo, 0x1f8)
			img.sec(".gopclntab").data = damage(img.sec(".gopclntab").data)
			_, err := img.open(t).Funcs()
			wantErr(t, err, ErrMalformed)
		})
	}
}

// TestPclntabGo115 reads the table of a real program built by Go 1.15, which the
// Go distribution keeps, and compares with debug/gosym.
func TestPclntabGo115(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip(err)
	}
	z, err := os.Open(filepath.Join(strings.TrimSpace(string(root)), "src/debug/gosym/testdata/pcln115.gz"))
	if err != nil {
		t.Skip(err)
	}
	defer z.Close()
	r, err := gzip.NewReader(z)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := gosym.NewTable(nil, gosym.NewLineTable(tab, 0))
	if err != nil {
		t.Fatal(err)
	}
	last := ref.Funcs[len(ref.Funcs)-1]
	img := newImage(0)
	img.secs[0].addr = ref.Funcs[0].Entry
	img.secs[0].data = bytes.Repeat([]byte{0x90}, int(last.End-ref.Funcs[0].Entry))
	img.add(&sec{name: ".gopclntab", typ: elf.SHT_PROGBITS, flags: ro, addr: (last.End + 0xffff) &^ 0xfff, data: tab})
	funcs := mustFuncs(t, img.open(t))
	compareGosym(t, funcs, ref.Funcs)
	if len(funcs) < 1000 {
		t.Errorf("%d functions", len(funcs))
	}
}

// compareGosym: same entries and names; our end lies in the padding before its.
func compareGosym(t *testing.T, funcs []Func, ref []gosym.Func) {
	t.Helper()
	ref = slices.DeleteFunc(slices.Clone(ref), func(r gosym.Func) bool {
		return slices.Contains(goMarkers[:], r.Name) || r.Entry == r.End // aliases of C code
	})
	for i, fn := range funcs {
		if i >= len(ref) {
			t.Fatalf("%d functions, debug/gosym has %d", len(funcs), len(ref))
		}
		r := ref[i]
		if VAddr(r.Entry) != fn.Addr || r.Name != fn.Name || uint64(fn.Range().End()) > r.End || r.End-uint64(fn.Range().End()) >= 64 {
			t.Fatalf("%d: %+v, debug/gosym has %s %#x-%#x", i, fn, r.Name, r.Entry, r.End)
		}
	}
}
