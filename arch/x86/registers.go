package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Operands in 16 bits, as the generator writes them: access in bits 0 to 2,
// place from bit 3, a type or a fixed register from bit 9.
const (
	aN = 0 // an address only
	aR = 1
	aW = 2 // wholly written, as far as the operand goes
	aX = 3 // read and wholly written
	aC = 4 // written under a condition or in part
)

// Places of operands, by the letters of the manual where it has them.
const (
	mFix  = iota << 3
	mB    // vvvv, general register
	mC    // ModRM.reg, control register
	mD    // ModRM.reg, debug register
	mE    // ModRM.rm, general register or memory
	mG    // ModRM.reg, general register
	mH    // vvvv, vector register
	mH4   // the aligned four vector registers around vvvv
	mL    // bits 7 to 4 of the immediate, vector register
	mM    // memory
	mN    // ModRM.rm, MMX register
	mO    // memory by an absolute address
	mP    // ModRM.reg, MMX register
	mQ    // ModRM.rm, MMX register or memory
	mR    // ModRM.rm, general register
	mU    // ModRM.rm, vector register
	mV    // ModRM.reg, vector register
	mW    // ModRM.rm, vector register or memory
	mX    // memory at rsi
	mY    // memory at es:rdi
	mZ    // low three bits of the opcode, general register
	mBND  // ModRM.reg, bound register
	mBNDM // ModRM.rm, bound register or memory
	mKG   // ModRM.reg, mask register
	mKGG  // ModRM.reg, pair of mask registers
	mKE   // ModRM.rm, mask register or memory
	mKH   // vvvv, mask register
	mTG   // ModRM.reg, tile
	mTE   // ModRM.rm, tile
	mTH   // vvvv, tile
	mAAA  // the mask register of EVEX.aaa
	mST   // ModRM.rm, x87 register
	mREP  // rcx, if there is a repeat prefix
)

const (
	operandAccess = 7
	operandPlace  = 63 << 3
	operandArg    = 9
)

// Types of general registers.
const (
	tOther = iota << operandArg
	tB     // 8 bits
	tW     // 16
	tD     // 32
	tQ     // 64
	tV     // operand size
	tZ     // operand size, at most 32
	tY     // operand size, at least 32
	tN     // the word of the mode
)

var _ reloc.Registerer = AMD64

// Registers implements [reloc.Registerer].
//
// Kills is exact about width: a 32-bit write kills a general register in 64-bit
// mode, 8 and 16 bits do not; a vector register is 512 bits wide, so VEX, EVEX
// and XOP writes kill it, as they zero what lies above, and legacy SSE and
// merging masks do not. flags counts as killed when all six status flags are
// written. What a repeat prefix or a condition can leave out is written, not
// killed.
func (a *Arch) Registers(use *reloc.RegUse, in *reloc.Insn) {
	*use = reloc.RegUse{}
	if isXchgNop(lay(in)) {
		return
	}
	u := usage{use: use, arch: a, l: lay(in), f: facts[in.Row], in: in}
	u.rep = u.f&factRep != 0 && u.l.pfx(pfxF2|pfxF3)
	t := &rowTexts[in.Row]
	for _, o := range operands[t.first : t.first+uint16(t.n)] {
		u.operand(o)
	}
	if u.l.has(flagMem) {
		u.address()
	}
	if in.Flags&reloc.Accesses != 0 {
		u.segment()
	}
	if u.l.enc() == encEVEX && u.l.aaa() != 0 && u.f&factMask != 0 {
		u.mask(u.l.aaa(), aR)
	}
}

// isXchgNop recognizes 90 without REX.B: xchg eax, eax does nothing, not even
// what a 32-bit write does (SDM volume 2, NOP).
func isXchgNop(l *layout) bool {
	return l.opmap() == 0 && l.enc() <= encREX2 && l.opcode() == 0x90 && l.b()|l.b4() == 0
}

// usage is the work of Registers.
type usage struct {
	use  *reloc.RegUse
	in   *reloc.Insn
	arch *Arch
	l    *layout
	f    uint64
	rep  bool
}

// add notes an access to r; whole says that a write leaves nothing of it.
func (u *usage) add(r fixups.Reg, access uint16, whole bool) {
	if access&aR != 0 {
		u.use.Reads.Add(r)
	}
	if access&(aW|aC) != 0 {
		u.use.Writes.Add(r)
	}
	if access&aW != 0 && whole && !u.rep {
		u.use.Kills.Add(r)
	}
}

