package arm64

import "github.com/xol-go/xol/reloc"

var _ reloc.Fielder = A64

// AppendFields implements [reloc.Fielder]. Fields of A64 are bits and not bytes, so
// what has a name here is the word.
func (a *Arch) AppendFields(dst []reloc.Field, in *reloc.Insn) []reloc.Field {
	if in.Len == 0 {
		return dst
	}
	return append(dst, reloc.Field{Off: 0, Len: int(in.Len), Name: "word"})
}
