package unicorn

// #include <unicorn/unicorn.h>
import "C"

import (
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
)

// ucReg is how Unicorn names a register.
type ucReg struct {
	id   int32
	size uint8 // bytes
	api  bool  // computed, or setting it has effects elsewhere in the processor
}

// ucRegs maps the registers of each target. Status and control registers go
// through the interface: the emulator keeps what follows from them (the top of
// the x87 stack, rounding modes, lazily computed flags) in other places.
var ucRegs = map[string]map[fixups.Reg]ucReg{
	"amd64": ucRegs64(),
	"386":   ucRegs32(),
}

func ucRegs64() map[fixups.Reg]ucReg {
	m := map[fixups.Reg]ucReg{
		fixups.RegPC: {C.UC_X86_REG_RIP, 8, false},
		49:           {C.UC_X86_REG_RFLAGS, 8, true},
		58:           {C.UC_X86_REG_FS_BASE, 8, false},
		59:           {C.UC_X86_REG_GS_BASE, 8, false},
	}
	for i, id := range [16]int32{C.UC_X86_REG_RAX, C.UC_X86_REG_RDX, C.UC_X86_REG_RCX, C.UC_X86_REG_RBX,
		C.UC_X86_REG_RSI, C.UC_X86_REG_RDI, C.UC_X86_REG_RBP, C.UC_X86_REG_RSP,
		C.UC_X86_REG_R8, C.UC_X86_REG_R9, C.UC_X86_REG_R10, C.UC_X86_REG_R11,
		C.UC_X86_REG_R12, C.UC_X86_REG_R13, C.UC_X86_REG_R14, C.UC_X86_REG_R15} {
		m[fixups.Reg(i)] = ucReg{id, 8, false}
	}
	ucVectors(m, 17, 16, 33, 64, 65, 66)
	return m
}

func ucRegs32() map[fixups.Reg]ucReg {
	m := map[fixups.Reg]ucReg{
		fixups.RegPC: {C.UC_X86_REG_EIP, 4, false},
		9:            {C.UC_X86_REG_EFLAGS, 4, true},
	}
	for i, id := range [8]int32{C.UC_X86_REG_EAX, C.UC_X86_REG_ECX, C.UC_X86_REG_EDX, C.UC_X86_REG_EBX,
		C.UC_X86_REG_ESP, C.UC_X86_REG_EBP, C.UC_X86_REG_ESI, C.UC_X86_REG_EDI} {
		m[fixups.Reg(i)] = ucReg{id, 4, false}
	}
	ucVectors(m, 21, 8, 11, 39, 37, 38)
	return m
}

func ucVectors(m map[fixups.Reg]ucReg, xmm fixups.Reg, n int, st, mxcsr, fcw, fsw fixups.Reg) {
	for i := range n {
		m[xmm+fixups.Reg(i)] = ucReg{int32(C.UC_X86_REG_XMM0 + i), 16, false}
	}
	for i := range 8 {
		m[st+fixups.Reg(i)] = ucReg{int32(C.UC_X86_REG_ST0 + i), 10, false}
	}
	m[mxcsr] = ucReg{C.UC_X86_REG_MXCSR, 4, true}
	m[fcw] = ucReg{C.UC_X86_REG_FPCW, 2, true}
	m[fsw] = ucReg{C.UC_X86_REG_FPSW, 2, true}
}

// ucWord returns the register behind a word and which part of it the word is.
// Words that share a register number without being parts of one Unicorn
// register are told apart by their names.
func ucWord(m map[fixups.Reg]ucReg, w *emu.Word) (ucReg, uint8, bool) {
	if u, ok := ucNamed[w.Name]; ok {
		if u.size == 0 {
			u.size = w.Bits / 8
		}
		return u, 0, true
	}
	u, ok := m[w.Reg]
	return u, w.Part, ok
}

var ucNamed = map[string]ucReg{
	"ftag": {C.UC_X86_REG_FPTAG, 2, true},
	"fip":  {C.UC_X86_REG_FIP, 0, false},
	"fdp":  {C.UC_X86_REG_FDP, 0, false},
	"fop":  {C.UC_X86_REG_FOP, 2, false},
}
