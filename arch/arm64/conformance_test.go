package arm64_test

import (
	"testing"

	"github.com/xol-go/xol/arch/arm64"
	"github.com/xol-go/xol/reloc/reloctest"
)

// TestDecodeConformance puts many more words through the rules of decoding than
// TestConformance of package arch can plan.
func TestDecodeConformance(t *testing.T) {
	n := 40000
	if testing.Short() {
		n = 4000
	}
	reloctest.TestArch(t, arm64.A64, &reloctest.Options{DecodeOnly: true, Random: n})
}
