package reloc

import "github.com/xol-go/xol/fixups"

// scratch is what the engine hands to a port by pointer. The compiler cannot see
// that a port keeps none of it, so as local variables these would be allocated
// at each call; here they live with the plan that the caller reuses.
type scratch struct {
	in  Insn
	env Env
	use RegUse
}

// maxVariants is the number of verdicts of a site: emulate, and two forms with
// near and far slots.
const maxVariants = 5

// scratchOf returns the scratch that lives in p.
func scratchOf(p *Plan) *scratch {
	room := p.Scratch()
	s, ok := (*room).(*scratch)
	if !ok {
		s = new(scratch)
		*room = s
	}
	return s
}

// firstScratch returns the scratch that lives in the first verdict of dst's
// storage, which is made if there is none.
func firstScratch(dst []fixups.Verdict) ([]fixups.Verdict, *scratch) {
	if cap(dst) == 0 {
		dst = make([]fixups.Verdict, 0, maxVariants)
	}
	return dst, scratchOf(&dst[:1][0].Plan)
}

// zeroEnv stands for a nil Env. It is never written: ports only read theirs.
var zeroEnv Env

func orZero(env *Env) *Env {
	if env == nil {
		return &zeroEnv
	}
	return env
}
