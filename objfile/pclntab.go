package objfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
)

// goTable is Go's table of functions, which the runtime needs for tracebacks and
// which survives stripping. Its layout is stated in the Go sources:
// cmd/link/internal/ld/pcln.go, runtime/symtab.go and internal/abi/symtab.go.
type goTable struct {
	list    []candidate // sorted
	nameOff []uint32    // by candidate.ord: offset in names
	names   strtab
}

// The magic numbers, by the Go version that introduced them. Later versions keep
// the last one.
const (
	magicGo12  = 0xfffffffb
	magicGo116 = 0xfffffffa
	magicGo118 = 0xfffffff0
	magicGo120 = 0xfffffff1
)

// pclntab is a located table.
type pclntab struct {
	f       *File
	addr    uint64
	data    []byte
	ptr     int    // bytes of an address
	quantum uint64 // bytes that pc deltas count in
	magic   uint32
	nfunc   uint64

	names, pcs, funcs uint64 // offsets of the parts
}

// goTable reads the table, or returns nil where there is none.
func (f *File) goTable() (*goTable, error) {
	t, err := f.findPclntab()
	if t == nil || err != nil {
		return nil, err
	}
	return t.read()
}

// findPclntab looks for the section by name: internal linking calls it
// .gopclntab; the linkers of position-independent programs may have put
// .data.rel.ro in front. External linking up to Go 1.25 merges it into
// .data.rel.ro, and a file without section headers has no names: there it is
// looked for by its header.
func (f *File) findPclntab() (*pclntab, error) {
	for _, name := range [...]string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if s := f.section(name); s != nil {
			b, err := f.read(s.off, s.size, name)
			if err != nil {
				return nil, err
			}
			t := f.pclntabAt(s.addr, b)
			if t == nil {
				return nil, f.fail(ErrMalformed, "%s: no known header", name)
			}
			return t, nil
		}
	}
	if len(f.shdrs) == 0 {
		for _, s := range f.Segments {
			if t, err := f.searchPclntab(uint64(s.Addr), uint64(s.Offset), s.FileSize); t != nil || err != nil {
				return t, err
			}
		}
		return nil, nil
	}
	if f.section(".go.buildinfo") == nil {
		return nil, nil
	}
	for _, name := range [...]string{".data.rel.ro", ".rodata"} {
		if s := f.section(name); s != nil {
			if t, err := f.searchPclntab(s.addr, s.off, s.size); t != nil || err != nil {
				return t, err
			}
		}
	}
	return nil, nil
}

// maxPclntabTries bounds how many false headers a search looks at; each costs a
// pass over relocations and writable data.
const maxPclntabTries = 8

// searchPclntab looks for a header in a loaded range of the file. The table's
// end is not known then; everything up to the range's end is taken.
func (f *File) searchPclntab(addr, off, size uint64) (*pclntab, error) {
	b, err := f.read(off, size, "read-only data")
	if err != nil {
		return nil, err
	}
	tries := 0
	for _, magic := range [...]uint32{magicGo120, magicGo118, magicGo116, magicGo12} {
		var want [6]byte // the magic is followed by two zero bytes
		f.Order.PutUint32(want[:], magic)
		for pos := 0; ; pos++ {
			n := bytes.Index(b[pos:], want[:])
			if n < 0 {
				break
			}
			pos += n
			if (addr+uint64(pos))%uint64(f.lay.wordSize()) != 0 {
				continue
			}
			t := f.pclntabAt(addr+uint64(pos), b[pos:])
			if t == nil {
				continue
			}
			// Programs that read such tables have headers among their constants.
			if _, ok, err := t.base(); ok || err != nil {
				return t, err
			}
			if tries++; tries == maxPclntabTries {
				return nil, nil
			}
		}
	}
	return nil, nil
}

// pclntabAt parses a header, or returns nil.
func (f *File) pclntabAt(addr uint64, b []byte) *pclntab {
	if len(b) < 8 || b[4] != 0 || b[5] != 0 {
		return nil
	}
	t := &pclntab{f: f, addr: addr, data: b, ptr: int(b[7]), quantum: uint64(b[6]), magic: f.Order.Uint32(b)}
	if t.ptr != f.lay.wordSize() || t.quantum != 1 && t.quantum != 2 && t.quantum != 4 {
		return nil
	}
	if len(b) < 8+8*t.ptr {
		return nil
	}
	field := func(n int) uint64 { return t.word(uint64(8 + n*t.ptr)) }
	t.nfunc = field(0)
	switch t.magic {
	case magicGo120, magicGo118:
		t.names, t.pcs, t.funcs = field(3), field(6), field(7)
	case magicGo116:
		t.names, t.pcs, t.funcs = field(2), field(5), field(6)
	case magicGo12: // names and pc tables count from the start of the table
		t.funcs = uint64(8 + t.ptr)
	default:
		return nil
	}
	size := uint64(len(b))
	if t.names >= size || t.pcs >= size || t.funcs >= size || t.nfunc >= (size-t.funcs)/uint64(2*t.entrySize()) {
		return nil
	}
	return t
}

