package native

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
)

// Registers that only this judge has, by the numbers of the System V supplements.
const (
	regXMM0 fixups.Reg = 17 // of 64-bit mode
	regXMM  fixups.Reg = 21 // of 32-bit mode
	regZMM  fixups.Reg = 67 // zmm16
	regK    fixups.Reg = 118
	regK32  fixups.Reg = 93
)

// target is emu's description with the vector registers that the processor
// has, and without the places that a process cannot have.
func target(arch string, f *Features) (*emu.Target, error) {
	if arch != "amd64" && arch != "386" {
		return nil, fmt.Errorf("%w: this processor does not execute %s", ErrAbsent, arch)
	}
	t, err := emu.TargetOf(arch)
	if err != nil {
		return nil, err
	}
	own := *t
	own.Slots = slices.DeleteFunc(slices.Clone(t.Slots), func(a emu.Arena) bool { return a.Addr+a.Size > userEnd })
	own.Words = nil
	for _, w := range t.Words {
		own.Words = append(own.Words, w)
		if name, ok := strings.CutSuffix(w.Name, ".1"); ok && strings.HasPrefix(name, "xmm") {
			for part := 2; part < f.vectorParts(); part++ {
				own.Words = append(own.Words, emu.Word{Reg: w.Reg, Part: uint8(part), Bits: 64, Name: name + "." + strconv.Itoa(part)})
			}
		}
	}
	if f.opmask > 0 {
		k := regK
		if t.Bits == 32 {
			k = regK32
		}
		for i := range 8 {
			own.Words = append(own.Words, emu.Word{Reg: k + fixups.Reg(i), Bits: 64, Name: "k" + strconv.Itoa(i)})
		}
	}
	if f.hi16 > 0 && t.Bits == 64 {
		for i := range 16 {
			for part := range 8 {
				own.Words = append(own.Words, emu.Word{Reg: regZMM + fixups.Reg(i), Part: uint8(part), Bits: 64,
					Name: fmt.Sprintf("zmm%d.%d", 16+i, part)})
			}
		}
	}
	return &own, nil
}

// place is where a word is in a record.
type place struct {
	off  int
	size uint8 // bytes
}

// general are the places of general registers by either mode's names.
var general = map[string]int{
	"rax": recAX, "rdx": recDX, "rcx": recCX, "rbx": recBX, "rsi": recSI, "rdi": recDI, "rbp": recBP, "rsp": recSP,
	"eax": recAX, "edx": recDX, "ecx": recCX, "ebx": recBX, "esi": recSI, "edi": recDI, "ebp": recBP, "esp": recSP,
	"r8": recR8, "r9": recR9, "r10": recR10, "r11": recR11, "r12": recR12, "r13": recR13, "r14": recR14, "r15": recR15,
	"pc": recIP, "flags": recFlags, "fsbase": recFS, "gsbase": recGS,
}

// control are those of the legacy region's head. The tag word is the abridged
// one: a bit for each register that is in use.
var control = map[string]place{
	"mxcsr": {recX + xMXCSR, 4}, "fcw": {recX + xFCW, 2}, "fsw": {recX + xFSW, 2}, "ftag": {recX + xFTW, 1},
	"fip": {recX + xFIP, 8}, "fdp": {recX + xFDP, 8}, "fop": {recX + xFOP, 2},
}

// placeOf finds a word by its name.
func placeOf(w *emu.Word, f *Features) (place, error) {
	if off, ok := general[w.Name]; ok {
		return place{off, 8}, nil
	}
	if p, ok := control[w.Name]; ok {
		return p, nil
	}
	var n, part int
	x := -1
	switch {
	case scan(w.Name, "st", &n, &part):
		x = xST + 16*n + 8*part
		if part == 1 {
			return place{recX + x, 2}, nil
		}
	case scan(w.Name, "xmm", &n, &part):
		switch {
		case part < 2:
			x = xXMM + 16*n + 8*part
		case part < 4 && f.ymm > 0:
			x = f.ymm + 16*n + 8*(part-2)
		case part < 8 && f.zmm > 0:
			x = f.zmm + 32*n + 8*(part-4)
		}
	case scan(w.Name, "zmm", &n, &part) && f.hi16 > 0:
		x = f.hi16 + 64*(n-16) + 8*part
	case scan(w.Name, "k", &n, nil) && f.opmask > 0:
		x = f.opmask + 8*n
	}
	if x < 0 {
		return place{}, fmt.Errorf("no register %s", w.Name)
	}
	return place{recX + x, 8}, nil
}

// scan reads a name of the form prefix, number, and, unless part is nil, a dot
// and a second number.
func scan(name, prefix string, n, part *int) bool {
	s, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return false
	}
	first, second, dot := strings.Cut(s, ".")
	if dot != (part != nil) {
		return false
	}
	var err error
	if *n, err = strconv.Atoi(first); err != nil {
		return false
	}
	if part != nil {
		*part, err = strconv.Atoi(second)
	}
	return err == nil
}

// put writes a word into a record.
func (p place) put(rec []byte, v uint64) {
	b := rec[p.off:]
	switch p.size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}

// get reads it.
func (p place) get(rec []byte) uint64 {
	b := rec[p.off:]
	switch p.size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}
