package unicorn

// #include <unicorn/unicorn.h>
import "C"

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
)

func a64Regs() map[fixups.Reg]ucReg {
	m := map[fixups.Reg]ucReg{
		fixups.RegPC: {id: C.UC_ARM64_REG_PC, size: 8},
		29:           {id: C.UC_ARM64_REG_X29, size: 8},
		30:           {id: C.UC_ARM64_REG_X30, size: 8},
		31:           {id: C.UC_ARM64_REG_SP, size: 8},
	}
	for i := range 29 {
		m[fixups.Reg(i)] = ucReg{id: int32(C.UC_ARM64_REG_X0 + i), size: 8}
	}
	for i := range 32 {
		m[64+fixups.Reg(i)] = ucReg{id: int32(C.UC_ARM64_REG_Q0 + i), size: 16}
	}
	return m
}

// a64Named: the emulator computes NZCV and keeps what follows from FPCR and FPSR
// in other places.
var a64Named = map[string]ucReg{
	"flags": {id: C.UC_ARM64_REG_NZCV, size: 4, api: true},
	// Through PSTATE, with the rest of it as in a fresh engine: exception level 1,
	// interrupts masked, Z.
	"btype": {fields: []ucField{{id: C.UC_ARM64_REG_PSTATE, up: 10, base: 0x400003c5, size: 4, bits: 2, try: [2]uint64{1, 2}}}},
	"fpcr":  {id: C.UC_ARM64_REG_FPCR, size: 4, api: true},
	"fpsr":  {id: C.UC_ARM64_REG_FPSR, size: 4, api: true},
	"tpidr": {id: C.UC_ARM64_REG_TPIDR_EL0, size: 8},
	// ldxr x5, [x3]
	"monitor": {fields: []ucField{{code: [3]uint32{0xc85f7c65}, size: 8, bits: 64, try: probeData}}},
}

// a64Canary is movz w0, #n; movk w0, #n, lsl #16.
func a64Canary(n uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 0x52800000|n&0xffff<<5)
	return binary.LittleEndian.AppendUint32(b, 0x72a00000|n>>16<<5)
}
