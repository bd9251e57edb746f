package fixups

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// spelling is what every enumeration with frozen spellings can do.
type spelling interface {
	fmt.Stringer
	encoding.TextAppender
	encoding.TextMarshaler
}

// frozen are the spellings that outsiders rely on, in the order of the numbers.
var frozen = []struct {
	kind  string
	words string
	make  func(uint8) spelling
	read  func(string) (spelling, error)
}{
	{"class", "invalid plain pc-relative branch cond-branch call indirect-branch indirect-call return trap kernel-entry privileged exclusive transaction prefix",
		func(n uint8) spelling { return Class(n) }, read[Class]},
	{"hazard", "reads-pc pushes-pc sees-tf changes-tf changes-if shadow repeats kernel-entry kernel-sees-pc transaction exclusive adjacent landing-pad btype " +
		"shadow-stack vendor x87-fip monitor rseq exception-table unwind reads-own-bytes partial keyed-by-pc context-unknown",
		func(n uint8) spelling { return Hazard(n) }, read[Hazard]},
	{"reason", "- unknown reserved truncated vendor exclusive adjacent transaction prefix-line suffix-word no-scratch no-reach not-emulated privileged shadow-stack " +
		"return-into-patch jump-into-region no-room data unlinked-field foreign-breakpoint overlap mid-instruction return-address no-stop",
		func(n uint8) spelling { return Reason(n) }, read[Reason]},
	{"form", "emulate jump step region", func(n uint8) spelling { return Form(n) }, read[Form]},
	{"strategy", "- copy re-encode absolute own-dest dead-reg spill literal island emulate", func(n uint8) spelling { return Strategy(n) }, read[Strategy]},
	{"tail", "none jump trap", func(n uint8) spelling { return Tail(n) }, read[Tail]},
	{"stop", "hardware trap", func(n uint8) spelling { return Stop(n) }, read[Stop]},
	{"returns", "original slot", func(n uint8) spelling { return Returns(n) }, read[Returns]},
	{"check", "none signed unsigned wrap", func(n uint8) spelling { return Check(n) }, read[Check]},
	{"base", "site slot data insn reg", func(n uint8) spelling { return Base(n) }, read[Base]},
	{"order", "insn data", func(n uint8) spelling { return Order(n) }, read[Order]},
	{"state", "start part done", func(n uint8) spelling { return State(n) }, read[State]},
	{"escape", "return-address abort-pc child context", func(n uint8) spelling { return EscapeKind(n) }, read[EscapeKind]},
}

func read[T spelling, P interface {
	*T
	encoding.TextUnmarshaler
}](text string) (spelling, error) {
	var v T
	err := P(&v).UnmarshalText([]byte(text))
	return v, err
}

func TestSpellings(t *testing.T) {
	for _, f := range frozen {
		words := strings.Fields(f.words)
		for i, w := range words {
			if w == "-" { // the zero value that says nothing has no spelling
				if _, err := f.make(0).MarshalText(); err == nil {
					t.Errorf("%s 0 has a text", f.kind)
				}
				continue
			}
			v := f.make(uint8(i))
			text, err := v.MarshalText()
			app, err2 := v.AppendText([]byte("x"))
			if v.String() != w || string(text) != w || string(app) != "x"+w || err != nil || err2 != nil {
				t.Errorf("%s %d: %q, %q, %q, %v, %v, want %q", f.kind, i, v, text, app, err, err2, w)
			}
			if got, err := f.read(w); err != nil || got != v {
				t.Errorf("%s %q reads as %v, %v", f.kind, w, got, err)
			}
			if doc, err := json.Marshal(v); err != nil || string(doc) != `"`+w+`"` {
				t.Errorf("%s %q in JSON: %s, %v", f.kind, w, doc, err)
			}
		}
		over := f.make(uint8(len(words)))
		if _, err := over.MarshalText(); err == nil || !strings.Contains(over.String(), "(") {
			t.Errorf("%s: number %d behind the frozen list is %v", f.kind, len(words), over)
		}
		for _, bad := range []string{"", "-", "nothing", strings.ToUpper(words[len(words)-1])} {
			if _, err := f.read(bad); err == nil {
				t.Errorf("%s %q is read", f.kind, bad)
			}
		}
	}
}

