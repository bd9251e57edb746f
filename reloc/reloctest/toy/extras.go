package toy

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Registers implements [reloc.Registerer].
func (Arch) Registers(use *reloc.RegUse, in *reloc.Insn) {
	*use = reloc.RegUse{}
	op, d, s := in.Row, rd(in), rs(in)
	if op == opPrefix {
		op, d, s = uint32(in.Ext[0]>>16&15), fixups.Reg(in.Ext[0]>>20&15), fixups.Reg(in.Ext[0]>>24&15)
	}
	switch op {
	case opAdd:
		use.Reads = fixups.MakeRegSet(d, s)
		use.Writes = fixups.MakeRegSet(d)
	case opLd, opLdx:
		use.Reads = fixups.MakeRegSet(s)
		use.Writes = fixups.MakeRegSet(d)
	case opSt:
		use.Reads = fixups.MakeRegSet(d, s)
	case opStx:
		use.Reads = fixups.MakeRegSet(d, s)
		use.Writes = fixups.MakeRegSet(d)
	case opBz:
		use.Reads = fixups.MakeRegSet(d)
	case opCall:
		use.Writes = fixups.MakeRegSet(LR)
	case opLdpc:
		use.Writes = fixups.MakeRegSet(d)
	case opJr:
		use.Reads = fixups.MakeRegSet(s)
	case opRet:
		use.Reads = fixups.MakeRegSet(LR)
	}
	use.Kills = use.Writes
}

// Context implements [reloc.Contexter]: up to four words in front of the site
// are looked at, for a prefix that this is the second word of, and for an
// exclusive sequence that is open here. A word of the code before may be the
// second one of a longer instruction; then the answer errs on the safe side.
func (Arch) Context(in *reloc.Insn, env *reloc.Env) error {
	for i := uint64(2); i <= 8; i += 2 {
		b := env.Code.Bytes(in.PC - i)
		if len(b) < 2 {
			return nil
		}
		switch op := b[0] & 15; {
		case op == opPrefix && i == 2 && (in.Row == opLd || in.Row == opSt):
			return fixups.ReasonSuffixWord
		case op == opStx:
			return nil
		case op == opLdx:
			return fixups.ReasonExclusive
		}
	}
	return nil
}

// Patch implements [reloc.Patcher]: a branch is four bytes long.
func (Arch) Patch(in *reloc.Insn, _ *reloc.Env) fixups.Patch {
	if in.Len == 4 {
		return fixups.PatchTrap | fixups.PatchBranch
	}
	return fixups.PatchTrap
}

// AppendRandom implements [reloc.Generator].
func (Arch) AppendRandom(dst []byte, rnd func() uint64) []byte {
	r := rnd()
	op := uint32(r>>48) % numOps
	w := uint32(r)&^15&^uint32(ops[op].zero) | op
	switch {
	case op == opPrefix:
		w = w&0x0ff0ffff | (opLd+uint32(r>>63))<<16
	case ops[op].words == 1:
		return binary.LittleEndian.AppendUint16(dst, uint16(w))
	}
	return binary.LittleEndian.AppendUint32(dst, w)
}

// Rows implements [reloc.Describer].
func (a Arch) Rows() []reloc.Row {
	rows := make([]reloc.Row, 0, numOps)
	for id := range uint32(numOps) {
		r, _ := a.Row(id)
		rows = append(rows, r)
	}
	return rows
}

// Row implements [reloc.Describer].
func (Arch) Row(id uint32) (reloc.Row, bool) {
	if id >= numOps {
		return reloc.Row{}, false
	}
	f := &ops[id]
	return reloc.Row{ID: id, Pattern: patterns[id], Name: f.name, Class: f.class, Hazards: f.hazards, Source: "package toy, opcode table"}, true
}

// RowOf implements [reloc.Describer].
func (a Arch) RowOf(in *reloc.Insn) (reloc.Row, bool) { return a.Row(in.Row) }

var patterns = [numOps]string{
	"0", "1 rd rs", "2 rd rs", "3 rd rs", "4 s12", "5 rd s8", "6 s28", "7 s28", "8 rd s24", "9", "10 rd rs", "11 rd rs",
	"12 d12", "13 rs", "14",
}
