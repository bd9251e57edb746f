// Package ehframe reads function bounds out of .eh_frame, the call frame
// information that compilers emit for exception handling and that strip keeps.
//
// It reads what bounds need and no more: common information entries (CIE) for
// their pointer encodings, and frame description entries (FDE) for their address
// ranges. The format is DWARF 5 section 6.4 as changed by the Linux Standard
// Base Core Specification, "Exception Frames" and "DWARF Exception Header
// Encoding".
//
// The input may be hostile: the walk is linear in the size of the section, keeps
// 16 bytes for each CIE, and never panics.
package ehframe

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"sort"
)

// Section is an .eh_frame section with what its encodings may be relative to.
type Section struct {
	Data     []byte
	Addr     uint64           // address of Data[0]
	Order    binary.ByteOrder // of the object file
	PtrSize  int              // bytes of an address: 4 or 8
	TextBase uint64           // what DW_EH_PE_textrel is relative to
	DataBase uint64           // what DW_EH_PE_datarel is relative to: the global offset table

	// Deref reads the address-sized word at an address, for DW_EH_PE_indirect.
	// nil, or false, makes such an entry an error.
	Deref func(addr uint64) (uint64, bool)

	// ToTerminator ends the walk at the first zero-length entry, as unwinders do:
	// for a section whose size is not known. Otherwise such entries are skipped,
	// for linkers may leave one from each input file.
	ToTerminator bool
}

// FDE says that the code from Begin to Begin+Size is one unit of unwinding: a
// function, or one of the parts that the compiler split it into.
type FDE struct {
	Offset uint64 // of the entry in the section
	Begin  uint64 // address of the first byte of code
	Size   uint64 // bytes of code; may be 0 where the linker dropped the code

	LSDA   uint64 // address of the language-specific data; 0: none
	Signal bool   // the frame of a signal handler's caller (augmentation S)

	// Mid: the call frame program changes the state before the first
	// instruction, so the range does not begin as functions do. It is a split-off
	// part, or a linkage stub that is entered with something pushed.
	Mid bool
}

// Error says where in the section it is wrong.
type Error struct {
	Offset uint64 // of the entry in the section
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("entry at %#x: %s", e.Offset, e.Reason) }

// All yields the FDEs in section order. An error is yielded once and ends the walk.
func (s *Section) All() iter.Seq2[FDE, error] {
	return func(yield func(FDE, error) bool) {
		w := walker{s: s}
		for {
			fde, ok, err := w.next()
			if err != nil {
				yield(FDE{}, err)
				return
			}
			if !ok || !yield(fde, nil) {
				return
			}
		}
	}
}

// cie is what an FDE needs of its CIE. Offsets fit 32 bits: see walker.next.
type cie struct {
	off       uint32
	ptr, lsda encoding // of addresses and of the LSDA pointer
	augmented bool     // FDEs carry an augmentation length ('z')
	signal    bool
}

type walker struct {
	s    *Section
	pos  uint64
	cies []cie // by offset: the walk meets them in order
}

// next finds the next FDE; ok is false at the end.
func (w *walker) next() (fde FDE, ok bool, err error) {
	for w.pos < uint64(len(w.s.Data)) {
		start := w.pos
		body, some, err := w.entry()
		if err != nil {
			return FDE{}, false, err
		}
		if !some {
			if w.s.ToTerminator {
				return FDE{}, false, nil
			}
			continue
		}
		if start > 1<<32-1 {
			return FDE{}, false, &Error{start, "section above 4 GiB"}
		}
		r := reader{s: w.s, data: w.s.Data[:w.pos], pos: body.start, off: start}
		if body.id == 0 {
			c, err := r.cie(uint32(start))
			if err != nil {
				return FDE{}, false, err
			}
			w.cies = append(w.cies, c)
			continue
		}
		c, err := w.cieOf(start, body)
		if err != nil {
			return FDE{}, false, err
		}
		fde, err := r.fde(c)
		return fde, err == nil, err
	}
	return FDE{}, false, nil
}

// body is the inside of an entry.
type body struct {
	idPos uint64 // offset of the id field, which a CIE pointer counts back from
	id    uint64 // 0: a CIE; else the distance back to the FDE's CIE
	start uint64 // offset of what follows the id
}

// entry reads length and id, and moves pos behind the entry. some is false for a
// terminator. The id field of .eh_frame has 4 bytes even where the length is
// extended to 64 bits (unlike .debug_frame).
func (w *walker) entry() (b body, some bool, err error) {
	data, start := w.s.Data, w.pos
	rest := uint64(len(data)) - start
	if rest < 4 {
		if len(bytes.Trim(data[start:], "\x00")) == 0 {
			w.pos = uint64(len(data)) // alignment behind the terminator
			return body{}, false, nil
		}
		return body{}, false, &Error{start, "cut in its length"}
	}
	n, head := uint64(w.s.Order.Uint32(data[start:])), uint64(4)
	if n == 0xffffffff {
		if rest < 12 {
			return body{}, false, &Error{start, "cut in its extended length"}
		}
		n, head = w.s.Order.Uint64(data[start+4:]), 12
	}
	if n == 0 {
		w.pos = start + head
		return body{}, false, nil
	}
	if n > rest-head {
		return body{}, false, &Error{start, fmt.Sprintf("length %#x reaches behind the section", n)}
	}
	if n < 4 {
		return body{}, false, &Error{start, fmt.Sprintf("length %d is too small", n)}
	}
	w.pos = start + head + n
	id := uint64(w.s.Order.Uint32(data[start+head:]))
	return body{start + head, id, start + head + 4}, true, nil
}

// cieOf finds the CIE of an FDE. It lies before the FDE, for the pointer counts
// backwards; demanding that it begins where the walk met one keeps hostile
// sections from having one stretch of bytes parsed over and over.
func (w *walker) cieOf(start uint64, b body) (cie, error) {
	want := b.idPos - b.id
	if n := len(w.cies); n > 0 && b.id <= b.idPos && uint64(w.cies[n-1].off) == want {
		return w.cies[n-1], nil // most entries follow their CIE
	}
	i := sort.Search(len(w.cies), func(i int) bool { return uint64(w.cies[i].off) >= want })
	if b.id > b.idPos || i == len(w.cies) || uint64(w.cies[i].off) != want {
		return cie{}, &Error{start, fmt.Sprintf("no CIE at %d bytes before %#x", b.id, b.idPos)}
	}
	return w.cies[i], nil
}
