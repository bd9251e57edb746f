package emu

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Verdict is the outcome of a comparison.
type Verdict uint8

// The verdicts.
const (
	Match Verdict = iota
	Mismatch
	Unsupported
	Suspect
)

var verdictNames = [...]string{"match", "mismatch", "unsupported", "suspect"}

func (v Verdict) String() string { return verdictNames[v] }

// Limit is a row of an oracle's capability table. A row matches an instruction
// if its key, cut to Mask, is Value, its class is in Classes (zero: any) and
// one of Hazards is among its hazards (zero: any). It counts for plans of the
// forms in Forms. A row whose verdict is Match
// restricts less: the instruction is compared, but not between the rounds of a
// repeated one, where the oracle does not have all of its state.
type Limit struct {
	Name    string // of the row, unique in the table
	Verdict Verdict
	Mask    uint64
	Value   uint64
	Classes Classes
	Hazards fixups.Hazards
	Forms   fixups.Forms // zero: all forms
	// Refused: the oracle lacks some of what the row matches and says so by an
	// undefined instruction. What it executes is compared like anything else; what
	// it refuses is unsupported and counted under the row. Verdict is Match.
	Refused bool
	Why     string
	// Sample is an encoding that the row matches, for the test that the row is
	// needed: Bytes at any address.
	Sample string
}

// Classes is a set of classes.
type Classes uint32

// ClassSet returns the set of the given classes.
func ClassSet(classes ...fixups.Class) Classes {
	var s Classes
	for _, c := range classes {
		s |= 1 << c
	}
	return s
}

// AppendLimits appends the rows that match an instruction, in their order, to
// dst. in may be nil: then only keys are looked at.
func AppendLimits(dst []*Limit, t *Target, rows []Limit, code []byte, in *reloc.Insn) []*Limit {
	key := t.Key(code)
	for i := range rows {
		r := &rows[i]
		switch {
		case key&r.Mask != r.Value:
		case r.Classes != 0 && (in == nil || r.Classes>>in.Class&1 == 0):
		case r.Hazards != 0 && (in == nil || in.Hazards&r.Hazards == 0):
		default:
			dst = append(dst, r)
		}
	}
	return dst
}
