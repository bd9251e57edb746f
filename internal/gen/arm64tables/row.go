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

	mask, value uint32
	fields      map[string]field

	class   fixups.Class
	family  string
	hazards fixups.Hazards
	flags   []string // names of reloc.InsnFlags
	target  string   // one of targets
	system  string   // one of rules
	stops   bool
	mem     bool
	ops     []operand
	attrs   string // as written
}

// field is a run of bits, the lowest of which is bit pos.
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

// parsePattern reads bits 31 to 0 as the manual prints them: digits are fixed,
// NAME and NAME:N are fields.
func (r *row) parsePattern() error {
	r.fields = map[string]field{}
	left := 32
	for _, t := range strings.Fields(r.pattern) {
		n, digits := len(t), strings.Trim(t, "01") == ""
		if !digits {
			name, width, wide := strings.Cut(t, ":")
			n = 1
			if wide {
				var err error
				if n, err = strconv.Atoi(width); err != nil || n < 1 {
					return r.errorf("field %q", t)
				}
			}
			if _, twice := r.fields[name]; twice && name != "any" {
				return r.errorf("field %s twice", name)
			}
			r.fields[name] = field{left - n, n}
		}
		if left -= n; left < 0 {
			return r.errorf("more than 32 bits in %q", r.pattern)
		}
		if digits {
			v, _ := strconv.ParseUint(t, 2, 32)
			r.mask |= (1<<n - 1) << left
			r.value |= uint32(v) << left
		}
	}
	if left != 0 {
		return r.errorf("%d bits are missing in %q", left, r.pattern)
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
var rules = []string{"", "copy", "jump", "register", "user"}

// targets are the ways to compute a target, in the order of the constants in the
// port, with the field that the displacement is in.
var targets = []string{"", "imm26", "imm19", "imm14", "imm9", "adr", "adrp", "back16", "lit19"}

var targetFields = map[string]string{"adr": "immhi", "adrp": "immhi", "back16": "imm16", "lit19": "imm19"}

// check demands what must go together, and derives flags and family.
func (r *row) check(families []string) error {
	if r.none() {
		if r.attrs != "" {
			return r.errorf("attributes of no instruction")
		}
		return r.inGroup()
	}
	needsRule := false
	switch r.class {
	case fixups.ClassPrivileged, fixups.ClassTrap, fixups.ClassKernelEntry:
		needsRule = true
	case fixups.ClassPlain:
		if r.family == "" {
			r.family = "famPlain"
		}
	}
	switch {
	case needsRule != (r.system != ""):
		return r.errorf("class %v and system rule %q do not go together", r.class, r.system)
	case !slices.Contains(rules, r.system):
		return r.errorf("unknown system rule %q", r.system)
	case !slices.Contains(families, r.family):
		return r.errorf("unknown family %q", r.family)
	case !slices.Contains(targets, r.target):
		return r.errorf("unknown target %q", r.target)
	}
	if r.target != "" {
		name := r.target
		if n, ok := targetFields[name]; ok {
			name = n
		}
		if _, ok := r.fields[name]; !ok {
			return r.errorf("target without field %s", name)
		}
	}
	r.deriveFlags()
	return r.inGroup()
}

// groups are the main groups of the encoding index (C4.1) that a file is about, as
// mask and value.
var groups = map[string][][2]uint32{
	"branch.txt":  {{0x1c000000, 0x14000000}, {0xffff0000, 0}}, // branches, exceptions, system; UDF
	"system.txt":  {{0x1c000000, 0x14000000}},
	"integer.txt": {{0x1c000000, 0x10000000}, {0x0e000000, 0x0a000000}},                           // immediate, register
	"memory.txt":  {{0x0a000000, 0x08000000}},                                                     // loads and stores
	"vector.txt":  {{0x0e000000, 0x0e000000}, {0x1e000000, 0x04000000}, {0x9e000000, 0x80000000}}, // floating point and Advanced SIMD, SVE, SME
}

// inGroup demands that all words of the row belong to one of its file's groups: a
// group row that reaches beyond would say of others what the index does not.
func (r *row) inGroup() error {
	for _, g := range groups[r.file] {
		if r.mask&g[0] == g[0] && r.value&g[0] == g[1] {
			return nil
		}
	}
	return r.errorf("words outside of the groups of %s", r.file)
}

// deriveFlags: what stops at nothing goes on behind itself.
func (r *row) deriveFlags() {
	if r.target != "" {
		r.flags = append(r.flags, "reloc.HasTarget")
	}
	if r.class == fixups.ClassPCRelative || r.target == "back16" {
		r.flags = append(r.flags, "reloc.PCOperand")
	}
	if !r.stops {
		r.flags = append(r.flags, "reloc.Continues")
	}
	if r.mem {
		r.flags = append(r.flags, "reloc.Accesses")
	}
}
