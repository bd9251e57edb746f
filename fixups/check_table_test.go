package fixups

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

func wellFormed() *Table {
	return &Table{Arch: "amd64", File: "f", BuildID: "0a", Layout: Layout{Bits: 32}, Base: 0x1000,
		Entries: []Entry{plainEntry(0x1000, 1, 2), plainEntry(0x1002, 3), plainEntry(0xffffffff, 4)},
		Gaps:    []Range{{Addr: 0x1003, Size: 1}, {Addr: 0x1004, Size: 4}, {Addr: 0xffffff00, Size: 0x100}}}
}

// TestTableCheck: what Check refuses, the reader of JSON and the writer of binary
// tables refuse too.
func TestTableCheck(t *testing.T) {
	good := wellFormed()
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeJSON(good.AppendJSON(nil, testRegs), testRegsOf); err != nil {
		t.Fatal(err)
	}
	encode(t, good)
	for name, change := range map[string]func(*Table){
		"base":             func(t *Table) { t.Base = 1 << 32 },
		"build ID":         func(t *Table) { t.BuildID = "0G" },
		"file":             func(t *Table) { t.File = "a\x00" },
		"function":         func(t *Table) { t.Entries[1].Func = "a\x00" },
		"length":           func(t *Table) { t.Entries[0].Len = 3 },
		"bytes":            func(t *Table) { t.Entries[0].Len = 1 },
		"no length":        func(t *Table) { t.Entries[0].Len, t.Entries[0].Bytes = 0, nil },
		"order":            func(t *Table) { t.Entries[1].PC = 0xfff },
		"same":             func(t *Table) { t.Entries[1].PC = 0x1000 },
		"overlap":          func(t *Table) { t.Entries[1].PC = 0x1001 },
		"32 bits":          func(t *Table) { t.Entries[2].PC = 1 << 32 },
		"end of 32 bits":   func(t *Table) { t.Entries[2] = plainEntry(0xffffffff, 4, 5) },
		"end of 64 bits":   func(t *Table) { t.Layout.Bits, t.Entries[2] = 64, plainEntry(^uint64(0), 4, 5) },
		"target":           func(t *Table) { t.Entries[0].HasTarget, t.Entries[0].Target = true, 1<<32 },
		"empty gap":        func(t *Table) { t.Gaps[0].Size = 0 },
		"gaps overlap":     func(t *Table) { t.Gaps[0].Size = 2 },
		"order of gaps":    func(t *Table) { t.Gaps[0].Addr = 0x1010 },
		"gap of 32 bits":   func(t *Table) { t.Gaps[2].Size++ },
		"gap of 64 bits":   func(t *Table) { t.Layout.Bits, t.Gaps[2].Size = 64, -t.Gaps[2].Addr+1 },
		"plan of an entry": func(t *Table) { t.Entries[0].Forms = []Verdict{{}} },
	} {
		bad := wellFormed()
		change(bad)
		if err := bad.Check(); !errors.Is(err, ErrTable) && !errors.Is(err, ErrPlan) {
			t.Errorf("%s: Check: %v", name, err)
		}
		if _, err := bad.AppendBinary(nil); !errors.Is(err, ErrEncode) {
			t.Errorf("%s: AppendBinary: %v", name, err)
		}
		if name == "plan of an entry" {
			continue // JSON has no way to say it
		}
		if _, err := DecodeJSON(bad.AppendJSON(nil, testRegs), testRegsOf); !errors.Is(err, ErrJSON) {
			t.Errorf("%s: DecodeJSON: %v", name, err)
		}
	}
	cutOff := wellFormed()
	cutOff.Entries[2] = Entry{PC: 0x2000, Len: 3, Bytes: []byte{1}, Reason: ReasonTruncated}
	if _, err := DecodeJSON(cutOff.AppendJSON(nil, testRegs), testRegsOf); err != nil {
		t.Error(err)
	}
}

