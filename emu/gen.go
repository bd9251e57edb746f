package emu

import (
	"encoding/binary"
	"math/bits"

	"github.com/xol-go/xol/fixups"
)

// edges are values at which arithmetic and comparisons change their mind, and
// some floating-point numbers; 32, so that five bits choose one.
var edges = [32]uint64{0, 1, 2, ^uint64(0), 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
	0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffff80000000, 0xffffffff7fffffff,
	0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000, 0xfff8000000000000, 0x3f8000003f800000, 0x7f8000007f800000,
	0x0101010101010101, 0x8080808080808080, 0x5555555555555555, ^uint64(1), 63, 64}

// States makes n states for the site and executes the site from each. The plans
// that are then given to [Worker.Check] are all compared with these runs.
func (w *Worker) States(n int) error {
	words := len(w.t.Words)
	r := &w.orig
	r.grow(n, words)
	w.site.n = n
	if err := w.operandPages(); err != nil {
		return err
	}
	for i := range n {
		r.first[i] = uint32(len(r.lines))
		w.state(r, r.wordsOf(i, words), i)
		r.first[i+1] = uint32(len(r.lines))
	}
	return w.exec(r, n, w.site.pc, w.site.pc, 1, false)
}

// operandPages maps what the site names by a fixed address.
func (w *Worker) operandPages() error {
	op := &w.site.op
	if !op.Has || op.Base != fixups.RegNone || op.Index != fixups.RegNone || op.Seg != fixups.RegNone {
		if op.Has && op.Size < uint8(w.t.Bits/8) {
			p, err := w.shortPage()
			if err == nil {
				w.bitPages(p.Addr)
			}
			return err
		}
		w.bitPages(w.data.Addr)
		return nil
	}
	if len(w.extra) > 2*maxExtra && !w.siteIsExtra() {
		if err := w.dropExtra(); err != nil {
			return err
		}
	}
	a := w.fixedAddr()
	if _, err := w.extraPage(a, false); err != nil {
		return nil // the emulator cannot map it: the operand faults, on both sides
	}
	if a&4095 > 4096-64 {
		_, _ = w.extraPage(a+4096, false)
	}
	w.bitPages(a)
	return nil
}

// farBits is a bit offset that leads out of what fewer address bits can reach:
// 4 GiB in 64-bit mode, where 67 cuts addresses to 32 bits, and in 32-bit mode,
// where offsets have 32 bits, 64 MiB.
func (w *Worker) farBits() uint64 {
	if w.t.Bits == 32 {
		return 1 << 29
	}
	return 1 << 35
}

// bitPages maps what is [Worker.farBits] away from a bit string at a. Where the
// engine has no room, accesses fault, and faults are compared.
func (w *Worker) bitPages(a uint64) {
	if w.site.op.Bit == fixups.RegNone {
		return
	}
	far := w.farBits() / 8
	for _, at := range [2]uint64{a + far, a - far} {
		_, _ = w.extraPage(at&w.x.mask[0], false)
	}
}

func (w *Worker) siteIsExtra() bool {
	for _, p := range w.extra {
		if w.site.pc-p.Addr < uint64(len(p.Live)) {
			return true
		}
	}
	return false
}

// fixedAddr is the address of an operand without registers.
func (w *Worker) fixedAddr() uint64 {
	a := uint64(w.site.op.Disp)
	if w.site.op.PCRel {
		a += w.site.pc + uint64(len(w.site.code))
	}
	return a & w.addrMask()
}

func (w *Worker) addrMask() uint64 {
	return ^uint64(0) >> (64 - 8*uint(w.site.op.Size))
}

// shortPage is a data page that an address of fewer bits than the target's can
// reach.
func (w *Worker) shortPage() (*Page, error) {
	if w.site.op.Size == 2 {
		return w.extraPage(0x8000, false)
	}
	return w.extraPage(0x30000000, false)
}

// state makes one state: registers from a pool of pointers, edge values and
// noise, the memory operand solved for an address that exists, in a share of
// the states one that does not.
func (w *Worker) state(r *runs, words []uint64, i int) {
	copy(words[:w.x.noise], w.x.template)
	for _, k := range w.x.general {
		words[k] = w.value() & w.x.mask[k]
	}
	w.noise(words[w.x.noise:])
	for _, k := range w.x.narrow {
		words[k] &= w.x.mask[k]
	}
	for _, r := range w.t.Bases {
		words[w.x.word(r)] = w.value()
	}
	if w.site.insn.Hazards.Has(fixups.HazardRepeats) {
		w.offStack(words)
	}
	for _, k := range w.x.vary {
		words[k] = w.rnd.Uint64()&w.t.Words[k].Vary | w.t.Words[k].Value
	}
	words[w.x.pc] = w.site.pc
	sp := w.x.word(w.t.SP)
	words[sp] = w.stackPointer(i)
	w.counters(words, i)
	w.indices(words)
	a := w.solve(words)
	if w.shaper != nil {
		w.shaper.Shape(words)
	}
	from := len(r.lines)
	w.touch(r, from, a)
	w.touch(r, from, words[sp])
}

