package fixups

import (
	"errors"
	"strings"
	"testing"
)

// prog reads a program, one step a line.
func prog(t testing.TB, lines ...string) Program {
	t.Helper()
	p, err := ParseProgram(lines, testRegs)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func repeat(n int, line ...string) []string {
	var out []string
	for range n {
		out = append(out, line...)
	}
	return out
}

func TestProgramCheck(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		set   uint8
		want  string // "" is right
	}{
		{"empty", nil, 0, ""},
		{"most steps", repeat(32, "rax = mov rax"), 0, ""},
		{"set before", []string{"rax = mov t3"}, 1 << 3, ""},
		{"not set before", []string{"rax = mov t3"}, 0xff &^ (1 << 3), "t3 is read before"},
		{"written, read", []string{"t0 = mov 1", "rax = mov t0"}, 0, ""},
		{"address not set", []string{"store8le t0, rax"}, 0, "t0 is read before"},
		{"stored value not set", []string{"store8le rax, t0"}, 0, "t0 is read before"},
		{"inserted into nothing", []string{"t0 = insert rax, 0, 8"}, 0, "t0 is read before"},
		{"inserted", []string{"t0 = mov 0", "t0 = insert rax, 0, 8"}, 0, ""},
		{"two stores", repeat(2, "store8le rax, rax"), 0, ""},
		{"three stores", repeat(3, "store8le rax, rax"), 0, "3 stores"},
		{"skips the last", []string{"skip 1 if rax eq 0 w64", "rax = mov 0"}, 0, ""},
		{"skips past the end", []string{"skip 2 if rax eq 0 w64", "rax = mov 0"}, 0, "skips past the end"},
		{"written under a skip", []string{"skip 1 if rax eq 0 w64", "t0 = mov 0", "rax = mov t0"}, 0, "t0 is read before"},
		{"written under the outer of two skips", []string{"skip 3 if rax eq 0 w64", "skip 1 if rax eq 1 w64", "rax = mov 0", "t0 = mov 0", "rax = mov t0"}, 0, "t0 is read before"},
		{"read under the skip it was written under", []string{"skip 2 if rax eq 0 w64", "t0 = mov 0", "rax = mov t0"}, 0, "t0 is read before"},
		{"written behind a skip", []string{"skip 1 if rax eq 0 w64", "rax = mov 0", "t0 = mov 0", "rax = mov t0"}, 0, ""},
		{"popped or nothing", []string{"t0 = shpop", "rax = mov t0"}, 0, "t0 is read before"},
		{"popped or 1", []string{"t0 = shpop 1", "rax = mov t0"}, 0, ""},
	} {
		checkErr(t, c.name, prog(t, c.lines...).Check(c.set), ErrProgram, c.want)
	}
	long := append(prog(t, repeat(32, "rax = mov rax")...), Step{Op: OpMov, Dst: R(0), A: R(0)})
	checkErr(t, "too long", long.Check(0), ErrProgram, "33 steps")
}

func checkErr(t *testing.T, name string, err, is error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	if !errors.Is(err, is) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
}

