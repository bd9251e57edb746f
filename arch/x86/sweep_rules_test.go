package x86_test

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// rule is a line of testdata/disagreements.txt.
type rule struct {
	text  string
	terms []func(*shape) bool
	says  []string
	hits  int
}

// loadRules reads the reviewed disagreements.
func loadRules(t *testing.T, file string) []*rule {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rules []*rule
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		r, err := parseRule(line)
		if err != nil {
			t.Errorf("%s:%d: %v", file, n, err)
			continue
		}
		r.text = fmt.Sprintf("%s:%d: %s", file, n, line)
		rules = append(rules, r)
	}
	return rules
}

func parseRule(line string) (*rule, error) {
	parts := strings.SplitN(line, " | ", 3)
	if len(parts) != 3 || len(strings.TrimSpace(parts[2])) < 10 {
		return nil, fmt.Errorf("want PATTERN | SAYS | WHY")
	}
	r := &rule{says: strings.Fields(parts[1])}
	for _, s := range r.says {
		if len(s) != 3 || strings.Trim(s, "-abc") != "" {
			return nil, fmt.Errorf("says %q", s)
		}
	}
	for _, f := range strings.Fields(parts[0]) {
		term, err := parseTerm(f)
		if err != nil {
			return nil, err
		}
		r.terms = append(r.terms, term)
	}
	return r, nil
}

func (r *rule) matches(s *shape, says string) bool {
	ok := false
	for _, x := range r.says {
		ok = ok || x == says
	}
	for _, t := range r.terms {
		ok = ok && t(s)
	}
	return ok
}

// fields are the names that take a list of numbers or ranges: map=1,2 op=41-47.
var fields = map[string]func(*shape) int{
	"map": func(s *shape) int { return s.opmap }, "op": func(s *shape) int { return s.op },
	"w": func(s *shape) int { return s.w }, "l": func(s *shape) int { return s.l },
	"b": func(s *shape) int { return s.b }, "z": func(s *shape) int { return s.z },
	"aaa": func(s *shape) int { return s.aaa }, "vvvv": func(s *shape) int { return s.vvvv },
	"v4": func(s *shape) int { return s.v4 }, "rxb": func(s *shape) int { return s.rxb },
	"r4": func(s *shape) int { return s.r4 }, "b4": func(s *shape) int { return s.b4 },
	"x4": func(s *shape) int { return s.x4 }, "reg": func(s *shape) int { return s.modrm >> 3 & 7 },
	"rm": func(s *shape) int { return s.modrm & 7 }, "mod": func(s *shape) int { return s.modrm >> 6 },
	"bits": func(s *shape) int { return s.bits },
}

var prefixNames = map[string]int{
	"66": p66, "67": p67, "f2": pF2, "f3": pF3, "lock": pLock, "seg": pSeg,
	"rex": pREX, "rexw": pREXW, "voidrex": pVoidREX,
}

func parseTerm(f string) (func(*shape) bool, error) {
	if rest, not := strings.CutPrefix(f, "!"); not {
		t, err := parseTerm(rest)
		return func(s *shape) bool { return !t(s) }, err
	}
	if bit, ok := prefixNames[f]; ok {
		return func(s *shape) bool { return s.prefix&bit != 0 }, nil
	}
	switch f {
	case "any":
		return func(*shape) bool { return true }, nil
	case "banned": // before a VEX, EVEX, XOP or REX2 prefix
		return func(s *shape) bool { return s.prefix&(p66|pF2|pF3|pLock|pREX|pVoidREX) != 0 }, nil
	case "legacy", "rex2", "vex", "evex", "xop", "3dnow":
		return func(s *shape) bool { return s.space == f }, nil
	}
	key, val, _ := strings.Cut(f, "=")
	if key == "pp" {
		i := strings.Index("np66f3f2", val)
		if len(val) != 2 || i < 0 {
			return nil, fmt.Errorf("term %q", f)
		}
		return func(s *shape) bool { return s.pp == i/2 }, nil
	}
	get := fields[key]
	if get == nil {
		return nil, fmt.Errorf("term %q", f)
	}
	return inList(get, val, key == "op")
}

// inList reads numbers and ranges; opcodes are hexadecimal.
func inList(get func(*shape) int, list string, hex bool) (func(*shape) bool, error) {
	base := 10
	if hex {
		base = 16
	}
	var spans [][2]int
	for _, f := range strings.Split(list, ",") {
		lo, hi, isRange := strings.Cut(f, "-")
		if !isRange {
			hi = lo
		}
		a, err1 := strconv.ParseInt(lo, base, 16)
		b, err2 := strconv.ParseInt(hi, base, 16)
		if err1 != nil || err2 != nil || a > b {
			return nil, fmt.Errorf("range %q", f)
		}
		spans = append(spans, [2]int{int(a), int(b)})
	}
	return func(s *shape) bool {
		v := get(s)
		for _, p := range spans {
			if p[0] <= v && v <= p[1] {
				return true
			}
		}
		return false
	}, nil
}
