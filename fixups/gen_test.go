package fixups

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/xol-go/xol/internal/testenv"
)

// gen makes random vocabulary. A failure is repeated with XOL_SEED.
type gen struct{ *rand.Rand }

func newGen(t testing.TB, stream uint64) gen {
	seed := testenv.Seed(t)
	return gen{rand.New(rand.NewPCG(seed, stream))}
}

func newSeeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func (g gen) bool() bool { return g.IntN(2) == 0 }

func pick[T any](g gen, v ...T) T { return v[g.IntN(len(v))] }

// val returns a 64-bit number, small and extreme ones often.
func (g gen) val() int64 {
	switch g.IntN(4) {
	case 0:
		return int64(g.IntN(64)) - 32
	case 1:
		return pick[int64](g, 0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt32, math.MinInt32, math.MaxUint32)
	case 2:
		return int64(int32(g.Uint32()))
	}
	return int64(g.Uint64())
}

func (g gen) reg() Reg {
	switch g.IntN(8) {
	case 0:
		return RegPC
	case 1:
		return RegPart(Reg(g.IntN(256)), g.IntN(8))
	case 2:
		return Reg(g.IntN(256))
	}
	return testRegs[g.IntN(len(testRegs))].Num
}

// operand reads; temps is the set of temporaries it may name.
func (g gen) operand(temps uint8) Operand {
	switch g.IntN(6) {
	case 0:
		return Const(g.val())
	case 1:
		return SitePlus(g.val())
	case 2:
		return SlotPlus(g.val())
	case 3:
		return DataPlus(g.val())
	case 4:
		if i := g.IntN(MaxTemps); temps>>i&1 != 0 {
			return T(i)
		}
	}
	return R(g.reg())
}

func (g gen) dst() Operand {
	if g.bool() {
		return T(g.IntN(MaxTemps))
	}
	return R(g.reg())
}

// step returns a well-formed step, in canonical form.
func (g gen) step(temps uint8) Step {
	s := Step{Op: Op(g.IntN(int(numOps))), A: g.operand(temps), B: g.operand(temps), Dst: g.dst()}
	s.Cond = Cond(g.IntN(int(numConds)))
	s.Order = End(g.IntN(2))
	s.Size = pick[uint8](g, 1, 2, 4, 8)
	s.Lsb = uint8(g.IntN(64))
	s.Skip = uint8(1 + g.IntN(MaxSteps-1))
	switch s.Op {
	case OpZext, OpSext:
		s.Width = pick[uint8](g, 8, 16, 32)
	case OpSkip:
		s.Width = pick[uint8](g, 8, 16, 32, 64)
	default:
		s.Width = uint8(1 + g.IntN(64-int(s.Lsb)))
	}
	if s.Op == OpInsert && s.Dst.Kind == OperandTemp && temps>>s.Dst.Reg&1 == 0 {
		s.Dst = R(g.reg())
	}
	if s.Op == OpShPop && g.bool() {
		s.A = Operand{}
	}
	return s.canon()
}

// program returns a program that Check(temps) accepts and, if emulate, so does
// CheckEmulate.
func (g gen) program(temps uint8, emulate bool) Program {
	n := g.IntN(8)
	if g.IntN(16) == 0 {
		n = MaxSteps
	}
	var p Program
	for len(p) < n {
		s := g.step(temps)
		if s.Op == OpSkip {
			left := n - len(p) - 2
			if left < 1 {
				continue
			}
			s.Skip = uint8(1 + g.IntN(min(left, MaxSteps-1)))
		}
		q := append(p[:len(p):len(p)], s)
		err := padded(q, n).Check(temps)
		if emulate && err == nil && temps == 0 {
			err = padded(q, n).CheckEmulate()
		}
		if err == nil {
			p = q
		}
	}
	return p
}

// padded fills p up to n steps, so that skips which are still open stay inside.
func padded(p Program, n int) Program {
	for len(p) < n {
		p = append(p[:len(p):len(p)], Step{Op: OpMov, Dst: R(0), A: R(0)})
	}
	return p
}

func (g gen) regset() RegSet {
	var s RegSet
	for range g.IntN(4) {
		s.Add(Reg(g.IntN(256)))
	}
	return s
}

func (g gen) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return b
}

// reloc returns a reloc that is valid in n bytes of code; n is not 0.
func (g gen) reloc(n int) Reloc {
	r := Reloc{Addend: g.val(), Size: pick[uint8](g, 1, 2, 4, 8), Shift: uint8(g.IntN(64)), Base: Base(g.IntN(5)),
		Check: Check(g.IntN(4)), Order: Order(g.IntN(2)), PCRel: g.bool()}
	for int(r.Size) > n {
		r.Size /= 2
	}
	r.Off = uint16(g.IntN(n - int(r.Size) + 1))
	r.Lsb = uint8(g.IntN(8 * int(r.Size)))
	r.Bits = uint8(1 + g.IntN(8*int(r.Size)-int(r.Lsb)))
	if g.bool() {
		r.Page = uint8(g.IntN(64))
	}
	if r.Base == BaseInsn || r.Base == BaseReg {
		r.Index = uint16(g.IntN(1 << 16))
	}
	return r
}

