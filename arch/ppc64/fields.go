package ppc64

import "github.com/xol-go/xol/reloc"

var _ reloc.Fielder = BE

// AppendFields implements [reloc.Fielder]. Fields of Power are bits and not bytes,
// and in little-endian order they do not even follow one another, so what has a
// name here are the words.
func (a *Arch) AppendFields(dst []reloc.Field, in *reloc.Insn) []reloc.Field {
	switch in.Len {
	case pairLen:
		return append(dst,
			reloc.Field{Off: 0, Len: wordLen, Name: "prefix"},
			reloc.Field{Off: wordLen, Len: wordLen, Name: "suffix"})
	case 0:
		return dst
	}
	return append(dst, reloc.Field{Off: 0, Len: int(in.Len), Name: "word"})
}
