package arm64

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// rowText is what a row is called, and which words it takes.
type rowText struct {
	pattern     string // bits 31 to 0
	name        string // mnemonic, or what a group has in common
	source      uint16 // index of rowSources
	first       uint16 // of its operands
	n           uint8
	mask, value uint32
}

var _ reloc.Describer = A64

// Rows implements [reloc.Describer]: the rows in the order of their numbers,
// which begin with 1.
func (a *Arch) Rows() []reloc.Row {
	rows := make([]reloc.Row, 0, len(rowTexts)-1)
	for id := uint32(1); id < uint32(len(rowTexts)); id++ {
		rows = append(rows, makeRow(id))
	}
	return rows
}

// Row implements [reloc.Describer].
func (a *Arch) Row(id uint32) (reloc.Row, bool) {
	if id == 0 || id >= uint32(len(rowTexts)) {
		return reloc.Row{}, false
	}
	return makeRow(id), true
}

// RowOf implements [reloc.Describer].
func (a *Arch) RowOf(in *reloc.Insn) (reloc.Row, bool) { return a.Row(in.Row) }

func makeRow(id uint32) reloc.Row {
	t := &rowTexts[id]
	return reloc.Row{
		ID:      id,
		Pattern: t.pattern,
		Name:    t.name,
		Class:   fixups.Class(facts[id] >> factClass & 15),
		Hazards: fixups.Hazards(facts[id] & factHazards),
		Source:  rowSources[t.source],
	}
}
