package unicorn

import (
	"debug/elf"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/reloc"
)

var (
	soakArch = flag.String("soakarch", "", "architecture of TestSoak; empty: all")
	soakTime = flag.Duration("soak", 0, "how long TestSoak runs for each architecture; 0: a few thousand inputs, however long they take")
	soakLast = flag.String("soaklast", "", "file that holds the code being judged, for an emulator that ends the process; slow")
	soakFile = flag.String("soakfile", "", "ELF file whose text is half of the input of TestSoak")
)

// TestSoak judges random encodings, and instructions of a program, in random
// environments. Without -soak the inputs follow from XOL_SEED alone, 1 if it is
// not set; with it they go on until the time is over.
//
//	XOL_SWEEP=1 go test -run TestSoak -v -soak=10m -soakfile=/usr/lib/x86_64-linux-gnu/libc.so.6
func TestSoak(t *testing.T) {
	seed := testenv.Seed(t)
	text := programText(t, *soakFile)
	for _, a := range arches() {
		if *soakArch != "" && *soakArch != a.Info().Name {
			continue
		}
		t.Run(a.Info().Name, func(t *testing.T) {
			more := func(n int) bool { return n < soakInputs/a.Info().Align }
			if *soakTime > 0 {
				deadline := time.Now().Add(*soakTime)
				more = func(int) bool { return time.Now().Before(deadline) }
			}
			var wg sync.WaitGroup
			tallies := make([]emu.Tally, soakWorkers)
			for i := range tallies {
				wg.Go(func() {
					if err := soak(&tallies[i], a, text, seed+uint64(i), more); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			var sum emu.Tally
			for i := range tallies {
				sum.Merge(&tallies[i])
			}
			report(t, &sum)
		})
	}
}

// A short run is the same on every machine: so many workers, each with so many
// inputs; of sets of words, which have fewer kinds of encodings, a quarter.
const (
	soakWorkers = 2
	soakInputs  = 8192
)

// soak is one worker of TestSoak. It asks more, every thousand inputs, whether
// to go on.
func soak(tally *emu.Tally, a reloc.Arch, text []byte, seed uint64, more func(n int) bool) error {
	w, err := emu.NewWorker(Oracle, a.Info(), seed)
	if err != nil {
		return err
	}
	defer w.Close()
	rnd := rand.New(rand.NewPCG(seed, 7))
	var buf [40]byte
	fixed := a.Info().Align > 1 // words are drawn from the port's tables, too
	for n := 0; ; n++ {
		if n&1023 == 0 {
			if !more(n) {
				return nil
			}
			if err := w.UseArena(n >> 10 % w.Arenas()); err != nil {
				return err
			}
		}
		code := w.Random(buf[:0])
		if g, ok := a.(reloc.Generator); ok && fixed && rnd.IntN(2) == 0 {
			code = g.AppendRandom(buf[:0], rnd.Uint64)
		}
		if len(text) > 64 && rnd.IntN(2) == 0 {
			at := rnd.IntN(len(text)-32) / a.Info().Align * a.Info().Align
			code = text[at : at+16]
		}
		if *soakLast != "" {
			if err := os.WriteFile(*soakLast, fmt.Appendf(nil, "%s %x\n", a.Info().Name, code), 0o644); err != nil {
				return err
			}
		}
		envs := []reloc.Env{w.Env(), w.Env()}
		opt := emu.Options{States: 16, Interrupt: 1, Placements: 1}
		if _, err := w.JudgeCode(tally, a, code, envs, opt); err != nil {
			return fmt.Errorf("seed %d, %x: %w", seed, code, err)
		}
	}
}

// programText returns the code of an ELF file, nil without a name.
func programText(t *testing.T, name string) []byte {
	if name == "" {
		return nil
	}
	f, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(".text")
	if s == nil {
		t.Fatalf("%s: no .text", name)
	}
	b, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	return b
}
