package x86

import "github.com/xol-go/xol/fixups"

// The steps by their names in the text grammar, as values.

func mov(dst, a fixups.Operand) fixups.Step {
	return fixups.Step{Op: fixups.OpMov, Dst: dst, A: a}
}

func op2(op fixups.Op, dst, a, b fixups.Operand) fixups.Step {
	return fixups.Step{Op: op, Dst: dst, A: a, B: b}
}

func add(dst, a fixups.Operand, v int64) fixups.Step {
	return op2(fixups.OpAdd, dst, a, fixups.Const(v))
}

func zext(dst, a fixups.Operand, width uint8) fixups.Step {
	return fixups.Step{Op: fixups.OpZext, Dst: dst, A: a, Width: width}
}

func extract(dst, a fixups.Operand, lsb, width uint8) fixups.Step {
	return fixups.Step{Op: fixups.OpExtract, Dst: dst, A: a, Lsb: lsb, Width: width}
}

func load(dst, addr fixups.Operand, size int) fixups.Step {
	return fixups.Step{Op: fixups.OpLoad, Dst: dst, A: addr, Size: uint8(size)}
}

func skip(n int, a fixups.Operand, c fixups.Cond, b fixups.Operand, width uint8) fixups.Step {
	return fixups.Step{Op: fixups.OpSkip, Skip: uint8(n), A: a, B: b, Cond: c, Width: width}
}

// steps is a program that is being made.
type steps struct {
	p    *fixups.Plan
	mark int
}

// begin starts a program. Another one may begin when it is finished.
func (b *planner) begin() steps { return steps{b.p, b.p.Mark()} }

// add appends a copy of s.
func (q *steps) add(s fixups.Step) { *q.p.Add() = s }

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

func (q *steps) field(op fixups.Op, dst, a fixups.Operand, lsb, width uint8) {
	s := q.p.Add()
	s.Op, s.Dst, s.A, s.Lsb, s.Width = op, dst, a, lsb, width
}

func (q *steps) zext(dst, a fixups.Operand, width uint8) { q.field(fixups.OpZext, dst, a, 0, width) }
func (q *steps) sext(dst, a fixups.Operand, width uint8) { q.field(fixups.OpSext, dst, a, 0, width) }

func (q *steps) extract(dst, a fixups.Operand, lsb, width uint8) {
	q.field(fixups.OpExtract, dst, a, lsb, width)
}

func (q *steps) insert(dst, a fixups.Operand, lsb, width uint8) {
	q.field(fixups.OpInsert, dst, a, lsb, width)
}

func (q *steps) load(dst, addr fixups.Operand, size int) {
	s := q.p.Add()
	s.Op, s.Dst, s.A, s.Size = fixups.OpLoad, dst, addr, uint8(size)
}

func (q *steps) store(addr, v fixups.Operand, size int) {
	s := q.p.Add()
	s.Op, s.A, s.B, s.Size = fixups.OpStore, addr, v, uint8(size)
}

func (q *steps) skip(n int, a fixups.Operand, c fixups.Cond, b fixups.Operand, width uint8) {
	s := q.p.Add()
	s.Op, s.Cond, s.Skip, s.Width, s.A, s.B = fixups.OpSkip, c, uint8(n), width, a, b
}

// goTo is the program pc := Site + delta.
func goTo(p *fixups.Plan, delta int64) fixups.Program {
	q := steps{p, p.Mark()}
	q.mov(fixups.PC(), fixups.SitePlus(delta))
	return q.program()
}
