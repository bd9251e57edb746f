// Package gentest tests the commands that generate the tables of the ports.
package gentest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/xol-go/xol/internal/gen"
	"github.com/xol-go/xol/internal/testenv"
)

// Generated demands that the files of the port are what its rows generate.
func Generated(t *testing.T, tables gen.Tables) {
	t.Helper()
	if testenv.Race {
		t.Skip("regenerates in one goroutine; runs without the race detector")
	}
	port := filepath.Join("../../../arch", tables.Arch)
	code, page, err := tables.Generate(port)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]byte{gen.CodeFile: code, tables.PageFile(): page} {
		got, err := os.ReadFile(filepath.Join(port, file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale; run: go generate ./arch/%s", file, tables.Arch)
		}
	}
}

// Mistake is a text of rows, and what is said of it.
type Mistake [2]string

// Mistakes demands that parse, given a table called file with these rows, reports
// each mistake, and rows without a source.
func Mistakes(t *testing.T, file, row string, list []Mistake, parse func(fs.FS) error) {
	t.Helper()
	report := func(text, want string) {
		t.Helper()
		err := parse(fstest.MapFS{file: {Data: []byte(text + "\n")}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	for _, m := range list {
		report("@source here\n"+m[0], m[1])
	}
	report(row, file+":1: no @source")
	if err := parse(fstest.MapFS{file: {Data: []byte("@source here\n" + row + "\n")}}); err != nil {
		t.Errorf("a row without a mistake: %v", err)
	}
}
