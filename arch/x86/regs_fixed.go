package x86

import "github.com/xol-go/xol/fixups"

// Fixed registers of rows. Those that begin with V go by operand size, with Z by
// operand size but at most 32 bits, with A by address size.
const (
	fixRAX = iota << operandArg
	fixRCX
	fixRDX
	fixRBX
	fixRSP
	fixRBP
	fixRSI
	fixRDI
	fixR8
	fixR9
	fixR10
	fixR11
	fixR12
	fixR13
	fixR14
	fixR15
	fixEAX
	fixEBX
	fixECX
	fixEDX
	fixAX
	fixDX
	fixAL
	fixAH
	fixCL
	fixVAX
	fixVCX
	fixVDX
	fixVBX
	fixVBP
	fixVSI
	fixVDI
	fixZAX
	fixAAX
	fixACX
	fixASI
	fixADI
	fixES
	fixCS
	fixSS
	fixDS
	fixFS
	fixGS
	fixFLAGS
	fixMXCSR
	fixFCW
	fixFSW
	fixFIP
	fixXCR0
	fixSSP
	fixPKRU
	fixUIF
	fixMSR
	fixCR0
	fixGDTR
	fixIDTR
	fixLDTR
	fixTR
	fixFSBASE
	fixGSBASE
	fixST0
	fixST1
	fixXMM0
	fixXMM1
	fixST
	fixXMM
	fixXMMall
	fixXMM0TO6
	fixXMM0TO7
	fixXMM0TO15
	fixXSTATE
)

// Widths of fixed registers: bytes, or by what.
const (
	widthV   = -1 - iota // operand size
	widthZ               // operand size, at most 4
	widthA               // address size
	widthVec             // a vector register
)

// fixedRegs are the single registers among them.
var fixedRegs = [...]struct {
	reg   fixups.Reg
	width int8
}{
	fixRAX >> operandArg:    {RAX, 8},
	fixRCX >> operandArg:    {RCX, 8},
	fixRDX >> operandArg:    {RDX, 8},
	fixRBX >> operandArg:    {RBX, 8},
	fixRSP >> operandArg:    {RSP, 8},
	fixRBP >> operandArg:    {RBP, 8},
	fixRSI >> operandArg:    {RSI, 8},
	fixRDI >> operandArg:    {RDI, 8},
	fixR8 >> operandArg:     {R8, 8},
	fixR9 >> operandArg:     {R8 + 1, 8},
	fixR10 >> operandArg:    {R8 + 2, 8},
	fixR11 >> operandArg:    {R8 + 3, 8},
	fixR12 >> operandArg:    {R8 + 4, 8},
	fixR13 >> operandArg:    {R8 + 5, 8},
	fixR14 >> operandArg:    {R8 + 6, 8},
	fixR15 >> operandArg:    {R8 + 7, 8},
	fixEAX >> operandArg:    {RAX, 4},
	fixEBX >> operandArg:    {RBX, 4},
	fixECX >> operandArg:    {RCX, 4},
	fixEDX >> operandArg:    {RDX, 4},
	fixAX >> operandArg:     {RAX, 2},
	fixDX >> operandArg:     {RDX, 2},
	fixAL >> operandArg:     {RAX, 1},
	fixAH >> operandArg:     {RAX, 1},
	fixCL >> operandArg:     {RCX, 1},
	fixVAX >> operandArg:    {RAX, widthV},
	fixVCX >> operandArg:    {RCX, widthV},
	fixVDX >> operandArg:    {RDX, widthV},
	fixVBX >> operandArg:    {RBX, widthV},
	fixVBP >> operandArg:    {RBP, widthV},
	fixVSI >> operandArg:    {RSI, widthV},
	fixVDI >> operandArg:    {RDI, widthV},
	fixZAX >> operandArg:    {RAX, widthZ},
	fixAAX >> operandArg:    {RAX, widthA},
	fixACX >> operandArg:    {RCX, widthA},
	fixASI >> operandArg:    {RSI, widthA},
	fixADI >> operandArg:    {RDI, widthA},
	fixES >> operandArg:     {ES, 8},
	fixCS >> operandArg:     {CS, 8},
	fixSS >> operandArg:     {SS, 8},
	fixDS >> operandArg:     {DS, 8},
	fixFS >> operandArg:     {FS, 8},
	fixGS >> operandArg:     {GS, 8},
	fixFLAGS >> operandArg:  {FLAGS, 8},
	fixMXCSR >> operandArg:  {MXCSR, 8},
	fixFCW >> operandArg:    {FCW, 8},
	fixFSW >> operandArg:    {FSW, 8},
	fixFIP >> operandArg:    {FIP, 8},
	fixXCR0 >> operandArg:   {XCR0, 8},
	fixSSP >> operandArg:    {SSP, 8},
	fixPKRU >> operandArg:   {PKRU, 8},
	fixUIF >> operandArg:    {UIF, 8},
	fixMSR >> operandArg:    {MSR, 8},
	fixCR0 >> operandArg:    {CR0, 8},
	fixGDTR >> operandArg:   {GDTR, 8},
	fixIDTR >> operandArg:   {IDTR, 8},
	fixLDTR >> operandArg:   {LDTR, 8},
	fixTR >> operandArg:     {TR, 8},
	fixFSBASE >> operandArg: {FSBase, 8},
	fixGSBASE >> operandArg: {GSBase, 8},
	fixST0 >> operandArg:    {ST0, 8},
	fixST1 >> operandArg:    {ST0 + 1, 8},
	fixXMM0 >> operandArg:   {XMM0, widthVec},
	fixXMM1 >> operandArg:   {XMM0 + 1, widthVec},
}

