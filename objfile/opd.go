package objfile

import "debug/elf"

// opd is the function descriptor section of 64-bit Power's first ABI, in which a
// function symbol names a descriptor of three words (code, TOC, environment)
// instead of code ("64-bit PowerPC ELF ABI Supplement" 1.9, section 3.2.5).
type opd struct {
	lay   layout
	addr  uint64
	data  []byte
	moved map[uint64]uint64 // words that the loader fills in: address to value
}

// readOPD returns nil where there is none: the second ABI and all other ISAs.
func (f *File) readOPD() (*opd, error) {
	s := f.section(".opd")
	if s == nil || f.Machine != elf.EM_PPC64 || s.size == 0 {
		return nil, nil
	}
	b, err := f.read(s.off, s.size, ".opd")
	if err != nil {
		return nil, err
	}
	moved, err := f.relativeRelocs([]uint64{s.addr}, s.size)
	if err != nil {
		return nil, err
	}
	return &opd{f.lay, s.addr, b, moved}, nil
}

// entry returns the code address for a symbol value: the first word of the
// descriptor if the value lies in .opd, else the value.
func (o *opd) entry(value uint64) uint64 {
	if o == nil || value-o.addr >= uint64(len(o.data)) || uint64(len(o.data))-(value-o.addr) < 8 {
		return value
	}
	if v, ok := o.moved[value]; ok {
		return v
	}
	return o.lay.word(o.data[value-o.addr:])
}

// Descriptor returns the address of the code that the function descriptor at a
// names, and whether there is one: in 64-bit Power's first ABI, symbols have the
// addresses of descriptors.
func (f *File) Descriptor(a VAddr) (code VAddr, ok bool) {
	o, err := f.readOPD()
	if err != nil || o == nil {
		return 0, false
	}
	v := o.entry(uint64(a))
	return VAddr(v), v != uint64(a) && f.inCode(v, 4)
}

// localEntry returns how far behind a function's global entry its local one
// lies, in bytes: the top three bits of st_other in 64-bit Power's second ABI
// ("Power Architecture 64-Bit ELF V2 ABI" section 3.4.1). Callers in the same
// object enter there, with r2 already set, so it is the one that a probe of all
// calls sits on. Values 0 and 1 mean that both entries are one; 7 is reserved.
func (f *File) localEntry(other uint8) uint64 {
	if f.Machine != elf.EM_PPC64 || f.Flags&3 == 1 {
		return 0
	}
	if n := other >> 5; n >= 2 && n <= 6 {
		return 1 << n
	}
	return 0
}
