package unicorn

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/xol-go/xol/arch/arm64"
	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// verifier is a worker that makes a case of a new instruction, as the C driver
// does: a number that is added to a register, decoded, planned near, and compared
// from s states.
type verifier struct {
	w    *emu.Worker
	a    reloc.Arch
	plan reloc.Plan
	env  reloc.Env
	in   reloc.Insn
	res  emu.Result
	code []byte
	n    int
}

func newVerifier(tb testing.TB, a reloc.Arch) *verifier {
	w, err := emu.NewWorker(Oracle, a.Info(), 1)
	if err != nil {
		tb.Fatal(err)
	}
	return &verifier{w: w, a: a, env: reloc.Env{Slots: reloc.SlotsNear, Forms: fixups.FormJump.Bit()}}
}

// addition appends the instruction of case n: that of the C driver.
func addition(dst []byte, a reloc.Arch, n uint32) []byte {
	switch a.Info().Name {
	case "arm64":
		return binary.LittleEndian.AppendUint32(dst, 0x91000000|n&0xfff<<10) // add x0, x0, #n
	case "ppc64":
		return binary.BigEndian.AppendUint32(dst, 0x38630000|n&0xffff) // addi r3, r3, n
	case "ppc64le":
		return binary.LittleEndian.AppendUint32(dst, 0x38630000|n&0xffff)
	}
	return binary.LittleEndian.AppendUint32(append(dst, 0x48, 0x05), n&0xffffff) // add rax, n
}

// ported are the instruction sets that are measured.
var ported = []reloc.Arch{x86.AMD64, arm64.A64, ppc64.BE, ppc64.LE}

// each runs f for each instruction set and size.
func each(b *testing.B, f func(b *testing.B, a reloc.Arch, t *emu.Target, s int)) {
	for _, a := range ported {
		t, err := emu.TargetOf(a.Info().Name)
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range sizes {
			b.Run(fmt.Sprintf("%s/S=%d", a.Info().Name, s), func(b *testing.B) { f(b, a, t, s) })
		}
	}
}

func (v *verifier) one(s int) error {
	pc, _, err := v.w.NextSite()
	if err != nil {
		return err
	}
	v.n++
	v.code = addition(v.code[:0], v.a, uint32(v.n))
	in := &v.in
	if err := reloc.Analyze(in, v.a, v.code, pc, nil); err != nil {
		return err
	}
	if err := v.a.Plan(&v.plan, in, &v.env); err != nil {
		return err
	}
	if err := v.w.Site(in); err != nil {
		return err
	}
	if err := v.w.States(s); err != nil {
		return err
	}
	res := &v.res
	if err := v.w.Check(res, &v.plan, &v.env, emu.Placement{}); err != nil {
		return err
	}
	if res.Verdict != emu.Match || res.States != s {
		return fmt.Errorf("%+v", *res)
	}
	return nil
}

// rates reports cases and compares a second, and a second of processor time,
// which is what counts on a machine that has other things to do.
func rates(b *testing.B, cases, s int, cpu time.Duration) {
	sec := b.Elapsed().Seconds()
	b.ReportMetric(float64(cases)/sec, "cases/s")
	b.ReportMetric(float64(cases*s)/sec, "compares/s")
	b.ReportMetric(float64(cases*s)/(processorTime()-cpu).Seconds(), "compares/cpu-s")
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var sizes = []int{1, 16, 64}

// BenchmarkGo: new cases, through package emu.
func BenchmarkGo(b *testing.B) {
	each(b, func(b *testing.B, a reloc.Arch, _ *emu.Target, s int) {
		v := newVerifier(b, a)
		defer v.w.Close()
		b.ReportAllocs()
		cpu := processorTime()
		for b.Loop() {
			if err := v.one(s); err != nil {
				b.Fatal(err)
			}
		}
		rates(b, b.N, s, cpu)
	})
}

// BenchmarkC: the same in C, one call for all cases.
func BenchmarkC(b *testing.B) {
	each(b, func(b *testing.B, _ reloc.Arch, t *emu.Target, s int) {
		d, err := newDriver(mustOpen(b, t), s)
		if err != nil {
			b.Fatal(err)
		}
		defer d.close()
		b.ResetTimer()
		cpu := processorTime()
		if bad := d.run(b.N); bad != 0 {
			b.Fatalf("%d states differ", bad)
		}
		rates(b, b.N, s, cpu)
	})
}

// BenchmarkGo2: two workers.
func BenchmarkGo2(b *testing.B) {
	each(b, func(b *testing.B, a reloc.Arch, _ *emu.Target, s int) {
		var wg sync.WaitGroup
		vs := [2]*verifier{newVerifier(b, a), newVerifier(b, a)}
		b.ResetTimer()
		cpu := processorTime()
		for _, v := range vs {
			wg.Go(func() {
				for range (b.N + 1) / 2 {
					if err := v.one(s); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		rates(b, (b.N+1)/2*2, s, cpu)
		for _, v := range vs {
			v.w.Close()
		}
	})
}

// BenchmarkFresh: an engine of its own for each case.
func BenchmarkFresh(b *testing.B) {
	for _, target := range emu.Targets() {
		if target.Bits == 32 {
			continue
		}
		b.Run(target.Arch, func(b *testing.B) {
			cpu := processorTime()
			for b.Loop() {
				e, err := open(target)
				if err != nil {
					b.Fatal(err)
				}
				d, err := newDriver(e, 1)
				if err != nil {
					b.Fatal(err)
				}
				if bad := d.run(1); bad != 0 {
					b.Fatal("differs")
				}
				d.close()
				e.Close()
			}
			rates(b, b.N, 1, cpu)
		})
	}
}

// BenchmarkRatio is P9: rounds of cases in Go and in C take turns, and the
// median of the rounds' ratios of processor time is reported (1 is as fast as C,
// less is slower), beside that of an engine of its own for each case.
func BenchmarkRatio(b *testing.B) {
	each(b, func(b *testing.B, a reloc.Arch, t *emu.Target, s int) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		v := newVerifier(b, a)
		defer v.w.Close()
		d, err := newDriver(mustOpen(b, t), s)
		if err != nil {
			b.Fatal(err)
		}
		defer d.close()
		cases := max(3200/s, 100)
		var ratios, inGo, inC []float64
		for range 2 * b.N {
			g := threadTime(func() {
				for range cases {
					if err := v.one(s); err != nil {
						b.Fatal(err)
					}
				}
			})
			c := threadTime(func() { d.run(cases) })
			ratios = append(ratios, c.Seconds()/g.Seconds())
			inGo = append(inGo, float64(cases*s)/g.Seconds())
			inC = append(inC, float64(cases*s)/c.Seconds())
		}
		b.ReportMetric(median(ratios), "go/c")
		b.ReportMetric(median(inGo), "go-compares/cpu-s")
		b.ReportMetric(median(inC), "c-compares/cpu-s")
	})
}

// threadTime is the processor time that f takes on its thread.
func threadTime(f func()) time.Duration {
	start := threadClock()
	f()
	return threadClock() - start
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
