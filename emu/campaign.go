package emu

import (
	"github.com/xol-go/xol/reloc"
)

// JudgeCode decodes the instruction at the start of code as if it stood at the
// next place of the site arena in use, points an operand that is relative to pc
// at the data page, and judges it. It answers the reason if there is no
// instruction, or one that the context refuses.
func (w *Worker) JudgeCode(t *Tally, a reloc.Arch, code []byte, envs []reloc.Env, opt Options) (reason, err error) {
	pc, data, err := w.NextSite()
	if err != nil {
		return nil, err
	}
	var in reloc.Insn
	if reason := reloc.Analyze(&in, a, code, pc, nil); reason != nil {
		return reason, nil
	}
	if w.t.Aim != nil && w.rnd.Uint64()&7 != 0 {
		own := in.Bytes
		if w.t.Aim(own[:in.Len], pc, data+256+w.rnd.Uint64()&0x9ff) {
			if reason := reloc.Analyze(&in, a, own[:in.Len], pc, nil); reason != nil {
				return reason, nil
			}
		}
	}
	if err := w.Site(&in); err != nil {
		return nil, err
	}
	return nil, w.Judge(t, a, &in, envs, opt)
}

// Random appends bytes that are likely to begin with an instruction.
func (w *Worker) Random(dst []byte) []byte { return w.t.Random(dst, w.rnd.Uint64) }

// Pick returns a random number below n.
func (w *Worker) Pick(n int) int { return w.rnd.below(n) }

// Arenas is the number of site arenas.
func (w *Worker) Arenas() int { return len(w.sites) }

// Reseed makes everything random from here on follow from seed.
func (w *Worker) Reseed(seed uint64) {
	w.seed = seed
	w.rnd = newRNG(seed)
	for i := range w.pool {
		w.pool[i] = w.rnd.Uint64()
	}
}
