package ppc64

import "github.com/xol-go/xol/fixups"

// The steps by their names in the text grammar, as values.

func mov(dst, a fixups.Operand) fixups.Step {
	return fixups.Step{Op: fixups.OpMov, Dst: dst, A: a}
}

func skip(n int, a fixups.Operand, c fixups.Cond, b fixups.Operand) fixups.Step {
	return fixups.Step{Op: fixups.OpSkip, Skip: uint8(n), A: a, B: b, Cond: c, Width: 64}
}

// steps is a program that is being made.
type steps struct {
	p    *fixups.Plan
	end  fixups.End
	mark int
}

// begin starts a program. Another one may begin when it is finished.
func (b *planner) begin() steps { return steps{b.p, b.order(), b.p.Mark()} }

func (q *steps) program() fixups.Program { return q.p.Since(q.mark) }

// The steps by their names in the text grammar, written where they lie.

func (q *steps) mov(dst, a fixups.Operand) {
	s := q.p.Add()
	s.Dst, s.A = dst, a
}

func (q *steps) op2(op fixups.Op, dst, a, b fixups.Operand) {
	s := q.p.Add()
	s.Op, s.Dst, s.A, s.B = op, dst, a, b
}

func (q *steps) add64(dst, a fixups.Operand, v int64) { q.op2(fixups.OpAdd, dst, a, fixups.Const(v)) }

func (q *steps) sext(dst, a fixups.Operand, width uint8) {
	s := q.p.Add()
	s.Op, s.Dst, s.A, s.Width = fixups.OpSext, dst, a, width
}

func (q *steps) extract(dst, a fixups.Operand, lsb, width uint8) {
	s := q.p.Add()
	s.Op, s.Dst, s.A, s.Lsb, s.Width = fixups.OpExtract, dst, a, lsb, width
}

func (q *steps) load(dst, addr fixups.Operand, size int) {
	s := q.p.Add()
	s.Op, s.Dst, s.A, s.Size, s.Order = fixups.OpLoad, dst, addr, uint8(size), q.end
}

func (q *steps) store(addr, v fixups.Operand, size int) {
	s := q.p.Add()
	s.Op, s.A, s.B, s.Size, s.Order = fixups.OpStore, addr, v, uint8(size), q.end
}

func (q *steps) skip(n int, a fixups.Operand, c fixups.Cond, b fixups.Operand) {
	s := q.p.Add()
	s.Op, s.Cond, s.Skip, s.Width, s.A, s.B = fixups.OpSkip, c, uint8(n), 64, a, b
}

// goTo appends pc := Site + delta.
func (q *steps) goTo(delta int64) { q.mov(fixups.PC(), fixups.SitePlus(delta)) }

// dest is the target of a branch. An absolute one is the same wherever the site's file
// is loaded.
func (b *planner) dest() fixups.Operand {
	if b.aa() {
		return fixups.Const(int64(b.in.Target))
	}
	return fixups.SitePlus(b.target())
}

// jumpToDest is the program pc := target of the branch.
func (b *planner) jumpToDest() fixups.Program {
	if !b.aa() {
		return b.jumpTo(b.target())
	}
	q := b.begin()
	q.mov(fixups.PC(), b.dest())
	return q.program()
}

// jumpTo is the program pc := Site + delta.
func (b *planner) jumpTo(delta int64) fixups.Program {
	if uint64(delta) < uint64(len(gotoNext)) {
		return gotoNext[delta : delta+1 : delta+1]
	}
	q := b.begin()
	q.goTo(delta)
	return q.program()
}

// Programs that depend on the site's length alone are made once.
var (
	gotoSite = fixups.Program{mov(fixups.PC(), fixups.SitePlus(0))}
	gotoNext = makeGotoNext()
	postCopy = makePostCopy()
)

func makeGotoNext() (p [9]fixups.Step) {
	for i := range p {
		p[i] = mov(fixups.PC(), fixups.SitePlus(int64(i)))
	}
	return p
}

// makePostCopy makes what follows a stepped copy of each length: the copy was left
// at its end, or pc is where the instruction put it. A trap behind the copy is
// reported with its own address, which is the same.
func makePostCopy() (p [9][2]fixups.Step) {
	for i := range p {
		n := int64(i)
		p[i] = [2]fixups.Step{
			skip(1, fixups.PC(), fixups.CondNE, fixups.SlotPlus(n)),
			mov(fixups.PC(), fixups.SitePlus(n)),
		}
	}
	return p
}
