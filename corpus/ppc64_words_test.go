package corpus_test

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/reloc"
)

// bitRow is a row of a table of words, as its pattern has it. It is read here
// again, without the port's generator: the two have to agree.
type bitRow struct {
	reloc.Row
	mask, value uint64 // of two words, the first in the high half
	words       int
}

// free is the number of bits that the row leaves open.
func (r *bitRow) free() int { return 32*r.words - bits.OnesCount64(r.mask) }

// parseBits reads a pattern: digits, NAME, NAME:N, / and /:N, a bar between words.
func parseBits(t *testing.T, r reloc.Row) *bitRow {
	t.Helper()
	b := &bitRow{Row: r}
	for word := range strings.SplitSeq(r.Pattern, "|") {
		b.mask, b.value, b.words = b.mask<<32, b.value<<32, b.words+1
		at := 32
		for _, token := range strings.Fields(word) {
			if v, err := strconv.ParseUint(token, 2, 32); err == nil && strings.Trim(token, "01") == "" {
				at -= len(token)
				b.mask |= (1<<len(token) - 1) << at
				b.value |= v << at
				continue
			}
			n := 1
			if _, width, ok := strings.Cut(token, ":"); ok {
				n, _ = strconv.Atoi(width)
			}
			at -= n
		}
		if at != 0 {
			t.Fatalf("row %d: %d bits are missing: %s", r.ID, at, r.Pattern)
		}
	}
	return b
}

func ppc64Rows(t *testing.T) (rows []*bitRow) {
	t.Helper()
	for _, r := range ppc64.BE.Rows() {
		rows = append(rows, parseBits(t, r))
	}
	return rows
}

// bytes are the words of an encoding in the order of a.
func (r *bitRow) bytes(a *ppc64.Arch, w uint64) (b []byte) {
	order := binary.AppendByteOrder(binary.BigEndian)
	if a == ppc64.LE {
		order = binary.LittleEndian
	}
	if r.words == 2 {
		b = order.AppendUint32(b, uint32(w>>32))
	}
	return order.AppendUint32(b, uint32(w))
}

// least returns the encoding of the row with the fewest bits set: all open bits
// zero, or one or two of them where a row before takes that.
func (r *bitRow) least() (uint64, bool) {
	open := ^r.mask
	if r.words == 1 {
		open &= 1<<32 - 1
	}
	ok := func(w uint64) bool {
		var in reloc.Insn
		return ppc64.BE.Decode(&in, r.bytes(ppc64.BE, w), 0x401000) == nil && in.Row == r.ID
	}
	if ok(r.value) {
		return r.value, true
	}
	for a := open; a != 0; a &= a - 1 {
		if w := r.value | a&-a; ok(w) {
			return w, true
		}
	}
	for a := open; a != 0; a &= a - 1 {
		for b := a & (a - 1); b != 0; b &= b - 1 {
			if w := r.value | a&-a | b&-b; ok(w) {
				return w, true
			}
		}
	}
	return 0, false
}

// region is a set of words: those with value in the bits of mask.
type region struct{ mask, value uint64 }

// size is how many encodings there are in g, of which none is in one of the
// others: those of g without the first, and so on.
func (g region) size(width int, others []region) uint64 {
	n := uint64(1) << (width - bits.OnesCount64(g.mask))
	for i, o := range others {
		if (o.value^g.value)&o.mask&g.mask != 0 {
			continue
		}
		both := region{g.mask | o.mask, g.value | o.value}
		if both == g {
			return 0
		}
		n -= both.size(width, others[:i])
	}
	return n
}

// rowOfWord is the row that decodes a word, 0 if there is none.
func rowOfWord(w uint32) uint32 {
	var in reloc.Insn
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], w)
	if ppc64.BE.Decode(&in, b[:], 0x401000) != nil {
		return 0
	}
	return in.Row
}