// fixed notes a fixed register, or all that a name stands for.
func (u *usage) fixed(n int, access uint16) {
	if n < len(fixedRegs) {
		u.fixedOne(n, access)
		return
	}
	all := u.arch.regMask() + 1
	switch n << operandArg {
	case fixST:
		u.file(ST0, 8, access, true)
	case fixXMM0TO6:
		u.vectors(7, access)
	case fixXMM0TO7:
		u.vectors(8, access)
	case fixXMM, fixXMMall, fixXMM0TO15:
		u.vectors(all, access)
	case fixXSTATE:
		u.xstate(access)
	}
}

func (u *usage) fixedOne(n int, access uint16) {
	f := &fixedRegs[n]
	if !u.arch.m64 && f.reg-R8 < 8 {
		return
	}
	width := int(f.width)
	switch f.width {
	case widthV:
		width = u.l.opSize()
	case widthZ:
		width = min(u.l.opSize(), 4)
	case widthA:
		width = u.l.addrSize()
	case widthVec:
		u.add(u.arch.vectorReg(int(f.reg-XMM0)), access, u.l.enc() >= encVEX2)
		return
	}
	u.add(u.arch.reg(f.reg), access, width >= 4)
}

// file notes n registers of one file.
func (u *usage) file(first fixups.Reg, n int, access uint16, whole bool) {
	r := u.arch.reg(first)
	for i := range n {
		u.add(r+fixups.Reg(i), access, whole)
	}
}

func (u *usage) vectors(n int, access uint16) {
	for i := range n {
		u.add(u.arch.vectorReg(i), access, u.l.enc() >= encVEX2)
	}
}

// xstate notes what XSAVE and XRSTOR can save and restore in user mode.
func (u *usage) xstate(access uint16) {
	n := 32
	if !u.arch.m64 {
		n = 8
	}
	u.vectors(n, access)
	u.file(ST0, 8, access, false)
	u.file(MM0, 8, access, false)
	u.file(K0, 8, access, false)
	u.file(BND0, 4, access, false)
	for _, r := range [...]fixups.Reg{MXCSR, FCW, FSW, FIP, PKRU} {
		u.add(u.arch.reg(r), access, false)
	}
	if u.arch.m64 {
		u.file(TMM0, 8, access, false)
		u.file(R16, 16, access, false)
	}
}
