package toy_test

import (
	"testing"

	"github.com/xol-go/xol/reloc/reloctest"
	"github.com/xol-go/xol/reloc/reloctest/toy"
)

func TestConformance(t *testing.T) {
	reloctest.TestArch(t, toy.Toy, &reloctest.Options{AllRows: true})
}
