package fixups

import (
	"errors"
	"fmt"
	"hash/crc32"
)

// The binary format. docs/format.md, section Binary, is its definition; the
// names below are its names.

const (
	binMagic      = "\x89RFX\r\n\x1a\n"
	binVersion    = 1
	binFront      = 16 // bytes before the first section
	binEnd        = 48 // bytes before the section table, at the end of the file
	binSection    = 24 // bytes of an entry of the section table
	binLast       = 8  // bytes behind it: length of the end, checksum
	binMinEnd     = binEnd + binSection*numSections + binLast
	binNone       = 0xffffffff // no shape, in plain
	binPlusD      = 0x80       // of an operand kind
	binMaxRun     = 1 << 31    // bytes of a run; longer ones are split
	binHasTarget  = 1          // struct shape
	binInFile     = 1          // struct run
	binPCRel      = 1          // struct reloc
	binAddendD    = 2
	binHasBack    = 1 // struct point
	binHasForward = 2
)

// Flags of a verdict.
const (
	binFarAsked = 1 << iota
	binFar
	binIsCall
	binPrivate
	binX87
	binAlias
	binCopy
	binMinD
	binMaxD
	binVerdictFlags = 1<<iota - 1
)

// The sections, in the order of the file. Kind k is at index k-1.
const (
	secBody = iota
	secRuns
	secGaps
	secPlain
	secShapes
	secVerdicts
	secRelocs
	secPoints
	secEscapes
	secSteps
	secCode
	secStrings
	numSections
)

var secNames = [numSections]string{"body", "runs", "gaps", "plain", "shapes", "verdicts",
	"relocs", "points", "escapes", "steps", "code", "strings"}

// secItem are the bytes of one item.
var secItem = [numSections]int{1, 56, 16, 4, 120, 184, 24, 56, 4, 32, 1, 1}

// Bytes of structures that are looked into at many places.
const (
	binRun     = 56
	binSite    = 16
	binShape   = 120
	binVerdict = 184
)

// Limits of one shape and one verdict. They keep the work of checking a hostile
// table in proportion to its size.
const (
	maxVerdicts = 255  // of a shape
	maxItems    = 1024 // relocs, escapes, points: of a verdict, each
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrEncode means that something cannot be written in the binary format.
var ErrEncode = errors.New("fixups: not encodable")

// ErrBinary means that bytes are not a valid binary table; errors.As gives a
// [*FormatError].
var ErrBinary = errors.New("fixups: not a valid binary table")

// FormatError says what is wrong with a binary table, and where.
type FormatError struct {
	Offset int    // in the file, bytes
	What   string // the structure that breaks a rule
	Err    error  // the rule
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("fixups: binary table: offset %#x: %s: %v", e.Offset, e.What, e.Err)
}

// Is makes errors.Is(err, ErrBinary) true.
func (e *FormatError) Is(target error) bool { return target == ErrBinary }

// Unwrap returns the rule.
func (e *FormatError) Unwrap() error { return e.Err }

// align8 rounds n up to a multiple of 8.
func align8(n int) int { return (n + 7) &^ 7 }
