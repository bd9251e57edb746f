package corpus

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/xol-go/xol/fixups"
)

// Format writes f in the one canonical way: Format(Parse(x)) is x for every
// file of this package.
func Format(f *File) []byte {
	var b []byte
	for _, l := range f.Comment {
		b = append(append(append(b, '#'), l...), '\n')
	}
	for i := range f.Cases {
		if len(b) > 0 {
			b = append(b, '\n')
		}
		b = f.Cases[i].append(b)
	}
	return b
}

// String returns the case in its canonical text.
func (c *Case) String() string { return string(c.append(nil)) }

func (c *Case) append(b []byte) []byte {
	for _, l := range c.Comment {
		b = append(append(append(b, '#'), l...), '\n')
	}
	b = fmt.Appendf(b, "case %s\n", c.Key())
	b = appendField(b, "source", c.Source)
	b = appendField(b, "code", c.code())
	for _, s := range c.Slots {
		b = appendField(b, "slot", addr(s))
	}
	for _, m := range c.Mem {
		b = appendField(b, "mem", addr(m.Addr)+" "+hex.EncodeToString(m.Data))
	}
	for _, f := range c.Given {
		b = appendField(b, "given", f.String())
	}
	if len(c.Env) > 0 {
		b = appendField(b, "env", words(c.Env))
	}
	for i := range c.Insns {
		b = appendField(b, "insn", c.Insns[i].String())
	}
	for i := range c.Wants {
		b = appendField(b, "want", c.Wants[i].String())
	}
	for i := range c.Regions {
		b = appendField(b, "region", c.Regions[i].String())
	}
	for _, f := range c.After {
		b = appendField(b, "after", f.String())
	}
	for _, n := range c.Notes {
		b = appendField(b, "note", n)
	}
	return b
}

func appendField(b []byte, word, text string) []byte {
	return fmt.Appendf(b, "\t%-7s %s\n", word, text)
}

func (c *Case) code() string {
	s, n := addr(c.PC)+" ", 0
	for i, l := range c.Lens {
		if i > 0 {
			s += "|"
		}
		s += hex.EncodeToString(c.Bytes[n : n+l])
		n += l
	}
	if n < len(c.Bytes) {
		s += "||" + hex.EncodeToString(c.Bytes[n:])
	}
	return s
}

// String returns the fact as it stands behind given and after.
func (f Fact) String() string {
	s := f.Name + "=" + f.Value
	if f.When != "" {
		s += " when " + f.When
	}
	return s
}

// String returns the expectation as it stands behind insn.
func (in *Insn) String() string {
	s := "+" + strconv.Itoa(in.Off)
	if in.Reason != fixups.ReasonNone {
		return s + " refused " + in.Reason.String()
	}
	s += " " + in.Class.String()
	if in.Alt != 0 {
		s += " alt=" + strconv.Itoa(in.Alt)
	}
	for _, a := range []struct {
		key string
		val *uint64
	}{{"target", in.Target}, {"address", in.Address}, {"pushes", in.Pushes}} {
		if a.val != nil {
			s += " " + a.key + "=" + addr(*a.val)
		}
	}
	if in.When != "" {
		s += " when=" + in.When
	}
	sep := " hazards="
	for h := range in.Hazards.All() {
		s += sep + h.String()
		sep = ","
	}
	return s
}

// String returns the expectation as it stands behind want.
func (w *Want) String() string {
	s := fmt.Sprintf("+%d %v %s", w.Off, w.Form, verdict(w.Plan, w.Any, w.Reason))
	if len(w.With) > 0 {
		s += " with " + words(w.With)
	}
	return s
}

// String returns the expectation as it stands behind region.
func (r *Region) String() string {
	s := fmt.Sprintf("+%d %d %s", r.Off, r.N, verdict(r.Plan, r.Any, r.Reason))
	if r.Jump != nil {
		s += " from=" + addr(r.Jump.From) + " to=" + addr(r.Jump.To)
	}
	return s
}

func verdict(plan, anyReason bool, r fixups.Reason) string {
	switch {
	case plan:
		return "plan"
	case anyReason:
		return "refused any"
	}
	return "refused " + r.String()
}

func addr(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }

func words(w []string) string {
	s := ""
	for i, x := range w {
		if i > 0 {
			s += " "
		}
		s += x
	}
	return s
}
