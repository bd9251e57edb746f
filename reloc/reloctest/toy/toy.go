// Package toy is a small instruction set that nobody makes: a whole
// implementation of the contract of package reloc, to test the conformance
// suite with, and to read before writing a port.
//
// Instructions are one or two 16-bit little-endian words, the opcode in the low
// four bits of the first:
//
//	0  nop                   the other bits are 0
//	1  add  rd, rs           rd in bits 4-7, rs in 8-11, 0 above
//	2  ld   rd, [rs]
//	3  st   rd, [rs]
//	4  b    pc+2*s12         bits 4-15
//	5  bz   rd, pc+2*s8      bits 8-15
//	6  jmp  pc+2*s28         two words, bits 4-31
//	7  call pc+2*s28         two words; links r14
//	8  ldpc rd, [pc+2*s24]   two words, bits 8-31
//	9  trap
//	10 ldx  rd, [rs]         opens an exclusive sequence
//	11 stx  rd, [rs]         closes it
//	12 prefix d12            adds d12 to the address of the ld or st behind it
//	13 jr   rs               rs in bits 8-11
//	14 ret                   to r14
//
// There are sixteen registers of 64 bits; r13 is the stack pointer.
package toy

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Arch is the instruction set; it implements everything that reloc knows of.
type Arch struct{}

// Toy is the instruction set.
var Toy Arch

// SP and LR are the stack pointer and the link register.
const (
	SP fixups.Reg = 13
	LR fixups.Reg = 14
)

const jmpMin, jmpMax = -1 << 28, 1<<28 - 2 // displacements of jmp and call

var info = reloc.Info{
	Name: "toy", Bits: 64, MinLen: 2, MaxLen: 4, Align: 2,
	Trap: []byte{9, 0}, Nops: [][]byte{{0, 0}},
	Regs: regs, SP: SP, Flags: fixups.RegNone,
	Branches: []reloc.Branch{
		{Name: "bz", Size: 2, Min: -256, Max: 254, Cond: true},
		{Name: "b", Size: 2, Min: -4096, Max: 4094},
		{Name: "jmp", Size: 4, Min: jmpMin, Max: jmpMax},
	},
	NearMin: jmpMin + 4096, NearMax: jmpMax - 4096,
	NeedsContext: true,
}

var regs = fixups.RegNames{
	{Num: 0, Name: "r0", Bits: 64}, {Num: 1, Name: "r1", Bits: 64}, {Num: 2, Name: "r2", Bits: 64}, {Num: 3, Name: "r3", Bits: 64},
	{Num: 4, Name: "r4", Bits: 64}, {Num: 5, Name: "r5", Bits: 64}, {Num: 6, Name: "r6", Bits: 64}, {Num: 7, Name: "r7", Bits: 64},
	{Num: 8, Name: "r8", Bits: 64}, {Num: 9, Name: "r9", Bits: 64}, {Num: 10, Name: "r10", Bits: 64}, {Num: 11, Name: "r11", Bits: 64},
	{Num: 12, Name: "r12", Bits: 64}, {Num: SP, Name: "sp", Bits: 64}, {Num: LR, Name: "lr", Bits: 64}, {Num: 15, Name: "r15", Bits: 64},
}

// Info implements [reloc.Arch].
func (Arch) Info() *reloc.Info { return &info }

// Opcodes; each is the number of its row, too.
const (
	opNop = iota
	opAdd
	opLd
	opSt
	opB
	opBz
	opJmp
	opCall
	opLdpc
	opTrap
	opLdx
	opStx
	opPrefix
	opJr
	opRet
	numOps
)

