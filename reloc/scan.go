package reloc

import "github.com/xol-go/xol/fixups"

// Scanner walks code faster than one Decode after another, for a writer of
// tables: it tells where instructions start, and of those that are not plain
// copies of a length ([ShapeCopy]) which key they have. It holds state and serves
// one goroutine.
type Scanner interface {
	// Scan walks text[at:end], where an instruction starts at at, and returns where
	// the next one starts that it leaves to [Arch.Decode]: one that it does not
	// know, that does not decode, that reaches behind end, or that can have a say
	// about its neighbours (a trap, a shadow). end is the end of the code. Sixteen
	// more bytes of text have to follow it, whatever they are. pc is the address of
	// text[0].
	//
	// Of the instructions before the one returned it sets the bits in s.Starts, and
	// appends those to s.Sites that are not ShapeCopy; Shape is what Key would
	// return for them.
	Scan(s *Scan, text []byte, at, end int, pc uint64) int

	// Key returns the number of a key that ShapeKey has given for in.
	Key(in *Insn, key *[2]uint64) fixups.ShapeID

	// Keys returns the keys by number, each with the first instruction that had
	// it. What was returned stays as it is.
	Keys() []ScanKey
}

// Scan is what a [Scanner] finds.
type Scan struct {
	Starts []uint64      // bit i mod 64 of word i/64: an instruction starts at text[i]
	Sites  []fixups.Site // offsets from text[0]; Shape is a number of a key
	Copies uint32        // bit n: an instruction of n bytes is ShapeCopy
	Own    int           // sites that are ScanOwn
}

// ScanOwn stands for the number of a key where [Shaper.ShapeKey] says ShapeOwn.
const ScanOwn fixups.ShapeID = 1<<32 - 1

// ScanKey is a key and the first instruction that had it.
type ScanKey struct {
	Key  [2]uint64
	Insn Insn
}

// ScanShaper is implemented by ports that have a Scanner.
type ScanShaper interface {
	Shaper
	NewScanner() Scanner
}
