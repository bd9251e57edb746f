package unicorn

import (
	"fmt"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
)

// a64Limits is the capability table of Unicorn 2.0.1 for A64, model MAX. TestLimits
// executes every sample and fails if the emulator is right after all. Groups are
// those of DDI 0487, C4.1: what the emulator lacks of one it refuses.
var a64Limits = append(a64Ends(), []emu.Limit{
	{Name: "kernel-entry", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassKernelEntry), Sample: "d4000001",
		Why: "there is no kernel"},
	{Name: "privileged", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassPrivileged), Sample: "d5382000",
		Why: "runs at exception level 1, where user code would fault"},
	{Name: "transaction", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassTransaction), Sample: "d5233060",
		Why: "no TME"},
	{Name: "wfi", Verdict: emu.Unsupported, Mask: 0xffffffff, Value: 0xd503207f, Sample: "d503207f",
		Why: "nothing ever happens"},
	{Name: "counters", Verdict: emu.Unsupported, Mask: 0xffffff00, Value: 0xd53be000, Sample: "d53be040",
		Why: "every run reads another time"},
	{Name: "random-numbers", Verdict: emu.Unsupported, Mask: 0xffffffc0, Value: 0xd53b2400, Sample: "d53b2400",
		Why: "random numbers"},
	group("sme", 0x9e000000, 0x80000000, "c00800ff", "no SME"),
	group("sve", 0x1e000000, 0x04000000, "04a0e3e0", "SVE is trapped"),
	group("reserved", 0x1e000000, 0x00000000, "00000001", "UDF"),
	group("immediate", 0x1c000000, 0x10000000, "91800000", "no MTE, no CSSC"),
	group("branches-system", 0x1c000000, 0x14000000, "54000010", "no BC, CB, GCS, MOPS, TME and 128-bit system registers"),
	group("loads-stores", 0x0a000000, 0x08000000, "19208000", "no LSE128, LRCPC3, LS64, MOPS, MTE, THE, LSUI"),
	group("register", 0x0e000000, 0x0a000000, "dac02000", "no CSSC, CPA, PAuth_LR, MTE"),
	group("simd", 0x0e000000, 0x0e000000, "2e40fc00", "no BF16, I8MM, FP8, LUT, F8F16"),
}...)

// group is a group of encodings, some of which the emulator does not know.
func group(name string, mask, value uint64, sample, why string) emu.Limit {
	return emu.Limit{Name: name, Mask: mask, Value: value, Refused: true, Sample: sample, Why: why}
}

// a64Ends: half-precision instructions that the emulator does not know end the
// process as they are translated. Most of them are not allocated; FAMAX, FAMIN and
// FSCALE are.
func a64Ends() []emu.Limit {
	var rows []emu.Limit
	add := func(name string, mask, value uint64) {
		rows = append(rows, emu.Limit{Name: name, Verdict: emu.Unsupported, Mask: mask, Value: value,
			Why: "the process ends"})
	}
	// Three registers, half precision: U, a and opcode.
	for _, k := range [...]struct{ u, a, op uint64 }{{0, 0, 5}, {0, 1, 3}, {0, 1, 4}, {0, 1, 5}, {1, 0, 1}, {1, 1, 1}, {1, 1, 3}, {1, 1, 7}} {
		add(fmt.Sprintf("half-three-%d%d%d", k.u, k.a, k.op), 0xbfe0fc00, 0x0e400400|k.u<<29|k.a<<23|k.op<<11)
	}
	// Two registers, half precision: bits of scalar, U, a and opcode that are looked
	// at, and what they are.
	const fixed, value = 0x8f7e0c00, 0x0e780800
	const scalar, u, a = 1 << 28, 1 << 29, 1 << 23
	for _, k := range [...]struct {
		name        string
		flags, set  uint64 // of scalar, U and a
		mask, value uint64 // of opcode
	}{
		{"00xxx", 0, 0, 0x18, 0x00}, {"010xx", 0, 0, 0x1c, 0x08}, {"10xxx", 0, 0, 0x18, 0x10},
		{"011xx", a, 0, 0x1c, 0x0c}, {"01110", u | a, u | a, 0x1f, 0x0e}, {"11110", 0, 0, 0x1f, 0x1e},
		{"11111", a, 0, 0x1f, 0x1f}, {"11111-0", u | a, a, 0x1f, 0x1f}, {"11100", a, a, 0x1f, 0x1c},
		{"11000", u | a, u | a, 0x1f, 0x18},
		{"scalar-01111", scalar, scalar, 0x1f, 0x0f}, {"scalar-11111", scalar | u, scalar | u, 0x1f, 0x1f},
	} {
		add("half-two-"+k.name, fixed|k.flags|k.mask<<12, value|k.set|k.value<<12)
	}
	return rows
}
