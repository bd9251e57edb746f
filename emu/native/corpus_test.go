package native_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/reloc"
)

// TestCorpus judges every instruction of the corpus at its own address, or, where
// a process has no such address, at the places that sites have.
func TestCorpus(t *testing.T) {
	o := oracle(t)
	for _, a := range arches() {
		t.Run(a.Info().Name, func(t *testing.T) {
			w, err := emu.NewWorker(o, a.Info(), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			var tally emu.Tally
			elsewhere := 0
			for c := range corpus.ByArch(a.Info().Name) {
				off := 0
				for _, n := range c.Lens {
					elsewhere += judgeAt(t, w, &tally, a, c, off)
					off += n
				}
			}
			report(t, &tally)
			t.Logf("%d instructions were judged at other addresses", elsewhere)
		})
	}
}

// judgeAt judges the instruction at off of a case. It returns 1 if its address is
// none of a process.
func judgeAt(t *testing.T, w *emu.Worker, tally *emu.Tally, a reloc.Arch, c *corpus.Case, off int) int {
	t.Helper()
	var in reloc.Insn
	if reloc.Analyze(&in, a, c.Bytes[off:], c.PC+uint64(off), nil) != nil {
		return 0
	}
	before, failed, envs := tally.Mismatches(), tally.Limits[fails], environments(a)
	moved := w.SiteAt(&in) != nil
	var err error
	if moved {
		_, err = w.JudgeCode(tally, a, in.Raw(), envs, thorough())
	} else {
		err = w.Judge(tally, a, &in, envs, thorough())
	}
	if err != nil {
		t.Fatalf("%s: %v", c.Key(), err)
	}
	if tally.Limits[fails] > failed {
		t.Errorf("%s+%d: the oracle fails", c.Key(), off)
	}
	if n := tally.Mismatches() - before; n > 0 {
		t.Errorf("%s+%d: %d mismatches", c.Key(), off, n)
	}
	if moved {
		return 1
	}
	return 0
}

// TestRandom judges random encodings in random environments.
func TestRandom(t *testing.T) {
	o, seed := oracle(t), testenv.Seed(t)
	inputs := 1500
	if sweeping() {
		inputs = 40000
	}
	for _, a := range arches() {
		t.Run(a.Info().Name, func(t *testing.T) {
			var wg sync.WaitGroup
			tallies := make([]emu.Tally, 2)
			for i := range tallies {
				wg.Go(func() {
					if err := random(o, &tallies[i], a, seed+uint64(i), inputs); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			tallies[0].Merge(&tallies[1])
			report(t, &tallies[0])
		})
	}
}

// random is one worker of TestRandom.
func random(o emu.Oracle, tally *emu.Tally, a reloc.Arch, seed uint64, inputs int) error {
	w, err := emu.NewWorker(o, a.Info(), seed)
	if err != nil {
		return err
	}
	defer w.Close()
	rnd := rand.New(rand.NewPCG(seed, 7))
	var buf [40]byte
	for n := range inputs {
		if n&255 == 0 {
			if err := w.UseArena(n >> 8 % w.Arenas()); err != nil {
				return err
			}
		}
		code := w.Random(buf[:0])
		if rnd.IntN(2) == 0 {
			code = vex(rnd, buf[:0])
		}
		envs := []reloc.Env{w.Env(), w.Env()}
		if _, err := w.JudgeCode(tally, a, code, envs, emu.Options{States: 12, Interrupt: 1, Placements: 1}); err != nil {
			return err
		}
	}
	return nil
}

// vex is a random instruction with a VEX prefix, mostly with the fields that
// most have.
func vex(rnd *rand.Rand, b []byte) []byte {
	v := rnd.Uint64()
	third := byte(v>>8)&0x85 | 0x78
	if v&1 == 0 {
		third = byte(v >> 8) // any W and vvvv
	}
	if v&6 == 0 {
		b = append(b, 0xc5, third|0x80)
	} else {
		b = append(b, 0xc4, 0xe0|byte(1+v>>16%3), third)
	}
	b = append(b, byte(v>>24), byte(v>>32))
	if v>>56&1 == 0 {
		b[len(b)-1] = b[len(b)-1]&0x38 | 5
	}
	for range 10 {
		b = append(b, byte(rnd.Uint64()))
	}
	return b
}
