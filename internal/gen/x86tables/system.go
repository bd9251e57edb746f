package main

import (
	"bytes"
	"fmt"
	"slices"
)

// systemRules are the values of the attribute sys, in the order of the constants
// sys* of arch/x86/plan_system.go.
var systemRules = []string{"", "copy", "jump", "user", "never", "fault", "trap", "int", "syscall"}

// needsSystem reports whether a row must say what may be done with it: there is
// no rule for all of its class.
func (r *row) needsSystem() bool {
	switch r.class {
	case "privileged", "trap", "kernel-entry":
		return true
	}
	return r.attrs["priv"]
}

// emitSystem writes the rule of each row that has one.
func (m *model) emitSystem(b *bytes.Buffer) error {
	fmt.Fprintf(b, "var systemRules = [%d]uint8{\n", len(m.rows)+1)
	for _, r := range m.rows {
		n := slices.Index(systemRules, r.system)
		switch {
		case n < 0:
			return r.errorf("unknown system rule %q", r.system)
		case r.needsSystem() != (n != 0):
			return r.errorf("class %s, attribute priv and system rule %q do not go together", r.class, r.system)
		case n != 0:
			fmt.Fprintf(b, "%d: %d, // %s : %s\n", r.id, n, r.text, r.name)
		}
	}
	b.WriteString("}\n\n")
	return nil
}
