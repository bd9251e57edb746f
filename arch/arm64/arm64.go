// Package arm64 is the port for the A64 instruction set of Arm processors.
//
// What is known of each encoding stands in the text files of tables/, one row an
// encoding or a group of them, as bit strings 31 to 0 like those of the manual; a
// generator turns them into z_tables.go. An encoding without a row is refused.
// Sources of rows cite the Arm Architecture Reference Manual for A-profile, Arm
// DDI 0487, unless they name another document.
//
// Instructions are little-endian whatever the order of data, which [reloc.Env]
// states.
package arm64

import "github.com/xol-go/xol/reloc"

// Arch is A64. The zero value is not usable; use [A64].
type Arch struct {
	info *reloc.Info
}

// The features that plans ask Env for: without them no plan leaves an instruction away
// that not every processor has, since where it is missing the site faults. A copy
// faults as well.
const (
	// FeatureHBC: BC.cond (FEAT_HBC).
	FeatureHBC reloc.Features = 1 << iota
	// FeatureCMPBR: CB<cc>, CBB<cc>, CBH<cc> (FEAT_CMPBR).
	FeatureCMPBR
	// FeatureTME: TSTART (FEAT_TME).
	FeatureTME
)

// A64 is the instruction set of 64-bit Arm processors. It is immutable.
var A64 = &Arch{info: &infoA64}

// Info implements [reloc.Arch].
func (a *Arch) Info() *reloc.Info { return a.info }
