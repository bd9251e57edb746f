package c_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"regexp"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
)

var le = binary.LittleEndian

const (
	sections  = 12
	front     = 16                   // bytes before the first section
	endLen    = 48 + 24*sections + 8 // bytes behind the last
	kindPlain = 4
)

// end is where the fields behind the sections of a sound table begin.
func end(b []byte) int { return len(b) - int(le.Uint32(b[len(b)-8:])) }

// reseal makes length and checksum right again, so that what follows them is
// looked at.
func reseal(b []byte) {
	if len(b) < front+endLen {
		return
	}
	if at := end(b); at >= 0 && at+8 <= len(b) {
		le.PutUint64(b[at:], uint64(len(b)))
	}
	le.PutUint32(b[len(b)-4:], crc32.Checksum(b[:len(b)-4], crc32.MakeTable(crc32.Castagnoli)))
}

// section returns where section kind (1 to 12) of a sound table is.
func section(b []byte, kind int) (off, size int) {
	h := b[end(b)+48+24*(kind-1):]
	return int(le.Uint64(h[8:])), int(le.Uint64(h[16:])) * int(le.Uint32(h[4:]))
}

// spoil changes one or two fields of a sound table, or its length.
func (g gen) spoil(sound []byte) []byte {
	b := append([]byte{}, sound...)
	if g.IntN(16) == 0 {
		cut := b[:g.IntN(len(b)+1)]
		if g.bool() {
			cut = append(b, make([]byte, 1+g.IntN(16))...)
		}
		return cut
	}
	for range 1 + g.IntN(2) {
		off, size := g.place(sound)
		g.field(b[off : off+size])
	}
	return b
}

// place picks bytes to change: an end of the file, a section, an item, or the
// first bytes of an item, where most rules are. Of the body it picks what a run has.
func (g gen) place(b []byte) (off, size int) {
	switch g.IntN(16) {
	case 0:
		return end(b), len(b) - end(b)
	case 1:
		return 0, front
	}
	kind := 0
	for size == 0 {
		kind = 1 + g.IntN(sections)
		off, size = section(b, kind)
	}
	if kind == 1 {
		runs, n := section(b, 2)
		r := b[runs+g.IntN(n/56)*56:]
		at := off + int(le.Uint64(r[32:]))
		if sites := 16 * int(le.Uint32(r[40:])); sites > 0 && g.bool() {
			align := int(b[end(b)+17])
			return at + (int(le.Uint32(r[8:]))/align+63)/64*8, sites
		}
		return at, 8
	}
	item := int(le.Uint32(b[end(b)+48+24*(kind-1)+4:]))
	if g.IntN(4) == 0 || item == 1 {
		return off, size
	}
	return off + g.IntN(size/item)*item, min(item, pick(g, 8, 16, item))
}

// field changes a word of 1, 2, 4 or 8 bytes, aligned as fields are. Often by
// little, since most rules are about the ends of ranges.
func (g gen) field(b []byte) {
	n := pick(g, 1, 1, 1, 2, 4, 8)
	for n > len(b) {
		n /= 2
	}
	at := g.IntN(len(b)-n+1) / n * n
	var w [8]byte
	copy(w[:], b[at:at+n])
	v := le.Uint64(w[:])
	switch g.IntN(6) {
	case 0:
		v++
	case 1:
		v--
	case 2:
		v ^= 1 << g.IntN(8*n)
	case 3:
		v = uint64(g.IntN(40))
	default:
		v = uint64(g.val())
	}
	le.PutUint64(w[:], v)
	copy(b[at:], w[:n])
}

// longer is a sound table whose end has n more bytes, of value v.
func longer(b []byte, n int, v byte) []byte {
	last := len(b) - 8
	out := append([]byte{}, b[:last]...)
	out = append(append(out, bytes.Repeat([]byte{v}, n)...), b[last:]...)
	le.PutUint32(out[len(out)-8:], uint32(endLen+n))
	reseal(out)
	return out
}

