package fixups

import "math"

// Plan is everything a consumer needs to execute one site in one form. The
// caller owns its storage and reuses it: making a plan in a Plan that was used
// before does not allocate. All slices are read-only for the caller and valid
// until the Plan is reused. The zero Plan is none, although its Form reads
// emulate: it has no Strategy, neither Code nor a program, and cannot be placed
// ([ErrNoPlan]).
type Plan struct {
	Form     Form
	Strategy Strategy
	Far      bool // serves any slot: of Reach only the residue counts
	Tail     Tail
	Stop     Stop    // step: how the copy is stopped
	Returns  Returns // calls: which return address is left
	IsCall   bool    // Returns has a meaning

	// Private: threads must not share the slot. X87: the last x87 instruction
	// and data pointers differ. Alias: exact only if no memory operand overlaps
	// the word being pushed, which is spoiled if the branch itself faults (Env.Short
	// asked for it).
	Private, X87, Alias bool

	SiteLen   uint8  // length of the site in bytes
	SlotAlign uint16 // alignment of the slot in bytes: 0, 1 (none) or a power of two
	Stack     uint16 // bytes below the zone, or below the stack pointer, that are written
	CopyLen   uint16 // step: offset in Code where the stop is expected on fall-through

	// Clobbers are not preserved; Lost is the union of the points' lost sets.
	Clobbers, Lost RegSet
	Needs          Needs
	Reach          Reach

	Code    []byte  // template, Place fills the relocs in
	Relocs  []Reloc // fields of Code
	Escapes []Escape
	Points  []Point // sorted by Off, one for each instruction boundary

	Pre, Post, Abort Program // step
	Emulate          Program // emulate; of a plan of that form never empty

	steps   []Step  // arena of the programs
	points  []Point // storage of Points while that is shared
	shared  bool    // see ResetShared
	scratch any     // see Scratch
}

// Reach is the range of Slot - Site for which a plan can be placed, both ends
// included, and its residue: (Slot - Site) mod Align = Residue.
type Reach struct {
	Min, Max int64
	Align    uint32 // 0, 1 (any) or a power of two
	Residue  uint32 // below Align
}

// AnyReach is the reach of a plan that serves every slot.
func AnyReach() Reach { return Reach{Min: math.MinInt64, Max: math.MaxInt64} }

// Holds reports whether a displacement is in reach.
func (r *Reach) Holds(d int64) bool { return r.Min <= d && d <= r.Max && r.holdsResidue(d) }

// holdsResidue reports whether d has the residue asked for. Align is a power of
// two, so the low bits of a negative displacement are right as they are.
func (r *Reach) holdsResidue(d int64) bool {
	return r.Align <= 1 || uint32(d)&(r.Align-1) == r.Residue
}

// Holds reports whether the plan can be placed with Slot - Site = d, as far as
// its reach is concerned (SlotAlign is a matter of the slot alone).
func (p *Plan) Holds(d int64) bool {
	if p.Far {
		return p.Reach.holdsResidue(d)
	}
	return p.Reach.Holds(d)
}

// Needs is what a consumer must be able to do to run the programs of a plan.
type Needs uint8

// The needs.
const (
	NeedsVector      Needs = 1 << iota // read or write vector registers
	NeedsSegmentBase                   // read segment bases
	NeedsShadowStack                   // push to or pop from the shadow stack
)

// Names returns the frozen spellings: vector, segment-base, shadow-stack.
func (n Needs) Names() []string { return setNames(uint8(n), needNames[:]) }

var needNames = [...]string{"vector", "segment-base", "shadow-stack"}

// Escape is a slot address that outlives the visit.
type Escape struct {
	Off  uint16 // offset in Code of the address
	Kind EscapeKind
}

// Point is an instruction boundary inside slot code.
type Point struct {
	Off   uint16 // offset in Code
	Insn  uint16 // which stolen instruction, 0 unless the form is region
	State State
	// Back brings a thread that is here to the site as if the copy had never
	// begun; Forward brings it to the end of the site's work. HasBack and
	// HasForward tell an absent program from an empty one.
	Back, Forward       Program
	HasBack, HasForward bool
	Lost                RegSet // registers whose old value is gone after Back
}

// Scratch is room for whoever makes plans in p: what it holds is kept by
// [Plan.Reset], so that making a plan again needs no new memory. It is no part
// of the plan: Equal does not look at it and codecs do not write it. A copy of a
// Plan shares it, as it shares the slices.
func (p *Plan) Scratch() *any { return &p.scratch }

// Reset empties p and keeps its storage. It is on the way of every plan, and
// cheaper field by field than as an assignment of the whole: most fields are zero
// already in most plans, and a slice needs only its length stored.
func (p *Plan) Reset() {
	p.clear()
	if p.shared {
		p.Points, p.points, p.shared = p.points, nil, false
	}
	p.Points = p.Points[:0]
}

// ResetShared is Reset, with Points that are not p's own: they are never written,
// by nobody, and may be shared by any number of plans. The next Reset gives p its
// own storage back.
func (p *Plan) ResetShared(points []Point) {
	p.clear()
	if !p.shared {
		p.points, p.shared = p.Points[:0], true
	}
	p.Points = points
}

// clear empties p but for Points.
func (p *Plan) clear() {
	p.Form, p.Strategy, p.Far, p.Tail, p.Stop, p.Returns, p.IsCall = 0, 0, false, 0, 0, 0, false
	p.Private, p.X87, p.Alias = false, false, false
	p.SiteLen, p.SlotAlign, p.Stack, p.CopyLen = 0, 0, 0, 0
	p.Clobbers = RegSet{} // together, they would go by way of the stack
	p.Lost = RegSet{}
	p.Needs, p.Reach = 0, Reach{}
	if p.Pre != nil || p.Post != nil || p.Abort != nil || p.Emulate != nil {
		p.Pre, p.Post, p.Abort, p.Emulate = nil, nil, nil, nil
	}
	p.Code = p.Code[:0]
	p.Relocs = p.Relocs[:0]
	p.Escapes = p.Escapes[:0]
	p.steps = p.steps[:0]
}

// Program copies steps into p's storage and returns them as a program. Ports
// build their programs with it.
func (p *Plan) Program(steps ...Step) Program {
	n := p.Mark()
	p.steps = append(p.steps, steps...)
	return p.Since(n)
}

// Mark, Add and Since build a program step by step: Since returns what was added
// after the mark. Programs are not nested.
func (p *Plan) Mark() int {
	if cap(p.steps) == 0 {
		p.steps = make([]Step, 0, 64)
	}
	return len(p.steps)
}

// Add appends an empty step to the program that [Plan.Mark] began and returns it
// to be filled in where it lies, which is twice as fast as copying steps. The
// pointer is valid until the next call.
func (p *Plan) Add() *Step {
	n := len(p.steps)
	if n == cap(p.steps) {
		p.steps = append(p.steps, Step{})
	} else {
		p.steps = p.steps[:n+1]
	}
	s := &p.steps[n]
	*s = Step{}
	return s
}

// Since returns the steps added after mark as a program.
func (p *Plan) Since(mark int) Program { return p.steps[mark:len(p.steps):len(p.steps)] }

// PointAt returns the point at offset off of Code, nil if there is no
// instruction boundary.
func (p *Plan) PointAt(off uint64) *Point {
	lo, hi := 0, len(p.Points)
	for lo < hi {
		mid := (lo + hi) / 2
		switch o := uint64(p.Points[mid].Off); {
		case o == off:
			return &p.Points[mid]
		case o < off:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return nil
}
