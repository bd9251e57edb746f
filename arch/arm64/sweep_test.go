package arm64_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"

	"github.com/xol-go/xol/arch/arm64"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/internal/witness"
	"github.com/xol-go/xol/reloc"
)

// A sweep asks Decode, golang.org/x/arch and LLVM about the same words: is there an
// instruction, does it branch, link, trap, hold a monitor, start a transaction, use
// pc or depend on its neighbours, and where does it go. Where all three agree there
// is nothing to say. What only some of them know has to match a line of
// testdata/disagreements.txt, where somebody has looked into the manual. A form
// that differs where both others know the word is a mistake of ours.

// full reports whether whole opcode spaces are swept (make sweep).
func full() bool { return os.Getenv("XOL_SWEEP") != "" }

// form is what a decoder says of a word, as far as it concerns who moves it.
type form struct {
	ok     bool
	kind   string // "", direct, indirect, return, pc, trap, call, exclusive, transaction, adjacent
	link   bool
	target uint64
}

const sweepPC = 0x40001230

// ownForm is Decode's.
func ownForm(code []byte) (form, string) {
	var in reloc.Insn
	if arm64.A64.Decode(&in, code, sweepPC) != nil {
		return form{}, "-"
	}
	row, _ := arm64.A64.RowOf(&in)
	f := form{ok: true, target: in.Target}
	switch in.Class {
	case fixups.ClassBranch, fixups.ClassCondBranch:
		f.kind = "direct"
	case fixups.ClassCall:
		f.kind, f.link = "direct", true
	case fixups.ClassIndirectBranch:
		f.kind = "indirect"
	case fixups.ClassIndirectCall:
		f.kind, f.link = "indirect", true
	case fixups.ClassReturn:
		f.kind = "return"
	case fixups.ClassPCRelative:
		f.kind = "pc"
	case fixups.ClassTrap:
		f.kind = "trap"
	case fixups.ClassKernelEntry:
		f.kind = "call"
	case fixups.ClassExclusive:
		f.kind = "exclusive"
	case fixups.ClassTransaction:
		f.kind = "transaction"
	default:
		switch {
		case in.Hazards.Has(fixups.HazardAdjacent):
			f.kind = "adjacent"
		case in.Hazards.Has(fixups.HazardKernelEntry):
			f.kind = "call"
		case in.Flags&reloc.Continues == 0:
			f.kind = "eret"
		}
	}
	return f, row.Name
}

var kinds = []struct {
	kind string
	re   *regexp.Regexp
}{
	{"direct", regexp.MustCompile(`^(bl?|bc?\.[a-z]+|cbn?z|tbn?z|cb[bh]?[a-z]{2})$`)},
	{"indirect", regexp.MustCompile(`^b(l?)r(aa|ab)?z?$`)},
	{"return", regexp.MustCompile(`^ret(a[ab](sppcr?)?)?$`)},
	{"eret", regexp.MustCompile(`^(eret(a[ab])?|drps)$`)},
	{"trap", regexp.MustCompile(`^(brk|hlt|udf|dcps[123])$`)},
	{"call", regexp.MustCompile(`^(svc|hvc|smc)$`)},
	{"exclusive", regexp.MustCompile(`^(ld|st)[al]?t?x[rp][bh]?$`)},
	{"transaction", regexp.MustCompile(`^t(start|test|commit|cancel)$`)},
	{"adjacent", regexp.MustCompile(`^(movprfx|pacm|cpyf?[pme](rt|wt|t)?(rn|wn|n)?|setg?[pme]t?n?)$`)},
	{"pc", regexp.MustCompile(`^(adrp?|auti[ab]sppc|pac(nb)?i[ab]sppc)$`)},
}

// literal are the loads that have a form with a literal.
var literal = regexp.MustCompile(`^(ldr|ldrsw|prfm)$`)

// named is the form that follows from a mnemonic alone.
func named(name string) form {
	f := form{ok: true}
	for _, k := range kinds {
		if k.re.MatchString(name) {
			f.kind = k.kind
			break
		}
	}
	f.link = name == "bl" || strings.HasPrefix(name, "blr")
	return f
}

