package x86

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// one draws from a list.
func one[T any](rnd *rand.Rand, v ...T) T { return v[rnd.IntN(len(v))] }

// anyEnv draws facts and wishes, all of them independent of each other.
func anyEnv(rnd *rand.Rand) reloc.Env {
	yes := func(n int) bool { return rnd.IntN(n) == 0 }
	zones := []reloc.Bytes{{}}
	for _, n := range []int{0, 1, 8, 120, 127, 128, 129, 256, 4096, 0x7ff8, 0x7ff9, math.MaxInt32 - 8, math.MaxInt32, math.MinInt32, math.MaxInt} {
		zones = append(zones, reloc.Bytes{N: n, Set: true})
	}
	sw := []reloc.Switch{reloc.Unknown, reloc.On, reloc.Off}
	e := reloc.Env{
		Slots:  one(rnd, reloc.SlotsFar, reloc.SlotsFar, reloc.SlotsNear, reloc.SlotsRange),
		Return: one(rnd, fixups.ReturnsOriginal, fixups.ReturnsSlot),
		Spill:  !yes(3), ABI: one(rnd, reloc.ABINone, reloc.ABIEntry, reloc.ABICall),
		AllowLost: yes(2), Zone: one(rnd, zones...), ExecuteOnly: yes(4),
		Mode: one(rnd, reloc.ModeUser, reloc.ModeKernel), Vendor: one(rnd, reloc.VendorUnknown, reloc.VendorIntel, reloc.VendorAMD),
		SHSTK: one(rnd, sw...), IBT: one(rnd, sw...), OS: one(rnd, reloc.Linux, reloc.Windows, reloc.Darwin),
		Lang: one(rnd, reloc.LangC, reloc.LangC, reloc.LangGo), Biased: yes(4), Short: yes(2), Data: yes(3), Private: yes(2),
		Stop: one(rnd, fixups.StopHardware, fixups.StopTrap),
	}
	if yes(3) {
		for range 1 + rnd.IntN(4) {
			e.Dead.Add(fixups.Reg(rnd.IntN(16)))
		}
	}
	if e.Slots == reloc.SlotsRange {
		lo := int64(rnd.Uint64()) >> rnd.IntN(64)
		hi := int64(rnd.Uint64()) >> rnd.IntN(64)
		e.SlotMin, e.SlotMax = min(lo, hi), max(lo, hi)
	}
	return e
}

// edges are instructions whose plans have the most ways to go, with any prefix
// before them.
var edges = []string{
	"ff10", "ff13", "ff5424f8", "ff5424fc", "ff542408", "ff9424ffffff7f", "ff94240000f07f", "ff9424f0ffffff", "ff5404f8", "ffd0", "ffd4", "ffd5", "ff1500010000",
	"ff20", "ff2500010000", "ffe4", "ff3500010000", "8f0500010000", "e800000000", "e800010000", "e8fbffffff", "ebfe", "eb00", "7410", "e2fe", "e310",
	"4c0fa32db5621d00", "0fbb0500010000", "488d0500010000", "48392500010000", "48032500010000", "48633d00010000", "8a2500010000", "f2480f2c2d00010000",
	"ff18", "48ff18", "ff1d00010000", "ff2b", "ff2d00010000", "cb", "66c7f80001", "0f01d5", "c6f800",
	"0fb10d00010000", "c3", "c20800", "c7f810000000", "9c", "9d", "f3a4",
}

func edgeCase(t *testing.T, rnd *rand.Rand, code *[16]byte) {
	for i := range code {
		code[i] = byte(rnd.Uint32())
	}
	n := 0
	for rnd.IntN(3) == 0 && n < 4 {
		code[n] = one[byte](rnd, 0x66, 0x67, 0x3e, 0x2e, 0x64, 0x65, 0xf2, 0xf3, 0x48, 0x41, 0x66)
		n++
	}
	copy(code[n:], unhex(t, one(rnd, edges...)))
}

