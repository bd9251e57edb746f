package emu

import "math/bits"

// rng is a fast generator (Lemire's variant of wyrand) for states, of which a
// comparison needs hundreds of words. It is a [math/rand/v2.Source].
type rng struct{ s uint64 }

func newRNG(seed uint64) rng { return rng{s: seed*0x9e3779b97f4a7c15 + 0x786f6c} }

// Uint64 implements [math/rand/v2.Source].
func (r *rng) Uint64() uint64 {
	r.s += 0xa0761d6478bd642f
	hi, lo := bits.Mul64(r.s, r.s^0xe7037ed1a0b428db)
	return hi ^ lo
}

// below returns a number below n.
func (r *rng) below(n int) int {
	hi, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int(hi)
}
