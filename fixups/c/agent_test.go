package c_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// example writes the code of docs/c.md to a file.
func example(t *testing.T, dir string) {
	t.Helper()
	doc, err := os.ReadFile("../../docs/c.md")
	if err != nil {
		t.Fatal(err)
	}
	var code []byte
	for _, m := range regexp.MustCompile("(?s)```c\n(.*?)```").FindAllSubmatch(doc, -1) {
		code = append(code, m[1]...)
	}
	if err := os.WriteFile(filepath.Join(dir, "example.h"), code, 0o644); err != nil {
		t.Fatal(err)
	}
}

// probedTable is the table of the agent's function.
func probedTable(t *testing.T, agent string) []byte {
	t.Helper()
	f, err := elf.Open(agent)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range syms {
		if s.Name != "probed" {
			continue
		}
		text := f.Sections[s.Section]
		code := make([]byte, s.Size)
		if _, err := text.ReadAt(code, int64(s.Value-text.Addr)); err != nil {
			t.Fatal(err)
		}
		return tableOf(t, x86.AMD64, code, s.Value)
	}
	t.Fatal("no symbol probed")
	return nil
}

func tableOf(t *testing.T, a reloc.Arch, code []byte, pc uint64) []byte {
	t.Helper()
	tab := &fixups.Table{Arch: a.Info().Name, Base: pc, Layout: fixups.Layout{Bits: uint8(a.Info().Bits)}}
	env := reloc.Env{Code: &reloc.Text{Addr: pc, Data: code}, SHSTK: reloc.Off, IBT: reloc.Off}
	for off := 0; off < len(code); {
		var e fixups.Entry
		if err := reloc.Describe(&e, a, code[off:], pc+uint64(off), &env, true); err != nil && e.Len == 0 {
			t.Fatal(err)
		}
		tab.Entries = append(tab.Entries, e)
		off += int(e.Len)
	}
	data, err := tab.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestAgent compiles the example of docs/c.md, and probes a function with it:
// emulated instructions, copies in slots, and a fault in a slot that the
// program's handler sees at the site.
func TestAgent(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs on linux/amd64, not in short mode")
	}
	dir := t.TempDir()
	example(t, dir)
	for _, cc := range []string{"gcc", "clang"} {
		agent := filepath.Join(dir, "agent-"+cc)
		compile(t, cc, "-std=gnu11", "-O2", "-no-pie", "-Wall", "-Wextra", "-Werror", "-I.", "-I"+dir, "-o", agent, "testdata/agent.c")
		table := filepath.Join(dir, "table.rfx")
		if err := os.WriteFile(table, probedTable(t, agent), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(agent, table).CombinedOutput()
		// 13 instructions, of which 6 cannot be emulated. Each of the two calls hits 12
		// probes, all but the ud2: the one with NULL leaves out the jmp, but hits the
		// load twice, since its fault is reported at the site. That fault happens
		// once without the probes, too.
		const want = "probes 13, refused 0, by jump 6, hits 24, faults 2\n"
		if err != nil || string(out) != want {
			t.Errorf("%s: %v\n%s", cc, err, out)
		}
	}
}
