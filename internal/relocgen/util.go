package relocgen

import (
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

// parseAddr reads an address: 0x hex or decimal, below 1<<bits.
func parseAddr(what, s string, bits int) (uint64, error) {
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return 0, usagef("%s: %q is not an address", what, s)
	}
	if bits < 64 && v>>bits != 0 {
		return 0, usagef("%s: %s does not fit in %d bits", what, s, bits)
	}
	return v, nil
}

// parseHex joins HEX arguments: any spacing, optional 0x, commas or colons
// between bytes.
func parseHex(args []string) ([]byte, error) {
	s := strings.NewReplacer(" ", "", "\t", "", "\n", "", ",", "", ":", "", "0x", "", `\x`, "").Replace(strings.Join(args, " "))
	if s == "" {
		return nil, usagef("no bytes given")
	}
	b := make([]byte, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		v, err := strconv.ParseUint(s[i:i+2], 16, 8)
		if err != nil {
			return nil, usagef("%q is not a hex byte", s[i:i+2])
		}
		b = append(b, byte(v))
	}
	if len(s)%2 != 0 {
		return nil, usagef("odd number of hex digits (%d)", len(s))
	}
	return b, nil
}
