package fixups

import (
	"fmt"
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

func enumParse(kind string, text []byte, names []string) (uint8, error) {
	for i, n := range names {
		if n != "" && n == string(text) {
			return uint8(i), nil
		}
	}
	return 0, fmt.Errorf("fixups: unknown %s %q", kind, text)
}
