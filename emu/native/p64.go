package native

import (
	"encoding/binary"
	"fmt"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
)

// machinePPC64 is 64-bit Power under Linux: one table of system calls, one machine
// context (struct sigcontext of arch/powerpc), two byte orders. Both programs say
// that they follow version 2 of the ABI, so handlers are addresses of code.
func machinePPC64(big bool) *machine {
	m := &machine{
		arch: "ppc64le",
		kind: elfKind{machine: 21, flags: 2, order: binary.LittleEndian},
		sys: system{read: 3, write: 4, mmap: 90, munmap: 91, mprotect: 125, sigaction: 173, sigaltstack: 185, prctl: 171, exitGroup: 234,
			context: 168, words: 192},
		risc:      func(emulated bool) risc { return newPower(big, emulated) },
		emulators: []string{"qemu-ppc64le-static", "qemu-ppc64le"},
		model:     "power10",
		compose:   asItIs, // a context says by itself which registers it has
		seal:      asItIs,
		parts:     func(f *frame, _ []byte) [numAreas]int { return f.areas },
		length: func(w uint32) int {
			if w>>26 == 1 {
				return 8
			}
			return 4
		},
		direct:   directP64,
		constant: func(n uint32) (uint32, uint64) { return 14<<26 | n&0x7fff, uint64(n & 0x7fff) },
		features: featuresP64,
		limits:   limitsP64(big),
	}
	if big {
		m.arch, m.kind.order = "ppc64", binary.BigEndian
		m.emulators = []string{"qemu-ppc64-static", "qemu-ppc64"}
	}
	m.frame = func(f *frame, record []byte) error { return frameP64(f, m.kind.order, record) }
	m.access = func(context []byte) emu.Access { return accessP64(m.kind.order, context) }
	m.target = func(*frame) (*emu.Target, error) { return targetP64(m) }
	m.place = func(f *frame, name string) (slot, bool) { return placeP64(f, big, name) }
	return m
}

// A sigcontext of powerpc: general registers as in struct pt_regs, floating-point
// registers, and a pointer to the vector registers, which are in the same structure.
const (
	ctxP64GPR    = 64
	ctxP64PC     = ctxP64GPR + 8*32
	ctxP64MSR    = ctxP64GPR + 8*33
	ctxP64CTR    = ctxP64GPR + 8*35
	ctxP64LR     = ctxP64GPR + 8*36
	ctxP64XER    = ctxP64GPR + 8*37
	ctxP64CR     = ctxP64GPR + 8*38
	ctxP64Trap   = ctxP64GPR + 8*40
	ctxP64DSISR  = ctxP64GPR + 8*42
	ctxP64FPR    = ctxP64GPR + 8*48
	ctxP64FPSCR  = ctxP64FPR + 8*32
	ctxP64Vector = ctxP64FPSCR + 8

	vecVSCR   = 16 * 32
	vecVRSAVE = 16 * 33
	vecVSX    = 16 * 34 // the other halves of the floating-point registers
)

// frameP64 finds the vector registers.
func frameP64(f *frame, order binary.ByteOrder, record []byte) error {
	at := order.Uint64(record[recContext+ctxP64Vector:]) - order.Uint64(record[recFrame:])
	if end := uint64(len(record) - recContext - vecVSX - 8*32); at > end {
		return fmt.Errorf("native: vector registers at %#x of a signal frame", at)
	}
	f.areas = [numAreas]int{areaVector: int(at)}
	return nil
}

// accessP64 reads DSISR (Power ISA v3.1C, book III, 7.2.2) after a data storage
// interrupt. The emulator leaves both fields empty.
func accessP64(order binary.ByteOrder, context []byte) emu.Access {
	const dataStorage, store = 0x300, 1 << 25
	switch {
	case order.Uint64(context[ctxP64Trap:])&^15 != dataStorage:
		return emu.AccessNone
	case order.Uint64(context[ctxP64DSISR:])&store != 0:
		return emu.AccessWrite
	}
	return emu.AccessRead
}