// noise fills words from a pool of random and edge values, from a random place
// on, and renews some of the pool.
func (w *Worker) noise(words []uint64) {
	v := w.rnd.Uint64()
	copy(words, w.pool[v%uint64(len(w.pool)-len(words)):])
	for range 4 {
		x := w.rnd.Uint64()
		at := &w.pool[x>>32&(noisePool-1)]
		if *at = x ^ v; x&7 == 0 {
			*at = edges[v>>8&31]
		}
		v = v<<13 | v>>51
	}
}

// noisePool is the size of the pool, a power of two larger than a state.
const noisePool = 512

// counters gives half of the registers of every fourth state small values, and
// the counter in most states, so that repeated and counting instructions end.
func (w *Worker) counters(words []uint64, i int) {
	c := w.x.word(w.t.Counter)
	if v := w.rnd.Uint64(); c >= 0 && v&7 != 0 {
		words[c] = v >> 8 & 3
	}
	if i&3 != 0 {
		return
	}
	sp := w.x.word(w.t.SP)
	kept := words[sp]
	for _, k := range w.x.general { // by a mask: nobody can predict a random bit
		v := w.rnd.Uint64()
		keep := -(v & 1)
		words[k] = words[k]&keep | v>>8&3&^keep
	}
	words[sp] = kept
}

// indices gives a vector of indices small values in most states: random ones lead
// nowhere.
func (w *Worker) indices(words []uint64) {
	op := &w.site.op
	if !op.Has {
		return
	}
	at, v := w.x.word(op.Vector), w.rnd.Uint64()
	if at < 0 || v&7 == 0 {
		return
	}
	small := uint64(0xff)
	if op.VectorBits == 32 {
		small |= small << 32
	}
	for part := range int(w.x.n[op.Vector]) {
		words[at+part] &= small
	}
}

// offStack moves pointers into the stack page to the data page. A repeated
// instruction that is interrupted has read its strings in part, and a signal may
// have overwritten what it read below the stack pointer: then no run from the
// beginning is the right end.
func (w *Worker) offStack(words []uint64) {
	for _, k := range w.x.general {
		if off := words[k] - w.stack.Addr; off < uint64(len(w.stack.Live)) {
			words[k] = w.data.Addr + off
		}
	}
}

// bitOffset draws the register of a bit string's offset: mostly a few words up or
// down, in a quarter of the states beyond what an address of fewer bits can reach.
func (w *Worker) bitOffset(v uint64) uint64 {
	near := uint64(int64(v<<52) >> 52)
	switch v >> 61 {
	case 0:
		return near + w.farBits()
	case 1:
		return near - w.farBits()
	case 2:
		return v
	}
	return near
}

// bitBytes is how far the offset of a bit string leads, bytes.
func (w *Worker) bitBytes(op *Operand, words []uint64) uint64 {
	i := w.x.word(op.Bit)
	if i < 0 {
		return 0
	}
	s := 64 - 8*uint(op.BitWord)
	return uint64(int64(words[i]<<s)>>s>>3) &^ uint64(op.BitWord-1)
}

// choice is a kind of register value: base plus random bits.
type choice struct{ base, mask uint64 }

// choose makes the table of kinds: 56 pointers into the data page (a quarter of
// them odd), 8 beside the stack pointer, 32 edges, 8 small counts, 24 of noise.
// A table costs one look-up where a switch on random bits costs a mispredicted
// branch, and a state has sixteen such values.
func (w *Worker) choose() {
	t := &w.choices
	for i := range t {
		switch {
		case i < 42:
			t[i] = choice{w.data.Addr + 512, 0xbf8}
		case i < 56:
			t[i] = choice{w.data.Addr + 512, 0xbff}
		case i < 64:
			t[i] = choice{w.stack.Addr + 2016, 63}
		case i < 96:
			t[i] = choice{base: edges[i&31]}
		case i < 104:
			t[i] = choice{mask: 15}
		default:
			t[i] = choice{mask: ^uint64(0)}
		}
	}
}

// value draws a register value.
func (w *Worker) value() uint64 {
	v := w.rnd.Uint64()
	t := &w.choices[v&127]
	return t.base + bits.RotateLeft64(v, -8)&t.mask
}

// stackPointer is in the middle of the stack page, in one state of sixteen at
// an end of it.
func (w *Worker) stackPointer(i int) uint64 {
	v := w.rnd.Uint64()
	word := uint64(w.t.Bits / 8)
	if w.t.SPAlign != 0 {
		word = w.t.SPAlign
	}
	switch {
	case i&15 == 7:
		return w.stack.Addr + v&1*word
	case i&15 == 11:
		return w.stack.Addr + uint64(len(w.stack.Live)) - v%3*word
	case v>>32&15 == 0 && w.t.SPAlign == 0:
		return w.stack.Addr + 2048 + v&255
	}
	return w.stack.Addr + 1536 + v&1023&^(word-1)
}

