package corpus_test

import (
	"bytes"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/reloc"
)

//go:generate go test -run=^TestPPC64Rows$|^TestPPC64Census$ . -update

const ppc64RowsHead = `# One case for each row of the Power tables, in both byte orders. Made from the
# tables by go generate ./corpus; see corpus.PPC64Rows. Fields between tabs: modes,
# bytes, class, hazards, pattern, mnemonic.
`

const ppc64CensusHead = `# The census of Power: what the tables say of all 2^32 words that are no prefix, and
# of all pairs of a prefix (2^26 words of primary opcode 1) and a suffix. Counted
# by arithmetic: a row with k open bits has 2^k words, less those that rows before it
# take. TestPPC64Census counts a part of the words by decoding them, and all of them
# in a sweep (make sweep). Both byte orders have the same words.
`

// TestPPC64Rows makes the row cases from the tables and compares them with the
// file.
func TestPPC64Rows(t *testing.T) {
	var rows []corpus.Row
	for _, r := range ppc64Rows(t) {
		w, ok := r.least()
		if !ok {
			t.Errorf("row %d has no encoding: %s %s", r.ID, r.Pattern, r.Name)
			continue
		}
		for _, a := range []*ppc64.Arch{ppc64.BE, ppc64.LE} {
			var in reloc.Insn // an instruction can have hazards that its row has not, by its displacement
			_ = a.Decode(&in, r.bytes(a, w), 0x401000)
			if r.Hazards&^in.Hazards != 0 {
				t.Errorf("row %d: %s lost hazards", r.ID, r.Name)
			}
			rows = append(rows, corpus.Row{
				Modes: []string{a.Info().Name}, Bytes: r.bytes(a, w),
				Class: in.Class, Hazards: in.Hazards, Pattern: r.Pattern, Name: r.Name,
			})
		}
	}
	compare(t, "ppc64_rows.txt", append([]byte(ppc64RowsHead), corpus.FormatRows(rows)...))
}

// TestPPC64RowCases decodes each row's case: the file does not trust the test that
// made it.
func TestPPC64RowCases(t *testing.T) {
	seen := map[*ppc64.Arch]map[uint32]bool{ppc64.BE: {}, ppc64.LE: {}}
	for r := range corpus.PPC64Rows() {
		a := ppc64.BE
		if r.Modes[0] == "ppc64le" {
			a = ppc64.LE
		}
		var in reloc.Insn
		if err := a.Decode(&in, r.Bytes, 0x401000); err != nil || int(in.Len) != len(r.Bytes) {
			t.Errorf("%s %x: %v after %d bytes", r.Modes[0], r.Bytes, err, in.Len)
			continue
		}
		row, _ := a.RowOf(&in)
		if row.Pattern != r.Pattern || row.Name != r.Name || in.Class != r.Class || in.Hazards != r.Hazards {
			t.Errorf("%s %x: %v, row %s %s; want %+v", r.Modes[0], r.Bytes, in.Class, row.Pattern, row.Name, r)
		}
		if seen[a][in.Row] {
			t.Errorf("%s: a second case of row %s %s", r.Modes[0], row.Pattern, row.Name)
		}
		seen[a][in.Row] = true
	}
	for a, rows := range seen {
		for _, r := range a.Rows() {
			if !rows[r.ID] {
				t.Errorf("%s: row %d has no case: %s %s", a.Info().Name, r.ID, r.Pattern, r.Name)
			}
		}
	}
}

// opCensus counts the words of one primary opcode.
type opCensus struct {
	rows  int
	class [fixups.ClassPrefix + 1]uint64 // invalid: reserved
}

// countPPC64 counts words by arithmetic. It returns what each row takes, too.
func countPPC64(rows []*bitRow) (ops [64]opCensus, takes []uint64) {
	var before [64][]region
	for i := range ops {
		ops[i].class[fixups.ClassInvalid] = 1 << 26
	}
	ops[1].class[fixups.ClassInvalid], ops[1].class[fixups.ClassPrefix] = 0, 1<<26
	for _, r := range rows {
		if r.words == 2 {
			takes = append(takes, 0)
			continue
		}
		op := r.value >> 26
		g := region{r.mask, r.value}
		n := g.size(32, before[op])
		before[op] = append(before[op], g)
		takes = append(takes, n)
		ops[op].rows++
		ops[op].class[r.Class] += n
		ops[op].class[fixups.ClassInvalid] -= n
	}
	return ops, takes
}

