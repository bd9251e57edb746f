package ppc64_test

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

	"golang.org/x/arch/ppc64/ppc64asm"

	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/internal/witness"
	"github.com/xol-go/xol/reloc"
)

// A sweep asks Decode, golang.org/x/arch and LLVM about the same words: is there an
// instruction, how long is it, does it branch, link, trap, reserve, start a
// transaction or use pc, and where does it go. Where all three agree there is
// nothing to say. What only some of them know has to match a line of
// testdata/disagreements.txt, where somebody has looked into the manual. A form
// that differs where both others know the word is a mistake of ours.

// full reports whether whole opcode spaces are swept (make sweep).
func full() bool { return os.Getenv("XOL_SWEEP") != "" }

// form is what a decoder says of a word, as far as it concerns who moves it.
type form struct {
	len    int
	kind   string // "", direct, indirect, pc, trap, call, return, exclusive, transaction
	link   bool
	target uint64
}

const sweepPC = 0x40001000

// ownForm is Decode's.
func ownForm(code []byte) (form, string) {
	var in reloc.Insn
	if ppc64.BE.Decode(&in, code, sweepPC) != nil {
		return form{}, "-"
	}
	row, _ := ppc64.BE.RowOf(&in)
	f := form{len: int(in.Len), link: in.Hazards.Has(fixups.HazardPushesPC) && in.Class != fixups.ClassKernelEntry, target: in.Target}
	switch in.Class {
	case fixups.ClassBranch, fixups.ClassCondBranch, fixups.ClassCall:
		f.kind = "direct"
	case fixups.ClassIndirectBranch, fixups.ClassIndirectCall, fixups.ClassReturn:
		f.kind = "indirect"
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
	}
	if returns[row.Name] {
		f.kind = "return"
	}
	return f, row.Name
}

// returns are the returns from interrupts and from event-based branches.
var returns = map[string]bool{"rfid": true, "hrfid": true, "rfscv": true, "urfid": true, "rfebb": true}

var (
	branchName    = regexp.MustCompile(`^b(c|t|f|dnz[tf]?|dz[tf]?|eq|ne|lt|gt|le|ge|so|ns|un|nu)?(lr|ctr|tar)?(l)?(a)?$`)
	trapName      = regexp.MustCompile(`^(trap|t[wd][a-z]*|hashchkp?)$`)
	reserveName   = regexp.MustCompile(`^(l[bhwdq]arx|st[bhwdq]cx\.)$`)
	transactName  = regexp.MustCompile(`^(tbegin\.|tend\.|tendall\.|tcheck|tsr\.|tsuspend\.|tresume\.|tabort.*|treclaim\.|trechkpt\.)$`)
	prefixedMem   = regexp.MustCompile(`^p(l|st|addi)`)
	displacement  = regexp.MustCompile(`(-?\d+)\(`)
	absoluteLabel = regexp.MustCompile(`0x[0-9a-f]+$`)
)

// named is the form that follows from a mnemonic alone.
func named(name string, n int) (f form) {
	name = strings.TrimRight(name, "+-")
	f.len = n
	m := branchName.FindStringSubmatch(name)
	switch {
	case m != nil:
		f.kind, f.link = "direct", m[3] != ""
		if m[2] != "" {
			f.kind = "indirect"
		}
	case returns[name]:
		f.kind = "return"
	case name == "sc" || name == "scv":
		f.kind = "call"
	case trapName.MatchString(name) && !transactName.MatchString(name):
		f.kind = "trap"
	case reserveName.MatchString(name):
		f.kind = "exclusive"
	case transactName.MatchString(name):
		f.kind = "transaction"
	case name == "addpcis", name == "lnia", name == "subpcis":
		f.kind = "pc"
	}
	return f
}

// llvmForm reads the text of LLVM.
func llvmForm(w witness.Word) form {
	if w.Len == 0 {
		return form{}
	}
	name, rest, _ := strings.Cut(w.Text, " ")
	f := named(name, w.Len)
	ops := strings.Split(rest, ", ")
	last := ops[len(ops)-1]
	num := func(s string) uint64 { v, _ := strconv.ParseInt(s, 0, 64); return uint64(v) }
	switch {
	case f.kind == "direct":
		if rel, ok := strings.CutPrefix(last, "."); ok {
			f.target = sweepPC + num(rel)
		} else if s := absoluteLabel.FindString(last); s != "" {
			f.target, _ = strconv.ParseUint(s, 0, 64)
		}
	case f.kind == "pc":
		f.target = sweepPC + 4 + uint64(int64(int16(num(last))))<<16
	case w.Len == 8 && prefixedMem.MatchString(name) && last == "1":
		f.kind, f.target = "pc", sweepPC
		if m := displacement.FindStringSubmatch(rest); m != nil {
			f.target += num(m[1])
		} else {
			f.target += num(ops[len(ops)-2])
		}
	}
	return f
}

// goMu guards golang.org/x/arch: its decoder writes to a package variable.
var goMu sync.Mutex

// goForm asks golang.org/x/arch.
func goForm(code []byte) (form, ppc64asm.Inst) {
	goMu.Lock()
	defer goMu.Unlock()
	in, err := ppc64asm.Decode(code, binary.BigEndian)
	if err != nil || in.Op == 0 {
		return form{}, in
	}
	name := in.Op.String()
	f := named(name, in.Len)
	for i, a := range in.Args {
		switch a := a.(type) {
		case ppc64asm.PCRel:
			f.target = sweepPC + uint64(int64(a))
		case ppc64asm.Label:
			f.target = uint64(int64(int32(a)))
		case ppc64asm.Imm:
			if f.kind == "pc" && in.Len == 4 {
				f.target = sweepPC + 4 + uint64(a)<<16
			}
			if in.Len == 8 && prefixedMem.MatchString(name) && a == 1 && (i == 3 || in.Args[i+1] == nil) {
				f.kind, f.target = "pc", sweepPC+prefixedDisp(&in)
			}
		}
	}
	return f, in
}

