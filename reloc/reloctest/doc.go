// Package reloctest is the conformance suite of the contract of package reloc:
// it holds for any [reloc.Arch], and it is what the author of a port runs first.
//
//	func TestConformance(t *testing.T) {
//		reloctest.TestArch(t, x86.AMD64, nil)
//	}
//
// The suite feeds an Arch with bytes (random ones, those of its own generator,
// and what the caller adds), at several addresses, cut at every length, and
// asks for plans under many environments. It knows no instruction set: what it
// checks are the rules that follow from the contract alone, such as that a
// prefix of an instruction is truncated, that slot code decodes with the same
// Arch and has a point at each boundary, that each program brings a thread to
// where it says, and that a slot one step outside the reach is refused. Each
// broken rule is reported with the contract it belongs to (C1 to C9 of
// docs/design.md), the bytes and the address.
//
// It does not execute instructions: whether a plan is equivalent is for the
// oracles to say (package emu).
package reloctest