// TestJSONStrict: what encoding/json lets pass.
func TestJSONStrict(t *testing.T) {
	doc := strings.Replace(jsonDoc, `"base":"0x0",`, `"base":"0x0","layout":{"bits":64,"align":1,"insn":"le","data":"le"},"gaps":[{"addr":"0x1","size":2}],`, 1)
	refused := func(from, to string) {
		t.Helper()
		s := strings.Replace(doc, from, to, 1)
		if s == doc {
			t.Fatalf("%q is not in the document", from)
		}
		if _, err := DecodeJSON([]byte(s), testRegsOf); !errors.Is(err, ErrJSON) {
			t.Errorf("%s instead of %s: %v", to, from, err)
		}
	}
	for from, to := range map[string]string{
		`"base":"0x0",`:    ``,
		`"file":"f",`:      ``,
		`"sites":[`:        `"sites":null,"other":[`,
		`,"sites":[`:       `,"other":[`,
		`"gaps":[`:         `"gaps":[null,`,
		`"addr":"0x1",`:    ``,
		`,"size":2`:        ``,
		`"addr":"0x1"`:     `"addr":"0x1","addr":"0x1"`,
		`"bytes":"90",`:    ``,
		`"len":1,`:         ``,
		`"len":1`:          `"Len":1`,
		`"len"`:            `"len":1,"LEN"`,
		`"class":"plain"`:  `"class":"plain","\u0063lass":"plain"`,
		`"class":"plain",`: `"cla\u017fs":"plain",`, // folds to s
		`"file":"f"`:       `"file":"\xff"`,
		`"trap"`:           `null`,
		`"pcrel":true,`:    ``,
		`"off":2,`:         ``,
		`"insn":0,`:        ``,
		`"tail":"jump"`:    `"tail":"jump","new":1,"new":2`,
		`"back":[`:         `"back":null,"other":[`,
		`{"version"`:       `null{"version"`,
	} {
		refused(from, to)
	}
	if _, err := DecodeJSON([]byte("null"), testRegsOf); !errors.Is(err, ErrJSON) {
		t.Error(err)
	}
	for from, to := range map[string]string{ // unknown fields hold anything
		`"file"`: `"new":{"LEN":[null,{"pc":null,"pc":"}]"}],"x":-1.5e3},"file"`,
		`"off"`:  `"new" : [ ] , "null" : null , "off"`,
	} {
		if _, err := DecodeJSON([]byte(strings.Replace(doc, from, to, 1)), testRegsOf); err != nil {
			t.Errorf("%s: %v", to, err)
		}
	}
	line := `{"arch":"amd64","pc":"0x1","bytes":"90","len":1,"class":"plain","class":"plain"}`
	if _, err := DecodeJSONL(strings.NewReader(line), testRegsOf); !errors.Is(err, ErrJSON) {
		t.Error(err)
	}
}

// TestJSONRules: the rules are those of the schema.
func TestJSONRules(t *testing.T) {
	objects := allObjects(readSchema(t))
	for field, def := range map[string]string{"": "table", "layout": "layout", "gaps": "gap", "sites": "site", "forms": "form",
		"relocs": "reloc", "reach": "reach", "points": "point", "escapes": "escape"} {
		rule, s := jsonRules[field], objects[def]
		all := slices.Sorted(slices.Values(slices.Concat(rule.required, rule.optional)))
		if want := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(all, want) {
			t.Errorf("%s: %v, want %v", def, all, want)
		}
		if !slices.Equal(rule.required, s.Required) {
			t.Errorf("%s: required %v, want %v", def, rule.required, s.Required)
		}
		delete(objects, def)
	}
	if len(objects) != 0 || len(jsonRules) != 9 {
		t.Errorf("%d rules; without one: %v", len(jsonRules), objects)
	}
}

// TestErrorsAreShort: an error does not repeat an input of any length.
func TestErrorsAreShort(t *testing.T) {
	long := strings.Repeat("1", 1<<20)
	for from, to := range map[string]string{
		`"len":1`:          `"len":` + long,
		`"version":1`:      `"version":` + long,
		`"addend":-3`:      `"addend":-` + long,
		`"pc":"0x1000"`:    `"pc":"` + long + `"`,
		`"bytes":"90"`:     `"bytes":"x` + long + `1"`,
		`"class":"plain"`:  `"class":"` + long + `"`,
		`"arch":"amd64"`:   `"arch":"` + long + `"`,
		`"slots":"near"`:   `"slots":"` + long + `"`,
		`"trap"`:           `"` + long + `"`,
		`"pc = mov site"`:  `"pc = mov ` + long + `"`,
		`"verdict":"plan"`: `"verdict":"` + long + `"`,
	} {
		doc := strings.Replace(jsonDoc, from, to, 1)
		if _, err := DecodeJSON([]byte(doc), testRegsOf); err == nil || len(err.Error()) > 500 {
			t.Errorf("%s: an error of %d bytes", from, len(err.Error()))
		}
	}
	if _, err := ParseStep("rax = "+long, testRegs); err == nil || len(err.Error()) > 500 {
		t.Errorf("a step: an error of %d bytes", len(err.Error()))
	}
	var c Class
	if err := c.UnmarshalText([]byte(long)); err == nil || len(err.Error()) > 500 {
		t.Error("an enumeration: a long error")
	}
}
