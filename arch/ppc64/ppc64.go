// Package ppc64 is the port for 64-bit Power, in both byte orders.
//
// What is known of each encoding stands in the text files of tables/, one row an
// encoding, as bit strings in the manual's numbering (bit 0 first); a generator
// turns them into z_tables.go. An encoding without a row is refused. Sources of
// rows cite the Power ISA, version 3.1C, unless they name another version.
package ppc64

import "github.com/xol-go/xol/reloc"

// Arch is one byte order of Power. The zero value is not usable; use [BE] or
// [LE].
type Arch struct {
	info *reloc.Info
	big  bool
}

// The instruction sets. They are immutable.
var (
	// BE has instructions and data in big-endian order (ppc64; ELFv1 and ELFv2).
	BE = &Arch{info: &infoBE, big: true}
	// LE has both in little-endian order (ppc64le; ELFv2). The prefix of a
	// two-word instruction comes first all the same (Power ISA, Book I, 1.6).
	LE = &Arch{info: &infoLE}
)

// Info implements [reloc.Arch].
func (a *Arch) Info() *reloc.Info { return a.info }

// The features that plans ask Env for. Without them no plan uses, or leaves away, an
// instruction that not every processor of the ABI has.
const (
	// FeatureISA207: processors of ISA 2.07 and later (POWER8), which have TAR. Every
	// little-endian one is.
	FeatureISA207 reloc.Features = 1 << iota
	// FeatureISA300: processors of ISA 3.0 and later (POWER9), which have addpcis.
	FeatureISA300
	// FeatureISA310: processors of ISA 3.1 and later (Power10), which have
	// instructions of two words.
	FeatureISA310
)
