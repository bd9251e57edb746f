package corpus

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	for _, name := range files {
		text, err := texts.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, want := strings.Split(string(Format(f)), "\n"), strings.Split(string(text), "\n")
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Errorf("%s:%d is not canonical", name, i+1)
				break
			}
		}
	}
}

// Names are unique across files, every expectation belongs to an instruction,
// and a case expects something.
func TestCases(t *testing.T) {
	seen := map[string]bool{}
	for c := range All() {
		if seen[c.Key()] {
			t.Errorf("second case %s", c.Key())
		}
		seen[c.Key()] = true
		if len(c.Insns) == 0 {
			t.Errorf("%s expects no instruction", c.Key())
		}
		for _, w := range c.Wants {
			if !slices.ContainsFunc(c.Insns, func(in Insn) bool { return in.Off == w.Off && in.Reason == 0 }) {
				t.Errorf("%s wants %v of an instruction it does not describe", c.Key(), w.String())
			}
		}
		for _, m := range c.Mem {
			if m.Addr < c.PC+uint64(len(c.Bytes)) && c.PC < m.Addr+uint64(len(m.Data)) {
				t.Errorf("%s has memory over its code", c.Key())
			}
		}
	}
	for _, arch := range []string{"amd64", "386", "arm64", "ppc64", "ppc64le"} {
		n := 0
		for range ByArch(arch) {
			n++
		}
		if n < 20 {
			t.Errorf("only %d cases of %s", n, arch)
		}
	}
}

func TestFind(t *testing.T) {
	c := Find("amd64/call-self")
	if c == nil || c.Insns[0].Target == nil || *c.Insns[0].Target != c.PC {
		t.Errorf("Find: %v", c)
	}
	if c := Find("amd64/no-such-case"); c != nil {
		t.Errorf("Find: %v", c)
	}
	for c := range Filter(All(), Match("frida-gum", "loop")) {
		if !strings.Contains(c.String(), "loop") {
			t.Errorf("Match: %v", c)
		}
	}
}

const head = "case x/y\n\tsource  s\n"

func TestSyntaxErrors(t *testing.T) {
	for _, tt := range []struct {
		text, msg string
		line      int
	}{
		{"hello\n", "neither", 1},
		{"case xy\n", "bad case name", 1},
		{"case x/y\n", "lacks code", 1},
		{head + "\n", "lacks code", 3},
		{head + "\tcode    401000 90\n", "bad address", 3},
		{head + "\tcode    0x401000 9\n", "bad bytes", 3},
		{head + "\tcode    0x401000 90||\n", "bad bytes", 3},
		{head + "\tcode    0x1 90\n\tsource  t\n", "too late", 4},
		{head + "\tcode    0x1 90\n\tcode    0x1 90\n", "too late", 4},
		{head + "\tcode    0x1 90\n\tcolour  red\n", "unknown keyword", 4},
		{head + "\tcode    0x1 90\n\tinsn    +1 plain\n", "no instruction at offset 1", 4},
		{head + "\tcode    0x1 90\n\tinsn    +0 nice\n", "unknown class", 4},
		{head + "\tcode    0x1 90\n\tinsn    +0 plain odd=1\n", "unknown attribute", 4},
		{head + "\tcode    0x1 90\n\tinsn    +0 plain hazards=odd\n", "unknown hazard", 4},
		{head + "\tcode    0x1 90\n\tinsn    +0 refused odd\n", "unknown reason", 4},
		{head + "\tcode    0x1 90\n\twant    +0 fly plan\n", "unknown form", 4},
		{head + "\tcode    0x1 90\n\twant    +0 jump maybe\n", "bad verdict", 4},
		{head + "\tcode    0x1 90\n\twant    +0 jump plan maybe\n", "behind the verdict", 4},
		{head + "\tcode    0x1 90\n\tregion  +0 5 plan from=0x1\n", "behind the verdict", 4},
		{head + "\tcode    0x1 90\n\tafter   rax\n", "bad fact", 4},
		{head + "\tcode    0x1 90\n\nnote    x\n", "neither", 5},
		{head + "\tcode    0x1 90\n\n" + head + "\tcode    0x1 90\n", "second case", 5},
		{head + "\tcode    0x1 90\n" + head, "no blank line", 4},
	} {
		_, err := Parse([]byte(tt.text))
		var se *SyntaxError
		if !errors.As(err, &se) || se.Line != tt.line || !strings.Contains(se.Msg, tt.msg) {
			t.Errorf("Parse(%q) = %v, want line %d: %s", tt.text, err, tt.line, tt.msg)
		}
	}
}

func TestPending(t *testing.T) {
	for _, p := range PendingList() {
		c := Find(p.Key)
		if c == nil {
			t.Errorf("pending.txt names %s, which does not exist", p.Key)
		} else if !slices.Contains(strings.Split(c.String(), "\n"), line(p.What)) && p.What != "lens" {
			t.Errorf("pending.txt: %s does not expect %q", p.Key, p.What)
		}
	}
	if _, err := ParsePending([]byte("a\tb\n")); err == nil {
		t.Error("a line without a reason is accepted")
	}
}

// line is how an expectation stands in a case.
func line(what string) string {
	word, text, _ := strings.Cut(what, " ")
	return strings.TrimSuffix(string(appendField(nil, word, text)), "\n")
}

func FuzzParse(f *testing.F) {
	for _, name := range files {
		text, _ := texts.ReadFile(name)
		for i, c := range strings.Split(string(text), "\n\n") {
			if i%10 == 1 {
				f.Add(c)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse([]byte(text))
		if err != nil {
			return
		}
		once := Format(file)
		again, err := Parse(once)
		if err != nil {
			t.Fatalf("canonical text does not parse: %v\n%s", err, once)
		}
		if twice := Format(again); string(twice) != string(once) {
			t.Errorf("not canonical:\n%s\n%s", once, twice)
		}
	})
}
