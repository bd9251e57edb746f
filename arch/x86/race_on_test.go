//go:build race

package x86_test

// raceEnabled: the race detector makes Go code ten times slower.
const raceEnabled = true
