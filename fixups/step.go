package fixups

// Limits of a program. Every program ends: skips only go forward.
const (
	MaxSteps  = 32 // steps of one program
	MaxTemps  = 8  // temporaries t0 to t7
	MaxStores = 2  // stores of one program
)

// OperandKind says what an [Operand] names.
type OperandKind uint8

// The kinds of operand.
const (
	OperandNone  OperandKind = iota
	OperandReg               // register Reg (RegPC for pc)
	OperandTemp              // temporary t0 to t7, in Reg
	OperandConst             // the constant Val
	OperandSite              // address of the site plus Val
	OperandSlot              // address of the slot plus Val
	OperandData              // address of the slot's private data plus Val
	numOperandKinds
)

// Operand is a value of a [Step].
type Operand struct {
	Kind OperandKind
	Reg  Reg   // register, or number of the temporary
	Val  int64 // constant, or addend
}

// R is the register r.
func R(r Reg) Operand { return Operand{Kind: OperandReg, Reg: r} }

// T is temporary i.
func T(i int) Operand { return Operand{Kind: OperandTemp, Reg: Reg(i)} }

// PC is the program counter.
func PC() Operand { return R(RegPC) }

// Const is the constant v.
func Const(v int64) Operand { return Operand{Kind: OperandConst, Val: v} }

// SitePlus is the address of the site plus v.
func SitePlus(v int64) Operand { return Operand{Kind: OperandSite, Val: v} }

// SlotPlus is the address of the slot plus v.
func SlotPlus(v int64) Operand { return Operand{Kind: OperandSlot, Val: v} }

// DataPlus is the address of the slot's private data plus v.
func DataPlus(v int64) Operand { return Operand{Kind: OperandData, Val: v} }

// Step is one operation of a fixup program. Words are 64 bits; on 386 every
// result is taken modulo 2^32. No operation knows an ISA.
type Step struct {
	Op    Op
	Cond  Cond  // OpSkip
	Order End   // OpLoad, OpStore
	Size  uint8 // OpLoad, OpStore: 1, 2, 4 or 8 bytes
	Lsb   uint8 // OpExtract, OpInsert: lowest bit of the field, 0 to 63
	Width uint8 // OpZext, OpSext: 8, 16 or 32; OpExtract, OpInsert: field width, 1 to 64; OpSkip: compared bits, 8, 16, 32 or 64
	Skip  uint8 // OpSkip: how many steps are skipped, 1 to 31
	Dst   Operand
	A, B  Operand
}

// Program is a list of steps, at most [MaxSteps] of them. Programs of a plan
// share one array; they are read-only.
type Program []Step

// Op is the operation of a [Step].
type Op uint8

// The operations. Dst is a register, pc or a temporary.
const (
	OpMov     Op = iota // Dst := A
	OpAdd               // Dst := A + B
	OpSub               // Dst := A - B
	OpAnd               // Dst := A & B
	OpOr                // Dst := A | B
	OpXor               // Dst := A ^ B
	OpShl               // Dst := A << B, 0 if B >= 64
	OpShr               // Dst := A >> B (unsigned), 0 if B >= 64
	OpZext              // Dst := low Width bits of A, zero-extended
	OpSext              // Dst := low Width bits of A, sign-extended
	OpExtract           // Dst := field [Lsb, Lsb+Width) of A
	OpInsert            // field [Lsb, Lsb+Width) of Dst := low bits of A
	OpLoad              // Dst := Size bytes at address A, zero-extended
	OpStore             // Size bytes at address A := B
	OpSkip              // if A Cond B (both cut to Width bits): skip the next Skip steps
	OpShPush            // push A to the shadow stack; nothing where it is off
	OpShPop             // pop the shadow stack into Dst; where it is off, Dst := A, and nothing if A is OperandNone
	numOps
)

var opNames = [numOps]string{"mov", "add", "sub", "and", "or", "xor", "shl", "shr", "zext", "sext",
	"extract", "insert", "load", "store", "skip", "shpush", "shpop"}

// String returns the operation's word in the text grammar.
func (o Op) String() string { return enumString("op", uint8(o), opNames[:]) }

// Cond is a comparison.
type Cond uint8

// The comparisons; the L and G ones are signed, the B and A ones unsigned.
const (
	CondEQ Cond = iota
	CondNE
	CondLT
	CondLE
	CondGT
	CondGE
	CondB
	CondBE
	CondA
	CondAE
	numConds
)

var condNames = [numConds]string{"eq", "ne", "lt", "le", "gt", "ge", "b", "be", "a", "ae"}

// String returns the comparison's word in the text grammar.
func (c Cond) String() string { return enumString("cond", uint8(c), condNames[:]) }

// End is the byte order of one memory access.
type End uint8

// The byte orders.
const (
	LittleEndian End = iota
	BigEndian
)