// operand notes one operand of the row.
func (u *usage) operand(o uint16) {
	l, access, t := u.l, o&operandAccess, o>>operandArg<<operandArg
	reg, rm := l.reg(), l.rm()
	r4, b4 := l.r()<<3|l.r4()<<4, l.b()<<3|l.b4()<<4
	switch o & operandPlace {
	case mFix:
		u.fixed(int(o>>operandArg), access)
	case mREP:
		if u.rep {
			u.add(u.arch.reg(RCX), aX, false)
		}
	case mG:
		u.general(reg|r4, access, t)
	case mR:
		u.general(rm|b4, access, t)
	case mE:
		if !l.has(flagMem) {
			u.general(rm|b4, access, t)
		}
	case mB:
		u.general(l.vvvv(), access, t)
	case mZ:
		u.general(int(l.opcode()&7)|b4, access, t)
	case mC:
		u.add(CR0+fixups.Reg(reg|r4), access, true)
	case mD:
		u.add(DR0+fixups.Reg(reg|r4), access, true)
	default:
		u.wide(o&operandPlace, access)
	}
}

// wide notes an operand that is no general register.
func (u *usage) wide(place, access uint16) {
	l := u.l
	reg, rm, mem := l.reg(), l.rm(), l.has(flagMem)
	switch place {
	case mV:
		u.vector(reg|l.r()<<3|l.r4()<<4, access)
	case mU, mW:
		if !mem {
			u.vector(rm|l.b()<<3|l.high()<<4, access)
		}
	case mH:
		u.vector(l.vvvv(), access)
	case mH4:
		for i := range 4 {
			u.vector(l.vvvv()&^3|i, access)
		}
	case mL:
		u.vector(int(u.in.Bytes[l.immOff()]>>4)&u.arch.regMask(), access)
	case mP:
		u.mmx(reg, access)
	case mN, mQ:
		if !mem {
			u.mmx(rm, access)
		}
	case mST:
		u.add(u.arch.reg(ST0)+fixups.Reg(rm), access, true)
	case mBND:
		u.add(u.arch.reg(BND0)+fixups.Reg(reg&3), access, true)
	case mBNDM:
		if !mem {
			u.add(u.arch.reg(BND0)+fixups.Reg(rm&3), access, true)
		}
	case mTG:
		u.add(TMM0+fixups.Reg(reg), access, true)
	case mTE:
		u.add(TMM0+fixups.Reg(rm), access, true)
	case mTH:
		u.add(TMM0+fixups.Reg(l.vvvv()&7), access, true)
	case mKG, mKGG, mKE, mKH, mAAA:
		u.masks(place, access)
	}
}

// masks notes an operand that is a mask register.
func (u *usage) masks(place, access uint16) {
	switch l := u.l; place {
	case mKG:
		u.mask(l.reg(), access)
	case mKGG:
		u.mask(l.reg()&^1, access)
		u.mask(l.reg()|1, access)
	case mKE:
		if !l.has(flagMem) {
			u.mask(l.rm(), access)
		}
	case mKH:
		u.mask(l.vvvv()&7, access)
	case mAAA:
		u.mask(l.aaa(), access)
	}
}

func (u *usage) mask(i int, access uint16) {
	u.add(u.arch.reg(K0)+fixups.Reg(i), access, true)
}

// mmx notes an MMX register. Every MMX instruction changes the x87 tag word.
func (u *usage) mmx(i int, access uint16) {
	u.add(u.arch.reg(MM0)+fixups.Reg(i), access, true)
	u.add(u.arch.reg(FSW), aC, false)
}

// vector notes a vector register. A destination under a mask that merges keeps
// part of its old value.
func (u *usage) vector(i int, access uint16) {
	l := u.l
	whole := l.enc() >= encVEX2
	if l.enc() == encEVEX && l.aaa() != 0 && l.z() == 0 && access&aW != 0 {
		access = access&aR | aC | aR
	}
	u.add(u.arch.vectorReg(i), access, whole)
}

// gprs are the general registers in the order of their encodings.
var gprs = [32]fixups.Reg{
	RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, 8, 9, 10, 11, 12, 13, 14, 15,
	130, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140, 141, 142, 143, 144, 145,
}

