package fixups

import (
	"fmt"
	"strconv"
	"strings"
)

// SyntaxError is a step that does not follow the grammar.
type SyntaxError struct {
	Text   string // the step
	Column int    // 1 is its first byte
	Msg    string // what was expected there
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("fixups: %q: column %d: %s", cut(e.Text), e.Column, e.Msg)
}

// ParseStep reads one step in the text grammar of docs/format.md. Registers are
// those of regs. The error is a [*SyntaxError]. The step is well formed by
// itself; [Program.Check] looks at it among others.
func ParseStep(text string, regs RegNames) (Step, error) {
	p := parser{text: text, regs: regs}
	s := p.step()
	if p.err == nil && p.next() != "" {
		p.fail("end of step expected")
	}
	if p.err != nil {
		return Step{}, p.err
	}
	return s, nil
}

// ParseProgram reads the steps of a program. The error is a [*SyntaxError]
// wrapped with the index of the step.
func ParseProgram(text []string, regs RegNames) (Program, error) {
	if len(text) > MaxSteps {
		return nil, fmt.Errorf("%w: %d steps, at most %d", ErrProgram, len(text), MaxSteps)
	}
	p := make(Program, len(text))
	for i, t := range text {
		s, err := ParseStep(t, regs)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
		p[i] = s
	}
	return p, nil
}

// parser reads tokens: words of letters, digits and . % _ (register names are
// such words), and the single bytes = , + and -.
type parser struct {
	text string
	regs RegNames
	pos  int // behind the current token
	at   int // where the current token starts
	err  error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		for i := range args {
			if s, ok := args[i].(string); ok {
				args[i] = cut(s)
			}
		}
		p.err = &SyntaxError{Text: p.text, Column: p.at + 1, Msg: fmt.Sprintf(format, args...)}
	}
}

// next returns the next token, "" at the end.
func (p *parser) next() string {
	for p.pos < len(p.text) && (p.text[p.pos] == ' ' || p.text[p.pos] == '\t') {
		p.pos++
	}
	p.at = p.pos
	for p.pos < len(p.text) && isWord(p.text[p.pos]) {
		p.pos++
	}
	if p.pos == p.at && p.pos < len(p.text) {
		p.pos++
	}
	return p.text[p.at:p.pos]
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '%' || c == '_'
}

// peek is next without moving.
func (p *parser) peek() string {
	save := *p
	t := save.next()
	return t
}

func (p *parser) expect(tok string) {
	if t := p.next(); t != tok {
		p.fail("%q expected, not %q", tok, t)
	}
}

func (p *parser) step() Step {
	word := p.next()
	switch {
	case word == "skip":
		return p.skip()
	case word == "shpush":
		return Step{Op: OpShPush, A: p.operand()}
	case strings.HasPrefix(word, "store") && p.peek() != "=":
		return p.store(word)
	}
	dst := p.named(word)
	if p.err == nil && dst.Kind != OperandReg && dst.Kind != OperandTemp {
		p.fail("a register, pc, a temporary, store, skip or shpush expected, not %q", word)
	}
	p.expect("=")
	s := p.value()
	s.Dst = dst
	return s
}

func (p *parser) skip() Step {
	s := Step{Op: OpSkip, Skip: uint8(p.small(1, MaxSteps-1))}
	p.expect("if")
	s.A = p.operand()
	word := p.next()
	c, err := enumParse("condition", []byte(word), condNames[:])
	if err != nil {
		p.fail("a condition expected, not %q", word)
	}
	s.Cond = Cond(c)
	s.B = p.operand()
	s.Width = p.widthOf(p.next(), "w", 64)
	return s
}

func (p *parser) store(word string) Step {
	s := Step{Op: OpStore}
	s.Size, s.Order = p.access(word, "store")
	s.A = p.operand()
	p.expect(",")
	s.B = p.operand()
	return s
}

