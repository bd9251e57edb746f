package x86_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/reloc"
)

// scanAll walks code as a writer of tables does, in parts that begin where cuts
// say: by Scan, and by Decode what it leaves. The text behind the code is not zero,
// for it should not matter. Parts are told as if each was alone.
func scanAll(t *testing.T, a *x86.Arch, s reloc.Scanner, code []byte, pc uint64, cuts []int) (all []scanned) {
	text := append(append([]byte{}, code...), 0xe9, 0xff, 0x05, 0x48, 0x66, 0x0f, 0x38, 0xe9, 0xe9, 0xc0, 0x24, 0x90, 0x90, 0xcc, 0xf0, 0x40)
	var parts []reloc.ScanPart
	for i, end := range append(cuts[1:len(cuts):len(cuts)], len(code)) {
		parts = append(parts, reloc.ScanPart{PC: pc + uint64(cuts[i]), At: cuts[i], End: end})
	}
	out := reloc.Scan{Starts: make([]uint64, len(text)/64+1)}
	s.Scan(&out, text, parts)
	sites, copies := out.Sites, out.Copies
	for i := range parts {
		p := &parts[i]
		own := 0
		for _, site := range sites[:p.Sites] {
			if site.Shape == reloc.ScanOwn {
				own++
			}
		}
		if own != p.Own {
			t.Fatalf("%#x: % x: %d sites that are their own, not %d", p.PC, code[p.At:p.End], own, p.Own)
		}
		out.Sites, out.Copies = sites[:p.Sites:p.Sites], 0
		x := scanned{end: scanRest(a, s, &out, text, p) - p.At, sites: out.Sites}
		sites, copies = sites[p.Sites:], copies|out.Copies
		for at := p.At; at < p.At+x.end; at++ {
			if out.Starts[at/64]>>(at%64)&1 != 0 {
				x.starts = append(x.starts, at-p.At)
			}
		}
		all = append(all, x)
	}
	if len(sites) != 0 {
		t.Fatalf("% x: %d sites of no part", code, len(sites))
	}
	all[0].copies = copies // they are not told by part
	return all
}

// scanned is what is found in a part of code.
type scanned struct {
	end    int
	sites  []fixups.Site
	starts []int
	copies uint32
}

// scanRest goes on behind what Scan has left of a part, and returns the end.
func scanRest(a *x86.Arch, s reloc.Scanner, out *reloc.Scan, text []byte, p *reloc.ScanPart) int {
	var in reloc.Insn
	var key [2]uint64
	at := p.Stop
	for at < p.End {
		if a.Decode(&in, text[at:p.End], p.PC+uint64(at-p.At)) != nil {
			return at
		}
		out.Starts[at/64] |= 1 << (at % 64)
		addSite(a, s, out, &in, &key, at-p.At)
		at += int(in.Len)
		next := []reloc.ScanPart{{PC: p.PC + uint64(at-p.At), At: at, End: p.End}}
		known := len(out.Sites)
		s.Scan(out, text, next)
		for i := range out.Sites[known:] {
			out.Sites[known+i].Off += uint32(at - p.At)
		}
		at = next[0].Stop
	}
	return at
}

func addSite(a *x86.Arch, s reloc.Scanner, out *reloc.Scan, in *reloc.Insn, key *[2]uint64, at int) {
	site := fixups.Site{Off: uint32(at), Shape: reloc.ScanOwn, D: a.ShapeD(in)}
	switch a.ShapeKey(in, key) {
	case reloc.ShapeCopy:
		out.Copies |= 1 << in.Len
		return
	case reloc.ShapeKeyed:
		site.Shape = s.Key(in, key)
	}
	out.Sites = append(out.Sites, site)
}

