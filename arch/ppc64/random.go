package ppc64

import (
	"encoding/binary"

	"github.com/xol-go/xol/reloc"
)

var _ reloc.Generator = BE

// AppendRandom implements [reloc.Generator]: a row is drawn, and the bits that it
// leaves open.
func (a *Arch) AppendRandom(dst []byte, rnd func() uint64) []byte {
	for {
		id := uint32(1 + rnd()%uint64(len(facts)-1))
		if w, ok := randomOf(id, rnd); ok {
			return a.appendWords(dst, id, w)
		}
	}
}

// randomOf draws an encoding of a row, as far as rows before it do not take what is
// drawn: then it fails.
func randomOf(id uint32, rnd func() uint64) (uint64, bool) {
	t := &rowTexts[id]
	for range 20 {
		w := rnd()&^t.mask | t.value
		if t.pair && pairRowOf(w) == id {
			return w, true
		}
		if w &= 1<<32 - 1; !t.pair && rowOf(uint32(w)) == id {
			return w, true
		}
	}
	return 0, false
}

// appendWords appends the word or words of an encoding of a row.
func (a *Arch) appendWords(dst []byte, id uint32, w uint64) []byte {
	order := binary.AppendByteOrder(binary.LittleEndian)
	if a.big {
		order = binary.BigEndian
	}
	if rowTexts[id].pair {
		dst = order.AppendUint32(dst, uint32(w>>32))
	}
	return order.AppendUint32(dst, uint32(w))
}
