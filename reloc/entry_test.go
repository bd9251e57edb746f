package reloc_test

import (
	"bytes"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
	"github.com/xol-go/xol/reloc/reloctest/toy"
)

func TestDescribe(t *testing.T) {
	var e fixups.Entry
	if err := reloc.Describe(&e, x86.AMD64, append(bytes.Clone(movRIP), 0xcc, 0xcc), site, nil, true); err != nil {
		t.Fatal(err)
	}
	if e.PC != site || e.Len != 7 || !bytes.Equal(e.Bytes, movRIP) || e.Class != fixups.ClassPCRelative || e.Reason != 0 {
		t.Errorf("pc %#x, length %d, bytes % x, class %v, reason %v", e.PC, e.Len, e.Bytes, e.Class, e.Reason)
	}
	if !e.HasTarget || e.Target != site+7+0x1234 {
		t.Errorf("target %#x", e.Target)
	}
	if e.Kills != fixups.MakeRegSet(x86.RAX) || e.Writes != e.Kills || e.Patch != fixups.PatchTrap|fixups.PatchBranch {
		t.Errorf("writes %v, kills %v, patch %v", e.Writes, e.Kills, e.Patch.Names())
	}
	if got, want := verdictWords(e.Forms), "emulate: plan; jump: plan; jump far: plan; step: plan; step far: plan; "; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// What does not decode has a refusal for each form that was asked for, and
// nothing of the entry that was there before.
func TestDescribeUndecodable(t *testing.T) {
	step := fixups.FormStep.Bit()
	for _, tt := range []struct {
		name  string
		arch  reloc.Arch
		code  []byte
		env   *reloc.Env
		both  bool
		bytes []byte
		want  fixups.Reason
		forms string
	}{
		{"cut", x86.AMD64, movRIP[:3], nil, true, movRIP[:3], fixups.ReasonTruncated,
			"emulate: truncated; jump: truncated; jump far: truncated; step: truncated; step far: truncated; "},
		{"empty", x86.AMD64, nil, nil, false, nil, fixups.ReasonTruncated, "emulate: truncated; jump far: truncated; step far: truncated; "},
		{"reserved", x86.AMD64, []byte{0x06, 0x90}, &reloc.Env{Forms: step}, true, []byte{0x06}, fixups.ReasonReserved,
			"step: reserved; step far: reserved; "},
		{"near only", x86.I386, call[:2], nil, true, call[:2], fixups.ReasonTruncated, "emulate: truncated; jump: truncated; step: truncated; "},
		{"toy", toy.Toy, []byte{0x0f, 0}, &reloc.Env{Forms: step, Slots: reloc.SlotsNear}, false, []byte{0x0f, 0}, fixups.ReasonReserved, "step: reserved; "},
	} {
		var e fixups.Entry
		if err := reloc.Describe(&e, x86.AMD64, call, site, nil, true); err != nil {
			t.Fatal(err)
		}
		err := reloc.Describe(&e, tt.arch, tt.code, site+8, tt.env, tt.both)
		if err != error(tt.want) || e.Reason != tt.want {
			t.Errorf("%s: %v, reason %v, want %v", tt.name, err, e.Reason, tt.want)
		}
		if e.PC != site+8 || e.Class != fixups.ClassInvalid || !bytes.Equal(e.Bytes, tt.bytes) || e.Patch != 0 || e.HasTarget ||
			!e.Reads.IsEmpty() || !e.Writes.IsEmpty() || !e.Kills.IsEmpty() {
			t.Errorf("%s: something is left: %+v", tt.name, e)
		}
		if got := verdictWords(e.Forms); got != tt.forms {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.forms)
		}
		for i := range e.Forms {
			if !e.Forms[i].Plan.Equal(&fixups.Plan{}) {
				t.Errorf("%s: verdict %d holds a plan", tt.name, i)
			}
		}
	}
}

// Where the context refuses, the site is described all the same.
func TestDescribeContext(t *testing.T) {
	text := &reloc.Text{Addr: site - 2, Data: append(bytes.Clone(movSS), incEAX...)}
	var e fixups.Entry
	err := reloc.Describe(&e, x86.AMD64, incEAX, site, &reloc.Env{Code: text}, false)
	if err != error(fixups.ReasonAdjacent) || e.Reason != fixups.ReasonAdjacent {
		t.Errorf("%v, reason %v", err, e.Reason)
	}
	if e.Class != fixups.ClassPlain || e.Writes.IsEmpty() || e.Patch != 0 || !e.Hazards.Has(fixups.HazardAdjacent) {
		t.Errorf("class %v, writes %v, patch %v", e.Class, e.Writes, e.Patch.Names())
	}
	if got, want := verdictWords(e.Forms), "emulate: adjacent; jump far: adjacent; step far: adjacent; "; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// What the object file says of a site is the caller's.
func TestDescribeKeeps(t *testing.T) {
	e := fixups.Entry{Offset: 0x1000, InFile: true, Func: "main", At: 4, Text: "text"}
	if err := reloc.Describe(&e, x86.AMD64, call, site, nil, false); err != nil {
		t.Fatal(err)
	}
	if e.Offset != 0x1000 || !e.InFile || e.Func != "main" || e.At != 4 || e.Text != "text" {
		t.Errorf("%+v", e)
	}
}

// bare hides everything optional of a port.
type bare struct{ reloc.Arch }

// A port need not know registers, neighbours or ways to patch.
func TestDescribeBare(t *testing.T) {
	var e fixups.Entry
	if err := reloc.Describe(&e, bare{toy.Toy}, toyNop, site, &reloc.Env{Code: &reloc.Text{}}, false); err != nil {
		t.Fatal(err)
	}
	if e.Patch != fixups.PatchTrap|fixups.PatchBranch || !e.Reads.IsEmpty() || !e.Writes.IsEmpty() {
		t.Errorf("patch %v, reads %v, writes %v", e.Patch.Names(), e.Reads, e.Writes)
	}
}

// An entry that was used for other sites comes out like a new one.
func TestDescribeReuse(t *testing.T) {
	var used fixups.Entry
	for _, both := range []bool{true, false} {
		for _, code := range warm {
			var fresh fixups.Entry
			err1 := reloc.Describe(&fresh, x86.AMD64, code, site, nil, both)
			err2 := reloc.Describe(&used, x86.AMD64, code, site, nil, both)
			if err1 != err2 || !fresh.Equal(&used) {
				t.Errorf("% x: %v and %v\n%+v\n%+v", code, err1, err2, fresh, used)
			}
		}
	}
}
