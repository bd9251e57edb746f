package x86

//go:generate go run ../../internal/gen/x86tables .

// Decode looks an encoding up in three steps, all without a branch in the
// common case: the page of its map and prefix gives a descriptor for the opcode;
// ModRM picks a leaf, which is a row number; the row gives its facts. A
// descriptor with descVariants stands for eight of its kind, by W and L'L, or
// for 32, by ND and NF too.
//
// The low half of a descriptor says everything; the high half repeats, for
// the short way, what follows from it.
const (
	descBase      = 0xffff  // index of the first leaf, or of the first variant
	descShape     = 16      // 3 bits: how ModRM selects a leaf
	descModRM     = 1 << 20 // there is a ModRM byte
	descNoModRM   = 1 << 21
	descImm       = 22 // 4 bits: imm*
	descSize      = 26 // 2 bits: size*
	descVariants  = 1 << 28
	descModReg    = 1 << 29 // ModRM.mod is ignored and names a register
	descMap4      = 1 << 30
	descCommon    = 1 << 31 // the short way of [Arch.Decode] can do it
	descCommonImm = 32      // 4 bits: length of the immediate, 4 more: with REX.W
)

// Immediates.
const (
	immNone = iota
	immB
	immW
	immZ
	immV
	immP
	immWB
	immBB
	immD
	immQ
	immMoffs // a displacement of the size of an address
	immGroupB
	immGroupZ
)

// Default operand sizes: sizeByRow means that the facts of the row say.
const (
	sizeNormal = iota
	sizeD64    // 64 bits in 64-bit mode, 66 makes it 16
	sizeF64    // 64 bits in 64-bit mode, always
	sizeByRow
)

// Facts of a row in one word: hazards, operand size, class, flags.
const (
	factHazards = 1<<26 - 1
	factSize    = 26
	factClass   = 28

	factLock     = 1 << 32 // LOCK allowed with a memory destination
	factRep      = 1 << 33 // F2 and F3 repeat it
	factRel      = 1 << 34 // the immediate is relative to the end
	factStops    = 1 << 35 // control does not go on behind it
	factAccess   = 1 << 36 // accesses memory without a ModRM operand
	factAddrOnly = 1 << 37 // a memory operand is only an address
	factV66      = 1 << 38 // 66 is read differently by vendors in 64-bit mode
	factVW       = 1 << 39 // REX.W is
	factNoRexR   = 1 << 40
	factVvvv     = 1 << 41 // uses vvvv
	factVSIB     = 1 << 42
	factMask     = 1 << 43 // aaa may be other than 0
	factZero     = 1 << 44
	factKneed    = 1 << 45 // aaa must be other than 0
	factBcst     = 1 << 46
	factER       = 1 << 47
	factSAE      = 1 << 48
	factSCC      = 1 << 49
	factAbs      = 1 << 50 // the immediate is the target
	factNoTrack  = 1 << 51 // 3E waives the landing pad
	factSeldom   = 1 << 52 // VW, NoRexR, NoRIP, No16 or Abs
	factND       = 1 << 53 // EVEX.b is ND
	factNF       = 1 << 54 // bit 2 of EVEX.aaa is NF
	factNoRIP    = 1 << 55
	factNo16     = 1 << 56
	factLowReg   = 1 << 57 // ModRM.reg names one of eight registers
	factLowRM    = 1 << 58 // ModRM.rm does
	factLowV     = 1 << 59 // vvvv does
	factMemDst   = 1 << 60 // a memory operand is written under a mask
)

// A leaf holds a row number and what the short way needs of its facts: hazards
// where the facts have them, the flags of an [reloc.Insn] for a register and for
// a memory operand.
const (
	leafClass  = 28 // 4 bits
	leafRow    = 32 // 16 bits
	leafFlags  = 48 // 4 bits, and 4 more for memory
	leafWide   = 56 // the operand size is 64 bits in 64-bit mode; bit 57: with REX.W
	leafRel    = 1 << 58
	leafSeldom = 1 << 59
)

// factVaries are the facts by which a prefix changes more than operands.
const factVaries = factRep | factV66 | factVW | factNoTrack | factLock

type mapTables struct {
	legacy [4][4]*page // map, mandatory prefix
	rex2   [2][4]*page
	vex    [8][4]*page
	evex   [8][4]*page
	xop    [3][4]*page // maps 8 to 10
	now    [1][4]*page
}

// modWordBase in a word of [Arch.modWords]: mod 00 with a SIB byte, whose base
// 101 means disp32.
const modWordBase = 1 << 63

// immLen is the length of each immediate by the log2 of the operand size.
var immLen = [16][4]uint8{
	immB:  {1, 1, 1, 1},
	immW:  {2, 2, 2, 2},
	immZ:  {4, 2, 4, 4},
	immV:  {4, 2, 4, 8},
	immP:  {6, 4, 6, 6},
	immWB: {3, 3, 3, 3},
	immBB: {2, 2, 2, 2},
	immD:  {4, 4, 4, 4},
	immQ:  {8, 8, 8, 8},
}

// opLogs are the log2 of the operand size by default size and by W and 66; W
// wins.
var (
	opLog64 = [4][4]uint8{
		sizeNormal: {2, 1, 3, 3},
		sizeD64:    {3, 1, 3, 3},
		sizeF64:    {3, 3, 3, 3},
	}
	opLog32 = [4][4]uint8{{2, 1, 2, 1}, {2, 1, 2, 1}, {2, 1, 2, 1}, {2, 1, 2, 1}}
)

// keep are the masks that leave the first n bytes of a 16-byte word.
var keep = [16][2]uint64{
	1: {1<<8 - 1}, 2: {1<<16 - 1}, 3: {1<<24 - 1}, 4: {1<<32 - 1},
	5: {1<<40 - 1}, 6: {1<<48 - 1}, 7: {1<<56 - 1}, 8: {1<<64 - 1},
	9: {1<<64 - 1, 1<<8 - 1}, 10: {1<<64 - 1, 1<<16 - 1}, 11: {1<<64 - 1, 1<<24 - 1}, 12: {1<<64 - 1, 1<<32 - 1},
	13: {1<<64 - 1, 1<<40 - 1}, 14: {1<<64 - 1, 1<<48 - 1}, 15: {1<<64 - 1, 1<<56 - 1},
}
