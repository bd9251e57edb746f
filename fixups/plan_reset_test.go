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
