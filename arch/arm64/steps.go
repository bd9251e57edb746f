package arm64

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
	mark int
}

// begin starts a program. Another one may begin when it is finished.
func (b *planner) begin() steps { return steps{b.p, b.p.Mark()} }

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

func (q *steps) field(op fixups.Op, dst, a fixups.Operand, lsb, width uint8) {
	s := q.p.Add()
	s.Op, s.Dst, s.A, s.Lsb, s.Width = op, dst, a, lsb, width
}

func (q *steps) sext(dst, a fixups.Operand, width uint8) { q.field(fixups.OpSext, dst, a, 0, width) }

func (q *steps) extract(dst, a fixups.Operand, lsb, width uint8) {
	q.field(fixups.OpExtract, dst, a, lsb, width)
}

func (q *steps) load(dst, addr fixups.Operand, size int, order fixups.End) {
	s := q.p.Add()
	s.Op, s.Dst, s.A, s.Size, s.Order = fixups.OpLoad, dst, addr, uint8(size), order
}

func (q *steps) skip(n int, a fixups.Operand, c fixups.Cond, b fixups.Operand, width uint8) {
	s := q.p.Add()
	s.Op, s.Cond, s.Skip, s.Width, s.A, s.B = fixups.OpSkip, c, uint8(n), width, a, b
}

// shadow appends a push to or a pop from the guarded control stack.
func (q *steps) shadow(op fixups.Op, dst, a fixups.Operand) {
	s := q.p.Add()
	s.Op, s.Dst, s.A = op, dst, a
}
