package fixups

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// gen makes random vocabulary. A failure is repeated with XOL_SEED.
type gen struct{ *rand.Rand }

func newGen(t testing.TB, stream uint64) gen {
	seed := rand.Uint64()
	if s := os.Getenv("XOL_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("XOL_SEED=%#x", seed)
	return gen{rand.New(rand.NewPCG(seed, stream))}
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
