package objfile

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync"
)

// Header is what an object file says about itself as a whole.
type Header struct {
	Path    string           // as given to Open; empty for New
	Arch    string           // GOARCH spelling: amd64, 386, arm64, ppc64, ppc64le, riscv64, s390x
	X32     bool             // amd64 instructions with 32-bit addresses (the x32 ABI)
	Class   elf.Class        // 32 or 64-bit addresses
	Order   binary.ByteOrder // of data; A64 instructions are little-endian regardless
	Machine elf.Machine
	Type    elf.Type // ET_EXEC or ET_DYN
	Flags   uint32   // e_flags
	BuildID string   // GNU build id, lower-case hex; empty if there is none
	Base    VAddr    // lowest PT_LOAD address
	Entry   VAddr    // where the loader starts; 0 for most shared objects
}

// File is an opened object file. It may be used by several goroutines at once.
// Fields are not to be changed.
type File struct {
	Header
	Segments []Segment // PT_LOAD, by address, disjoint
	Sections []Section // executable bytes, by address, disjoint

	r      io.ReaderAt
	size   uint64
	closer io.Closer
	lay    layout
	phdrs  []phdr
	shdrs  []shdr

	symbols func() (*symbols, error)
	funcs   func() ([]Func, error)
	data    func() ([]Range, error) // what the file marks as data
	inside  func() ([]Range, error) // and what lies in functions beside
	entries func() ([]Entry, error)
}

// Open reads the headers of the object file at path. Directories, devices and
// pipes are refused before they are opened, so Open never blocks on one.
func Open(path string) (*File, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	switch {
	case fi.IsDir():
		return nil, &Error{Path: path, Kind: ErrDirectory}
	case !fi.Mode().IsRegular():
		return nil, &Error{Path: path, Kind: ErrNotRegular}
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	f, err := newFile(path, r, fi.Size())
	if err != nil {
		r.Close()
		return nil, err
	}
	f.closer = r
	return f, nil
}

// unreadable wraps a system error; the path is said once, by Error.
func unreadable(path string, err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		err = pe.Err
	}
	return &Error{Path: path, Kind: ErrUnreadable, Err: err}
}

// New reads the headers of an object file of size bytes. r is read from, in
// pieces, as long as the File is in use; New does not close it.
func New(r io.ReaderAt, size int64) (*File, error) { return newFile("", r, size) }

// Close releases the file that Open opened. Slices handed out stay valid.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

func newFile(path string, r io.ReaderAt, size int64) (*File, error) {
	f := &File{Header: Header{Path: path}, r: r, size: uint64(max(size, 0))}
	h, err := f.readHeader()
	if err != nil {
		return nil, err
	}
	if err := f.checkServed(h); err != nil {
		return nil, err
	}
	// Section headers come first: extended numbering keeps counts in section 0.
	if err := f.readSectionHeaders(&h); err != nil {
		return nil, err
	}
	if err := f.readProgramHeaders(h); err != nil {
		return nil, err
	}
	for _, step := range []func() error{f.setSegments, f.setSections, f.setBuildID} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	f.symbols = sync.OnceValues(f.readSymbols)
	f.funcs = sync.OnceValues(f.findFuncs)
	f.data = sync.OnceValues(f.findData)
	f.inside = sync.OnceValues(f.findInside)
	f.entries = sync.OnceValues(f.findEntries)
	return f, nil
}

// maxTable bounds what is loaded in one piece. A sparse file can claim any size
// without having it, so the file's own size is not bound enough.
const maxTable = 1 << 30

// read returns n bytes at off, or says that what is truncated.
func (f *File) read(off, n uint64, what string) ([]byte, error) {
	if off > f.size || n > f.size-off {
		return nil, f.fail(ErrTruncated, "%s at %#x+%#x, file ends at %#x", what, off, n, f.size)
	}
	if n > maxTable {
		return nil, f.fail(ErrTooLarge, "%s has %d bytes", what, n)
	}
	b := make([]byte, n)
	if err := f.readAt(b, off, what); err != nil {
		return nil, err
	}
	return b, nil
}

// readAt fills dst from off. The range was checked against the size at opening,
// but the file may have shrunk since.
func (f *File) readAt(dst []byte, off uint64, what string) error {
	n, err := f.r.ReadAt(dst, int64(off))
	switch {
	case n == len(dst):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return f.fail(ErrTruncated, "%s at %#x, read %d of %d bytes", what, off, n, len(dst))
	}
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		err = pe.Err
	}
	return &Error{Path: f.Path, Kind: ErrUnreadable, Detail: what, Err: err}
}
