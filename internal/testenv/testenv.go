// Package testenv answers what tests ask of the machine they run on: is an
// outside judge (a compiler, a disassembler, an emulator) here?
//
// A machine with nothing but Go runs every test that needs nothing but Go and
// skips the others with a message. The project's own gate installs the judges
// and sets XOL_ORACLES=required: there, a judge that is missing is a failure,
// because a comparison that silently did not happen proves nothing.
package testenv

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Required reports whether every outside judge must be present.
func Required() bool { return os.Getenv("XOL_ORACLES") == "required" }

// Missing ends the test: as a failure if judges are required, else as a skip.
// what names the judge and, if it can, the package that brings it.
func Missing(t testing.TB, what string) {
	t.Helper()
	if Required() {
		t.Fatalf("missing: %s (XOL_ORACLES=required)", what)
	}
	t.Skipf("missing: %s; make test installs it", what)
}

// Tool returns the path of the first of names that is an executable on PATH,
// and otherwise ends the test as [Missing] does.
func Tool(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, strings.Join(names, " or "))
	return ""
}

// Seed is what everything random in a test follows from: XOL_SEED if it is set,
// else 1, so that the gate does not depend on luck; a sweep (XOL_SWEEP) draws a
// new one each time. It is printed.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(1)
	if v := os.Getenv("XOL_SEED"); v != "" {
		n, err := strconv.ParseUint(v, 0, 64)
		if err != nil {
			t.Fatalf("XOL_SEED: %v", err)
		}
		seed = n
	} else if os.Getenv("XOL_SWEEP") != "" {
		seed = rand.Uint64()
	}
	t.Logf("XOL_SEED=%#x", seed)
	return seed
}
