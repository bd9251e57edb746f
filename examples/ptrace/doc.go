// Ptrace runs a program with a probe on every instruction of the functions that
// are asked for, and the program does not notice.
//
// It is the debugger's way of executing out of line: each probed instruction has
// a breakpoint in place of its first byte, the breakpoint is never taken out to
// let a thread pass, and what it replaced is done elsewhere, by a plan in one of
// two forms:
//
//   - emulate: the runner does what the instruction does, by a fixup program over
//     the thread's registers and memory;
//   - step: the thread runs a copy in a slot, one single-step long, between the
//     plan's programs pre and post; a fault or a signal before that step is taken
//     back by abort, so that it appears at the site.
//
// Usage:
//
//	ptrace [flags] -- PROGRAM [ARGUMENT]...
//	ptrace [flags] -p PID
//
// See README.md beside this file for the flags, and for what each part shows.
// The protocol itself is in docs/design.md; hit.go follows it line by line.
package main
