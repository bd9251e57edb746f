package reloctest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
	"github.com/xol-go/xol/reloc/reloctest/toy"
)

// broken is the toy with something replaced.
type broken struct {
	toy.Arch
	info   *reloc.Info
	decode func(in *reloc.Insn, code []byte, pc uint64) error
	plan   func(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) error
	regs   func(use *reloc.RegUse, in *reloc.Insn)
	random func(dst []byte, rnd func() uint64) []byte
	patch  fixups.Patch
	row    func(r reloc.Row) reloc.Row
}

func (b *broken) Info() *reloc.Info {
	if b.info != nil {
		return b.info
	}
	return b.Arch.Info()
}

func (b *broken) Decode(in *reloc.Insn, code []byte, pc uint64) error {
	if b.decode != nil {
		return b.decode(in, code, pc)
	}
	return b.Arch.Decode(in, code, pc)
}

func (b *broken) Plan(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) error {
	if b.plan != nil {
		return b.plan(p, in, env)
	}
	return b.Arch.Plan(p, in, env)
}

func (b *broken) Registers(use *reloc.RegUse, in *reloc.Insn) {
	if b.regs != nil {
		b.regs(use, in)
		return
	}
	b.Arch.Registers(use, in)
}

func (b *broken) AppendRandom(dst []byte, rnd func() uint64) []byte {
	if b.random != nil {
		return b.random(dst, rnd)
	}
	return b.Arch.AppendRandom(dst, rnd)
}

func (b *broken) Patch(in *reloc.Insn, env *reloc.Env) fixups.Patch {
	return b.patch | b.Arch.Patch(in, env)
}

func (b *broken) Row(id uint32) (reloc.Row, bool) {
	r, ok := b.Arch.Row(id)
	if b.row != nil && ok {
		r = b.row(r)
	}
	return r, ok
}

func (b *broken) RowOf(in *reloc.Insn) (reloc.Row, bool) { return b.Row(in.Row) }

// withInfo changes the constants.
func withInfo(f func(i *reloc.Info)) *broken {
	i := *toy.Toy.Info()
	f(&i)
	return &broken{info: &i}
}

// withDecode changes an instruction after it was decoded.
func withDecode(f func(in *reloc.Insn, code []byte, err error) error) *broken {
	return &broken{decode: func(in *reloc.Insn, code []byte, pc uint64) error {
		return f(in, code, toy.Toy.Decode(in, code, pc))
	}}
}

// withPlan changes a plan after it was made.
func withPlan(f func(p *reloc.Plan, in *reloc.Insn, env *reloc.Env)) *broken {
	return &broken{plan: func(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) error {
		err := toy.Toy.Plan(p, in, env)
		if err == nil {
			f(p, in, env)
		}
		return err
	}}
}

func whenForm(form fixups.Form, f func(p *reloc.Plan, in *reloc.Insn)) *broken {
	return withPlan(func(p *reloc.Plan, in *reloc.Insn, _ *reloc.Env) {
		if p.Form == form {
			f(p, in)
		}
	})
}

func goTo(off int64) fixups.Program {
	return fixups.Program{{Op: fixups.OpMov, Dst: fixups.PC(), A: fixups.SitePlus(off)}}
}

var calls atomic.Uint64
var sink atomic.Pointer[[64]byte]

