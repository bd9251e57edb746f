package relocgen

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/ppc64/ppc64asm"
	"golang.org/x/arch/x86/x86asm"

	"github.com/xol-go/xol/fixups"
)

// disassemble returns the text of a site, "" where x/arch knows nothing or
// contradicts the entry in length, in being pc-relative or in the target: it is a
// witness, not a judge. (It loses the base of rip-relative VEX operands, for one.)
func disassemble(arch string, e *fixups.Entry) string {
	if e.Class == fixups.ClassInvalid {
		return "" // bytes without a row: no text either
	}
	switch arch {
	case "amd64":
		return x86Text(e, 64)
	case "386":
		return x86Text(e, 32)
	case "arm64":
		return arm64Text(e)
	case "ppc64":
		return ppc64Text(e, binary.BigEndian)
	case "ppc64le":
		return ppc64Text(e, binary.LittleEndian)
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

// textLock serializes arm64asm and ppc64asm, whose decoders write to package
// variables. x86asm does not.
var textLock sync.Mutex

// noText leaves no text where a decoder or printer of x/arch panics, which some do
// where their tables do not fit each other.
func noText(text *string) {
	if recover() != nil {
		*text = ""
	}
}

// arm64Text is the text in the syntax of GNU as, with a target as an address.
func arm64Text(e *fixups.Entry) (text string) {
	if len(e.Bytes) != 4 {
		return ""
	}
	textLock.Lock()
	defer textLock.Unlock()
	defer noText(&text)
	inst, err := arm64asm.Decode(e.Bytes)
	if err != nil {
		return ""
	}
	text = strings.TrimSpace(arm64asm.GNUSyntax(inst))
	for _, arg := range inst.Args {
		rel, ok := arg.(arm64asm.PCRel)
		if !ok {
			continue
		}
		target := e.PC + uint64(rel)
		if inst.Op == arm64asm.ADRP {
			target = e.PC&^0xfff + uint64(rel)
		}
		if !e.HasTarget || e.Target != target {
			return ""
		}
		return strings.TrimSuffix(text, rel.String()) + fmt.Sprintf("%#x", target)
	}
	if e.HasTarget {
		return ""
	}
	return text
}

// ppc64Text is the text in the syntax of GNU as. Prefixed instructions show R as
// their last operand, and no target.
func ppc64Text(e *fixups.Entry, order binary.ByteOrder) (text string) {
	textLock.Lock()
	defer textLock.Unlock()
	defer noText(&text)
	inst, err := ppc64asm.Decode(e.Bytes, order)
	if err != nil || inst.Len != int(e.Len) {
		return ""
	}
	branch := e.HasTarget && len(e.Bytes) == 4 && e.Class != fixups.ClassPCRelative
	for _, arg := range inst.Args {
		var target uint64
		switch v := arg.(type) {
		case ppc64asm.PCRel:
			target = e.PC + uint64(int64(v))
		case ppc64asm.Label:
			target = uint64(int64(v))
		default:
			continue
		}
		if !e.HasTarget || e.Target != target {
			return ""
		}
		branch = false
	}
	if branch {
		return "" // its target is missing
	}
	return ppc64asm.GNUSyntax(inst, e.PC)
}