// longPlain is a sound table with n items more in plain.
func longPlain(b []byte, n int) []byte {
	off, size := section(b, kindPlain)
	old := (size + 7) &^ 7
	grown := (size + 4*n + 7) &^ 7
	more := bytes.Repeat([]byte{0xff}, 4*n)
	out := append(append([]byte{}, b[:off+size]...), more...)
	out = append(out, make([]byte, grown-len(more)-size)...)
	out = append(out, b[off+old:]...)
	table := out[end(out)+48:]
	le.PutUint64(table[24*(kindPlain-1)+16:], uint64(size/4+n))
	for i := kindPlain; i < sections; i++ {
		at := table[24*i+8:]
		le.PutUint64(at, le.Uint64(at)+uint64(grown-old))
	}
	reseal(out)
	return out
}

// longInsn is a table whose first two instructions are one, of 240+240 bytes.
func longInsn(t *testing.T) []byte {
	tab := &fixups.Table{Arch: "a", Layout: fixups.Layout{Bits: 64, Align: 8}}
	for i := range 3 {
		tab.Entries = append(tab.Entries, fixups.Entry{PC: uint64(240 * i), Len: 240, Bytes: make([]byte, 240), Class: fixups.ClassPlain})
	}
	b, err := tab.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	off, _ := section(b, 1) // begins with the bitmap
	b[off+30/8] &^= 1 << (30 % 8)
	reseal(b)
	return b
}

// TestHostileCases are what random changes seldom find.
func TestHostileCases(t *testing.T) {
	g := newGen(t, 5)
	sound := g.table(t, 8)
	var s script
	for _, tt := range []struct {
		name string
		data []byte
		ok   bool
	}{
		{"sound", sound, true},
		{"nothing", nil, false},
		{"short", sound[:front+endLen-1], false},
		{"longer end of zeros", longer(sound, 16, 0), true},
		{"longer end of ones", longer(sound, 8, 1), false},
		{"longer end, not a multiple of 8", longer(sound, 4, 0), false},
		{"more lengths", longPlain(sound, 20), true},
		{"too many lengths", longPlain(sound, 257), false},
		{"instruction of 480 bytes", longInsn(t), false},
	} {
		if v := s.open(tt.data); (v.err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, v.err)
		}
	}
	playAll(t, &s)
}

// TestHostile compares what both sides have against spoiled tables: whether
// they are refused, and at which offset. What is accepted must hold in use: the
// whole of it is asked for. The driver runs under sanitizers on the host, with
// the last byte of each table at the end of an allocation.
func TestHostile(t *testing.T) {
	if testenv.Race {
		t.Skip("waits for programs in C, which the race detector does not see; runs without it")
	}
	g := newGen(t, 3)
	var s script
	accepted, refused := 0, 0
	for range rounds(150) {
		sound := g.table(t, 1+g.IntN(10))
		for range 100 {
			b := g.spoil(sound)
			if g.IntN(8) != 0 {
				reseal(b)
			}
			v := s.open(b)
			if v.err != nil {
				refused++
				continue
			}
			accepted++
			if accepted%8 == 0 {
				s.seen = nil
				s.all(g, v, 1)
			}
		}
	}
	t.Logf("%d accepted, %d refused", accepted, refused)
	if accepted < rounds(1000) || refused < rounds(1000) {
		t.Errorf("too few of one kind: what is compared?")
	}
	if rules := playAll(t, &s); !testing.Short() {
		rulesSeen(t, rules)
	}
}

// rulesSeen demands that the spoiled tables broke nearly all rules: a rule that
// is never broken is one that nobody has compared.
func rulesSeen(t *testing.T, seen map[string]bool) {
	src, err := os.ReadFile("xol_fixups.h")
	if err != nil {
		t.Fatal(err)
	}
	all, missed := map[string]bool{}, []string{}
	for _, m := range regexp.MustCompile(`(?:xol_bad(?:_item)?\(.*, |return |bad = )"([^"]+)"\)?;`).FindAllSubmatch(src, -1) {
		all[string(m[1])] = true
	}
	for rule := range all {
		if !seen[rule] {
			missed = append(missed, rule)
		}
	}
	if len(all) < 35 || len(missed) > len(all)/5 {
		t.Errorf("%d rules, %d of them not broken", len(all), len(missed))
	}
	t.Logf("%d rules, not broken this time: %q", len(all), missed)
}
