package fixups

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func readFormatPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestDocsSections: the page has the sections, their numbers and item sizes.
func TestDocsSections(t *testing.T) {
	page := readFormatPage(t)
	for i, name := range secNames {
		if row := fmt.Sprintf("| %d | %s | %d |", i+1, name, secItem[i]); !strings.Contains(page, row) {
			t.Errorf("no row %q", row)
		}
		if heading := fmt.Sprintf("### struct %s (%d bytes)", strings.TrimSuffix(name, "s"), secItem[i]); secItem[i] > 8 && !strings.Contains(page, heading) {
			t.Errorf("no heading %q", heading)
		}
	}
	if magic := fmt.Sprintf("% x", binMagic); !strings.Contains(page, magic) {
		t.Errorf("no magic %s", magic)
	}
}

// TestDocsEnums: the page lists the enumerations in the order of the numbers.
func TestDocsEnums(t *testing.T) {
	page := readFormatPage(t)
	for row, names := range map[string][]string{
		"class": classNames[:], "hazard (bit)": hazardNames[:], "reason": reasonNames[:], "form": formNames[:], "strategy": strategyNames[:],
		"tail": tailNames[:], "stop": stopNames[:], "returns": returnsNames[:], "state": stateNames[:], "escape": escapeKindNames[:],
		"base": baseNames[:], "check": checkNames[:], "order": orderNames[:], "op": opNames[:], "cond": condNames[:],
	} {
		words := append([]string(nil), names...)
		if words[0] == "" {
			words[0] = "(none)"
		}
		if line := "| " + row + " | " + strings.Join(words, " ") + " |"; !strings.Contains(page, line) {
			t.Errorf("no line %q", line)
		}
	}
}

// TestDocsSteps: the example steps of the page are what the writer writes.
func TestDocsSteps(t *testing.T) {
	_, rest, ok := strings.Cut(readFormatPage(t), "Examples, one of each kind:\n\n```\n")
	block, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("no examples")
	}
	ops := map[Op]bool{}
	for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
		s, err := ParseStep(line, testRegs)
		if err != nil {
			t.Error(err)
		} else if got := s.Format(testRegs); got != line {
			t.Errorf("%q, the writer writes %q", line, got)
		}
		ops[s.Op] = true
	}
	if len(ops) < 10 {
		t.Errorf("examples of %d operations", len(ops))
	}
}

// TestDocsFields: every JSON field has a row or a word on the page.
func TestDocsFields(t *testing.T) {
	page := readFormatPage(t)
	for where, s := range allObjects(readSchema(t)) {
		for k := range s.Properties {
			if !strings.Contains(page, "`"+k+"`") && !strings.Contains(page, `"`+k+`"`) {
				t.Errorf("field %s.%s", where, k)
			}
		}
	}
}
