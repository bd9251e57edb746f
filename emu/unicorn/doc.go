// Package unicorn judges relocated instructions with the Unicorn emulator.
//
// It is the only part of the project that needs cgo and the GPL-2.0 Unicorn
// library, and so it lives in a module of its own: a program that imports
// github.com/xol-go/xol never downloads, builds or links any of this. Binaries
// built from this module are GPL-2.0 works and are not distributed.
//
// The binding links the system's libunicorn (Debian: libunicorn-dev, 2.0.1).
//
// # How the emulator is driven
//
// [Oracle] opens engines for package emu, one for each worker. A C shim runs a
// batch of states in one call: the state of the CPU is put back before each run,
// in place, watched memory is compared with what it was and put back. Code
// goes to a ring of places that are never used twice without dropping what the
// emulator has translated there; a canary that rewrites known code in place is
// asked at every lap and is an error if stale code ran.
//
// # What it cannot judge
//
// The capability tables (limits_x86.go, limits_a64.go, limits_power.go) list what the emulator refuses or gets
// wrong, one row each with an encoding that shows it: TestLimits executes them
// all. How many sites of the corpus each row keeps from being compared stands in
// testdata/unsupported.txt, and a test fails when that grows.
//
// # Long runs
//
//	XOL_SWEEP=1 go test -run TestSoak -v -soak=10m -soakfile=/usr/bin/python3
//	go test -run '^$' -bench Ratio -benchtime 20x
//	go test -fuzz FuzzEquivalent ./fuzz
package unicorn
