package wordscan_test

import (
	"debug/elf"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/xol-go/xol/arch/arm64"
	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/reloc"
)

// port is an instruction set with a Scanner of this package.
type port interface {
	reloc.Arch
	reloc.Contexter
	reloc.Generator
	reloc.ScanShaper
}

// ports are these, with words that have a say about others and branches over few
// words, and a C library.
var ports = []struct {
	arch  port
	lib   string
	words []uint32 // without order
}{
	{arm64.A64, "/usr/aarch64-linux-gnu/lib/libc.so.6", []uint32{
		0x885ffc41, 0xc85f7c41, 0x88037c41, 0xc803fc41, 0x887f0861, 0xc8230861, 0x89405c41, 0xd503305f, 0xd4000001, // ldaxr ldxr stxr stlxr ldxp stxp ldtxr clrex svc
		0x0420bc00, 0x04102000, 0xd50324ff, 0xd428bc00, 0xd4200000, 0, // movprfx pacm, a signature, brk, udf
		0x54ffff81, 0x54000081, 0x35ffff84, 0x34000084, 0x37ffff84, 0x36000044, 0x14000003, 0x17fffffd, 0x97fffffc, 0x94000005, // branches
		0x14000000, 0x94000001, 0x10000000, 0x10000020, 0x58000000, 0x9cffffc0, 0x9cffff80, 0x1d000001, 0x90800000, 0x907fffe0, // into itself; ends of a reach
		0x17ffffd8, 0x14000032, 0x34000504, 0x35fffa64, 0x54fffb01, // branches over 30 to 50 words
		0xd65f03c0, 0xd61f0200, 0xd63f0200}},
	{ppc64.BE, "/usr/powerpc64-linux-gnu/lib/libc.so.6", powerWords},
	{ppc64.LE, "/usr/powerpc64le-linux-gnu/lib/libc.so.6", powerWords},
}

var powerWords = []uint32{
	0x7c601828, 0x7c6018a8, 0x7c601868, 0x7c60192d, 0x7c6019ad, 0xf8610000, // lwarx ldarx lharx stwcx. stdcx. std
	0x06000000, 0x06100000, 0x04100000, 0x07000000, 0x05000000, 0x38600001, 0xe8600000, // prefixes and suffixes
	0x0fe5000b, 0x7fe00008, 0, 0x44000002, // a signature, trap, reserved, sc
	0x4082fff0, 0x41820010, 0x4200fff8, 0x4800000c, 0x4bfffff4, 0x48000009, 0x4bfffff1, 0x4082fff1, // branches and calls
	0x48000000, 0x48000005, 0x429f0005, 0x48000102, 0x4bfffff3, 0x4c600004, 0x4c602004, // into itself, absolute, addpcis
	0x4bffff60, 0x48000080, 0x408200c8, 0x4082ff70, // branches over 32 to 50 words
	0x7c0802a6, 0x7d8802a6, 0x4e800020, 0x7c6903a6, 0x7c6902a6, 0x4e800421}

// found is what is in a function.
type found struct {
	starts []int
	sites  []fixups.Site
	copies uint32
}

// past is how far it is to the next address where an instruction can be.
func past(pc uint64) int { return int(4 - pc&3) }

// byDecode walks a function as Scan should: what does not decode is passed over word
// by word.
func byDecode(a port, s reloc.Scanner, code []byte, pc uint64) (x found) {
	env := reloc.Env{Code: &reloc.Text{Addr: pc, Data: code}}
	var key [2]uint64
	for at := 0; at < len(code); {
		var in reloc.Insn
		if a.Decode(&in, code[at:], pc+uint64(at)) != nil {
			at += past(pc + uint64(at))
			continue
		}
		x.starts = append(x.starts, at)
		site := fixups.Site{Off: uint32(at), Shape: reloc.ScanOwn, D: a.ShapeD(&in)}
		at += int(in.Len)
		plain := in
		if a.Context(&in, &env) == nil && in.Hazards == plain.Hazards {
			switch a.ShapeKey(&in, &key) {
			case reloc.ShapeCopy:
				x.copies |= 1 << in.Len
				continue
			case reloc.ShapeKeyed:
				site.Shape = s.Key(&plain, &key)
			}
		}
		x.sites = append(x.sites, site)
	}
	return x
}

