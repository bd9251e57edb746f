package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Words in code that somebody reads as data, where they are: moved they would not
// be found, and patched they would be taken for something else.

// isRSeqSignature reports whether the instruction is the signature that Linux
// demands in front of the abort handler of a restartable sequence: four bytes that
// are not to be run, dressed up as UD1 edi,[0x53053053] (rseq(2); glibc,
// sysdeps/unix/sysv/linux/x86/bits/rseq.h). Where the kernel does not find them it
// kills the thread.
func isRSeqSignature(in *reloc.Insn) bool {
	return in.Class == fixups.ClassTrap && in.Len == 7 && in.Bytes[0] == 0x0f && rseqSignature(in.Bytes[1:])
}

// rseqSignature reports whether b is the signature behind its first byte.
func rseqSignature(b []byte) bool {
	return len(b) >= 6 && b[0] == 0xb9 && b[1] == 0x3d && b[2] == 0x53 && b[3] == 0x30 && b[4] == 0x05 && b[5] == 0x53
}

// Lengths in the check that kCFI puts in front of an indirect call (Linux,
// arch/x86/kernel/cfi.c):
//
//	mov r10d,-type  add r10d,[r-4]  je +2  ud2
const (
	kcfiAdd = 6  // where ADD is
	kcfiUD2 = 12 // where UD2 is
	kcfiLen = 14
)

// kernelWords looks for what kernels that are built with kCFI read in their own
// code. The handler of the check's UD2, which knows it by its address, decodes the
// MOV and the ADD in front of it: these two must stay as they are. In front of a
// function that is called indirectly stands its type, as the constant of a MOV that
// is not run; without a landing pad behind it, it cannot be told from code.
func kernelWords(in *reloc.Insn, code reloc.Code) fixups.Reason {
	b := &in.Bytes
	switch {
	case in.Len == 6 && b[0] == 0x41 && b[1] == 0xba && kcfiCheck(code.Bytes(in.PC)),
		in.Len == 4 && b[1] == 0x03 && kcfiCheck(code.Bytes(in.PC-kcfiAdd)):
		in.Hazards |= fixups.HazardAdjacent.Bit()
		return fixups.ReasonAdjacent
	case in.Class == fixups.ClassTrap && kcfiCheck(code.Bytes(in.PC-kcfiUD2)):
		in.Hazards |= fixups.HazardKeyedByPC.Bit()
	case in.Len == 5 && b[0] == 0xb8 && kcfiType(code.Bytes(in.PC-1)):
		in.Hazards |= fixups.HazardAdjacent.Bit()
		return fixups.ReasonData
	}
	return fixups.ReasonNone
}

func kcfiCheck(b []byte) bool {
	return len(b) >= kcfiLen && b[0] == 0x41 && b[1] == 0xba && b[6]&0xfe == 0x44 && b[7] == 0x03 && b[8]&0xf8 == 0x50 && b[9] == 0xfc &&
		b[10] == 0x74 && b[11] == 2 && b[12] == 0x0f && b[13] == 0x0b
}

// kcfiType reports whether b is a type: a no-op, MOV eax, ENDBR64.
func kcfiType(b []byte) bool {
	return len(b) >= 10 && b[0] == 0x90 && b[1] == 0xb8 && b[6] == 0xf3 && b[7] == 0x0f && b[8] == 0x1e && b[9] == 0xfa
}