func asItIs(*frame, []byte) {}

// placeP64 finds a word: part 1 of a register of 128 bits is the more significant.
func placeP64(_ *frame, big bool, name string) (slot, bool) {
	fixed := func(off int) (slot, bool) { return slot{off: off, size: 8}, true }
	lastWord := 0
	if big {
		lastWord = 12
	}
	var n, part int
	switch {
	case name == "pc":
		return fixed(ctxP64PC)
	case name == "lr":
		return fixed(ctxP64LR)
	case name == "ctr":
		return fixed(ctxP64CTR)
	case name == "cr":
		return fixed(ctxP64CR)
	case name == "xer":
		return fixed(ctxP64XER)
	case name == "fpscr":
		return fixed(ctxP64FPSCR)
	case name == "tar":
		return slot{area: areaSpecial, size: 8}, true
	case name == "vscr":
		return slot{area: areaVector, off: vecVSCR + lastWord, size: 4}, true
	case name == "vrsave":
		return slot{area: areaVector, off: vecVRSAVE, size: 4}, true
	case scan(name, "r", &n, nil):
		return fixed(ctxP64GPR + 8*n)
	case scan(name, "f", &n, &part) && part == 1:
		return fixed(ctxP64FPR + 8*n)
	case scan(name, "f", &n, &part):
		return slot{area: areaVector, off: vecVSX + 8*n, size: 8}, true
	case scan(name, "v", &n, &part):
		if big {
			part = 1 - part
		}
		return slot{area: areaVector, off: 16*n + 8*part, size: 8}, true
	}
	return slot{}, false
}

// targetP64 is emu's description without the reservation, which a signal clears,
// and with all bits of an address.
func targetP64(m *machine) (*emu.Target, error) {
	t, err := emu.TargetOf(m.arch)
	if err != nil {
		return nil, err
	}
	own := *t
	own.AddrMask = 0
	own.Fill = make([]byte, 4)
	m.kind.order.PutUint32(own.Fill, trapP64)
	own.Words = nil
	for _, w := range t.Words {
		if w.Name != "monitor" {
			own.Words = append(own.Words, w)
		}
	}
	return &own, nil
}

const trapP64 = 0x7fe00008

// directP64 is the target of b and bc.
func directP64(w uint32, pc uint64) (uint64, bool) {
	var to uint64
	switch w >> 26 {
	case 16:
		to = uint64(int64(int16(w &^ 3)))
	case 18:
		to = uint64(int64(int32(w<<6)>>6)) &^ 3
	default:
		return 0, false
	}
	if w&2 == 0 {
		to += pc
	}
	return to, true
}

// featuresP64 is the reviewed list of what a processor of ISA 3.1 or the emulator
// lacks. Probes have no effect.
var featuresP64 = []capability{
	{name: "ebb", beyond: true, rows: append(spr(800, 801, 802, 803, 804, 805, 806), word(0xfc0007fe, 0x4c000124))},
	{name: "bhrb", probe: 0x7c00035c, rows: []row{word(0xfc0007fe, 0x7c00035c), word(0xfc0007fe, 0x7c00025c)}},
	{name: "checkpoints", probe: 0x7c00075d, rows: []row{word(0xfc0007ff, 0x7c00075d), word(0xfc0007ff, 0x7c0007dd)}},
	{name: "copy-paste", probe: 0x7c20060c, rows: []row{word(0xfc0007fe, 0x7c00060c), word(0xfc0007fe, 0x7c00070c)}},
	{name: "icbt", probe: 0x7c00002c, rows: []row{word(0xfc0007fe, 0x7c00002c)}},
	{name: "dscr", probe: 0x7c0302a6, rows: spr(3)},
	{name: "amr", probe: 0x7c0d02a6, rows: spr(13)},
	{name: "ppr", probe: 0x7c02e2a6, rows: spr(898)},
}

