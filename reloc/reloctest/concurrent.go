package reloctest

import (
	"sync"
	"testing"

	"github.com/xol-go/xol/reloc"
)

// noAlloc counts allocations over all inputs.
func (s *suite) noAlloc() {
	var in reloc.Insn
	for _, code := range s.inputs {
		// Both runs are warm: the plan has grown by then.
		run := func() { s.quiet(&in, code) }
		// The count is that of the whole process: an allocation by the runtime or
		// by the program under test may fall into one run. A port that allocates
		// does so in each.
		n := testing.AllocsPerRun(1, run)
		for again := 0; n > 0 && again < 3; again++ {
			n = testing.AllocsPerRun(1, run)
		}
		if n > 0 {
			s.rep.add(ruleNoAlloc, code, s.pcs[0], "%.0f allocations", n)
			return
		}
	}
}

// quiet decodes code and asks for a plan under each environment, nothing more.
func (s *suite) quiet(in *reloc.Insn, code []byte) {
	defer func() { _ = recover() }() // no-panic has reported it
	for i := range s.envs {
		if reloc.Analyze(in, s.a, code, s.pcs[0], &s.envs[i]) == nil && !s.opts.DecodeOnly {
			_ = s.a.Plan(&s.plan, in, &s.envs[i])
		}
	}
}

// concurrent decodes and plans the same inputs from several goroutines and
// compares every answer. Under the race detector it finds shared state as well.
func (s *suite) concurrent() {
	want := s.digest()
	var wg sync.WaitGroup
	got := make([]uint64, 4)
	for g := range got {
		wg.Go(func() {
			clone := &suite{a: s.a, i: s.i, opts: s.opts, inputs: s.inputs, pcs: s.pcs, envs: s.envs}
			got[g] = clone.digest()
		})
	}
	wg.Wait()
	for _, d := range got {
		if d != want {
			s.rep.add(ruleSame, nil, 0, "several goroutines at once get other answers than one")
			return
		}
	}
}

// digest hashes all answers for the first address.
func (s *suite) digest() uint64 {
	h := rng{}
	mix := func(v uint64) { h.s ^= v; h.next() }
	var in reloc.Insn
	for _, code := range s.inputs {
		err := s.decode(&in, code, s.pcs[0])
		mix(uint64(in.Len)<<32 | uint64(in.Row))
		if err != nil || s.opts.DecodeOnly {
			continue
		}
		mix(in.Target)
		for i := range s.envs[:min(3, len(s.envs))] {
			if s.ask(&s.plan, &in, &s.envs[i]) == nil {
				mix(uint64(s.plan.Form)<<8 | uint64(len(s.plan.Points)))
				for _, b := range s.plan.Code {
					mix(uint64(b))
				}
			}
		}
	}
	return h.s
}
