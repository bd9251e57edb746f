package bitrows

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xol-go/xol/fixups"
)

// Row is one line of a table.
type Row struct {
	ID      int // from 1 in the order of the files; 0 for a row that only takes encodings away
	File    string
	line    int
	manual  string
	pattern string
	name    string

	Mask, Value uint64 // of both words, the prefix in the high half
	Prefixed    bool   // two words
	Fields      map[string]Field

	Class   fixups.Class
	family  string
	hazards fixups.Hazards
	flags   []string // names of reloc.InsnFlags
	Target  string   // one of the port's targets
	system  string   // one of the port's rules
	Priv    bool     // its class leaves open whether it is privileged
	stops   bool
	mem     bool
	Ops     []uint32 // registers, as the port writes them
	attrs   string   // as written
}

// Field is a run of bits, the lowest of which is bit Pos of the word.
type Field struct{ Pos, Width int }

// none reports whether the row is one that takes encodings away from those below.
func (r *Row) none() bool { return r.name == "-" }

// Errorf makes an error that says where the row stands.
func (r *Row) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", r.File, r.line, fmt.Sprintf(format, args...))
}

// parsePattern reads one word, or two with a bar between them.
func (p *Port) parsePattern(r *Row) error {
	r.Fields = map[string]Field{}
	words := strings.Split(r.pattern, "|")
	if len(words) > p.Words {
		return r.Errorf("%d words", len(words))
	}
	r.Prefixed = len(words) == 2
	for _, word := range words {
		r.Mask, r.Value = r.Mask<<32, r.Value<<32
		if err := p.parseWord(r, strings.TrimSpace(word)); err != nil {
			return err
		}
	}
	return nil
}

// parseWord reads the bits of a word as the manual prints them, the most
// significant first: digits are fixed, NAME and NAME:N are fields.
func (p *Port) parseWord(r *Row, word string) error {
	left := 32
	for _, t := range strings.Fields(word) {
		n, digits := len(t), strings.Trim(t, "01") == ""
		if !digits {
			name, width, wide := strings.Cut(t, ":")
			n = 1
			if wide {
				var err error
				if n, err = strconv.Atoi(width); err != nil || n < 1 {
					return r.Errorf("field %q", t)
				}
			}
			if _, twice := r.Fields[name]; twice && !slices.Contains(p.Unnamed, name) {
				return r.Errorf("field %s twice", name)
			}
			r.Fields[name] = Field{left - n, n}
		}
		if left -= n; left < 0 {
			return r.Errorf("more than 32 bits in %q", word)
		}
		if digits {
			v, _ := strconv.ParseUint(t, 2, 32)
			r.Mask |= (1<<n - 1) << left
			r.Value |= v << left
		}
	}
	if left != 0 {
		return r.Errorf("%d bits are missing in %q", left, word)
	}
	return nil
}
