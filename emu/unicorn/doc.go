// Package unicorn judges relocated instructions with the Unicorn emulator.
//
// It is the only part of the project that needs cgo and the GPL-2.0 Unicorn
// library, and so it lives in a module of its own: a program that imports
// github.com/xol-go/xol never downloads, builds or links any of this. Binaries
// built from this module are GPL-2.0 works and are not distributed.
//
// The binding links the system's libunicorn (Debian: libunicorn-dev, 2.0.1).
package unicorn
