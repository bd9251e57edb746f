package fixups

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// testRegs is a register file with the awkward cases: names the grammar uses,
// numbers out of order, a vector.
var testRegs = RegNames{
	{Num: 0, Name: "rax", Bits: 64},
	{Num: 1, Name: "rdx", Bits: 64},
	{Num: 7, Name: "rsp", Bits: 64},
	{Num: 49, Name: "flags", Bits: 64},
	{Num: 17, Name: "xmm0", Bits: 512},
	{Num: 18, Name: "xmm1", Bits: 512},
	{Num: 90, Name: "t0", Bits: 64},
	{Num: 91, Name: "site", Bits: 64},
	{Num: 92, Name: "skip", Bits: 64},
	{Num: 93, Name: "store8le", Bits: 64},
	{Num: 94, Name: "f 0", Bits: 64},
	{Num: 95, Name: "0x1", Bits: 64},
}

func TestStepText(t *testing.T) {
	rax, flags := R(0), R(49)
	for _, c := range []struct {
		text string
		step Step
	}{
		{"rax = add rax, 0x8", Step{Op: OpAdd, Dst: rax, A: rax, B: Const(8)}},
		{"rax = sub rax, -0x8", Step{Op: OpSub, Dst: rax, A: rax, B: Const(-8)}},
		{"t0 = load8le t1", Step{Op: OpLoad, Size: 8, Dst: T(0), A: T(1)}},
		{"t0 = load2be site-0x10", Step{Op: OpLoad, Size: 2, Order: BigEndian, Dst: T(0), A: SitePlus(-16)}},
		{"store4be t1, rax", Step{Op: OpStore, Size: 4, Order: BigEndian, A: T(1), B: rax}},
		{"t0 = extract flags, 6, 1", Step{Op: OpExtract, Lsb: 6, Width: 1, Dst: T(0), A: flags}},
		{"rax = insert t0, 8, 8", Step{Op: OpInsert, Lsb: 8, Width: 8, Dst: rax, A: T(0)}},
		{"rax = insert t0, 0, 64", Step{Op: OpInsert, Width: 64, Dst: rax, A: T(0)}},
		{"rax = zext32 t0", Step{Op: OpZext, Width: 32, Dst: rax, A: T(0)}},
		{"rax = sext8 t0", Step{Op: OpSext, Width: 8, Dst: rax, A: T(0)}},
		{"skip 2 if t0 eq 0 w64", Step{Op: OpSkip, Skip: 2, Cond: CondEQ, Width: 64, A: T(0), B: Const(0)}},
		{"skip 31 if pc ae slot+0x2 w8", Step{Op: OpSkip, Skip: 31, Cond: CondAE, Width: 8, A: PC(), B: SlotPlus(2)}},
		{"pc = mov site+0x10", Step{Op: OpMov, Dst: PC(), A: SitePlus(16)}},
		{"rax = mov site", Step{Op: OpMov, Dst: rax, A: SitePlus(0)}},
		{"rax = mov data-0x8000000000000000", Step{Op: OpMov, Dst: rax, A: DataPlus(math.MinInt64)}},
		{"rax = mov 0x7fffffffffffffff", Step{Op: OpMov, Dst: rax, A: Const(math.MaxInt64)}},
		{"shpush site+0x5", Step{Op: OpShPush, A: SitePlus(5)}},
		{"t0 = shpop", Step{Op: OpShPop, Dst: T(0)}},
		{"t0 = shpop rax", Step{Op: OpShPop, Dst: T(0), A: rax}},
		{"xmm1.3 = mov xmm0.7", Step{Op: OpMov, Dst: R(RegPart(18, 3)), A: R(RegPart(17, 7))}},
		{"%200 = mov %201.5", Step{Op: OpMov, Dst: R(200), A: R(RegPart(201, 5))}},
		{"%90 = mov %91", Step{Op: OpMov, Dst: R(90), A: R(91)}},
		{"%92 = mov %93", Step{Op: OpMov, Dst: R(92), A: R(93)}},
		{"%94 = mov %95.1", Step{Op: OpMov, Dst: R(94), A: R(RegPart(95, 1))}},
	} {
		if got := c.step.Format(testRegs); got != c.text {
			t.Errorf("format: %q, want %q", got, c.text)
		}
		got, err := ParseStep(c.text, testRegs)
		if err != nil || got != c.step {
			t.Errorf("parse %q: %+v, %v, want %+v", c.text, got, err, c.step)
		}
	}
}

// What the reader takes beyond what the writer writes.
func TestStepTextLoose(t *testing.T) {
	for loose, strict := range map[string]string{
		"\trax=add  rax ,8 ":           "rax = add rax, 0x8",
		"rax = mov 0b101":              "rax = mov 0x5",
		"rax = mov 0xffffffffffffffff": "rax = mov -0x1",
		"rax = mov - 5":                "rax = mov -0x5",
		"pc = mov site + 16":           "pc = mov site+0x10",
		"pc = mov site - 16":           "pc = mov site-0x10",
		"pc = mov site+0":              "pc = mov site",
		"%0 = mov %17.2":               "rax = mov xmm0.2",
	} {
		s, err := ParseStep(loose, testRegs)
		if err != nil {
			t.Errorf("%q: %v", loose, err)
		} else if got := s.Format(testRegs); got != strict {
			t.Errorf("%q reads as %q, want %q", loose, got, strict)
		}
	}
}

