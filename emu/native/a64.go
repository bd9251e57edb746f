package native

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
)

// machineARM64 is A64 under Linux. System calls by the generic table; the machine
// context is struct sigcontext of arch/arm64, which is followed by records that
// each say what they are.
func machineARM64() *machine {
	return &machine{
		arch: "arm64",
		kind: elfKind{machine: 183, order: binary.LittleEndian},
		sys: system{read: 63, write: 64, mmap: 222, munmap: 215, mprotect: 226, sigaction: 134, sigaltstack: 132, prctl: 167, exitGroup: 94,
			context: 176, words: 288, vectorVL: 32},
		risc:      func(bool) risc { return newA64() },
		emulators: []string{"qemu-aarch64-static", "qemu-aarch64"},
		model:     "max,sme=off",
		guard:     0x10, // PROT_BTI
		target:    targetA64,
		frame:     frameA64,
		place:     placeA64,
		compose:   composeA64,
		seal:      sealA64,
		parts:     partsA64,
		access:    accessA64,
		length:    func(uint32) int { return 4 },
		direct:    directA64,
		constant:  func(n uint32) (uint32, uint64) { return 0xd2800000 | n&0xffff<<5, uint64(n & 0xffff) },
		shape:     shapeA64,
		features:  featuresA64,
		limits:    limitsA64,
	}
}

// A sigcontext of arm64 and the records behind it.
const (
	ctxA64Regs    = 8
	ctxA64SP      = 256
	ctxA64PC      = 264
	ctxA64PState  = 272
	ctxA64Records = 288

	magicFloat = 0x46508001
	magicSVE   = 0x53564501
	magicESR   = 0x45535201

	floatSize = 528 // header, FPSR, FPCR, 32 registers of 16 bytes
	sveHead   = 16  // header and vector length, then Z, P, FFR
)

func sveSize(vl int) int { return (sveHead + 32*vl + 17*vl/8 + 15) &^ 15 }

// findA64 returns where a record is in a context, -1 if it is not there.
func findA64(context []byte, magic uint32) int {
	le := binary.LittleEndian
	for at := ctxA64Records; at+16 <= len(context); {
		m, size := le.Uint32(context[at:]), int(le.Uint32(context[at+4:]))
		switch {
		case m == magic:
			return at
		case m == 0 || size < 8:
			return -1
		}
		at += size
	}
	return -1
}

// vectorLength reads a record of SVE.
func vectorLength(context []byte, at int) int { return int(binary.LittleEndian.Uint16(context[at+8:])) }

// partsA64 finds the records. One of SVE may be without registers: then all but the
// lower 128 bits is zero.
func partsA64(_ *frame, context []byte) [numAreas]int {
	areas := [numAreas]int{areaFloat: findA64(context, magicFloat), areaVector: findA64(context, magicSVE)}
	if at := areas[areaVector]; at >= 0 && int(binary.LittleEndian.Uint32(context[at+4:])) < sveSize(vectorLength(context, at)) {
		areas[areaVector] = -1
	}
	return areas
}

// accessA64 reads the syndrome of a data abort (Arm ARM DDI 0487, D24.2.40). Old
// kernels and the emulator have no record of it.
func accessA64(context []byte) emu.Access {
	const lowerAbort, sameAbort, write = 0x24, 0x25, 1 << 6
	at := findA64(context, magicESR)
	if at < 0 {
		return emu.AccessNone
	}
	esr := binary.LittleEndian.Uint64(context[at+8:])
	switch class := esr >> 26 & 0x3f; {
	case class != lowerAbort && class != sameAbort:
		return emu.AccessNone
	case esr&write != 0:
		return emu.AccessWrite
	}
	return emu.AccessRead
}

// frameA64 reads the vector length, and lays out what contexts are made of: the
// records of floating-point and of SVE, in this order.
func frameA64(f *frame, record []byte) error {
	context := record[recContext:]
	if findA64(context, magicFloat) < 0 {
		return errors.New("native: signal frames have no floating-point registers")
	}
	if at := findA64(context, magicSVE); at >= 0 {
		f.vl = vectorLength(context, at)
	}
	if f.vl > 32 {
		return fmt.Errorf("native: SVE vectors of %d bytes", f.vl)
	}
	f.areas = [numAreas]int{areaFloat: ctxA64Records, areaVector: ctxA64Records + floatSize}
	return nil
}

// composeA64 writes the heads of the records.
func composeA64(f *frame, context []byte) {
	le := binary.LittleEndian
	clear(context[ctxA64Records:])
	at := ctxA64Records
	le.PutUint32(context[at:], magicFloat)
	le.PutUint32(context[at+4:], floatSize)
	if f.vl > 0 {
		at += floatSize
		le.PutUint32(context[at:], magicSVE)
		le.PutUint32(context[at+4:], uint32(sveSize(f.vl)))
		le.PutUint16(context[at+8:], uint16(f.vl))
	}
	const kept = 1 << 12 // SSBS; the mode is EL0t, conditions come with the words
	le.PutUint64(context[ctxA64PState:], le.Uint64(f.context[ctxA64PState:])&kept)
}

