package relocgen

import (
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

func firstErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// parseAddr reads an address: hexadecimal with 0x, or decimal, below 1<<bits. A
// leading zero is refused: nm and objdump print hexadecimal without 0x.
func parseAddr(what, s string, bits int) (uint64, error) {
	digits, base := s, 10
	if h, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		digits, base = h, 16
	} else if len(s) > 1 && s[0] == '0' {
		return 0, usagef("%s: %q: write hexadecimal with 0x", what, shorten(s))
	}
	v, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		return 0, usagef("%s: %q is not an address (0x and hexadecimal digits, or decimal)", what, shorten(s))
	}
	if bits < 64 && v>>bits != 0 {
		return 0, usagef("%s: %s does not fit in %d bits", what, s, bits)
	}
	return v, nil
}

// parseHex joins HEX arguments. Blanks, commas and colons separate runs of whole
// bytes; a run may begin with 0x, a byte with \x.
func parseHex(args []string) ([]byte, error) {
	var b []byte
	for _, run := range strings.FieldsFunc(strings.Join(args, " "), func(r rune) bool { return strings.ContainsRune(" \t\r\n,:", r) }) {
		digits := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(run, "0x"), "0X"), `\x`, "")
		if len(digits)%2 != 0 {
			return nil, usagef("odd number of hex digits in %q", shorten(run))
		}
		v, err := hex.DecodeString(digits)
		if err != nil || len(v) == 0 {
			return nil, usagef("%q is not hex bytes", shorten(run))
		}
		b = append(b, v...)
	}
	if len(b) == 0 {
		return nil, usagef("no bytes given")
	}
	return b, nil
}

// shorten keeps messages to a line.
func shorten(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}
