package unicorn

import (
	"debug/elf"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

var (
	soakArch = flag.String("soakarch", "", "architecture of TestSoak; empty: all")
	soakTime = flag.Duration("soak", 0, "how long TestSoak runs; 0: a few thousand inputs, the same every time")
	soakSeed = flag.Uint64("soakseed", 0, "seed of TestSoak; 0: from the clock if -soak is given, else 1")
	soakLast = flag.String("soaklast", "", "file that holds the code being judged, for an emulator that ends the process; slow")
	soakFile = flag.String("soakfile", "", "ELF file whose text is half of the input of TestSoak")
)

// TestSoak judges random encodings, and instructions of a program, in random
// environments, until the time is over.
//
//	go test -run TestSoak -v -soak=10m -soakfile=/usr/lib/x86_64-linux-gnu/libc.so.6
func TestSoak(t *testing.T) {
	limit, seed := *soakTime, *soakSeed
	inputs := math.MaxInt
	if limit == 0 {
		// The same cases in every short run.
		limit, inputs, seed = time.Hour, 4096, max(seed, 1)
	}
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	text := programText(t, *soakFile)
	t.Logf("seed %d", seed)
	for _, a := range arches() {
		if *soakArch != "" && *soakArch != a.Info().Name {
			continue
		}
		t.Run(a.Info().Name, func(t *testing.T) {
			deadline := time.Now().Add(limit / 2)
			var wg sync.WaitGroup
			tallies := make([]emu.Tally, runtime.GOMAXPROCS(0))
			for i := range tallies {
				wg.Go(func() {
					if err := soak(&tallies[i], a, text, seed+uint64(i), deadline, inputs); err != nil {
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

// soak is one worker of TestSoak.
func soak(tally *emu.Tally, a reloc.Arch, text []byte, seed uint64, deadline time.Time, inputs int) error {
	w, err := emu.NewWorker(Oracle, a.Info(), seed)
	if err != nil {
		return err
	}
	defer w.Close()
	envs := environments(a)
	rnd := rand.New(rand.NewPCG(seed, 7))
	var buf [40]byte
	for n := range inputs {
		if n&1023 == 0 {
			if time.Now().After(deadline) {
				return nil
			}
			if err := w.UseArena(n >> 10 % w.Arenas()); err != nil {
				return err
			}
		}
		code := w.Random(buf[:0])
		if len(text) > 64 && rnd.IntN(2) == 0 {
			at := rnd.IntN(len(text) - 32)
			code = text[at : at+16]
		}
		if *soakLast != "" {
			if err := os.WriteFile(*soakLast, fmt.Appendf(nil, "%s %x\n", a.Info().Name, code), 0o644); err != nil {
				return err
			}
		}
		some := []reloc.Env{randomEnv(rnd, envs), randomEnv(rnd, envs)}
		opt := emu.Options{States: 16, Interrupt: 1, Placements: 1}
		if _, err := w.JudgeCode(tally, a, code, some, opt); err != nil {
			return fmt.Errorf("seed %d, %x: %w", seed, code, err)
		}
	}
	return nil
}

// randomEnv varies one of envs.
func randomEnv(rnd *rand.Rand, envs []reloc.Env) reloc.Env {
	e := envs[rnd.IntN(len(envs))]
	v := rnd.Uint64()
	e.Return = fixups.Returns(v & 1)
	e.Spill = v>>1&1 != 0
	e.Data = v>>2&3 == 0
	e.Short = v>>4&3 == 0
	e.AllowLost = v>>6&3 == 0
	e.ExecuteOnly = v>>8&7 == 0
	e.Private = v>>11&7 == 0
	e.Stop = fixups.Stop(v >> 14 & 1)
	if v>>15&3 == 0 {
		e.Lang = reloc.LangGo
	}
	if v>>17&7 == 0 {
		e.Zone, e.Kept = reloc.Bytes{Set: true}, reloc.Bytes{Set: true}
	}
	if v>>20&3 == 0 {
		e.Dead = fixups.MakeRegSet(fixups.Reg(v>>24&7), fixups.Reg(v>>27&7))
		e.Dead.Remove(4)
		e.Dead.Remove(7)
	}
	return e
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
