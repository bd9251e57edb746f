package relocgen

import (
	"io"
	"slices"
	"testing"
	"time"

	"golang.org/x/arch/x86/x86asm"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/witness"
	"github.com/xol-go/xol/objfile"
	"github.com/xol-go/xol/reloc"
)

// ratioRounds is how often each contestant runs; the figures are medians over
// rounds in which everybody ran once, because these clocks drift.
const ratioRounds = 9

// BenchmarkRatios is docs/performance.md: this library against Zydis and x/arch
// over the functions of one program, in one run. Each metric is a ratio of times
// of the same round, this library's over the peer's.
func BenchmarkRatios(b *testing.B) {
	file := benchFile(b)
	funcs := textOf(b, file)
	peer := witness.NewPeer(b, funcs)
	c := contest{funcs: funcs}
	for b.Loop() {
		for range ratioRounds {
			c.round(b, peer, file)
		}
	}
	b.ReportMetric(0, "ns/op")
	c.report(b)
}

// textOf returns the code of the functions of a program, each in memory of its
// own, as the peer has it.
func textOf(tb testing.TB, name string) [][]byte {
	file, err := objfile.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	funcs, err := file.Funcs()
	if err != nil {
		tb.Fatal(err)
	}
	var text [][]byte
	for _, fn := range funcs {
		code, err := file.Bytes(fn.Addr, fn.Size)
		if err != nil {
			tb.Fatal(err)
		}
		text = append(text, code)
	}
	return text
}

// contest collects times per instruction.
type contest struct {
	funcs                           [][]byte
	decode, x86asm, relocate, table []float64
	zydis, zydisAll, zydisRel       []float64
	plan                            reloc.Plan
	dst                             []byte
	refused, sites                  int
}

func perInsn(d time.Duration, n int) float64 { return float64(d.Nanoseconds()) / float64(n) }

func (c *contest) round(tb testing.TB, peer *witness.Peer, file string) {
	add := func(list *[]float64, d time.Duration, n int) { *list = append(*list, perInsn(d, n)) }
	d, n := peer.Run(tb, witness.PassMinimal)
	add(&c.zydis, d, n)
	d, n = c.timed(c.decodeAll)
	add(&c.decode, d, n)
	d, n = peer.Run(tb, witness.PassEncode)
	add(&c.zydisAll, d, n)
	d, n = c.timed(c.relocateAll)
	add(&c.relocate, d, n)
	d, n = peer.Run(tb, witness.PassRelative)
	add(&c.zydisRel, d, n)
	d, n = c.timed(c.x86asmAll)
	add(&c.x86asm, d, n)
	start := processTime() // the table is made by several threads
	found, err := sweep([]string{"--binary", file}, io.Discard)
	if err != nil {
		tb.Fatal(err)
	}
	add(&c.table, processTime()-start, found.sites)
}

// BenchmarkTableRatio is the part of BenchmarkRatios that whole tables are judged
// by, with the time in user space apart: the rest is the kernel's, for pages that
// are touched first and for reading the file.
func BenchmarkTableRatio(b *testing.B) {
	file := benchFile(b)
	funcs := textOf(b, file)
	peer := witness.NewPeer(b, funcs)
	c := contest{funcs: funcs}
	var user []float64
	for b.Loop() {
		for range ratioRounds {
			d, n := peer.Run(b, witness.PassMinimal)
			c.zydis = append(c.zydis, perInsn(d, n))
			d, n = c.timed(c.decodeAll)
			c.decode = append(c.decode, perInsn(d, n))
			start, startUser := processTime(), userTime()
			found, err := sweep([]string{"--binary", file}, io.Discard)
			if err != nil {
				b.Fatal(err)
			}
			c.table = append(c.table, perInsn(processTime()-start, found.sites))
			user = append(user, perInsn(userTime()-startUser, found.sites))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(medianOf(c.zydis), "zydis-minimal-ns/insn")
	b.ReportMetric(medianOf(c.table), "table-ns/insn")
	b.ReportMetric(ratioOf(c.decode, c.zydis), "decode/zydis-minimal")
	b.ReportMetric(ratioOf(c.zydis, c.table), "zydis-minimal/table")
	b.ReportMetric(ratioOf(c.zydis, user), "zydis-minimal/table-user")
}

func (c *contest) timed(f func() int) (time.Duration, int) {
	start := threadTime()
	n := f()
	return threadTime() - start, n
}

func (c *contest) decodeAll() (n int) {
	var in reloc.Insn
	for _, code := range c.funcs {
		for at := 0; at < len(code); at += int(in.Len) {
			if x86.AMD64.Decode(&in, code[at:], uint64(at)) != nil {
				break
			}
			n++
		}
	}
	return n
}

// relocateAll makes the near jump plan of every instruction and places it.
func (c *contest) relocateAll() (n int) {
	env := reloc.Env{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsNear}
	var in reloc.Insn
	c.refused, c.sites = 0, 0
	for _, code := range c.funcs {
		for at := 0; at < len(code); at += int(in.Len) {
			if x86.AMD64.Decode(&in, code[at:], 0x400000+uint64(at)) != nil {
				break
			}
			n++
			if x86.AMD64.Plan(&c.plan, &in, &env) != nil {
				c.refused++
				continue
			}
			c.dst, _ = fixups.Place(c.dst[:0], &c.plan, fixups.Bases{Site: in.PC, Slot: in.PC + 0x20000000})
		}
	}
	c.sites = n
	return n
}

func (c *contest) x86asmAll() (n int) {
	for _, code := range c.funcs {
		for at := 0; at < len(code); {
			inst, err := x86asm.Decode(code[at:], 64)
			if err != nil || inst.Len == 0 {
				break
			}
			at += inst.Len
			n++
		}
	}
	return n
}

func (c *contest) report(b *testing.B) {
	b.ReportMetric(medianOf(c.decode), "decode-ns/insn")
	b.ReportMetric(medianOf(c.relocate), "relocate-ns/insn")
	b.ReportMetric(medianOf(c.table), "table-ns/insn")
	b.ReportMetric(medianOf(c.zydis), "zydis-minimal-ns/insn")
	b.ReportMetric(medianOf(c.zydisAll), "zydis-encode-ns/insn")
	b.ReportMetric(medianOf(c.x86asm), "x86asm-ns/insn")
	b.ReportMetric(ratioOf(c.decode, c.zydis), "decode/zydis-minimal")
	b.ReportMetric(ratioOf(c.decode, c.x86asm), "decode/x86asm")
	b.ReportMetric(ratioOf(c.relocate, c.zydisAll), "relocate/zydis-encode-all")
	b.ReportMetric(ratioOf(c.relocate, c.zydisRel), "relocate/zydis-encode-relative")
	b.ReportMetric(ratioOf(c.zydis, c.table), "zydis-minimal/table")
	b.ReportMetric(float64(c.refused)/float64(c.sites), "refused/insn")
}

func medianOf(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// ratioOf is the median over rounds of a/b.
func ratioOf(a, b []float64) float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return medianOf(r)
}
