package fixups

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schema is as much of JSON Schema as docs/table.schema.json uses.
type schema struct {
	Ref        string              `json:"$ref"`
	Type       string              `json:"type"`
	Const      any                 `json:"const"`
	Enum       []any               `json:"enum"`
	Pattern    string              `json:"pattern"`
	Minimum    *json.Number        `json:"minimum"`
	Maximum    *json.Number        `json:"maximum"`
	MaxItems   *int                `json:"maxItems"`
	Items      *schema             `json:"items"`
	Required   []string            `json:"required"`
	Dependent  map[string][]string `json:"dependentRequired"`
	Properties map[string]*schema  `json:"properties"`
	Defs       map[string]*schema  `json:"$defs"`
	Schema     string              `json:"$schema"`
	Title      string              `json:"title"`
	About      string              `json:"description"`
}

func readSchema(t *testing.T) *schema {
	t.Helper()
	data, err := os.ReadFile("../docs/table.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	dec.DisallowUnknownFields() // a keyword this test does not know would not be checked
	s := &schema{}
	if err := dec.Decode(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// validator holds a document against a schema, and notes what was seen.
type validator struct {
	root *schema
	seen map[string]bool
}

func (v *validator) check(s *schema, x any, at string) error {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		return v.check(v.root.Defs[name], x, name)
	}
	if s.Const != nil && !reflect.DeepEqual(s.Const, x) {
		return fmt.Errorf("%s: %v is not %v", at, x, s.Const)
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return reflect.DeepEqual(e, x) }) {
		return fmt.Errorf("%s: %v is not one of %v", at, x, s.Enum)
	}
	switch x := x.(type) {
	case map[string]any:
		return v.object(s, x, at)
	case []any:
		if s.Type != "array" || s.MaxItems != nil && len(x) > *s.MaxItems {
			return fmt.Errorf("%s: a list of %d", at, len(x))
		}
		for _, e := range x {
			if err := v.check(s.Items, e, at); err != nil {
				return err
			}
		}
	case string:
		if s.Type != "string" && s.Enum == nil || s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(x) {
			return fmt.Errorf("%s: %q", at, x)
		}
	case json.Number:
		return s.number(x, at)
	case bool:
		if s.Type != "boolean" && s.Const == nil {
			return fmt.Errorf("%s: %v", at, x)
		}
	default:
		return fmt.Errorf("%s: %v", at, x)
	}
	return nil
}

func (v *validator) object(s *schema, x map[string]any, at string) error {
	if s.Type != "object" {
		return fmt.Errorf("%s: an object", at)
	}
	for _, k := range s.Required {
		if _, ok := x[k]; !ok {
			return fmt.Errorf("%s: no %s", at, k)
		}
	}
	for k, e := range x {
		p := s.Properties[k]
		if p == nil {
			return fmt.Errorf("%s: field %q is not in the schema", at, k)
		}
		for _, d := range s.Dependent[k] {
			if _, ok := x[d]; !ok {
				return fmt.Errorf("%s: %s without %s", at, k, d)
			}
		}
		v.seen[at+"."+k] = true
		if err := v.check(p, e, at+"."+k); err != nil {
			return err
		}
	}
	return nil
}

func (s *schema) number(x json.Number, at string) error {
	n, ok := new(big.Int).SetString(string(x), 10)
	if !ok || s.Type != "integer" && s.Enum == nil && s.Const == nil {
		return fmt.Errorf("%s: number %v", at, x)
	}
	for i, bound := range []*json.Number{s.Minimum, s.Maximum} {
		if bound == nil {
			continue
		}
		b, _ := new(big.Int).SetString(string(*bound), 10)
		if c := n.Cmp(b); i == 0 && c < 0 || i == 1 && c > 0 {
			return fmt.Errorf("%s: %v is out of range", at, x)
		}
	}
	return nil
}

// TestSchemaOutput: what is written is what the schema says, and in enough
// random tables every field of the schema occurs.
func TestSchemaOutput(t *testing.T) {
	root := readSchema(t)
	v := &validator{root: root, seen: map[string]bool{}}
	g := newGen(t, 11)
	for range 40 {
		table := g.table(30)
		table.Entries[0].Text = "nop"
		dec := json.NewDecoder(bytes.NewReader(table.AppendJSON(nil, testRegs)))
		dec.UseNumber()
		var doc any
		if err := dec.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		if err := v.check(root, doc, "table"); err != nil {
			t.Fatal(err)
		}
	}
	for where, s := range allObjects(root) {
		for k := range s.Properties {
			if !v.seen[where+"."+k] {
				t.Errorf("%s.%s is in the schema and never written", where, k)
			}
		}
	}
}

func allObjects(root *schema) map[string]*schema {
	all := map[string]*schema{"table": root}
	for k, s := range root.Defs {
		if s.Type == "object" {
			all[k] = s
		}
	}
	return all
}

// TestSchemaFields: schema and reader know the same fields.
func TestSchemaFields(t *testing.T) {
	objects := allObjects(readSchema(t))
	for name, x := range map[string]any{"table": jsonTable{}, "layout": jsonLayout{}, "gap": jsonGap{}, "site": jsonSite{}, "form": jsonForm{},
		"reloc": jsonReloc{}, "reach": jsonReach{}, "point": jsonPoint{}, "escape": jsonEscape{}} {
		var tags []string
		for f := range reflect.TypeOf(x).NumField() {
			tags = append(tags, reflect.TypeOf(x).Field(f).Tag.Get("json"))
		}
		slices.Sort(tags)
		if want := slices.Sorted(maps.Keys(objects[name].Properties)); !slices.Equal(tags, want) {
			t.Errorf("%s: the reader knows %v, the schema %v", name, tags, want)
		}
		delete(objects, name)
	}
	if len(objects) != 0 {
		t.Errorf("objects of the schema that no reader has: %v", slices.Collect(maps.Keys(objects)))
	}
}

// TestSchemaSpellings: enumerations of the schema are those of the package.
func TestSchemaSpellings(t *testing.T) {
	root := readSchema(t)
	for where, names := range map[string][]string{
		"site.class": classNames[:], "site.patch": patchNames[:], "site.hazards": hazardNames[:], "form.form": formNames[:],
		"form.strategy": strategyNames[1:], "form.stop": stopNames[:], "form.tail": tailNames[:], "form.returns": returnsNames[:],
		"form.needs": needNames[:], "reloc.base": baseNames[:], "reloc.check": checkNames[:], "reloc.order": orderNames[:],
		"point.state": stateNames[:], "escape.kind": escapeKindNames[:], "reason": reasonNames[1:],
	} {
		def, field, ok := strings.Cut(where, ".")
		s := root.Defs[def]
		if ok {
			s = s.Properties[field]
		}
		if s.Items != nil {
			s = s.Items
		}
		var got []string
		for _, e := range s.Enum {
			got = append(got, e.(string))
		}
		if !slices.Equal(got, names) {
			t.Errorf("%s: %v, want %v", where, got, names)
		}
	}
}
