package emu

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/xol-go/xol/fixups"
)

// Difference is one thing that site and copy do not agree on.
type Difference struct {
	What       string // register, memory address, or kind of check
	Site, Copy uint64
	Text       string // for what has no two values
}

// Diff is what distinguishes the end of a copy's run from that of the site's.
type Diff struct {
	Arch    string
	PC      uint64
	Bytes   []byte
	Form    fixups.Form
	Slot    uint64
	Code    []byte
	Initial State
	Site    Stop
	Copy    Stop
	List    []Difference

	target *Target // that names the words
}

// maxDifferences is how many differences are listed.
const maxDifferences = 12

// String describes the difference in several lines.
func (d *Diff) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %#x: % x as %v at %#x: % x\n", d.Arch, d.PC, d.Bytes, d.Form, d.Slot, d.Code)
	fmt.Fprintf(&b, "\tsite %v %v num %d addr %#x; copy %v %v num %d addr %#x\n", d.Site.Kind, d.Site.Access, d.Site.Num, d.Site.Addr,
		d.Copy.Kind, d.Copy.Access, d.Copy.Num, d.Copy.Addr)
	for i := range d.List {
		x := &d.List[i]
		if x.Text != "" {
			fmt.Fprintf(&b, "\t%s: %s\n", x.What, x.Text)
			continue
		}
		fmt.Fprintf(&b, "\t%s: site %#x, copy %#x\n", x.What, x.Site, x.Copy)
	}
	t := d.target
	if t == nil {
		return b.String()
	}
	b.WriteString("\tfrom")
	for i, v := range d.Initial.Words {
		if w := &t.Words[i]; w.General || w.Vary != 0 {
			fmt.Fprintf(&b, " %s=%#x", w.Name, v)
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// describe fills in where the difference was seen.
func (d *Diff) describe(c *check) {
	w := c.w
	d.target, d.Arch, d.PC, d.Bytes = w.t, w.t.Arch, w.site.pc, bytes.Clone(w.site.code)
	d.Form, d.Slot = c.p.Form, c.at.Slot
	if c.code > 0 {
		d.Code = bytes.Clone(w.code[:c.code])
	}
	d.Initial.Words = append([]uint64(nil), c.init.Words...)
	d.Initial.Lines = append([]Line(nil), c.init.Lines...)
}

// mismatch records a difference that is not between two values.
func (c *check) mismatch(what, text string) error {
	c.add(Difference{What: what, Text: text})
	return nil
}

func (c *check) add(x Difference) {
	c.res.Verdict = Mismatch
	if c.res.Diff == nil {
		c.res.Diff = &Diff{Site: c.o.Stop, Copy: c.c.Stop}
	}
	if d := c.res.Diff; len(d.List) < maxDifferences {
		d.List = append(d.List, x)
	}
}

// compare holds the end of a copy against the end of the site, up to what the
// plan declares. lost are the registers whose old value is gone at the point
// where a fault took the copy back.
func (c *check) compare(o, k *final, lost *fixups.RegSet) {
	if o.Stop.faulted() || k.Stop.faulted() {
		if !o.Stop.same(&k.Stop) {
			c.add(Difference{What: "stop", Text: fmt.Sprintf("site %v %v %d %#x, copy %v %v %d %#x", o.Stop.Kind, o.Stop.Access, o.Stop.Num, o.Stop.Addr,
				k.Stop.Kind, k.Stop.Access, k.Stop.Num, k.Stop.Addr)})
		}
	} else {
		lost = &fixups.RegSet{}
	}
	c.compareWords(o, k, lost)
	c.compareLines(o, k)
}

func (c *check) compareWords(o, k *final, lost *fixups.RegSet) {
	t := c.w.t
	for i := range o.Words {
		w := &t.Words[i]
		if o.Words[i] == k.Words[i] || c.p.Clobbers.Has(w.Reg) || lost.Has(w.Reg) {
			continue
		}
		if w.Reg == t.Link && c.slotReturn(o) {
			continue // comeBack looks at it
		}
		if c.padsAside(w.Reg, o.Words[i], k.Words[i]) {
			continue
		}
		if c.p.X87 && slices.Contains(t.X87, w.Reg) {
			continue
		}
		if w.Reg == t.Flags && c.rounds == 1 && c.w.pcOf(o.Words) == c.at.Site && !o.Stop.faulted() {
			continue // between two rounds
		}
		c.add(Difference{What: w.Name, Site: o.Words[i], Copy: k.Words[i]})
	}
}

// slotReturn reports whether the copy has left an address in the slot where the
// site leaves the one behind it.
func (c *check) slotReturn(o *final) bool {
	return c.p.IsCall && c.p.Returns == fixups.ReturnsSlot && !o.Stop.faulted()
}

// span is a run of addresses that is not compared; a declared one only where
// the site itself has changed nothing that is in use at its end, at or above
// live.
type span struct {
	lo, size uint64
	declared bool
	live     uint64
}

func (s span) has(a uint64) bool { return a-s.lo < s.size }

// compareLines compares memory: every byte that either side changed from the
// base.
func (c *check) compareLines(o, k *final) {
	if equalLines(o.Lines, k.Lines) {
		return
	}
	skip := c.excluded(o)
	i, j := 0, 0
	for i < len(o.Lines) || j < len(k.Lines) {
		switch {
		case j == len(k.Lines) || i < len(o.Lines) && o.Lines[i].Addr < k.Lines[j].Addr:
			c.compareLine(&o.Lines[i], nil, skip)
			i++
		case i == len(o.Lines) || k.Lines[j].Addr < o.Lines[i].Addr:
			c.compareLine(nil, &k.Lines[j], skip)
			j++
		default:
			c.compareLine(&o.Lines[i], &k.Lines[j], skip)
			i, j = i+1, j+1
		}
	}
}

// compareLine compares one line; nil is one that holds its base.
func (c *check) compareLine(a, b *Line, skip []span) {
	var base [LineSize]byte
	one := a
	if one == nil {
		one = b
	}
	m := machine{pages: c.w.cpu.Pages()}
	if p := m.page(one.Addr); p != nil && p.Watched() {
		copy(base[:], p.Base[one.Addr-p.Addr:])
	}
	x, y := &base, &base
	if a != nil {
		x = &a.Data
	}
	if b != nil {
		y = &b.Data
	}
next:
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		addr := one.Addr + uint64(i)
		for _, s := range skip {
			if s.has(addr) && !(s.declared && addr >= s.live && x[i] != c.before(addr)) {
				continue next
			}
		}
		c.add(Difference{What: fmt.Sprintf("[%#x]", addr), Site: uint64(x[i]), Copy: uint64(y[i])})
	}
}

// before is the byte at a watched address in the initial state.
func (c *check) before(addr uint64) byte {
	m := machine{pages: c.w.cpu.Pages(), state: &c.init}
	return m.peek(addr)
}

// excluded returns what the plan allows to differ: the bytes below the zone
// that it writes, where the stack pointer was at first and where the site leaves
// it; the word of a return address in the slot; memory private to the slot; what
// a signal and a failed store have left behind.
func (c *check) excluded(o *final) []span {
	skip := append(c.skip[:0], c.sandpit, c.torn, c.data)
	sp, end := c.w.spOf(c.init.Words), c.w.spOf(o.Words)
	if n := uint64(c.p.Stack); n > 0 {
		live := end - c.zone
		skip = append(skip, span{sp - c.zone - n, n, true, live}, span{live - n, n, true, live})
	}
	word := uint64(c.w.t.Bits / 8)
	if c.slotReturn(o) && c.w.t.Link == fixups.RegNone {
		skip = append(skip, span{lo: end, size: word})
	}
	if c.p.Alias && o.Stop.faulted() {
		skip = append(skip, span{lo: sp - word, size: word}) // pushed before the operand was read
	}
	if c.pushed && o.Stop.Kind == StopException && slices.Contains(c.w.t.NoAddress, o.Stop.Num) {
		// The jump that ends a copy goes to an address that is none, and the word
		// that held the return address had been written: what was there is lost, as
		// it would be after any other call. It is below the stack pointer.
		skip = append(skip, span{lo: sp - word, size: word})
	}
	c.skip = skip
	return skip
}
