package objfile

import (
	"errors"
	"fmt"
)

// The kinds of failure. Every error of this package is an [*Error] for which
// errors.Is answers true for exactly one of them.
var (
	// ErrUnreadable: the file does not exist, may not be read, or the read failed.
	ErrUnreadable = errors.New("cannot be read")
	// ErrDirectory: the path names a directory.
	ErrDirectory = errors.New("is a directory")
	// ErrNotRegular: the path names a device, pipe or socket, whose size is not known.
	ErrNotRegular = errors.New("is not a regular file")
	// ErrNotObject: the bytes are not an ELF file.
	ErrNotObject = errors.New("not an ELF object file")
	// ErrTruncated: the file ends before something its headers promise.
	ErrTruncated = errors.New("truncated object file")
	// ErrMalformed: headers or tables contradict themselves or each other.
	ErrMalformed = errors.New("malformed object file")
	// ErrTooLarge: a table is larger than this package is willing to load.
	ErrTooLarge = errors.New("object file too large")
	// ErrMachine: a well-formed file for an instruction set that is not served.
	ErrMachine = errors.New("unsupported machine")
	// ErrType: a well-formed file that is neither a linked program nor a shared
	// object: a relocatable object, a kernel module or a core dump.
	ErrType = errors.New("unsupported type of object file")
	// ErrNoCode: the file holds no executable bytes, as a separate debug file.
	ErrNoCode = errors.New("no executable code")
	// ErrNotMapped: an address or file offset that no loaded, executable or
	// file-backed part of the object covers.
	ErrNotMapped = errors.New("not mapped by the object file")
	// ErrBias: a load bias that no page-granular loader produces.
	ErrBias = errors.New("impossible load bias")
	// ErrNotFound: no function has the name or covers the address.
	ErrNotFound = errors.New("no such function")
)

// Error is the one error type of this package.
type Error struct {
	Path   string // as given to Open; empty for New
	Kind   error  // one of the Err sentinels
	Detail string // what exactly is wrong, without newline; may be empty
	Err    error  // the operating system's error, if there is one
}

// Error renders path, kind, detail and cause on one line.
func (e *Error) Error() string {
	s := e.Kind.Error()
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap lets errors.Is see both the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// fail builds an Error of a kind for this file.
func (f *File) fail(kind error, format string, args ...any) error {
	return &Error{Path: f.Path, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}
