package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/xol-go/xol/internal/relocgen"
)

// heapWatch is a writer that forgets what it is given and notes how large the
// heap has become.
type heapWatch struct{ written, peak uint64 }

func (h *heapWatch) Write(b []byte) (int, error) {
	h.written += uint64(len(b))
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.peak = max(h.peak, m.HeapAlloc)
	return len(b), nil
}

// TestTableMemory: a function may be as large as the file; its sites are not
// collected.
func TestTableMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes half a gigabyte")
	}
	b := elfBuilder{machine: 62, is64: true, addr: 0x401000, code: bytes.Repeat([]byte{0x90}, 200<<10),
		syms: []symbol{{"f", 0, 200 << 10}}}
	name := filepath.Join(t.TempDir(), "prog")
	if err := os.WriteFile(name, b.build(), 0o644); err != nil {
		t.Fatal(err)
	}
	w := &heapWatch{}
	code := relocgen.Main([]string{"relocgen", "table", "--jsonl", name},
		&relocgen.Streams{In: strings.NewReader(""), Out: w, Err: os.Stderr})
	if code != 0 || w.written < 300<<20 {
		t.Fatalf("exit code %d, %d bytes", code, w.written)
	}
	if w.peak > 96<<20 {
		t.Errorf("heap of %d MiB for %d MiB of output", w.peak>>20, w.written>>20)
	}
}
