package unicorn

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// verifier is a worker that makes a case of a new instruction, as the C driver
// does: ADD RAX, imm32, decoded, planned near, and compared from s states.
type verifier struct {
	w    *emu.Worker
	plan reloc.Plan
	env  reloc.Env
	n    int
}

func newVerifier(tb testing.TB) *verifier {
	w, err := emu.NewWorker(Oracle, x86.AMD64.Info(), 1)
	if err != nil {
		tb.Fatal(err)
	}
	return &verifier{w: w, env: reloc.Env{Slots: reloc.SlotsNear, Forms: fixups.FormJump.Bit()}}
}

func (v *verifier) one(s int) error {
	pc, _, err := v.w.NextSite()
	if err != nil {
		return err
	}
	code := [6]byte{0x48, 0x05}
	v.n++
	binary.LittleEndian.PutUint32(code[2:], uint32(v.n)&0xffffff)
	var in reloc.Insn
	if err := reloc.Analyze(&in, x86.AMD64, code[:], pc, nil); err != nil {
		return err
	}
	if err := x86.AMD64.Plan(&v.plan, &in, &v.env); err != nil {
		return err
	}
	if err := v.w.Site(&in); err != nil {
		return err
	}
	if err := v.w.States(s); err != nil {
		return err
	}
	var res emu.Result
	if err := v.w.Check(&res, &v.plan, &v.env, emu.Placement{}); err != nil {
		return err
	}
	if res.Verdict != emu.Match || res.States != s {
		return fmt.Errorf("%+v", res)
	}
	return nil
}

func rates(b *testing.B, cases, s int) {
	sec := b.Elapsed().Seconds()
	b.ReportMetric(float64(cases)/sec, "cases/s")
	b.ReportMetric(float64(cases*s)/sec, "compares/s")
}

var sizes = []int{1, 16, 64}

// BenchmarkGo: new cases, through package emu.
func BenchmarkGo(b *testing.B) {
	for _, s := range sizes {
		b.Run(fmt.Sprintf("S=%d", s), func(b *testing.B) {
			v := newVerifier(b)
			defer v.w.Close()
			b.ReportAllocs()
			for b.Loop() {
				if err := v.one(s); err != nil {
					b.Fatal(err)
				}
			}
			rates(b, b.N, s)
		})
	}
}

// BenchmarkC: the same in C, one call for all cases.
func BenchmarkC(b *testing.B) {
	for _, s := range sizes {
		b.Run(fmt.Sprintf("S=%d", s), func(b *testing.B) {
			e := mustOpen(b, emu.AMD64)
			d, err := newDriver(e, s)
			if err != nil {
				b.Fatal(err)
			}
			defer d.close()
			b.ResetTimer()
			if bad := d.run(b.N); bad != 0 {
				b.Fatalf("%d states differ", bad)
			}
			rates(b, b.N, s)
		})
	}
}

// BenchmarkGo2: two workers.
func BenchmarkGo2(b *testing.B) {
	for _, s := range sizes {
		b.Run(fmt.Sprintf("S=%d", s), func(b *testing.B) {
			var wg sync.WaitGroup
			vs := [2]*verifier{newVerifier(b), newVerifier(b)}
			b.ResetTimer()
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
			rates(b, (b.N+1)/2*2, s)
			for _, v := range vs {
				v.w.Close()
			}
		})
	}
}

// BenchmarkFresh: an engine of its own for each case.
func BenchmarkFresh(b *testing.B) {
	for b.Loop() {
		e, err := open(emu.AMD64)
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
	rates(b, b.N, 1)
}
