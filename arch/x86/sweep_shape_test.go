package x86_test

// shape is what a reader sees in the bytes of an instruction: prefixes, map and
// opcode. It is found apart from Decode, because it names the places where
// Decode and other decoders differ.
type shape struct {
	bits   int
	space  string // legacy, rex2, vex, evex, xop, 3dnow
	opmap  int
	op     int
	pp     int // of VEX, EVEX and XOP: 0 none, 1 66, 2 F3, 3 F2
	w, l   int
	vvvv   int // as it stands, inverted
	v4     int // EVEX.V', inverted
	b, z   int
	aaa    int
	rxb    int // as they stand in VEX, EVEX, XOP
	r4     int // EVEX.R', inverted
	b4, x4 int // EVEX: B4 as it stands, X4 inverted
	modrm  int
	prefix int // of p*
}

// Legacy prefixes that are there, in any place.
const (
	p66 = 1 << iota
	p67
	pF2
	pF3
	pLock
	pSeg
	pREX     // directly before the opcode
	pREXW    // the same, with W
	pVoidREX // elsewhere
)

var prefixBits = map[byte]int{
	0x66: p66, 0x67: p67, 0xf2: pF2, 0xf3: pF3, 0xf0: pLock,
	0x26: pSeg, 0x2e: pSeg, 0x36: pSeg, 0x3e: pSeg, 0x64: pSeg, 0x65: pSeg,
}

func shapeOf(bits int, code []byte) shape {
	var c [20]byte // no byte is missing
	copy(c[:16], code)
	s := shape{bits: bits, space: "legacy", vvvv: 15, v4: 1, rxb: 7, r4: 1, x4: 1}
	i := 0
	for ; i < 15; i++ {
		rex := bits == 64 && c[i]&0xf0 == 0x40
		if !rex && prefixBits[c[i]] == 0 {
			break
		}
		if s.prefix&pREX != 0 {
			s.prefix = s.prefix&^(pREX|pREXW) | pVoidREX
		}
		if rex {
			s.prefix |= pREX | int(c[i]&8)>>3*pREXW
			s.w = int(c[i] >> 3 & 1)
		} else {
			s.prefix |= prefixBits[c[i]]
		}
	}
	s.opcode(c[:], min(i, 11))
	return s
}

// opcode reads from the opcode or the prefix that stands for one.
func (s *shape) opcode(c []byte, i int) {
	long := s.bits == 64 || c[i+1] >= 0xc0
	switch {
	case c[i] == 0xc5 && long:
		s.space, s.opmap = "vex", 1
		s.rxb = int(c[i+1]>>7)<<2 | 3
		s.payload(c[i+1]&0x7f, c[i+2], c[i+3])
	case c[i] == 0xc4 && long, c[i] == 0x8f && c[i+1]&31 >= 8:
		s.space, s.opmap = "vex", int(c[i+1]&31)
		if c[i] == 0x8f {
			s.space = "xop"
		}
		s.rxb = int(c[i+1] >> 5)
		s.payload(c[i+2], c[i+3], c[i+4])
	case c[i] == 0x62 && long:
		s.space, s.opmap = "evex", int(c[i+1]&7)
		s.rxb, s.r4, s.b4, s.x4 = int(c[i+1]>>5), int(c[i+1]>>4&1), int(c[i+1]>>3&1), int(c[i+2]>>2&1)
		s.payload(c[i+2], c[i+4], c[i+5])
		s.z, s.l, s.b = int(c[i+3]>>7), int(c[i+3]>>5&3), int(c[i+3]>>4&1)
		s.v4, s.aaa = int(c[i+3]>>3&1), int(c[i+3]&7)
	case c[i] == 0xd5 && s.bits == 64:
		s.space, s.opmap, s.w = "rex2", int(c[i+1]>>7), int(c[i+1]>>3&1)
		s.op, s.modrm = int(c[i+2]), int(c[i+3])
	default:
		s.legacy(c, i)
	}
}

func (s *shape) payload(b, op, modrm byte) {
	s.w, s.vvvv, s.l, s.pp = int(b>>7), int(b>>3&15), int(b>>2&1), int(b&3)
	s.op, s.modrm = int(op), int(modrm)
}

func (s *shape) legacy(c []byte, i int) {
	if c[i] == 0x0f {
		i++
		s.opmap = 1
		switch c[i] {
		case 0x0f:
			s.space = "3dnow"
		case 0x38, 0x3a:
			s.opmap = int(c[i]-0x38)/2 + 2
			i++
		}
	}
	s.op, s.modrm = int(c[i]), int(c[i+1])
}
