package relocgen

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/xol-go/xol/fixups"
)

// disassemble returns the text of a site, "" where x/arch knows nothing or
// contradicts the entry in length or in being pc-relative: it is a witness, not a
// judge. (It loses the base of rip-relative VEX operands, for one.)
func disassemble(arch string, e *fixups.Entry) string {
	switch arch {
	case "amd64":
		return x86Text(e, 64)
	case "386":
		return x86Text(e, 32)
	}
	return ""
}

func x86Text(e *fixups.Entry, mode int) string {
	inst, err := x86asm.Decode(e.Bytes, mode)
	if err != nil || inst.Op == 0 || inst.Len != int(e.Len) {
		return ""
	}
	if e.HasTarget && inst.PCRel == 0 && e.Class != fixups.ClassInvalid {
		return ""
	}
	return x86asm.IntelSyntax(inst, e.PC, nil)
}
