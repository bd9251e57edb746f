package c_test

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// What testdata/driver.c answers, said by package fixups.

// mix is the function that decides what the test machine answers; both sides
// have it.
func mix(a, b uint64) uint64 {
	z := a + b*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// The numbers of status codes of the header.
const (
	cOK = iota
	cTable
	cRefused
	cReach
	cAlign
	cBases
	cRoom
	cFault
	cRegister
	cProgram
)

func status(err error) int {
	var access *fixups.AccessError
	switch {
	case err == nil:
		return cOK
	case errors.As(err, &access):
		return cFault
	case errors.Is(err, fixups.ErrNoPlan):
		return cRefused
	case errors.Is(err, fixups.ErrReach):
		return cReach
	case errors.Is(err, fixups.ErrAlign):
		return cAlign
	case errors.Is(err, fixups.ErrBases):
		return cBases
	case errors.Is(err, fixups.ErrNoRegister):
		return cRegister
	}
	return cProgram
}

// machine is a [fixups.Machine] that traces into out.
type machine struct {
	seed, pc uint64
	set      map[fixups.Reg]uint64
	stored   map[uint64]byte
	out      []byte
}

func (m *machine) has(r fixups.Reg) bool {
	return r == fixups.RegPC || mix(m.seed^1, uint64(r))&15 != 0
}

func (m *machine) Reg(r fixups.Reg) (uint64, bool) {
	if !m.has(r) {
		return 0, false
	}
	v, ok := m.set[r]
	if !ok && r == fixups.RegPC {
		v = m.pc
	} else if !ok {
		v = mix(m.seed^2, uint64(r))
	}
	m.out = fmt.Appendf(m.out, " r%x=%x", uint16(r), v)
	return v, true
}

func (m *machine) SetReg(r fixups.Reg, v uint64) bool {
	if !m.has(r) {
		return false
	}
	m.set[r] = v
	m.out = fmt.Appendf(m.out, " w%x=%x", uint16(r), v)
	return true
}

func (m *machine) Load(addr uint64, b []byte) bool {
	m.out = fmt.Appendf(m.out, " l%x/%x", addr, len(b))
	if mix(m.seed^4, addr)&7 == 0 {
		return false
	}
	for i := range b {
		at := addr + uint64(i)
		b[i] = byte(mix(m.seed^3, at))
		if v, ok := m.stored[at]; ok {
			b[i] = v
		}
	}
	return true
}

func (m *machine) Store(addr uint64, b []byte) bool {
	m.out = fmt.Appendf(m.out, " s%x=%x", addr, b)
	if mix(m.seed^5, addr)&7 == 0 {
		return false
	}
	for i, v := range b {
		m.stored[addr+uint64(i)] = v
	}
	return true
}

// shadow is 0: off, and the C machine has no callbacks; 1: on; 2: every push
// faults; 3: off.
func (m *machine) shadow() uint64 { return mix(m.seed^6, 0) & 3 }

func (m *machine) ShadowPush(v uint64) bool {
	if m.shadow() == 0 {
		return true
	}
	m.out = fmt.Appendf(m.out, " P%x", v)
	return m.shadow() != 2
}

func (m *machine) ShadowPop() (uint64, bool) {
	if m.shadow() == 0 {
		return 0, false
	}
	m.out = append(m.out, " O"...)
	return mix(m.seed^7, 0), m.shadow() != 3
}

// view is a table as Go reads it, or what OpenBinary has against it.
type view struct {
	*fixups.View
	head fixups.Table
	err  error
}

func open(data []byte) *view {
	v, err := fixups.OpenBinary(data)
	if err != nil {
		return &view{err: err}
	}
	return &view{View: v, head: v.Head()}
}

func (v *view) table() string {
	var bad *fixups.FormatError
	if errors.As(v.err, &bad) {
		return fmt.Sprintf("bad %x", bad.Offset)
	}
	h, l := &v.head, &v.head.Layout
	return fmt.Sprintf("ok %x %x %x %x %x %x %x %x %x", h.Base, l.Bits, l.Align, uint8(l.Insn), uint8(l.Data), v.Len(), h.Arch, h.File, h.BuildID)
}

func (v *view) find(pc uint64) string {
	r, ok := v.Find(pc)
	if !ok {
		return "none"
	}
	plain := 0
	if r.Plain {
		plain = 1
	}
	return fmt.Sprintf("ref %x %x %x %x %x %x", r.PC, uint64(r.D), r.Shape, r.Len, plain, v.Bytes(r))
}

func (v *view) entry(e *fixups.Entry) string {
	b := []byte(v.find(e.PC))
	b = fmt.Appendf(b, " class %x %x %x %x %x", uint8(e.Class), e.AltLen, e.Patch, uint8(e.Reason), uint64(e.Hazards))
	if e.HasTarget {
		b = fmt.Appendf(b, " target %x", e.Target)
	}
	if e.InFile {
		b = fmt.Appendf(b, " file %x", e.Offset)
	}
	if e.Func != "" {
		b = fmt.Appendf(b, " func %x+%x", e.Func, e.At)
	}
	b = appendSet(b, " reads", e.Reads)
	b = appendSet(b, " writes", e.Writes)
	b = appendSet(b, " kills", e.Kills)
	for i := range e.Forms {
		b = appendVerdict(b, &e.Forms[i])
	}
	return string(fmt.Appendf(b, " verdicts %x", len(e.Forms)))
}

func appendSet(b []byte, name string, s fixups.RegSet) []byte {
	b = append(b, name...)
	for r := range s.All() {
		b = fmt.Appendf(b, ",%x", uint16(r))
	}
	return b
}

func appendVerdict(b []byte, v *fixups.Verdict) []byte {
	p := &v.Plan
	b = fmt.Appendf(b, " {%x %x", uint8(v.Form), uint8(v.Reason))
	flags := 0
	for i, f := range []bool{v.Far, p.Far, p.IsCall, p.Private, p.X87, p.Alias} {
		if f && (i == 0 || v.Reason == fixups.ReasonNone) {
			flags |= 1 << i
		}
	}
	b = fmt.Appendf(b, " %x", flags)
	if v.Reason != fixups.ReasonNone {
		return b
	}
	b = fmt.Appendf(b, " %x %x %x %x %x %x %x %x %x %x", uint8(p.Strategy), uint8(p.Tail), uint8(p.Stop), uint8(p.Returns), p.SiteLen, p.Needs, p.SlotAlign, p.Stack, p.CopyLen, len(p.Code))
	b = fmt.Appendf(b, " reach %x:%x/%x+%x", uint64(p.Reach.Min), uint64(p.Reach.Max), p.Reach.Align, p.Reach.Residue)
	b = appendSet(b, " clobbers", p.Clobbers)
	b = appendSet(b, " lost", p.Lost)
	for _, e := range p.Escapes {
		b = fmt.Appendf(b, " escape %x/%x", e.Off, uint8(e.Kind))
	}
	for _, n := range []int{len(p.Pre), len(p.Post), len(p.Abort), len(p.Emulate)} {
		b = fmt.Appendf(b, " p%x", n)
	}
	return b
}

func (v *view) place(p *fixups.Plan, at fixups.Bases, seed uint64, room int) string {
	at.Regs = map[fixups.Reg]uint64{}
	for _, r := range p.Relocs {
		if r.Base == fixups.BaseReg && mix(seed^9, uint64(r.Index))&7 != 0 {
			at.Regs[fixups.Reg(r.Index)] = mix(seed^8, uint64(r.Index))
		}
	}
	if mix(seed, 11)&7 != 0 {
		at.Insn = func(n int) uint64 { return mix(seed^10, uint64(n)) }
	}
	code, err := fixups.PlaceOrder(nil, p, at, v.head.Layout.Placing)
	var reach *fixups.ReachError
	switch {
	case errors.As(err, &reach):
		return fmt.Sprintf("place %x  over %x reloc %x value %x", cReach, uint64(reach.Over), uint64(reach.Reloc), uint64(reach.Value))
	case err == nil && len(code) > room:
		return fmt.Sprintf("place %x ", cRoom)
	}
	return fmt.Sprintf("place %x %s", status(err), hex.EncodeToString(code))
}

// run is what follows a program's name.
func (v *view) run(p fixups.Program, at fixups.Bases, seed, pc uint64) string {
	m := machine{seed: seed, pc: pc, set: map[fixups.Reg]uint64{}, stored: map[uint64]byte{}}
	var temps fixups.Temps
	for i := range temps.T {
		temps.T[i] = mix(seed^12, uint64(i))
	}
	err := fixups.Run(p, &m, &at, &temps, int(v.head.Layout.Bits))
	b := fmt.Appendf(m.out, " run %x", status(err))
	var access *fixups.AccessError
	if errors.As(err, &access) {
		b = fmt.Appendf(b, " fault %x/%x %x %x", access.Addr, access.Size, b2i(access.Write), b2i(access.Shadow))
	}
	for _, t := range temps.T {
		b = fmt.Appendf(b, " %x", t)
	}
	return string(b)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (v *view) point(p *fixups.Plan, off uint64, why reloc.Why, at fixups.Bases, seed uint64) string {
	r, ok := reloc.Resume(p, at.Slot+off, at.Slot, why)
	if !ok {
		return "no point"
	}
	b := fmt.Appendf(nil, "point %x %x %x %x", r.Point.Off, r.Point.Insn, uint8(r.Point.State), b2i(r.Back))
	b = appendSet(b, "", r.Point.Lost)
	return string(b) + v.run(r.Program, at, seed, at.Slot+off)
}

// choose is xol_choose and, without a slot, xol_choose_slots: package fixups
// leaves the choice to its caller.
func choose(e *fixups.Entry, ok func(*fixups.Verdict) bool, forms uint64, needs fixups.Needs) string {
	for i := range e.Forms {
		f := &e.Forms[i]
		if f.Reason == fixups.ReasonNone && forms>>f.Form&1 != 0 && f.Plan.Needs&^needs == 0 && ok(f) {
			return string(appendVerdict(nil, f))
		}
	}
	return "no plan"
}

func placeable(at fixups.Bases) func(*fixups.Verdict) bool {
	return func(v *fixups.Verdict) bool {
		p := &v.Plan
		return len(p.Code) == 0 || p.Holds(int64(at.Slot-at.Site)) && (p.SlotAlign <= 1 || at.Slot%uint64(p.SlotAlign) == 0)
	}
}

func asked(far bool) func(*fixups.Verdict) bool {
	return func(v *fixups.Verdict) bool { return v.Form == fixups.FormEmulate || v.Far == far }
}
