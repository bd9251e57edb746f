package x86

import (
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// FuzzDecode: any bytes have one answer, and it is that of every longer and
// every sufficient shorter input (C1).
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"90", "c5f877c3", "62f17c48100578563412", "d500a10807060504030201", "0f0fc00c", "8fe878c2c010", "66676566f2f0480fc70a"} {
		f.Add(unhex(f, s), uint64(0x1000))
	}
	f.Fuzz(func(t *testing.T, code []byte, pc uint64) {
		for _, a := range arches {
			var in reloc.Insn
			err := a.Decode(&in, code, pc)
			n := int(in.Len)
			if n > len(code) || n > 15 || n == 0 && len(code) > 0 || in.PC != pc {
				t.Fatalf("%s: %x: %d bytes, %v", a.info.Name, code, n, err)
			}
			if (err == nil) != (in.Class != fixups.ClassInvalid) {
				t.Fatalf("%s: %x: class %v, %v", a.info.Name, code, in.Class, err)
			}
			for cut := range code {
				var short reloc.Insn
				got := a.Decode(&short, code[:cut:cut], pc)
				switch {
				case cut >= n && err != fixups.ReasonTruncated:
					if got != err || short != in {
						t.Fatalf("%s: %x: %v, cut to %d %v", a.info.Name, code, err, cut, got)
					}
				case got != fixups.ReasonTruncated || int(short.Len) != min(cut, 15):
					t.Fatalf("%s: %x: %v with %d bytes, cut to %d %v", a.info.Name, code, err, n, cut, got)
				}
			}
			if err == nil {
				var use reloc.RegUse
				a.Registers(&use, &in)
			}
		}
	})
}
