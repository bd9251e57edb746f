package fixups

import (
	"fmt"
	"slices"
	"strconv"
)

// Every enumeration of this package is a uint8 with a table of frozen
// spellings. The helpers below give all of them the same String, text and JSON
// form, so that flags, JSON, map keys and error messages agree.

func enumString(kind string, v uint8, names []string) string {
	if int(v) < len(names) && names[v] != "" {
		return names[v]
	}
	return kind + "(" + strconv.Itoa(int(v)) + ")"
}

func enumAppend(dst []byte, kind string, v uint8, names []string) ([]byte, error) {
	if int(v) < len(names) && names[v] != "" {
		return append(dst, names[v]...), nil
	}
	return dst, fmt.Errorf("fixups: %s %d has no name", kind, v)
}

// setNames returns the names of the bits of a small set, parseSet the set.
func setNames(set uint8, names []string) []string {
	var s []string
	for i, name := range names {
		if set>>i&1 != 0 {
			s = append(s, name)
		}
	}
	return s
}

func parseSet(kind string, text, names []string) (uint8, error) {
	var set uint8
	for _, t := range text {
		i := slices.Index(names, t)
		if i < 0 {
			return 0, fmt.Errorf("fixups: unknown %s %q", kind, cut(t))
		}
		set |= 1 << i
	}
	return set, nil
}

func enumParse(kind string, text []byte, names []string) (uint8, error) {
	for i, n := range names {
		if n != "" && n == string(text) {
			return uint8(i), nil
		}
	}
	return 0, fmt.Errorf("fixups: unknown %s %q", kind, cut(string(text)))
}
