package fixups

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Reloc is a field of slot code that is filled in once the addresses are known:
// the Bits bits from bit Lsb of the Size-byte word at Off, in byte order Order.
// Its value is (base + Addend - P) >> Shift, where P = Slot + Off if PCRel and
// 0 otherwise; where the ISA addresses pages, base + Addend and P are first
// rounded down to 1<<Page.
type Reloc struct {
	Addend int64
	Off    uint16 // offset of the word in Code, bytes
	Index  uint16 // BaseInsn: number of the instruction; BaseReg: register
	Size   uint8  // bytes of the word: 1, 2, 4 or 8
	Lsb    uint8  // lowest bit of the field
	Bits   uint8  // width of the field
	Shift  uint8  // bits dropped from the value
	Page   uint8  // log2 of the page size, 0 for none
	Base   Base
	Check  Check
	Order  Order
	PCRel  bool
}

// Errors of Place.
var (
	// ErrReach means that the slot is out of the plan's reach; errors.As gives
	// a [*ReachError] that says by how much.
	ErrReach = errors.New("fixups: slot out of reach")
	// ErrBases means that Bases lacks an address or register the plan asks for.
	ErrBases = errors.New("fixups: base not given")
	// ErrAlign means that the slot is not aligned as the plan asks.
	ErrAlign = errors.New("fixups: slot not aligned")
	// ErrNoPlan means that there is nothing to place: the plan is empty, as after
	// a refusal, or its form asks for code and it has none.
	ErrNoPlan = errors.New("fixups: no plan")
	// ErrReloc is a malformed relocation.
	ErrReloc = errors.New("fixups: malformed relocation")
)

// ReachError says by how much a slot misses the reach of a plan.
type ReachError struct {
	Site, Slot uint64
	Reach      Reach
	Over       int64 // bytes above Reach.Max (positive) or below Reach.Min (negative), 0: wrong residue

	// Reloc is the index in Plan.Relocs of the field that does not hold its
	// value, Value; -1 if the slot is outside Reach.
	Reloc int
	Value int64
}

func (e *ReachError) Error() string {
	if e.Reloc >= 0 {
		return fmt.Sprintf("fixups: field %d of the code cannot hold %#x (site %#x, slot %#x)", e.Reloc, e.Value, e.Site, e.Slot)
	}
	if e.Over == 0 {
		return fmt.Sprintf("fixups: slot %#x is not at residue %d modulo %d from site %#x", e.Slot, e.Reach.Residue, e.Reach.Align, e.Site)
	}
	return fmt.Sprintf("fixups: slot %#x is out of reach of site %#x by %d bytes", e.Slot, e.Site, e.Over)
}

// Is makes errors.Is(err, ErrReach) true.
func (e *ReachError) Is(target error) bool { return target == ErrReach }

// Placing says in which byte orders Place writes: that of instructions and that
// of data. The zero value is little-endian for both.
type Placing struct{ Insn, Data End }

// Place appends the slot code of p to dst, with every field filled in for the
// given addresses, and returns the extended slice. The code is little-endian;
// [PlaceOrder] serves other ISAs.
//
// It fails with a [*ReachError] if Slot is out of reach or a field cannot hold
// its value, [ErrAlign] if the slot is misaligned, [ErrBases] if an address is
// missing, [ErrReloc] for a malformed relocation, [ErrNoPlan] for a plan without
// code that is not one to emulate by. dst is returned unchanged then. A plan to
// emulate by appends nothing. p must not be nil.
func Place(dst []byte, p *Plan, at Bases) ([]byte, error) {
	n, d := len(dst), int64(at.Slot-at.Site)
	if len(p.Code) == 0 || d < p.Reach.Min || d > p.Reach.Max || p.Reach.Align > 1 || p.Far || p.SlotAlign > 1 {
		return PlaceOrder(dst, p, at, Placing{})
	}
	out := append(dst, p.Code...)
	code := out[n:]
	for i := range p.Relocs {
		r := &p.Relocs[i]
		switch v := r.Addend - d - int64(r.Off); {
		case r.kind() == kindRel32 && r.PCRel && v == int64(int32(v)) && int(r.Off)+4 <= len(code):
			binary.LittleEndian.PutUint32(code[r.Off:], uint32(v))
		case r.kind() == kindAbs64 && !r.PCRel && int(r.Off)+8 <= len(code):
			binary.LittleEndian.PutUint64(code[r.Off:], at.Site+uint64(r.Addend))
		default:
			return PlaceOrder(dst, p, at, Placing{})
		}
	}
	return out, nil
}

