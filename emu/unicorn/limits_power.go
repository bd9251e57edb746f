package unicorn

import (
	"fmt"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
)

// A row of the table of Power is about an instruction word, unless it is about
// prefixes: then the upper half of the key is the prefix.
const (
	powerWord = 0xfc000000 << 32       // no prefix
	powerOp   = powerWord | 0xfc000000 // primary opcode
	powerX    = powerOp | 0x7fe        // and the 10 bits of X forms
)

// powerLimits is the capability table of Unicorn 2.0.1 for Power, in both orders.
// TestLimits executes every sample and fails if the emulator is right after all.
//
// The emulator knows ISA 3.0 for the most part, and takes an instruction whose
// reserved bits are not zero, or whose form is invalid, for undefined, where the
// manual has processors ignore the bits (Power ISA, Book I, 1.8.1) or leaves the
// outcome open (1.8.2).
var powerLimits = append(powerHints(), []emu.Limit{
	{Name: "prefixed", Verdict: emu.Unsupported, Mask: powerWord, Value: 0x04000000 << 32, Sample: "0600000038600001",
		Why: "no ISA 3.1"},
	{Name: "kernel-entry", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassKernelEntry), Sample: "44000002",
		Why: "there is no kernel"},
	{Name: "privileged", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassPrivileged), Sample: "7c6000a6",
		Why: "runs with the highest privilege, where user code would fault"},
	{Name: "transaction", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassTransaction), Sample: "7c00051d",
		Why: "no transactions"},
	{Name: "mftb", Verdict: emu.Unsupported, Mask: powerX, Value: 0x7c0002e6,
		Why: "there is no clock: the process ends"},
	{Name: "darn", Verdict: emu.Unsupported, Mask: powerX, Value: 0x7c0005e6, Sample: "7c0105e6",
		Why: "random numbers"},
	{Name: "wait", Verdict: emu.Unsupported, Mask: powerX, Value: 0x7c00003c, Sample: "7c00003c",
		Why: "nothing ever happens"},
	spr("mfxer", 0x7c0002a6, 1), spr("mflr", 0x7c0002a6, 8), spr("mfctr", 0x7c0002a6, 9), spr("mfvrsave", 0x7c0002a6, 256), spr("mftar", 0x7c0002a6, 815),
	spr("mtxer", 0x7c0003a6, 1), spr("mtlr", 0x7c0003a6, 8), spr("mtctr", 0x7c0003a6, 9), spr("mtvrsave", 0x7c0003a6, 256), spr("mttar", 0x7c0003a6, 815),
	{Name: "mfspr", Verdict: emu.Unsupported, Mask: powerX, Value: 0x7c0002a6,
		Why: "reads a register that no state has, or a clock that is not there, which ends the process"},
	{Name: "mtspr", Verdict: emu.Unsupported, Mask: powerX, Value: 0x7c0003a6,
		Why: "writes a register that no state has"},
	{Name: "maddld-reserved", Verdict: emu.Unsupported, Mask: powerOp | 0x3f, Value: 4<<26 | 50, Sample: "10642972",
		Why: "takes an opcode that the manual does not have for maddld, which has general registers"},
	refused("vector", 4, "10221813", "no vector instructions of ISA 3.1"),
	refused("pair-of-vectors", 6, "18040000", "no ISA 3.1"),
	refused("compare-immediate", 11, "2c640000", "reserved bits"),
	refused("compare-logical-immediate", 10, "28640000", "reserved bits"),
	refused("branch-and-cr", 19, "4c221a03", "reserved bits; no event-based branches"),
	refused("opcode-31", 31, "7c0303c0", "no ISA 3.1; reserved bits and invalid forms"),
	refused("lwzu", 33, "84600000", "invalid form"),
	refused("lbzu", 35, "8c600000", "invalid form"),
	refused("stwu", 37, "94600000", "invalid form"),
	refused("stbu", 39, "9c600000", "invalid form"),
	refused("lhzu", 41, "a4600000", "invalid form"),
	refused("lhau", 43, "ac600000", "invalid form"),
	refused("sthu", 45, "b4600000", "invalid form"),
	refused("lfsu", 49, "c4600000", "invalid form"),
	refused("lfdu", 51, "cc600000", "invalid form"),
	refused("stfsu", 53, "d4600000", "invalid form"),
	refused("stfdu", 55, "dc600000", "invalid form"),
	refused("lq", 56, "e0640000", "invalid form, reserved bits"),
	refused("ldu", 58, "e8600001", "invalid form"),
	refused("opcode-59", 59, "ec010102", "no matrix facility; reserved bits"),
	refused("vector-scalar", 60, "f0000728", "no ISA 3.1; reserved bits"),
	refused("stdu-stq", 62, "f8600001", "invalid form"),
	refused("opcode-63", 63, "fc220831", "reserved bits; no ISA 3.1"),
}...)

// powerHints: or of one register three times says how much of a processor a thread
// wants (Power ISA, Book II, 3.2); the emulator stops there, to let others go on.
func powerHints() []emu.Limit {
	var rows []emu.Limit
	for r := range uint64(32) {
		if r == 0 {
			continue
		}
		rows = append(rows, emu.Limit{Name: "priority-hint", Verdict: emu.Unsupported, Mask: powerWord | 0xffffffff,
			Value: 0x7c000378 | r<<21 | r<<16 | r<<11, Sample: fmt.Sprintf("%08x", 0x7c000378|r<<21|r<<16|r<<11),
			Why: "the run ends"})
	}
	return rows
}

// spr is a special-purpose register that is compared like any other.
func spr(name string, insn uint32, n uint32) emu.Limit {
	return emu.Limit{Name: name, Mask: powerX | 0x1ff800, Value: uint64(insn | n&31<<16 | n>>5<<11), Refused: true,
		Why: "a register of the state; refused with reserved bits"}
}

// refused are the instructions of a primary opcode, some of which the emulator does
// not know.
func refused(name string, op uint64, sample, why string) emu.Limit {
	return emu.Limit{Name: name, Mask: powerOp, Value: op << 26, Refused: true, Sample: sample, Why: why}
}
