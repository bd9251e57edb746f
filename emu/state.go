package emu

import (
	"bytes"
	"slices"
)

// LineSize is the unit in which changed memory is reported, bytes.
const LineSize = 64

// Line is what one aligned run of [LineSize] bytes holds.
type Line struct {
	Addr uint64
	Data [LineSize]byte
}

// State is a thread: the register words of a [Target], and the lines of memory
// that differ from what the memory of the case holds at first (its base). Lines
// are sorted by address.
type State struct {
	Words []uint64
	Lines []Line
}

// StopKind says how a run ended.
type StopKind uint8

// The kinds of stop. The shims of oracles use the same numbers.
const (
	StopLeft      StopKind = iota // pc left the window of the run
	StopLimit                     // as many steps as were allowed
	StopFault                     // a memory access failed
	StopException                 // the instruction raised exception Num
	StopInvalid                   // an undefined instruction
	StopHalt                      // the processor stopped by itself
	StopError                     // the oracle failed, with its error Num
)

var stopNames = [...]string{"left", "limit", "fault", "exception", "invalid", "halt", "error"}

func (k StopKind) String() string { return stopNames[k] }

// Access is the direction of a failed access; AccessNone if the oracle does not
// tell it.
type Access uint8

// The directions.
const (
	AccessNone Access = iota
	AccessRead
	AccessWrite
	AccessFetch
)

var accessNames = [...]string{"", "read", "write", "fetch"}

func (a Access) String() string { return accessNames[a] }

// Stop is the end of a run. Its layout is that of the oracles' shims.
type Stop struct {
	Addr         uint64 // of the failed access
	Steps        uint32 // instructions begun; a repeated one counts each time
	First, Lines uint32 // the run's part of [Batch.Lines]
	Num          uint16
	Kind         StopKind
	Access       Access
}

// faulted reports whether the run ended inside an instruction.
func (s *Stop) faulted() bool { return s.Kind != StopLeft && s.Kind != StopLimit }

// same reports whether two runs ended in the same way, positions in the batch
// and steps aside.
func (s *Stop) same(o *Stop) bool {
	return s.Kind == o.Kind && s.Access == o.Access && s.Num == o.Num && s.Addr == o.Addr
}

// equalLines reports whether two lists of lines are the same.
func equalLines(a, b []Line) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Addr != b[i].Addr || !bytes.Equal(a[i].Data[:], b[i].Data[:]) {
			return false
		}
	}
	return true
}

// equalWords compares two states of the same target, 16 words at a time, which
// the compiler leaves to the runtime's comparison of memory.
func equalWords(a, b []uint64) bool {
	b = b[:len(a)]
	for len(a) >= 16 {
		if [16]uint64(a) != [16]uint64(b) {
			return false
		}
		a, b = a[16:], b[16:]
	}
	return slices.Equal(a, b)
}
