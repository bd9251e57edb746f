package c_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
)

// gen makes random tables and addresses. A failure is repeated with XOL_SEED.
type gen struct{ *rand.Rand }

func newGen(t testing.TB, stream uint64) gen {
	t.Helper()
	return gen{rand.New(rand.NewPCG(testenv.Seed(t), stream))}
}

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

// bases returns addresses for a site, with a load bias more often than not.
func (g gen) bases(e *fixups.Entry) fixups.Bases {
	at := fixups.Bases{Site: e.PC, Slot: uint64(g.val()), Data: g.Uint64()}
	if g.IntN(3) != 0 {
		at.Site += g.Uint64() &^ 0xfff
	}
	if g.IntN(4) == 0 {
		at.Data = 0
	}
	return at
}

// distance returns Slot - Site: at the ends of the reach and beside them, inside
// and anywhere.
func (g gen) distance(p *fixups.Plan) uint64 {
	r := &p.Reach
	var d uint64
	switch g.IntN(6) {
	case 0:
		d = uint64(r.Min)
	case 1:
		d = uint64(r.Max)
	case 2:
		d = uint64(pick(g, r.Min-1, r.Max+1))
	case 3:
		d = uint64(g.val())
	default:
		d = uint64(r.Min)
		if span := uint64(r.Max - r.Min); span != math.MaxUint64 {
			d += g.Uint64N(span + 1)
		} else {
			d = g.Uint64()
		}
	}
	if r.Align > 1 && g.IntN(4) != 0 {
		d = d&^uint64(r.Align-1) | uint64(r.Residue)
	}
	return d
}

// threadPC is where a program may find the thread: what it compares pc with.
func (g gen) threadPC(p *fixups.Plan, at fixups.Bases) uint64 {
	switch g.IntN(5) {
	case 0:
		return at.Slot
	case 1:
		return at.Slot + uint64(p.CopyLen)
	case 2:
		return at.Site + uint64(p.SiteLen)
	case 3:
		if n := len(p.Points); n > 0 {
			return at.Slot + uint64(p.Points[g.IntN(n)].Off)
		}
	}
	return g.Uint64()
}

func (g gen) reg() fixups.Reg {
	switch g.IntN(4) {
	case 0:
		return fixups.RegPC
	case 1:
		return fixups.RegPart(fixups.Reg(g.IntN(256)), g.IntN(8))
	}
	return fixups.Reg(g.IntN(256))
}

// operand reads; temps is the set of temporaries it may name.
func (g gen) operand(temps uint8) fixups.Operand {
	switch g.IntN(8) {
	case 0:
		return fixups.Const(g.val())
	case 1:
		return fixups.SitePlus(g.val())
	case 2:
		return fixups.SlotPlus(g.val())
	case 3:
		return fixups.DataPlus(g.val())
	case 4, 5:
		if i := g.IntN(fixups.MaxTemps); temps>>i&1 != 0 {
			return fixups.T(i)
		}
	}
	return fixups.R(g.reg())
}

// step returns a step that is mostly well formed; Program.Check decides.
func (g gen) step(temps uint8, left int) fixups.Step {
	s := fixups.Step{Op: fixups.Op(g.IntN(17)), A: g.operand(temps), B: g.operand(temps), Dst: fixups.R(g.reg())}
	if g.IntN(3) != 0 {
		s.Dst = fixups.T(g.IntN(fixups.MaxTemps))
	}
	s.Cond = fixups.Cond(g.IntN(10))
	s.Order = fixups.End(g.IntN(2))
	s.Size = pick[uint8](g, 1, 2, 4, 8)
	s.Lsb = uint8(g.IntN(64))
	s.Skip = uint8(1 + g.IntN(max(left, 1)))
	switch s.Op {
	case fixups.OpZext, fixups.OpSext:
		s.Width = pick[uint8](g, 8, 16, 32)
	case fixups.OpSkip:
		s.Width = pick[uint8](g, 8, 16, 32, 64)
		if g.IntN(4) == 0 {
			s.B = s.A // equal, for once
		}
	case fixups.OpShl, fixups.OpShr:
		if g.bool() {
			s.B = fixups.Const(int64(g.IntN(70)))
		}
	default:
		s.Width = uint8(1 + g.IntN(64-int(s.Lsb)))
	}
	if s.Op == fixups.OpShPop && g.bool() {
		s.A = fixups.Operand{}
	}
	return s
}

