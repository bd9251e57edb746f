package objfile

import (
	"debug/elf"
	"sort"
)

// VAddr is an address as the object file states it: what symbols, section
// headers and disassemblies show, before any load bias.
type VAddr uint64

// FileOffset counts bytes from the start of the file: what perf_event_open and
// uprobes take.
type FileOffset uint64

// RuntimeAddr is an address in a running process: VAddr plus the load bias.
type RuntimeAddr uint64

// PageSize is what a load bias is a multiple of, on every ISA, whatever the page
// size of the running kernel (larger pages are multiples of it).
const PageSize = 4096

// Segment is a PT_LOAD program header. Bytes past FileSize are zero-filled
// memory with no place in the file.
type Segment struct {
	Addr     VAddr
	Offset   FileOffset
	FileSize uint64 // bytes
	MemSize  uint64 // bytes, at least FileSize
	Flags    elf.ProgFlag
}

// Range is the addresses from Addr to Addr+Size, end excluded.
type Range struct {
	Addr VAddr
	Size uint64 // bytes
}

// End returns the first address behind the range.
func (r Range) End() VAddr { return r.Addr + VAddr(r.Size) }

// Contains reports whether a lies inside the range.
func (r Range) Contains(a VAddr) bool { return a >= r.Addr && uint64(a-r.Addr) < r.Size }

// OffsetOf returns the file offset of the byte that is loaded at a. Addresses
// outside every PT_LOAD, and those in its zero-filled tail, are [ErrNotMapped].
func (f *File) OffsetOf(a VAddr) (FileOffset, error) {
	if s := f.segmentAt(a); s != nil && uint64(a-s.Addr) < s.FileSize {
		return s.Offset + FileOffset(a-s.Addr), nil
	}
	return 0, f.fail(ErrNotMapped, "address %#x has no bytes in the file", uint64(a))
}

// AddrOf returns the address at which the byte at off is loaded. Where two
// segments load the same byte, the executable one wins, then the lower address.
func (f *File) AddrOf(off FileOffset) (VAddr, error) {
	var found *Segment
	for i := range f.Segments {
		s := &f.Segments[i]
		if off < s.Offset || uint64(off-s.Offset) >= s.FileSize {
			continue
		}
		if found == nil || found.Flags&elf.PF_X == 0 && s.Flags&elf.PF_X != 0 {
			found = s
		}
	}
	if found == nil {
		return 0, f.fail(ErrNotMapped, "file offset %#x is not loaded", uint64(off))
	}
	return found.Addr + VAddr(off-found.Offset), nil
}

// RuntimeAddrOf returns where a lives in a process that loaded the object with
// the given bias: runtime address minus VAddr, modulo the address width, so a
// bias below zero is written in two's complement. A bias that is not a multiple
// of [PageSize] is [ErrBias]: someone took an address for a bias.
func (f *File) RuntimeAddrOf(a VAddr, bias uint64) (RuntimeAddr, error) {
	if err := f.checkBias(bias); err != nil {
		return 0, err
	}
	return RuntimeAddr((uint64(a) + bias) & f.lay.maxAddr()), nil
}

// VAddrOf is the inverse of [File.RuntimeAddrOf].
func (f *File) VAddrOf(a RuntimeAddr, bias uint64) (VAddr, error) {
	if err := f.checkBias(bias); err != nil {
		return 0, err
	}
	return VAddr((uint64(a) - bias) & f.lay.maxAddr()), nil
}

func (f *File) checkBias(bias uint64) error {
	if bias%PageSize != 0 {
		return f.fail(ErrBias, "%#x is not a multiple of %#x", bias, PageSize)
	}
	return nil
}

// BiasOf computes the load bias from one executable file mapping of a process: a
// line of /proc/PID/maps with an x that says that the file's bytes from off on
// are mapped at start. (Only those: an executable and a writable segment may
// share a page of the file, which is then mapped twice.) An offset that no
// executable segment loads is [ErrNotMapped].
func (f *File) BiasOf(start RuntimeAddr, off FileOffset) (uint64, error) {
	for i := range f.Segments {
		s := &f.Segments[i]
		first := s.Offset &^ (PageSize - 1) // the loader maps whole pages
		if s.Flags&elf.PF_X == 0 || s.FileSize == 0 || off < first || off >= s.Offset+FileOffset(s.FileSize) {
			continue
		}
		bias := (uint64(start) - (uint64(s.Addr) - uint64(s.Offset) + uint64(off))) & f.lay.maxAddr()
		return bias, f.checkBias(bias)
	}
	return 0, f.fail(ErrNotMapped, "file offset %#x is in no executable segment", uint64(off))
}

// segmentAt returns the segment whose memory covers a, or nil.
func (f *File) segmentAt(a VAddr) *Segment {
	i := sort.Search(len(f.Segments), func(i int) bool { return f.Segments[i].Addr > a }) - 1
	if i < 0 || uint64(a-f.Segments[i].Addr) >= f.Segments[i].MemSize {
		return nil
	}
	return &f.Segments[i]
}
