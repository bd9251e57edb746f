//go:build !race

package x86_test

const raceEnabled = false