// program returns a program that Check(temps) accepts and, if emulate, so does
// CheckEmulate. It grows from the front: skips that are still open lead into
// padding.
func (g gen) program(temps uint8, emulate bool) fixups.Program {
	n := g.IntN(10)
	if g.IntN(16) == 0 {
		n = fixups.MaxSteps
	}
	var p fixups.Program
	for tries := 0; len(p) < n && tries < 200; tries++ {
		q := append(p[:len(p):len(p)], g.step(temps, n-len(p)-2))
		full := q
		for len(full) < n {
			full = append(full[:len(full):len(full)], fixups.Step{Op: fixups.OpMov, Dst: fixups.R(0), A: fixups.R(0)})
		}
		err := full.Check(temps)
		if emulate {
			err = full.CheckEmulate()
		}
		if err == nil {
			p = q
		}
	}
	for len(p) < n { // what could not be filled: keep open skips inside
		p = append(p, fixups.Step{Op: fixups.OpMov, Dst: fixups.R(0), A: fixups.R(0)})
	}
	return p
}

func (g gen) regset() fixups.RegSet {
	var s fixups.RegSet
	for range g.IntN(4) {
		s.Add(fixups.Reg(g.IntN(256)))
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
func (g gen) reloc(n int) fixups.Reloc {
	r := fixups.Reloc{Addend: g.val(), Size: pick[uint8](g, 1, 2, 4, 8), Shift: uint8(g.IntN(64)), Base: fixups.Base(g.IntN(5)),
		Check: fixups.Check(g.IntN(4)), Order: fixups.Order(g.IntN(2)), PCRel: g.bool()}
	for int(r.Size) > n {
		r.Size /= 2
	}
	r.Off = uint16(g.IntN(n - int(r.Size) + 1))
	r.Lsb = uint8(g.IntN(8 * int(r.Size)))
	r.Bits = uint8(1 + g.IntN(8*int(r.Size)-int(r.Lsb)))
	if g.IntN(4) == 0 {
		r.Page = uint8(g.IntN(64))
	}
	if g.bool() {
		r.Check = fixups.CheckWrap // so that some plans can be placed
	}
	if r.Base == fixups.BaseInsn || r.Base == fixups.BaseReg {
		r.Index = uint16(g.IntN(1 << 16))
	}
	return r
}

// plan returns a plan that Check accepts.
func (g gen) plan(f fixups.Form, siteLen uint8, site []byte) fixups.Plan {
	p := fixups.Plan{Form: f, Strategy: fixups.Strategy(g.IntN(10)), Tail: fixups.Tail(g.IntN(3)), Stop: fixups.Stop(g.IntN(2)),
		IsCall: g.bool(), Private: g.bool(), X87: g.bool(), Alias: g.bool(), SiteLen: siteLen, SlotAlign: pick[uint16](g, 0, 1, 4, 64, 1<<15),
		Stack: uint16(g.Uint32()), Clobbers: g.regset(), Lost: g.regset(), Needs: fixups.Needs(g.IntN(8))}
	if p.IsCall {
		p.Returns = fixups.Returns(g.IntN(2))
	}
	if f == fixups.FormEmulate {
		p.Emulate = g.program(0, true)
		return p
	}
	if f == fixups.FormRegion {
		p.SiteLen = uint8(1 + g.IntN(255))
	}
	p.Code = g.bytes(1 + g.IntN(40))
	if g.bool() {
		p.Strategy = fixups.StrategyCopy
		p.Code = append(append([]byte{}, site...), p.Code...)
	}
	g.slot(&p)
	p.Pre = g.program(0, false)
	p.Post = g.program(p.Pre.Sets(), false)
	p.Abort = g.program(p.Pre.Sets(), false)
	return p
}

// slot fills what refers to the code.
func (g gen) slot(p *fixups.Plan) {
	n := len(p.Code)
	p.CopyLen = uint16(g.IntN(n + 1))
	for range g.IntN(4) {
		p.Relocs = append(p.Relocs, g.reloc(n))
	}
	for range g.IntN(3) {
		p.Escapes = append(p.Escapes, fixups.Escape{Off: uint16(g.IntN(n + 1)), Kind: fixups.EscapeKind(g.IntN(4))})
	}
	p.Far = g.bool()
	p.Reach = fixups.AnyReach()
	if !p.Far {
		p.Reach.Min, p.Reach.Max = g.val(), g.val()
	}
	if g.IntN(4) == 0 {
		p.Reach.Align = 1 << (1 + g.IntN(31))
		p.Reach.Residue = g.Uint32N(p.Reach.Align)
	}
	for off := g.IntN(4); off <= n; off += 1 + g.IntN(20) {
		pt := fixups.Point{Off: uint16(off), Insn: uint16(g.IntN(4)), State: fixups.State(g.IntN(3)), HasBack: g.bool(), HasForward: g.bool(), Lost: g.regset()}
		if pt.HasBack {
			pt.Back = g.program(0, false)
		}
		if pt.HasForward {
			pt.Forward = g.program(0, false)
		}
		p.Points = append(p.Points, pt)
	}
}

// entry returns what Entry.Check accepts; its length is a multiple of align.
func (g gen) entry(pc uint64, align int) fixups.Entry {
	n := align * (1 + g.IntN(15))
	e := fixups.Entry{PC: pc, Bytes: g.bytes(n), Len: uint8(n), Class: fixups.Class(g.IntN(15)), Patch: fixups.Patch(g.IntN(4))}
	for range g.IntN(5) {
		e.Hazards |= fixups.Hazard(g.IntN(int(fixups.HazardContextUnknown) + 1)).Bit()
	}
	if g.bool() {
		e.HasTarget, e.Target = true, pc+uint64(g.val())
	}
	if g.IntN(8) == 0 {
		e.AltLen = uint8(g.IntN(16))
	}
	e.Reads, e.Writes, e.Kills = g.regset(), g.regset(), g.regset()
	for range g.IntN(5) {
		v := fixups.Verdict{Form: fixups.Form(g.IntN(4))}
		if v.Form != fixups.FormEmulate {
			v.Far = g.bool()
		}
		if g.IntN(4) == 0 {
			v.Reason = fixups.Reason(1 + g.IntN(int(fixups.ReasonNoStop)))
		} else {
			v.Plan = g.plan(v.Form, e.Len, e.Bytes)
		}
		e.Forms = append(e.Forms, v)
	}
	return e
}

// table returns a table of n entries, half of them plain: one long run, or
// functions with gaps.
func (g gen) table(t testing.TB, n int) []byte {
	align := pick(g, 1, 1, 2, 4, 8)
	tab := &fixups.Table{Arch: pick(g, "amd64", "ppc64"), File: "a", BuildID: "0123ab", Base: g.Uint64() >> 16 &^ 7,
		Layout: fixups.Layout{Bits: pick[uint8](g, 32, 64), Align: uint8(align), Placing: fixups.Placing{Insn: fixups.End(g.IntN(2)), Data: fixups.End(g.IntN(2))}}}
	mask := ^uint64(0) >> (64 - tab.Layout.Bits)
	tab.Base &= mask >> 1
	pc, fn, start := tab.Base, "", tab.Base
	inFile, oneRun := g.bool(), g.bool()
	for i := range n {
		if !oneRun && g.IntN(5) == 0 {
			size := uint64(align * (1 + g.IntN(100)))
			tab.Gaps = append(tab.Gaps, fixups.Range{Addr: pc, Size: size})
			pc += size
			fn, start, inFile = "f"+strconv.Itoa(i), pc-uint64(g.IntN(3)), g.bool()
		}
		var e fixups.Entry
		if n := align * (1 + g.IntN(7)); g.bool() {
			e = fixups.Entry{PC: pc, Bytes: g.bytes(n), Len: uint8(n), Class: fixups.ClassPlain, Patch: fixups.PatchTrap}
			e.Forms = []fixups.Verdict{{Form: fixups.FormStep, Plan: fixups.Plan{Form: fixups.FormStep, Strategy: fixups.StrategyCopy,
				SiteLen: uint8(n), Code: append(e.Bytes[:n:n], 1, 2, 3), Far: true, Reach: fixups.AnyReach()}}}
		} else {
			e = g.entry(pc, align)
		}
		if fn != "" {
			e.Func, e.At = fn, pc-start
		}
		if inFile {
			e.InFile, e.Offset = true, pc-tab.Base
		}
		e.Target &= mask
		tab.Entries = append(tab.Entries, e)
		pc += uint64(e.Len)
	}
	data, err := tab.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