// variants are toys with one mistake each, and the rule that finds it.
var variants = []struct {
	mistake string
	rule    *Rule
	arch    reloc.Arch
}{
	{"alignment 3", ruleInfo, withInfo(func(i *reloc.Info) { i.Align = 3 })},
	{"a trap that advances past itself", ruleInfo, withInfo(func(i *reloc.Info) { i.TrapAdvances = 3 })},
	{"a register name given twice", ruleRegNames, withInfo(func(i *reloc.Info) {
		i.Regs = append(fixups.RegNames{{Num: 20, Name: "r1", Bits: 64}}, i.Regs...)
	})},
	{"a register number of 256", ruleRegNames, withInfo(func(i *reloc.Info) {
		i.Regs = append(fixups.RegNames{{Num: 256, Name: "x", Bits: 64}}, i.Regs...)
	})},
	{"a trap that is none", ruleTrap, withInfo(func(i *reloc.Info) { i.Trap = []byte{0, 0} })},
	{"a nop that is a store", ruleNops, withInfo(func(i *reloc.Info) { i.Nops = [][]byte{{0, 0}, {6, 0, 0, 0}} })},
	{"a branch of odd size", ruleBranches, withInfo(func(i *reloc.Info) {
		i.Branches = []reloc.Branch{{Name: "b", Size: 3, Min: -4, Max: 4}}
	})},

	{"reads past the end", ruleNoPanic, &broken{decode: func(in *reloc.Insn, code []byte, pc uint64) error {
		if len(code) == 3 {
			_ = code[3]
		}
		return toy.Toy.Decode(in, code, pc)
	}}},
	{"plans panic", ruleNoPanic, withPlan(func(*reloc.Plan, *reloc.Insn, *reloc.Env) { panic("oops") })},
	{"allocates", ruleNoAlloc, withDecode(func(_ *reloc.Insn, _ []byte, err error) error { sink.Store(new([64]byte)); return err })},
	{"an error that is no reason", ruleReason, withDecode(func(_ *reloc.Insn, _ []byte, err error) error {
		if err != nil {
			return errors.New("bad")
		}
		return nil
	})},
	{"a plan refused for no reason", ruleReason, &broken{plan: func(p *reloc.Plan, _ *reloc.Insn, _ *reloc.Env) error {
		p.Reset()
		return fixups.ReasonNone
	}}},
	{"no length of what was refused", ruleErrLen, withDecode(func(in *reloc.Insn, _ []byte, err error) error {
		if err != nil {
			in.Len = 0
		}
		return err
	})},
	{"wants more bytes than it needs", ruleTruncated, withDecode(func(in *reloc.Insn, code []byte, err error) error {
		if err == nil && in.Len == 2 && len(code) == 2 {
			return fixups.ReasonTruncated
		}
		return err
	})},
	{"cut bytes called reserved", rulePrefix, withDecode(func(in *reloc.Insn, code []byte, err error) error {
		if err == fixups.ReasonTruncated && len(code) == 3 {
			return fixups.ReasonReserved
		}
		return err
	})},
	{"a prefix of an instruction decodes", rulePrefix, withDecode(func(in *reloc.Insn, code []byte, err error) error {
		if err == fixups.ReasonTruncated && len(code) == 2 {
			in.Class, in.Bytes[0], in.Bytes[1], in.Flags = fixups.ClassPlain, code[0], code[1], reloc.Continues
			return nil
		}
		return err
	})},
	{"looks at the bytes behind", rulePrefix, withDecode(func(in *reloc.Insn, code []byte, err error) error {
		if err == nil && len(code) > int(in.Len) {
			in.Hazards |= fixups.HazardAdjacent.Bit()
		}
		return err
	})},
	{"a length of 5", ruleLen, withDecode(func(in *reloc.Insn, _ []byte, err error) error {
		if err == nil {
			in.Len = 5
		}
		return err
	})},
	{"an instruction at an odd address", ruleAligned, &broken{decode: func(in *reloc.Insn, code []byte, pc uint64) error {
		err := toy.Toy.Decode(in, code, pc&^1)
		if err == nil {
			in.PC = pc
		}
		return err
	}}},
	{"bytes behind the instruction", ruleInsn, withDecode(func(in *reloc.Insn, code []byte, err error) error {
		if err == nil {
			in.Bytes[15] = 1
		}
		return err
	})},
	{"an instruction without a class", ruleInsn, withDecode(func(in *reloc.Insn, _ []byte, err error) error {
		in.Class = fixups.ClassInvalid
		return err
	})},
	{"a branch that falls through", ruleInsn, withDecode(func(in *reloc.Insn, _ []byte, err error) error {
		in.Flags |= reloc.Continues
		return err
	})},
	{"leaves a field as it was", ruleAllFields, &broken{decode: func(in *reloc.Insn, code []byte, pc uint64) error {
		old := in.AltLen
		err := toy.Toy.Decode(in, code, pc)
		in.AltLen = old & 2
		return err
	}}},
	{"a target that does not move with pc", rulePC, withDecode(func(in *reloc.Insn, _ []byte, err error) error {
		if in.HasTarget() {
			in.Target += in.PC >> 3
		}
		return err
	})},
	{"a length that depends on pc", rulePC, withDecode(func(in *reloc.Insn, _ []byte, err error) error {
		if err == nil && in.PC == 0 {
			in.Row = 0
		}
		return err
	})},
	{"another answer each time", ruleSame, withPlan(func(p *reloc.Plan, _ *reloc.Insn, _ *reloc.Env) {
		p.Stack = uint16(calls.Add(1))
	})},
	{"kills what it does not write", ruleRegisters, &broken{regs: func(use *reloc.RegUse, in *reloc.Insn) {
		toy.Toy.Registers(use, in)
		use.Kills.Add(3)
	}}},
	{"registers without names", ruleRegisters, &broken{regs: func(use *reloc.RegUse, in *reloc.Insn) {
		toy.Toy.Registers(use, in)
		use.Reads.Add(99)
	}}},
	{"registers of the one before", ruleRegisters, &broken{regs: func(use *reloc.RegUse, in *reloc.Insn) {
		old := use.Reads
		toy.Toy.Registers(use, in)
		use.Reads.Union(&old)
	}}},
	{"a row of another class", ruleRows, &broken{row: func(r reloc.Row) reloc.Row {
		if r.Name == "ld" {
			r.Class = fixups.ClassTrap
		}
		return r
	}}},
	{"a row without a source", ruleRows, &broken{row: func(r reloc.Row) reloc.Row { r.Source = ""; return r }}},
	{"Rows and no Describer", ruleRows, struct {
		reloc.Arch
		rowser
	}{toy.Toy, rowser{}}},
	{"no case for a row", ruleCases, withDecode(func(in *reloc.Insn, _ []byte, err error) error {
		if err == nil && in.Row == 1 {
			in.Len = 2
			return fixups.ReasonReserved
		}
		return err
	})},
	{"generates what is reserved", ruleGenerator, &broken{random: func(dst []byte, rnd func() uint64) []byte {
		if b := byte(rnd()); b > 200 {
			return append(dst, 15, b)
		}
		return toy.Toy.AppendRandom(dst, rnd)
	}}},
	{"a third way to patch", rulePatch, &broken{patch: 4}},

	{"a refused plan with code", ruleEmpty, &broken{plan: func(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) error {
		err := toy.Toy.Plan(p, in, env)
		if err != nil {
			p.Code = append(p.Code, 0)
		}
		return err
	}}},
	{"another form than asked", ruleForm, withPlan(func(p *reloc.Plan, _ *reloc.Insn, _ *reloc.Env) { p.Form = fixups.FormStep })},
	{"a site of another length", ruleForm, withPlan(func(p *reloc.Plan, _ *reloc.Insn, _ *reloc.Env) { p.SiteLen = 3 })},
	{"no strategy", ruleForm, withPlan(func(p *reloc.Plan, _ *reloc.Insn, _ *reloc.Env) { p.Strategy = fixups.StrategyNone })},
	{"a plan for what was never decoded", ruleInvalid, &broken{plan: func(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) error {
		if in.Class == fixups.ClassInvalid {
			nop := *in
			nop.Class, nop.Len = fixups.ClassPlain, 2
			return toy.Toy.Plan(p, &nop, env)
		}
		return toy.Toy.Plan(p, in, env)
	}}},
	{"changes the instruction", ruleKeepInsn, withPlan(func(_ *reloc.Plan, in *reloc.Insn, _ *reloc.Env) { in.Row++ })},
	{"clobbers without leave", ruleAsked, withPlan(func(p *reloc.Plan, _ *reloc.Insn, _ *reloc.Env) { p.Clobbers.Add(4) })},
	{"loses a register without leave", ruleAsked, whenForm(fixups.FormJump, func(p *reloc.Plan, _ *reloc.Insn) {
		p.Points[0].Lost.Add(4)
		p.Lost.Add(4)
	})},
	{"returns to the slot without leave", ruleAsked, withPlan(func(p *reloc.Plan, in *reloc.Insn, _ *reloc.Env) { p.Returns = fixups.ReturnsSlot })},
	{"needs data without leave", ruleAsked, whenForm(fixups.FormStep, func(p *reloc.Plan, _ *reloc.Insn) {
		p.Abort = append(fixups.Program{{Op: fixups.OpMov, Dst: fixups.T(0), A: fixups.DataPlus(0)}}, p.Abort...)
	})},
	{"stopped in another way", ruleAsked, whenForm(fixups.FormStep, func(p *reloc.Plan, _ *reloc.Insn) { p.Stop ^= 1 })},
	{"reads a temporary that is not set", ruleProgram, whenForm(fixups.FormStep, func(p *reloc.Plan, _ *reloc.Insn) {
		p.Post = fixups.Program{{Op: fixups.OpMov, Dst: fixups.PC(), A: fixups.T(3)}}
	})},
	{"a reloc beyond the code", ruleProgram, whenForm(fixups.FormJump, func(p *reloc.Plan, _ *reloc.Insn) {
		for i := range p.Relocs {
			p.Relocs[i].Off = 100
		}
	})},

	{"an access after a change", ruleProgram, whenForm(fixups.FormEmulate, func(p *reloc.Plan, _ *reloc.Insn) {
		p.Emulate = append(goTo(0), fixups.Step{Op: fixups.OpLoad, Size: 8, Dst: fixups.T(0), A: fixups.Const(0)})
	})},
	{"an emulation that ends elsewhere", ruleEmulate, whenForm(fixups.FormEmulate, func(p *reloc.Plan, in *reloc.Insn) {
		if in.Class == fixups.ClassBranch {
			p.Emulate = goTo(int64(in.Len))
		}
	})},
	{"an emulation that does nothing", ruleEmulate, whenForm(fixups.FormEmulate, func(p *reloc.Plan, _ *reloc.Insn) { p.Emulate = nil })},
	{"a branch that is always taken", ruleExits, whenForm(fixups.FormJump, func(p *reloc.Plan, in *reloc.Insn) {
		if in.Class == fixups.ClassCondBranch {
			p.Relocs[0].Addend = p.Relocs[1].Addend
		}
	})},
	{"post one short", ruleStep, whenForm(fixups.FormStep, func(p *reloc.Plan, in *reloc.Insn) {
		if in.Class == fixups.ClassPlain {
			p.Post = goTo(int64(in.Len) - 2)
		}
	})},
	{"abort forgets the scratch register", ruleStep, whenForm(fixups.FormStep, func(p *reloc.Plan, _ *reloc.Insn) {
		p.Pre = fixups.Program{
			{Op: fixups.OpMov, Dst: fixups.T(1), A: fixups.R(5)},
			{Op: fixups.OpMov, Dst: fixups.R(5), A: fixups.SitePlus(0)},
		}
	})},
	{"abort forgets pc", ruleStep, whenForm(fixups.FormStep, func(p *reloc.Plan, _ *reloc.Insn) { p.Abort = nil })},
	{"a step without a tail", ruleStep, whenForm(fixups.FormStep, func(p *reloc.Plan, _ *reloc.Insn) { p.Tail = fixups.TailNone })},
	{"a point is missing", rulePoints, whenForm(fixups.FormJump, func(p *reloc.Plan, _ *reloc.Insn) { p.Points = p.Points[:1] })},
	{"no point at 0", rulePoints, whenForm(fixups.FormStep, func(p *reloc.Plan, _ *reloc.Insn) { p.Points = p.Points[:0] })},
	{"a point inside an instruction", rulePoints, whenForm(fixups.FormJump, func(p *reloc.Plan, _ *reloc.Insn) {
		for i := range p.Points[1:] {
			p.Points[1+i].Off++
		}
	})},
	{"back ends behind the site", ruleBack, whenForm(fixups.FormJump, func(p *reloc.Plan, in *reloc.Insn) {
		p.Points[0].Back = goTo(int64(in.Len))
	})},
	{"back changes a register", ruleBack, whenForm(fixups.FormJump, func(p *reloc.Plan, _ *reloc.Insn) {
		p.Points[0].Back = append(fixups.Program{{Op: fixups.OpMov, Dst: fixups.R(2), A: fixups.Const(7)}}, p.Points[0].Back...)
	})},
	{"no way back from the start", ruleBack, whenForm(fixups.FormJump, func(p *reloc.Plan, _ *reloc.Insn) {
		p.Points[0].HasBack, p.Points[0].Back = false, nil
	})},
	{"no way forward", ruleForward, whenForm(fixups.FormJump, func(p *reloc.Plan, _ *reloc.Insn) {
		for i := range p.Points[1:] {
			p.Points[1+i].HasForward, p.Points[1+i].Forward = false, nil
		}
	})},
	{"forward ends at the site", ruleForward, whenForm(fixups.FormJump, func(p *reloc.Plan, _ *reloc.Insn) {
		for i := range p.Points[1:] {
			p.Points[1+i].Forward = goTo(0)
		}
	})},
	{"code that does not decode", ruleCode, whenForm(fixups.FormJump, func(p *reloc.Plan, in *reloc.Insn) {
		if in.Class == fixups.ClassPlain {
			p.Code[0] = 15
		}
	})},
	{"code that runs past its end", ruleCode, whenForm(fixups.FormStep, func(p *reloc.Plan, in *reloc.Insn) {
		if in.Class == fixups.ClassPlain {
			p.Code = p.Code[:in.Len]
		}
	})},
	{"a load of the wrong address", ruleExits, whenForm(fixups.FormJump, func(p *reloc.Plan, in *reloc.Insn) {
		if in.Class == fixups.ClassPCRelative {
			p.Relocs[0].Addend += 2
		}
	})},
	{"a branch to the wrong address", ruleExits, whenForm(fixups.FormJump, func(p *reloc.Plan, in *reloc.Insn) {
		if in.Class == fixups.ClassBranch {
			p.Relocs[0].Addend += 2
		}
	})},
	{"a tail that is not there", ruleTail, whenForm(fixups.FormStep, func(p *reloc.Plan, in *reloc.Insn) {
		if in.Class == fixups.ClassPlain {
			p.Tail = fixups.TailJump
		}
	})},
	{"a trap that is not there", ruleTail, whenForm(fixups.FormJump, func(p *reloc.Plan, in *reloc.Insn) {
		if in.Class == fixups.ClassPlain {
			p.Tail = fixups.TailTrap
		}
	})},
	{"a template with a value in a field", ruleRelocs, whenForm(fixups.FormJump, func(p *reloc.Plan, _ *reloc.Insn) {
		for i := range p.Relocs {
			p.Code[p.Relocs[i].Off+1] |= 0x80
		}
	})},
	{"a register's value in a shared slot", ruleRelocs, whenForm(fixups.FormJump, func(p *reloc.Plan, _ *reloc.Insn) {
		for i := range p.Relocs {
			p.Relocs[i].Base = fixups.BaseReg
		}
	})},
	{"an empty reach", ruleReach, whenForm(fixups.FormJump, func(p *reloc.Plan, _ *reloc.Insn) {
		p.Far, p.Reach.Min, p.Reach.Max = false, 1, 0
	})},
	{"a short reach for far slots", ruleReach, whenForm(fixups.FormStep, func(p *reloc.Plan, _ *reloc.Insn) {
		p.Far, p.Reach.Min, p.Reach.Max = false, -4096, 4096
	})},
	{"a reach one step too wide", rulePlace, whenForm(fixups.FormJump, func(p *reloc.Plan, _ *reloc.Insn) {
		if p.Reach.Max != math.MaxInt64 {
			p.Reach.Max += 2
		}
	})},
	{"a field that is not checked", ruleExits, whenForm(fixups.FormJump, func(p *reloc.Plan, _ *reloc.Insn) {
		if p.Reach.Min != math.MinInt64 {
			p.Reach.Min -= 2
			for i := range p.Relocs {
				p.Relocs[i].Check = fixups.CheckNone
			}
		}
	})},
	{"a plan for another form in a verdict", ruleVerdicts, withPlan(func(p *reloc.Plan, _ *reloc.Insn, _ *reloc.Env) { p.Form ^= 1 })},
}

