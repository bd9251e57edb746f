package reloc

import "github.com/xol-go/xol/fixups"

// Scanner walks code faster than one Decode after another, for a writer of
// tables: it tells where instructions start, and of those that are not plain
// copies of a length ([ShapeCopy]) which key they have. It holds state and serves
// one goroutine.
type Scanner interface {
	// Scan walks the parts of text, each from its first instruction to its end or to
	// the first instruction that it leaves to [Arch.Decode]: one that does not
	// decode, that reaches behind the end, that vendors differ about, or that can
	// have a say about its neighbours (a trap, a shadow). Sixteen more bytes of text
	// have to follow each part, whatever they are. Parts ascend and do not overlap.
	//
	// Where [Info.NeedsContext] is set it stops only at what does not decode: the
	// context of an instruction is text[From:End], and where [Contexter] would
	// object, or add a hazard, the site is ScanOwn.
	//
	// Of the instructions that it has walked over it sets the bits in s.Starts, and
	// appends those to s.Sites that are not ShapeCopy, part after part; Shape is
	// what Key would return for them.
	Scan(s *Scan, text []byte, parts []ScanPart)

	// Key returns the number of a key that ShapeKey has given for in.
	Key(in *Insn, key *[2]uint64) fixups.ShapeID

	// Keys returns the keys by number, each with the first instruction that had
	// it. What was returned stays as it is.
	Keys() []ScanKey
}

// ScanPart is code that a [Scanner] walks: text[At:End], where an instruction of
// address PC begins. From, which is not behind At, is where the code begins that may
// have a say about it: the function. Scan sets the other fields: Stop is where the
// next instruction starts, Sites how many sites the part has, and Own how many of
// these are ScanOwn.
type ScanPart struct {
	PC            uint64
	From, At, End int
	Stop          int
	Sites, Own    int
}

// Scan is what a [Scanner] finds.
type Scan struct {
	Starts []uint64      // bit i mod 64 of word i/64: an instruction starts at text[i]
	Sites  []fixups.Site // offsets from the start of their part; Shape is a number of a key
	Copies uint32        // bit n: an instruction of n bytes is ShapeCopy
}

// ScanOwn stands for the number of a key where [Shaper.ShapeKey] says ShapeOwn, or
// neighbours have a say.
const ScanOwn fixups.ShapeID = 1<<32 - 1

// ScanKey is a key and the first instruction that had it.
type ScanKey struct {
	Key  [2]uint64
	Insn Insn
}

// ScanShaper is implemented by ports that have a Scanner. Their Retarget takes
// instructions without a target, too: it appends the bytes with another D, or as
// they are if no field holds it.
type ScanShaper interface {
	Shaper
	NewScanner() Scanner

	// ShapeD returns the D of in: Target - PC if it has a target, else a number in
	// its encoding that is no part of its key, 0 if there is none.
	ShapeD(in *Insn) int64
}
