package corpus

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/xol-go/xol/fixups"
)

// SyntaxError says where a text leaves the format.
type SyntaxError struct {
	Line int // from 1
	Msg  string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("corpus: line %d: %s", e.Line, e.Msg) }

// Parse reads a file of cases. The error is a [*SyntaxError].
func Parse(text []byte) (*File, error) {
	p := parser{names: map[string]bool{}}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, line := range lines {
		if err := p.line(line); err != nil {
			return nil, &SyntaxError{Line: i + 1, Msg: err.Error()}
		}
	}
	if err := p.endCase(); err != nil {
		return nil, &SyntaxError{Line: len(lines), Msg: err.Error()}
	}
	return &p.file, nil
}

type parser struct {
	file    File
	cur     *Case
	order   int // index in keywords of the last line of cur
	comment []string
	started bool // a blank line or a case was seen
	names   map[string]bool
}

// keywords of the lines of a case, in the order in which they come.
var keywords = []struct {
	word  string
	many  bool
	parse func(*Case, string) error
}{
	{"source", false, parseSource},
	{"code", false, parseCode},
	{"slot", true, parseSlot},
	{"mem", true, parseMem},
	{"given", true, parseGiven},
	{"env", false, parseEnv},
	{"insn", true, parseInsn},
	{"want", true, parseWant},
	{"region", true, parseRegion},
	{"after", true, parseAfter},
	{"note", true, parseNote},
}

func (p *parser) line(line string) error {
	switch {
	case line == "":
		if !p.started && len(p.file.Cases) == 0 && p.cur == nil {
			p.file.Comment, p.comment = p.comment, nil
		}
		p.started = true
		return p.endCase()
	case strings.HasPrefix(line, "#"):
		if p.cur != nil {
			return fmt.Errorf("comment inside a case")
		}
		p.comment = append(p.comment, line[1:])
		return nil
	case strings.HasPrefix(line, "case "):
		return p.begin(line[len("case "):])
	case strings.HasPrefix(line, "\t") && p.cur != nil:
		return p.field(line[1:])
	}
	return fmt.Errorf("neither a case nor a line of one: %q", line)
}

func (p *parser) begin(key string) error {
	if p.cur != nil {
		return fmt.Errorf("no blank line before case %s", key)
	}
	arch, name, ok := strings.Cut(key, "/")
	if !ok || arch == "" || name == "" || strings.ContainsAny(key, " \t") {
		return fmt.Errorf("bad case name %q", key)
	}
	if p.names[key] {
		return fmt.Errorf("second case %s", key)
	}
	p.names[key], p.started = true, true
	p.cur = &Case{Arch: arch, Name: name, Comment: p.comment}
	p.comment, p.order = nil, -1
	return nil
}

func (p *parser) field(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimLeft(rest, " ")
	for i, k := range keywords {
		if k.word != word {
			continue
		}
		if i < p.order || i == p.order && !k.many {
			return fmt.Errorf("%s comes too late", word)
		}
		p.order = i
		if rest == "" {
			return fmt.Errorf("%s says nothing", word)
		}
		return k.parse(p.cur, rest)
	}
	return fmt.Errorf("unknown keyword %q", word)
}

func (p *parser) endCase() error {
	if p.cur == nil {
		return nil
	}
	c := p.cur
	p.cur = nil
	if len(c.Bytes) == 0 || c.Source == "" {
		return fmt.Errorf("case %s lacks code or source", c.Key())
	}
	p.file.Cases = append(p.file.Cases, *c)
	return nil
}

func parseSource(c *Case, s string) error { c.Source = s; return nil }
func parseNote(c *Case, s string) error   { c.Notes = append(c.Notes, s); return nil }
func parseEnv(c *Case, s string) error    { c.Env = strings.Fields(s); return nil }

func parseCode(c *Case, s string) (err error) {
	addr, code, _ := strings.Cut(s, " ")
	if c.PC, err = parseAddr(addr); err != nil {
		return err
	}
	insns, rest, hasRest := strings.Cut(code, "||")
	if insns != "" {
		for part := range strings.SplitSeq(insns, "|") {
			b, err := hex.DecodeString(part)
			if err != nil || len(b) == 0 {
				return fmt.Errorf("bad bytes %q", part)
			}
			c.Bytes, c.Lens = append(c.Bytes, b...), append(c.Lens, len(b))
		}
	}
	if hasRest {
		b, err := hex.DecodeString(rest)
		if err != nil || len(b) == 0 {
			return fmt.Errorf("bad bytes %q", rest)
		}
		c.Bytes = append(c.Bytes, b...)
	}
	return nil
}

func parseSlot(c *Case, s string) error {
	a, err := parseAddr(s)
	c.Slots = append(c.Slots, a)
	return err
}

func parseMem(c *Case, s string) error {
	addr, data, _ := strings.Cut(s, " ")
	a, err := parseAddr(addr)
	if err != nil {
		return err
	}
	b, err := hex.DecodeString(data)
	if err != nil || len(b) == 0 {
		return fmt.Errorf("bad bytes %q", data)
	}
	c.Mem = append(c.Mem, Mem{a, b})
	return nil
}

func parseGiven(c *Case, s string) error {
	f, err := parseFact(s)
	c.Given = append(c.Given, f)
	return err
}

func parseAfter(c *Case, s string) error {
	f, err := parseFact(s)
	c.After = append(c.After, f)
	return err
}