// rowser has Rows and nothing else.
type rowser struct{}

func (rowser) Rows() []reloc.Row { return nil }

// Every mistake is found by the rule that is about it, and the message names the
// contract, the rule and, where there are any, the bytes.
func TestBroken(t *testing.T) {
	hit := map[*Rule]bool{}
	for _, v := range variants {
		hit[v.rule] = true
		err := Check(v.arch, &Options{Random: 30, AllRows: v.rule == ruleCases})
		var found *Violation
		for _, e := range unjoin(err) {
			if x, ok := e.(*Violation); ok && x.Rule == v.rule {
				found = x
				break
			}
		}
		if found == nil {
			t.Errorf("%s: rule %s finds nothing; the others: %.300v", v.mistake, v.rule.Name, err)
			continue
		}
		msg := found.Error()
		for _, part := range []string{v.rule.Contract + ": " + v.rule.Name, v.rule.Text, "toy", hex.EncodeToString(found.Bytes)} {
			if !strings.Contains(msg, part) {
				t.Errorf("%s: %q does not say %q", v.mistake, msg, part)
			}
		}
	}
	for _, r := range rules {
		if !hit[r] {
			t.Errorf("no mistake breaks rule %s", r.Name)
		}
	}
}

func unjoin(err error) []error {
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		return j.Unwrap()
	}
	return []error{err}
}

