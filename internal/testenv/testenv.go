// Package testenv answers what tests ask of the machine they run on: is an
// outside judge (a compiler, a disassembler, an emulator) here?
//
// A machine with nothing but Go runs every test that needs nothing but Go and
// skips the others with a message. The project's own gate installs the judges
// and sets XOL_ORACLES=required: there, a judge that is missing is a failure,
// because a comparison that silently did not happen proves nothing.
package testenv

import (
	"os"
	"os/exec"
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
