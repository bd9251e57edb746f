package fixups

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// jsonRule is what the fields of an object are called. encoding/json alone
// takes a field in any case, the last of several, and null for any; two readers
// of one document could then see two tables.
type jsonRule struct{ required, optional []string }

// jsonRules has the rule of each kind of object, by the field that holds it; ""
// is the document. A test holds it against docs/table.schema.json.
var jsonRules = map[string]jsonRule{
	"":       {[]string{"version", "arch", "file", "base", "sites"}, []string{"buildid", "layout", "gaps"}},
	"layout": {[]string{"bits", "align", "insn", "data"}, nil},
	"gaps":   {[]string{"addr", "size"}, nil},
	"sites": {[]string{"arch", "pc", "bytes", "len", "class"}, []string{"offset", "func", "at", "altlen", "text", "target",
		"hazards", "reads", "writes", "kills", "reason", "patch", "forms"}},
	"forms": {[]string{"form", "verdict"}, []string{"slots", "reason", "strategy", "sitelen", "code", "relocs", "reach",
		"slotalign", "copylen", "pre", "post", "abort", "emulate", "points", "clobbers", "lost", "stop", "tail", "returns",
		"stack", "escapes", "needs", "private", "x87", "alias"}},
	"relocs": {[]string{"off", "lsb", "bits", "shift", "size", "base", "addend", "pcrel", "check", "order"},
		[]string{"index", "page"}},
	"reach":   {nil, []string{"min", "max", "align", "residue"}},
	"points":  {[]string{"off", "state", "insn"}, []string{"back", "forward", "lost"}},
	"escapes": {[]string{"off", "kind"}, nil},
}

// decodeStrict reads data, an object that the field kind holds, into dst.
func decodeStrict(data []byte, kind string, dst any) error {
	if !utf8.Valid(data) {
		return errors.New("not UTF-8")
	}
	if err := json.Unmarshal(data, dst); err != nil {
		var e *json.UnmarshalTypeError
		if errors.As(err, &e) {
			e.Value = cut(e.Value)
		}
		return err
	}
	s := strict{b: data}
	return s.value(kind)
}

// strict walks through a document that encoding/json has accepted: its syntax
// is right, and so are the types of the fields of jsonRules.
type strict struct {
	b []byte
	i int
}

func (s *strict) fail(format string, args ...any) error {
	return fmt.Errorf("offset %d: %s", s.i, fmt.Sprintf(format, args...))
}

// space moves to the next byte of a token and returns it.
func (s *strict) space() byte {
	for s.b[s.i] <= ' ' {
		s.i++
	}
	return s.b[s.i]
}

// value walks through the value of a field, or an element of its list.
func (s *strict) value(field string) error {
	rule, isObject := jsonRules[field]
	switch c := s.space(); {
	case c == 'n':
		return s.fail("null")
	case c == '{' && isObject:
		return s.object(&rule)
	case c == '[':
		return s.list(field)
	}
	s.skip()
	return nil
}

func (s *strict) list(field string) error {
	for s.i++; s.space() != ']'; {
		if err := s.value(field); err != nil {
			return err
		}
		if s.space() == ',' {
			s.i++
		}
	}
	s.i++
	return nil
}

func (s *strict) object(rule *jsonRule) error {
	var required, optional uint32 // which were seen
	var unknown map[string]bool
	for s.i++; s.space() != '}'; {
		key := s.key()
		n, seen := slices.Index(rule.required, key), &required
		if n < 0 {
			n, seen = slices.Index(rule.optional, key), &optional
		}
		known := n >= 0
		switch {
		case known && *seen>>n&1 != 0, !known && unknown[key]:
			return s.fail("a second field %q", cut(key))
		case known:
			*seen |= 1 << n
		case rule.folds(key):
			return s.fail("field %q is in another case", cut(key))
		default:
			if unknown == nil {
				unknown = map[string]bool{}
			}
			unknown[key] = true
		}
		s.space()
		s.i++ // the colon
		if known {
			if err := s.value(key); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		} else {
			s.skip()
		}
		if s.space() == ',' {
			s.i++
		}
	}
	for n, name := range rule.required {
		if required>>n&1 == 0 {
			return s.fail("an object without %q", name)
		}
	}
	s.i++
	return nil
}

// folds reports whether encoding/json takes key for another field.
func (r *jsonRule) folds(key string) bool {
	same := func(name string) bool { return strings.EqualFold(name, key) }
	return slices.ContainsFunc(r.required, same) || slices.ContainsFunc(r.optional, same)
}

// key returns the string that comes next.
func (s *strict) key() string {
	start := s.i
	s.skipString()
	raw := s.b[start:s.i]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var key string
	_ = json.Unmarshal(raw, &key) // a string of a document that was accepted
	return key
}

func (s *strict) skipString() {
	for s.i++; s.b[s.i] != '"'; s.i++ {
		if s.b[s.i] == '\\' {
			s.i++
		}
	}
	s.i++
}

// skip moves behind a value without a look at it.
func (s *strict) skip() {
	depth := 0
	for {
		switch s.space() {
		case '"':
			s.skipString()
		case '{', '[':
			depth++
			s.i++
		case '}', ']':
			depth--
			s.i++
		case ',', ':':
			s.i++
			continue
		default:
			for s.i < len(s.b) && strings.IndexByte(" \t\r\n,:]}", s.b[s.i]) < 0 {
				s.i++
			}
		}
		if depth == 0 {
			return
		}
	}
}
