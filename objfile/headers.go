package objfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"sort"
)

// maxSections bounds the section headers. Linked files have dozens, the largest
// seen (an unstripped browser) a few hundred.
const maxSections = 1 << 17

// readHeader reads the file header and sets class and byte order.
func (f *File) readHeader() (ehdr, error) {
	var buf [64]byte
	n := min(f.size, uint64(len(buf)))
	if err := f.readAt(buf[:n], 0, "file header"); err != nil {
		return ehdr{}, err
	}
	b := buf[:n]
	if !bytes.HasPrefix(b, []byte(elf.ELFMAG)) {
		return ehdr{}, f.fail(ErrNotObject, "%s", foreign(b))
	}
	if len(b) < elf.EI_NIDENT {
		return ehdr{}, f.fail(ErrTruncated, "file header, %d bytes", len(b))
	}
	switch f.Class = elf.Class(b[elf.EI_CLASS]); f.Class {
	case elf.ELFCLASS32:
	case elf.ELFCLASS64:
		f.lay.is64 = true
	default:
		return ehdr{}, f.fail(ErrMalformed, "unknown class %d", b[elf.EI_CLASS])
	}
	switch data := elf.Data(b[elf.EI_DATA]); data {
	case elf.ELFDATA2LSB:
		f.Order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		f.Order = binary.BigEndian
	default:
		return ehdr{}, f.fail(ErrMalformed, "unknown byte order %d", b[elf.EI_DATA])
	}
	f.lay.order = f.Order
	if v := elf.Version(b[elf.EI_VERSION]); v != elf.EV_CURRENT {
		return ehdr{}, f.fail(ErrMalformed, "unknown version %d", b[elf.EI_VERSION])
	}
	if len(b) < f.lay.ehdrSize() {
		return ehdr{}, f.fail(ErrTruncated, "file header, %d of %d bytes", len(b), f.lay.ehdrSize())
	}
	return f.lay.ehdr(b), nil
}

// foreign names what a file is that is not ELF, where its first bytes tell.
func foreign(b []byte) string {
	known := []struct{ magic, name string }{
		{"\xcf\xfa\xed\xfe", "a Mach-O file"}, {"\xce\xfa\xed\xfe", "a Mach-O file"},
		{"\xfe\xed\xfa\xcf", "a Mach-O file"}, {"\xfe\xed\xfa\xce", "a Mach-O file"},
		{"\xca\xfe\xba\xbe", "a universal Mach-O file or a Java class"},
		{"MZ", "a PE or DOS file"}, {"!<arch>\n", "a static library"}, {"!<thin>\n", "a static library"},
		{"#!", "a script"}, {"BC\xc0\xde", "LLVM bitcode"}, {"\x1f\x8b", "a gzip file"},
		{"\xfd7zXZ", "an xz file"}, {"\x28\xb5\x2f\xfd", "a zstd file"},
	}
	if len(b) == 0 {
		return "the file is empty"
	}
	for _, k := range known {
		if bytes.HasPrefix(b, []byte(k.magic)) {
			return k.name
		}
	}
	return "no ELF magic"
}

// checkServed refuses what is well-formed but of no use here, and fills in the
// header. Relocatable objects are refused because nothing in them is final: all
// sections start at address 0, so an address names several bytes, and the very
// fields that a relocation of code would rewrite are still to be filled in by
// the linker.
func (f *File) checkServed(h ehdr) error {
	f.Machine, f.Type, f.Flags, f.Entry = h.machine, h.typ, h.flags, VAddr(h.entry)
	data := elf.ELFDATA2LSB
	if f.Order == binary.BigEndian {
		data = elf.ELFDATA2MSB
	}
	f.Arch = archName(h.machine, f.Class, data)
	f.X32 = h.machine == elf.EM_X86_64 && f.Class == elf.ELFCLASS32
	if f.Arch == "" {
		return f.fail(ErrMachine, "e_machine %d (%v), %v, %v", uint16(h.machine), h.machine, f.Class, data)
	}
	switch h.typ {
	case elf.ET_EXEC, elf.ET_DYN:
		return nil
	case elf.ET_REL:
		return f.fail(ErrType, "a relocatable object or kernel module; its addresses are not final before linking or loading")
	case elf.ET_CORE:
		return f.fail(ErrType, "a core dump; open the program it came from")
	}
	return f.fail(ErrType, "e_type %d", uint16(h.typ))
}

// readSectionHeaders loads the section headers and their names, and resolves
// the counts that did not fit the file header (gABI, "Section Header": shnum,
// shstrndx and phnum overflow into section 0).
func (f *File) readSectionHeaders(h *ehdr) error {
	if h.shoff == 0 {
		if h.phnum == 0xffff {
			return f.fail(ErrMalformed, "program header count is in section 0, which is missing")
		}
		return nil
	}
	if int(h.shentsize) != f.lay.shdrSize() {
		return f.fail(ErrMalformed, "section headers of %d bytes", h.shentsize)
	}
	first, err := f.read(h.shoff, uint64(h.shentsize), "section headers")
	if err != nil {
		return err
	}
	zero := f.lay.shdr(first)
	num, strndx := uint64(h.shnum), uint32(h.shstrndx)
	if num == 0 {
		num = zero.size
	}
	if h.shstrndx == uint16(elf.SHN_XINDEX) {
		strndx = zero.link
	}
	if num > maxSections {
		return f.fail(ErrTooLarge, "%d section headers", num)
	}
	b, err := f.read(h.shoff, num*uint64(h.shentsize), "section headers")
	if err != nil {
		return err
	}
	f.shdrs = make([]shdr, num)
	for i := range f.shdrs {
		f.shdrs[i] = f.lay.shdr(b[i*int(h.shentsize):])
	}
	return f.nameSections(strndx)
}