// The fields that nearly all of x86 code has, which [Place] fills in by itself: 32
// signed bits of an instruction, relative to the field, and an address as data.
var (
	kindRel32 = (&Reloc{Size: 4, Bits: 32, Base: BaseSite, Check: CheckSigned, Order: OrderInsn}).kind()
	kindAbs64 = (&Reloc{Size: 8, Bits: 64, Base: BaseSite, Check: CheckNone, Order: OrderData}).kind()
)

// kind is all that says how a field is filled in, but for PCRel, in one word,
// which the compiler loads as one where it may.
func (r *Reloc) kind() uint64 {
	return uint64(r.Size) | uint64(r.Lsb)<<8 | uint64(r.Bits)<<16 | uint64(r.Shift)<<24 |
		uint64(r.Page)<<32 | uint64(r.Base)<<40 | uint64(r.Check)<<48 | uint64(r.Order)<<56
}

// PlaceOrder is Place for a given byte order.
func PlaceOrder(dst []byte, p *Plan, at Bases, o Placing) ([]byte, error) {
	if len(p.Code) == 0 {
		if p.Form != FormEmulate || len(p.Emulate) == 0 {
			return dst, ErrNoPlan
		}
		return dst, nil
	}
	if d := int64(at.Slot - at.Site); !p.Holds(d) {
		return dst, &ReachError{Site: at.Site, Slot: at.Slot, Reach: p.Reach, Over: p.over(d), Reloc: -1}
	}
	if p.SlotAlign > 1 && at.Slot&uint64(p.SlotAlign-1) != 0 {
		return dst, ErrAlign
	}
	n := len(dst)
	dst = append(dst, p.Code...)
	for i := range p.Relocs {
		if p.Relocs[i].fillWord(dst[n:], &at, o) {
			continue
		}
		if err := p.Relocs[i].fill(dst[n:], &at, o); err != nil {
			if e, ok := err.(*ReachError); ok {
				e.Reach, e.Reloc = p.Reach, i
			}
			return dst[:n], err
		}
	}
	return dst, nil
}

// over returns how far d is outside the range, 0 if only the residue is wrong.
// A distance that int64 cannot hold is reported as the largest that it can.
func (p *Plan) over(d int64) int64 {
	r := &p.Reach
	switch {
	case p.Far:
		return 0
	case d > r.Max:
		if o := d - r.Max; o > 0 {
			return o
		}
		return math.MaxInt64
	case d < r.Min:
		if o := d - r.Min; o < 0 {
			return o
		}
		return math.MinInt64
	}
	return 0
}

// Value returns the value of the field for the given addresses, before it is
// cut to Bits bits.
func (r *Reloc) Value(at *Bases) (int64, error) {
	base, err := r.base(at)
	if err != nil {
		return 0, err
	}
	v := base + uint64(r.Addend)
	var p uint64
	if r.PCRel {
		p = at.Slot + uint64(r.Off)
	}
	if r.Page != 0 {
		v, p = v>>r.Page<<r.Page, p>>r.Page<<r.Page
	}
	return int64(v-p) >> r.Shift, nil
}

func (r *Reloc) base(at *Bases) (uint64, error) {
	switch r.Base {
	case BaseSite:
		return at.Site, nil
	case BaseSlot:
		return at.Slot, nil
	case BaseData:
		if at.Data != 0 {
			return at.Data, nil
		}
	case BaseInsn:
		if at.Insn != nil {
			return at.Insn(int(r.Index)), nil
		}
	case BaseReg:
		if v, ok := at.Regs[Reg(r.Index)]; ok {
			return v, nil
		}
	}
	return 0, ErrBases
}

