package native

import "testing"

func TestDetect(t *testing.T) {
	o := New()
	f, err := o.Features()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", f)
	t.Log(f.Absent())
}