// byScan walks functions that begin at cuts, all but the last, at once, and goes on
// where it has stopped.
func byScan(t *testing.T, s reloc.Scanner, text []byte, pc uint64, cuts []int) (all []found, copies uint32) {
	out := reloc.Scan{Starts: make([]uint64, len(text)/64+2)}
	var parts []reloc.ScanPart
	for i, at := range cuts[:len(cuts)-1] {
		parts = append(parts, reloc.ScanPart{PC: pc + uint64(at), From: at, At: at, End: cuts[i+1]})
	}
	s.Scan(&out, text, parts)
	sites := out.Sites
	for i := range parts {
		x := found{sites: slices.Clone(sites[:parts[i].Sites])}
		sites = sites[parts[i].Sites:]
		checkOwn(t, &parts[i], x.sites)
		for p := parts[i]; p.Stop < p.End; {
			at := p.Stop + past(pc+uint64(p.Stop))
			if at >= p.End {
				break
			}
			rest := []reloc.ScanPart{{PC: pc + uint64(at), From: p.From, At: at, End: p.End}}
			known := len(out.Sites)
			s.Scan(&out, text, rest)
			p = rest[0]
			checkOwn(t, &p, out.Sites[known:])
			for _, site := range out.Sites[known:] {
				site.Off += uint32(at - p.From)
				x.sites = append(x.sites, site)
			}
		}
		for at := cuts[i]; at < cuts[i+1]; at++ {
			if out.Starts[at>>6]>>(at&63)&1 != 0 {
				x.starts = append(x.starts, at-cuts[i])
			}
		}
		all = append(all, x)
	}
	if len(sites) != 0 {
		t.Fatalf("%d sites of no part", len(sites))
	}
	return all, out.Copies
}

// fromWithin demands that parts that begin at some instructions of a function have
// the sites that want has there.
func fromWithin(t *testing.T, a port, s reloc.Scanner, text []byte, pc uint64, from, end int, want *found) {
	t.Helper()
	out := reloc.Scan{Starts: make([]uint64, len(text)/64+2)}
	for k := 1; k < len(want.starts); k += 1 + k/2 {
		at := from + want.starts[k]
		parts := []reloc.ScanPart{{PC: pc + uint64(at), From: from, At: at, End: end}}
		out.Sites = out.Sites[:0]
		s.Scan(&out, text, parts)
		i, _ := slices.BinarySearchFunc(want.sites, at-from, func(s fixups.Site, off int) int { return int(s.Off) - off })
		for _, site := range out.Sites {
			if site.Off += uint32(at - from); i == len(want.sites) || site != want.sites[i] {
				t.Fatalf("%s: %#x: % x: from %#x on: %+v", a.Info().Name, pc+uint64(from), text[from:end], at-from, site)
			}
			i++
		}
		if i < len(want.sites) && int(want.sites[i].Off) < parts[0].Stop-from {
			t.Fatalf("%s: %#x: % x: from %#x on: no site at %#x", a.Info().Name, pc+uint64(from), text[from:end], at-from, want.sites[i].Off)
		}
	}
}

func checkOwn(t *testing.T, p *reloc.ScanPart, sites []fixups.Site) {
	own := 0
	for _, s := range sites {
		if s.Shape == reloc.ScanOwn {
			own++
		}
	}
	if own != p.Own || len(sites) != p.Sites {
		t.Fatalf("%#x: %d sites, %d their own, not %d, %d", p.PC, len(sites), own, p.Sites, p.Own)
	}
}