// sealA64 copies the SIMD registers to where they are in the record of SVE: the
// kernel takes them from one record, the emulator from the other.
func sealA64(f *frame, context []byte) {
	if f.vl == 0 {
		return
	}
	v, z := context[f.areas[areaFloat]+16:], context[f.areas[areaVector]+sveHead:]
	for i := range 32 {
		copy(z[i*f.vl:i*f.vl+16], v[16*i:])
	}
}

// placeA64 finds a word. The lower 128 bits of an SVE register are a SIMD register.
func placeA64(f *frame, name string) (slot, bool) {
	var n, part int
	switch {
	case name == "sp":
		return slot{off: ctxA64SP, size: 8}, true
	case name == "pc":
		return slot{off: ctxA64PC, size: 8}, true
	case name == "flags":
		return slot{off: ctxA64PState, size: 8, mask: 0xf << 28}, true
	case name == "btype":
		return slot{off: ctxA64PState, size: 8, shift: 10, mask: 3}, true
	case name == "fpsr":
		return slot{area: areaFloat, off: 8, size: 4}, true
	case name == "fpcr":
		return slot{area: areaFloat, off: 12, size: 4}, true
	case name == "tpidr":
		return slot{area: areaSpecial, size: 8}, true
	case name == "ffr" && f.vl > 0:
		return slot{area: areaVector, off: sveHead + 34*f.vl, size: 4}, true
	case scan(name, "x", &n, nil):
		return slot{off: ctxA64Regs + 8*n, size: 8}, true
	case scan(name, "p", &n, nil) && f.vl > 0:
		return slot{area: areaVector, off: sveHead + 32*f.vl + n*f.vl/8, size: 4}, true
	case scan(name, "v", &n, &part) && part < 2:
		return slot{area: areaFloat, off: 16 + 16*n + 8*part, size: 8}, true
	case scan(name, "v", &n, &part) && 8*part < f.vl:
		return slot{area: areaVector, off: sveHead + f.vl*n + 8*part, size: 8}, true
	}
	return slot{}, false
}

// Registers that only this judge has, by their DWARF numbers.
const (
	regA64V0  fixups.Reg = 64
	regA64P0  fixups.Reg = 48
	regA64FFR fixups.Reg = 47
)

// targetA64 is emu's description with SVE, without the local monitor, which a signal
// clears, and without the places that a process cannot have.
func targetA64(f *frame) (*emu.Target, error) {
	t, err := emu.TargetOf("arm64")
	if err != nil {
		return nil, err
	}
	own := *t
	own.Slots = userArenas(t.Slots)
	own.Branch = untagged
	own.Words = nil
	for _, w := range t.Words {
		if w.Name == "monitor" {
			continue
		}
		own.Words = append(own.Words, w)
		var n, part int
		if scan(w.Name, "v", &n, &part) && part == 1 {
			for k := 2; 8*k < f.vl; k++ {
				own.Words = append(own.Words, emu.Word{Reg: w.Reg, Part: uint8(k), Bits: 64, Name: fmt.Sprintf("v%d.%d", n, k)})
			}
		}
	}
	if f.vl > 0 {
		bits := uint8(f.vl)
		for i := range 16 {
			own.Words = append(own.Words, emu.Word{Reg: regA64P0 + fixups.Reg(i), Bits: bits, Name: fmt.Sprintf("p%d", i)})
		}
		own.Words = append(own.Words, emu.Word{Reg: regA64FFR, Bits: bits, Name: "ffr"})
	}
	return &own, nil
}

// untagged is what a branch makes of an address: in the lower half, by bit 55, Linux
// has the top byte ignored, which also holds for instructions (Arm ARM DDI 0487,
// D8.8, and AArch64.BranchAddr).
func untagged(a uint64) uint64 {
	if a>>55&1 != 0 {
		return a
	}
	return a << 8 >> 8
}

// userArenas are those that a process can have.
func userArenas(list []emu.Arena) []emu.Arena {
	return slices.DeleteFunc(slices.Clone(list), func(a emu.Arena) bool { return a.Addr+a.Size > userEnd })
}

// shapeA64: the first fault register is a number of ones from bit 0 (Arm ARM
// DDI 0487, B1.2.2.3); elsewise what reads it is unpredictable.
func shapeA64(f *frame, t *emu.Target, words []uint64) {
	if i := t.WordOf("ffr"); i >= 0 {
		words[i] = 1<<(words[i]%uint64(f.vl+1)) - 1
	}
}