// entrySize is the size of one field of the function table: offsets of 32 bits
// since Go 1.18, addresses before.
func (t *pclntab) entrySize() int {
	if t.relative() {
		return 4
	}
	return t.ptr
}

// relative reports whether entry points count from runtime.text.
func (t *pclntab) relative() bool { return t.magic == magicGo118 || t.magic == magicGo120 }

func (t *pclntab) word(off uint64) uint64 {
	if t.ptr == 8 {
		return t.f.Order.Uint64(t.data[off:])
	}
	return uint64(t.f.Order.Uint32(t.data[off:]))
}

// field reads a field of the function table, whose bounds pclntabAt checked.
// Entry i has fields 2i (where it starts) and 2i+1 (where its record is); the
// field behind the last entry is where the last one ends.
func (t *pclntab) field(i uint64) uint64 {
	if t.relative() {
		return uint64(t.f.Order.Uint32(t.data[t.funcs+4*i:]))
	}
	return t.word(t.funcs + uint64(t.ptr)*i)
}

// read turns the table into candidates.
func (t *pclntab) read() (*goTable, error) {
	base, ok, err := t.base()
	if !ok || err != nil {
		return nil, err
	}
	out := &goTable{names: newStrtab(t.data[t.names:])}
	for i := range t.nfunc {
		start, next := t.field(2*i), t.field(2*i+2)
		if next < start {
			return nil, t.f.fail(ErrMalformed, "pclntab: function %d starts behind the next one", i)
		}
		// The gap to the next function includes padding, but is what a section
		// must hold: it also bounds the work that record does.
		if next == start || !t.f.inCode(base+start, next-start) {
			continue
		}
		size, name, ok := t.record(t.field(2*i+1), next-start)
		if !ok {
			return nil, t.f.fail(ErrMalformed, "pclntab: record of function %d", i)
		}
		if goMarker(&out.names, name) {
			continue
		}
		out.list = append(out.list, candidate{addr: base + start, size: size, ord: uint32(len(out.nameOff))})
		out.nameOff = append(out.nameOff, name)
	}
	return out, nil
}

// record reads a function's record: the offset of its name, and its size. The
// function table has no sizes, only the next entry, and padding lies between
// (int3, zeros or nops). But the table of stack adjustments says for each pc of
// the function what the adjustment is, so it ends where the function ends. C code
// that was linked in has no such table; its size is the room.
func (t *pclntab) record(off, room uint64) (size uint64, name uint32, ok bool) {
	head := uint64(4)
	if !t.relative() {
		head = uint64(t.ptr)
	}
	if off > uint64(len(t.data))-t.funcsBase() {
		return 0, 0, false
	}
	rec := t.data[t.funcsBase()+off:]
	if uint64(len(rec)) < head+16 {
		return 0, 0, false
	}
	name, pcsp := t.f.Order.Uint32(rec[head:]), t.f.Order.Uint32(rec[head+12:])
	if size = t.covered(uint64(pcsp), room); size == 0 {
		size = room
	}
	return size, name, true
}

// funcsBase is what record offsets count from: the start of the table in the
// first format, the function table in the later ones.
func (t *pclntab) funcsBase() uint64 {
	if t.magic == magicGo12 {
		return 0
	}
	return t.funcs
}