// prefixedDisp is the displacement: an offset, or the immediate of paddi.
func prefixedDisp(in *ppc64asm.Inst) uint64 {
	for i, a := range in.Args {
		switch a := a.(type) {
		case ppc64asm.Offset:
			return uint64(a)
		case ppc64asm.Imm:
			if i == 2 {
				return uint64(a)
			}
		}
	}
	return 0
}

type sweeper struct{ *witness.Sweep[form] }

func newSweeper(t *testing.T) *sweeper {
	s := &sweeper{}
	s.Sweep = witness.NewSweep[form](t, witness.NewWords(t, "powerpc64-unknown-linux-gnu", "pwr10", "+htm"), s.compare)
	return s
}

// add asks about a word, or about two of which w is the first.
func (s *sweeper) add(w, suffix uint32) {
	var c [8]byte
	binary.BigEndian.PutUint32(c[:], w)
	binary.BigEndian.PutUint32(c[4:], suffix)
	s.Add(c)
}

func (s *sweeper) compare(code []byte, w witness.Word) {
	own, row := ownForm(code)
	x, inst := goForm(code)
	l := llvmForm(w)
	if own.len != 0 && x.len != 0 {
		s.operands(code, &inst)
	}
	name := "-"
	if x.len != 0 {
		name = inst.Op.String()
	}
	s.Judge(own, x, l, row, name, w, func() string {
		return fmt.Sprintf("%x: %v %+v, x/arch %v %+v, LLVM %q %+v", code, row, own, inst.String(), x, w.Text, l)
	})
}

// TestSweep asks about words of every row, and of no row.
func TestSweep(t *testing.T) {
	if testing.Short() || testenv.Race {
		t.Skip("asks other decoders in one goroutine: long, and only from their own host")
	}
	s := newSweeper(t)
	rnd := rand.New(rand.NewPCG(testenv.Seed(t), 2))
	n := 100_000
	if full() {
		n = 10_000_000
	}
	if v, err := strconv.Atoi(os.Getenv("XOL_WORDS")); err == nil {
		n = v
	}
	perRow := n/2000 + 1
	for range n {
		s.add(rnd.Uint32(), rnd.Uint32())
	}
	for range perRow * len(ppc64.BE.Rows()) {
		b := ppc64.BE.AppendRandom(nil, rnd.Uint64)
		b = binary.BigEndian.AppendUint32(b, 0)
		s.add(binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]))
	}
	s.spaces(rnd, n)
	s.Report(full())
}

// TestSweepPrograms asks about the words of compiled C, in both orders.
func TestSweepPrograms(t *testing.T) {
	if testing.Short() || testenv.Race {
		t.Skip("asks other decoders in one goroutine: long, and only from their own host")
	}
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			code, _ := text(t, p.path)
			s := newSweeper(t)
			step := 1
			if !full() {
				step = 61
			}
			for off := 0; off+8 <= len(code); off += 4 * step {
				s.add(p.order.Uint32(code[off:]), p.order.Uint32(code[off+4:]))
			}
			s.Report(false)
		})
	}
}

// TestSweepBranches asks x/arch about direct branches with all displacements and
// all BO, and about addpcis with all immediates: 2^26 words of opcodes 16 and 18 each, and 2^21.
func TestSweepBranches(t *testing.T) {
	if testing.Short() || testenv.Race {
		t.Skip("asks other decoders in one goroutine: long, and only from their own host")
	}
	step := uint32(1009) // prime, so that all fields vary
	if full() {
		step = 1
	}
	n := 0
	ask := func(w uint32) {
		var c [4]byte
		binary.BigEndian.PutUint32(c[:], w)
		own, _ := ownForm(c[:])
		if x, _ := goForm(c[:]); own != x {
			t.Fatalf("%08x: %+v, x/arch %+v", w, own, x)
		}
		n++
	}
	for i := uint32(0); i < 1<<26; i += step {
		ask(16<<26 | i)
		ask(18<<26 | i)
		if i < 1<<21 {
			ask(19<<26 | i>>16<<21 | i<<5&(31<<16) | i&0xffc0 | 2<<1 | i&1)
		}
	}
	t.Logf("%d words, no other form or target", n)
}

// spaces are the opcodes in which something hangs on every bit: 16 to 19, the
// special part of 31, prefixes with their suffixes.
func (s *sweeper) spaces(rnd *rand.Rand, n int) {
	for _, op := range []uint32{0, 2, 3, 16, 17, 18, 19, 31} {
		for range n / 10 {
			s.add(op<<26|rnd.Uint32()>>6, 0)
		}
	}
	for xo := range uint32(2048) { // all extended opcodes, with and without reserved bits
		for _, op := range []uint32{0, 4, 17, 19, 31, 59, 60, 63} {
			s.add(op<<26|xo, 0)
			s.add(op<<26|rnd.Uint32()&0x03fff800|xo, 0)
			s.add(op<<26|0x00830000|rnd.Uint32()&0xf800|xo, 0)
		}
	}
	for range n { // prefixes that make sense, most of the time
		prefix := 1<<26 | rnd.Uint32()&0x0393ffff
		if rnd.Uint32()&1 != 0 {
			prefix = 1<<26 | rnd.Uint32()&0x0313ffff
		}
		s.add(prefix, rnd.Uint32())
		s.add(prefix, rnd.Uint32()&^0x001f0000)
	}
}
