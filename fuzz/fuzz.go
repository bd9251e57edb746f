// Package fuzz makes instructions to fuzz with. What is a valid encoding comes
// from the tables of a port ([reloc.Generator]), so a row that is added is
// fuzzed from then on. The targets in this package need no emulator; those that
// execute what they make are in emu/unicorn/fuzz.
package fuzz

import "github.com/xol-go/xol/reloc"

// Kinds of input, as shares of sixteen.
const (
	valid   = 10 // an encoding of the port's tables
	damaged = 4  // the same with one bit or byte changed, or cut short
	// the rest: any bytes
)

// AppendInsn appends bytes that are likely to begin with an instruction of a:
// mostly valid encodings, some of them damaged, some bytes at random. rnd is the
// only source of choice. The instruction is followed by random bytes, so that a
// decoder that reads too far is seen, unless it was cut.
func AppendInsn(dst []byte, a reloc.Arch, rnd func() uint64) []byte {
	n := len(dst)
	kind := rnd() % 16
	g, ok := a.(reloc.Generator)
	if !ok || kind >= valid+damaged {
		return appendRandom(dst, a.Info().MaxLen, rnd)
	}
	dst = g.AppendRandom(dst, rnd)
	if kind < valid {
		return appendRandom(dst, 4, rnd)
	}
	if insn := dst[n:]; len(insn) > 0 {
		switch at := rnd() % uint64(len(insn)); rnd() % 3 {
		case 0:
			insn[at] ^= 1 << (rnd() & 7)
		case 1:
			insn[at] = byte(rnd())
		default:
			return dst[:n+int(at)]
		}
	}
	return dst
}

func appendRandom(dst []byte, n int, rnd func() uint64) []byte {
	for range n {
		dst = append(dst, byte(rnd()>>32))
	}
	return dst
}
