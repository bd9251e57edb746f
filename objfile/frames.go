package objfile

import (
	"debug/elf"

	"github.com/xol-go/xol/internal/ehframe"
)

// usualFrame is how many bytes of .eh_frame compilers write for a function, or a few
// more.
const usualFrame = 48

// frameRanges reads the ranges of .eh_frame. A damaged table is an error even
// where symbols cover the code: part of it may have been meant for the rest.
func (f *File) frameRanges() ([]candidate, error) {
	sec, err := f.frameSection()
	if sec == nil || err != nil {
		return nil, err
	}
	out := make([]candidate, 0, len(sec.Data)/usualFrame)
	for fde, err := range sec.All() {
		if err != nil {
			return nil, f.fail(ErrMalformed, ".eh_frame: %v", err)
		}
		// Linkers leave entries of code that they dropped, with address or size 0.
		if f.inCode(fde.Begin, fde.Size) {
			out = append(out, candidate{addr: fde.Begin, size: fde.Size, ord: uint32(len(out)), part: fde.Mid, signal: fde.Signal})
		}
	}
	return out, nil
}

// frameSection finds .eh_frame: by section name, else through the header that
// PT_GNU_EH_FRAME locates. Without section headers its size is not known, so it
// is read to the end of its segment or to its terminator.
func (f *File) frameSection() (*ehframe.Section, error) {
	sec := &ehframe.Section{Order: f.Order, PtrSize: f.lay.wordSize(), Deref: f.deref}
	if s := f.section(".got"); s != nil {
		sec.DataBase = s.addr
	}
	if s := f.section(".text"); s != nil {
		sec.TextBase = s.addr
	}
	if s := f.section(".eh_frame"); s != nil {
		if s.flags&elf.SHF_COMPRESSED != 0 {
			return nil, f.fail(ErrMalformed, ".eh_frame is compressed")
		}
		b, err := f.read(s.off, s.size, ".eh_frame")
		sec.Data, sec.Addr = b, s.addr
		return sec, err
	}
	for _, p := range f.phdrs {
		if p.typ == elf.PT_GNU_EH_FRAME && p.filesz > 0 {
			return f.frameSectionByHeader(sec, p)
		}
	}
	return nil, nil
}

// maxFrameHeader is more than the fields in front of .eh_frame_hdr's table take.
const maxFrameHeader = 64

func (f *File) frameSectionByHeader(sec *ehframe.Section, p phdr) (*ehframe.Section, error) {
	b, err := f.read(p.off, min(p.filesz, maxFrameHeader), ".eh_frame_hdr")
	if err != nil {
		return nil, err
	}
	hdr := *sec
	hdr.Data, hdr.Addr, hdr.DataBase = b, p.addr, p.addr
	addr, err := hdr.FromHeader()
	if err != nil {
		return nil, f.fail(ErrMalformed, ".eh_frame_hdr: %v", err)
	}
	seg := f.segmentAt(VAddr(addr))
	if seg == nil || addr-uint64(seg.Addr) >= seg.FileSize {
		return nil, f.fail(ErrMalformed, ".eh_frame_hdr points to %#x, which is not in the file", addr)
	}
	skip := addr - uint64(seg.Addr)
	sec.Data, err = f.read(uint64(seg.Offset)+skip, seg.FileSize-skip, ".eh_frame")
	sec.Addr, sec.ToTerminator = addr, true
	return sec, err
}

// deref reads the word at addr as the file has it.
func (f *File) deref(addr uint64) (uint64, bool) {
	off, err := f.OffsetOf(VAddr(addr))
	if err != nil {
		return 0, false
	}
	b, err := f.read(uint64(off), uint64(f.lay.wordSize()), "pointer")
	if err != nil {
		return 0, false
	}
	return f.lay.word(b), true
}
