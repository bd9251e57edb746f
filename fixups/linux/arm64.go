package linux

import "github.com/xol-go/xol/fixups"

// Layouts of arm64. Sources: the kernel's interface headers asm/ptrace.h (struct
// user_pt_regs, struct user_fpsimd_state) and asm/sigcontext.h (struct sigcontext,
// struct fpsimd_context), the C library's sys/ucontext.h. Processors that keep
// their data in big-endian order have the same structures in that order, and no
// map here.

// Numbers of registers that no DWARF number names.
const (
	arm64NZCV  fixups.Reg = 128
	arm64BTYPE fixups.Reg = 129
	arm64FPCR  fixups.Reg = 130
	arm64FPSR  fixups.Reg = 131
	arm64V0    fixups.Reg = 64
)

// The maps of arm64.
var (
	// ARM64PtRegs is struct user_pt_regs: NT_PRSTATUS, and the beginning of the
	// kernel's own frame, struct pt_regs.
	ARM64PtRegs = &Map{Name: "arm64_pt_regs", Arch: "arm64", Struct: "struct user_pt_regs", Size: 272, Flags: fixups.RegNone,
		Fields: arm64General(0)}
	// ARM64MContext is mcontext_t of a signal frame, uc_mcontext, which the kernel
	// calls struct sigcontext. Behind these registers it has a list of records, of
	// which struct fpsimd_context is one.
	ARM64MContext = &Map{Name: "arm64_mcontext", Arch: "arm64", Struct: "mcontext_t", Size: 280, Flags: fixups.RegNone,
		Fields: arm64General(8)}
	// ARM64FPSIMDContext is struct fpsimd_context, a record of a signal frame.
	ARM64FPSIMDContext = &Map{Name: "arm64_fpsimd_context", Arch: "arm64", Struct: "struct fpsimd_context", Size: 528, Flags: fixups.RegNone,
		Fields: append([]Field{{Reg: arm64FPSR, Off: 8, Size: 4, C: "fpsr"}, {Reg: arm64FPCR, Off: 12, Size: 4, C: "fpcr"}}, arm64Vectors(16)...)}
	// ARM64FPRegs is struct user_fpsimd_state: NT_PRFPREG.
	ARM64FPRegs = &Map{Name: "arm64_fpregs", Arch: "arm64", Struct: "struct user_fpsimd_state", Size: 528, Flags: fixups.RegNone,
		Fields: append(arm64Vectors(0), Field{Reg: arm64FPSR, Off: 512, Size: 4, C: "fpsr"}, Field{Reg: arm64FPCR, Off: 516, Size: 4, C: "fpcr"})}
)

// arm64General are x0 to x30, sp, pc and what programs name of pstate, one behind
// the other from base on. The condition flags are in pstate where MRS of NZCV
// has them, BTYPE is its bits 11 and 10.
func arm64General(base uint16) []Field {
	out := []Field{{Reg: 0, Off: base, Size: 8, C: "regs"}}
	for i := fixups.Reg(1); i < 31; i++ {
		out = append(out, Field{Reg: i, Off: base + 8*uint16(i), Size: 8})
	}
	return append(out, Field{Reg: 31, Off: base + 248, Size: 8, C: "sp"},
		Field{Reg: fixups.RegPC, Off: base + 256, Size: 8, C: "pc"},
		Field{Reg: arm64NZCV, Off: base + 264, Size: 8, Lsb: 28, Bits: 4, Shift: 28, C: "pstate"},
		Field{Reg: arm64BTYPE, Off: base + 264, Size: 8, Lsb: 10, Bits: 2})
}

// arm64Vectors are the parts of v0 to v31 from base on. A write of part 0 zeroes
// part 1; the parts from 2 on, if the processor has them, are elsewhere
// ([Part.Wide]).
func arm64Vectors(base uint16) []Field {
	var out []Field
	for i := range 32 {
		v := arm64V0 + fixups.Reg(i)
		out = append(out, Field{Reg: fixups.RegPart(v, 0), Off: base + 16*uint16(i), Size: 8, Zeroes: 8},
			Field{Reg: fixups.RegPart(v, 1), Off: base + 16*uint16(i) + 8, Size: 8})
	}
	out[0].C = "vregs" // the array of all of them
	return out
}
