package objfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"
)

// image is an ELF file to be: what the tests read.
type image struct {
	lay     layout
	typ     elf.Type
	machine elf.Machine
	flags   uint32
	entry   uint64
	secs    []*sec
	extra   []phdr // program headers besides the loaded segments
	noShdrs bool
	overlay string // sections without data get that of this one
	tight   bool   // do not align sections in the file: small images for fuzzing
}

// sec is a section. Each allocated one gets a PT_LOAD of its own, unless it asks
// for none.
type sec struct {
	name   string
	typ    elf.SectionType
	flags  elf.SectionFlag
	addr   uint64
	data   []byte
	link   string
	noLoad bool

	off uint64 // filled in by bytes
}

const (
	ax = elf.SHF_ALLOC | elf.SHF_EXECINSTR
	wa = elf.SHF_ALLOC | elf.SHF_WRITE
	ro = elf.SHF_ALLOC
)

// layouts are the four combinations of class and byte order.
var layouts = map[string]layout{
	"64le": {binary.LittleEndian, true}, "64be": {binary.BigEndian, true},
	"32le": {binary.LittleEndian, false}, "32be": {binary.BigEndian, false},
}

// newImage has a .text of n bytes of nop at 0x401000.
func newImage(n int) *image {
	img := &image{lay: layouts["64le"], typ: elf.ET_EXEC, machine: elf.EM_X86_64}
	img.add(&sec{name: ".text", typ: elf.SHT_PROGBITS, flags: ax, addr: 0x401000, data: bytes.Repeat([]byte{0x90}, n)})
	return img
}

func (m *image) add(s *sec) *sec {
	m.secs = append(m.secs, s)
	return s
}

func (m *image) sec(name string) *sec {
	for _, s := range m.secs {
		if s.name == name {
			return s
		}
	}
	return nil
}

// w16 to word append fields in the image's byte order.
func (l layout) w16(b []byte, v uint16) []byte {
	return l.order.(binary.AppendByteOrder).AppendUint16(b, v)
}
func (l layout) w32(b []byte, v uint32) []byte {
	return l.order.(binary.AppendByteOrder).AppendUint32(b, v)
}
func (l layout) w64(b []byte, v uint64) []byte {
	return l.order.(binary.AppendByteOrder).AppendUint64(b, v)
}
func (l layout) wword(b []byte, v uint64) []byte {
	if l.is64 {
		return l.w64(b, v)
	}
	return l.w32(b, uint32(v))
}

// tsym is a symbol to be.
type tsym struct {
	name       string
	typ        elf.SymType
	bind       elf.SymBind
	addr, size uint64
	other      uint8
}

// symtab adds .symtab and .strtab.
func (m *image) symtab(syms ...tsym) { m.symtabAs(elf.SHT_SYMTAB, ".symtab", ".strtab", syms) }

func (m *image) symtabAs(typ elf.SectionType, name, strName string, syms []tsym) {
	strs := []byte{0}
	tab := make([]byte, m.lay.symSize())
	for _, s := range syms {
		nameOff := uint32(len(strs))
		strs = append(append(strs, s.name...), 0)
		info := byte(s.bind)<<4 | byte(s.typ)
		tab = m.lay.w32(tab, nameOff)
		if m.lay.is64 {
			tab = append(tab, info, s.other)
			tab = m.lay.w64(m.lay.w64(m.lay.w16(tab, 1), s.addr), s.size)
		} else {
			tab = m.lay.w32(m.lay.w32(tab, uint32(s.addr)), uint32(s.size))
			tab = m.lay.w16(append(tab, info, s.other), 1)
		}
	}
	m.add(&sec{name: name, typ: typ, data: tab, link: strName})
	m.add(&sec{name: strName, typ: elf.SHT_STRTAB, data: strs})
}

