package objfile

import (
	"debug/elf"
	"encoding/binary"
)

// layout reads fields of either class and byte order out of a slice that the
// caller has already measured.
type layout struct {
	order binary.ByteOrder
	is64  bool
}

func (l layout) u16(b []byte) uint16 { return l.order.Uint16(b) }
func (l layout) u32(b []byte) uint32 { return l.order.Uint32(b) }
func (l layout) u64(b []byte) uint64 { return l.order.Uint64(b) }

// wordSize is the size of an address in bytes.
func (l layout) wordSize() int {
	if l.is64 {
		return 8
	}
	return 4
}

// word reads an address-sized field.
func (l layout) word(b []byte) uint64 {
	if l.is64 {
		return l.u64(b)
	}
	return uint64(l.u32(b))
}

// maxAddr is the highest address the class can express.
func (l layout) maxAddr() uint64 {
	if l.is64 {
		return 1<<64 - 1
	}
	return 1<<32 - 1
}

// Sizes of on-disk records: System V gABI, "Object Files" and "Program Loading".
func (l layout) ehdrSize() int { return pick(l.is64, 64, 52) }
func (l layout) phdrSize() int { return pick(l.is64, 56, 32) }
func (l layout) shdrSize() int { return pick(l.is64, 64, 40) }
func (l layout) symSize() int  { return pick(l.is64, 24, 16) }

func pick(is64 bool, a, b int) int {
	if is64 {
		return a
	}
	return b
}

// ehdr is the part of the file header that is used.
type ehdr struct {
	typ          elf.Type
	machine      elf.Machine
	entry        uint64
	phoff, shoff uint64
	flags        uint32
	phentsize    uint16
	phnum        uint16
	shentsize    uint16
	shnum        uint16
	shstrndx     uint16
}

func (l layout) ehdr(b []byte) ehdr {
	h := ehdr{typ: elf.Type(l.u16(b[16:])), machine: elf.Machine(l.u16(b[18:]))}
	w := l.wordSize()
	h.entry = l.word(b[24:])
	h.phoff = l.word(b[24+w:])
	h.shoff = l.word(b[24+2*w:])
	b = b[24+3*w:]
	h.flags = l.u32(b)
	h.phentsize, h.phnum = l.u16(b[6:]), l.u16(b[8:])
	h.shentsize, h.shnum, h.shstrndx = l.u16(b[10:]), l.u16(b[12:]), l.u16(b[14:])
	return h
}

// phdr is a program header.
type phdr struct {
	typ           elf.ProgType
	flags         elf.ProgFlag
	off, addr     uint64
	filesz, memsz uint64
}

func (l layout) phdr(b []byte) phdr {
	if l.is64 {
		return phdr{elf.ProgType(l.u32(b)), elf.ProgFlag(l.u32(b[4:])),
			l.u64(b[8:]), l.u64(b[16:]), l.u64(b[32:]), l.u64(b[40:])}
	}
	return phdr{elf.ProgType(l.u32(b)), elf.ProgFlag(l.u32(b[24:])),
		uint64(l.u32(b[4:])), uint64(l.u32(b[8:])), uint64(l.u32(b[16:])), uint64(l.u32(b[20:]))}
}

// shdr is a section header.
type shdr struct {
	name            string
	nameOff         uint32
	typ             elf.SectionType
	flags           elf.SectionFlag
	addr, off, size uint64
	link, info      uint32
	entsize         uint64
}

func (l layout) shdr(b []byte) shdr {
	w := l.wordSize()
	s := shdr{nameOff: l.u32(b), typ: elf.SectionType(l.u32(b[4:]))}
	s.flags = elf.SectionFlag(l.word(b[8:]))
	s.addr, s.off, s.size = l.word(b[8+w:]), l.word(b[8+2*w:]), l.word(b[8+3*w:])
	b = b[8+4*w:]
	s.link, s.info = l.u32(b), l.u32(b[4:])
	s.entsize = l.word(b[8+w:])
	return s
}

// executable reports whether the section is code (whose bytes a debug file may lack).
func (s *shdr) executable() bool {
	const want = elf.SHF_ALLOC | elf.SHF_EXECINSTR
	return s.flags&want == want && s.size != 0
}

// rawSym is a symbol table entry.
type rawSym struct {
	name        uint32
	info, other uint8
	shndx       elf.SectionIndex
	value, size uint64
}

func (l layout) sym(b []byte) rawSym {
	if l.is64 {
		return rawSym{l.u32(b), b[4], b[5], elf.SectionIndex(l.u16(b[6:])), l.u64(b[8:]), l.u64(b[16:])}
	}
	return rawSym{l.u32(b), b[12], b[13], elf.SectionIndex(l.u16(b[14:])),
		uint64(l.u32(b[4:])), uint64(l.u32(b[8:]))}
}
