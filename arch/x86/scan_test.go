package x86_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/reloc"
)

// scanAll walks code as a writer of tables does: by Scan, and by Decode what it
// leaves. The text behind the code is not zero, for it should not matter.
func scanAll(a *x86.Arch, s reloc.Scanner, out *reloc.Scan, code []byte, pc uint64) (end int) {
	text := append(append([]byte{}, code...), 0xe9, 0xff, 0x05, 0x48, 0x66, 0x0f, 0x38, 0xe9, 0xe9, 0xc0, 0x24, 0x90, 0x90, 0xcc, 0xf0, 0x40)
	out.Starts, out.Sites, out.Copies = make([]uint64, len(code)/64+1), out.Sites[:0], 0
	var in reloc.Insn
	var key [2]uint64
	for at := 0; at < len(code); {
		if at = s.Scan(out, text, at, len(code), pc); at == len(code) {
			break
		}
		if a.Decode(&in, code[at:], pc+uint64(at)) != nil {
			return at
		}
		addSite(a, s, out, &in, &key, at)
		at += int(in.Len)
	}
	return len(code)
}

func addSite(a *x86.Arch, s reloc.Scanner, out *reloc.Scan, in *reloc.Insn, key *[2]uint64, at int) {
	out.Starts[at/64] |= 1 << (at % 64)
	site := fixups.Site{Off: uint32(at), Shape: reloc.ScanOwn}
	if in.HasTarget() {
		site.D = int64(in.Target - in.PC)
	}
	switch a.ShapeKey(in, key) {
	case reloc.ShapeCopy:
		out.Copies |= 1 << in.Len
		return
	case reloc.ShapeKeyed:
		site.Shape = s.Key(in, key)
	}
	out.Sites = append(out.Sites, site)
}

// byDecode is what scanAll should find.
func byDecode(a *x86.Arch, s reloc.Scanner, out *reloc.Scan, code []byte, pc uint64) (end int) {
	out.Starts, out.Sites, out.Copies = make([]uint64, len(code)/64+1), out.Sites[:0], 0
	var in reloc.Insn
	var key [2]uint64
	for at := 0; at < len(code); at += int(in.Len) {
		if a.Decode(&in, code[at:], pc+uint64(at)) != nil {
			return at
		}
		addSite(a, s, out, &in, &key, at)
	}
	return len(code)
}

type scanPair struct {
	a         *x86.Arch
	s         reloc.Scanner
	got, want reloc.Scan
	sites     int
}

func newScanPair(a *x86.Arch) *scanPair { return &scanPair{a: a, s: a.NewScanner()} }

// check compares both ways over code, and demands that each key is that of its
// first instruction.
func (p *scanPair) check(t *testing.T, code []byte, pc uint64) {
	t.Helper()
	known := len(p.s.Keys())
	end := scanAll(p.a, p.s, &p.got, code, pc)
	if keys := p.s.Keys(); len(keys) > known {
		var key [2]uint64
		for _, k := range keys[known:] {
			if p.a.ShapeKey(&k.Insn, &key) != reloc.ShapeKeyed || key != k.Key {
				t.Fatalf("% x: key %x, should be %x", k.Insn.Raw(), k.Key, key)
			}
		}
	}
	if want := byDecode(p.a, p.s, &p.want, code, pc); end != want {
		t.Fatalf("%#x: % x: ends at %d, not at %d", pc, code, end, want)
	}
	if p.got.Copies != p.want.Copies || len(p.got.Sites) != len(p.want.Sites) {
		t.Fatalf("%#x: % x: copies %#x, not %#x; sites\n%v, not\n%v", pc, code, p.got.Copies, p.want.Copies, p.got.Sites, p.want.Sites)
	}
	for i, s := range p.got.Sites {
		if s != p.want.Sites[i] {
			t.Fatalf("%#x: % x: site %+v, not %+v", pc, code, s, p.want.Sites[i])
		}
	}
	for i, w := range p.got.Starts {
		if w != p.want.Starts[i] {
			t.Fatalf("%#x: % x: starts %#x, not %#x", pc, code, w, p.want.Starts[i])
		}
	}
	p.sites += len(p.got.Sites)
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
			p.check(t, code, base)
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
		newScanPair(a).check(t, code[:min(len(code), 4096)], pc)
	})
}

func TestScanAllocs(t *testing.T) {
	s := x86.AMD64.NewScanner()
	code := realText(t)[:64<<10]
	out := reloc.Scan{Starts: make([]uint64, 1<<10), Sites: make([]fixups.Site, 0, 64<<10)}
	run := func() {
		out.Sites = out.Sites[:0]
		for at := 0; at < len(code)-16; at++ {
			at = s.Scan(&out, code, at, len(code)-16, 0x401000)
		}
	}
	run()
	if n := testing.AllocsPerRun(5, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkScan walks a real program, beside BenchmarkScanDecode, which has the same
// answers from Decode and ShapeKey.
func BenchmarkScan(b *testing.B) {
	code := realText(b)
	s := x86.AMD64.NewScanner()
	out := reloc.Scan{Starts: make([]uint64, len(code)/64+1), Sites: make([]fixups.Site, 0, len(code))}
	var in reloc.Insn
	end := len(code) - 16
	b.SetBytes(int64(end))
	for b.Loop() {
		out.Sites = out.Sites[:0]
		for at := 0; at < end; at += max(1, int(in.Len)) {
			if at = s.Scan(&out, code, at, end, 0x401000); at < end {
				x86.AMD64.Decode(&in, code[at:], 0x401000+uint64(at))
			}
		}
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
