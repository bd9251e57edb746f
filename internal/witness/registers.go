package witness

// RegSet is a set of registers in the witnesses' own numbering, which is that
// of the hardware and the same in both modes. It is compared, and names
// nothing outside this package.
type RegSet [2]uint64

// First numbers of the register files.
const (
	RegGPR   = 0   // rax rcx rdx rbx rsp rbp rsi rdi r8 ... r31
	RegVec   = 32  // xmm0 ... xmm31, whole
	RegMask  = 64  // k0 ... k7
	RegTile  = 72  // tmm0 ... tmm7
	RegMMX   = 80  // mm0 ... mm7
	RegX87   = 88  // st0 ... st7
	RegSeg   = 96  // es cs ss ds fs gs
	RegFlags = 102 // the six status flags and DF, as one register
	NumRegs  = 103
)

// Add puts register n into the set.
func (s *RegSet) Add(n int) { s[n>>6] |= 1 << (n & 63) }

// Has reports whether register n is in the set.
func (s *RegSet) Has(n int) bool { return s[n>>6]>>(n&63)&1 != 0 }

// Regs is what an instruction does to registers.
type Regs struct {
	Read  RegSet // may be read
	Write RegSet // may be written
	Kill  RegSet // wholly overwritten
}
