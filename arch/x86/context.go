package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Context implements [reloc.Contexter]. These neighbours matter on x86, in front of
// the site:
//
//   - MOV SS and POP SS delay traps and interrupts until the site has run, STUI
//     user interrupts, and in the kernel STI interrupts. Moved alone, the site would
//     run without that protection.
//   - The marks with which Xen and KVM ask for emulation: UD2 and three letters,
//     which belong to the instruction behind them. The UD2 itself cannot be moved
//     either: it must stand in front of the letters.
//   - The opcode of a restartable sequence's signature, which makes the four bytes
//     behind it data; see also kernelWords.
//
// Bytes cannot be decoded backwards in general. So a neighbour counts only if
// every way of decoding the bytes in front that arrives at the site comes through
// it; where the bytes leave it open, nothing is changed. A caller that decodes
// forward from the start of a function knows the neighbour anyway.
func (a *Arch) Context(in *reloc.Insn, env *reloc.Env) error {
	if env.Code == nil {
		return nil
	}
	kernel := env.Mode == reloc.ModeKernel
	if b := env.Code.Bytes(in.PC - 3); len(b) >= 7 && b[0] == 0x0f && rseqSignature(b[1:]) {
		in.Hazards |= fixups.HazardRSeq.Bit() | fixups.HazardAdjacent.Bit()
		return fixups.ReasonData
	}
	if kernel && a.m64 {
		if r := kernelWords(in, env.Code); r != fixups.ReasonNone {
			return r
		}
	}
	if a.emulationMark(in.PC-markLen, env.Code) || in.Class == fixups.ClassTrap && a.emulationMark(in.PC, env.Code) ||
		a.behindShadow(in.PC, env.Code, kernel) {
		in.Hazards |= fixups.HazardAdjacent.Bit()
		return fixups.ReasonAdjacent
	}
	return nil
}

// markLen is the length in bytes of a mark of Xen or KVM.
const markLen = 5

// emulationMark reports whether the five bytes at pc are a mark of Xen or KVM.
// Nothing else begins with UD2 and goes on with these letters.
func (a *Arch) emulationMark(pc uint64, code reloc.Code) bool {
	b := code.Bytes(pc)
	if len(b) < markLen || b[0] != 0x0f || b[1] != 0x0b {
		return false
	}
	mark := string(b[2:5])
	return mark == "xen" || mark == "kvm"
}

// lookBack is how many bytes before the site decoding starts. Chains that begin
// in the middle of an instruction fall into step within a few instructions.
const lookBack = 48

// behindShadow reports whether the instruction before pc is MOV SS, POP SS or STUI,
// or in the kernel STI.
func (a *Arch) behindShadow(pc uint64, code reloc.Code, kernel bool) bool {
	last := a.shadowBefore(pc, code, kernel)
	if last == 0 {
		return false
	}
	through, arrived := 0, 0
	for start := pc - lookBack; start < pc-last; start++ {
		before, ok := a.walk(start, pc, code)
		if !ok {
			continue
		}
		arrived++
		if before == pc-last {
			through++
		}
	}
	return arrived == through
}

// shadowBefore returns the length of an instruction that ends at pc and has the
// hazard shadow, 0 if there is none.
func (a *Arch) shadowBefore(pc uint64, code reloc.Code, kernel bool) uint64 {
	if b := code.Bytes(pc - longest); len(b) >= longest && !a.mayShadow(b[:longest], kernel) {
		return 0
	}
	var in reloc.Insn
	for n := uint64(1); n <= longest; n++ {
		b := code.Bytes(pc - n)
		if len(b) == 0 || a.Decode(&in, b, pc-n) != nil || uint64(in.Len) != n {
			continue
		}
		if in.Hazards.Has(fixups.HazardShadow) && (kernel || in.Class != fixups.ClassPrivileged) {
			return n
		}
	}
	return 0
}

// mayShadow reports whether b can end with MOV SS, which is 8E with 2 in
// ModRM.reg, POP SS, which is 17, STUI, which is F3 0F 01 EF, or STI, which is FB.
func (a *Arch) mayShadow(b []byte, kernel bool) bool {
	last := len(b) - 1
	for i, c := range b[:last] {
		if c == 0x8e && b[i+1]&0x38 == 0x10 {
			return true
		}
	}
	switch b[last] {
	case 0x17:
		return !a.m64
	case 0xef:
		return a.m64 && b[last-1] == 0x01
	case 0xfb:
		return kernel
	}
	return false
}

// walk decodes from start until it arrives at pc or passes it, and returns the
// address of the last instruction before pc.
func (a *Arch) walk(start, pc uint64, code reloc.Code) (before uint64, ok bool) {
	var in reloc.Insn
	for at := start; at < pc; at += uint64(in.Len) {
		b := code.Bytes(at)
		if len(b) == 0 || a.Decode(&in, b, at) != nil {
			return 0, false
		}
		before = at
		if at+uint64(in.Len) == pc {
			return before, true
		}
	}
	return 0, false
}