// llvmForm reads the text of LLVM.
func llvmForm(w witness.Word) form {
	if w.Len == 0 {
		return form{}
	}
	name, rest, _ := strings.Cut(w.Text, " ")
	f := named(name)
	last := rest[strings.LastIndex(rest, " ")+1:]
	num, isNum := strings.CutPrefix(last, "#")
	if literal.MatchString(name) && isNum && !strings.Contains(rest, "[") {
		f.kind = "pc"
	}
	if name == "adr" && rest[0] == 'z' {
		f.kind = "" // SVE's, which adds vectors
	}
	switch {
	case f.kind == "pc" && strings.HasPrefix(name, "pac"):
	case f.kind == "direct", f.kind == "pc", strings.HasSuffix(name, "sppc") && f.kind == "return":
		d, err := strconv.ParseInt(num, 0, 64)
		if err != nil {
			f.kind = "unreadable " + w.Text
		}
		f.target = sweepPC + uint64(d)
		if name == "adrp" {
			f.target = sweepPC&^0xfff + uint64(d)
		}
	}
	return f
}

// goMu guards golang.org/x/arch: its decoder writes to a package variable.
var goMu sync.Mutex

// goForm asks golang.org/x/arch.
func goForm(code []byte) (form, arm64asm.Inst) {
	goMu.Lock()
	defer goMu.Unlock()
	in, err := arm64asm.Decode(code)
	if err != nil || in.Op == 0 {
		return form{}, in
	}
	name := strings.ToLower(in.Op.String())
	if c, ok := in.Args[0].(arm64asm.Cond); ok && name == "b" {
		name += "." + strings.ToLower(c.String())
	}
	f := named(name)
	for _, a := range in.Args {
		rel, ok := a.(arm64asm.PCRel)
		if !ok {
			continue
		}
		if literal.MatchString(name) {
			f.kind = "pc"
		}
		f.target = sweepPC + uint64(rel)
		if name == "adrp" {
			f.target = sweepPC&^0xfff + uint64(rel)
		}
	}
	return f, in
}

type sweeper struct{ *witness.Sweep[form] }

func newSweeper(t *testing.T) *sweeper {
	s := &sweeper{}
	s.Sweep = witness.NewSweep[form](t, witness.NewWords(t, "aarch64-unknown-linux-gnu", "generic", "+all"), s.compare)
	return s
}

// add asks about a word.
func (s *sweeper) add(w uint32) {
	var c [8]byte
	binary.LittleEndian.PutUint32(c[:], w)
	s.Add(c)
}

func (s *sweeper) compare(code []byte, w witness.Word) {
	code = code[:4]
	own, row := ownForm(code)
	x, inst := goForm(code)
	l := llvmForm(w)
	if own.ok && x.ok && l.ok {
		s.operands(code, &inst)
	}
	name := "-"
	if x.ok {
		name = strings.ToLower(inst.Op.String())
	}
	s.Judge(own, x, l, row, name, w, func() string {
		return fmt.Sprintf("%08x: %+v, x/arch %v %+v, LLVM %q %+v", binary.LittleEndian.Uint32(code), own, inst.String(), x, w.Text, l)
	})
}

// TestSweep asks about words of every row, and of no row.
func TestSweep(t *testing.T) {
	if testing.Short() || testenv.Race {
		t.Skip("asks other decoders in one goroutine: long, and only from their own host")
	}
	s := newSweeper(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	n, perRow := 200_000, 100
	if full() {
		n, perRow = 40_000_000, 20_000
	}
	for range n {
		s.add(rnd.Uint32())
	}
	for range perRow * len(arm64.A64.Rows()) {
		s.add(binary.LittleEndian.Uint32(arm64.A64.AppendRandom(nil, rnd.Uint64)))
	}
	s.spaces(rnd, n)
	s.Report(full())
}

// spaces are the groups in which something hangs on every bit: branches, exceptions,
// system instructions and hints, exclusives, what signs, copies of memory.
func (s *sweeper) spaces(rnd *rand.Rand, n int) {
	for _, g := range []struct{ value, free uint32 }{
		{0x14000000, 0xebffffff}, // branches, exceptions, system
		{0xd4000000, 0x00ffffff},
		{0xd5000000, 0x00ffffff},
		{0xd5032000, 0x00001fff}, // hints and barriers
		{0xd5000000, 0x0007ffff},
		{0xd6000000, 0x01ffffff},
		{0x54000000, 0x01ffffff},
		{0x74000000, 0x81ffffff},
		{0x08000000, 0xf1ffffff}, // exclusives and ordered accesses
		{0x09000000, 0xc0ffffff},
		{0x18000000, 0xe4ffffff}, // literals, copies of memory, RCpc
		{0x19000000, 0xe4ffffff},
		{0xdac00000, 0x001fffff}, // one source
		{0xf3800000, 0x007fffff},
		{0x04000000, 0x003fffff}, // MOVPRFX and its neighbours
		{0x00000000, 0x00ffffff}, // UDF
	} {
		for range n / 8 {
			s.add(g.value | rnd.Uint32()&g.free)
		}
	}
}
