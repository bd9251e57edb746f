package emu

import "encoding/binary"

// randomX86 appends bytes that are likely to be one instruction: prefixes, an
// opcode of any map, ModRM, SIB, and enough noise for a displacement and an
// immediate. It knows nothing of what is valid; the port says that.
func randomX86(dst []byte, rnd func() uint64, m64 bool) []byte {
	v := rnd()
	for _, p := range [...]struct {
		b    byte
		odds uint64 // of 256
	}{{0x66, 36}, {0x67, 10}, {0x64, 6}, {0x65, 6}, {0x2e, 4}, {0xf2, 16}, {0xf3, 20}, {0xf0, 14}} {
		if v&255 < p.odds {
			dst = append(dst, p.b)
		}
		v = v>>8 | v<<56
	}
	v = rnd()
	if m64 && v&3 != 0 {
		dst = append(dst, 0x40|byte(v>>8&15))
	}
	op := byte(v >> 16)
	switch v >> 24 & 15 {
	case 0, 1, 2, 3, 4:
		dst = append(dst, 0x0f, op)
	case 5:
		dst = append(dst, 0x0f, 0x38, op)
	case 6:
		dst = append(dst, 0x0f, 0x3a, op)
	case 7, 8:
		// Control flow is rare among opcodes and what matters most.
		flow := [...]byte{0xe8, 0xe9, 0xeb, 0xc3, 0xc2, 0xff, 0x70, 0x75, 0x7f, 0xe0, 0xe1, 0xe2, 0xe3}
		dst = append(dst, flow[int(op)%len(flow)])
	default:
		dst = append(dst, op)
	}
	dst = append(dst, byte(v>>32), byte(v>>40))
	if v>>48&3 == 0 {
		dst[len(dst)-2] = dst[len(dst)-2]&0x38 | 5 // rip-relative or absolute
	}
	return binary.LittleEndian.AppendUint64(dst, rnd())
}

// aimX86 makes a rip-relative operand name addr, if there is one and it can.
func aimX86(code []byte, pc, addr uint64) bool {
	p := parseX86(code, true)
	if op := p.operand(true); !op.PCRel || len(p.rest) < 5 {
		return false
	}
	d := int64(addr - pc - uint64(len(code)))
	if d != int64(int32(d)) {
		return false
	}
	binary.LittleEndian.PutUint32(p.rest[1:], uint32(d))
	return true
}
