package x86_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/witness"
	"github.com/xol-go/xol/reloc"
)

// registerSweep compares the registers that an instruction reads, writes and
// kills with Zydis. Differences go by mnemonic: testdata/registers.txt says of
// each who is right.
type registerSweep struct {
	regs    []witness.Regs
	numbers map[uint8]map[fixups.Reg]int // by mode: the witness's number of a register
	names   [witness.NumRegs]string

	use     *review
	classes *review
}

func newRegisterSweep(t *testing.T) *registerSweep {
	t.Helper()
	r := &registerSweep{
		regs:    make([]witness.Regs, batchSize),
		numbers: map[uint8]map[fixups.Reg]int{32: {}, 64: {}},
		use:     newReview(t, "registers", "testdata/registers.txt"),
		classes: newReview(t, "class", "testdata/classes.txt"),
	}
	for bits, a := range arches {
		for _, n := range a.Info().Regs {
			if i := witnessNumber(n.Name); i >= 0 {
				r.numbers[bits][n.Num] = i
				r.names[i] = regFile(i)
			}
		}
	}
	return r
}

// gprs are the general registers in the order of the hardware, without r or e.
var gprs = []string{"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"}

var regFiles = []struct {
	prefix string
	first  int
	many   int
}{{"xmm", witness.RegVec, 32}, {"tmm", witness.RegTile, 8}, {"mm", witness.RegMMX, 8}, {"st", witness.RegX87, 8}, {"k", witness.RegMask, 8}, {"r", witness.RegGPR, 32}}

// witnessNumber returns the number of a register that is compared, or -1.
func witnessNumber(name string) int {
	if i := slices.Index([]string{"es", "cs", "ss", "ds", "fs", "gs"}, name); i >= 0 {
		return witness.RegSeg + i
	}
	if name == "flags" {
		return witness.RegFlags
	}
	if i := slices.Index(gprs, strings.TrimLeft(name, "re")); i >= 0 && name[0] != 's' {
		return witness.RegGPR + i
	}
	for _, f := range regFiles {
		if n, ok := strings.CutPrefix(name, f.prefix); ok {
			if i, err := strconv.Atoi(n); err == nil && i < f.many {
				return f.first + i
			}
		}
	}
	return -1
}

// regFile names the kind of a register: differences are reviewed by kind, and
// the stack pointer, which instructions use without naming it, is a kind of its
// own.
func regFile(i int) string {
	switch {
	case i == witness.RegGPR+4:
		return "sp"
	case i < witness.RegVec:
		return "gpr"
	case i < witness.RegMask:
		return "vec"
	case i < witness.RegTile:
		return "k"
	case i < witness.RegMMX:
		return "tile"
	case i < witness.RegX87:
		return "mm"
	case i < witness.RegSeg:
		return "st"
	case i < witness.RegFlags:
		return "seg"
	}
	return "flags"
}

func (r *registerSweep) buffer(n int) []witness.Regs { return r.regs[:n] }

func (r *registerSweep) set(bits uint8, s fixups.RegSet) (out witness.RegSet) {
	for reg := range s.All() {
		if i, ok := r.numbers[bits][reg]; ok {
			out.Add(i)
		}
	}
	return out
}

func (r *registerSweep) compare(p *witness.Probe, in *reloc.Insn, z *witness.Regs) {
	sh := shapeOf(int(p.Bits), p.Code[:])
	if sh.space == "evex" && sh.x4 == 0 {
		return // Zydis reads MVEX
	}
	if sh.prefix&p67 != 0 && sh.modrm&0xc7 == 4 {
		return // Zydis takes r13 for a base where base 101 means none
	}
	var use reloc.RegUse
	arches[p.Bits].Registers(&use, in)
	own := witness.Regs{Read: r.set(p.Bits, use.Reads), Write: r.set(p.Bits, use.Writes), Kill: r.set(p.Bits, use.Kills)}
	says := strings.TrimSpace(r.diff("reads", own.Read, z.Read) + r.diff("writes", own.Write, z.Write) + r.diff("kills", own.Kill, z.Kill))
	r.use.note(rowName(p.Bits, in), says, p)
}

// class compares what Decode says an instruction is with its kind.
func (r *registerSweep) class(p *witness.Probe, in *reloc.Insn, k witness.Kind) {
	own, z := in.Class.String(), kindNames[k]
	if own == "pc-relative" {
		own = "plain" // Zydis has no such kind
	}
	says := ""
	if own != z {
		says = own + "/" + z
	}
	r.classes.note(rowName(p.Bits, in), says, p)
}

var kindNames = [...]string{
	witness.Other: "plain", witness.Branch: "branch", witness.CondBranch: "cond-branch", witness.Call: "call",
	witness.IndirectBranch: "indirect-branch", witness.IndirectCall: "indirect-call", witness.Return: "return",
	witness.Trap: "trap", witness.KernelEntry: "kernel-entry", witness.Privileged: "privileged",
}

// diff says which kinds of register only Decode (+) or only Zydis (-) has.
func (r *registerSweep) diff(what string, own, z witness.RegSet) string {
	var out []string
	for i := range witness.NumRegs {
		sign := ""
		switch {
		case own.Has(i) && !z.Has(i):
			sign = "+"
		case !own.Has(i) && z.Has(i):
			sign = "-"
		default:
			continue
		}
		if d := what + sign + regFile(i); !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, " ") + " "
}