// pnopRefuses are the suffixes that pnop does not take, as the table takes them
// away (tables/prefixed.txt): whole primary opcodes and instructions.
func pnopRefuses() (list []region) {
	word := func(op, xo uint64, bits int) region { return region{63<<26 | (1<<bits-1)<<1, op<<26 | xo<<1} }
	for _, op := range []uint64{1, 16, 17, 18} {
		list = append(list, word(op, 0, 0))
	}
	for _, xo := range []uint64{16, 18, 82, 146, 274, 306, 370, 402, 434, 466, 498, 528, 560} {
		list = append(list, word(19, xo, 10))
	}
	return append(list, word(31, 146, 10), word(31, 178, 10), word(0, 256, 10))
}

// countPairs counts pairs of words by arithmetic, of 2^58.
func countPairs(rows []*bitRow, takes []uint64) (by [fixups.ClassPrefix + 1]uint64) {
	var before []region
	by[fixups.ClassInvalid] = 1 << 58
	for i, r := range rows {
		if r.words != 2 {
			continue
		}
		g := region{r.mask, r.value}
		others := before
		if r.Name == "pnop" {
			for _, p := range pnopRefuses() {
				others = append(others, region{p.mask | r.mask, p.value | r.value})
			}
		}
		takes[i] = g.size(64, others) // the primary opcode of the prefix is in every mask
		before = append(before, g)
		by[r.Class] += takes[i]
		by[fixups.ClassInvalid] -= takes[i]
	}
	return by
}

// TestPPC64Census makes the census and compares it with the file, and holds the
// arithmetic against Decode.
func TestPPC64Census(t *testing.T) {
	rows := ppc64Rows(t)
	ops, takes := countPPC64(rows)
	pairs := countPairs(rows, takes)
	compare(t, "ppc64_census.txt", formatPPC64(rows, &ops, takes, &pairs))
	if testenv.Race {
		t.Skip("counts words; runs without the race detector")
	}
	if os.Getenv("XOL_SWEEP") != "" {
		countAll(t, &ops)
		return
	}
	countSome(t, rows)
	countSomePairs(t, rows)
}

// countAll decodes every word, in both byte orders.
func countAll(t *testing.T, want *[64]opCensus) {
	for _, a := range []*ppc64.Arch{ppc64.BE, ppc64.LE} {
		start := time.Now()
		var got [64]opCensus
		var wg sync.WaitGroup
		next := make(chan uint32, 64)
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				for op := range next {
					got[op].class = countOp(a, op)
				}
			})
		}
		for op := range uint32(64) {
			next <- op
		}
		close(next)
		wg.Wait()
		for op := range got {
			if got[op].class != want[op].class {
				t.Errorf("%s: primary opcode %d: decoded %v, by arithmetic %v", a.Info().Name, op, got[op].class, want[op].class)
			}
		}
		t.Logf("%s: 2^32 words in %.1f s", a.Info().Name, time.Since(start).Seconds())
	}
}

// countOp decodes the words of a primary opcode.
func countOp(a *ppc64.Arch, op uint32) (n [fixups.ClassPrefix + 1]uint64) {
	var in reloc.Insn
	var buf [4]byte
	for i := range uint32(1 << 26) {
		w := op<<26 | i
		if a == ppc64.LE {
			w = bits.ReverseBytes32(w)
		}
		buf[0], buf[1], buf[2], buf[3] = byte(w>>24), byte(w>>16), byte(w>>8), byte(w)
		switch err := a.Decode(&in, buf[:], 0x401000); err {
		case nil:
			n[in.Class]++
		case fixups.ReasonTruncated:
			n[fixups.ClassPrefix]++
		default:
			n[fixups.ClassInvalid]++
		}
	}
	return n
}

// countSome decodes words at random and demands the row that is the first to match
// by its pattern.
func countSome(t *testing.T, rows []*bitRow) {
	var by [64][]*bitRow
	for _, r := range rows {
		if r.words == 1 {
			by[r.value>>26] = append(by[r.value>>26], r)
		}
	}
	rnd := rand.New(rand.NewPCG(testenv.Seed(t), 1))
	n := 1 << 20
	if testing.Short() {
		n = 1 << 15
	}
	for range n {
		w := rnd.Uint32()
		if w>>26 == 1 {
			continue
		}
		want := uint32(0)
		for _, r := range by[w>>26] {
			if uint64(w)&r.mask == r.value {
				want = r.ID
				break
			}
		}
		if got := rowOfWord(w); got != want {
			t.Fatalf("%08x: row %d, by pattern %d", w, got, want)
		}
	}
}

