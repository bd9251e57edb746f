package corpus_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xol-go/xol/arch/arm64"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/reloc"
)

//go:generate go test -run=^TestARM64Rows$|^TestARM64Census$ . -update

const arm64RowsHead = `# One case for each row of the A64 tables. Made from the tables by go generate
# ./corpus; see corpus.ARM64Rows. Fields between tabs: modes, bytes, class, hazards,
# pattern, mnemonic.
`

const arm64CensusHead = `# The census of A64: what the tables say of all 2^32 words, by bits 28 to 25, which
# are the main groups of the encoding index. Counted by arithmetic: a row with k open
# bits has 2^k words, less those that rows before it take. TestARM64Census counts a
# part of the words by decoding them, and all of them in a sweep (make sweep).
`

// arm64Groups are the main groups by bits 28 to 25 (Arm DDI 0487, C4.1).
var arm64Groups = [16]string{
	0: "sme, udf", 2: "sve",
	4: "memory", 5: "register", 6: "memory", 7: "fp, simd", 8: "immediate", 9: "immediate", 10: "branch, system", 11: "branch, system",
	12: "memory", 13: "register", 14: "memory", 15: "fp, simd",
}

// arm64Table reads the text of the tables again, without the port's generator: the
// rows in their order, and those that take encodings away, which have no number.
func arm64Table(t *testing.T) (rows []*bitRow) {
	t.Helper()
	ids := arm64.A64.Rows()
	for _, file := range []string{"branch.txt", "system.txt", "integer.txt", "memory.txt", "vector.txt"} {
		text, err := os.ReadFile(filepath.Join("../arch/arm64/tables", file))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			pattern, rest, ok := strings.Cut(strings.TrimSpace(line), " : ")
			if !ok || line[0] == '#' || line[0] == '@' {
				continue
			}
			name, _, _ := strings.Cut(rest, " ; ")
			r := reloc.Row{Pattern: pattern, Name: name}
			if name != "-" {
				if len(ids) == 0 || ids[0].Pattern != pattern || ids[0].Name != name {
					t.Fatalf("%s: the port has another row here than %s", file, line)
				}
				r, ids = ids[0], ids[1:]
			}
			rows = append(rows, parseBits(t, r))
		}
	}
	if len(ids) > 0 {
		t.Fatalf("the port has rows that the tables have not: %+v", ids[0])
	}
	return rows
}

// leastA64 returns the encoding of the row with the fewest bits set: all open bits
// zero, or some of them where rows before take that.
func leastA64(r *bitRow, rnd *rand.Rand) (uint32, bool) {
	open := ^uint32(r.mask)
	if w := uint32(r.value); rowOfA64(w) == r.ID {
		return w, true
	}
	for a := open; a != 0; a &= a - 1 {
		if w := uint32(r.value) | a&-a; rowOfA64(w) == r.ID {
			return w, true
		}
	}
	for range 1000 {
		if w := uint32(r.value) | rnd.Uint32()&open; rowOfA64(w) == r.ID {
			return w, true
		}
	}
	return 0, false
}

// rowOfA64 is the row that decodes a word, 0 if there is none.
func rowOfA64(w uint32) uint32 {
	var in reloc.Insn
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], w)
	if arm64.A64.Decode(&in, b[:], 0x401000) != nil {
		return 0
	}
	return in.Row
}

// TestARM64Rows makes the row cases from the tables and compares them with the file.
func TestARM64Rows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var rows []corpus.Row
	for _, r := range arm64Table(t) {
		if r.ID == 0 {
			continue
		}
		w, ok := leastA64(r, rnd)
		if !ok {
			t.Errorf("row %d has no encoding: %s %s", r.ID, r.Pattern, r.Name)
			continue
		}
		b := binary.LittleEndian.AppendUint32(nil, w)
		var in reloc.Insn
		if err := arm64.A64.Decode(&in, b, 0x401000); err != nil || in.Hazards&^ownBytes != r.Hazards {
			t.Errorf("%x: %v, hazards %b; the row has %b", b, err, in.Hazards, r.Hazards)
		}
		rows = append(rows, corpus.Row{
			Modes: []string{"arm64"}, Bytes: b, Class: r.Class, Hazards: in.Hazards, Pattern: r.Pattern, Name: r.Name,
		})
	}
	compare(t, "arm64_rows.txt", append([]byte(arm64RowsHead), corpus.FormatRows(rows)...))
}

// ownBytes depends on the literal that a load names.
const ownBytes = fixups.Hazards(1 << fixups.HazardReadsOwnBytes)

// TestARM64RowCases decodes each row's case: the file does not trust the test that
// made it.
func TestARM64RowCases(t *testing.T) {
	seen := map[uint32]bool{}
	for r := range corpus.ARM64Rows() {
		var in reloc.Insn
		if err := arm64.A64.Decode(&in, r.Bytes, 0x401000); err != nil || int(in.Len) != len(r.Bytes) {
			t.Errorf("%x: %v after %d bytes", r.Bytes, err, in.Len)
			continue
		}
		row, _ := arm64.A64.RowOf(&in)
		if row.Pattern != r.Pattern || row.Name != r.Name || in.Class != r.Class || in.Hazards != r.Hazards {
			t.Errorf("%x: %v, row %s %s; want %+v", r.Bytes, in.Class, row.Pattern, row.Name, r)
		}
		if seen[in.Row] {
			t.Errorf("a second case of row %s %s", row.Pattern, row.Name)
		}
		seen[in.Row] = true
	}
	for _, r := range arm64.A64.Rows() {
		if !seen[r.ID] {
			t.Errorf("row %d has no case: %s %s", r.ID, r.Pattern, r.Name)
		}
	}
}

