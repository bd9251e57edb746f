package corpus_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// flagBits are the flags that conditions name, in the register of that arch.
var flagBits = map[string]map[string]uint{
	"amd64": {"CF": 0, "PF": 2, "ZF": 6, "SF": 7, "OF": 11},
	"386":   {"CF": 0, "PF": 2, "ZF": 6, "SF": 7, "OF": 11},
}

// counts are values of a count register, at which the widths differ.
var counts = []uint64{0, 1, 2, 0x10000, 0x10001, 1 << 32, 1<<32 | 1, ^uint64(0)}

// TestConditions runs the emulate plan of every conditional branch under all
// flags and with all counts, and compares where it goes with what its condition
// says.
func TestConditions(t *testing.T) {
	ran := map[string]int{}
	for c := range corpus.All() {
		a, ok := arch.ByName(c.Arch)
		if !ok {
			continue
		}
		for i := range c.Insns {
			in := &c.Insns[i]
			bits := bitsOf(c.Arch, in.When)
			w := corpus.Want{Off: in.Off, Form: fixups.FormEmulate}
			var p reloc.Plan
			if in.When == "" || bits == nil || in.Target == nil || plan(&p, a, c, &w) != nil {
				continue
			}
			ran[in.When]++
			for flags := range uint64(32) {
				for _, count := range counts {
					if err := branch(a, c, in, &p, bits, flags, count); err != nil {
						t.Errorf("%s %s: %v", c.Key(), in, err)
						break
					}
				}
			}
		}
	}
	if len(ran) < 16+8+3 {
		t.Errorf("only %d conditions: %v", len(ran), ran)
	}
}

// bitsOf returns which bits of the flags register the condition names: on Power
// those of CR go by their number in the manual.
func bitsOf(arch, when string) map[string]uint {
	if !strings.HasPrefix(arch, "ppc64") {
		return flagBits[arch]
	}
	bits := map[string]uint{}
	for _, term := range strings.FieldsFunc(when, func(r rune) bool { return strings.ContainsRune("|&=!", r) }) {
		if n, err := strconv.ParseUint(strings.TrimPrefix(term, "cr."), 10, 5); err == nil && strings.HasPrefix(term, "cr.") {
			bits[term] = 31 - uint(n)
		}
	}
	return bits
}

// branch runs p once. The five low bits of set are the flags, in some order.
func branch(a reloc.Arch, c *corpus.Case, in *corpus.Insn, p *reloc.Plan, bits map[string]uint, set, count uint64) error {
	m := newThread(a, c, 0)
	var flags uint64 = 2
	for i, name := range slices.Sorted(maps.Keys(bits)) {
		flags |= set >> i & 1 << bits[name]
	}
	var counter fixups.Reg
	for _, name := range []string{"rcx", "ecx", "ctr"} {
		if r, ok := m.i.Regs.Reg(name); ok {
			counter = r
			break
		}
	}
	count = m.cut(count)
	m.regs[m.i.Flags], m.regs[counter] = flags, count
	site := c.PC + uint64(in.Off)
	if err := fixups.Run(p.Emulate, m, &fixups.Bases{Site: site}, new(fixups.Temps), m.i.Bits); err != nil {
		return err
	}
	taken := holds(in.When, func(name string) uint64 {
		switch name {
		case "rcx", "ctr":
			return count
		case "ecx":
			return count & 0xffffffff
		case "cx":
			return count & 0xffff
		}
		return flags >> bits[name] & 1
	})
	want := site + uint64(c.LenAt(in.Off))
	if taken {
		want = *in.Target
	}
	if m.regs[fixups.RegPC] != want {
		return fmt.Errorf("flags %#x, count %#x: pc %#x, want %#x", flags, count, m.regs[fixups.RegPC], want)
	}
	return nil
}

// holds evaluates a condition: alternatives between |, in them terms between &,
// in a term = or != between names and numbers.
func holds(when string, value func(string) uint64) bool {
	operand := func(s string) uint64 {
		if v, err := strconv.ParseUint(s, 0, 64); err == nil {
			return v
		}
		return value(s)
	}
	for alt := range strings.SplitSeq(when, "|") {
		all := true
		for term := range strings.SplitSeq(alt, "&") {
			if l, r, ok := strings.Cut(term, "!="); ok {
				all = all && operand(l) != operand(r)
			} else {
				l, r, _ := strings.Cut(term, "=")
				all = all && operand(l) == operand(r)
			}
		}
		if all {
			return true
		}
	}
	return false
}
