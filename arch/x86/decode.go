package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

type modeTables struct{}

var tables64, tables32 modeTables

// Decode implements [reloc.Arch].
func (a *Arch) Decode(in *reloc.Insn, code []byte, pc uint64) error {
	*in = reloc.Insn{PC: pc}
	return fixups.ReasonUnknown
}
