package unicorn

// #include <unicorn/unicorn.h>
import "C"

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
)

// Status and control registers go through the interface: the emulator keeps what
// follows from them (the top of the x87 stack, rounding modes, lazily computed
// flags) in other places.

func ucRegs64() map[fixups.Reg]ucReg {
	m := map[fixups.Reg]ucReg{
		fixups.RegPC: {id: C.UC_X86_REG_RIP, size: 8},
		49:           {id: C.UC_X86_REG_RFLAGS, size: 8, api: true},
		58:           {id: C.UC_X86_REG_FS_BASE, size: 8},
		59:           {id: C.UC_X86_REG_GS_BASE, size: 8},
	}
	for i, id := range [16]int32{C.UC_X86_REG_RAX, C.UC_X86_REG_RDX, C.UC_X86_REG_RCX, C.UC_X86_REG_RBX,
		C.UC_X86_REG_RSI, C.UC_X86_REG_RDI, C.UC_X86_REG_RBP, C.UC_X86_REG_RSP,
		C.UC_X86_REG_R8, C.UC_X86_REG_R9, C.UC_X86_REG_R10, C.UC_X86_REG_R11,
		C.UC_X86_REG_R12, C.UC_X86_REG_R13, C.UC_X86_REG_R14, C.UC_X86_REG_R15} {
		m[fixups.Reg(i)] = ucReg{id: id, size: 8}
	}
	ucVectors(m, 17, 16, 33, 64, 65, 66)
	return m
}

func ucRegs32() map[fixups.Reg]ucReg {
	m := map[fixups.Reg]ucReg{
		fixups.RegPC: {id: C.UC_X86_REG_EIP, size: 4},
		9:            {id: C.UC_X86_REG_EFLAGS, size: 4, api: true},
	}
	for i, id := range [8]int32{C.UC_X86_REG_EAX, C.UC_X86_REG_ECX, C.UC_X86_REG_EDX, C.UC_X86_REG_EBX,
		C.UC_X86_REG_ESP, C.UC_X86_REG_EBP, C.UC_X86_REG_ESI, C.UC_X86_REG_EDI} {
		m[fixups.Reg(i)] = ucReg{id: id, size: 4}
	}
	ucVectors(m, 21, 8, 11, 39, 37, 38)
	return m
}

func ucVectors(m map[fixups.Reg]ucReg, xmm fixups.Reg, n int, st, mxcsr, fcw, fsw fixups.Reg) {
	for i := range n {
		m[xmm+fixups.Reg(i)] = ucReg{id: int32(C.UC_X86_REG_XMM0 + i), size: 16}
	}
	for i := range 8 {
		m[st+fixups.Reg(i)] = ucReg{id: int32(C.UC_X86_REG_ST0 + i), size: 10}
	}
	m[mxcsr] = ucReg{id: C.UC_X86_REG_MXCSR, size: 4, api: true}
	m[fcw] = ucReg{id: C.UC_X86_REG_FPCW, size: 2, api: true}
	m[fsw] = ucReg{id: C.UC_X86_REG_FPSW, size: 2, api: true}
}

// x86Named are the words that share a register number without being parts of one
// Unicorn register; they are told apart by their names.
var x86Named = map[string]ucReg{
	"ftag": {id: C.UC_X86_REG_FPTAG, size: 2, api: true},
	"fip":  {id: C.UC_X86_REG_FIP, size: 0},
	"fdp":  {id: C.UC_X86_REG_FDP, size: 0},
	"fop":  {id: C.UC_X86_REG_FOP, size: 2},
}

// x86Canary is mov eax, imm32.
func x86Canary(n uint32) []byte { return binary.LittleEndian.AppendUint32([]byte{0xb8}, n) }

// x86Shape is engine.Shape. IDIV of the least dividend by -1 ends the whole
// process: Unicorn divides with the host's instruction and the host's width.
// Such a dividend becomes the next one.
func x86Shape(e *engine, words []uint64) {
	lo, hi := words[e.acc], words[e.ext]
	if uint32(lo) == 0 && uint32(hi) == 1<<31 || uint16(lo) == 0 && uint16(hi) == 1<<15 {
		words[e.acc] |= 1
	}
}