// covered returns how many bytes from the function's start the pc-value table at
// off describes, or 0 if it cannot be read or describes more than room. A table
// is pairs of varints, the change of the value and the advance of the pc, up to
// a change of 0 (which only the first may have otherwise).
func (t *pclntab) covered(off, room uint64) uint64 {
	if off == 0 || off > uint64(len(t.data))-t.pcs {
		return 0
	}
	b := t.data[t.pcs+off:]
	var pc uint64
	// Each pair advances, so a table longer than the room is not one.
	for n := uint64(0); n <= room/t.quantum; n++ {
		change, k := binary.Uvarint(b[:min(len(b), binary.MaxVarintLen32)])
		if k <= 0 {
			return 0
		}
		if change == 0 && n > 0 {
			return pc
		}
		b = b[k:]
		advance, k := binary.Uvarint(b[:min(len(b), binary.MaxVarintLen32)])
		if k <= 0 {
			return 0
		}
		b = b[k:]
		if pc += advance * t.quantum; pc > room {
			return 0
		}
	}
	return 0
}

// base returns what entry points count from. ok is false where it cannot be
// known: then the table is of no use.
func (t *pclntab) base() (base uint64, ok bool, err error) {
	if t.nfunc == 0 {
		return 0, false, nil
	}
	if !t.relative() {
		// Addresses; in a position-independent program they may be in relocations
		// only, and read as 0 here.
		return 0, t.field(0) != 0, nil
	}
	return t.findModule()
}

// Words of runtime.moduledata, whose front has been the same from Go 1.16 on:
// a pointer to the table, five slices into it, the slice of the function table,
// then findfunctab, minpc, maxpc, text, etext.
const (
	moduleTable  = 0
	moduleFuncs  = 16
	moduleCount  = 17
	moduleMinPC  = 20
	moduleMaxPC  = 21
	moduleText   = 22
	moduleLength = 24
)

// findModule finds runtime.text. The header had it from Go 1.18 to 1.25, except
// where it needed a relocation, and it differs from the start of .text as soon
// as C code is linked in. So it is taken from runtime.moduledata, which begins
// with a pointer to the table, and is believed only if first and last function
// agree with the bounds that stand beside it. (They do not if the linker moved
// parts of a huge text apart, as it may on Power: then nothing is returned.)
func (t *pclntab) findModule() (text uint64, ok bool, err error) {
	places, err := t.modulePlaces()
	if err != nil || len(places) == 0 {
		return 0, false, err
	}
	size := uint64(moduleLength * t.ptr)
	moved, err := t.f.relativeRelocs(places, size)
	if err != nil {
		return 0, false, err
	}
	for _, at := range places {
		off, err := t.f.OffsetOf(VAddr(at))
		if err != nil {
			continue
		}
		b, err := t.f.read(uint64(off), size, "runtime.moduledata")
		if err != nil {
			continue // the pointer is near the end of the file: something else
		}
		word := func(i int) uint64 {
			if v, ok := moved[at+uint64(i*t.ptr)]; ok {
				return v
			}
			return t.f.lay.word(b[i*t.ptr:])
		}
		text := word(moduleText)
		if word(moduleTable) == t.addr && word(moduleFuncs) == t.addr+t.funcs && word(moduleCount) == t.nfunc+1 &&
			word(moduleMinPC) == text+t.field(0) && word(moduleMaxPC) == text+t.field(2*t.nfunc) {
			return text, true, nil
		}
	}
	return 0, false, nil
}

// maxModulePlaces bounds how many pointers to the table are looked at.
const maxModulePlaces = 16

// modulePlaces returns the addresses of pointers to the table: words of writable
// segments that hold its address, or that the loader would fill in with it.
func (t *pclntab) modulePlaces() ([]uint64, error) {
	var places []uint64
	for _, s := range t.f.Segments {
		if s.Flags&elf.PF_W == 0 {
			continue
		}
		err := t.f.forChunks(uint64(s.Offset), s.FileSize, func(pos uint64, b []byte) {
			for i := 0; i+t.ptr <= len(b); i += t.ptr {
				if t.f.lay.word(b[i:]) == t.addr && len(places) < maxModulePlaces {
					places = append(places, uint64(s.Addr)+pos+uint64(i))
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	inRelocs := 0
	err := t.f.forRelative(func(addr, value uint64) {
		if value == t.addr && inRelocs < maxModulePlaces {
			places, inRelocs = append(places, addr), inRelocs+1
		}
	})
	slices.Sort(places)
	return slices.Compact(places), err
}

// forChunks reads a range of the file in pieces whose size is a multiple of any
// word's; pos counts from the start of the range.
func (f *File) forChunks(off, size uint64, fn func(pos uint64, b []byte)) error {
	for pos := uint64(0); pos < size; pos += relocChunk {
		b, err := f.read(off+pos, min(size-pos, relocChunk), "data")
		if err != nil {
			return err
		}
		fn(pos, b)
	}
	return nil
}
