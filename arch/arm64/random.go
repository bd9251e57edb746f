package arm64

import (
	"encoding/binary"

	"github.com/xol-go/xol/reloc"
)

var _ reloc.Generator = A64

// AppendRandom implements [reloc.Generator]: a row is drawn, and the bits that it
// leaves open.
func (a *Arch) AppendRandom(dst []byte, rnd func() uint64) []byte {
	for {
		id := uint32(1 + rnd()%uint64(len(facts)-1))
		if w, ok := randomOf(id, rnd); ok {
			return binary.LittleEndian.AppendUint32(dst, w)
		}
	}
}

// randomOf draws an encoding of a row, as far as rows before it do not take what is
// drawn: then it fails.
func randomOf(id uint32, rnd func() uint64) (uint32, bool) {
	t := &rowTexts[id]
	for range 20 {
		if w := uint32(rnd())&^t.mask | t.value; rowOf(w) == id {
			return w, true
		}
	}
	return 0, false
}