// TestAnyEnv holds plans of random instructions in random environments against
// what every plan must keep, and against [fixups.Plan.Check].
func TestAnyEnv(t *testing.T) {
	n := 600_000
	if testing.Short() {
		n = 60_000
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	rebased = map[[2]int]int{}
	plans := map[fixups.Class]int{}
	var p reloc.Plan
	for i := range n {
		a, pc := AMD64, one[uint64](rnd, testSite, testSite, 0x1000, 0xb0429f40, 0xffffffff81000000)
		if rnd.IntN(3) == 0 {
			a, pc = I386, testSite32
		}
		var code [16]byte
		if i%2 == 0 {
			edgeCase(t, rnd, &code)
		} else {
			random(rnd, &code, a.m64)
		}
		var in reloc.Insn
		env := anyEnv(rnd)
		if a.DecodeFor(&in, code[:], pc, env.Vendor) != nil {
			continue
		}
		for _, f := range reloc.Order {
			env.Forms = f.Bit()
			was := in
			if a.Plan(&p, &was, &env) != nil {
				continue
			}
			plans[in.Class]++
			if err := p.Check(); err != nil {
				t.Error(err)
			}
			checkPlan(t, a, &was, &env, &p)
			checkPolicy(t, a, &was, &env, &p)
			if t.Failed() {
				t.Fatalf("%s %x %v %+v\n%+v", a.info.Name, in.Raw(), f, env, p)
			}
		}
	}
	for _, c := range []fixups.Class{fixups.ClassPlain, fixups.ClassPCRelative, fixups.ClassBranch, fixups.ClassCondBranch, fixups.ClassCall,
		fixups.ClassIndirectCall, fixups.ClassIndirectBranch, fixups.ClassReturn} {
		if plans[c] < n/200 {
			t.Errorf("only %d plans of class %v", plans[c], c)
		}
	}
}

// checkPolicy holds a plan against what env forbids.
func checkPolicy(t *testing.T, a *Arch, in *reloc.Insn, env *reloc.Env, p *reloc.Plan) {
	t.Helper()
	if p.Form == fixups.FormEmulate {
		return
	}
	zone, _ := env.ZoneOf(a.info)
	switch {
	case p.Private && !(env.Data && env.Private):
		t.Error("data that is not allowed")
	case p.Strategy == fixups.StrategySpill && !p.Private && (!env.Spill || zone < 0 || zone > maxZone):
		t.Error("a spill that is not allowed")
	case env.Lang == reloc.LangGo && p.IsCall && p.Returns == fixups.ReturnsSlot:
		t.Error("a return address in the slot for Go")
	case !p.Lost.IsEmpty() && !env.AllowLost:
		t.Error("a loss that is not allowed")
	case p.Alias && !env.Short:
		t.Error("a restriction that is not allowed")
	case p.Lost.Has(RBP), p.Lost.Has(RSP):
		t.Error("a base in the stack segment")
	}
	checkCopies(t, a, in, env, p)
}

// checkCopies looks at what slot code consists of: no return takes the place of a
// tracked branch, no kernel jump counts on NOTRACK, no literal is read where none
// can be, and the sizes of pushes are those of words.
func checkCopies(t *testing.T, a *Arch, in *reloc.Insn, env *reloc.Env, p *reloc.Plan) {
	t.Helper()
	for i := range p.Points {
		var out reloc.Insn
		off := int(p.Points[i].Off)
		if a.DecodeFor(&out, p.Code[off:], testSite32, env.Vendor) != nil {
			continue // reported by checkBoundaries
		}
		l := lay(&out)
		own := l.opmap() == lay(in).opmap() && l.opcode() == lay(in).opcode() && l.reg() == lay(in).reg()
		b := planner{p: p, in: in, env: env, l: lay(in), a: a}
		switch {
		case out.Class == fixups.ClassReturn && !own && p.IsCall && in.Class == fixups.ClassIndirectCall && env.IBT == reloc.On && !b.exempt() && p.Tail == fixups.TailNone:
			t.Errorf("at %d: a return in place of a tracked branch", off)
		case out.Class == fixups.ClassIndirectBranch && in.Class != fixups.ClassIndirectBranch && in.Class != fixups.ClassIndirectCall && b.tracked():
			t.Errorf("at %d: a tracked way out", off)
		case out.Class == fixups.ClassIndirectBranch && in.Class != fixups.ClassIndirectBranch && env.ExecuteOnly && l.has(flagRIPRel) && in.Class != fixups.ClassIndirectCall && !inDataAt(p, off+l.dispOff()):
			t.Errorf("at %d: a literal where code cannot be read", off)
		case a.m64 && p.IsCall && l.opmap() == 0 && (l.opcode() == 0xff && l.reg() == 6 || l.opcode() == 0x68) && (l.opSize() == 2) != b.short():
			t.Errorf("at %d: a push of %d bytes", off, l.opSize())
		}
	}
}

// inDataAt reports whether the field at off names the slot's data.
func inDataAt(p *reloc.Plan, off int) bool {
	for i := range p.Relocs {
		if p.Relocs[i].Base == fixups.BaseData && int(p.Relocs[i].Off) == off {
			return true
		}
	}
	return false
}

// LEA takes no part of a segment.
func TestEmulateLEA(t *testing.T) {
	for _, code := range []string{"64488d0510000000", "65488d0510000000", "488d0510000000"} {
		s := emulated(t, AMD64, testSite, code, map[fixups.Reg]uint64{FSBase: 0x1000, GSBase: 0x2000})
		if want := testSite + uint64(len(code)/2+16); s.regs[RAX] != want {
			t.Errorf("%s: rax %#x, want %#x", code, s.regs[RAX], want)
		}
	}
	p, _, err := planOf(t, AMD64, testSite, "64488d0510000000", reloc.Env{Forms: fixups.FormEmulate.Bit()})
	if err != nil || p.Needs != 0 {
		t.Errorf("needs %v, %v", p.Needs.Names(), err)
	}
}

// A branch with 16-bit operands in 32-bit mode cuts pc only if it is taken.
func TestStep16(t *testing.T) {
	const site = 0x401234
	for _, tt := range []struct {
		code     string
		at, want uint64 // where the step ends in the copy, and pc then
	}{
		{"66eb10", 2, 0x1247},
		{"66eb00", 2, 0x1237},
		{"667410", 2, site + 3},
		{"667410", 7, 0x1247},
		{"660f841000", 2, site + 5},
		{"6667e210", 3, site + 4},
		{"6667e210", 8, 0x1248},
		{"66e80010", 3, 0x2238},
	} {
		p, _, err := planOf(t, I386, site, tt.code, reloc.Env{Forms: fixups.FormStep.Bit()})
		if err != nil {
			t.Errorf("%s: %v", tt.code, err)
			continue
		}
		s := newState()
		s.regs[fixups.RegPC], s.regs[I386.info.SP] = testSlot32+tt.at, 0x8000
		var tmp fixups.Temps
		if err := fixups.Run(p.Post, s, &fixups.Bases{Site: site, Slot: testSlot32}, &tmp, 32); err != nil || s.regs[fixups.RegPC] != tt.want {
			t.Errorf("%s, stopped at %d: pc %#x, want %#x (%v)", tt.code, tt.at, s.regs[fixups.RegPC], tt.want, err)
		}
		if tt.code == "66e80010" && (s.mem[0x8000] != 0x38 || s.mem[0x8001] != 0x12 || len(s.mem) != 2) {
			t.Errorf("%s: pushed %x", tt.code, s.mem)
		}
	}
}

// Where the operand of a call is the word that the call writes, what is there is
// put back before the site runs again, and the call is finished from what was read.
func TestCallOverItsOperand(t *testing.T) {
	const r, target, next = 0x7fff_0000_1000, 0x1122334455667788, testSite + 4
	kernel := reloc.Env{Forms: fixups.FormJump.Bit(), Spill: true, Mode: reloc.ModeKernel}
	user := reloc.Env{Forms: fixups.FormJump.Bit(), Spill: true}
	for _, tt := range []struct {
		env    reloc.Env
		sp, at []uint64 // at the points behind the write: the stack pointer, where the target is
	}{
		{kernel, []uint64{r - 16, r - 16}, []uint64{r - 16, r - 16}},
		{user, []uint64{r - 136, r - 8}, []uint64{r - 136, r - 136}},
	} {
		p, _, err := planOf(t, AMD64, testSite, "ff5424f8", tt.env)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i := range p.Points {
			pt := &p.Points[i]
			if pt.State != fixups.StatePart {
				continue
			}
			for _, back := range []bool{false, true} {
				s := newState()
				s.regs[RSP], s.regs[fixups.RegPC] = tt.sp[n], testFar+uint64(pt.Off)
				put(s, tt.at[n], target)
				put(s, r-8, 0xbad)
				q, sp, pc, word := pt.Forward, uint64(r-8), uint64(target), uint64(next)
				if back {
					q, sp, pc, word = pt.Back, r, testSite, target
				}
				var tmp fixups.Temps
				err := fixups.Run(q, s, &fixups.Bases{Site: testSite, Slot: testFar}, &tmp, 64)
				if err != nil || s.regs[RSP] != sp || s.regs[fixups.RegPC] != pc || get(s, r-8) != word {
					t.Errorf("point %d, back %v: rsp %#x pc %#x word %#x, %v", pt.Off, back, s.regs[RSP], s.regs[fixups.RegPC], get(s, r-8), err)
				}
			}
			n++
		}
		if n != len(tt.sp) {
			t.Errorf("%d points behind the write, want %d", n, len(tt.sp))
		}
	}
}

func put(s *state, addr, v uint64) {
	for i := range uint64(8) {
		s.mem[addr+i] = byte(v >> (8 * i))
	}
}

func get(s *state, addr uint64) (v uint64) {
	for i := range uint64(8) {
		v |= uint64(s.mem[addr+i]) << (8 * i)
	}
	return v
}

// A bit offset in a register may lead out of the lower 4 GiB.
func TestLowBitString(t *testing.T) {
	for _, tt := range []struct {
		code string
		want error
	}{
		{"4c0fa32db5621d00", fixups.ReasonNoScratch},
		{"4c0fab2db5621d00", fixups.ReasonNoScratch},
		{"4c0fb32db5621d00", fixups.ReasonNoScratch},
		{"4c0fbb2db5621d00", fixups.ReasonNoScratch},
		{"480fba25b5621d0005", nil}, // an immediate stays in the operand
	} {
		if _, _, err := planOf(t, AMD64, 0xb0429f40, tt.code, reloc.Env{Forms: fixups.FormJump.Bit()}); err != tt.want {
			t.Errorf("%s: %v, want %v", tt.code, err, tt.want)
		}
	}
}
