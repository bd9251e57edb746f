package reloctest

import (
	"bytes"
	"slices"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// slot checks the slot code as a template, then placed at the edges of its
// reach.
func (t *site) slot() {
	p := t.p
	if len(p.Code) == 0 {
		t.bad(ruleForm, "no code")
		return
	}
	if p.SlotAlign&(p.SlotAlign-1) != 0 {
		t.bad(ruleRelocs, "slot alignment %d", p.SlotAlign)
	}
	for i := range p.Relocs {
		if !t.reloc(&p.Relocs[i]) {
			return
		}
	}
	for _, e := range p.Escapes {
		if int(e.Off) > len(p.Code) {
			t.bad(rulePoints, "an escape at %d of %d bytes", e.Off, len(p.Code))
		}
	}
	t.reach()
}

func (t *site) reloc(r *fixups.Reloc) bool {
	switch {
	case r.Size != 1 && r.Size != 2 && r.Size != 4 && r.Size != 8,
		r.Bits == 0, int(r.Lsb)+int(r.Bits) > 8*int(r.Size), r.Shift > 63, r.Page > 63:
		t.bad(ruleRelocs, "%+v", *r)
		return false
	case int(r.Off)+int(r.Size) > len(t.p.Code):
		t.bad(ruleRelocs, "%+v in %d bytes", *r, len(t.p.Code))
		return false
	case r.Base == fixups.BaseReg && !t.p.Private:
		t.bad(ruleRelocs, "a register's value in a shared slot")
		return false
	}
	order := t.i.Order(t.env.DataOrder)
	end := order.Insn
	if r.Order == fixups.OrderData {
		end = order.Data
	}
	v := word(t.p.Code[r.Off:int(r.Off)+int(r.Size)], end)
	if v>>r.Lsb&(^uint64(0)>>(64-r.Bits)) != 0 {
		t.bad(ruleRelocs, "the field of %+v holds %#x", *r, v)
	}
	return true
}

func word(b []byte, end fixups.End) (v uint64) {
	for i := range b {
		j := i
		if end == fixups.LittleEndian {
			j = len(b) - 1 - i
		}
		v = v<<8 | uint64(b[j])
	}
	return v
}

// walker follows control through placed slot code.
type walker struct {
	*site
	code   []byte
	slot   uint64
	bounds map[int]*reloc.Insn // instructions by offset
	unused map[int]bool        // boundaries that no path leads to
	todo   []int
	exits  []uint64 // known addresses outside that control goes to
	blind  bool     // or somewhere that only registers or memory know
	trap   bool     // or into a trap
	ok     bool
}

// overlaps reports whether code at slot would lie over the site or over what
// follows it: control that leaves for there would find the copy.
func (t *site) overlaps(code []byte, slot uint64) bool {
	end := t.in.PC + uint64(t.in.Len)
	return t.mask(slot-t.in.PC) < uint64(t.in.Len) || t.mask(end-slot) < uint64(len(code)) || t.mask(t.in.PC-slot) < uint64(len(code))
}

// walk decodes the slot code from its start, along every path, and checks what
// it finds.
func (t *site) walk(code []byte, slot uint64) {
	if t.overlaps(code, slot) {
		return // no consumer has its slot there
	}
	w := &walker{site: t, code: code, slot: slot, bounds: map[int]*reloc.Insn{}, unused: map[int]bool{}, todo: []int{0}, ok: true}
	if t.p.Form == fixups.FormStep && int(t.p.CopyLen) < len(code) {
		w.todo = append(w.todo, int(t.p.CopyLen)) // the guard tail, which a return does not lead to
	}
	for len(w.todo) > 0 && w.ok {
		off := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		if w.bounds[off] == nil {
			w.insn(off)
		}
	}
	if !w.ok {
		return
	}
	w.checkExits()
	w.checkTail()
	w.points()
}

func (w *walker) insn(off int) {
	in := new(reloc.Insn)
	if off >= len(w.code) {
		w.bad(ruleCode, "control runs past the end of % x", w.code)
		w.ok = false
		return
	}
	if err := w.decodeFor(in, w.code[off:], w.mask(w.slot+uint64(off)), w.env); err != nil {
		w.bad(ruleCode, "% x at offset %d: %v", w.code, off, err)
		w.ok = false
		return
	}
	w.bounds[off] = in
	w.operand(in)
	w.next1(off, in)
}

// next1 follows in to where it can go.
func (w *walker) next1(off int, in *reloc.Insn) {
	w.trap = w.trap || in.Class == fixups.ClassTrap
	switch {
	case w.copied(off, in) && w.faults(in) && w.p.Tail == fixups.TailJump && off+int(in.Len) < len(w.code):
		w.todo = append(w.todo, off+int(in.Len))
	case in.Flags&reloc.Continues == 0:
	case w.stops(off, in):
		w.padding(off + int(in.Len))
	default:
		w.todo = append(w.todo, off+int(in.Len))
	}
	switch in.Class {
	case fixups.ClassBranch, fixups.ClassCondBranch, fixups.ClassCall, fixups.ClassTransaction:
		if in.HasTarget() && in.Flags&reloc.PCOperand == 0 {
			w.to(in.Target)
		}
	case fixups.ClassIndirectBranch, fixups.ClassIndirectCall:
		if v, ok := w.literal(in); ok {
			w.to(v)
		} else {
			w.blind = true
		}
	case fixups.ClassReturn:
		w.blind = true
	}
}

// copied: in is the copy of the site, which stands first, or behind what makes the way
// out ready.
func (w *walker) copied(off int, in *reloc.Insn) bool {
	return off == 0 || w.p.Tail == fixups.TailJump && slices.Equal(in.Raw(), w.in.Raw())
}

// faults: in is the copy of a site that always faults. It may have a tail all the
// same, for handlers that step over the instruction, and reads no operand.
func (w *walker) faults(in *reloc.Insn) bool {
	switch in.Class {
	case fixups.ClassTrap, fixups.ClassPrivileged, fixups.ClassKernelEntry, fixups.ClassReturn:
		return in.Class == w.in.Class && in.Flags&reloc.Continues == 0
	}
	return false
}

// stops: a trap that is a tail ends its path, though control may go on behind
// other traps.
func (w *walker) stops(off int, in *reloc.Insn) bool {
	return in.Class == fixups.ClassTrap && slices.Equal(in.Raw(), w.i.Trap) && !(w.in.Class == fixups.ClassTrap && w.copied(off, in))
}

// padding notes the traps behind a trap: boundaries that no path leads to.
func (w *walker) padding(off int) {
	for ; off < len(w.code) && bytes.HasPrefix(w.code[off:], w.i.Trap); off += len(w.i.Trap) {
		w.unused[off] = true
	}
}

// to notes a place that control goes to.
func (w *walker) to(addr uint64) {
	if off := w.mask(addr - w.slot); off < uint64(len(w.code)) {
		w.todo = append(w.todo, int(off))
		return
	}
	w.exits = append(w.exits, addr)
}

// literal reads the address that an indirect branch through a pc-relative
// operand loads from the slot itself.
func (w *walker) literal(in *reloc.Insn) (uint64, bool) {
	size := w.i.Bits / 8
	off := w.mask(in.Target - w.slot)
	if !in.HasTarget() || in.Flags&reloc.PCOperand == 0 || off+uint64(size) > uint64(len(w.code)) {
		return 0, false
	}
	return word(w.code[off:off+uint64(size)], w.i.Order(w.env.DataOrder).Data), true
}

// operand: what is named outside the slot is what the site names, or the slot's
// data in a plan that may use it, or an address that the site itself stands for.
func (w *walker) operand(in *reloc.Insn) {
	if in.Flags&reloc.PCOperand == 0 || !in.HasTarget() || in.Target == w.in.Target || w.faults(in) {
		return
	}
	if w.env.Data && w.p.Private && w.mask(in.Target-w.dataOf(w.slot)) < fixups.DataSize {
		return
	}
	if w.mask(in.Target-w.slot) >= uint64(len(w.code)) && !w.computes(in) {
		w.bad(ruleExits, "an operand at %#x, that of the site is at %#x; slot %#x, code % x", in.Target, w.in.Target, w.slot, w.code)
		w.ok = false
	}
}

// computes: in computes an address, without an access, of which the site's own, its
// end or its target is made: that address, or its page, to which the rest is added.
func (w *walker) computes(in *reloc.Insn) bool {
	const page = 1 << 12
	if in.Flags&reloc.Accesses != 0 {
		return false
	}
	for _, a := range []uint64{w.in.PC, w.next(), w.in.Target} {
		if a = w.mask(a); in.Target == a || in.Target == a&^(page-1) {
			return true
		}
	}
	return false
}

// checkExits: control goes to the target of the site, to its end, or (an
// unfinished repeat) to its start.
func (w *walker) checkExits() {
	for _, x := range w.exits {
		if x != w.next() && x != w.mask(w.in.PC) && (!w.in.HasTarget() || x != w.in.Target) {
			w.bad(ruleExits, "control goes to %#x; slot %#x, code % x", x, w.slot, w.code)
			return
		}
	}
	if e := w.ends(); len(e) == 2 && w.p.Form == fixups.FormJump && !w.blind {
		for _, x := range e {
			if !slices.Contains(w.exits, x) && !w.trap {
				w.bad(ruleExits, "control never goes to %#x; slot %#x, code % x", x, w.slot, w.code)
			}
		}
	}
}

// checkTail: a jump tail goes to the end of the site, a trap tail is a trap.
func (w *walker) checkTail() {
	switch w.p.Tail {
	case fixups.TailJump:
		// The tail of a step behind a branch may as well go where the branch goes.
		if !slices.Contains(w.exits, w.next()) && !w.blind && w.in.Flags&reloc.Continues != 0 {
			w.bad(ruleTail, "no jump to %#x; slot %#x, code % x", w.next(), w.slot, w.code)
		}
	case fixups.TailTrap:
		if !w.trap && w.in.Flags&reloc.Continues != 0 {
			w.bad(ruleTail, "no trap; slot %#x, code % x", w.slot, w.code)
		}
	}
}