// byDecode is what scanAll should find in a part.
func byDecode(a *x86.Arch, s reloc.Scanner, code []byte, pc uint64) (x scanned) {
	var out reloc.Scan
	var in reloc.Insn
	var key [2]uint64
	for x.end < len(code) && a.Decode(&in, code[x.end:], pc+uint64(x.end)) == nil {
		x.starts = append(x.starts, x.end)
		addSite(a, s, &out, &in, &key, x.end)
		x.end += int(in.Len)
	}
	x.sites, x.copies = out.Sites, out.Copies
	return x
}

type scanPair struct {
	a     *x86.Arch
	s     reloc.Scanner
	sites int
}

func newScanPair(a *x86.Arch) *scanPair { return &scanPair{a: a, s: a.NewScanner()} }

// check compares both ways over code, which parts begin in where cuts say, and
// demands that each key is that of its first instruction.
func (p *scanPair) check(t *testing.T, code []byte, pc uint64, cuts ...int) {
	t.Helper()
	cuts = append([]int{0}, cuts...)
	known := len(p.s.Keys())
	all := scanAll(t, p.a, p.s, code, pc, cuts)
	if keys := p.s.Keys(); len(keys) > known {
		var key [2]uint64
		for _, k := range keys[known:] {
			if p.a.ShapeKey(&k.Insn, &key) != reloc.ShapeKeyed || key != k.Key {
				t.Fatalf("% x: key %x, should be %x", k.Insn.Raw(), k.Key, key)
			}
		}
	}
	got, copies := all[0].copies, uint32(0)
	for i, x := range all {
		end := len(code)
		if i+1 < len(cuts) {
			end = cuts[i+1]
		}
		part, at := code[cuts[i]:end], pc+uint64(cuts[i])
		want := byDecode(p.a, p.s, part, at)
		copies |= want.copies
		if x.end != want.end {
			t.Fatalf("%#x: % x: ends at %d, not at %d", at, part, x.end, want.end)
		}
		if !slices.Equal(x.sites, want.sites) || !slices.Equal(x.starts, want.starts) {
			t.Fatalf("%#x: % x: sites\n%v, not\n%v, starts\n%v, not\n%v", at, part, x.sites, want.sites, x.starts, want.starts)
		}
		p.sites += len(x.sites)
	}
	if got != copies {
		t.Fatalf("%#x: % x: copies %#x, not %#x", pc, code, got, copies)
	}
}

// TestScan compares the scanner with Decode and ShapeKey: every opcode of the maps
// it knows with every ModRM byte, behind each prefix, cut and whole.
func TestScan(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testenv.Seed(t), 31))
	for _, a := range []*x86.Arch{x86.AMD64, x86.I386} {
		p := newScanPair(a)
		for _, prefix := range []string{"", "\x40", "\x48", "\x4f", "\x66", "\xf3", "\x48\x40"} {
			for op := range 512 {
				for modrm := range 256 {
					code := append([]byte(prefix), "\x0f"[:op>>8]...)
					code = append(code, byte(op), byte(modrm))
					for len(code) < 16 {
						code = append(code, byte(rnd.Uint32()))
					}
					p.check(t, code[:3+rnd.IntN(14)], rnd.Uint64()>>(rnd.IntN(64))&^15)
				}
			}
		}
	}
}

// TestScanRandom compares over instructions of all kinds that follow each other,
// at addresses near the ends of what absolute operands can name.
func TestScanRandom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testenv.Seed(t), 32))
	for _, a := range []*x86.Arch{x86.AMD64, x86.I386} {
		p := newScanPair(a)
		for range 3000 {
			var code []byte
			for range rnd.IntN(60) {
				code = a.AppendRandom(code, rnd.Uint64)
			}
			base := []uint64{0, 0x401000, 1<<31 - 200, 1<<32 - 200, 1<<64 - 1<<31 - 200, 1<<64 - 4096, rnd.Uint64()}[rnd.IntN(7)]
			if a == x86.I386 {
				base &= 1<<32 - 1
			}
			var cuts []int
			for at := rnd.IntN(40); at <= len(code); at += rnd.IntN(80) {
				cuts = append(cuts, at)
			}
			p.check(t, code, base, cuts...)
		}
	}
}

