package corpus

import (
	"fmt"
	"strings"
)

// Pending is an expectation that no port meets yet.
type Pending struct {
	Key  string // of the case
	What string // the text of the expectation: "insn +0 plain", "want +0 jump plan", "lens"
	Why  string
}

// PendingList returns the expectations of pending.txt.
func PendingList() []Pending {
	text, err := texts.ReadFile("pending.txt")
	if err == nil {
		var p []Pending
		if p, err = ParsePending(text); err == nil {
			return p
		}
	}
	panic("corpus: pending.txt: " + err.Error())
}

// ParsePending reads lines of three fields between tabs: key, expectation,
// reason. Lines that begin with # are comments.
func ParsePending(text []byte) ([]Pending, error) {
	var list []Pending
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 3 || f[2] == "" {
			return nil, &SyntaxError{Line: n, Msg: fmt.Sprintf("not a key, an expectation and a reason: %q", line)}
		}
		list = append(list, Pending{f[0], f[1], f[2]})
	}
	return list, nil
}