func (r *Reloc) fits(v int64) bool {
	if r.Bits >= 64 {
		return true
	}
	switch r.Check {
	case CheckSigned:
		n := 64 - r.Bits
		return v<<n>>n == v
	case CheckUnsigned:
		return uint64(v)>>r.Bits == 0
	}
	return true
}

// Valid reports whether r is well formed and lies inside code bytes of code.
func (r *Reloc) Valid(code int) bool {
	return accessSize(r.Size) && r.Bits >= 1 && r.Bits <= 64 &&
		int(r.Lsb)+int(r.Bits) <= 8*int(r.Size) && int(r.Off)+int(r.Size) <= code &&
		r.Shift < 64 && r.Page < 64 && r.Base <= BaseReg && r.Check <= CheckWrap && r.Order <= OrderData
}

// accessSize reports whether n bytes are one access.
func accessSize(n uint8) bool { return n == 1 || n == 2 || n == 4 || n == 8 }

// fillWord fills in a field of the kind that nearly all fields of slot code are, on
// every ISA: bits of a word of four bytes of an instruction, measured from the site.
// It reports false for every other field, for every malformed one, and for every
// value that does not fit.
func (r *Reloc) fillWord(code []byte, at *Bases, o Placing) bool {
	end := int(r.Off) + 4
	if r.Size != 4 || r.Base != BaseSite || r.Order != OrderInsn || r.Check > CheckWrap || r.Check == CheckUnsigned ||
		end > len(code) || r.Bits-1 > 31 || r.Lsb > 32-r.Bits || (r.Shift|r.Page) > 63 {
		return false
	}
	v, p := at.Site+uint64(r.Addend), uint64(0)
	if r.PCRel {
		p = at.Slot + uint64(r.Off)
	}
	page := uint64(1)<<(r.Page&63) - 1
	x := int64(v&^page-p&^page) >> (r.Shift & 63)
	if drop := 64 - r.Bits; r.Check == CheckSigned && x<<(drop&63)>>(drop&63) != x {
		return false
	}
	word := code[r.Off:end:end]
	mask := (uint32(1)<<(r.Bits&63) - 1) << (r.Lsb & 31)
	if o.Insn == BigEndian {
		binary.BigEndian.PutUint32(word, binary.BigEndian.Uint32(word)&^mask|uint32(x)<<(r.Lsb&31)&mask)
		return true
	}
	binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)&^mask|uint32(x)<<(r.Lsb&31)&mask)
	return true
}

func (r *Reloc) fill(code []byte, at *Bases, o Placing) error {
	if !r.Valid(len(code)) {
		return ErrReloc
	}
	v, err := r.Value(at)
	if err != nil {
		return err
	}
	if !r.fits(v) {
		return &ReachError{Site: at.Site, Slot: at.Slot, Value: v}
	}
	end := o.Insn
	if r.Order == OrderData {
		end = o.Data
	}
	word := code[r.Off : int(r.Off)+int(r.Size)]
	mask := fieldMask(r.Lsb, r.Bits)
	x := getWord(word, end)&^mask | uint64(v)<<r.Lsb&mask
	putWord(word, x, end)
	return nil
}

// getWord reads a word of 1, 2, 4 or 8 bytes.
func getWord(b []byte, end End) uint64 {
	if end == BigEndian {
		switch len(b) {
		case 2:
			return uint64(binary.BigEndian.Uint16(b))
		case 4:
			return uint64(binary.BigEndian.Uint32(b))
		case 8:
			return binary.BigEndian.Uint64(b)
		}
		return uint64(b[0])
	}
	switch len(b) {
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	case 8:
		return binary.LittleEndian.Uint64(b)
	}
	return uint64(b[0])
}

// putWord writes the low bits of v as a word of 1, 2, 4 or 8 bytes.
func putWord(b []byte, v uint64, end End) {
	if end == BigEndian {
		switch len(b) {
		case 2:
			binary.BigEndian.PutUint16(b, uint16(v))
		case 4:
			binary.BigEndian.PutUint32(b, uint32(v))
		case 8:
			binary.BigEndian.PutUint64(b, v)
		default:
			b[0] = byte(v)
		}
		return
	}
	switch len(b) {
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	case 8:
		binary.LittleEndian.PutUint64(b, v)
	default:
		b[0] = byte(v)
	}
}