// value reads what stands behind the = sign.
func (p *parser) value() Step {
	word := p.next()
	switch {
	case strings.HasPrefix(word, "zext"):
		return Step{Op: OpZext, Width: p.widthOf(word, "zext", 32), A: p.operand()}
	case strings.HasPrefix(word, "sext"):
		return Step{Op: OpSext, Width: p.widthOf(word, "sext", 32), A: p.operand()}
	case strings.HasPrefix(word, "load"):
		s := Step{Op: OpLoad}
		s.Size, s.Order = p.access(word, "load")
		s.A = p.operand()
		return s
	case word == "extract":
		return p.field(OpExtract)
	case word == "insert":
		return p.field(OpInsert)
	case word == "shpop":
		s := Step{Op: OpShPop}
		if p.peek() != "" {
			s.A = p.operand()
		}
		return s
	}
	return p.arithmetic(word)
}

func (p *parser) arithmetic(word string) Step {
	n, err := enumParse("operation", []byte(word), opNames[:OpShr+1])
	if err != nil {
		p.fail("an operation expected, not %q", word)
		return Step{}
	}
	s := Step{Op: Op(n), A: p.operand()}
	if s.Op.binary() {
		p.expect(",")
		s.B = p.operand()
	}
	return s
}

func (p *parser) field(op Op) Step {
	s := Step{Op: op, A: p.operand()}
	p.expect(",")
	s.Lsb = uint8(p.small(0, 63))
	p.expect(",")
	s.Width = uint8(p.small(1, 64-int(s.Lsb)))
	return s
}

// widthOf reads the width that is glued to a word: 8, 16, 32, and 64 if most
// says so.
func (p *parser) widthOf(word, prefix string, most uint8) uint8 {
	for w := uint8(8); w <= most && w != 0; w *= 2 {
		if rest, ok := strings.CutPrefix(word, prefix); ok && rest == strconv.Itoa(int(w)) {
			return w
		}
	}
	p.fail("%s with a width of 8 to %d bits expected, not %q", prefix, most, word)
	return 0
}

// access reads size and order that are glued to load or store.
func (p *parser) access(word, prefix string) (size uint8, order End) {
	rest := word[len(prefix):]
	if len(rest) == 3 {
		size = rest[0] - '0'
		switch {
		case !accessSize(size):
		case rest[1:] == "le":
			return size, LittleEndian
		case rest[1:] == "be":
			return size, BigEndian
		}
	}
	p.fail("%s with a size of 1, 2, 4 or 8 and le or be expected, not %q", prefix, word)
	return 0, 0
}

// small reads a number from lo to hi.
func (p *parser) small(lo, hi int) int {
	word := p.next()
	n, err := strconv.ParseUint(word, 10, 8)
	if err != nil || int(n) < lo || int(n) > hi {
		p.fail("a number from %d to %d expected, not %q", lo, hi, word)
		return 0
	}
	return int(n)
}

func (p *parser) operand() Operand {
	word := p.next()
	if word == "-" || startsNumber(word) {
		return Const(p.number(word))
	}
	o := p.named(word)
	if o.Kind < OperandSite || p.err != nil {
		return o
	}
	switch p.peek() {
	case "+":
		p.next()
		o.Val = p.magnitude(p.next(), false)
	case "-":
		o.Val = p.number(p.next())
	}
	return o
}

// named reads an operand that starts with a word.
func (p *parser) named(word string) Operand {
	switch word {
	case "site":
		return SitePlus(0)
	case "slot":
		return SlotPlus(0)
	case "data":
		return DataPlus(0)
	}
	if isTemp(word) {
		return T(int(word[1] - '0'))
	}
	r, ok := p.regs.Reg(word)
	if !ok || word != "pc" && keyword(word) {
		p.fail("unknown name %q", word)
	}
	return R(r)
}

// number reads a constant whose first token is word, the current one.
func (p *parser) number(word string) int64 {
	if word == "-" {
		return p.magnitude(p.next(), true)
	}
	return p.magnitude(word, false)
}

// magnitude reads the digits of a number: decimal, 0x or 0b.
func (p *parser) magnitude(word string, minus bool) int64 {
	n, err := strconv.ParseUint(word, 0, 64)
	if len(word) > 1 && word[0] == '0' && word[1] != 'x' && word[1] != 'b' || strings.Contains(word, "_") {
		err = strconv.ErrSyntax // what base 0 accepts beyond the grammar
	}
	switch {
	case err != nil:
		p.fail("a number of 64 bits expected, not %q", word)
		return 0
	case minus && n > 1<<63:
		p.fail("-%s is below -2^63", word)
		return 0
	case minus:
		return -int64(n)
	}
	return int64(n)
}
