//go:build linux && amd64

package linux_test

import (
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/xol-go/xol/fixups/linux"
)

// TestPtraceRegs holds the map against the structure that Go's own ptrace calls
// fill.
func TestPtraceRegs(t *testing.T) {
	typ := reflect.TypeFor[syscall.PtraceRegs]()
	if int(typ.Size()) != linux.AMD64UserRegs.Size {
		t.Errorf("%d bytes, not %d", typ.Size(), linux.AMD64UserRegs.Size)
	}
	for _, f := range linux.AMD64UserRegs.Fields {
		name := strings.ToUpper(f.C[:1]) + f.C[1:]
		if s, ok := typ.FieldByName(name); !ok || s.Offset != uintptr(f.Off) {
			t.Errorf("%s is at %d (%t), not %d", name, s.Offset, ok, f.Off)
		}
	}
}
