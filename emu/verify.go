package emu

import (
	"iter"

	"github.com/xol-go/xol/reloc"
)

// Verify judges instructions with an engine of o: each pair of insns is an
// address and the bytes from there on, of which the first instruction counts.
// What does not decode, or what its context forbids to move, is counted under
// its reason. Everything random follows from seed.
func Verify(o Oracle, a reloc.Arch, insns iter.Seq2[uint64, []byte], envs []reloc.Env, opt Options, seed uint64) (*Tally, error) {
	w, err := NewWorker(o, a.Info(), seed)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	t := new(Tally)
	for pc, code := range insns {
		var in reloc.Insn
		if err := reloc.Analyze(&in, a, code, pc, nil); err != nil {
			t.refuse(reloc.ReasonOf(err))
			continue
		}
		if err := w.SiteAt(&in); err != nil {
			t.limit("address") // the engine has no memory there
			continue
		}
		if err := w.Judge(t, a, &in, envs, opt); err != nil {
			return t, err
		}
	}
	return t, nil
}