// maxSectionName is the part of a section name that is kept. A bound matters:
// many headers may point into one long string.
const maxSectionName = 128

func (f *File) nameSections(strndx uint32) error {
	if strndx == 0 || len(f.shdrs) == 0 {
		return nil
	}
	if uint64(strndx) >= uint64(len(f.shdrs)) || f.shdrs[strndx].typ == elf.SHT_NOBITS {
		return f.fail(ErrMalformed, "section name table is section %d of %d", strndx, len(f.shdrs))
	}
	s := &f.shdrs[strndx]
	tab, err := f.read(s.off, s.size, "section names")
	if err != nil {
		return err
	}
	for i := range f.shdrs {
		s := &f.shdrs[i]
		if uint64(s.nameOff) >= uint64(len(tab)) {
			continue // nameless; nothing is looked up by name only because it must exist
		}
		b := tab[s.nameOff:]
		b = b[:min(len(b), maxSectionName)]
		if n := bytes.IndexByte(b, 0); n >= 0 {
			b = b[:n]
		}
		s.name = string(b)
	}
	return nil
}

// section returns the first section of that name that has bytes, or nil.
func (f *File) section(name string) *shdr {
	for i := range f.shdrs {
		if s := &f.shdrs[i]; s.name == name && s.typ != elf.SHT_NOBITS {
			return s
		}
	}
	return nil
}

func (f *File) readProgramHeaders(h ehdr) error {
	num := uint64(h.phnum)
	if num == 0xffff && len(f.shdrs) > 0 && f.lay.shdrSize() > 0 {
		first, err := f.read(h.shoff, uint64(h.shentsize), "section headers")
		if err != nil {
			return err
		}
		num = uint64(f.lay.shdr(first).info)
	}
	if h.phoff == 0 || num == 0 {
		return nil
	}
	if int(h.phentsize) != f.lay.phdrSize() {
		return f.fail(ErrMalformed, "program headers of %d bytes", h.phentsize)
	}
	if num > maxSections {
		return f.fail(ErrTooLarge, "%d program headers", num)
	}
	b, err := f.read(h.phoff, num*uint64(h.phentsize), "program headers")
	if err != nil {
		return err
	}
	f.phdrs = make([]phdr, num)
	for i := range f.phdrs {
		f.phdrs[i] = f.lay.phdr(b[i*int(h.phentsize):])
	}
	return nil
}

// maxOverlay is how many times over segments or sections of one kind may use the
// bytes of the file. Without a bound a small file could be made to hold more code
// than can be read; real files use a byte once, the first page sometimes twice.
const maxOverlay = 4

// setSegments checks and sorts what is loaded.
func (f *File) setSegments() error {
	debug := f.isDebugFile()
	loaded := uint64(0)
	for i := range f.phdrs {
		p := &f.phdrs[i]
		if p.typ != elf.PT_LOAD || p.memsz == 0 && p.filesz == 0 {
			continue
		}
		if p.filesz > p.memsz {
			return f.fail(ErrMalformed, "segment %d: file size %#x above memory size %#x", i, p.filesz, p.memsz)
		}
		if p.memsz > f.lay.maxAddr()-p.addr {
			return f.fail(ErrMalformed, "segment %d: %#x+%#x wraps around", i, p.addr, p.memsz)
		}
		if !debug && (p.off > f.size || p.filesz > f.size-p.off) {
			return f.fail(ErrTruncated, "segment %d at %#x+%#x, file ends at %#x", i, p.off, p.filesz, f.size)
		}
		if loaded += p.filesz; !debug && loaded > maxOverlay*f.size {
			return f.fail(ErrMalformed, "segments load the same bytes over and over")
		}
		f.Segments = append(f.Segments, Segment{VAddr(p.addr), FileOffset(p.off), p.filesz, p.memsz, p.flags})
	}
	if debug {
		return f.fail(ErrNoCode, "a separate debug file; open the program or library itself")
	}
	segs := f.Segments
	sort.Slice(segs, func(i, j int) bool { return segs[i].Addr < segs[j].Addr })
	for i := 1; i < len(segs); i++ {
		if prev := &segs[i-1]; uint64(segs[i].Addr-prev.Addr) < prev.MemSize {
			return f.fail(ErrMalformed, "segments at %#x and %#x overlap", uint64(prev.Addr), uint64(segs[i].Addr))
		}
	}
	if len(segs) == 0 {
		return f.fail(ErrNoCode, "no loaded segment")
	}
	f.Base = segs[0].Addr
	return nil
}

// isDebugFile reports whether code has headers but no bytes: what objcopy
// --only-keep-debug and eu-strip -f leave. Their program headers still promise
// the bytes of the stripped file.
func (f *File) isDebugFile() bool {
	nobits := false
	for i := range f.shdrs {
		if s := &f.shdrs[i]; s.executable() {
			if s.typ != elf.SHT_NOBITS {
				return false
			}
			nobits = true
		}
	}
	return nobits
}
