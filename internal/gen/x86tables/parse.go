package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// parseAll reads the files that exist.
func parseAll(dir fs.FS) ([]*row, map[source]bool, error) {
	var rows []*row
	have := map[source]bool{}
	var errs []error
	for _, src := range sources {
		f, err := dir.Open(src.file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		have[src] = true
		rs, err := parseFile(bufio.NewScanner(f), src)
		f.Close()
		rows = append(rows, rs...)
		errs = append(errs, err)
	}
	for i, r := range rows {
		r.id = i + 1 // 0 is no row
	}
	return rows, have, errors.Join(errs...)
}

func parseFile(sc *bufio.Scanner, src source) ([]*row, error) {
	var rows []*row
	var errs []error
	manual := ""
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if s, ok := strings.CutPrefix(line, "@source "); ok {
			manual = s
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		r := &row{pos: fmt.Sprintf("%s:%d", src.file, n), src: src, manual: manual, attrs: map[string]bool{}}
		if err := r.parse(line); err != nil {
			errs = append(errs, r.errorf("%v", err))
		} else if manual == "" {
			errs = append(errs, r.errorf("no @source above this row"))
		}
		rows = append(rows, r)
	}
	return rows, errors.Join(append(errs, sc.Err())...)
}

// parse reads OPCODE CONDITIONS : MNEMONIC OPERANDS ; ATTRIBUTES.
func (r *row) parse(line string) error {
	head, tail, ok := strings.Cut(line, " :")
	if !ok {
		return fmt.Errorf("no colon between blanks")
	}
	body, attrs, _ := strings.Cut(tail, ";")
	r.text = strings.ToLower(strings.Join(strings.Fields(head), " "))
	fields := strings.Fields(r.text)
	if err := r.parseOpcode(fields[0]); err != nil {
		return err
	}
	for _, f := range fields[1:] {
		if err := r.cond.parse(f); err != nil {
			return err
		}
	}
	name, ops, _ := strings.Cut(strings.TrimSpace(body), " ")
	if name == "" {
		return fmt.Errorf("no mnemonic")
	}
	r.name = name
	if err := r.parseOperands(ops); err != nil {
		return err
	}
	return r.parseAttrs(attrs)
}

func (r *row) parseOpcode(s string) error {
	s, r.plusR = strings.CutSuffix(s, "+r")
	v, err := strconv.ParseUint(s, 16, 8)
	if err != nil || len(s) != 2 {
		return fmt.Errorf("opcode %q", s)
	}
	r.op = int(v)
	if r.plusR && r.op&7 != 0 {
		return fmt.Errorf("opcode %s+r has low bits", s)
	}
	return nil
}

func (c *cond) parse(f string) error {
	digit := func(prefix string, limit int, set *uint8) bool {
		d, ok := strings.CutPrefix(f, prefix)
		if !ok || len(d) != 1 || d[0] < '0' || int(d[0]-'0') >= limit {
			return false
		}
		*set |= 1 << (d[0] - '0')
		return true
	}
	switch f {
	case "np", "66", "f3", "f2":
		c.pp |= 1 << (strings.Index("np66f3f2", f) / 2)
	case "mem":
		c.mod |= 1
	case "reg":
		c.mod |= 2
	case "m32":
		c.mode |= 1
	case "m64":
		c.mode |= 2
	case "rex2no":
		c.rex2no = true
	case "rex2":
		c.rex2 = true
	default:
		if digit("w", 2, &c.w) || digit("l", 3, &c.l) || digit("/", 8, &c.reg) || digit("rm", 8, &c.rm) ||
			digit("nd", 2, &c.nd) || digit("nf", 2, &c.nf) {
			return nil
		}
		return fmt.Errorf("condition %q", f)
	}
	return nil
}

func (r *row) parseOperands(s string) error {
	for f := range strings.SplitSeq(s, ",") {
		f = strings.TrimSpace(f)
		if f == "" {
			continue
		}
		o, ok := parseOperand(f)
		if !ok {
			return fmt.Errorf("operand %q", f)
		}
		r.operands = append(r.operands, o)
	}
	return nil
}

func parseOperand(f string) (operand, bool) {
	if len(f) < 3 || f[1] != ':' || !strings.Contains("rwxcn", f[:1]) {
		return operand{}, false
	}
	return operand{f[0], f[2:]}, true
}

func (r *row) parseAttrs(s string) error {
	r.class = "plain"
	for _, f := range strings.Fields(s) {
		if o, ok := parseOperand(f); ok {
			r.implicit = append(r.implicit, o)
			continue
		}
		key, val, _ := strings.Cut(f, "=")
		switch {
		case key == "class":
			r.class = val
		case key == "haz":
			r.hazards = append(r.hazards, strings.Split(val, ",")...)
		case key == "sys":
			r.system = val
		case knownAttrs[f]:
			r.attrs[f] = true
		default:
			return fmt.Errorf("attribute %q", f)
		}
	}
	return nil
}

// attrOrder is the order in which attributes are printed.
var attrOrder = strings.Fields(attrNames)

var knownAttrs = set(attrNames)

const attrNames = `lock rep d64 f64 imm8s amd intel ud bcst er sae mask zero kneed vsib priv undoc
	v66 vw far push pop mem bitmem stops modreg norexr xpush xpop scc norip no16`

func set(s string) map[string]bool {
	m := map[string]bool{}
	for _, f := range strings.Fields(s) {
		m[f] = true
	}
	return m
}
