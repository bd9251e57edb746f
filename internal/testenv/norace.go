//go:build !race

package testenv

// Race reports whether the race detector is on. Tests that only count, or that
// wait for other programs, skip then: they have no second goroutine to race with,
// and run without the detector in the same gate.
const Race = false
