package ppc64_test

import (
	"testing"

	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/reloc/reloctest"
)

// TestDecodeConformance puts many more words through the rules of decoding than
// TestConformance can plan.
func TestDecodeConformance(t *testing.T) {
	n := 4000
	if testing.Short() {
		n = 500
	}
	for _, a := range []*ppc64.Arch{ppc64.BE, ppc64.LE} {
		reloctest.TestArch(t, a, &reloctest.Options{DecodeOnly: true, Random: n})
	}
}