// plan returns a plan that Check accepts, in canonical form.
func (g gen) plan(f Form, siteLen uint8, site []byte) Plan {
	p := Plan{Form: f, Strategy: Strategy(g.IntN(10)), Tail: Tail(g.IntN(3)), Stop: Stop(g.IntN(2)), IsCall: g.bool(),
		Private: g.bool(), X87: g.bool(), Alias: g.bool(), SiteLen: siteLen, SlotAlign: pick[uint16](g, 0, 4, 64, 1<<15),
		Stack: uint16(g.Uint32()), Clobbers: g.regset(), Lost: g.regset(), Needs: Needs(g.IntN(8))}
	if p.IsCall {
		p.Returns = Returns(g.IntN(2))
	}
	if f == FormEmulate {
		p.Emulate = g.program(0, true)
		return p
	}
	if f == FormRegion {
		p.SiteLen = uint8(1 + g.IntN(255))
	}
	p.Code = g.bytes(1 + g.IntN(40))
	if g.bool() {
		p.Strategy = StrategyCopy
		p.Code = append(append([]byte{}, site...), p.Code...)
	}
	g.slot(&p)
	p.Pre = g.program(0, false)
	p.Post = g.program(p.Pre.Sets(), false)
	p.Abort = g.program(p.Pre.Sets(), false)
	return p
}

// slot fills what refers to the code.
func (g gen) slot(p *Plan) {
	n := len(p.Code)
	p.CopyLen = uint16(g.IntN(n + 1))
	for range g.IntN(4) {
		p.Relocs = append(p.Relocs, g.reloc(n))
	}
	for range g.IntN(3) {
		p.Escapes = append(p.Escapes, Escape{Off: uint16(g.IntN(n + 1)), Kind: EscapeKind(g.IntN(4))})
	}
	p.Far = g.bool()
	p.Reach = AnyReach()
	if !p.Far {
		p.Reach.Min, p.Reach.Max = g.val(), g.val()
	}
	if g.bool() {
		p.Reach.Align = 1 << (1 + g.IntN(31))
		p.Reach.Residue = g.Uint32N(p.Reach.Align)
	}
	for off := g.IntN(4); off <= n; off += 1 + g.IntN(20) {
		pt := Point{Off: uint16(off), Insn: uint16(g.IntN(4)), State: State(g.IntN(3)), HasBack: g.bool(), HasForward: g.bool(), Lost: g.regset()}
		if pt.HasBack {
			pt.Back = g.program(0, false)
		}
		if pt.HasForward {
			pt.Forward = g.program(0, false)
		}
		p.Points = append(p.Points, pt)
	}
}

// hazards returns a set of a few.
func (g gen) hazards() (s Hazards) {
	for range g.IntN(5) {
		s |= Hazard(g.IntN(int(HazardContextUnknown) + 1)).Bit()
	}
	return s
}

// entry returns what Check accepts, without text.
func (g gen) entry(pc uint64) Entry {
	n := 1 + g.IntN(15)
	e := Entry{PC: pc, Bytes: g.bytes(n), Len: uint8(n), Class: Class(g.IntN(15)), Patch: Patch(g.IntN(4)),
		Hazards: g.hazards()}
	if g.bool() {
		e.HasTarget, e.Target = true, pc+uint64(g.val())
	}
	if g.IntN(8) == 0 {
		e.AltLen = uint8(g.IntN(16))
	}
	if g.IntN(8) == 0 {
		e.Reason, e.Patch = Reason(1+g.IntN(int(reasonLast))), 0
		return e
	}
	e.Reads, e.Writes, e.Kills = g.regset(), g.regset(), g.regset()
	for range g.IntN(5) {
		v := Verdict{Form: Form(g.IntN(4))}
		if v.Form != FormEmulate {
			v.Far = g.bool()
		}
		if g.bool() {
			v.Reason = Reason(1 + g.IntN(int(reasonLast)))
		} else {
			v.Plan = g.plan(v.Form, e.Len, e.Bytes)
		}
		e.Forms = append(e.Forms, v)
	}
	return e
}

// table returns a table of n entries with functions, gaps, and plain ones.
func (g gen) table(n int) *Table {
	t := &Table{Arch: "amd64", File: "a \"file\"\\ ü\x01", BuildID: "0123ab", Base: g.Uint64() >> 16, Layout: g.layout()}
	mask := ^uint64(0)
	if t.Layout.Bits == 32 {
		mask = 1<<32 - 1
		t.Base &= mask >> 1
	}
	pc, fn, start, delta := t.Base, "", t.Base, g.Uint64()>>20
	inFile := g.bool()
	plain := g.plainEntries()
	for i := range n {
		if g.IntN(5) == 0 {
			size := uint64(1 + g.IntN(100))
			t.Gaps = append(t.Gaps, Range{Addr: pc, Size: size})
			pc += size
			fn, start, inFile = "f"+strconv.Itoa(i), pc-uint64(g.IntN(3)), g.bool()
		}
		var e Entry
		if g.bool() {
			e = plain[g.IntN(len(plain))]
			e.PC = pc
			e.Bytes = g.bytes(int(e.Len))
		} else {
			e = g.entry(pc)
		}
		if fn != "" {
			e.Func, e.At = fn, pc-start
		}
		if inFile {
			e.InFile, e.Offset = true, pc-t.Base+delta
		}
		e.Target &= mask
		t.Entries = append(t.Entries, e)
		pc += uint64(e.Len)
	}
	return t
}

func (g gen) layout() Layout {
	return Layout{Bits: pick[uint8](g, 32, 64), Align: 1, Placing: Placing{End(g.IntN(2)), End(g.IntN(2))}}
}

// plainEntries returns one plain entry for each of a few lengths.
func (g gen) plainEntries() []Entry {
	var out []Entry
	for n := 1; n < 8; n++ {
		e := Entry{Len: uint8(n), Class: ClassPlain, Patch: PatchTrap}
		e.Forms = []Verdict{{Form: FormEmulate, Reason: ReasonNotEmulated}, {Form: FormStep}}
		e.Forms[1].Plan = Plan{Form: FormStep, Strategy: StrategyAbsolute, SiteLen: uint8(n), Code: []byte{1, 2, 3}, Far: true, Reach: AnyReach()}
		out = append(out, e)
	}
	return out
}
