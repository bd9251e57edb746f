// Package fixups is the vocabulary of instruction relocation: what can be said
// about an instruction at a site, and everything a probe tool needs to execute
// a copy of it somewhere else.
//
// The package is a leaf: it imports only the standard library, knows no
// instruction set, and is meant for the side that *applies* plans (an agent, a
// debugger, a kernel module loader) as much as for the side that makes them
// (package reloc and the ports below arch/).
//
// # Words
//
// A site is the original instruction: its address, bytes and length. A slot is
// where its copy lives. A [Plan] executes one site in one [Form]. It holds slot
// code (a template with [Reloc] fields, filled in by [Place]), fixup programs
// (short lists of [Step], interpreted by [Run] over a [Machine]), and points
// (the instruction boundaries of the slot code, each with the programs that
// bring a thread back to the site or forward to its end).
//
// # Protocol
//
// docs/design.md, section "Protocol", says what a consumer does for each form;
// the doc comments of [FormStep], [FormJump] and [FormEmulate] repeat it in
// short.
package fixups
