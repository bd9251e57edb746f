package fixups

import (
	"errors"
	"fmt"
)

// Machine is the state a program works on: one thread. It may be a ptrace
// stop, a signal frame, an emulator. Package fixups/linux has adapters.
type Machine interface {
	// Reg returns the value of r (RegPC included), false if the machine cannot
	// tell. Flags do not contain the trap flag of a stepper.
	Reg(r Reg) (uint64, bool)
	// SetReg changes r, false if the machine cannot. Writing part 0 of an A64
	// or VEX vector zeroes its higher parts.
	SetReg(r Reg, v uint64) bool
	// Load fills b (1, 2, 4 or 8 bytes) from address, in one access, false if
	// the access faults.
	Load(addr uint64, b []byte) bool
	// Store writes b in one access, false (and nothing changed) if it faults.
	Store(addr uint64, b []byte) bool
	// ShadowPush and ShadowPop move the shadow stack. A machine without one, or
	// whose thread has it off, accepts a push and answers a pop with ok = false.
	// A push returns false only if it would fault; an emulated call whose push
	// faults has then already stored its return address, below the stack
	// pointer that it did not move.
	ShadowPush(v uint64) bool
	ShadowPop() (v uint64, ok bool)
}

// Bases are the addresses a plan is placed at.
type Bases struct {
	Site uint64           // address of the site at run time
	Slot uint64           // address of the slot
	Data uint64           // address of the slot's private data, [DataSize] bytes, 0 if there is none
	Regs map[Reg]uint64   // register values at the hit, for private slots only
	Insn func(int) uint64 // address of the copy of the n-th stolen instruction (regions)
}

// DataSize is how many bytes of a slot's private data plans use at most. Its
// address is a multiple of 8; a plan may ask for it to be near the slot, which
// [Place] checks.
const DataSize = 16

// Temps are t0 to t7. They belong to the thread from Pre to Post or Abort.
type Temps struct {
	T   [MaxTemps]uint64
	buf [8]byte // of one access; here, so that Run allocates nothing
}

// AccessError is a load or store of a program that faulted. Nothing that the
// program does after it has happened.
type AccessError struct {
	Addr   uint64
	Size   int // bytes
	Write  bool
	Shadow bool // the push to the shadow stack; Addr is not known
}

func (e *AccessError) Error() string {
	if e.Shadow {
		return "fixups: push to the shadow stack faulted"
	}
	dir := "load"
	if e.Write {
		dir = "store"
	}
	return fmt.Sprintf("fixups: %s of %d bytes at %#x faulted", dir, e.Size, e.Addr)
}

// Errors of Run that are not a fault of the traced program.
var (
	ErrNoRegister = errors.New("fixups: the machine does not have a register of the program")
	ErrProgram    = errors.New("fixups: malformed program")
)

// Run interprets p. bits is the word size of the ISA, 64 or 32 (386): operands
// and results are taken modulo 2^bits. It returns an [*AccessError] if a load
// or store faulted, [ErrNoRegister] if the machine lacks a register, [ErrBases]
// if the program asks for private data and at has none, and [ErrProgram] for
// bits that are neither and for a step that [Program.Check] would reject (steps
// that are not reached are not looked at). A nil at is one of zeros, and a nil t
// are temporaries that nobody sees afterwards; m must be there. It never panics,
// whatever p is, unless m does. An empty program does nothing: a site is never
// emulated by one, see [Plan.Emulate].
//
// Run itself does not undo: an emulate program is written so that nothing
// precedes its last access ([Program.CheckEmulate] proves it).
func Run(p Program, m Machine, at *Bases, t *Temps, bits int) error {
	if bits != 64 && bits != 32 || len(p) > MaxSteps {
		return ErrProgram
	}
	if at == nil {
		at = &Bases{}
	}
	if t == nil {
		t = &Temps{}
	}
	r := runner{m: m, at: at, t: t, mask: ^uint64(0) >> (64 - uint(bits))}
	for i := 0; i < len(p); i++ {
		skip, err := r.step(&p[i])
		if err != nil {
			return err
		}
		i += skip
	}
	return nil
}

type runner struct {
	m    Machine
	at   *Bases
	t    *Temps
	mask uint64
}

