package relocgen

import (
	"golang.org/x/arch/x86/x86asm"
)

// disassemble returns the text of the instruction, "" where x/arch knows
// nothing or disagrees about the length: it is a witness, not a judge. pc is
// needed for branch targets.
func disassemble(arch string, code []byte, pc uint64) string {
	switch arch {
	case "amd64":
		return x86Text(code, pc, 64)
	case "386":
		return x86Text(code, pc, 32)
	}
	return ""
}

func x86Text(code []byte, pc uint64, mode int) string {
	inst, err := x86asm.Decode(code, mode)
	if err != nil || inst.Op == 0 || inst.Len != len(code) {
		return ""
	}
	return x86asm.IntelSyntax(inst, pc, nil)
}
