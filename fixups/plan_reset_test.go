package fixups

import (
	"reflect"
	"testing"
)

// Reset leaves nothing behind but storage, whatever fields a Plan has.
func TestResetEmpties(t *testing.T) {
	var p Plan
	v := reflect.ValueOf(&p).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			fillValue(t, v.Field(i))
		}
	}
	p.Program(Step{Op: OpMov})
	p.Reset()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Slice && f.Len() == 0 || f.IsZero() {
			continue
		}
		t.Errorf("%s is left", v.Type().Field(i).Name)
	}
}

// fillValue gives v a value that is not zero.
func fillValue(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Int64:
		v.SetInt(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Array:
		fillValue(t, v.Index(0))
	case reflect.Struct:
		fillValue(t, v.Field(0))
	default:
		t.Fatalf("no value of kind %v", v.Kind())
	}
	if v.IsZero() {
		t.Fatalf("%v is still zero", v.Type())
	}
}

// TestResetShared: shared points come and go, are never written, and the plan
// keeps its own storage.
func TestResetShared(t *testing.T) {
	shared := []Point{{Off: 1}, {Off: 2}}
	p := Plan{Points: make([]Point, 3, 4), Code: []byte{1}, Pre: Program{}, Stack: 8}
	own := &p.Points[0]
	for range 3 {
		p.ResetShared(shared)
		if !p.Equal(&Plan{Points: shared}) || p.Pre != nil {
			t.Fatalf("%+v", p)
		}
	}
	p.Reset()
	if !p.Equal(&Plan{}) || cap(p.Points) != 4 || &p.Points[:1][0] != own {
		t.Fatalf("%+v", p)
	}
	p.Points = append(p.Points, Point{Off: 9})
	if shared[0].Off != 1 || shared[1].Off != 2 {
		t.Fatalf("%+v", shared)
	}
	p.ResetShared(nil)
	p.Reset()
	if cap(p.Points) != 4 {
		t.Fatalf("%+v", p)
	}
}