// countSomePairs is countSome for two words, most of them near a row.
func countSomePairs(t *testing.T, rows []*bitRow) {
	rnd := rand.New(rand.NewPCG(testenv.Seed(t), 2))
	rows = slices.DeleteFunc(slices.Clone(rows), func(r *bitRow) bool { return r.words == 1 })
	n := 1 << 17
	if testing.Short() {
		n = 1 << 13
	}
	refused := pnopRefuses()
	for range n {
		r := rows[rnd.IntN(len(rows))]
		w := rnd.Uint64()&^r.mask | r.value
		if rnd.Uint32()&3 == 0 {
			w ^= 1 << (rnd.Uint32() % 58)
		}
		want := uint32(0)
		for _, r := range rows {
			if w&r.mask == r.value && !(r.Name == "pnop" && slices.ContainsFunc(refused, func(g region) bool { return w&g.mask == g.value })) {
				want = r.ID
				break
			}
		}
		var in reloc.Insn
		if err := ppc64.LE.Decode(&in, r.bytes(ppc64.LE, w), 0x401000); in.Row != want {
			t.Fatalf("%016x: row %d (%v), by pattern %d", w, in.Row, err, want)
		}
	}
}

// formatPPC64 writes the census.
func formatPPC64(rows []*bitRow, ops *[64]opCensus, takes []uint64, pairs *[fixups.ClassPrefix + 1]uint64) []byte {
	var b bytes.Buffer
	b.WriteString(ppc64CensusHead)
	var classes []fixups.Class
	var total opCensus
	for c := range fixups.ClassPrefix + 1 {
		for op := range ops {
			total.class[c] += ops[op].class[c]
		}
		if total.class[c] > 0 {
			classes = append(classes, c)
		}
	}
	line := func(name string, rows any, class *[fixups.ClassPrefix + 1]uint64) {
		fmt.Fprintf(&b, "\n%-5s%5v", name, rows)
		for _, c := range classes {
			fmt.Fprintf(&b, "%*d", max(len(className(c))+2, 12), class[c])
		}
	}
	fmt.Fprintf(&b, "\n%-5s%5s", "op", "rows")
	for _, c := range classes {
		fmt.Fprintf(&b, "%*s", max(len(className(c))+2, 12), className(c))
	}
	sum := uint64(0)
	for op := range ops {
		line(fmt.Sprint(op), ops[op].rows, &ops[op].class)
		total.rows += ops[op].rows
	}
	line("all", total.rows, &total.class)
	var parts []string
	for _, c := range classes {
		sum += total.class[c]
		parts = append(parts, fmt.Sprint(total.class[c]))
	}
	fmt.Fprintf(&b, "\n\n%s = %d = %s\n", strings.Join(parts, " + "), sum, power(sum, 0))
	b.WriteString("\npairs of words\n")
	for c, n := range pairs {
		if n > 0 {
			fmt.Fprintf(&b, "%-12s%20d\n", className(fixups.Class(c)), n)
		}
	}
	formatTakes(&b, rows, takes)
	return b.Bytes()
}

func className(c fixups.Class) string {
	if c == fixups.ClassInvalid {
		return "reserved"
	}
	return c.String()
}

// formatTakes writes what each row takes.
func formatTakes(b *bytes.Buffer, rows []*bitRow, takes []uint64) {
	b.WriteString("\nrow\ttakes\tclass\tinstruction\n")
	for i, r := range rows {
		all := uint64(1) << r.free()
		fmt.Fprintf(b, "%d\t%s\t%v\t%s\n", r.ID, power(all, all-takes[i]), r.Class, r.Name)
	}
}

// power writes a power of two, and what is taken from it.
func power(n, less uint64) string {
	s := fmt.Sprintf("2^%d", bits.TrailingZeros64(n))
	switch {
	case less == 0:
		return s
	case less&(less-1) == 0:
		return fmt.Sprintf("%s - 2^%d", s, bits.TrailingZeros64(less))
	}
	return fmt.Sprintf("%s - %d", s, less)
}
