package fixups

import (
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends t as one JSON document (docs/format.md, section JSON),
// with registers named by regs, and a line feed. The same table gives the same
// bytes.
func (t *Table) AppendJSON(dst []byte, regs RegNames) []byte {
	dst = t.AppendJSONHead(dst)
	for i := range t.Entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '\n')
		dst = t.Entries[i].AppendJSON(dst, t.Arch, regs)
	}
	return t.AppendJSONTail(dst)
}

// AppendJSONHead appends the part of the document before its first site. A
// writer that does not hold all sites at once calls it, then [Entry.AppendJSON]
// for each site with a comma between them, then AppendJSONTail.
func (t *Table) AppendJSONHead(dst []byte) []byte {
	dst = append(dst, `{"version":1,"arch":`...)
	dst = appendString(dst, t.Arch)
	dst = append(dst, `,"file":`...)
	dst = appendString(dst, t.File)
	if t.BuildID != "" {
		dst = append(dst, `,"buildid":`...)
		dst = appendString(dst, t.BuildID)
	}
	dst = append(dst, `,"base":`...)
	dst = appendQuotedAddr(dst, t.Base)
	if t.Layout.Bits != 0 {
		dst = t.Layout.appendJSON(append(dst, `,"layout":`...))
	}
	return append(dst, `,"sites":[`...)
}

func (l Layout) appendJSON(dst []byte) []byte {
	dst = strconv.AppendUint(append(dst, `{"bits":`...), uint64(l.Bits), 10)
	dst = strconv.AppendUint(append(dst, `,"align":`...), uint64(max(l.Align, 1)), 10)
	dst = append(append(dst, `,"insn":"`...), l.Insn.String()...)
	dst = append(append(dst, `","data":"`...), l.Data.String()...)
	return append(dst, `"}`...)
}

// AppendJSONTail appends the part of the document behind its last site: the
// gaps.
func (t *Table) AppendJSONTail(dst []byte) []byte {
	dst = append(dst, ']')
	for i, g := range t.Gaps {
		if i == 0 {
			dst = append(dst, `,"gaps":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"addr":`...)
		dst = appendQuotedAddr(dst, g.Addr)
		dst = append(dst, `,"size":`...)
		dst = strconv.AppendUint(dst, g.Size, 10)
		dst = append(dst, '}')
	}
	if len(t.Gaps) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, "}\n"...)
}

// AppendJSONL appends the sites of t, one JSON object a line.
func (t *Table) AppendJSONL(dst []byte, regs RegNames) []byte {
	for i := range t.Entries {
		dst = t.Entries[i].AppendJSON(dst, t.Arch, regs)
		dst = append(dst, '\n')
	}
	return dst
}

// AppendJSON appends e as one JSON object: a site of arch, a GOARCH spelling,
// with registers named by regs. It does not allocate once dst is large enough.
// Fields that do not apply are left out.
func (e *Entry) AppendJSON(dst []byte, arch string, regs RegNames) []byte {
	o := object{dst: append(dst, '{'), regs: regs}
	o.str("arch", arch)
	o.addr("pc", e.PC)
	if e.InFile {
		o.addr("offset", e.Offset)
	}
	if e.Func != "" {
		o.str("func", e.Func)
		o.uint("at", e.At)
	}
	o.hex("bytes", e.Bytes)
	o.uint("len", uint64(e.Len))
	if e.AltLen != 0 {
		o.uint("altlen", uint64(e.AltLen))
	}
	if e.Text != "" {
		o.str("text", e.Text)
	}
	o.str("class", e.Class.String())
	if e.HasTarget {
		o.addr("target", e.Target)
	}
	o.hazards(e.Hazards)
	o.regset("reads", &e.Reads)
	o.regset("writes", &e.Writes)
	o.regset("kills", &e.Kills)
	if e.Reason != ReasonNone {
		o.str("reason", e.Reason.String())
	} else {
		o.bits("patch", uint8(e.Patch), patchNames[:])
	}
	o.verdicts(e)
	return append(o.dst, '}')
}

// object appends the fields of one JSON object after another.
type object struct {
	dst  []byte
	regs RegNames
}

func (o *object) key(name string) {
	if c := o.dst[len(o.dst)-1]; c != '{' {
		o.dst = append(o.dst, ',')
	}
	o.dst = append(o.dst, '"')
	o.dst = append(o.dst, name...)
	o.dst = append(o.dst, '"', ':')
}

// item starts the next element of a list.
func (o *object) item(open byte) {
	if c := o.dst[len(o.dst)-1]; c != '[' {
		o.dst = append(o.dst, ',')
	}
	if open != 0 {
		o.dst = append(o.dst, open)
	}
}

func (o *object) list(name string) {
	o.key(name)
	o.dst = append(o.dst, '[')
}

func (o *object) end(c byte) { o.dst = append(o.dst, c) }

func (o *object) str(name, v string) {
	o.key(name)
	o.dst = appendString(o.dst, v)
}

func (o *object) addr(name string, v uint64) {
	o.key(name)
	o.dst = appendQuotedAddr(o.dst, v)
}

func (o *object) uint(name string, v uint64) {
	o.key(name)
	o.dst = strconv.AppendUint(o.dst, v, 10)
}

func (o *object) int(name string, v int64) {
	o.key(name)
	o.dst = strconv.AppendInt(o.dst, v, 10)
}

func (o *object) flag(name string, v bool) {
	if v {
		o.bool(name, v)
	}
}

func (o *object) bool(name string, v bool) {
	o.key(name)
	o.dst = strconv.AppendBool(o.dst, v)
}

func (o *object) hex(name string, b []byte) {
	const digits = "0123456789abcdef"
	o.key(name)
	o.dst = append(o.dst, '"')
	for _, c := range b {
		o.dst = append(o.dst, digits[c>>4], digits[c&15])
	}
	o.dst = append(o.dst, '"')
}

// bits appends a small set as a list of names, also if it is empty.
func (o *object) bits(name string, set uint8, names []string) {
	o.list(name)
	for i, n := range names {
		if set>>i&1 != 0 {
			o.item(0)
			o.dst = appendString(o.dst, n)
		}
	}
	o.end(']')
}

func (o *object) hazards(set Hazards) {
	if set == 0 {
		return
	}
	o.list("hazards")
	for h := range set.All() {
		o.item(0)
		o.dst = appendString(o.dst, h.String())
	}
	o.end(']')
}

func (o *object) regset(name string, set *RegSet) {
	if set.IsEmpty() {
		return
	}
	o.list(name)
	for r := range set.All() {
		o.item('"')
		if i := o.regs.index(r); i >= 0 {
			o.dst = appendEscaped(o.dst, o.regs[i].Name)
		} else {
			o.dst = o.regs.AppendName(o.dst, r)
		}
		o.end('"')
	}
	o.end(']')
}

func (o *object) program(name string, p Program, always bool) {
	if len(p) == 0 && !always {
		return
	}
	o.list(name)
	for i := range p {
		o.item('"')
		o.dst = p[i].Append(o.dst, o.regs) // words of the grammar need no escape
		o.end('"')
	}
	o.end(']')
}

func appendQuotedAddr(dst []byte, v uint64) []byte {
	return append(appendAddr(append(dst, '"'), v), '"')
}

func appendString(dst []byte, s string) []byte {
	return append(appendEscaped(append(dst, '"'), s), '"')
}

// appendEscaped appends s as the inside of a JSON string. Bytes that are not
// UTF-8 become U+FFFD, as JSON has no other way.
func appendEscaped(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			if r, n := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, `\ufffd`...)
		}
		i++
		start = i
	}
	return append(dst, s[start:]...)
}
