package corpus_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/reloc"
)

//go:generate go test -run=^TestX86Rows$ . -update

var update = flag.Bool("update", false, "rewrite the generated files")

const rowsHead = `# One case for each row of the x86 tables. Made from the tables by
# go generate ./corpus; see corpus.X86Rows. Fields between tabs: modes, bytes,
# class, hazards, pattern, mnemonic.
`

const censusHead = `# The census of x86: what the tables say of every opcode of every map, in both
# modes. Opcodes are counted once for each mandatory prefix or pp (none, 66, F3,
# F2), so a map has 1024 of them; those are reserved that no ModRM, W, L, vvvv or
# mask makes valid. Prefixes and escapes to other maps count as reserved. Rows
# that several encodings share (REX2 and legacy) count in each of them.
`

// TestX86Rows makes the row cases and the census from the tables and compares
// them with the files.
func TestX86Rows(t *testing.T) {
	if testenv.Race {
		t.Skip("counts encodings in one goroutine; runs without the race detector")
	}
	if testing.Short() && !*update {
		t.Skip("the sweep takes seconds; TestX86RowCases checks what it made")
	}
	best64, counts64 := sweepX86(x86.AMD64, true)
	best32, counts32 := sweepX86(x86.I386, false)
	var rows []corpus.Row
	for _, r := range x86.AMD64.Rows() {
		f64, ok64 := best64[r.ID]
		f32, ok32 := best32[r.ID]
		mk := func(f found, modes ...string) corpus.Row {
			return corpus.Row{Modes: modes, Bytes: f.bytes, Class: f.class, Hazards: f.hazards, Pattern: r.Pattern, Name: r.Name}
		}
		switch {
		case !ok64 && !ok32:
			t.Errorf("row %d has no encoding: %s %s", r.ID, r.Pattern, r.Name)
		case ok64 && ok32 && bytes.Equal(f64.bytes, f32.bytes) && f64.class == f32.class && f64.hazards == f32.hazards:
			rows = append(rows, mk(f64, "amd64", "386"))
		default:
			if ok64 {
				rows = append(rows, mk(f64, "amd64"))
			}
			if ok32 {
				rows = append(rows, mk(f32, "386"))
			}
		}
	}
	compare(t, "x86_rows.txt", append([]byte(rowsHead), corpus.FormatRows(rows)...))
	text := []byte(censusHead)
	text = appendCensus(text, "amd64", counts64)
	text = appendCensus(text, "386", counts32)
	compare(t, "x86_census.txt", text)
}

// appendCensus writes one table: a line for each map, a column for each class.
func appendCensus(b []byte, mode string, counts []mapCount) []byte {
	classes := []fixups.Class{}
	for c := fixups.ClassPlain; c <= fixups.ClassPrefix; c++ {
		if slices.ContainsFunc(counts, func(m mapCount) bool { return count(m, c) > 0 }) {
			classes = append(classes, c)
		}
	}
	b = fmt.Appendf(b, "\n%-9s%8s%9s%6s", mode, "opcodes", "reserved", "rows")
	for _, c := range classes {
		b = fmt.Appendf(b, "%*s", len(c.String())+2, c)
	}
	for _, m := range counts {
		b = fmt.Appendf(b, "\n%-9s%8d%9d%6d", m.name, m.opcodes, m.reserved, len(m.rows))
		for _, c := range classes {
			b = fmt.Appendf(b, "%*d", len(c.String())+2, count(m, c))
		}
	}
	return append(b, '\n')
}

func count(m mapCount, c fixups.Class) (n int) {
	for _, k := range m.rows {
		if k == c {
			n++
		}
	}
	return n
}

// compare holds a generated file against what it should be, or rewrites it.
func compare(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, want, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is stale (%v); run: go generate ./corpus", name, err)
		g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
		for i := range min(len(g), len(w)) {
			if g[i] != w[i] {
				t.Errorf("line %d is %q, want %q", i+1, g[i], w[i])
				break
			}
		}
	}
}

// TestX86RowCases decodes each row's case: the file does not trust the sweep
// that made it.
func TestX86RowCases(t *testing.T) {
	archs := map[string]*x86.Arch{"amd64": x86.AMD64, "386": x86.I386}
	seen := map[string]map[uint32]bool{"amd64": {}, "386": {}}
	for r := range corpus.X86Rows() {
		for _, mode := range r.Modes {
			a := archs[mode]
			var in reloc.Insn
			if err := a.Decode(&in, r.Bytes, 0x401000); err != nil || int(in.Len) != len(r.Bytes) {
				t.Errorf("%s %x: %v after %d bytes", mode, r.Bytes, err, in.Len)
				continue
			}
			row, _ := a.Row(in.Row)
			if row.Pattern != r.Pattern || row.Name != r.Name || in.Class != r.Class || in.Hazards != r.Hazards {
				t.Errorf("%s %x: %v, row %s %s; want %+v", mode, r.Bytes, in.Class, row.Pattern, row.Name, r)
			}
			if seen[mode][in.Row] {
				t.Errorf("%s: a second case of row %s %s", mode, row.Pattern, row.Name)
			}
			seen[mode][in.Row] = true
		}
	}
	for _, r := range x86.AMD64.Rows() {
		if !seen["amd64"][r.ID] && !seen["386"][r.ID] {
			t.Errorf("row %d has no case: %s %s", r.ID, r.Pattern, r.Name)
		}
	}
}
