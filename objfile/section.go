package objfile

import (
	"debug/elf"
	"sort"
	"strings"
)

// Section is a run of executable bytes: a section with SHF_EXECINSTR or, in a
// file without section headers, the file-backed part of a PF_X segment (then
// Name is empty, and headers and constants may stand among the code).
type Section struct {
	Name   string
	Addr   VAddr
	Offset FileOffset
	Size   uint64 // bytes, not 0
	PLT    bool   // linkage stubs: .plt, .plt.got, .plt.sec, .iplt
}

// Range returns the section's addresses.
func (s Section) Range() Range { return Range{s.Addr, s.Size} }

// setSections collects the executable bytes. Section headers are believed only
// where the program headers, which the kernel goes by, say the same: otherwise
// one would analyse other bytes than those that run.
func (f *File) setSections() error {
	for i := range f.shdrs {
		s := &f.shdrs[i]
		if !s.executable() || s.typ == elf.SHT_NOBITS {
			continue
		}
		off, err := f.OffsetOf(VAddr(s.addr))
		seg := f.segmentAt(VAddr(s.addr))
		if err != nil || uint64(off) != s.off || s.size > seg.FileSize-(s.addr-uint64(seg.Addr)) {
			return f.fail(ErrMalformed, "section %q at %#x, offset %#x, size %#x is not what the segments load", s.name, s.addr, s.off, s.size)
		}
		if seg.Flags&elf.PF_X == 0 {
			return f.fail(ErrMalformed, "section %q is code in a segment that is not executable", s.name)
		}
		f.Sections = append(f.Sections, Section{s.name, VAddr(s.addr), FileOffset(s.off), s.size, isPLT(s.name)})
	}
	if len(f.Sections) == 0 {
		for _, s := range f.Segments {
			if s.Flags&elf.PF_X != 0 && s.FileSize != 0 {
				f.Sections = append(f.Sections, Section{"", s.Addr, s.Offset, s.FileSize, false})
			}
		}
	}
	secs := f.Sections
	if len(secs) == 0 {
		return f.fail(ErrNoCode, "no executable section or segment")
	}
	sort.Slice(secs, func(i, j int) bool { return secs[i].Addr < secs[j].Addr })
	for i := 1; i < len(secs); i++ {
		if secs[i].Addr < secs[i-1].Range().End() {
			return f.fail(ErrMalformed, "sections %q and %q overlap", secs[i-1].Name, secs[i].Name)
		}
	}
	return nil
}

func isPLT(name string) bool {
	return name == ".plt" || name == ".iplt" || strings.HasPrefix(name, ".plt.")
}

// SectionAt returns the executable section that covers a.
func (f *File) SectionAt(a VAddr) (Section, bool) {
	if s := f.sectionAt(a); s != nil {
		return *s, true
	}
	return Section{}, false
}

func (f *File) sectionAt(a VAddr) *Section {
	i := sort.Search(len(f.Sections), func(i int) bool { return f.Sections[i].Addr > a }) - 1
	if i < 0 || !f.Sections[i].Range().Contains(a) {
		return nil
	}
	return &f.Sections[i]
}

// inCode reports whether the whole, non-empty range lies in one executable section.
func (f *File) inCode(addr, size uint64) bool {
	s := f.sectionAt(VAddr(addr))
	return s != nil && size > 0 && size <= s.Size-(addr-uint64(s.Addr))
}

// Bytes reads n bytes of code at a into memory of its own. The range must lie in
// one executable section ([ErrNotMapped] otherwise), so n is at most its size.
func (f *File) Bytes(a VAddr, n uint64) ([]byte, error) {
	s := f.sectionAt(a)
	if s == nil || n > s.Size-uint64(a-s.Addr) {
		return nil, f.fail(ErrNotMapped, "no executable section covers %#x+%#x", uint64(a), n)
	}
	return f.read(uint64(s.Offset)+uint64(a-s.Addr), n, "code")
}

// ReadCode fills dst with the code at a and returns how many bytes it got: fewer
// than len(dst), without error, only where the executable section ends. It
// allocates nothing.
func (f *File) ReadCode(dst []byte, a VAddr) (int, error) {
	s := f.sectionAt(a)
	if s == nil {
		return 0, f.fail(ErrNotMapped, "no executable section covers %#x", uint64(a))
	}
	dst = dst[:min(uint64(len(dst)), s.Size-uint64(a-s.Addr))]
	if err := f.readAt(dst, uint64(s.Offset)+uint64(a-s.Addr), "code"); err != nil {
		return 0, err
	}
	return len(dst), nil
}