// Each field of a step, once out of range.
func TestStepCheck(t *testing.T) {
	rax := R(0)
	for _, c := range []struct {
		name string
		step Step
		want string
	}{
		{"operation", Step{Op: numOps, Dst: rax, A: rax, B: rax}, "operation"},
		{"no destination", Step{Op: OpMov, A: rax}, "no destination"},
		{"constant destination", Step{Op: OpMov, Dst: Const(1), A: rax}, "no destination"},
		{"destination site", Step{Op: OpMov, Dst: SitePlus(0), A: rax}, "no destination"},
		{"destination t8", Step{Op: OpMov, Dst: T(8), A: rax}, "temporary t8"},
		{"destination register", Step{Op: OpMov, Dst: R(256), A: rax}, "register 256"},
		{"destination none", Step{Op: OpMov, Dst: R(RegNone), A: rax}, "register 65534"},
		{"no operand", Step{Op: OpMov, Dst: rax}, "operand kind 0"},
		{"no second operand", Step{Op: OpAdd, Dst: rax, A: rax}, "operand kind 0"},
		{"operand kind", Step{Op: OpMov, Dst: rax, A: Operand{Kind: numOperandKinds}}, "operand kind 7"},
		{"operand t8", Step{Op: OpMov, Dst: rax, A: T(8)}, "temporary t8"},
		{"operand register", Step{Op: OpMov, Dst: rax, A: R(0x1800)}, "register 6144"},
		{"last part", Step{Op: OpMov, Dst: rax, A: R(0x17ff)}, ""},
		{"zext 64", Step{Op: OpZext, Width: 64, Dst: rax, A: rax}, "bad field"},
		{"sext 0", Step{Op: OpSext, Dst: rax, A: rax}, "bad field"},
		{"extract of nothing", Step{Op: OpExtract, Dst: rax, A: rax}, "bad field"},
		{"extract past the word", Step{Op: OpExtract, Lsb: 60, Width: 5, Dst: rax, A: rax}, "bad field"},
		{"extract to the end", Step{Op: OpExtract, Lsb: 60, Width: 4, Dst: rax, A: rax}, ""},
		{"insert at 64", Step{Op: OpInsert, Lsb: 64, Width: 1, Dst: rax, A: rax}, "bad field"},
		{"insert of overflow", Step{Op: OpInsert, Lsb: 63, Width: 255, Dst: rax, A: rax}, "bad field"},
		{"load of 3", Step{Op: OpLoad, Size: 3, Dst: rax, A: rax}, "bad field"},
		{"load of 16", Step{Op: OpLoad, Size: 16, Dst: rax, A: rax}, "bad field"},
		{"store order", Step{Op: OpStore, Size: 8, Order: 2, A: rax, B: rax}, "bad field"},
		{"skip width", Step{Op: OpSkip, Skip: 1, Width: 1, A: rax, B: rax}, "bad field"},
		{"skip condition", Step{Op: OpSkip, Skip: 1, Width: 8, Cond: numConds, A: rax, B: rax}, "bad field"},
		{"skip of none", Step{Op: OpSkip, Width: 8, A: rax, B: rax}, "bad field"},
		{"skip of 32", Step{Op: OpSkip, Skip: 32, Width: 8, A: rax, B: rax}, "bad field"},
		{"push of nothing", Step{Op: OpShPush}, "operand kind 0"},
		{"pop of nothing", Step{Op: OpShPop, Dst: rax}, ""},
	} {
		checkErr(t, c.name, Program{c.step}.Check(0xff), ErrProgram, c.want)
		// Run must survive what Check refuses.
		err := Run(Program{c.step}, newMachine(1), &Bases{}, &Temps{}, 64)
		if c.want != "" && !strings.Contains(c.want, "register") && !errors.Is(err, ErrProgram) {
			t.Errorf("%s: Run: %v", c.name, err)
		}
	}
}

func TestCheckEmulate(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"call", []string{"t0 = sub rsp, 8", "t1 = load8le rax", "store8le t0, site+5", "shpush site+5", "rsp = mov t0", "pc = mov t1"}, ""},
		{"return", []string{"t0 = load8le rsp", "t1 = shpop t0", "rsp = add rsp, 8", "pc = mov t0"}, ""},
		{"two loads", []string{"t0 = load8le rsp", "t1 = load8le t0", "pc = mov t1"}, ""},
		{"load behind a store", []string{"store8le rsp, rax", "t0 = load8le rsp"}, "access after a change"},
		{"second store", []string{"store8le rsp, rax", "store8le rsp, rax"}, "access after a change"},
		{"store behind a register", []string{"rax = mov 0", "store8le rsp, rax"}, "access after a change"},
		{"load behind pc", []string{"pc = mov site", "t0 = load8le rsp"}, "access after a change"},
		{"load into a register, then a load", []string{"rax = load8le rsp", "t0 = load8le rsp"}, "access after a change"},
		{"store behind the shadow stack", []string{"shpush site", "store8le rsp, rax"}, "access after a change"},
		{"load behind the shadow stack", []string{"t0 = shpop 0", "t1 = load8le rsp"}, "access after a change"},
		{"a temporary of nobody", []string{"rax = mov t0"}, "t0 is read before"},
	} {
		checkErr(t, c.name, prog(t, c.lines...).CheckEmulate(), ErrProgram, c.want)
	}
}

func TestProgramSets(t *testing.T) {
	p := prog(t, "t0 = mov 0", "skip 1 if rax eq 0 w64", "t1 = mov 0", "t2 = load8le rax", "t3 = shpop", "t4 = shpop 0", "rax = mov 0")
	if got := p.Sets(); got != 1<<0|1<<2|1<<4 {
		t.Errorf("%08b", got)
	}
}

