package bitrows

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/xol-go/xol/fixups"
)

// parseAll reads all rows that the file system has.
func (p *Port) parseAll(dir fs.FS, families []string) ([]*Row, error) {
	var rows []*Row
	for _, name := range p.Files {
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			continue // tests have some of them
		}
		list, err := p.parseFile(name, string(text), families)
		if err != nil {
			return nil, err
		}
		rows = append(rows, list...)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no rows")
	}
	id := 0
	for _, r := range rows {
		if !r.none() {
			id++
			r.ID = id
		}
	}
	return rows, nil
}

// parseFile reads lines PATTERN : NAME [; ATTRIBUTES].
func (p *Port) parseFile(name, text string, families []string) (rows []*Row, err error) {
	manual := ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if s, ok := strings.CutPrefix(line, "@source "); ok {
			manual = s
			continue
		}
		r := &Row{File: name, line: n, manual: manual}
		pattern, rest, ok := strings.Cut(line, " : ")
		if !ok {
			return nil, r.Errorf("no colon between blanks")
		}
		if manual == "" {
			return nil, r.Errorf("no @source")
		}
		r.pattern = pattern
		r.name, r.attrs, _ = strings.Cut(rest, " ; ")
		if err := p.parsePattern(r); err != nil {
			return nil, err
		}
		if err := p.parseAttrs(r, families); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// parseAttrs reads what stands behind the semicolon.
func (p *Port) parseAttrs(r *Row, families []string) error {
	r.Class = fixups.ClassPlain
	for _, a := range strings.Fields(r.attrs) {
		key, val, _ := strings.Cut(a, "=")
		var err error
		switch {
		case key == "class":
			err = r.Class.UnmarshalText([]byte(val))
		case key == "fam":
			r.family = val
		case key == "haz":
			err = r.parseHazards(val)
		case key == "sys":
			r.system = val
		case key == "target":
			r.Target = val
		case a == "stops":
			r.stops = true
		case a == "mem":
			r.mem = true
		default:
			err = p.Attr(r, a)
		}
		if err != nil {
			return r.Errorf("%v", err)
		}
	}
	if err := p.check(r, families); err != nil {
		return err
	}
	return p.Check(r)
}

func (r *Row) parseHazards(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		var h fixups.Hazard
		if err := h.UnmarshalText([]byte(name)); err != nil {
			return err
		}
		r.hazards |= h.Bit()
	}
	return nil
}

// check demands what must go together, and derives flags and family.
func (p *Port) check(r *Row, families []string) error {
	if r.none() {
		if r.attrs != "" {
			return r.Errorf("attributes of no instruction")
		}
		return nil
	}
	needsRule := r.Priv
	switch r.Class {
	case fixups.ClassPrivileged, fixups.ClassTrap, fixups.ClassKernelEntry:
		needsRule = true
	case fixups.ClassPlain:
		if r.family == "" && !r.Prefixed {
			r.family = "famPlain"
		}
	}
	target := p.target(r)
	switch {
	case needsRule != (r.system != "") && r.Priv:
		return r.Errorf("attribute priv and system rule %q do not go together", r.system)
	case needsRule != (r.system != ""):
		return r.Errorf("class %v and system rule %q do not go together", r.Class, r.system)
	case !slices.Contains(p.Rules, r.system):
		return r.Errorf("unknown system rule %q", r.system)
	case !slices.Contains(families, r.family):
		return r.Errorf("unknown family %q", r.family)
	case target < 0:
		return r.Errorf("unknown target %q", r.Target)
	}
	for _, name := range p.Targets[target].Fields {
		if _, ok := r.Fields[name]; !ok {
			return r.Errorf("target without field %s", name)
		}
	}
	r.deriveFlags(p.Targets[target].Operand)
	return nil
}

// target returns the place of the row's target among those of the port, -1 if it
// has none of this name.
func (p *Port) target(r *Row) int {
	return slices.IndexFunc(p.Targets, func(t Target) bool { return t.Name == r.Target })
}

// deriveFlags: what stops at nothing goes on behind itself.
func (r *Row) deriveFlags(operand bool) {
	if r.Target != "" {
		r.flags = append(r.flags, "reloc.HasTarget")
	}
	if r.Class == fixups.ClassPCRelative || operand {
		r.flags = append(r.flags, "reloc.PCOperand")
	}
	if !r.stops {
		r.flags = append(r.flags, "reloc.Continues")
	}
	if r.mem {
		r.flags = append(r.flags, "reloc.Accesses")
	}
}