func (r *runner) value(o *Operand) (uint64, error) {
	v := uint64(o.Val)
	switch o.Kind {
	case OperandReg:
		x, ok := r.m.Reg(o.Reg)
		if !ok {
			return 0, ErrNoRegister
		}
		v = x
	case OperandTemp:
		if o.Reg >= MaxTemps {
			return 0, ErrProgram
		}
		v = r.t.T[o.Reg]
	case OperandConst:
	case OperandSite:
		v += r.at.Site
	case OperandSlot:
		v += r.at.Slot
	case OperandData:
		if r.at.Data == 0 {
			return 0, ErrBases
		}
		v += r.at.Data
	default:
		return 0, ErrProgram
	}
	return v & r.mask, nil
}

// wordBytes is the size of a shadow-stack slot.
func (r *runner) wordBytes() int {
	if r.mask>>32 == 0 {
		return 4
	}
	return 8
}

func (r *runner) set(o *Operand, v uint64) error {
	v &= r.mask
	switch o.Kind {
	case OperandReg:
		if !r.m.SetReg(o.Reg, v) {
			return ErrNoRegister
		}
		return nil
	case OperandTemp:
		if o.Reg < MaxTemps {
			r.t.T[o.Reg] = v
			return nil
		}
	}
	return ErrProgram
}

// step executes one step and returns how many of the following are skipped.
func (r *runner) step(s *Step) (int, error) {
	if !s.fieldsOK() {
		return 0, ErrProgram
	}
	if s.Op == OpShPop {
		return 0, r.shadowPop(s)
	}
	a, err := r.value(&s.A)
	if err != nil {
		return 0, err
	}
	var b uint64
	if s.Op.binary() {
		if b, err = r.value(&s.B); err != nil {
			return 0, err
		}
	}
	switch s.Op {
	case OpLoad:
		return 0, r.load(s, a)
	case OpStore:
		return 0, r.store(s, a, b)
	case OpShPush:
		if !r.m.ShadowPush(a) {
			return 0, &AccessError{Size: r.wordBytes(), Write: true, Shadow: true}
		}
		return 0, nil
	case OpSkip:
		if s.Cond.holds(a, b, s.Width) {
			return int(s.Skip), nil
		}
		return 0, nil
	case OpInsert:
		old, err := r.value(&s.Dst)
		if err != nil {
			return 0, err
		}
		f := fieldMask(s.Lsb, s.Width)
		return 0, r.set(&s.Dst, old&^f|a<<s.Lsb&f)
	}
	return 0, r.set(&s.Dst, s.compute(a, b))
}

func fieldMask(lsb, width uint8) uint64 { return ^uint64(0) >> (64 - width) << lsb }

// compute does the operations that only touch words. Shifts by 64 and more
// give 0, as Go defines them.
func (s *Step) compute(a, b uint64) uint64 {
	switch s.Op {
	case OpAdd:
		return a + b
	case OpSub:
		return a - b
	case OpAnd:
		return a & b
	case OpOr:
		return a | b
	case OpXor:
		return a ^ b
	case OpShl:
		return a << b
	case OpShr:
		return a >> b
	case OpZext:
		return a & fieldMask(0, s.Width)
	case OpSext:
		n := 64 - s.Width
		return uint64(int64(a<<n) >> n)
	case OpExtract:
		return a >> s.Lsb & fieldMask(0, s.Width)
	default: // OpMov
		return a
	}
}

func (c Cond) holds(a, b uint64, width uint8) bool {
	n := 64 - width
	a, b = a<<n, b<<n
	switch c {
	case CondEQ:
		return a == b
	case CondNE:
		return a != b
	case CondLT:
		return int64(a) < int64(b)
	case CondLE:
		return int64(a) <= int64(b)
	case CondGT:
		return int64(a) > int64(b)
	case CondGE:
		return int64(a) >= int64(b)
	case CondB:
		return a < b
	case CondBE:
		return a <= b
	case CondA:
		return a > b
	default:
		return a >= b
	}
}

func (r *runner) load(s *Step, addr uint64) error {
	b := r.t.buf[:s.Size]
	if !r.m.Load(addr, b) {
		return &AccessError{Addr: addr, Size: int(s.Size)}
	}
	return r.set(&s.Dst, getWord(b, s.Order))
}

func (r *runner) store(s *Step, addr, v uint64) error {
	b := r.t.buf[:s.Size]
	putWord(b, v, s.Order)
	if !r.m.Store(addr, b) {
		return &AccessError{Addr: addr, Size: int(s.Size), Write: true}
	}
	return nil
}

func (r *runner) shadowPop(s *Step) error {
	v, ok := r.m.ShadowPop()
	if !ok {
		if s.A.Kind == OperandNone {
			return nil
		}
		a, err := r.value(&s.A)
		if err != nil {
			return err
		}
		v = a
	}
	return r.set(&s.Dst, v)
}
