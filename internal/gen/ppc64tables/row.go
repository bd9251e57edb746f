package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xol-go/xol/fixups"
)

// row is one line of a table.
type row struct {
	id      int // from 1 in the order of the files; 0 for a row that only takes encodings away
	file    string
	line    int
	manual  string
	pattern string
	name    string

	mask, value uint64 // of both words, the prefix in the high half
	prefixed    bool
	fields      map[string]field

	class   fixups.Class
	family  string
	hazards fixups.Hazards
	flags   []string // names of reloc.InsnFlags
	target  string   // "", LI, BD, d, d34
	system  string
	priv    bool
	stops   bool
	mem     bool
	ops     []operand
	attrs   string // as written
}

// field is a run of bits: pos is the number of the last, counted from the least
// significant bit of the word.
type field struct{ pos, width int }

// operand is a register that the row names.
type operand struct {
	text string
	code uint32
}

// none reports whether the row is one that takes encodings away from those below.
func (r *row) none() bool { return r.name == "-" }

func (r *row) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", r.file, r.line, fmt.Sprintf(format, args...))
}

// parsePattern reads bits 0 to 31 as the manual prints them: digits are fixed,
// NAME and NAME:N are fields, / and /:N reserved bits, which processors ignore.
func (r *row) parsePattern() error {
	r.fields = map[string]field{}
	words := strings.Split(r.pattern, "|")
	if len(words) > 2 {
		return r.errorf("%d words", len(words))
	}
	r.prefixed = len(words) == 2
	for _, word := range words {
		left := 32
		for _, t := range strings.Fields(word) {
			n, digits := len(t), true
			if strings.Trim(t, "01") != "" {
				digits = false
				name, width, wide := strings.Cut(t, ":")
				n = 1
				if wide {
					var err error
					if n, err = strconv.Atoi(width); err != nil || n < 1 {
						return r.errorf("field %q", t)
					}
				}
				if name != "/" && name != "any" {
					if _, twice := r.fields[name]; twice && name != "z" {
						return r.errorf("field %s twice", name)
					}
					r.fields[name] = field{left - n, n}
				}
			}
			if left -= n; left < 0 {
				return r.errorf("more than 32 bits in %q", strings.TrimSpace(word))
			}
			if digits {
				v, _ := strconv.ParseUint(t, 2, 32)
				r.mask |= (1<<n - 1) << left
				r.value |= v << left
			}
		}
		if left != 0 {
			return r.errorf("%d bits are missing in %q", left, strings.TrimSpace(word))
		}
		if r.prefixed && word == words[0] {
			r.mask, r.value = r.mask<<32, r.value<<32
		}
	}
	if !r.prefixed && r.mask>>26 != 63 {
		return r.errorf("no primary opcode")
	}
	return nil
}

// parseAttrs reads what stands behind the semicolon.
func (r *row) parseAttrs(families []string) error {
	r.class = fixups.ClassPlain
	for _, a := range strings.Fields(r.attrs) {
		key, val, _ := strings.Cut(a, "=")
		var err error
		switch {
		case key == "class":
			err = r.class.UnmarshalText([]byte(val))
		case key == "fam":
			r.family = val
		case key == "haz":
			err = r.parseHazards(val)
		case key == "sys":
			r.system = val
		case key == "target":
			r.target = val
		case a == "stops":
			r.stops = true
		case a == "mem":
			r.mem = true
		case a == "priv":
			r.priv = true
		default:
			err = r.parseOperand(a)
		}
		if err != nil {
			return r.errorf("%v", err)
		}
	}
	return r.check(families)
}

func (r *row) parseHazards(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		var h fixups.Hazard
		if err := h.UnmarshalText([]byte(name)); err != nil {
			return err
		}
		r.hazards |= h.Bit()
	}
	return nil
}

// rules are the values of sys, in the order of the constants in the port.
var rules = []string{"", "copy", "jump", "user", "never", "trap", "entry"}

// targets are the ways to compute a target, in the order of the constants.
var targets = []string{"", "LI", "BD", "d", "d34"}

// targetFields are fields that a target is computed from. Those with an absolute
// form can be fixed in the pattern.
var targetFields = map[string][]string{"d": {"d0", "d1", "d2"}, "d34": {"d0", "d1"}}

// check demands what must go together, and derives flags and family.
func (r *row) check(families []string) error {
	if r.none() {
		if r.attrs != "" {
			return r.errorf("attributes of no instruction")
		}
		return nil
	}
	needsRule := r.priv
	switch r.class {
	case fixups.ClassPrivileged, fixups.ClassTrap, fixups.ClassKernelEntry:
		needsRule = true
	case fixups.ClassPlain:
		if r.family == "" && !r.prefixed {
			r.family = "famPlain"
		}
	}
	switch {
	case needsRule != (r.system != ""):
		return r.errorf("class %v, attribute priv and system rule %q do not go together", r.class, r.system)
	case !slices.Contains(rules, r.system):
		return r.errorf("unknown system rule %q", r.system)
	case !slices.Contains(families, r.family):
		return r.errorf("unknown family %q", r.family)
	case !slices.Contains(targets, r.target):
		return r.errorf("unknown target %q", r.target)
	case r.class == fixups.ClassPCRelative && r.target == "":
		return r.errorf("pc-relative without a target")
	}
	for _, name := range targetFields[r.target] {
		if _, ok := r.fields[name]; !ok {
			return r.errorf("target without field %s", name)
		}
	}
	r.deriveFlags()
	return nil
}

// deriveFlags: what stops at nothing goes on behind itself.
func (r *row) deriveFlags() {
	if r.target != "" {
		r.flags = append(r.flags, "reloc.HasTarget")
	}
	if r.class == fixups.ClassPCRelative {
		r.flags = append(r.flags, "reloc.PCOperand")
	}
	if !r.stops {
		r.flags = append(r.flags, "reloc.Continues")
	}
	if r.mem {
		r.flags = append(r.flags, "reloc.Accesses")
	}
}