// ops are the facts of each opcode.
var ops = [numOps]struct {
	name    string
	words   int
	zero    uint16 // bits of the first word that must be 0
	class   fixups.Class
	hazards fixups.Hazards
	flags   reloc.InsnFlags
}{
	opNop:    {"nop", 1, 0xfff0, fixups.ClassPlain, 0, reloc.Continues},
	opAdd:    {"add", 1, 0xf000, fixups.ClassPlain, 0, reloc.Continues},
	opLd:     {"ld", 1, 0xf000, fixups.ClassPlain, 0, reloc.Continues | reloc.Accesses},
	opSt:     {"st", 1, 0xf000, fixups.ClassPlain, 0, reloc.Continues | reloc.Accesses},
	opB:      {"b", 1, 0, fixups.ClassBranch, 0, reloc.HasTarget},
	opBz:     {"bz", 1, 0, fixups.ClassCondBranch, 0, reloc.HasTarget | reloc.Continues},
	opJmp:    {"jmp", 2, 0, fixups.ClassBranch, 0, reloc.HasTarget},
	opCall:   {"call", 2, 0, fixups.ClassCall, 1 << fixups.HazardPushesPC, reloc.HasTarget | reloc.Continues},
	opLdpc:   {"ldpc", 2, 0, fixups.ClassPCRelative, 1 << fixups.HazardReadsPC, reloc.HasTarget | reloc.PCOperand | reloc.Continues | reloc.Accesses},
	opTrap:   {"trap", 1, 0xfff0, fixups.ClassTrap, 0, reloc.Continues},
	opLdx:    {"ldx", 1, 0xf000, fixups.ClassExclusive, 1 << fixups.HazardExclusive, reloc.Continues | reloc.Accesses},
	opStx:    {"stx", 1, 0xf000, fixups.ClassExclusive, 1 << fixups.HazardExclusive, reloc.Continues | reloc.Accesses},
	opPrefix: {"prefix", 2, 0, fixups.ClassPlain, 0, reloc.Continues | reloc.Accesses},
	opJr:     {"jr", 1, 0xf0f0, fixups.ClassIndirectBranch, 0, 0},
	opRet:    {"ret", 1, 0xfff0, fixups.ClassReturn, 0, 0},
}

// Decode implements [reloc.Arch].
func (Arch) Decode(in *reloc.Insn, code []byte, pc uint64) error {
	*in = reloc.Insn{PC: pc, Len: uint8(min(len(code), 2))}
	if len(code) < 2 {
		return fixups.ReasonTruncated
	}
	if pc%2 != 0 {
		return fixups.ReasonMidInstruction
	}
	w := uint32(binary.LittleEndian.Uint16(code))
	op := w & 15
	if op >= numOps || uint16(w)&ops[op].zero != 0 {
		return fixups.ReasonReserved
	}
	f := &ops[op]
	if f.words == 2 {
		in.Len = uint8(min(len(code), 4))
		if len(code) < 4 {
			return fixups.ReasonTruncated
		}
		w = binary.LittleEndian.Uint32(code)
		if next := w >> 16 & 15; op == opPrefix && (next != opLd && next != opSt || uint16(w>>16)&ops[next].zero != 0) {
			return fixups.ReasonReserved
		}
	}
	copy(in.Bytes[:], code[:in.Len])
	in.Row, in.Class, in.Hazards, in.Flags = op, f.class, f.hazards, f.flags
	in.Ext[0] = uint64(w)
	if d, ok := displacement(op, w); ok {
		in.Target = pc + uint64(d)
	}
	return nil
}

// displacement is the distance from the start of the instruction to what it
// names.
func displacement(op, w uint32) (int64, bool) {
	switch op {
	case opB:
		return int64(int16(w)>>4) * 2, true
	case opBz:
		return int64(int16(w)>>8) * 2, true
	case opJmp, opCall:
		return int64(int32(w)>>4) * 2, true
	case opLdpc:
		return int64(int32(w)>>8) * 2, true
	}
	return 0, false
}

func rd(in *reloc.Insn) fixups.Reg { return fixups.Reg(in.Ext[0] >> 4 & 15) }
func rs(in *reloc.Insn) fixups.Reg { return fixups.Reg(in.Ext[0] >> 8 & 15) }