// compare holds a walk of functions against one instruction after the other. It
// returns how many sites depend on their neighbours, or share no key.
func compare(t *testing.T, a port, s reloc.Scanner, text []byte, pc uint64, cuts []int) (own int) {
	t.Helper()
	all, copies := byScan(t, s, text, pc, cuts)
	var wantCopies uint32
	for i := range all {
		code := text[cuts[i]:cuts[i+1]]
		x, want := all[i], byDecode(a, s, code, pc+uint64(cuts[i]))
		wantCopies |= want.copies
		if !slices.Equal(x.starts, want.starts) {
			t.Fatalf("%s: %#x: % x: starts\n%v, not\n%v", a.Info().Name, pc+uint64(cuts[i]), code, x.starts, want.starts)
		}
		for k, site := range want.sites {
			if k >= len(x.sites) || x.sites[k] != site {
				t.Fatalf("%s: %#x: % x: site %d is %+v, not among\n%+v", a.Info().Name, pc+uint64(cuts[i]), code, k, site, x.sites[min(k, len(x.sites)):])
			}
			if site.Shape == reloc.ScanOwn {
				own++
			}
		}
		if len(x.sites) != len(want.sites) {
			t.Fatalf("%s: %#x: %d sites, not %d", a.Info().Name, pc+uint64(cuts[i]), len(x.sites), len(want.sites))
		}
		fromWithin(t, a, s, text, pc, cuts[i], cuts[i+1], &want)
	}
	if copies != wantCopies {
		t.Fatalf("%s: copies %#x, not %#x", a.Info().Name, copies, wantCopies)
	}
	checkKeys(t, a, s)
	return own
}

// checkKeys demands that each key is that of its first instruction.
func checkKeys(t *testing.T, a port, s reloc.Scanner) {
	t.Helper()
	var key [2]uint64
	for _, k := range s.Keys() {
		if a.ShapeKey(&k.Insn, &key) != reloc.ShapeKeyed || key != k.Key {
			t.Fatalf("% x: key %x, should be %x", k.Insn.Raw(), k.Key, key)
		}
	}
}

// TestScanMadeUp: functions made of what has a say about neighbours, short branches
// and any instructions, of any length, one behind the other.
func TestScanMadeUp(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testenv.Seed(t), 51))
	for _, p := range ports {
		order := p.arch.Info().InsnOrder
		own, sites := 0, 0
		for range 600 {
			var text []byte
			cuts, odd := []int{0}, 0
			for len(cuts) < 2+rnd.IntN(6) {
				special := rnd.IntN(12) // of so many, not each function has exclusive sequences
				few := make([]uint32, 2+rnd.IntN(20))
				for i := range few {
					few[i] = p.words[rnd.IntN(len(p.words))]
				}
				for range rnd.IntN([]int{20, 120, 120, 800}[rnd.IntN(4)]) {
					if rnd.IntN(12) < special {
						text = appendWord(text, order == fixups.BigEndian, few[rnd.IntN(len(few))])
					} else {
						text = p.arch.AppendRandom(text, rnd.Uint64)
					}
				}
				if rnd.IntN(8) == 0 {
					text, odd = append(text, make([]byte, rnd.IntN(4))...), odd+1
				}
				cuts = append(cuts, len(text))
			}
			s := p.arch.NewScanner()
			sites += len(text) / 4
			own += compare(t, p.arch, s, append(text, make([]byte, 16)...), []uint64{0x10000, 0, 1<<64 - 4096, rnd.Uint64() &^ 3}[rnd.IntN(4)], cuts)
		}
		if own < sites/20 || own > sites*19/20 {
			t.Errorf("%s: %d of %d sites share no key", p.arch.Info().Name, own, sites)
		}
	}
}

// TestScanBackwards: an exclusive sequence whose load stands behind the rest of it, at
// every place of a function that is searched in pieces.
func TestScanBackwards(t *testing.T) {
	for i, p := range ports {
		nop, words := uint32(0xd503201f), []uint32{0x885ffc41, 0x17fffffb} // ldaxr, b
		rest := []uint32{0x8b020020, 0x8b020020, 0x88037c41, 0xd65f03c0}   // add, add, stxr, ret
		if i > 0 {
			nop, words = 0x60000000, []uint32{0x7c601828, 0x4bffffec} // lwarx, b
			rest = []uint32{0x7c221a14, 0x7c221a14, 0x7c60192d, 0x4e800020}
		}
		for k := 220; k < 300; k++ {
			var text []byte
			for j := range 600 {
				w := nop
				switch at := j - k; {
				case 0 <= at && at < len(rest):
					w = rest[at]
				case len(rest) <= at && at < len(rest)+len(words):
					w = words[at-len(rest)]
				}
				text = appendWord(text, p.arch.Info().InsnOrder == fixups.BigEndian, w)
			}
			if own := compare(t, p.arch, p.arch.NewScanner(), append(text, make([]byte, 16)...), 0x10000, []int{0, len(text)}); own < 3 {
				t.Fatalf("%s: %d sites are in the sequence", p.arch.Info().Name, own)
			}
		}
	}
}

