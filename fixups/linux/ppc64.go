package linux

import "github.com/xol-go/xol/fixups"

// Layouts of 64-bit Power, each in both byte orders. Sources: the kernel's
// interface headers asm/ptrace.h (struct pt_regs, the indices of gregset_t) and
// asm/sigcontext.h, the C library's sys/ucontext.h; for the regsets without a
// structure of their own (NT_PPC_VSX, NT_PPC_TAR), linux/elf.h.

const (
	ppcF0     fixups.Reg = 32
	ppcCR     fixups.Reg = 64
	ppcLR     fixups.Reg = 65
	ppcCTR    fixups.Reg = 66
	ppcXER    fixups.Reg = 76
	ppcV0     fixups.Reg = 77
	ppcVRSAVE fixups.Reg = 109
	ppcVSCR   fixups.Reg = 110
	ppcTAR    fixups.Reg = 120
	ppcFPSCR  fixups.Reg = 121
	ppcMSR    fixups.Reg = 122

	// ppcTrap are SE and BE of the MSR: single-step and branch trace.
	ppcTrap = 3 << 9
)

// The maps of ppc64, big-endian.
var (
	// PPC64PtRegs is struct pt_regs: the kernel's own frame, PTRACE_GETREGS,
	// NT_PRSTATUS.
	PPC64PtRegs = ppcPtRegs("ppc64", fixups.BigEndian)
	// PPC64GRegs is gregset_t, the general registers of a signal frame:
	// uc_mcontext.gp_regs.
	PPC64GRegs = ppcGRegs("ppc64", fixups.BigEndian)
	// PPC64FPRegs is fpregset_t: uc_mcontext.fp_regs, NT_PRFPREG. A
	// floating-point register is the more significant half of a vector-scalar
	// register, its part 1.
	PPC64FPRegs = ppcFPRegs("ppc64", fixups.BigEndian)
	// PPC64VRRegs is vrregset_t: *uc_mcontext.v_regs, NT_PPC_VMX. In a signal
	// frame it is valid where bit 25 of the MSR, counted from the lowest, is set.
	PPC64VRRegs = ppcVRRegs("ppc64", fixups.BigEndian)
	// PPC64VSX are the less significant halves of vs0 to vs31: NT_PPC_VSX. In a
	// signal frame they stand 544 bytes behind v_regs, where bit 23 of the MSR is
	// set.
	PPC64VSX = ppcVSX("ppc64", fixups.BigEndian)
	// PPC64TAR is the register TAR: NT_PPC_TAR. No signal frame has it; a handler
	// of the thread finds it in the register itself.
	PPC64TAR = ppcTARMap("ppc64", fixups.BigEndian)
)

// The maps of ppc64le: those of ppc64 in the other byte order.
var (
	PPC64LEPtRegs = ppcPtRegs("ppc64le", fixups.LittleEndian)
	PPC64LEGRegs  = ppcGRegs("ppc64le", fixups.LittleEndian)
	PPC64LEFPRegs = ppcFPRegs("ppc64le", fixups.LittleEndian)
	PPC64LEVRRegs = ppcVRRegs("ppc64le", fixups.LittleEndian)
	PPC64LEVSX    = ppcVSX("ppc64le", fixups.LittleEndian)
	PPC64LETAR    = ppcTARMap("ppc64le", fixups.LittleEndian)
)

func ppcPtRegs(arch string, order fixups.End) *Map {
	return &Map{Name: arch + "_pt_regs", Arch: arch, Struct: "struct pt_regs", Size: 352, Flags: ppcMSR, Trap: ppcTrap, Order: order,
		Fields: ppcGeneral("gpr", "nip", "msr", "ctr", "link", "xer", "ccr")}
}

// ppcGRegs: what a handler writes to the MSR of its frame the kernel ignores.
func ppcGRegs(arch string, order fixups.End) *Map {
	m := &Map{Name: arch + "_gregs", Arch: arch, Struct: "gregset_t", Size: 384, Flags: ppcMSR, Trap: ppcTrap, Order: order,
		Fields: ppcGeneral("PT_R0", "PT_NIP", "PT_MSR", "PT_CTR", "PT_LNK", "PT_XER", "PT_CCR")}
	for i := range m.Fields {
		m.Fields[i].ReadOnly = m.Fields[i].Reg == ppcMSR
	}
	return m
}

// ppcGeneral are r0 to r31 and the registers behind them, under these names.
func ppcGeneral(r0, nip, msr, ctr, lr, xer, cr string) []Field {
	var out []Field
	for i := range fixups.Reg(32) {
		out = append(out, Field{Reg: i, Off: 8 * uint16(i), Size: 8})
	}
	out[0].C = r0
	return append(out, Field{Reg: fixups.RegPC, Off: 256, Size: 8, C: nip}, Field{Reg: ppcMSR, Off: 264, Size: 8, C: msr},
		Field{Reg: ppcCTR, Off: 280, Size: 8, C: ctr}, Field{Reg: ppcLR, Off: 288, Size: 8, C: lr},
		Field{Reg: ppcXER, Off: 296, Size: 8, C: xer}, Field{Reg: ppcCR, Off: 304, Size: 8, C: cr})
}

func ppcFPRegs(arch string, order fixups.End) *Map {
	m := &Map{Name: arch + "_fpregs", Arch: arch, Struct: "fpregset_t", Size: 264, Flags: fixups.RegNone, Order: order}
	for i := range 32 {
		m.Fields = append(m.Fields, Field{Reg: fixups.RegPart(ppcF0+fixups.Reg(i), 1), Off: 8 * uint16(i), Size: 8})
	}
	m.Fields = append(m.Fields, Field{Reg: ppcFPSCR, Off: 256, Size: 8})
	return m
}

// ppcVRRegs: a vector register is stored as stvx would. VSCR is the word of lowest
// significance of a vector.
func ppcVRRegs(arch string, order fixups.End) *Map {
	m := &Map{Name: arch + "_vrregs", Arch: arch, Struct: "vrregset_t", Size: 544, Flags: fixups.RegNone, Order: order}
	low, vscr := uint16(0), uint16(512) // where the less significant half is
	if order == fixups.BigEndian {
		low, vscr = 8, 524
	}
	for i := range 32 {
		for _, off := range [...]uint16{0, 8} {
			f := Field{Reg: fixups.RegPart(ppcV0+fixups.Reg(i), int(off^low)/8), Off: 16*uint16(i) + off, Size: 8}
			m.Fields = append(m.Fields, f)
		}
	}
	m.Fields[0].C = "vrregs"
	m.Fields = append(m.Fields, Field{Reg: ppcVSCR, Off: vscr, Size: 4, C: "vscr.vscr_word"}, Field{Reg: ppcVRSAVE, Off: 528, Size: 4, C: "vrsave"})
	return m
}

func ppcVSX(arch string, order fixups.End) *Map {
	m := &Map{Name: arch + "_vsx", Arch: arch, Struct: "uint64_t[32]", Size: 256, Flags: fixups.RegNone, Order: order}
	for i := range 32 {
		m.Fields = append(m.Fields, Field{Reg: fixups.RegPart(ppcF0+fixups.Reg(i), 0), Off: 8 * uint16(i), Size: 8})
	}
	return m
}

func ppcTARMap(arch string, order fixups.End) *Map {
	return &Map{Name: arch + "_tar", Arch: arch, Struct: "uint64_t", Size: 8, Flags: fixups.RegNone, Order: order,
		Fields: []Field{{Reg: ppcTAR, Size: 8}}}
}
