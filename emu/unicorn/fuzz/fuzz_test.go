package fuzz

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/xol-go/xol/arch/arm64"
	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/emu/unicorn"
	"github.com/xol-go/xol/reloc"
)

// arches are the instruction sets; an input says which by its number, modulo theirs.
var arches = []reloc.Arch{x86.AMD64, x86.I386, arm64.A64, ppc64.BE, ppc64.LE}

// judge owns the engines of a fuzz process: opening one takes longer than a
// thousand comparisons. Inputs are judged one at a time.
type judge struct {
	mu      sync.Mutex
	workers map[reloc.Arch]*emu.Worker
}

func (j *judge) worker(t testing.TB, a reloc.Arch) *emu.Worker {
	if j.workers[a] == nil {
		w, err := emu.NewWorker(unicorn.Oracle, a.Info(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if j.workers == nil {
			j.workers = map[reloc.Arch]*emu.Worker{}
		}
		j.workers[a] = w
	}
	return j.workers[a]
}

// one judges one input. Everything random follows from seed.
func (j *judge) one(t *testing.T, isa uint8, code []byte, seed uint64, opt emu.Options) {
	j.mu.Lock()
	defer j.mu.Unlock()
	a := arches[int(isa)%len(arches)]
	if len(code) > a.Info().MaxLen {
		code = code[:a.Info().MaxLen]
	}
	w := j.worker(t, a)
	w.Reseed(seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	if err := w.UseArena(rnd.IntN(w.Arenas())); err != nil {
		t.Fatal(err)
	}
	var tally emu.Tally
	if _, err := w.JudgeCode(&tally, a, code, []reloc.Env{w.Env()}, opt); err != nil {
		t.Fatal(err)
	}
	for _, d := range tally.Diffs {
		t.Errorf("seed %d: %v", seed, d)
	}
}

func seeds(f *testing.F) {
	for c := range corpus.All() {
		for i, a := range arches {
			if c.Arch == a.Info().Name {
				f.Add(uint8(i), c.Bytes, uint64(len(c.Name)))
			}
		}
	}
}

func FuzzEquivalent(f *testing.F) {
	seeds(f)
	var j judge
	f.Fuzz(func(t *testing.T, isa uint8, code []byte, seed uint64) {
		j.one(t, isa, code, seed, emu.Options{States: 16})
	})
}

func FuzzInterrupt(f *testing.F) {
	seeds(f)
	var j judge
	f.Fuzz(func(t *testing.T, isa uint8, code []byte, seed uint64) {
		j.one(t, isa, code, seed, emu.Options{States: 4, Interrupt: 4, Placements: 2})
	})
}
