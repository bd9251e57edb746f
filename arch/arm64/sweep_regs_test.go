package arm64_test

import (
	"strings"

	"golang.org/x/arch/arm64/arm64asm"

	"github.com/xol-go/xol/arch/arm64"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// operands demands that every register that x/arch names is among those that are
// read or written, and that of those that are killed and not read each is the
// destination that x/arch names first, or one that it does not name.
func (s *sweeper) operands(code []byte, inst *arm64asm.Inst) {
	var in reloc.Insn
	if arm64.A64.Decode(&in, code, sweepPC) != nil {
		return
	}
	var use reloc.RegUse
	arm64.A64.Registers(&use, &in)
	row, _ := arm64.A64.RowOf(&in)
	touched := use.Reads
	touched.Union(&use.Writes)
	for i, a := range inst.Args {
		for _, r := range argRegs(a) {
			if !touched.Has(r) && !prefetches(inst) {
				s.finding(row.Name+": a register that is neither read nor written", code, inst)
			}
			if use.Kills.Has(r) && !use.Reads.Has(r) && !isDestination(inst, i) {
				s.finding(row.Name+": a register killed that is no destination", code, inst)
			}
		}
	}
	s.sources(row.Name, &use, code, inst)
}

// sources demands that what x/arch names as a source is read, and what it names as
// a destination written.
func (s *sweeper) sources(name string, use *reloc.RegUse, code []byte, inst *arm64asm.Inst) {
	for i, a := range inst.Args {
		for _, r := range argRegs(a) {
			_, mem := a.(arm64asm.MemImmediate)
			if _, ext := a.(arm64asm.MemExtend); ext {
				mem = true
			}
			switch {
			case mem && !use.Reads.Has(r):
				s.finding(name+": an address that is not read", code, inst)
			case !mem && isDestination(inst, i) && !use.Writes.Has(r):
				s.finding(name+": a destination that is not written", code, inst)
			case !mem && !isDestination(inst, i) && !use.Reads.Has(r) && !prefetches(inst):
				s.finding(name+": a source that is not read", code, inst)
			}
		}
	}
	for _, a := range inst.Args {
		m, ok := a.(arm64asm.MemImmediate)
		if !ok || m.Mode == arm64asm.AddrOffset || m.Mode == 0 {
			continue
		}
		if r, ok := regOf(arm64asm.Reg(m.Base), true); ok && !use.Writes.Has(r) {
			s.finding(name+": a base that is not written back", code, inst)
		}
	}
}

// isDestination reports whether operand i of inst is written, by its place and the
// mnemonic: nearly everywhere that is the first one; stores and compares have none,
// pair loads two, store exclusives the status.
func isDestination(inst *arm64asm.Inst, i int) bool {
	op := inst.Op.String()
	switch {
	case strings.HasPrefix(op, "STX"), strings.HasPrefix(op, "STLX"):
		return i == 0
	case strings.HasPrefix(op, "LDP"), strings.HasPrefix(op, "LDNP"), strings.HasPrefix(op, "LDXP"), strings.HasPrefix(op, "LDAXP"):
		return i <= 1
	case strings.HasPrefix(op, "ST"), strings.HasPrefix(op, "CMP"), strings.HasPrefix(op, "CMN"), strings.HasPrefix(op, "CCM"),
		strings.HasPrefix(op, "TST"), strings.HasPrefix(op, "FCMP"), strings.HasPrefix(op, "FCCMP"), strings.HasPrefix(op, "CB"),
		strings.HasPrefix(op, "TB"), op == "BR", op == "BLR", op == "RET", op == "MSR", op == "SYS", op == "DC", op == "IC", op == "AT", op == "TLBI":
		return false
	}
	return i == 0
}

func prefetches(inst *arm64asm.Inst) bool { return strings.HasPrefix(inst.Op.String(), "PRF") }

func (s *sweeper) finding(what string, code []byte, inst *arm64asm.Inst) {
	s.Find(what, func() string { return inst.String() })
}

// argRegs are the registers of an operand of x/arch.
func argRegs(a arm64asm.Arg) (list []fixups.Reg) {
	add := func(r arm64asm.Reg, sp bool) {
		if n, ok := regOf(r, sp); ok {
			list = append(list, n)
		}
	}
	switch a := a.(type) {
	case arm64asm.Reg:
		add(a, false)
	case arm64asm.RegSP:
		add(arm64asm.Reg(a), true)
	case arm64asm.RegExtshiftAmount:
		// its register is not exported; the row's fields are the same as without a shift
	case arm64asm.MemImmediate:
		add(arm64asm.Reg(a.Base), true)
	case arm64asm.MemExtend:
		add(arm64asm.Reg(a.Base), true)
		add(a.Index, false)
	}
	return list
}

// regOf is the number of a register of x/arch; 31 is SP or nothing.
func regOf(r arm64asm.Reg, sp bool) (fixups.Reg, bool) {
	between := func(lo, hi arm64asm.Reg) bool { return r >= lo && r <= hi }
	switch {
	case between(arm64asm.W0, arm64asm.W30):
		return arm64.X0 + fixups.Reg(r-arm64asm.W0), true
	case between(arm64asm.X0, arm64asm.X30):
		return arm64.X0 + fixups.Reg(r-arm64asm.X0), true
	case sp && (r == arm64asm.WZR || r == arm64asm.XZR): // WSP, SP
		return arm64.SP, true
	case between(arm64asm.B0, arm64asm.B31):
		return arm64.V0 + fixups.Reg(r-arm64asm.B0), true
	case between(arm64asm.H0, arm64asm.H31):
		return arm64.V0 + fixups.Reg(r-arm64asm.H0), true
	case between(arm64asm.S0, arm64asm.S31):
		return arm64.V0 + fixups.Reg(r-arm64asm.S0), true
	case between(arm64asm.D0, arm64asm.D31):
		return arm64.V0 + fixups.Reg(r-arm64asm.D0), true
	case between(arm64asm.Q0, arm64asm.Q31):
		return arm64.V0 + fixups.Reg(r-arm64asm.Q0), true
	case between(arm64asm.V0, arm64asm.V31):
		return arm64.V0 + fixups.Reg(r-arm64asm.V0), true
	}
	return 0, false
}
