package objfile

import (
	"debug/elf"
	"encoding/binary"
	"slices"
)

// Compilers of 64-bit Power put a traceback table behind the code of a function,
// inside the size of its symbol: a word of zeros, which is no instruction, and
// eight bytes or more of facts for debuggers ("64-bit PowerPC ELF ABI Supplement"
// 1.9, section 3.3, Traceback Tables; the second ABI's compilers write the same).
// Its bytes may look like instructions: the last word of the shortest one for a
// function that saves a register is lwz r0,0(0) in big-endian order. So the table
// has to be told from code by its own form: it is one where, read from the word
// of zeros, it ends where the function does. The word behind the zeros begins with
// the table's version, 0, and no instruction of a compiler does.

// Sizes in bytes: the word of zeros, the fixed part, and what may follow it.
const (
	traceTag   = 4
	traceFixed = 8
	traceMost  = traceTag + traceFixed + 4 + 4 + 4 + 4 + 2 + 256 + 1

	// powerFunc bounds the functions that are looked at: no bc or b crosses one
	// that is longer.
	powerFunc = 64 << 20
)

// findPower returns the data that compilers of 64-bit Power put into functions:
// traceback tables and jump tables.
func (f *File) findPower() ([]Range, error) {
	if f.Machine != elf.EM_PPC64 {
		return nil, nil
	}
	funcs, err := f.funcs()
	if err != nil {
		return nil, err
	}
	p := powerData{order: f.lay.order}
	for _, fn := range funcs {
		if fn.Size > powerFunc {
			continue
		}
		p.code = slices.Grow(p.code[:0], int(fn.Size))
		n, err := f.ReadCode(p.code[:fn.Size], fn.Addr)
		if err != nil {
			return nil, err
		}
		p.code, p.addr = p.code[:n&^3], uint64(fn.Addr)
		p.function(uint64(n) == fn.Size)
	}
	return p.out, nil
}

// powerData finds the data in one function after the other.
type powerData struct {
	order binary.ByteOrder
	code  []byte // of the function, whole words
	addr  uint64
	out   []Range
}

func (p *powerData) word(off int) uint32 { return p.order.Uint32(p.code[off:]) }

func (p *powerData) add(off, size int) {
	p.out = append(p.out, Range{VAddr(p.addr + uint64(off)), uint64(size)})
}

func (p *powerData) function(whole bool) {
	const bctr = 0x4e800420
	end := len(p.code)
	if off := p.trace(); off >= 0 && whole {
		end = off
	}
	for off := 4; off < end; off += 4 {
		if p.word(off-4) != bctr {
			continue
		}
		if n := p.jumps(off, end); n > 0 {
			p.add(off, n)
			off += n
		}
	}
	if end < len(p.code) {
		p.add(end, len(p.code)-end)
	}
}

// jumps returns the size of the jump table at off, 0 if there is none. GCC puts
// one behind the bctr that goes by it: words, each the distance of a case from the
// start of the table. No case lies in the table, so it ends before the next one,
// and every distance leads into the function. Instructions of a compiler are not
// like that: a distance is less than 2^26, and of major opcode 0 there is no
// instruction but attn, which stops the processor; or it is negative, and some
// other distance is not.
func (p *powerData) jumps(off, end int) int {
	n, sure := 0, false
	for last := end; off+n < last; n += 4 {
		w := p.word(off + n)
		to := int64(off) + int64(int32(w))
		if to < 0 || to >= int64(end) || to&3 != 0 || to >= int64(off) && to < int64(off+n+4) {
			break
		}
		if to > int64(off) {
			last = min(last, int(to))
		}
		sure = sure || w>>26 == 0
	}
	if !sure {
		return 0
	}
	return n
}

// trace returns where the traceback table of the function begins, -1 if there is
// none.
func (p *powerData) trace() int {
	for off := max(0, len(p.code)-traceMost&^3); off+traceTag+traceFixed <= len(p.code); off += 4 {
		if p.word(off) != 0 {
			continue
		}
		t := traceback{order: p.order, b: p.code[off+traceTag:]}
		if t.fits(off, false) || p.order == binary.LittleEndian && t.fits(off, true) {
			return off
		}
	}
	return -1
}

// traceback reads what is behind a word of zeros as a traceback table.
type traceback struct {
	order binary.ByteOrder
	b     []byte
	n     int // bytes read
}

// fits reports whether the table ends with b, and lies off bytes behind the start
// of the function if it says so. Some write the fixed part as one number
// (reversed), which has the bytes of a little-endian table the other way round.
func (t *traceback) fits(off int, reversed bool) bool {
	const (
		hasOffset, hasControl         = 0x20, 0x08 // of byte 2
		hasHandler, hasName, hasAlloc = 0x80, 0x40, 0x20
	)
	var fixed [traceFixed]byte
	copy(fixed[:], t.b)
	if reversed {
		slices.Reverse(fixed[:])
	}
	if t.n = traceFixed; fixed[0] != 0 {
		return false // the only version
	}
	if fixed[6] != 0 || fixed[7]>>1 != 0 {
		t.word() // kinds of parameters
	}
	if fixed[2]&hasOffset != 0 && t.word() != uint32(off) {
		return false
	}
	if fixed[3]&hasHandler != 0 {
		t.word()
	}
	if fixed[2]&hasControl != 0 {
		t.n += 4 * int(min(t.word(), traceMost))
	}
	if fixed[3]&hasName != 0 {
		if t.n += 2; t.n <= len(t.b) {
			t.n += int(t.order.Uint16(t.b[t.n-2:]))
		}
	}
	if fixed[3]&hasAlloc != 0 {
		t.n++
	}
	return (t.n+3)&^3 == len(t.b)
}

// word reads a word, 0 behind the end.
func (t *traceback) word() uint32 {
	if t.n += 4; t.n > len(t.b) {
		return 0
	}
	return t.order.Uint32(t.b[t.n-4:])
}
