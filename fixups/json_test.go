package fixups

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func testRegsOf(arch string) (RegNames, bool) { return testRegs, arch == "amd64" }

func checkTableEqual(t *testing.T, got, want *Table) {
	t.Helper()
	if got.Arch != want.Arch || got.File != want.File || got.BuildID != want.BuildID || got.Base != want.Base {
		t.Errorf("head %q %q %q %#x, want %q %q %q %#x", got.Arch, got.File, got.BuildID, got.Base, want.Arch, want.File, want.BuildID, want.Base)
	}
	if !slices.Equal(got.Gaps, want.Gaps) {
		t.Errorf("gaps %v, want %v", got.Gaps, want.Gaps)
	}
	if len(got.Entries) != len(want.Entries) {
		t.Fatalf("%d entries, want %d", len(got.Entries), len(want.Entries))
	}
	for i := range got.Entries {
		if a, b := &got.Entries[i], &want.Entries[i]; !a.Equal(b) {
			t.Fatalf("entry %d:\n%s\nwant\n%s", i, a.AppendJSON(nil, "x", testRegs), b.AppendJSON(nil, "x", testRegs))
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	g := newGen(t, 2)
	for range 100 {
		want := g.table(g.IntN(30))
		for i := range want.Entries {
			if err := want.Entries[i].Check(); err != nil {
				t.Fatal(err)
			}
			want.Entries[i].Text = pick(g, "", "nop", "a \"b\" \\ \t é")
		}
		doc := want.AppendJSON(nil, testRegs)
		if !json.Valid(doc) {
			t.Fatalf("not JSON: %s", doc)
		}
		got, err := DecodeJSON(doc, testRegsOf)
		if err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		checkTableEqual(t, got, want)
		if got.Layout != want.Layout {
			t.Fatalf("layout %+v, want %+v", got.Layout, want.Layout)
		}
		if again := got.AppendJSON(nil, testRegs); !bytes.Equal(again, doc) {
			t.Fatal("a second encoding differs")
		}
	}
}

func TestJSONLRoundTrip(t *testing.T) {
	g := newGen(t, 3)
	want := g.table(50)
	lines := want.AppendJSONL(nil, testRegs)
	if n := bytes.Count(lines, []byte("\n")); n != len(want.Entries) {
		t.Errorf("%d lines for %d entries", n, len(want.Entries))
	}
	got, err := DecodeJSONL(bytes.NewReader(lines), testRegsOf)
	if err != nil {
		t.Fatal(err)
	}
	checkTableEqual(t, got, &Table{Arch: want.Arch, Entries: want.Entries})
	if got, err := DecodeJSONL(strings.NewReader(""), testRegsOf); err != nil || len(got.Entries) != 0 {
		t.Errorf("no lines: %v, %v", got, err)
	}
}

// A name that is not UTF-8 cannot be kept, but the document stays one.
func TestJSONBadUTF8(t *testing.T) {
	e := Entry{Func: "a\xffb\xc3", Len: 1, Bytes: []byte{0x90}}
	doc := e.AppendJSON(nil, "amd64", testRegs)
	got, err := DecodeJSONL(bytes.NewReader(doc), testRegsOf)
	if err != nil || got.Entries[0].Func != "a\ufffdb\ufffd" {
		t.Errorf("%s: %v", doc, err)
	}
}

const jsonDoc = `{"version":1,"arch":"amd64","file":"f","base":"0x0","sites":[{"arch":"amd64","pc":"0x1000","bytes":"90","len":1,` +
	`"class":"plain","patch":["trap"],"forms":[{"form":"jump","slots":"near","verdict":"plan","strategy":"copy","code":"90e900000000",` +
	`"relocs":[{"off":2,"lsb":0,"bits":32,"shift":0,"size":4,"base":"site","addend":-3,"pcrel":true,"check":"signed","order":"insn"}],` +
	`"reach":{"min":-5,"max":5},"points":[{"off":0,"state":"start","insn":0,"back":["pc = mov site"]}],"tail":"jump",` +
	`"escapes":[{"off":1,"kind":"child"}]}]}]}`

func TestJSONRefuses(t *testing.T) {
	if _, err := DecodeJSON([]byte(jsonDoc), testRegsOf); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{ // what is replaced by what
		{`"version":1`, `"version":2`},
		{`"version":1,`, ``},
		{`"arch":"amd64","file"`, `"arch":"vax","file"`},
		{`"arch":"amd64","pc"`, `"arch":"386","pc"`},
		{`"pc":"0x1000",`, ``},
		{`"pc":"0x1000"`, `"pc":4096`},
		{`"pc":"0x1000"`, `"pc":"1000"`},
		{`"pc":"0x1000"`, `"pc":"0x"`},
		{`"pc":"0x1000"`, `"pc":"0x10000000000000000"`},
		{`"pc":"0x1000"`, `"pc":"0x1G"`},
		{`"bytes":"90"`, `"bytes":"9"`},
		{`"bytes":"90"`, `"bytes":"9x"`},
		{`"len":1`, `"len":256`},
		{`"class":"plain"`, `"class":"simple"`},
		{`"class":"plain",`, ``},
		{`"trap"`, `"door"`},
		{`"form":"jump",`, ``},
		{`"near"`, `"close"`},
		{`"verdict":"plan"`, `"verdict":"refused"`},
		{`"verdict":"plan"`, `"verdict":"plan","reason":"data"`},
		{`"verdict":"plan",`, ``},
		{`"strategy":"copy"`, `"strategy":"hope"`},
		{`"code":"90e900000000"`, `"code":"90e90000"`},
		{`"size":4`, `"size":3`},
		{`"bits":32`, `"bits":33`},
		{`"base":"site",`, ``},
		{`"base":"site"`, `"base":"moon"`},
		{`"min":-5,`, ``},
		{`"min":-5`, `"align":3,"min":-5`},
		{`"min":-5`, `"align":4,"residue":4,"min":-5`},
		{`"state":"start",`, ``},
		{`"off":0,"state"`, `"off":7,"state"`},
		{`["pc = mov site"]`, `["pc = mov t0"]`},
		{`["pc = mov site"]`, `["pc := site"]`},
		{`,"kind":"child"`, ``},
		{`"off":1,"kind"`, `"off":7,"kind"`},
		{`"tail":"jump"`, `"tail":"jump","needs":["luck"]`},
		{`"tail":"jump"`, `"tail":"jump","clobbers":["r99"]`},
		{`"tail":"jump"`, `"tail":"jump","clobbers":["xmm0.1"]`},
		{`"tail":"jump"`, `"tail":"jump","emulate":["rax = mov 0","store8le rax, rax"]`},
		{`"tail":"jump"`, `"tail":"jump","slotalign":12`},
		{`"tail":"jump"`, `"tail":"jump","copylen":7`},
		{`]}]}`, `]}]`},
		{`]}]}`, `]}]} {}`},
	} {
		doc := strings.Replace(jsonDoc, c[0], c[1], 1)
		if doc == jsonDoc {
			t.Errorf("%q is not in the document", c[0])
		}
		if _, err := DecodeJSON([]byte(doc), testRegsOf); !errors.Is(err, ErrJSON) {
			t.Errorf("%s instead of %s: %v", c[1], c[0], err)
		}
	}
}

// TestJSONToBinary: what a 32-bit table says of its words and byte orders
// survives the way through JSON; without it no binary table is written.
func TestJSONToBinary(t *testing.T) {
	want := &Table{Arch: "amd64", Layout: Layout{Bits: 32, Align: 4, Placing: Placing{Insn: BigEndian}}, Entries: []Entry{plainEntry(0x1000, 1, 2, 3, 4)}}
	got, err := DecodeJSON(want.AppendJSON(nil, testRegs), testRegsOf)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(encode(t, got), encode(t, want)) {
		t.Error("the binary table differs after JSON")
	}
	lines, err := DecodeJSONL(bytes.NewReader(want.AppendJSONL(nil, testRegs)), testRegsOf)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lines.AppendBinary(nil); !errors.Is(err, ErrEncode) || !strings.Contains(err.Error(), "Layout.Bits") {
		t.Errorf("without a layout: %v", err)
	}
	for _, l := range []string{`{}`, `{"bits":64,"align":1,"insn":"le"}`, `{"bits":0,"align":1,"insn":"le","data":"le"}`, `{"bits":16,"align":1,"insn":"le","data":"le"}`,
		`{"bits":64,"align":3,"insn":"le","data":"le"}`, `{"bits":64,"align":1,"insn":"me","data":"le"}`} {
		doc := strings.Replace(jsonDoc, `"sites"`, `"layout":`+l+`,"sites"`, 1)
		if _, err := DecodeJSON([]byte(doc), testRegsOf); !errors.Is(err, ErrJSON) {
			t.Errorf("%s: %v", l, err)
		}
	}
}

// Fields of later writers do not disturb.
func TestJSONUnknownFields(t *testing.T) {
	doc := strings.Replace(jsonDoc, `"tail"`, `"new":{"a":[1]},"tail"`, 1)
	doc = strings.Replace(doc, `"file"`, `"also":1,"file"`, 1)
	got, err := DecodeJSON([]byte(doc), testRegsOf)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := DecodeJSON([]byte(jsonDoc), testRegsOf)
	checkTableEqual(t, got, want)
}

func TestJSONOrder(t *testing.T) {
	two := func(a, b string) string {
		s := `{"arch":"amd64","pc":"PC","bytes":"90","len":1,"class":"plain"}` + "\n"
		return strings.Replace(s, "PC", a, 1) + strings.Replace(s, "PC", b, 1)
	}
	if _, err := DecodeJSONL(strings.NewReader(two("0x1", "0x2")), testRegsOf); err != nil {
		t.Error(err)
	}
	if _, err := DecodeJSONL(strings.NewReader(two("0x2", "0x2")), testRegsOf); !errors.Is(err, ErrJSON) {
		t.Error(err)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(jsonDoc))
	f.Add(gen{newSeeded(1)}.table(5).AppendJSON(nil, testRegs))
	f.Fuzz(func(t *testing.T, doc []byte) {
		table, err := DecodeJSON(doc, testRegsOf)
		if err != nil {
			if !errors.Is(err, ErrJSON) {
				t.Fatal(err)
			}
			return
		}
		canon := table.AppendJSON(nil, testRegs)
		again, err := DecodeJSON(canon, testRegsOf)
		if err != nil {
			t.Fatalf("%v\n%s", err, canon)
		}
		checkTableEqual(t, again, table)
	})
}

func TestAppendJSONAllocs(t *testing.T) {
	table := newGen(t, 4).table(50)
	dst := table.AppendJSON(nil, testRegs)
	if n := testing.AllocsPerRun(20, func() { dst = table.AppendJSONL(dst[:0], testRegs) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
