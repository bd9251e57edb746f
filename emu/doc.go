// Package emu judges plans: it executes an instruction at its site and its copy
// in a slot, by the protocol of the plan's form, from the same state, and
// compares everything that a program could see.
//
// What executes is an [Oracle]: package emu/unicorn (a module of its own),
// package emu/native. What an instruction set looks like to an oracle is a
// [Target]: a description in data. The comparison itself knows no instruction
// set.
//
// # Verdicts
//
// A comparison has one of four verdicts. Match and Mismatch speak for
// themselves. Unsupported means that the oracle cannot execute the instruction
// as a processor would, Suspect that it executes it but is known to be wrong in
// some way; both come from a reviewed table of [Limit] rows, looked at before
// anything runs, and are counted by row. An oracle never gives a site up
// silently.
//
// # What is compared
//
// All registers of the target, all flags, pc, every byte of the memory that the
// case can write, and for a fault its kind, address and direction. Left out is
// only what the plan declares (clobbers, lost registers, the bytes below the
// zone that a spill writes, the return address of a slot-returning call, the
// x87 instruction pointers).
//
// # Interruptions
//
// At every instruction boundary that the copy reaches, the run is stopped, what
// a signal would overwrite is overwritten with random bytes, the point's program
// is run, and the site or the rest is executed: the end must be the same. A
// boundary without a point is a mismatch.
package emu