func appendWord(b []byte, big bool, w uint32) []byte {
	if big {
		return append(b, byte(w>>24), byte(w>>16), byte(w>>8), byte(w))
	}
	return append(b, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
}

// TestScanLibrary compares over the text of C libraries, cut where no function is
// cut, too.
func TestScanLibrary(t *testing.T) {
	seen := false
	for _, p := range ports {
		code, addr := libraryText(t, p.lib)
		if code == nil {
			continue
		}
		seen = true
		n := len(code) - 16
		cuts := []int{0}
		for at := 100; at < n; at += (1 + at*31%1250) * 4 {
			cuts = append(cuts, at)
		}
		compare(t, p.arch, p.arch.NewScanner(), code, addr, append(cuts, n))
		n = min(n, 400<<10)
		compare(t, p.arch, p.arch.NewScanner(), code, addr, []int{0, n &^ 3})
	}
	if !seen {
		testenv.Missing(t, "a cross compiler's C library (libc6-arm64-cross)")
	}
}

// libraryText is the section .text of a library, nil if there is none.
func libraryText(tb testing.TB, name string) (code []byte, addr uint64) {
	f, err := elf.Open(name)
	if err != nil {
		return nil, 0
	}
	defer f.Close()
	text := f.Section(".text")
	if code, err = text.Data(); err != nil {
		tb.Fatal(err)
	}
	return code, text.Addr
}

// TestScanAllocs: what is known is walked without allocating.
func TestScanAllocs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testenv.Seed(t), 52))
	for _, p := range ports {
		var text []byte
		for range 4000 {
			if rnd.IntN(40) == 0 {
				text = appendWord(text, p.arch.Info().InsnOrder == fixups.BigEndian, p.words[rnd.IntN(len(p.words))])
			} else {
				text = p.arch.AppendRandom(text, rnd.Uint64)
			}
		}
		w := walker{s: p.arch.NewScanner(), text: text}
		w.out.Starts = make([]uint64, len(text)/64+2)
		w.run()
		if n := testing.AllocsPerRun(3, w.run); n != 0 {
			t.Errorf("%s: %v allocations", p.arch.Info().Name, n)
		}
	}
}

// walker walks functions of 500 bytes.
type walker struct {
	s     reloc.Scanner
	text  []byte
	out   reloc.Scan
	parts []reloc.ScanPart
}

func (w *walker) run() {
	w.out.Sites, w.parts = w.out.Sites[:0], w.parts[:0]
	for at := 0; at+500 <= len(w.text)-16; at += 500 {
		w.parts = append(w.parts, reloc.ScanPart{PC: 0x10000 + uint64(at), From: at, At: at, End: at + 500})
	}
	w.s.Scan(&w.out, w.text, w.parts)
}

// BenchmarkScan walks the text of C libraries, beside BenchmarkScanDecode, which has
// the answers from Decode, Context and ShapeKey.
func BenchmarkScan(b *testing.B) {
	for _, p := range ports {
		b.Run(p.arch.Info().Name, func(b *testing.B) {
			code, _ := libraryText(b, p.lib)
			if code == nil {
				b.Skip("no C library for " + p.arch.Info().Name)
			}
			w := walker{s: p.arch.NewScanner(), text: code}
			w.out.Starts = make([]uint64, len(code)/64+2)
			b.SetBytes(int64(len(code)))
			for b.Loop() {
				w.run()
			}
		})
	}
}

func BenchmarkScanDecode(b *testing.B) {
	for _, p := range ports {
		b.Run(p.arch.Info().Name, func(b *testing.B) {
			code, addr := libraryText(b, p.lib)
			if code == nil {
				b.Skip("no C library for " + p.arch.Info().Name)
			}
			s := p.arch.NewScanner()
			b.SetBytes(int64(len(code)))
			for b.Loop() {
				for at := 0; at < len(code); at += 500 {
					byDecode(p.arch, s, code[at:min(at+500, len(code))], addr+uint64(at))
				}
			}
		})
	}
}