// a64Census counts the words of one value of bits 28 to 25.
type a64Census [fixups.ClassPrefix + 1]uint64 // invalid: reserved

// countA64 counts words by arithmetic. It returns what each row takes, too.
func countA64(rows []*bitRow) (groups [16]a64Census, takes []uint64) {
	for i := range groups {
		groups[i][fixups.ClassInvalid] = 1 << 28
	}
	var before []region
	for _, r := range rows {
		sum := uint64(0)
		for i := range groups {
			g := region{0xf << 25, uint64(i) << 25}
			if (g.value^r.value)&g.mask&r.mask != 0 {
				continue
			}
			n := region{g.mask | r.mask, g.value | r.value}.size(32, before)
			sum += n
			if r.ID != 0 {
				groups[i][r.Class] += n
				groups[i][fixups.ClassInvalid] -= n
			}
		}
		before = append(before, region{r.mask, r.value})
		takes = append(takes, sum)
	}
	return groups, takes
}

// TestARM64Census makes the census and compares it with the file, and holds the
// arithmetic against Decode.
func TestARM64Census(t *testing.T) {
	rows := arm64Table(t)
	groups, takes := countA64(rows)
	compare(t, "arm64_census.txt", formatA64(rows, &groups, takes))
	if testenv.Race {
		t.Skip("counts words; runs without the race detector")
	}
	if os.Getenv("XOL_SWEEP") != "" {
		countAllA64(t, &groups)
		return
	}
	countSomeA64(t, rows)
}

// countAllA64 decodes every word.
func countAllA64(t *testing.T, want *[16]a64Census) {
	start := time.Now()
	var got [16]a64Census
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := make(chan uint32, 256)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for top := range next {
				n := countTop(top)
				mu.Lock()
				for c := range n {
					got[top>>1&15][c] += n[c]
				}
				mu.Unlock()
			}
		})
	}
	for top := range uint32(256) {
		next <- top
	}
	close(next)
	wg.Wait()
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("bits 28 to 25 are %04b: decoded %v, by arithmetic %v", i, got[i], want[i])
		}
	}
	t.Logf("2^32 words in %.1f s", time.Since(start).Seconds())
}

// countTop decodes the words whose upper byte is top.
func countTop(top uint32) (n a64Census) {
	var in reloc.Insn
	var buf [4]byte
	for i := range uint32(1 << 24) {
		binary.LittleEndian.PutUint32(buf[:], top<<24|i)
		if arm64.A64.Decode(&in, buf[:], 0x401000) == nil {
			n[in.Class]++
		} else {
			n[fixups.ClassInvalid]++
		}
	}
	return n
}

// countSomeA64 decodes words at random, and words one bit away from a row, and
// demands the row that is the first to match by its pattern.
func countSomeA64(t *testing.T, rows []*bitRow) {
	rnd := rand.New(rand.NewPCG(testenv.Seed(t), 1))
	n := 1 << 19
	if testing.Short() {
		n = 1 << 14
	}
	for i := range n {
		w := rnd.Uint32()
		if i&1 != 0 {
			r := rows[rnd.IntN(len(rows))]
			w = w&^uint32(r.mask) | uint32(r.value)
			if i&6 == 0 {
				w ^= 1 << (rnd.Uint32() & 31)
			}
		}
		want := uint32(0)
		for _, r := range rows {
			if uint64(w)&r.mask == r.value {
				want = r.ID
				break
			}
		}
		if got := rowOfA64(w); got != want {
			t.Fatalf("%08x: row %d, by pattern %d", w, got, want)
		}
	}
}

// formatA64 writes the census.
func formatA64(rows []*bitRow, groups *[16]a64Census, takes []uint64) []byte {
	var b bytes.Buffer
	b.WriteString(arm64CensusHead)
	var classes []fixups.Class
	var total a64Census
	for c := range fixups.ClassPrefix + 1 {
		for i := range groups {
			total[c] += groups[i][c]
		}
		if total[c] > 0 {
			classes = append(classes, c)
		}
	}
	line := func(bits, name string, class *a64Census) {
		fmt.Fprintf(&b, "\n%-6s%-16s", bits, name)
		for _, c := range classes {
			fmt.Fprintf(&b, "%*d", max(len(className(c))+2, 12), class[c])
		}
	}
	fmt.Fprintf(&b, "\n%-6s%-16s", "28:25", "group")
	for _, c := range classes {
		fmt.Fprintf(&b, "%*s", max(len(className(c))+2, 12), className(c))
	}
	for i := range groups {
		line(fmt.Sprintf("%04b", i), arm64Groups[i], &groups[i])
	}
	line("all", "", &total)
	sum := uint64(0)
	var parts []string
	for _, c := range classes {
		sum += total[c]
		parts = append(parts, fmt.Sprint(total[c]))
	}
	fmt.Fprintf(&b, "\n\n%s = %d = %s\n", strings.Join(parts, " + "), sum, power(sum, 0))
	numbered, taken := []*bitRow{}, []uint64{}
	for i, r := range rows {
		if r.ID != 0 {
			numbered, taken = append(numbered, r), append(taken, takes[i])
		}
	}
	formatTakes(&b, numbered, taken)
	return b.Bytes()
}
