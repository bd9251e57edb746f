package arch_test

import (
	"testing"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/reloc/reloctest"
)

// FuzzConformance gives any bytes at any address to every port: an answer that
// keeps the rules of the suite, whatever they are.
func FuzzConformance(f *testing.F) {
	n := 0
	for c := range corpus.All() {
		if n++; n%5 == 0 {
			f.Add(c.Bytes, c.PC)
		}
	}
	f.Fuzz(func(t *testing.T, code []byte, pc uint64) {
		if len(code) > 32 {
			code = code[:32]
		}
		for a := range arch.All() {
			i := a.Info()
			at := pc &^ uint64(i.Align-1)
			if i.Bits == 32 {
				at &= 1<<32 - 1
			}
			if err := reloctest.CheckCode(a, code, at); err != nil {
				t.Error(err)
			}
		}
	})
}