// directA64 is the target of B, BL, B.cond, CBZ, CBNZ, TBZ and TBNZ (C4.1.94).
func directA64(w uint32, pc uint64) (uint64, bool) {
	disp := func(bits, at int) uint64 { return uint64(int64(int32(w<<(32-bits-at))>>(32-bits))) << 2 }
	switch {
	case w&0x7c000000 == 0x14000000:
		return pc + disp(26, 0), true
	case w&0xff000000 == 0x54000000, w&0x7e000000 == 0x34000000:
		return pc + disp(19, 5), true
	case w&0x7e000000 == 0x36000000:
		return pc + disp(14, 5), true
	}
	return 0, false
}

// featuresA64 is the reviewed list of what processors and emulators lack, by the
// architecture's names. Encodings are those of Arm DDI 0487, C6.2.
var featuresA64 = []capability{
	{name: "sme", beyond: true, rows: []row{ // its registers are no part of states
		{0x9e000000, 0x80000000}, {0xfffff8ff, 0xd503407f}, {0xffdfffe0, 0xd51b4240}, {0xffdfffe0, 0xd51bd0a0}}},
	{name: "gcs", probe: 0xd53b2520, rows: []row{
		{0xffdfff80, 0xd50b7700}, {0xffdfffe0, 0xd51b2520}, {0xffffec00, 0xd91f0c00}}},
	{name: "tme", probe: 0xd5233160, rows: []row{
		{0xfffffee0, 0xd5233060}, {0xffffffff, 0xd503307f}, {0xffe0001f, 0xd4600000}}},
	{name: "pauth-lr", probe: 0xdac1a3fe, rows: []row{
		{0xffff8000, 0xdac18000}, {0xff800000, 0xf3800000}, {0xff000000, 0x55000000},
		// RETAASPPCR and RETABSPPCR: one of the bits of the register is 0, else it is RETAA.
		{0xfffffbe1, 0xd65f0be0}, {0xfffffbe2, 0xd65f0be0}, {0xfffffbe4, 0xd65f0be0}, {0xfffffbe8, 0xd65f0be0}, {0xfffffbf0, 0xd65f0be0}}},
	{name: "cssc", probe: 0xdac02000, rows: []row{
		{0x7fc00000, 0x11c00000}, {0x7ffffc00, 0x5ac02000}, {0x7ffff800, 0x5ac01800}, {0x7fe0f000, 0x1ac06000}}},
	{name: "cpa", probe: 0x9a1f2000, rows: []row{{0xbfe0e000, 0x9a002000}, {0xffe00000, 0x9b600000}}},
	{name: "cmpbr", probe: 0x74000000, rows: []row{{0x7e000000, 0x74000000}}},
	{name: "hbc", probe: 0x54000030, rows: []row{{0xff000010, 0x54000010}}},
	{name: "xs", probe: 0xd503323f, rows: []row{{0xfffff3ff, 0xd503323f}}},
	{name: "lsui", probe: 0xc9807c00, rows: []row{{0x3fa07c00, 0x09807c00}}},
	{name: "ls64", probe: 0xf83fd000, rows: []row{{0xffffbc00, 0xf83f9000}, {0xffe0ec00, 0xf820a000}}},
}

// limitsA64 is what a process that is not stepped cannot judge.
var limitsA64 = []emu.Limit{
	{Name: "kernel-entry", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassKernelEntry), Sample: "010000d4",
		Why: "system calls would be real"},
	selfBranch("b", 0x7fffffff, 0x14000000, "00000014"),
	selfBranch("b.cond", 0xffffffe0, 0x54000000, "00000054"),
	selfBranch("cbz", 0x7effffe0, 0x34000000, "000000b4"),
	selfBranch("tbz", 0x7e07ffe0, 0x36000000, "00000036"),
	{Name: "eret", Verdict: emu.Unsupported, Mask: 0xffdf0000, Value: 0xd69f0000, Sample: "e0039fd6",
		Why: "undefined at EL0; the emulator returns from an exception that nobody has taken"},
	{Name: "semihosting", Verdict: emu.Unsupported, Mask: 0xffffffff, Value: 0xd45e0000, Sample: "00005ed4",
		Why: "undefined where no debugger is; a request to the emulator"},
	own("cntvct", 0xffffff00, 0xd53be000, "40e03bd5"),
	own("rndr", 0xffffffc0, 0xd53b2400, "00243bd5"),
	own("irg", 0xffe0fc00, 0x9ac01000, "2010c29a"),
}

// selfBranch is a row for a branch to itself: nothing ends its second round.
func selfBranch(name string, mask, value uint64, sample string) emu.Limit {
	return emu.Limit{Name: "self-branch:" + name, Verdict: emu.Unsupported, Mask: mask, Value: value, Sample: sample,
		Why: "runs on without a step between rounds"}
}
