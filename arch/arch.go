// Package arch lists the instruction sets: the one place that imports every
// port. Programs that know which one they want import it directly
// (arch/x86 and its siblings) and are smaller for it.
package arch

import (
	"debug/elf"
	"iter"

	"github.com/xol-go/xol/arch/arm64"
	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/reloc"
)

var all = [...]reloc.Arch{x86.AMD64, x86.I386, arm64.A64, ppc64.BE, ppc64.LE}

// All iterates over the instruction sets, in a fixed order.
func All() iter.Seq[reloc.Arch] {
	return func(yield func(reloc.Arch) bool) {
		for _, a := range all {
			if !yield(a) {
				return
			}
		}
	}
}

// ByName returns the instruction set of that name, in GOARCH spelling: amd64,
// 386, arm64, ppc64, ppc64le. ok is false if there is no such port.
func ByName(name string) (a reloc.Arch, ok bool) {
	for _, a := range all {
		if a.Info().Name == name {
			return a, true
		}
	}
	return nil, false
}

// ByELF returns the instruction set of an ELF file with the given machine and
// byte order. x32 files (EM_X86_64 in ELFCLASS32) hold amd64 instructions.
func ByELF(m elf.Machine, bigEndian bool) (a reloc.Arch, ok bool) {
	for _, a := range all {
		if i := a.Info(); elf.Machine(i.ELF) == m && i.BigEndian == bigEndian {
			return a, true
		}
	}
	return nil, false
}
