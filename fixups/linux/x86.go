package linux

import "github.com/xol-go/xol/fixups"

// Layouts of x86. Sources: the kernel's interface headers asm/ptrace.h and
// asm/sigcontext.h (struct pt_regs, struct sigcontext, struct _fpstate_32), the C
// library's sys/user.h and sys/ucontext.h, which spell the same layouts for
// programs; for FXSAVE, Intel SDM volume 1, table 10-2. The C compiler holds the
// offsets against those headers in the tests.

// trapFlag is TF of rflags.
const trapFlag = 1 << 8

// The maps of amd64.
var (
	// AMD64PtRegs is struct pt_regs: the kernel's own frame.
	AMD64PtRegs = &Map{Name: "amd64_pt_regs", Arch: "amd64", Struct: "struct pt_regs", Size: 168, Flags: 49, Trap: trapFlag,
		Fields: slots(8, 50, amd64Frame)}
	// AMD64UserRegs is struct user_regs_struct: PTRACE_GETREGS, NT_PRSTATUS.
	AMD64UserRegs = &Map{Name: "amd64_user_regs", Arch: "amd64", Struct: "struct user_regs_struct", Size: 216, Flags: 49, Trap: trapFlag,
		Fields: slots(8, 50, amd64Frame, []slot{{58, "fs_base"}, {59, "gs_base"}, {53, "ds"}, {50, "es"}, {54, "fs"}, {55, "gs"}})}
	// AMD64GRegs is gregset_t, the general registers of a signal frame:
	// uc_mcontext.gregs. The kernel writes 0 for fs and gs there, so they are left
	// out; cs is the lowest 16 bits of the word behind the flags.
	AMD64GRegs = &Map{Name: "amd64_gregs", Arch: "amd64", Struct: "gregset_t", Size: 184, Flags: 49, Trap: trapFlag,
		Fields: slots(8, 50, amd64GRegs)}
	// AMD64FPRegs is the FXSAVE area: struct user_fpregs_struct, *uc_mcontext.fpregs.
	AMD64FPRegs = &Map{Name: "amd64_fpregs", Arch: "amd64", Struct: "struct user_fpregs_struct", Size: 512, Flags: fixups.RegNone,
		Fields: fxsave(0, 64, 17, 16, "xmm_space")}
)

// The maps of 386.
var (
	// I386PtRegs is struct pt_regs of a 32-bit kernel.
	I386PtRegs = &Map{Name: "i386_pt_regs", Arch: "386", Struct: "struct pt_regs", Size: 68, Flags: 9, Trap: trapFlag,
		Fields: slots(4, 40, i386Frame)}
	// I386UserRegs is struct user_regs_struct of a 32-bit tracer.
	I386UserRegs = &Map{Name: "i386_user_regs", Arch: "386", Struct: "struct user_regs_struct", Size: 68, Flags: 9, Trap: trapFlag,
		Fields: slots(4, 40, i386Frame)}
	// I386UserRegs64 is the struct user_regs_struct that a 64-bit tracer gets of
	// a 32-bit thread. What is written is zero-extended.
	I386UserRegs64 = &Map{Name: "i386_user_regs64", Arch: "386", Struct: "struct user_regs_struct", Size: 216, Flags: 9, Trap: trapFlag,
		Fields: slots(8, 40, i386Wide)}
	// I386GRegs is gregset_t of a 32-bit signal frame.
	I386GRegs = &Map{Name: "i386_gregs", Arch: "386", Struct: "gregset_t", Size: 76, Flags: 9, Trap: trapFlag,
		Fields: slots(4, 40, i386GRegs)}
	// I386FPXRegs is the FXSAVE area: struct user_fpxregs_struct.
	I386FPXRegs = &Map{Name: "i386_fpxregs", Arch: "386", Struct: "struct user_fpxregs_struct", Size: 512, Flags: fixups.RegNone,
		Fields: fxsave(0, 39, 21, 8, "xmm_space")}
	// I386FPState is struct _fpstate_32 of a 32-bit signal frame: 112 bytes of FSAVE,
	// then the FXSAVE area. It is there if the word at offset 110 (magic) is 0.
	I386FPState = &Map{Name: "i386_fpstate", Arch: "386", Struct: "struct _fpstate_32", Size: 624, Flags: fixups.RegNone,
		Fields: fxsave(112, 39, 21, 8, "_xmm")}
)

// slot is one word of a structure: a register, or RegNone for what no program
// can name, and the member's name.
type slot struct {
	reg fixups.Reg
	c   string
}

const none = fixups.RegNone

