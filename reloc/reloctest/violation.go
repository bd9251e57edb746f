package reloctest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Rule is one rule of the contract.
type Rule struct {
	Name     string // short, stable
	Contract string // C1 to C9, as in docs/design.md
	Text     string // what must hold
}

// Violation is a broken rule.
type Violation struct {
	Rule   *Rule
	Arch   string
	PC     uint64
	Bytes  []byte // the bytes that were given, nil if the rule is not about bytes
	Detail string // what happened instead
	More   int    // how many further violations of the rule were found
}

func (v *Violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: %s", v.Rule.Contract, v.Rule.Name, v.Arch)
	if v.Bytes != nil {
		fmt.Fprintf(&b, " at %#x, bytes %s", v.PC, hex.EncodeToString(v.Bytes))
	}
	fmt.Fprintf(&b, ": %s (%s)", v.Detail, v.Rule.Text)
	if v.More > 0 {
		fmt.Fprintf(&b, " and %d more", v.More)
	}
	return b.String()
}

// maxPerRule is how many violations of one rule are reported in full.
const maxPerRule = 3

// report collects violations.
type report struct {
	arch  string
	list  []*Violation
	count map[*Rule]int
}

func newReport(arch string) *report { return &report{arch: arch, count: map[*Rule]int{}} }

func (r *report) add(rule *Rule, code []byte, pc uint64, format string, args ...any) {
	r.count[rule]++
	if r.count[rule] > maxPerRule {
		return
	}
	r.list = append(r.list, &Violation{
		Rule: rule, Arch: r.arch, PC: pc, Bytes: append([]byte(nil), code...),
		Detail: fmt.Sprintf(format, args...),
	})
}

// err joins the violations, nil if there are none.
func (r *report) err() error {
	var errs []error
	for i, v := range r.list {
		last := true
		for _, w := range r.list[i+1:] {
			last = last && w.Rule != v.Rule
		}
		if n := r.count[v.Rule]; last && n > maxPerRule {
			v.More = n - maxPerRule
		}
		errs = append(errs, v)
	}
	return errors.Join(errs...)
}