// word is a row for an instruction that is not prefixed.
func word(mask, value uint64) row { return row{wordOnly | mask, value} }

// spr are the moves from and to special registers.
func spr(numbers ...uint64) []row {
	const from, to = 0x7c0002a6, 0x7c0003a6
	var rows []row
	for _, n := range numbers {
		field := n&31<<16 | n>>5<<11
		rows = append(rows, word(0xfc1ffffe, from|field), word(0xfc1ffffe, to|field))
	}
	return rows
}

// limitsP64 is what a process that is not stepped cannot judge. Keys hold the word
// in their lower half, or the suffix, with the prefix above.
func limitsP64(big bool) []emu.Limit {
	list := []emu.Limit{
		{Name: "kernel-entry", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassKernelEntry), Sample: "44000002",
			Why: "system calls would be real"},
		selfBranch("b", wordOnly|0xfffffffe, 0x48000000, "48000000"),
		selfBranch("bc", wordOnly|0xfc00fffe, 0x40000000, "42000000"),
		own("darn", wordOnly|0xfc0007fe, 0x7c0005e6, "7c6005e6"),
		own("mftb", wordOnly|0xfc0007fe, 0x7c0002e6, "7c6c42e6"),
		own("time-base", wordOnly|0xfc1ffffe, 0x7c0c42a6, "7c6c42a6"),
		own("time-base-upper", wordOnly|0xfc1ffffe, 0x7c0d42a6, "7c6d42a6"),
	}
	list = append(list, emu.Limit{Name: "wait", Verdict: emu.Unsupported, Mask: wordOnly | 0xfc0007fe, Value: 0x7c00003c, Sample: "7c00003c",
		Why: "waits for what other processors do"})
	list = append(list,
		own("time-base-write", wordOnly|0xfc1efffe, 0x7c1c42a6, "7c1c42a6"), // privileged; the emulator answers
		emu.Limit{Name: "maddld-reserved", Verdict: emu.Unsupported, Mask: wordOnly | 0xfc00003f, Value: 0x10000032, Sample: "12886972",
			Why: "no instruction; the emulator takes it for maddld"})
	for fc := range uint64(32) {
		// Function codes of atomic memory operations (Power ISA v3.1C, book II, 4.5).
		const load, store = 0x7c00048c, 0x7c00058c
		atCode := func(op uint64) {
			list = append(list, emu.Limit{Name: "amo-code", Verdict: emu.Unsupported, Mask: wordOnly | 0xfc00ffbe, Value: op | fc<<11,
				Sample: fmt.Sprintf("%08x", op|fc<<11|4<<16), Why: "the emulator tells the address of an earlier fault"})
		}
		if fc > 8 && fc != 16 && fc != 24 && fc != 25 && fc != 28 {
			atCode(load)
		}
		if fc > 7 && fc != 24 {
			atCode(store)
		}
	}
	if big {
		return list
	}
	for _, x := range [...]struct {
		name        string
		mask, value uint64
		sample      string
	}{
		{"lmw", 0xfc000000, 0xb8000000, "b8640000"},
		{"stmw", 0xfc000000, 0xbc000000, "bc640000"},
		{"lswi", 0xfc0007fe, 0x7c0004aa, "7c6424aa"},
		{"lswx", 0xfc0007fe, 0x7c00042a, "7c64042a"},
		{"stswi", 0xfc0007fe, 0x7c0005aa, "7c6425aa"},
		{"stswx", 0xfc0007fe, 0x7c00052a, "7c64052a"},
	} {
		list = append(list, emu.Limit{Name: "alignment:" + x.name, Verdict: emu.Unsupported, Mask: wordOnly | x.mask, Value: x.value,
			Sample: x.sample, Why: "in little-endian order an alignment interrupt, in whose place the emulator ends itself"})
	}
	return list
}

// wordOnly is the part of a key's mask that leaves prefixed instructions out.
const wordOnly = 0xffffffff << 32