// amd64Frame is how the entry code of the kernel stores a thread.
var amd64Frame = []slot{
	{15, "r15"}, {14, "r14"}, {13, "r13"}, {12, "r12"}, {6, "rbp"}, {3, "rbx"}, {11, "r11"}, {10, "r10"}, {9, "r9"}, {8, "r8"},
	{0, "rax"}, {2, "rcx"}, {1, "rdx"}, {4, "rsi"}, {5, "rdi"}, {none, "orig_rax"},
	{fixups.RegPC, "rip"}, {51, "cs"}, {49, "eflags"}, {7, "rsp"}, {52, "ss"},
}

var amd64GRegs = []slot{
	{8, "REG_R8"}, {9, "REG_R9"}, {10, "REG_R10"}, {11, "REG_R11"}, {12, "REG_R12"}, {13, "REG_R13"}, {14, "REG_R14"}, {15, "REG_R15"},
	{5, "REG_RDI"}, {4, "REG_RSI"}, {6, "REG_RBP"}, {3, "REG_RBX"}, {1, "REG_RDX"}, {0, "REG_RAX"}, {2, "REG_RCX"}, {7, "REG_RSP"},
	{fixups.RegPC, "REG_RIP"}, {49, "REG_EFL"}, {51, "REG_CSGSFS"},
}

var i386Frame = []slot{
	{3, "ebx"}, {1, "ecx"}, {2, "edx"}, {6, "esi"}, {7, "edi"}, {5, "ebp"}, {0, "eax"}, {43, "xds"}, {40, "xes"}, {44, "xfs"}, {45, "xgs"},
	{none, "orig_eax"}, {fixups.RegPC, "eip"}, {41, "xcs"}, {9, "eflags"}, {4, "esp"}, {42, "xss"},
}

// i386Wide is i386Frame's registers in the places of amd64's.
var i386Wide = []slot{
	{none, ""}, {none, ""}, {none, ""}, {none, ""}, {5, "rbp"}, {3, "rbx"}, {none, ""}, {none, ""}, {none, ""}, {none, ""},
	{0, "rax"}, {1, "rcx"}, {2, "rdx"}, {6, "rsi"}, {7, "rdi"}, {none, ""},
	{fixups.RegPC, "rip"}, {41, "cs"}, {9, "eflags"}, {4, "rsp"}, {42, "ss"}, {none, ""}, {none, ""}, {43, "ds"}, {40, "es"}, {44, "fs"}, {45, "gs"},
}

var i386GRegs = []slot{
	{45, "REG_GS"}, {44, "REG_FS"}, {40, "REG_ES"}, {43, "REG_DS"}, {7, "REG_EDI"}, {6, "REG_ESI"}, {5, "REG_EBP"}, {4, "REG_ESP"},
	{3, "REG_EBX"}, {2, "REG_EDX"}, {1, "REG_ECX"}, {0, "REG_EAX"}, {none, "REG_TRAPNO"}, {none, "REG_ERR"},
	{fixups.RegPC, "REG_EIP"}, {41, "REG_CS"}, {9, "REG_EFL"}, {none, "REG_UESP"}, {42, "REG_SS"},
}

// slots lays words of stride bytes one behind the other. Of a segment register,
// numbered from seg in the order es cs ss ds fs gs, the lowest 16 bits count:
// the kernel may keep something else above them.
func slots(stride uint8, seg fixups.Reg, lists ...[]slot) []Field {
	var out []Field
	var off uint16
	for _, list := range lists {
		for _, s := range list {
			if s.reg != none {
				f := Field{Reg: s.reg, Off: off, Size: stride, C: s.c}
				if s.reg >= seg && s.reg < seg+6 {
					f.Size = 2
				}
				out = append(out, f)
			}
			off += uint16(stride)
		}
	}
	return out
}

// fxsave are mxcsr and the vector registers of an FXSAVE area at base; xmm0 has
// number first, and there are n of them. The area has parts 0 and 1 of each. A
// write of part 0 has to zero parts 2 and up, which are elsewhere.
func fxsave(base uint16, mxcsr, first fixups.Reg, n int, c string) []Field {
	out := []Field{{Reg: mxcsr, Off: base + 24, Size: 4, C: "mxcsr"}}
	for i := range n {
		for part := range 2 {
			out = append(out, Field{Reg: fixups.RegPart(first+fixups.Reg(i), part), Off: base + 160 + uint16(16*i+8*part), Size: 8,
				ReadOnly: part == 0})
		}
	}
	out[1].C = c // the array of all of them
	return out
}
