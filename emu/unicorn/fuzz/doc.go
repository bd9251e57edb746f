// Package fuzz holds the fuzz targets that need an emulator: random
// instructions, in random environments, are planned, and each plan is executed
// beside its site.
//
//	go test -fuzz FuzzEquivalent     contract C3: same final state
//	go test -fuzz FuzzInterrupt      contract C4: stopped anywhere, and continued
//
// Inputs are bytes of code and a seed, from which environment, states and
// placement follow.
package fuzz