// What is right passes, in the three ways to ask.
func TestRight(t *testing.T) {
	if err := Check(toy.Toy, &Options{AllRows: true}); err != nil {
		t.Error(err)
	}
	TestArch(t, toy.Toy, &Options{Random: 50, DecodeOnly: true, Inputs: [][]byte{{1, 0, 0, 0}}})
	if err := CheckCode(toy.Toy, []byte{6, 1, 2, 3}, 0x1000); err != nil {
		t.Error(err)
	}
}

// TestArch fails the test it is given, once for each violation.
func TestReports(t *testing.T) {
	var r recorder
	TestArch(&r, withInfo(func(i *reloc.Info) { i.Align = 3; i.Nops = nil }), &Options{Random: -1})
	if len(r.errors) < 2 {
		t.Errorf("%d errors: %v", len(r.errors), r.errors)
	}
	if n := len(Rules()); n != len(rules) {
		t.Errorf("%d rules", n)
	}
}

type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper()           {}
func (r *recorder) Error(args ...any) { r.errors = append(r.errors, fmt.Sprint(args...)) }

// At most three violations of a rule are told in full, and the rest counted.
func TestMany(t *testing.T) {
	err := Check(withDecode(func(in *reloc.Insn, _ []byte, err error) error {
		in.Bytes[15] = 1
		return err
	}), &Options{Random: 100})
	n, more := 0, 0
	for _, e := range unjoin(err) {
		if v, ok := e.(*Violation); ok && v.Rule == ruleInsn {
			n++
			more += v.More
		}
	}
	if n != maxPerRule || more < 10 {
		t.Errorf("%d violations and %d more", n, more)
	}
}

func FuzzToy(f *testing.F) {
	f.Add([]byte{7, 0, 0, 1}, uint64(0x1000))
	f.Fuzz(func(t *testing.T, code []byte, pc uint64) {
		if err := CheckCode(toy.Toy, code, pc&^1); err != nil {
			t.Error(err)
		}
	})
}
