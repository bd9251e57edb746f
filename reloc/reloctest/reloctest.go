package reloctest

import (
	"testing"

	"github.com/xol-go/xol/reloc"
)

// Options says how much is tried. The zero value, and nil, are good defaults.
type Options struct {
	// Inputs are encodings to try beyond those of the Arch's own Generator and
	// random ones: the cases of a corpus, one instruction or more each.
	Inputs [][]byte
	// Random is how many inputs are drawn; 0 means 600, or 100 with
	// testing.Short; negative means none.
	Random int
	// Seed of the draws.
	Seed uint64
	// PCs are the addresses that inputs are decoded at. nil means some low, some
	// high, and the ends of the address space.
	PCs []uint64
	// Envs are the environments that plans are asked for under. nil means
	// [Envs].
	Envs []reloc.Env
	// AllRows demands that the inputs reach every row of a Describer.
	AllRows bool
	// SkipRow, if not nil, excepts rows from AllRows: those of another mode.
	SkipRow func(reloc.Row) bool
	// DecodeOnly leaves the plans out.
	DecodeOnly bool
}

// TestArch reports every violation that [Check] finds. It counts allocations, so
// the test must not be a parallel one.
func TestArch(t testing.TB, a reloc.Arch, opts *Options) {
	t.Helper()
	err := Check(a, opts)
	if err == nil {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			t.Error(e)
		}
		return
	}
	t.Error(err)
}

// Check runs the suite, alone in its process (it counts allocations). The error joins one [*Violation] for each broken rule
// and place, at most three of a rule.
func Check(a reloc.Arch, opts *Options) error {
	if opts == nil {
		opts = &Options{}
	}
	s := newSuite(a, opts)
	s.info()
	s.rows()
	for _, code := range s.inputs {
		s.code(code)
	}
	s.generator()
	if opts.AllRows {
		s.allRows()
	}
	s.noAlloc()
	s.concurrent()
	return s.rep.err()
}

// CheckCode runs what the suite has for one piece of code at one address; a
// fuzz target calls it with whatever comes.
func CheckCode(a reloc.Arch, code []byte, pc uint64) error {
	s := newSuite(a, &Options{Random: -1, PCs: []uint64{pc}})
	s.code(code)
	return s.rep.err()
}

// suite is one run.
type suite struct {
	a      reloc.Arch
	i      *reloc.Info
	opts   *Options
	rep    *report
	inputs [][]byte
	pcs    []uint64
	envs   []reloc.Env
	rnd    *rng
	hit    map[uint32]bool // rows that an input reached
	turn   int             // how many inputs there were

	plan, plan2 reloc.Plan
}

func newSuite(a reloc.Arch, opts *Options) *suite {
	s := &suite{a: a, i: a.Info(), opts: opts, rnd: &rng{opts.Seed + 1}, hit: map[uint32]bool{}}
	s.rep = newReport(s.i.Name)
	s.pcs, s.envs = opts.PCs, opts.Envs
	if s.pcs == nil {
		s.pcs = defaultPCs(s.i)
	}
	if s.envs == nil {
		s.envs = Envs(s.i)
	}
	s.inputs = s.makeInputs()
	return s
}