func parseFact(s string) (Fact, error) {
	fact, when, _ := strings.Cut(s, " when ")
	name, value, ok := strings.Cut(fact, "=")
	if !ok || name == "" || value == "" {
		return Fact{}, fmt.Errorf("bad fact %q", s)
	}
	return Fact{name, value, when}, nil
}

func parseInsn(c *Case, s string) error {
	f := strings.Fields(s)
	if len(f) < 2 {
		return fmt.Errorf("insn lacks a class")
	}
	off, err := parseOff(c, f[0])
	if err != nil {
		return err
	}
	in := Insn{Off: off}
	if f[1] == "refused" {
		if len(f) != 3 {
			return fmt.Errorf("refused takes a reason")
		}
		err = in.Reason.UnmarshalText([]byte(f[2]))
	} else if err = in.Class.UnmarshalText([]byte(f[1])); err == nil {
		for _, kv := range f[2:] {
			if err = in.attr(kv); err != nil {
				break
			}
		}
	}
	c.Insns = append(c.Insns, in)
	return err
}

func (in *Insn) attr(kv string) (err error) {
	k, v, _ := strings.Cut(kv, "=")
	switch k {
	case "alt":
		in.Alt, err = strconv.Atoi(v)
	case "target":
		in.Target, err = parseAddrPtr(v)
	case "address":
		in.Address, err = parseAddrPtr(v)
	case "pushes":
		in.Pushes, err = parseAddrPtr(v)
	case "when":
		in.When = v
	case "hazards":
		in.Hazards, err = parseHazards(v)
	default:
		err = fmt.Errorf("unknown attribute %q", kv)
	}
	return err
}

func parseHazards(s string) (set fixups.Hazards, err error) {
	for w := range strings.SplitSeq(s, ",") {
		var h fixups.Hazard
		if err := h.UnmarshalText([]byte(w)); err != nil {
			return 0, err
		}
		set |= h.Bit()
	}
	return set, nil
}

func parseWant(c *Case, s string) error {
	s, with, _ := strings.Cut(s, " with ")
	f := strings.Fields(s)
	if len(f) < 3 {
		return fmt.Errorf("want lacks a form or a verdict")
	}
	off, err := parseOff(c, f[0])
	if err != nil {
		return err
	}
	w := Want{Off: off, With: strings.Fields(with)}
	if err = w.Form.UnmarshalText([]byte(f[1])); err != nil {
		return err
	}
	var rest []string
	w.Plan, w.Any, w.Reason, rest, err = parseVerdict(f[2:])
	if err == nil && len(rest) != 0 {
		err = fmt.Errorf("words behind the verdict: %q", rest)
	}
	c.Wants = append(c.Wants, w)
	return err
}

func parseRegion(c *Case, s string) error {
	f := strings.Fields(s)
	if len(f) < 3 {
		return fmt.Errorf("region lacks a size or a verdict")
	}
	off, err := parseOff(c, f[0])
	if err != nil {
		return err
	}
	r := Region{Off: off}
	if r.N, err = strconv.Atoi(f[1]); err != nil {
		return err
	}
	var rest []string
	if r.Plan, r.Any, r.Reason, rest, err = parseVerdict(f[2:]); err != nil {
		return err
	}
	switch len(rest) {
	case 0:
	case 2:
		r.Jump = new(Jump)
		from, ok1 := strings.CutPrefix(rest[0], "from=")
		to, ok2 := strings.CutPrefix(rest[1], "to=")
		if !ok1 || !ok2 {
			return fmt.Errorf("not from= and to=: %q", rest)
		}
		if r.Jump.From, err = parseAddr(from); err != nil {
			return err
		}
		if r.Jump.To, err = parseAddr(to); err != nil {
			return err
		}
	default:
		return fmt.Errorf("words behind the verdict: %q", rest)
	}
	c.Regions = append(c.Regions, r)
	return nil
}

func parseVerdict(f []string) (plan, anyReason bool, r fixups.Reason, rest []string, err error) {
	switch {
	case f[0] == "plan":
		return true, false, 0, f[1:], nil
	case f[0] == "refused" && len(f) > 1 && f[1] == "any":
		return false, true, 0, f[2:], nil
	case f[0] == "refused" && len(f) > 1:
		err = r.UnmarshalText([]byte(f[1]))
		return false, false, r, f[2:], err
	}
	return false, false, 0, nil, fmt.Errorf("bad verdict %q", f)
}

// parseOff accepts boundaries of instructions, and the start of a rest that has
// no instruction before it (bytes that do not decode).
func parseOff(c *Case, s string) (int, error) {
	num, ok := strings.CutPrefix(s, "+")
	off, err := strconv.Atoi(num)
	if !ok || err != nil {
		return 0, fmt.Errorf("bad offset %q", s)
	}
	if c.LenAt(off) == 0 && (off != c.codeLen() || off == len(c.Bytes)) {
		return 0, fmt.Errorf("no instruction at offset %d", off)
	}
	return off, nil
}

func parseAddr(s string) (uint64, error) {
	h, ok := strings.CutPrefix(s, "0x")
	v, err := strconv.ParseUint(h, 16, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("bad address %q", s)
	}
	return v, nil
}

func parseAddrPtr(s string) (*uint64, error) {
	v, err := parseAddr(s)
	return &v, err
}
