package unicorn

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// The plans here are written by hand, right and wrong ones: the judge is what
// is tested.

var (
	info64 = &reloc.Info{Name: "amd64", Bits: 64, Trap: []byte{0xcc}, TrapAdvances: 1,
		Zones: []reloc.Zone{{Zone: 128, Kept: 128}}}
	info32 = &reloc.Info{Name: "386", Bits: 32, Trap: []byte{0xcc}, TrapAdvances: 1}
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newWorker(t testing.TB, info *reloc.Info) *emu.Worker {
	t.Helper()
	w, err := emu.NewWorker(Oracle, info, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// put makes code the next site of w, with n states.
func put(t testing.TB, w *emu.Worker, class fixups.Class, code []byte, n int) *reloc.Insn {
	t.Helper()
	pc, _, err := w.NextSite()
	if err != nil {
		t.Fatal(err)
	}
	in := &reloc.Insn{PC: pc, Len: uint8(len(code)), Class: class}
	copy(in.Bytes[:], code)
	if err := w.Site(in); err != nil {
		t.Fatal(err)
	}
	if err := w.States(n); err != nil {
		t.Fatal(err)
	}
	return in
}

// jumpPlan is code, then jmp [rip]; .quad target on amd64 or jmp rel32 on 386,
// to site + to. Every offset in bounds is a point that goes back, the tail one
// that goes forward.
func jumpPlan(bits int, siteLen int, code []byte, to int64, bounds ...int) *fixups.Plan {
	n := len(code)
	p := &fixups.Plan{Form: fixups.FormJump, Far: bits == 64, SiteLen: uint8(siteLen), Reach: fixups.AnyReach()}
	p.Code = append(p.Code, code...)
	if bits == 64 {
		p.Code = append(p.Code, 0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		p.Relocs = []fixups.Reloc{{Off: uint16(n + 6), Size: 8, Bits: 64, Base: fixups.BaseSite, Addend: to}}
	} else {
		p.Code = append(p.Code, 0xe9, 0, 0, 0, 0)
		p.Relocs = []fixups.Reloc{{Off: uint16(n + 1), Size: 4, Bits: 32, Base: fixups.BaseSite, Addend: to - 4, PCRel: true, Check: fixups.CheckWrap}}
	}
	for _, b := range bounds {
		p.Points = append(p.Points, fixups.Point{Off: uint16(b), Back: setPC(fixups.SitePlus(0)), HasBack: true})
	}
	p.Points = append(p.Points, fixups.Point{Off: uint16(n), State: fixups.StateDone, Forward: setPC(fixups.SitePlus(to)), HasForward: true})
	return p
}

func setPC(o fixups.Operand) fixups.Program {
	return fixups.Program{{Op: fixups.OpMov, Dst: fixups.PC(), A: o}}
}

func TestCompare(t *testing.T) {
	const copies = fixups.ClassPlain
	tests := []struct {
		name string
		bits int
		site string
		code string // slot code before the tail, the site's if empty
		to   int64  // where the tail goes, relative to the site; 0: behind it
		want emu.Verdict
		what string // of a difference, for mismatches
	}{
		{name: "inc", bits: 64, site: "48ffc0"},
		{name: "add mem", bits: 64, site: "48014308"},
		{name: "sib", bits: 64, site: "4a8b44a310"},
		{name: "cmpxchg16b", bits: 64, site: "f0480fc70e"},
		{name: "movaps", bits: 64, site: "0f284710"},
		{name: "movups store", bits: 64, site: "0f114710"},
		{name: "fs load", bits: 64, site: "64488b042528000000"},
		{name: "addr32", bits: 64, site: "67488b4310"},
		{name: "push", bits: 64, site: "50"},
		{name: "pop mem", bits: 64, site: "8f4310"},
		{name: "rep movsb", bits: 64, site: "f3a4"},
		{name: "rep stosq", bits: 64, site: "f348ab"},
		{name: "repne scasb", bits: 64, site: "f2ae"},
		{name: "div", bits: 64, site: "48f7f1"},
		{name: "shl mem", bits: 64, site: "d363 08"},
		{name: "fld", bits: 64, site: "dd4310"},
		{name: "wrong fip", bits: 64, site: "66dd4310", want: emu.Mismatch, what: "fip"}, // not marked as x87
		{name: "fxsave", bits: 64, site: "0fae07"},
		{name: "enter", bits: 64, site: "c8100000"},
		{name: "leave", bits: 64, site: "c9"},
		{name: "jmp", bits: 64, site: "e911220000", code: "-", to: 0x2216},
		{name: "wrong target", bits: 64, site: "e911220000", code: "-", to: 0x2217, want: emu.Mismatch, what: "pc"},
		{name: "wrong register", bits: 64, site: "48ffc0", code: "48ffc1", want: emu.Mismatch, what: "rax"},
		{name: "wrong flags", bits: 64, site: "488d4001", code: "48ffc0", want: emu.Mismatch, what: "flags"},
		{name: "wrong memory", bits: 64, site: "88450a", code: "88450b", want: emu.Mismatch, what: "["},
		{name: "wrong vector", bits: 64, site: "0f28c1", code: "0f28c2", want: emu.Mismatch, what: "xmm0"},
		{name: "wrong high half", bits: 64, site: "89c0", code: "90", want: emu.Mismatch, what: "rax"},
		{name: "wrong fault", bits: 64, site: "488b4310", code: "488b4318", want: emu.Mismatch},
		{name: "wrong direction", bits: 64, site: "8a03", code: "8803", want: emu.Mismatch},
		{name: "dead store", bits: 64, site: "90", code: "884424f0", want: emu.Mismatch, what: "["},
		{name: "x87 top", bits: 64, site: "d9f7", code: "d9f6", want: emu.Mismatch, what: "fsw"},
		{name: "inc 386", bits: 32, site: "40"},
		{name: "add mem 386", bits: 32, site: "014308"},
		{name: "bp16", bits: 32, site: "678b4208"},
		{name: "pusha", bits: 32, site: "60"},
		{name: "popa", bits: 32, site: "61"},
		{name: "rep movsd 386", bits: 32, site: "f3a5"},
		{name: "aaa", bits: 32, site: "37"},
		{name: "jmp 386", bits: 32, site: "e911220000", code: "-", to: 0x2216},
		{name: "wrong 386", bits: 32, site: "40", code: "41", want: emu.Mismatch, what: "eax"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			info := info64
			if tt.bits == 32 {
				info = info32
			}
			w := newWorker(t, info)
			site := unhex(t, tt.site)
			code, to := site, tt.to
			bounds := []int{0}
			switch tt.code {
			case "":
			case "-":
				code, bounds = nil, nil
			default:
				code = unhex(t, tt.code)
			}
			if to == 0 {
				to = int64(len(site))
			}
			put(t, w, copies, site, 48)
			p := jumpPlan(tt.bits, len(site), code, to, bounds...)
			p.X87 = site[0] >= 0xd8 && site[0] < 0xe0
			reaches := w.Reaches(p)
			if len(reaches) < 3 {
				t.Fatalf("only %d placements", len(reaches))
			}
			for _, arena := range reaches {
				var res emu.Result
				if err := w.Check(&res, p, &reloc.Env{}, emu.Placement{Arena: arena, Interrupt: 8}); err != nil {
					t.Fatal(err)
				}
				expect(t, &res, tt.want, tt.what)
				if t.Failed() {
					return
				}
				if res.Verdict == emu.Match && res.States < 24 {
					t.Errorf("only %d states compared, %d undecided", res.States, res.Undecided)
				}
			}
		})
	}
}

// expect holds a result against what the test knows.
func expect(t *testing.T, res *emu.Result, want emu.Verdict, what string) {
	t.Helper()
	if res.Verdict != want {
		t.Errorf("verdict %v, want %v (%s)\n%v", res.Verdict, want, res.Limit, res.Diff)
		return
	}
	if want != emu.Mismatch || what == "" {
		return
	}
	for _, d := range res.Diff.List {
		if strings.HasPrefix(d.What, what) {
			return
		}
	}
	t.Errorf("no difference in %s:\n%v", what, res.Diff)
}

// spill is lea rsp,[rsp-128]; push rax; mov rax, imm; pop rax; lea rsp,[rsp+128]
// around an instruction, with points whose programs say how far it is.
func spill(site []byte, up string) *fixups.Plan {
	code := []byte{0x48, 0x8d, 0x64, 0x24, 0x80, 0x50} // lea, push rax
	code = append(code, site...)
	n := len(code)
	code = append(code, 0x58, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0) // pop rax, lea
	p := jumpPlan(64, len(site), code, int64(len(site)), 0)
	p.Stack = 8
	rsp, rax := fixups.R(7), fixups.R(0)
	add := func(v int64) fixups.Step {
		return fixups.Step{Op: fixups.OpAdd, Dst: rsp, A: rsp, B: fixups.Const(v)}
	}
	pop := fixups.Step{Op: fixups.OpLoad, Size: 8, Dst: rax, A: rsp}
	site0 := setPC(fixups.SitePlus(0))[0]
	end := setPC(fixups.SitePlus(int64(len(site))))[0]
	pts := []fixups.Point{
		p.Points[0],
		{Off: 5, HasBack: true, Back: fixups.Program{add(128), site0}},
		{Off: 6, HasBack: true, Back: fixups.Program{pop, add(136), site0}},
		{Off: uint16(n), State: fixups.StatePart, HasForward: true, Forward: fixups.Program{pop, add(136), end}},
		{Off: uint16(n + 1), State: fixups.StatePart, HasForward: true, Forward: fixups.Program{add(128), end}},
		p.Points[1],
	}
	switch up {
	case "no zone": // the word is saved where the function keeps its own
		p.Code = append(p.Code[:0], p.Code[5:n+1]...)
		p.Code = append(p.Code, 0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		p.Relocs[0].Off = uint16(len(p.Code) - 8)
		pts = []fixups.Point{pts[0],
			{Off: 1, HasBack: true, Back: fixups.Program{pop, add(8), site0}},
			{Off: uint16(n - 5), State: fixups.StatePart, HasForward: true, Forward: fixups.Program{pop, add(8), end}},
			{Off: uint16(n - 4), State: fixups.StateDone, HasForward: true, Forward: fixups.Program{end}}}
	case "no point":
		pts = append(pts[:2], pts[3:]...)
	case "no back":
		pts[2].HasBack, pts[2].Back = false, nil
	case "wrong back":
		pts[2].Back = fixups.Program{pop, add(128), site0}
	case "wrong forward":
		pts[3].Forward = fixups.Program{pop, add(136), site0}
	case "undeclared":
		p.Stack = 0
	}
	p.Points = pts
	return p
}

// TestInterrupt: a spilling plan passes at every boundary, and each way to get
// one wrong is seen.
func TestInterrupt(t *testing.T) {
	tests := []struct {
		how, what string
		want      emu.Verdict
	}{
		{how: ""},
		{how: "no zone", what: "[", want: emu.Mismatch},
		{how: "no point", what: "points", want: emu.Mismatch},
		{how: "no back", what: "points", want: emu.Mismatch},
		{how: "wrong back", want: emu.Mismatch},
		{how: "wrong forward", what: "pc", want: emu.Mismatch},
		{how: "undeclared", what: "[", want: emu.Mismatch},
	}
	for _, tt := range tests {
		t.Run(tt.how, func(t *testing.T) {
			w := newWorker(t, info64)
			site := unhex(t, "48035e10") // add rbx, [rsi+16]
			put(t, w, fixups.ClassPlain, site, 48)
			var res emu.Result
			if err := w.Check(&res, spill(site, tt.how), &reloc.Env{Spill: true}, emu.Placement{Arena: 3, Interrupt: 48}); err != nil {
				t.Fatal(err)
			}
			expect(t, &res, tt.want, tt.what)
			t.Logf("%d states, %d faults, %d points, %d skipped", res.States, res.Faults, res.Points, res.Skipped)
			if tt.want == emu.Match && (res.Faults == 0 || res.Points < 200) {
				t.Errorf("%d faults, %d points", res.Faults, res.Points)
			}
		})
	}
}

// TestBitString: the bit offset of BT leads anywhere, which an address-size prefix
// would cut off. Data is below 4 GiB, so that nothing else tells site from copy.
func TestBitString(t *testing.T) {
	for _, tt := range []struct {
		name, prefix string
		want         emu.Verdict
	}{
		{name: "copy"},
		{name: "cut to 32 bits", prefix: "67", want: emu.Mismatch},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorker(t, info64)
			if err := w.UseArena(2); err != nil {
				t.Fatal(err)
			}
			pc, data, err := w.NextSite()
			if err != nil {
				t.Fatal(err)
			}
			site := unhex(t, "4c0fa32d00000000") // bt [rip+disp], r13
			binary.LittleEndian.PutUint32(site[4:], uint32(data+1024-pc-8))
			put(t, w, fixups.ClassPCRelative, site, 16)
			code := append(unhex(t, tt.prefix), site...)
			at := len(code) - 4
			p := jumpPlan(64, len(site), code, int64(len(site)), 0)
			p.Relocs = append(p.Relocs, fixups.Reloc{Off: uint16(at), Size: 4, Bits: 32, Base: fixups.BaseSite,
				Addend: int64(data+1024-pc) - 4, PCRel: true, Check: fixups.CheckSigned})
			arena := slices.IndexFunc(emu.AMD64.Slots, func(a emu.Arena) bool { return a.Name == "low4" })
			var res emu.Result
			if err := w.Check(&res, p, &reloc.Env{}, emu.Placement{Arena: arena, Interrupt: 2}); err != nil {
				t.Fatal(err)
			}
			expect(t, &res, tt.want, "")
			if tt.want == emu.Match && (res.Faults == 0 || res.Faults == res.States) {
				t.Errorf("%d states, %d faults", res.States, res.Faults)
			}
		})
	}
}

// unbiased plans as if every address were final.
type unbiased struct{ reloc.Arch }

func (a unbiased) Plan(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) error {
	e := *env
	e.Biased = false
	return a.Arch.Plan(p, in, &e)
}

// TestBiased: a plan that depends on where an object file has its data is seen.
func TestBiased(t *testing.T) {
	for _, tt := range []struct {
		arch reloc.Arch
		bad  bool
	}{{x86.AMD64, false}, {unbiased{x86.AMD64}, true}} {
		w := newWorker(t, x86.AMD64.Info())
		var tally emu.Tally
		envs := []reloc.Env{{Biased: true, Spill: true}}
		// movaps xmm0, [rip+0x200000]: the data page of the arena, or the same in
		// the first megabytes of an object file.
		if reason, err := w.JudgeCode(&tally, tt.arch, unhex(t, "0f280500002000"), envs, emu.Options{States: 4}); reason != nil || err != nil {
			t.Fatal(reason, err)
		}
		if bad := tally.Mismatches() > 0; bad != tt.bad || tally.Plans == 0 {
			t.Errorf("%T: %d of %d plans are wrong: %v", tt.arch, tally.Mismatches(), tally.Plans, tally.Diffs)
		}
	}
}

// TestEmulateAndStep: programs are judged like code.
func TestEmulateAndStep(t *testing.T) {
	rsp := fixups.R(7)
	call := func(pushed int64) fixups.Program { // call rel32
		return fixups.Program{
			{Op: fixups.OpSub, Dst: fixups.T(0), A: rsp, B: fixups.Const(8)},
			{Op: fixups.OpStore, Size: 8, A: fixups.T(0), B: fixups.SitePlus(pushed)},
			{Op: fixups.OpMov, Dst: rsp, A: fixups.T(0)},
			{Op: fixups.OpMov, Dst: fixups.PC(), A: fixups.SitePlus(5 + 0x1000)},
		}
	}
	step := func(post, abort fixups.Program) *fixups.Plan {
		return &fixups.Plan{Form: fixups.FormStep, Far: true, Code: []byte{0x48, 0x03, 0x5e, 0x10, 0xcc}, SiteLen: 4, CopyLen: 4,
			Post: post, Abort: abort, Points: []fixups.Point{{Off: 0, HasBack: true, Back: abort}}}
	}
	end, back := setPC(fixups.SitePlus(4)), setPC(fixups.SitePlus(0))
	tests := []struct {
		name, site, what string
		plan             *fixups.Plan
		want             emu.Verdict
	}{
		{name: "call", site: "e800100000", plan: &fixups.Plan{Form: fixups.FormEmulate, SiteLen: 5, Emulate: call(5)}},
		{name: "wrong return", site: "e800100000", plan: &fixups.Plan{Form: fixups.FormEmulate, SiteLen: 5, Emulate: call(6)}, want: emu.Mismatch, what: "["},
		{name: "step", site: "48035e10", plan: step(end, back)},
		{name: "step, no post", site: "48035e10", plan: step(nil, back), want: emu.Mismatch, what: "pc"},
		{name: "step, no abort", site: "48035e10", plan: step(end, nil), want: emu.Mismatch},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorker(t, info64)
			put(t, w, fixups.ClassCall, unhex(t, tt.site), 48)
			var res emu.Result
			if err := w.Check(&res, tt.plan, &reloc.Env{}, emu.Placement{Arena: 3, Interrupt: 8}); err != nil {
				t.Fatal(err)
			}
			expect(t, &res, tt.want, tt.what)
			if tt.want == emu.Match && res.Faults == 0 {
				t.Error("no state faulted")
			}
		})
	}
}