// gprs32 are those of 32-bit mode.
var gprs32 = [8]fixups.Reg{EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI}

// general notes general register i. Without any REX, 8-bit registers 4 to 7 are
// the second bytes of the first four.
func (u *usage) general(i int, access, t uint16) {
	l := u.l
	size := 4
	switch t {
	case tB:
		if size = 1; l.enc() == encLegacy && !l.pfx(pfxREX) {
			i &= 3
		}
	case tW:
		size = 2
	case tQ:
		size = 8
	case tV:
		size = l.opSize()
	case tZ:
		size = min(l.opSize(), 4)
	}
	u.add(u.arch.gpr(i), access, size >= 4)
}

func (a *Arch) gpr(i int) fixups.Reg {
	if a.m64 {
		return gprs[i&31]
	}
	return gprs32[i&7]
}

// reg maps a number of AMD64 to that of the mode.
func (a *Arch) reg(r fixups.Reg) fixups.Reg {
	if a.m64 {
		return r
	}
	for i := range to32 {
		if t := &to32[i]; r-t.r64 < t.n {
			return r - t.r64 + t.r32
		}
	}
	return r
}

// to32 are the registers of I386 that are numbered otherwise than in AMD64, as
// files of n.
var to32 = [...]struct{ r64, r32, n fixups.Reg }{
	{RAX, EAX, 1}, {RCX, ECX, 1}, {RDX, EDX, 1}, {RBX, EBX, 1}, {RSP, ESP, 1}, {RBP, EBP, 1}, {RSI, ESI, 1}, {RDI, EDI, 1},
	{FLAGS, EFLAGS, 1}, {ES, ESx32, 6}, {ST0, ST0x32, 8}, {MM0, MM0x32, 8}, {XMM0, XMM0x32, 8}, {K0, K0x32, 8},
	{BND0, BND0x32, 4}, {FCW, FCWx32, 1}, {FSW, FSWx32, 1}, {MXCSR, MXCSRx32, 1}, {TR, TRx32, 1}, {LDTR, LDTRx32, 1},
}

// regMask keeps a register number within the mode.
func (a *Arch) regMask() int {
	if a.m64 {
		return 15
	}
	return 7
}

func (a *Arch) vectorReg(i int) fixups.Reg {
	switch {
	case !a.m64:
		return XMM0x32 + fixups.Reg(i&7)
	case i >= 16:
		return XMM16 + fixups.Reg(i-16)
	}
	return XMM0 + fixups.Reg(i)
}

// address notes the registers of a memory operand.
func (u *usage) address() {
	l := u.l
	switch {
	case l.addrSize() == 2:
		for _, r := range base16[l.rm()&7] {
			if r != fixups.RegNone && (l.rm() != 6 || l.mod() != 0) {
				u.add(u.arch.reg(r), aR, false)
			}
		}
		return
	case l.has(flagSIB):
		u.sib(u.in.Bytes[l.modrmOff()+1])
		return
	case l.mod() == 0 && l.rm() == 5:
		return
	}
	u.add(u.arch.gpr(l.rm()|l.b()<<3|l.b4()<<4), aR, false)
}

// base16 are the registers of 16-bit addressing: SDM volume 2, table 2-1.
var base16 = [8][2]fixups.Reg{
	{RBX, RSI}, {RBX, RDI}, {RBP, RSI}, {RBP, RDI},
	{RSI, fixups.RegNone}, {RDI, fixups.RegNone}, {RBP, fixups.RegNone}, {RBX, fixups.RegNone},
}

// sib notes base and index.
func (u *usage) sib(sib byte) {
	l := u.l
	base, index := int(sib&7), int(sib>>3&7)|l.x()<<3
	if base != 5 || l.mod() != 0 {
		u.add(u.arch.gpr(base|l.b()<<3|l.b4()<<4), aR, false)
	}
	if u.f&factVSIB != 0 {
		u.add(u.arch.vectorReg(index|l.vvvv()&16), aR, false)
		return
	}
	if index |= l.x4() << 4; index != 4 {
		u.add(u.arch.gpr(index), aR, false)
	}
}

// segment notes the base of an fs or gs override.
func (u *usage) segment() {
	switch u.l.seg() {
	case 5:
		u.add(FSBase, aR, false)
	case 6:
		u.add(GSBase, aR, false)
	}
}