func TestOpWords(t *testing.T) {
	ops := "mov add sub and or xor shl shr zext sext extract insert load store skip shpush shpop"
	if got := strings.Join(opNames[:], " "); got != ops {
		t.Errorf("operations %s", got)
	}
	conds := "eq ne lt le gt ge b be a ae"
	if got := strings.Join(condNames[:], " "); got != conds {
		t.Errorf("conditions %s", got)
	}
	if s := Op(99).String() + Cond(99).String() + End(99).String(); s != "op(99)cond(99)end(99)" {
		t.Error(s)
	}
}

func TestSets(t *testing.T) {
	if got := (PatchTrap | PatchBranch).Names(); !slices.Equal(got, []string{"trap", "branch"}) {
		t.Error(got)
	}
	if got := (NeedsVector | NeedsShadowStack).Names(); !slices.Equal(got, []string{"vector", "shadow-stack"}) {
		t.Error(got)
	}
	set := HazardReadsPC.Bit() | HazardUnwind.Bit() | HazardContextUnknown.Bit()
	if got := slices.Collect(set.All()); !slices.Equal(got, []Hazard{HazardReadsPC, HazardUnwind, HazardContextUnknown}) {
		t.Error(got)
	}
	for range set.All() {
		break // an iterator must take no for an answer
	}
	if !set.Has(HazardUnwind) || set.Has(HazardRSeq) {
		t.Error("Has")
	}
	if !Forms(0).Has(FormEmulate) || !Forms(0).Has(FormStep) || Forms(0).Has(FormRegion) || FormJump.Bit().Has(FormStep) || !FormRegion.Bit().Has(FormRegion) {
		t.Error("Forms")
	}
}

func TestReasonIsError(t *testing.T) {
	var err error = ReasonNoReach
	if err.Error() != "no-reach" || !errors.Is(fmt.Errorf("x: %w", err), ReasonNoReach) {
		t.Error(err)
	}
	if n := testing.AllocsPerRun(100, func() { err = Reason(len(frozen)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRegSet(t *testing.T) {
	var s RegSet
	if !s.IsEmpty() {
		t.Error("not empty")
	}
	in := []Reg{0, 63, 64, 127, 128, 200, 255}
	s = MakeRegSet(in...)
	s.Add(RegPC)
	s.Add(RegNone)
	s.Add(256)
	if got := slices.Collect(s.All()); !slices.Equal(got, in) {
		t.Errorf("%v, want %v", got, in)
	}
	for range s.All() {
		break
	}
	if s.Has(1) || s.Has(256) || s.Has(RegPC) || !s.Has(255) || s.IsEmpty() {
		t.Error("Has")
	}
	part := MakeRegSet(RegPart(17, 3))
	if !part.Has(17) || part.Intersects(&s) {
		t.Error("a part is not its register")
	}
	s.Union(&part)
	if !s.Has(17) || !part.Intersects(&s) {
		t.Error("Union")
	}
	s.Remove(17)
	s.Remove(RegPC)
	if s != MakeRegSet(in...) {
		t.Error("Remove")
	}
}

func TestRegNames(t *testing.T) {
	for r := range 1 << 16 {
		r := Reg(r)
		v, i, part := r.Part()
		if want := r < 256 || r == RegPC || part; r.Valid() != want {
			t.Errorf("%#x valid: %v", r, r.Valid())
		}
		if part && (RegPart(v, i) != r || v > 255) {
			t.Errorf("%#x is part %d of %d", r, i, v)
		}
		if !r.Valid() {
			continue
		}
		name := testRegs.Name(r)
		if got, ok := testRegs.Reg(name); !ok || got != r {
			t.Errorf("%#x is %q is %#x", r, name, got)
		}
		if app := string(testRegs.AppendName([]byte("x"), r)); app != "x"+name {
			t.Errorf("%q, %q", app, name)
		}
	}
	for _, bad := range []string{"", "%", "%256", "%-1", "%+1", "%01", "rax.8", "rax.", ".1", "rax.11", "rax.x", "rbx", "RAX"} {
		if r, ok := testRegs.Reg(bad); ok {
			t.Errorf("%q is %d", bad, r)
		}
	}
}
