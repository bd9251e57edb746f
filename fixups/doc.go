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
// A [Table] holds an [Entry] for each site of an object file, with a [Verdict]
// for each form. It is written as JSON, as JSON lines, and in a binary format
// that is used where it lies ([OpenBinary], [Encoder]); docs/format.md defines
// all three, and the text of steps ([ParseStep]).
//
// # Untrusted input
//
// [DecodeJSON], [DecodeJSONL] and [OpenBinary] accept nothing that [Entry.Check]
// would refuse. What they accept can be placed and run without a panic, and
// every program ends after at most 32 steps.
//
// # Protocol
//
// docs/design.md, section "Protocol", says what a consumer does for each form;
// the doc comments of [FormStep], [FormJump] and [FormEmulate] repeat it in
// short.
package fixups
