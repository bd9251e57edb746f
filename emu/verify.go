package emu

import (
	"iter"

	"github.com/xol-go/xol/reloc"
)

// Verify judges the first instruction of each of code with an engine of o. They
// take turns at the site arenas, or, with opt.Everywhere, stand in each; see
// [Worker.JudgeCode]. What does not decode is counted under its reason.
// Everything random follows from seed.
func Verify(o Oracle, a reloc.Arch, code iter.Seq[[]byte], envs []reloc.Env, opt Options, seed uint64) (*Tally, error) {
	w, err := NewWorker(o, a.Info(), seed)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	t := new(Tally)
	n := 0
	for b := range code {
		turns := 1
		if opt.Everywhere {
			turns = w.Arenas()
		}
		for range turns {
			if err := w.UseArena(n % w.Arenas()); err != nil {
				return t, err
			}
			n++
			reason, err := w.JudgeCode(t, a, b, envs, opt)
			if err != nil {
				return t, err
			}
			if reason != nil {
				t.refuse(reloc.ReasonOf(reason))
			}
		}
	}
	return t, nil
}