// TestScanProgram compares over a real program.
func TestScanProgram(t *testing.T) {
	code := realText(t)
	p := newScanPair(x86.AMD64)
	for at := 0; at < len(code); at += 4000 {
		p.check(t, code[at:min(at+4096, len(code))], 0x401000+uint64(at))
	}
	var cuts []int
	for at := 100; at < len(code); at += 1 + at*31%5000 {
		cuts = append(cuts, at)
	}
	p.check(t, code, 0x401000, cuts...)
	p.check(t, code[:300<<10], 0x401000) // longer than what is walked at once
	if p.sites < len(code)/40 {
		t.Errorf("%d sites in %d bytes", p.sites, len(code))
	}
}

// realText is a piece of this machine's go command, whatever it is made for: bytes
// that somebody uses.
func realText(tb testing.TB) []byte {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		tb.Skip("no go command to scan")
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "bin", "go"))
	if err != nil {
		tb.Skip(err)
	}
	return data[0x1000:min(len(data), 4<<20)]
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("\x55\x48\x89\xe5\xe8\x00\x00\x00\x00\x74\x10\x48\x8b\x05\x10\x00\x00\x00\xf6\xc1\x01\xc3"), uint64(0x401000), false)
	f.Fuzz(func(t *testing.T, code []byte, pc uint64, narrow bool) {
		a := x86.AMD64
		if narrow {
			a, pc = x86.I386, pc&(1<<32-1)
		}
		code = code[:min(len(code), 4096)]
		p := newScanPair(a)
		p.check(t, code, pc)
		p.check(t, code, pc, len(code)/3, len(code)/2)
	})
}

// walker walks code as the tests of speed do: what is left is passed over.
type walker struct {
	s     reloc.Scanner
	out   reloc.Scan
	parts []reloc.ScanPart
}

func newWalker(code []byte) *walker {
	w := &walker{s: x86.AMD64.NewScanner()}
	w.out = reloc.Scan{Starts: make([]uint64, len(code)/64+1), Sites: make([]fixups.Site, 0, len(code))}
	return w
}

// run walks parts of 500 bytes, as long as functions usually are.
func (w *walker) run(code []byte) {
	w.out.Sites, w.parts = w.out.Sites[:0], w.parts[:0]
	for at := 0; at+500 <= len(code)-16; at += 500 {
		w.parts = append(w.parts, reloc.ScanPart{PC: 0x401000 + uint64(at), At: at, End: at + 500})
	}
	for len(w.parts) > 0 {
		w.s.Scan(&w.out, code, w.parts)
		rest := w.parts[:0]
		for _, p := range w.parts {
			if p.PC += uint64(p.Stop + 1 - p.At); p.Stop+1 < p.End {
				rest = append(rest, reloc.ScanPart{PC: p.PC, At: p.Stop + 1, End: p.End})
			}
		}
		w.parts = rest
	}
}

func TestScanAllocs(t *testing.T) {
	code := realText(t)[:64<<10]
	w := newWalker(code)
	run := func() { w.run(code) }
	run()
	if n := testing.AllocsPerRun(5, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkScan walks a real program, beside BenchmarkScanDecode, which has the same
// answers from Decode and ShapeKey.
func BenchmarkScan(b *testing.B) {
	code := realText(b)
	w := newWalker(code)
	b.SetBytes(int64(len(code) - 16))
	for b.Loop() {
		w.run(code)
	}
}

func BenchmarkScanDecode(b *testing.B) {
	code := realText(b)
	var in reloc.Insn
	var key [2]uint64
	end := len(code) - 16
	b.SetBytes(int64(end))
	n := 0
	for b.Loop() {
		n = 0
		for at := 0; at < end; at += max(1, int(in.Len)) {
			x86.AMD64.Decode(&in, code[at:], 0x401000+uint64(at))
			x86.AMD64.ShapeKey(&in, &key)
			n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/insn")
}