// Each rule of Plan.Check and Entry.Check, broken once.
func TestPlanCheck(t *testing.T) {
	good := func() *Entry { e := branch(0x1000, 100); return &e }
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	step := func(f func(p *Plan)) func(*Entry) { return func(e *Entry) { f(&e.Forms[1].Plan) } }
	bad := Program{{Op: OpMov, Dst: R(0), A: T(0)}}
	for want, change := range map[string]func(*Entry){
		"class 15":       func(e *Entry) { e.Class = 15 },
		"reason 25":      func(e *Entry) { e.Reason = reasonLast + 1 },
		"hazards":        func(e *Entry) { e.Hazards = 1 << 25 },
		"patch":          func(e *Entry) { e.Patch = 4 },
		"verdict 0":      func(e *Entry) { e.Forms[0].Form = 4 },
		"form jump":      func(e *Entry) { e.Forms[1].Form = FormJump },
		"form 4":         step(func(p *Plan) { p.Form = 4 }),
		"strategy":       step(func(p *Plan) { p.Strategy = 10 }),
		"tail":           step(func(p *Plan) { p.Tail = 3 }),
		"stop 2":         step(func(p *Plan) { p.Stop = 2 }),
		"return policy":  step(func(p *Plan) { p.Returns = 2 }),
		"needs":          step(func(p *Plan) { p.Needs = 8 }),
		"no bytes":       step(func(p *Plan) { p.SiteLen = 0 }),
		"slot alignment": step(func(p *Plan) { p.SlotAlign = 12 }),
		"of the reach":   step(func(p *Plan) { p.Reach.Align = 5 }),
		"residue":        step(func(p *Plan) { p.Reach.Align, p.Reach.Residue = 4, 4 }),
		"code of":        step(func(p *Plan) { p.Code = make([]byte, 1<<16) }),
		"stop at":        step(func(p *Plan) { p.CopyLen = 7 }),
		"reloc 0":        step(func(p *Plan) { p.Relocs[0].Off = 3 }),
		"escape 0":       step(func(p *Plan) { p.Escapes = []Escape{{Off: 7}} }),
		"point 1 is not": step(func(p *Plan) { p.Points = append(p.Points, p.Points[0]) }),
		"point 0":        step(func(p *Plan) { p.Points[0].State = 3 }),
		"it has not":     step(func(p *Plan) { p.Points[0].HasBack = false }),
		"1025 relocs":    step(func(p *Plan) { p.Relocs = make([]Reloc, 1025) }),
		"pre: ":          step(func(p *Plan) { p.Pre = bad }),
		"post: ":         step(func(p *Plan) { p.Post = bad }),
		"abort: ":        step(func(p *Plan) { p.Abort = bad }),
		"emulate: ":      step(func(p *Plan) { p.Emulate = bad }),
		"back of":        step(func(p *Plan) { p.Points[0].Back = bad }),
		"forward of":     step(func(p *Plan) { p.Points[0].HasForward, p.Points[0].Forward = true, bad }),
	} {
		e := good()
		change(e)
		err := e.Check()
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrPlan) && !errors.Is(err, ErrProgram) || !strings.Contains(err.Error(), "site 0x1000") {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, f := range []func(p *Plan){
		func(p *Plan) { p.Pre, p.Post = Program{{Op: OpMov, Dst: T(0), A: R(0)}}, bad },
		func(p *Plan) { p.Pre, p.Abort = Program{{Op: OpMov, Dst: T(0), A: R(0)}}, bad },
		func(p *Plan) { p.Points[0].Off = 6 },
	} {
		e := good()
		f(&e.Forms[1].Plan)
		if err := e.Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestPointAt(t *testing.T) {
	p := Plan{Points: []Point{{Off: 1}, {Off: 4}, {Off: 9}}}
	for off := range uint64(12) {
		pt := p.PointAt(off)
		if want := off == 1 || off == 4 || off == 9; want != (pt != nil) || want && uint64(pt.Off) != off {
			t.Errorf("%d: %v", off, pt)
		}
	}
	if p.PointAt(1<<16+1) != nil {
		t.Error("an offset was cut")
	}
}

// Making a second plan in the same storage allocates nothing.
func TestPlanStorage(t *testing.T) {
	var p Plan
	fill := func() {
		p.Reset()
		p.Code = append(p.Code, 1, 2, 3)
		p.Relocs = append(p.Relocs, Reloc{})
		p.Pre = p.Program(Step{Op: OpMov, Dst: T(0), A: R(0)})
		p.Post = p.Program(Step{Op: OpMov, Dst: R(0), A: T(0)}, Step{Op: OpMov, Dst: PC(), A: SitePlus(0)})
		p.Points = append(p.Points, Point{Back: p.Post, HasBack: true})
	}
	fill()
	if n := testing.AllocsPerRun(100, fill); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if len(p.Pre) != 1 || len(p.Post) != 2 || p.Post[1].Dst != PC() {
		t.Errorf("%v, %v", p.Pre, p.Post)
	}
}
