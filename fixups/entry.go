package fixups

import "iter"

// Patch says how a site itself may be entered, as a set.
type Patch uint8

// The ways to enter a site.
const (
	PatchTrap   Patch = 1 << iota // a trap at its first byte or word
	PatchBranch                   // a branch written over it
)

var patchNames = [...]string{"trap", "branch"}

// Names returns the frozen spellings: trap, branch.
func (p Patch) Names() []string { return setNames(uint8(p), patchNames[:]) }

// Verdict is one line of a site's forms: a plan, or why there is none.
type Verdict struct {
	Form   Form
	Far    bool   // the far variant was asked for
	Reason Reason // ReasonNone: Plan is valid
	Plan   Plan
}

// Entry is what is known of one site: a row of a [Table].
type Entry struct {
	PC     uint64
	Offset uint64 // file offset; valid if InFile
	InFile bool
	Func   string // name of the function, "" if none
	At     uint64 // bytes from the start of the function
	Bytes  []byte // memory order
	Len    uint8
	AltLen uint8 // length on the other vendor's processors, 0 if the same
	Text   string

	Class     Class
	HasTarget bool
	Target    uint64
	Hazards   Hazards
	Patch     Patch
	Reason    Reason // why the bytes do not decode; then Forms holds refusals at most

	Reads, Writes, Kills RegSet
	Forms                []Verdict // in order of preference
}

// Range is a run of addresses [Addr, Addr+Size).
type Range struct{ Addr, Size uint64 }

// Table is the fixup table of one object file.
type Table struct {
	Arch    string // GOARCH spelling
	File    string
	BuildID string // hex, "" if none
	Base    uint64 // lowest PT_LOAD address
	Layout  Layout // JSONL has none, nor JSON if Bits is 0; AppendBinary asks for Bits
	Entries []Entry
	Gaps    []Range // executable bytes about which nothing is said
}

// All iterates over the entries in the order of their addresses.
func (t *Table) All() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for i := range t.Entries {
			if !yield(&t.Entries[i]) {
				return
			}
		}
	}
}

// Find returns the entry at pc, nil if there is none.
func (t *Table) Find(pc uint64) *Entry {
	lo, hi := 0, len(t.Entries)
	for lo < hi {
		mid := (lo + hi) / 2
		switch p := t.Entries[mid].PC; {
		case p == pc:
			return &t.Entries[mid]
		case p < pc:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return nil
}

// Layout is what placing code and running programs asks of an ISA, so that a
// table can be used by a consumer that knows nothing else. The zero value is
// that of amd64.
type Layout struct {
	Bits    uint8 // width of a word: 64 or 32; 0 means 64
	Align   uint8 // alignment of instructions, bytes: 1, 2, 4 or 8; 0 means 1
	Placing       // byte orders of code and data
}

// valid reports whether all fields are in range.
func (l Layout) valid() bool {
	return (l.Bits == 0 || l.Bits == 32 || l.Bits == 64) && (l.Align == 0 || accessSize(l.Align)) &&
		l.Insn <= BigEndian && l.Data <= BigEndian
}