func TestStepTextErrors(t *testing.T) {
	for _, c := range []struct {
		text   string
		column int
		msg    string
	}{
		{"", 1, `unknown name ""`},
		{"rbx = mov rax", 1, `unknown name "rbx"`},
		{"rax = mov rbx", 11, `unknown name "rbx"`},
		{"rax = mul rax, 2", 7, `an operation expected, not "mul"`},
		{"rax = mov rax, rax", 14, "end of step expected"},
		{"rax mov rax", 5, `"=" expected, not "mov"`},
		{"site = mov rax", 1, "a register"},
		{"rax = add rax", 14, `"," expected`},
		{"rax = zext64 rax", 7, "width of 8 to 32"},
		{"rax = sext rax", 7, "width of 8 to 32"},
		{"rax = load3le rax", 7, "size of 1, 2, 4 or 8"},
		{"rax = load8 rax", 7, "size of 1, 2, 4 or 8"},
		{"store8xe rax, rax", 1, "size of 1, 2, 4 or 8"},
		{"rax = extract rax, 64, 1", 20, "0 to 63"},
		{"rax = extract rax, 8, 57", 23, "1 to 56"},
		{"rax = extract rax, 0, 0", 23, "1 to 64"},
		{"skip 0 if rax eq 0 w64", 6, "1 to 31"},
		{"skip 32 if rax eq 0 w64", 6, "1 to 31"},
		{"skip 1 if rax gtu 0 w64", 15, "a condition expected"},
		{"skip 1 if rax eq 0 w63", 20, "w with a width of 8 to 64"},
		{"skip 1 rax eq 0 w64", 8, `"if" expected`},
		{"rax = mov 017", 11, "a number of 64 bits expected"},
		{"rax = mov 1_0", 11, "a number of 64 bits expected"},
		{"rax = mov 0x10000000000000000", 11, "a number of 64 bits expected"},
		{"rax = mov -0x8000000000000001", 12, "below -2^63"},
		{"rax = mov site+-5", 16, "a number of 64 bits expected"},
		{"rax = mov site+", 16, "a number of 64 bits expected"},
		{"rax = mov t8", 11, `unknown name "t8"`},
		{"rax = mov xmm0.8", 11, `unknown name "xmm0.8"`},
		{"rax = mov %256", 11, `unknown name "%256"`},
		{"rax = mov %007", 11, `unknown name "%007"`},
		{"rax = mov none", 11, `unknown name "none"`},
		{"rax = mov skip", 11, `unknown name "skip"`},
		{"rax = mov €", 11, "unknown name"},
	} {
		_, err := ParseStep(c.text, testRegs)
		var e *SyntaxError
		if !errors.As(err, &e) {
			t.Errorf("%q: %v, want a SyntaxError", c.text, err)
			continue
		}
		if e.Column != c.column || !strings.Contains(e.Msg, c.msg) {
			t.Errorf("%q: column %d: %s; want column %d: %s", c.text, e.Column, e.Msg, c.column, c.msg)
		}
	}
}

func TestParseProgram(t *testing.T) {
	p, err := ParseProgram([]string{"t0 = mov rax", "rax = mov t0"}, testRegs)
	if err != nil || len(p) != 2 || p.Check(0) != nil {
		t.Errorf("%v, %v", p, err)
	}
	if _, err := ParseProgram([]string{"t0 = mov rax", "rax = mov"}, testRegs); err == nil || !strings.Contains(err.Error(), "step 1") {
		t.Errorf("error %v does not name the step", err)
	}
	if _, err := ParseProgram(make([]string, MaxSteps+1), testRegs); !errors.Is(err, ErrProgram) {
		t.Errorf("too many steps: %v", err)
	}
}

// TestStepTextRandom: format and parse are inverses on all well-formed steps.
func TestStepTextRandom(t *testing.T) {
	g := newGen(t, 1)
	for range 20000 {
		s := g.step(0xff)
		text := s.Format(testRegs)
		got, err := ParseStep(text, testRegs)
		if err != nil || got != s {
			t.Fatalf("%q: %+v, %v, want %+v", text, got, err, s)
		}
	}
}

func FuzzParseStep(f *testing.F) {
	for _, s := range []string{"rax = add rax, 0x8", "skip 2 if t0 eq 0 w64", "store4be t1, rax", "t0 = shpop",
		"xmm1.3 = mov xmm0.7", "rax = insert t0, 8, 8", "%200 = sext16 data-0x8", "shpush site+0x5", "rax = mov -1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseStep(text, testRegs)
		if err != nil {
			var e *SyntaxError
			if !errors.As(err, &e) || e.Column < 1 || e.Column > len(text)+1 {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		if err := s.check(0xff); err != nil {
			t.Fatalf("%q reads as a bad step: %v", text, err)
		}
		canon := s.Format(testRegs)
		if again, err := ParseStep(canon, testRegs); err != nil || again != s {
			t.Fatalf("%q -> %q -> %+v, %v", text, canon, again, err)
		}
	})
}
