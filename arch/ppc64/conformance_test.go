package ppc64_test

import (
	"testing"

	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
	"github.com/xol-go/xol/reloc/reloctest"
)

type decoder struct{ *ppc64.Arch }

func (decoder) Plan(p *reloc.Plan, _ *reloc.Insn, _ *reloc.Env) error {
	p.Reset()
	return fixups.ReasonUnknown
}

func TestConformance(t *testing.T) {
	reloctest.TestArch(t, decoder{ppc64.LE}, &reloctest.Options{DecodeOnly: true, Random: 20000})
	reloctest.TestArch(t, decoder{ppc64.BE}, &reloctest.Options{DecodeOnly: true, Random: 20000})
}
