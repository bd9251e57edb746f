package objfile

import (
	"debug/elf"
	"slices"
)

// relativeType returns the relocation type that means "load bias plus addend".
func relativeType(m elf.Machine) (uint32, bool) {
	switch m {
	case elf.EM_X86_64:
		return uint32(elf.R_X86_64_RELATIVE), true
	case elf.EM_386:
		return uint32(elf.R_386_RELATIVE), true
	case elf.EM_AARCH64:
		return uint32(elf.R_AARCH64_RELATIVE), true
	case elf.EM_PPC64:
		return uint32(elf.R_PPC64_RELATIVE), true
	case elf.EM_RISCV:
		return uint32(elf.R_RISCV_RELATIVE), true
	case elf.EM_S390:
		return uint32(elf.R_390_RELATIVE), true
	}
	return 0, false
}

// relocChunk is how many bytes of a relocation section are read at once: a
// multiple of both record sizes (24 and 12).
const relocChunk = 24 << 15

// forRelative calls fn with the address and value of each word that the loader
// relocates by the bias alone and whose value is only in its relocation. (REL
// and RELR keep the value in the word itself: nothing to look up.)
func (f *File) forRelative(fn func(addr, value uint64)) error {
	want, ok := relativeType(f.Machine)
	if !ok {
		return nil
	}
	size := uint64(pick(f.lay.is64, 24, 12))
	budget := f.size
	for i := range f.shdrs {
		s := &f.shdrs[i]
		if s.typ != elf.SHT_RELA || s.flags&elf.SHF_ALLOC == 0 {
			continue
		}
		if s.size > budget {
			return f.fail(ErrMalformed, "relocation sections are larger than the file")
		}
		budget -= s.size
		for done := uint64(0); done < s.size; done += relocChunk {
			b, err := f.read(s.off+done, min(s.size-done, relocChunk), "relocations")
			if err != nil {
				return err
			}
			for ; uint64(len(b)) >= size; b = b[size:] {
				if addr, typ, addend := f.lay.rela(b); typ == want {
					fn(addr, addend)
				}
			}
		}
	}
	return nil
}

func (l layout) rela(b []byte) (addr uint64, typ uint32, addend uint64) {
	if l.is64 {
		return l.u64(b), uint32(l.u64(b[8:])), l.u64(b[16:])
	}
	return uint64(l.u32(b)), uint32(uint8(l.u32(b[4:]))), uint64(l.u32(b[8:]))
}

// relativeRelocs returns the relocated words in the ranges of size bytes from
// each of starts, which is sorted.
func (f *File) relativeRelocs(starts []uint64, size uint64) (map[uint64]uint64, error) {
	m := make(map[uint64]uint64)
	err := f.forRelative(func(a, v uint64) {
		i, exact := slices.BinarySearch(starts, a)
		if exact || i > 0 && a-starts[i-1] < size {
			m[a] = v
		}
	})
	return m, err
}
