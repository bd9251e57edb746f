package native

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/reloc"
)

// everything is a processor that has all features that can be asked for.
func everything() *Features {
	all := leaf{^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0)}
	return &Features{leaf1: all, leaf7: all, leaf71: all, leafAMD1: all, leafAMD8: all, ymm: 1, opmask: 1, zmm: 1, hi16: 1, intel: true}
}

// TestAbsent executes the cases of all rows that an absent feature keeps from being
// compared: the processor refuses each. A row of the capability table that is too
// wide would hide instructions.
func TestAbsent(t *testing.T) {
	for _, a := range []reloc.Arch{x86.AMD64, x86.I386} {
		e := mustOpen(t, a.Info().Name)
		full, ran := everything(), 0
		for _, x := range featuresOf(a.Info().Name) {
			if x.has(e.isa.(*x86ISA).f) || !x.has(full) {
				continue // what counts as absent everywhere may be there
			}
			limits, matched := x.limits(), 0
			for r := range corpus.X86Rows() {
				if !slices.Contains(r.Modes, a.Info().Name) || len(emu.AppendLimits(nil, e.t, limits, r.Bytes, nil)) == 0 {
					continue
				}
				matched++
				b := e.single(e.caseAt(append(slices.Clone(r.Bytes), 0xf4)...))
				mustRun(t, e, b)
				if s := &b.Stops[0]; s.Kind != emu.StopInvalid {
					t.Errorf("%s %s: %x (%s) ends as %+v", a.Info().Name, x.name, r.Bytes, r.Name, *s)
				}
			}
			if matched == 0 && a.Info().Bits == 64 {
				t.Errorf("%s: matches no row of the tables", x.name)
			}
			ran += matched
		}
		t.Logf("%s: %d rows are refused by the processor", a.Info().Name, ran)
	}
}

// TestProcessLimits: samples are what their rows match.
func TestProcessLimits(t *testing.T) {
	for i := range processLimits {
		l := &processLimits[i]
		if l.Sample == "" {
			continue
		}
		code, err := hex.DecodeString(l.Sample)
		if err != nil {
			t.Fatal(err)
		}
		var in reloc.Insn
		if err := x86.AMD64.Decode(&in, code, 0x1000); err != nil {
			t.Fatalf("%s: %v", l.Name, err)
		}
		if len(emu.AppendLimits(nil, emu.AMD64, processLimits[i:i+1], code, &in)) != 1 {
			t.Errorf("%s does not match %s", l.Name, l.Sample)
		}
	}
}
