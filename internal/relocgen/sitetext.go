package relocgen

import (
	"fmt"
	"strings"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// textEncoder writes for people: a block a site in explain, a line a site in
// table. The wording may change; scripts read --json or --jsonl.
type textEncoder struct {
	arch   reloc.Arch
	blocks bool
	paint  painter
}

func (t *textEncoder) parallel() bool { return true }

func (t *textEncoder) first(sites []byte) []byte { return sites }

func (t *textEncoder) begin(dst []byte) []byte { return dst }

func (t *textEncoder) end(dst []byte, gaps []fixups.Range) []byte {
	for _, g := range gaps {
		dst = fmt.Appendf(dst, "%#x..%#x  gap of %d bytes\n", g.Addr, g.Addr+g.Size, g.Size)
	}
	return dst
}

func (t *textEncoder) site(dst []byte, e *fixups.Entry) []byte {
	if t.blocks {
		return t.block(dst, e)
	}
	return t.line(dst, e)
}

// line: address, place in its function, bytes, text, class, forms.
func (t *textEncoder) line(dst []byte, e *fixups.Entry) []byte {
	place := fmt.Sprintf("+%#x", e.At)
	if e.Func != "" {
		place = oneLine(e.Func) + place
	}
	text := e.Text
	if text == "" {
		text = "-"
	}
	return fmt.Appendf(dst, "%#x  %-24s  %-30x  %-40s  %-15v  %s\n", e.PC, place, e.Bytes, text, e.Class, t.summary(e))
}

// summary lists the forms that have a plan: "emulate jump:near,far step:near".
func (t *textEncoder) summary(e *fixups.Entry) string {
	var words []string
	for _, f := range reloc.Order {
		word := ""
		for i := range e.Forms {
			v := &e.Forms[i]
			if v.Form != f || v.Reason != fixups.ReasonNone {
				continue
			}
			switch {
			case word == "" && f != fixups.FormEmulate && !t.arch.Info().NearOnly:
				word = f.String() + ":" + slotsWord(v)
			case word == "":
				word = f.String()
			default:
				word += "," + slotsWord(v)
			}
		}
		if word != "" {
			words = append(words, word)
		}
	}
	if words == nil {
		return t.paint.red("refused: " + refusal(e))
	}
	return strings.Join(words, " ")
}

func slotsWord(v *fixups.Verdict) string {
	if v.Far {
		return "far"
	}
	return "near"
}

func refusal(e *fixups.Entry) string {
	if e.Reason != fixups.ReasonNone {
		return e.Reason.String()
	}
	for i := range e.Forms {
		if r := e.Forms[i].Reason; r != fixups.ReasonNotEmulated {
			return r.String()
		}
	}
	return fixups.ReasonNotEmulated.String()
}

func (t *textEncoder) block(dst []byte, e *fixups.Entry) []byte {
	dst = fmt.Appendf(dst, "%#x  %s  %s\n", e.PC, t.paint.bold(spaced(e.Bytes)), e.Text)
	if ruler := t.ruler(e); ruler != "" {
		dst = fmt.Appendf(dst, "%*s  %s\n", len(fmt.Sprintf("%#x", e.PC)), "", ruler)
	}
	if e.Reason != fixups.ReasonNone {
		dst = fmt.Appendf(dst, "  refused   %s\n", t.paint.red(e.Reason.String()))
	}
	if e.Class != fixups.ClassInvalid {
		dst = t.facts(dst, e)
	}
	for i := range e.Forms {
		if e.Reason == fixups.ReasonNone {
			dst = t.verdict(dst, &e.Forms[i])
		}
	}
	return append(dst, '\n')
}

func (t *textEncoder) facts(dst []byte, e *fixups.Entry) []byte {
	dst = fmt.Appendf(dst, "  class     %v\n", e.Class)
	if e.HasTarget {
		dst = fmt.Appendf(dst, "  target    %#x\n", e.Target)
	}
	if e.AltLen != 0 {
		dst = fmt.Appendf(dst, "  length    %d, or %d on another vendor's processors\n", e.Len, e.AltLen)
	}
	if e.Hazards != 0 {
		dst = fmt.Appendf(dst, "  hazards   %s\n", hazardWords(e.Hazards))
	}
	for _, set := range []struct {
		name string
		regs fixups.RegSet
	}{{"reads", e.Reads}, {"writes", e.Writes}, {"kills", e.Kills}} {
		if !set.regs.IsEmpty() {
			dst = fmt.Appendf(dst, "  %-8s  %s\n", set.name, t.regWords(set.regs))
		}
	}
	return fmt.Appendf(dst, "  patch by  %s\n", strings.Join(e.Patch.Names(), ", "))
}

func (t *textEncoder) regWords(s fixups.RegSet) string {
	var words []string
	for r := range s.All() {
		words = append(words, t.arch.Info().Regs.Name(r))
	}
	return strings.Join(words, " ")
}

func (t *textEncoder) verdict(dst []byte, v *fixups.Verdict) []byte {
	head := v.Form.String()
	if v.Form != fixups.FormEmulate && !t.arch.Info().NearOnly {
		head += " " + slotsWord(v)
	}
	if v.Reason != fixups.ReasonNone {
		return fmt.Appendf(dst, "  %-12s  refused: %s\n", head, t.paint.red(v.Reason.String()))
	}
	p := &v.Plan
	dst = fmt.Appendf(dst, "  %-12s  %s%s\n", head, t.paint.green(p.Strategy.String()), t.notes(p))
	if len(p.Code) > 0 {
		dst = fmt.Appendf(dst, "      code      %s\n", spaced(p.Code))
	}
	for i := range p.Relocs {
		dst = fmt.Appendf(dst, "      reloc     %s\n", relocText(&p.Relocs[i], t.arch))
	}
	for _, prog := range []struct {
		name string
		p    fixups.Program
	}{{"emulate", p.Emulate}, {"pre", p.Pre}, {"post", p.Post}, {"abort", p.Abort}} {
		dst = t.program(dst, prog.name, prog.p)
	}
	for i := range p.Points {
		dst = t.point(dst, &p.Points[i])
	}
	return dst
}

// notes are what a plan declares besides its code.
func (t *textEncoder) notes(p *fixups.Plan) string {
	var s strings.Builder
	if len(p.Code) > 0 {
		fmt.Fprintf(&s, ", slot - site in %s", reachText(&p.Reach))
		if int(p.SlotAlign) > t.arch.Info().Align {
			fmt.Fprintf(&s, ", slot at 0 mod %d", p.SlotAlign)
		}
		fmt.Fprintf(&s, ", tail %v", p.Tail)
	}
	if p.IsCall {
		fmt.Fprintf(&s, ", returns %v", p.Returns)
	}
	if p.Stack > 0 {
		fmt.Fprintf(&s, ", stack %d", p.Stack)
	}
	if !p.Clobbers.IsEmpty() {
		fmt.Fprintf(&s, ", clobbers %s", t.regWords(p.Clobbers))
	}
	for _, mark := range []struct {
		on   bool
		name string
	}{{p.Private, "private"}, {p.X87, "x87"}, {p.Alias, "alias"}} {
		if mark.on {
			s.WriteString(", " + mark.name)
		}
	}
	return s.String()
}

func reachText(r *fixups.Reach) string {
	s := fmt.Sprintf("[%s, %s]", signedHex(r.Min), signedHex(r.Max))
	if r.Min == -1<<63 && r.Max == 1<<63-1 {
		s = "any distance"
	}
	if r.Align > 1 {
		s += fmt.Sprintf(" at %d mod %d", r.Residue, r.Align)
	}
	return s
}

func signedHex(v int64) string {
	if v < 0 {
		return fmt.Sprintf("-%#x", -uint64(v))
	}
	return fmt.Sprintf("%#x", v)
}

func relocText(r *fixups.Reloc, a reloc.Arch) string {
	base := r.Base.String()
	switch r.Base {
	case fixups.BaseInsn:
		base += fmt.Sprint(r.Index)
	case fixups.BaseReg:
		base = a.Info().Regs.Name(fixups.Reg(r.Index))
	}
	if r.Addend != 0 {
		base += strings.Replace("+"+signedHex(r.Addend), "+-", "-", 1)
	}
	if r.PCRel {
		base += " - P"
	}
	s := fmt.Sprintf("+%d: %d bytes := %s", r.Off, r.Size, base)
	if int(r.Bits) != 8*int(r.Size) || r.Lsb != 0 || r.Shift != 0 {
		s = fmt.Sprintf("+%d: bits %d..%d of %d bytes := (%s) >> %d", r.Off, r.Lsb, int(r.Lsb)+int(r.Bits)-1, r.Size, base, r.Shift)
	}
	return s + ", " + r.Check.String()
}

func (t *textEncoder) program(dst []byte, name string, p fixups.Program) []byte {
	for i := range p {
		dst = fmt.Appendf(dst, "      %-8s  ", name)
		dst = p[i].Append(dst, t.arch.Info().Regs)
		dst = append(dst, '\n')
		name = ""
	}
	return dst
}

func (t *textEncoder) point(dst []byte, pt *fixups.Point) []byte {
	dst = fmt.Appendf(dst, "      point     +%d %v", pt.Off, pt.State)
	if pt.HasBack {
		dst = append(dst, ", back: "...)
		dst = t.joined(dst, pt.Back)
	}
	if pt.HasForward {
		dst = append(dst, ", forward: "...)
		dst = t.joined(dst, pt.Forward)
	}
	return append(dst, '\n')
}

func (t *textEncoder) joined(dst []byte, p fixups.Program) []byte {
	for i := range p {
		if i > 0 {
			dst = append(dst, "; "...)
		}
		dst = p[i].Append(dst, t.arch.Info().Regs)
	}
	return dst
}

func spaced(b []byte) string { return fmt.Sprintf("% x", b) }

// ruler names the fields of the instruction under its bytes.
func (t *textEncoder) ruler(e *fixups.Entry) string {
	f, ok := t.arch.(reloc.Fielder)
	if !ok || e.Class == fixups.ClassInvalid {
		return ""
	}
	var in reloc.Insn
	var env reloc.Env
	if e.AltLen > e.Len { // decoded for the vendor whose length is the shorter one
		env.Vendor = reloc.VendorAMD
	}
	if reloc.DecodeFor(&in, t.arch, e.Bytes, e.PC, &env) != nil {
		return ""
	}
	var s strings.Builder
	for i, fd := range f.AppendFields(nil, &in) {
		if i > 0 {
			s.WriteByte(' ')
		}
		width := 3*fd.Len - 1
		name := fd.Name
		if len(name) > width {
			name = shortFields[name]
		}
		s.WriteString(name + strings.Repeat("-", width-len(name)))
	}
	return s.String()
}

// shortFields are names of fields for the two columns of one byte.
var shortFields = map[string]string{
	"pfx": "px", "rex": "rx", "opcode": "op", "modrm": "mr", "sib": "sb",
	"disp8": "d8", "imm8": "i8", "rel8": "j8",
}

// painter colours words; colour never carries meaning by itself.
type painter bool

func (p painter) wrap(code, s string) string {
	if !p {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p painter) bold(s string) string  { return p.wrap("1", s) }
func (p painter) red(s string) string   { return p.wrap("31", s) }
func (p painter) green(s string) string { return p.wrap("32", s) }