// solve sets the registers of the memory operand so that it is at an address
// with memory, and returns the address.
func (w *Worker) solve(words []uint64) uint64 {
	op := &w.site.op
	if !op.Has {
		return 0
	}
	v := w.rnd.Uint64()
	a := w.operandAddr(words, v)
	base, idx, seg := w.x.word(op.Base), w.x.word(op.Index), w.x.word(op.Seg)
	disp := uint64(op.Disp)
	if op.PCRel {
		disp += w.site.pc + uint64(len(w.site.code))
	}
	if seg >= 0 && (base >= 0 || idx >= 0) {
		words[seg] = v >> 16 & 0xfff8
		disp += words[seg]
	}
	keep := ^w.addrMask() & w.x.mask[0]
	if bit := w.x.word(op.Bit); bit >= 0 && op.Bit != op.Base && op.Bit != op.Index && op.Bit != w.t.SP {
		words[bit] = w.bitOffset(w.rnd.Uint64()) & w.x.mask[bit]
		if v&0x80 != 0 {
			disp += w.bitBytes(op, words) // else the string begins at a
		}
	}
	switch {
	case base >= 0:
		if idx >= 0 && idx != base {
			words[idx] = words[idx]&keep | v>>32&7
			disp += words[idx] & w.addrMask() * uint64(op.Scale)
		}
		words[base] = words[base]&keep | (a-disp)&w.addrMask()&w.x.mask[base]
	case idx >= 0:
		words[idx] = words[idx]&keep | (a-disp)&w.addrMask()/uint64(op.Scale)
	case seg >= 0:
		words[seg] = (a - disp) & w.x.mask[seg]
	}
	return w.address(op, words)
}

// operandAddr draws the address of the memory operand: in the data page, seldom
// at its end, sometimes beside the stack pointer, sometimes nowhere.
func (w *Worker) operandAddr(words []uint64, v uint64) uint64 {
	op, sp := &w.site.op, words[w.x.word(w.t.SP)]
	page := w.data
	if op.Size < uint8(w.t.Bits/8) {
		if p, err := w.shortPage(); err == nil {
			page = p
		}
	}
	if op.Base == w.t.SP {
		return w.stack.Addr + 1536 + v&1023&^15
	}
	switch v >> 60 {
	case 0:
		return page.Addr + uint64(len(page.Live)) - v>>8&15 // crosses the end
	case 1:
		return page.Addr + uint64(len(page.Live)) + v>>8&0x7f0 // nowhere
	case 2, 3:
		if page == w.data {
			return sp + v>>8&63&^7 // what a push would touch, and above
		}
	case 4, 5, 6:
		return page.Addr + 512 + v>>8&0x7ff
	}
	return page.Addr + 512 + v>>8&0x7f0
}

// touch gives the line at a new contents, if there is watched memory. The lines
// of the state begin at from.
func (w *Worker) touch(r *runs, from int, a uint64) {
	v := w.rnd.Uint64()
	at := a &^ (LineSize - 1)
	if v&3 == 0 || !w.watched(at) || w.holdsSite(at) {
		return
	}
	if len(r.lines) > from && r.lines[from].Addr == at {
		return
	}
	r.lines = append(r.lines, Line{Addr: at})
	l := &r.lines[len(r.lines)-1]
	for k := 0; k < LineSize; k += 8 {
		x := w.rnd.Uint64()
		if x&3 == 0 {
			x = w.value()
		}
		binary.LittleEndian.PutUint64(l.Data[k:], x)
	}
	if n := len(r.lines); n-2 >= from && r.lines[n-2].Addr > at {
		r.lines[n-2], r.lines[n-1] = r.lines[n-1], r.lines[n-2]
	}
}

func (w *Worker) watched(a uint64) bool {
	if a-w.data.Addr < uint64(len(w.data.Live)) || a-w.stack.Addr < uint64(len(w.stack.Live)) {
		return true
	}
	for _, p := range w.extra {
		if a-p.Addr < uint64(len(p.Live)) {
			return true
		}
	}
	return false
}

// holdsSite reports whether the line at a holds a byte of the site.
func (w *Worker) holdsSite(a uint64) bool {
	return w.site.pc-a < LineSize || a-w.site.pc < uint64(len(w.site.code))
}

// address is where the memory operand is in a state.
func (w *Worker) address(op *Operand, words []uint64) uint64 {
	a := uint64(op.Disp)
	if op.PCRel {
		a += w.site.pc + uint64(len(w.site.code))
	}
	if i := w.x.word(op.Base); i >= 0 {
		a += words[i]
	}
	if i := w.x.word(op.Index); i >= 0 {
		a += words[i] * uint64(op.Scale)
	}
	a = (a + w.bitBytes(op, words)) & w.addrMask()
	if i := w.x.word(op.Seg); i >= 0 {
		a += words[i]
	}
	return a & w.x.mask[0]
}
