package ppc64_test

import (
	"strings"

	"golang.org/x/arch/ppc64/ppc64asm"

	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// operands demands that every register that x/arch names is among those that are
// read or written, and that of those that are killed each is its first operand, or
// one that it does not name.
func (s *sweeper) operands(code []byte, inst *ppc64asm.Inst) {
	var in reloc.Insn
	if ppc64.BE.Decode(&in, code, sweepPC) != nil {
		return
	}
	var use reloc.RegUse
	ppc64.BE.Registers(&use, &in)
	s.name(&in, inst)
	touched := use.Reads
	touched.Union(&use.Writes)
	for i, a := range inst.Args {
		r, ok := argReg(a)
		if !ok || r == ppc64.R0 {
			continue // r0 may stand for 0
		}
		row, _ := ppc64.BE.RowOf(&in)
		if r == ppc64.CR && i == 1 && branchName.MatchString(inst.Op.String()) {
			continue // named even where BO says that it is not looked at
		}
		if !touched.Has(r) {
			s.finding(row.Name+": a register that is neither read nor written", code, inst)
		}
		if i > 0 && use.Kills.Has(r) && !use.Reads.Has(r) && inst.Args[0] != a && !secondIsTarget(row.Name) {
			s.finding(row.Name+": a register killed that is no target", code, inst)
		}
	}
}

// name compares the mnemonic with the row's, where the row is one instruction.
func (s *sweeper) name(in *reloc.Insn, inst *ppc64asm.Inst) {
	row, _ := ppc64.BE.RowOf(in)
	own, _, _ := strings.Cut(row.Name, " ")
	its := inst.Op.String()
	if strings.ContainsAny(row.Name, "*,()") || own == "nop" {
		return
	}
	bare := func(s string) string {
		return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(s, "."), "o"), "a")
	}
	if own != its && bare(own) != bare(its) && !aliases[own+" "+its] {
		s.finding(own+": called "+its, in.Raw(), inst)
	}
}

// aliases are pairs of names for one instruction.
var aliases = map[string]bool{
	"addi li": true, "addis lis": true, "cmp cmpw": true, "cmp cmpd": true, "cmpi cmpwi": true, "cmpi cmpdi": true,
	"cmpl cmplw": true, "cmpl cmpld": true, "cmpli cmplwi": true, "cmpli cmpldi": true,
}

// secondIsTarget: moves from and to special registers name them.
func secondIsTarget(name string) bool { return len(name) > 5 && name[:2] == "mt" }

func (s *sweeper) finding(what string, code []byte, inst *ppc64asm.Inst) {
	s.Find(what, func() string { return fmtCode(code) + " " + inst.String() })
}

func fmtCode(b []byte) string {
	const digits = "0123456789abcdef"
	var out []byte
	for _, c := range b {
		out = append(out, digits[c>>4], digits[c&15])
	}
	return string(out)
}

// argReg is the register of an operand of x/arch.
func argReg(a ppc64asm.Arg) (fixups.Reg, bool) {
	switch a := a.(type) {
	case ppc64asm.Reg:
		switch {
		case a >= ppc64asm.R0 && a <= ppc64asm.R31:
			return ppc64.R0 + fixups.Reg(a-ppc64asm.R0), true
		case a >= ppc64asm.F0 && a <= ppc64asm.F31:
			return ppc64.F0 + fixups.Reg(a-ppc64asm.F0), true
		case a >= ppc64asm.V0 && a <= ppc64asm.V31:
			return ppc64.V0 + fixups.Reg(a-ppc64asm.V0), true
		case a >= ppc64asm.VS0 && a <= ppc64asm.VS31:
			return ppc64.F0 + fixups.Reg(a-ppc64asm.VS0), true
		case a >= ppc64asm.VS32 && a <= ppc64asm.VS63:
			return ppc64.V0 + fixups.Reg(a-ppc64asm.VS32), true
		case a >= ppc64asm.A0 && a <= ppc64asm.A7:
			return ppc64.F0 + 4*fixups.Reg(a-ppc64asm.A0), true
		}
	case ppc64asm.CondReg:
		return ppc64.CR, true
	}
	return 0, false
}