// bytes lays the file out: header, program headers, section contents (with
// offset and address equal modulo the page size), names, section headers.
func (m *image) bytes() []byte {
	l := m.lay
	phdrs := append([]phdr(nil), m.extra...)
	names := []byte{0}
	shdrs := []shdr{{}}
	index := map[string]uint32{}
	for i, s := range m.secs {
		index[s.name] = uint32(i + 1)
	}
	loads := 0
	for _, s := range m.secs {
		if s.flags&elf.SHF_ALLOC != 0 && !s.noLoad {
			loads++
		}
	}
	body := make([]byte, l.ehdrSize()+(loads+len(phdrs))*l.phdrSize())
	for _, s := range m.secs {
		for !m.tight && s.flags&elf.SHF_ALLOC != 0 && uint64(len(body))%PageSize != s.addr%PageSize {
			body = append(body, 0)
		}
		s.off = uint64(len(body))
		size := uint64(len(s.data))
		if s.typ != elf.SHT_NOBITS {
			body = append(body, s.data...)
		}
		if o := m.sec(m.overlay); o != nil && len(s.data) == 0 {
			s.off, size = o.off, uint64(len(o.data))
		}
		shdrs = append(shdrs, shdr{nameOff: uint32(len(names)), typ: s.typ, flags: s.flags, addr: s.addr, off: s.off, size: size, link: index[s.link]})
		names = append(append(names, s.name...), 0)
		if s.flags&elf.SHF_ALLOC != 0 && !s.noLoad {
			p := phdr{typ: elf.PT_LOAD, flags: elf.PF_R, off: s.off, addr: s.addr, filesz: size, memsz: size}
			if s.flags&elf.SHF_EXECINSTR != 0 {
				p.flags |= elf.PF_X
			}
			if s.flags&elf.SHF_WRITE != 0 {
				p.flags |= elf.PF_W
			}
			phdrs = append(phdrs, p)
		}
	}
	shdrs = append(shdrs, shdr{nameOff: uint32(len(names)), typ: elf.SHT_STRTAB, off: uint64(len(body)), size: uint64(len(names) + 10)})
	names = append(append(names, ".shstrtab"...), 0)
	body = append(body, names...)
	h := ehdr{typ: m.typ, machine: m.machine, entry: m.entry, phoff: uint64(l.ehdrSize()), flags: m.flags, phnum: uint16(len(phdrs))}
	if !m.noShdrs {
		h.shoff, h.shnum, h.shstrndx = uint64(len(body)), uint16(len(shdrs)), uint16(len(shdrs)-1)
		for _, s := range shdrs {
			body = l.appendShdr(body, s)
		}
	}
	head := l.appendEhdr(nil, h)
	for i := range phdrs {
		head = l.appendPhdr(head, m.fix(phdrs[i]))
	}
	copy(body, head)
	return body
}

// fix gives a program header that names only an address the offset of the
// section that is there.
func (m *image) fix(p phdr) phdr {
	for _, s := range m.secs {
		if p.off == 0 && p.addr == s.addr && s.addr != 0 {
			p.off, p.filesz, p.memsz = s.off, uint64(len(s.data)), uint64(len(s.data))
		}
	}
	return p
}

func (l layout) appendEhdr(b []byte, h ehdr) []byte {
	b = append(b, elf.ELFMAG...)
	b = append(b, byte(pick(l.is64, 2, 1)), byte(pick(l.order == binary.BigEndian, 2, 1)), 1)
	b = append(b, make([]byte, 16-len(b))...)
	b = l.w32(l.w16(l.w16(b, uint16(h.typ)), uint16(h.machine)), 1)
	b = l.wword(l.wword(l.wword(b, h.entry), h.phoff), h.shoff)
	b = l.w32(b, h.flags)
	for _, v := range []uint16{uint16(l.ehdrSize()), uint16(l.phdrSize()), h.phnum, uint16(l.shdrSize()), h.shnum, h.shstrndx} {
		b = l.w16(b, v)
	}
	return b
}

func (l layout) appendPhdr(b []byte, p phdr) []byte {
	b = l.w32(b, uint32(p.typ))
	if l.is64 {
		b = l.w32(b, uint32(p.flags))
	}
	for _, v := range []uint64{p.off, p.addr, p.addr, p.filesz, p.memsz} {
		b = l.wword(b, v)
	}
	if !l.is64 {
		b = l.w32(b, uint32(p.flags))
	}
	return l.wword(b, PageSize)
}

func (l layout) appendShdr(b []byte, s shdr) []byte {
	b = l.w32(l.w32(b, s.nameOff), uint32(s.typ))
	for _, v := range []uint64{uint64(s.flags), s.addr, s.off, s.size} {
		b = l.wword(b, v)
	}
	b = l.w32(l.w32(b, s.link), s.info)
	return l.wword(l.wword(b, 1), s.entsize)
}

// open opens an image that must be good.
func (m *image) open(t testing.TB) *File {
	t.Helper()
	f, err := openBytes(m.bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func openBytes(b []byte) (*File, error) { return New(bytes.NewReader(b), int64(len(b))) }

// mustFuncs returns the functions of a file whose tables must be good.
func mustFuncs(t testing.TB, f *File) []Func {
	t.Helper()
	funcs, err := f.Funcs()
	if err != nil {
		t.Fatal(err)
	}
	return funcs
}
