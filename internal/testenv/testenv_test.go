package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestChild is what the other tests run in a process of its own, since a test
// cannot watch itself fail.
func TestChild(t *testing.T) {
	if os.Getenv("XOL_TESTENV_CHILD") == "" {
		t.Skip("only run as a child process")
	}
	Tool(t, "no-such-tool", "none-such-either")
}

func TestToolAbsent(t *testing.T) {
	tests := []struct {
		oracles, verdict string
	}{
		{"required", "--- FAIL"},
		{"", "--- SKIP"},
	}
	for _, tt := range tests {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
		cmd.Env = append(os.Environ(), "XOL_TESTENV_CHILD=1", "XOL_ORACLES="+tt.oracles)
		out, err := cmd.CombinedOutput()
		if failed := tt.oracles == "required"; failed != (err != nil) {
			t.Errorf("XOL_ORACLES=%q: exit %v\n%s", tt.oracles, err, out)
		}
		for _, want := range []string{tt.verdict, "no-such-tool or none-such-either"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("XOL_ORACLES=%q: no %q in\n%s", tt.oracles, want, out)
			}
		}
	}
}

func TestToolPresent(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "second.exe")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if got := Tool(t, "first.exe", "second.exe"); got != path {
		t.Errorf("Tool = %q, want %q", got, path)
	}
}
