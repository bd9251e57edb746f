package x86

import "github.com/xol-go/xol/reloc"

// Where the parts of an instruction are, packed into the two words of
// reloc.Insn.Ext so that Decode writes them with two stores.
//
//	Ext[0]  0 opcode  8 ModRM  16 opcode offset  20 ModRM offset (0: none)
//	        24 disp offset  28 disp size  32 imm offset  36 imm size
//	        40 vector/REX prefix offset  44 encoding  48 map  52 flags
//	Ext[1]  0 legacy prefixes  16 W R X B R4 X4 B4  24 vvvvv  29 L'L  31 z
//	        32 aaa  35 b  36 pp  38 ignored bit of vvvv  40 segment override  44 address size log2
//	        48 operand size log2
//
// Sizes and offsets are in bytes. The imm field covers all immediates (ENTER
// has three bytes, far pointers four or six, moffs are a displacement).
type layout [2]uint64

func lay(in *reloc.Insn) *layout { return (*layout)(&in.Ext) }

// Encodings.
const (
	encLegacy = iota // REX or none
	encREX2
	encVEX2
	encVEX3
	encEVEX
	encXOP
	enc3DNow
)

// Opcode maps: numbers 0 to 3 are one-byte, 0F, 0F38, 0F3A; 4 to 6 EVEX (APX,
// FP16), 8 to 10 XOP.

// Legacy prefixes, as bits of Ext[1].
const (
	pfx66 = 1 << iota
	pfx67
	pfxF2
	pfxF3
	pfxLock
	pfxSeg     // any segment override
	pfxREX     // an effective REX prefix
	pfxVoidREX // a REX that is not directly before the opcode: ignored
)

// Flags in Ext[0] from bit 52.
const (
	flagMode64 = 1 << iota
	flagRIPRel // mod 00 rm 101 in 64-bit mode; with pfx67 the base is eip
	flagSIB
	flagRelImm // the immediate is a branch displacement from the end of the instruction
	flagMem    // ModRM names memory
	flagVSIB
)

func (l *layout) opcode() byte   { return byte(l[0]) }
func (l *layout) modrm() byte    { return byte(l[0] >> 8) }
func (l *layout) opcodeOff() int { return int(l[0] >> 16 & 15) }
func (l *layout) modrmOff() int  { return int(l[0] >> 20 & 15) } // 0: no ModRM
func (l *layout) dispOff() int   { return int(l[0] >> 24 & 15) }
func (l *layout) dispLen() int   { return int(l[0] >> 28 & 15) }
func (l *layout) immOff() int    { return int(l[0] >> 32 & 15) }
func (l *layout) immLen() int    { return int(l[0] >> 36 & 15) }

// prefixOff is the offset of the effective REX, REX2, VEX, EVEX or XOP prefix;
// meaningful only if the encoding is not legacy or pfxREX is set.
func (l *layout) prefixOff() int { return int(l[0] >> 40 & 15) }
func (l *layout) enc() int       { return int(l[0] >> 44 & 15) }
func (l *layout) opmap() int     { return int(l[0] >> 48 & 15) }

func (l *layout) has(flag uint64) bool { return l[0]>>52&flag != 0 }
func (l *layout) pfx(p uint64) bool    { return l[1]&p != 0 }

func (l *layout) w() int { return int(l[1] >> 16 & 1) }
func (l *layout) r() int { return int(l[1] >> 17 & 1) } // not inverted: 1 extends
func (l *layout) x() int { return int(l[1] >> 18 & 1) }
func (l *layout) b() int { return int(l[1] >> 19 & 1) }

// high is bit 4 of a vector register in ModRM.rm: EVEX.X, which other encodings
// ignore with a register.
func (l *layout) high() int {
	if l.enc() == encEVEX {
		return l.x()
	}
	return 0
}

func (l *layout) r4() int   { return int(l[1] >> 20 & 1) }
func (l *layout) x4() int   { return int(l[1] >> 21 & 1) }
func (l *layout) b4() int   { return int(l[1] >> 22 & 1) }
func (l *layout) vvvv() int { return int(l[1] >> 24 & 31) } // register number, V' as bit 4, 0 where there is none
func (l *layout) ll() int   { return int(l[1] >> 29 & 3) }
func (l *layout) z() int    { return int(l[1] >> 31 & 1) }
func (l *layout) aaa() int  { return int(l[1] >> 32 & 7) }
func (l *layout) bc() int   { return int(l[1] >> 35 & 1) } // EVEX.b
func (l *layout) pp() int   { return int(l[1] >> 36 & 3) } // 0 none, 1 66, 2 F3, 3 F2

// seg is the effective segment override as a DWARF-order index: 0 none, 1 es,
// 2 cs, 3 ss, 4 ds, 5 fs, 6 gs.
func (l *layout) seg() int { return int(l[1] >> 40 & 15) }

// addrSize and opSize are in bytes: 2, 4 or 8.
func (l *layout) addrSize() int { return 1 << (l[1] >> 44 & 15) }
func (l *layout) opSize() int   { return 1 << (l[1] >> 48 & 15) }

func (l *layout) mod() int { return int(l.modrm() >> 6) }
func (l *layout) reg() int { return int(l.modrm() >> 3 & 7) } // without REX.R
func (l *layout) rm() int  { return int(l.modrm() & 7) }      // without REX.B
