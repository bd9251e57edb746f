package objfile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"iter"
	"slices"
	"strings"
)

// symKind sorts symbols by what they tell about code.
type symKind uint8

const (
	symFunc    symKind = iota // STT_FUNC
	symIFunc                  // STT_GNU_IFUNC: a resolver
	symLabel                  // a global STT_NOTYPE symbol: only good for a name
	symMapCode                // mapping symbol: instructions from here on
	symMapData                // mapping symbol: data from here on
	symData                   // data that the linker calls a function
)

// symbol is what is kept of a symbol table entry; tables have millions.
type symbol struct {
	addr, size uint64
	name       uint32 // offset in the string table
	ord        uint32 // position in the tables, .symtab first
	tab        uint8  // which string table
	kind       symKind
	bind       uint8 // rank: 0 global, 1 weak, 2 local
	other      uint8 // st_other
}

// symbols are the symbols that concern executable bytes, by table and position.
type symbols struct {
	list []symbol
	tabs [2]strtab
}

// strtab is a string table. Hostile tables have many long strings that overlap,
// so reading all names would be quadratic: budget counts the bytes that may still
// be scanned. Linkers share tails, but never to more than a few times the table.
type strtab struct {
	b      []byte
	budget int64
	names  *strings.Builder // where strings are put together, many in one allocation
}

func newStrtab(b []byte) strtab { return strtab{b: b, budget: 16*int64(len(b)) + 1<<16} }

// nameBytes is how much room for names is allocated at once.
const nameBytes = 64 << 10

// at returns the string at off, "" if there is none; ok is false when the budget
// is spent. It looks at no byte that the budget does not cover, so all calls
// together cost no more than the budget, however many come after its end.
func (t *strtab) at(off uint32) (s string, ok bool) {
	if uint64(off) >= uint64(len(t.b)) {
		return "", true
	}
	b := t.b[off:]
	b = b[:min(int64(len(b)), max(t.budget, 0))]
	n := bytes.IndexByte(b, 0)
	if n < 0 {
		n = len(b)
	}
	if t.budget -= int64(n) + 1; t.budget < 0 {
		return "", false
	}
	if t.names == nil || t.names.Cap()-t.names.Len() < n {
		t.names = new(strings.Builder)
		t.names.Grow(min(max(n, nameBytes), max(n, len(t.b))))
	}
	from := t.names.Len()
	t.names.Write(b[:n])
	return t.names.String()[from:], true
}

// is reports whether the string at off is s, at the cost of len(s).
func (t *strtab) is(off uint32, s string) bool {
	if uint64(off)+uint64(len(s)) >= uint64(len(t.b)) {
		return false
	}
	b := t.b[off:]
	return string(b[:len(s)]) == s && b[len(s)] == 0
}

// readSymbols loads .symtab and .dynsym. A file may have either, both or none.
func (f *File) readSymbols() (*symbols, error) {
	out := new(symbols)
	opd, err := f.readOPD()
	if err != nil {
		return nil, err
	}
	for tab, typ := range [...]elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		i := slices.IndexFunc(f.shdrs, func(s shdr) bool { return s.typ == typ })
		if i < 0 {
			continue
		}
		if err := f.readSymtab(out, opd, &f.shdrs[i], tab); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (f *File) readSymtab(out *symbols, opd *opd, s *shdr, tab int) error {
	if s.link == 0 || uint64(s.link) >= uint64(len(f.shdrs)) || f.shdrs[s.link].typ != elf.SHT_STRTAB {
		return f.fail(ErrMalformed, "symbol table %q: string table is section %d", s.name, s.link)
	}
	str := &f.shdrs[s.link]
	strs, err := f.read(str.off, str.size, "string table")
	if err != nil {
		return err
	}
	b, err := f.read(s.off, s.size, "symbol table")
	if err != nil {
		return err
	}
	size := f.lay.symSize()
	if len(b)%size != 0 {
		return f.fail(ErrMalformed, "symbol table %q of %d bytes", s.name, len(b))
	}
	out.tabs[tab] = newStrtab(strs)
	out.list = slices.Grow(out.list, len(b)/size)
	for ; len(b) >= size; b = b[size:] {
		raw := f.lay.sym(b)
		if sym, ok := f.keepSymbol(&out.tabs[tab], opd, raw); ok {
			sym.tab, sym.ord = uint8(tab), uint32(len(out.list))
			out.list = append(out.list, sym)
		}
	}
	return nil
}

// keepSymbol decides what a symbol is good for. Symbols that are undefined or
// lie outside the executable bytes are dropped, and so is the size of one that
// reaches beyond its section: whoever wrote it did not mean code.
func (f *File) keepSymbol(t *strtab, opd *opd, raw rawSym) (symbol, bool) {
	typ, bind := elf.SymType(raw.info&0xf), elf.SymBind(raw.info>>4)
	if raw.shndx == elf.SHN_UNDEF {
		return symbol{}, false
	}
	s := symbol{addr: raw.value, size: raw.size, name: raw.name, other: raw.other, bind: bindRank(bind)}
	switch {
	case typ == elf.STT_FUNC:
		s.kind = symFunc
		s.addr = opd.entry(s.addr)
		if goMarker(t, raw.name) {
			s.kind = symData
		}
	case typ == elf.STT_GNU_IFUNC:
		s.kind = symIFunc
		s.addr = opd.entry(s.addr)
	case typ == elf.STT_NOTYPE && f.mapping(t, raw.name, "$d"):
		s.kind, s.size = symMapData, 0
	case typ == elf.STT_NOTYPE && f.mapping(t, raw.name, "$x"):
		s.kind, s.size = symMapCode, 0
	case typ == elf.STT_NOTYPE && bind != elf.STB_LOCAL:
		s.kind, s.size = symLabel, 0
	default:
		return symbol{}, false
	}
	if f.sectionAt(VAddr(s.addr)) == nil {
		return symbol{}, false
	}
	if s.size != 0 && !f.inCode(s.addr, s.size) {
		s.size = 0
	}
	return s, true
}

// goMarkers are what Go's linker calls functions but are none: the build id in
// front of the code (up to Go 1.24), and the one-byte bounds of the FIPS module.
var goMarkers = [...]string{"go:buildid", "go.buildid", "go:textfipsstart", "go:textfipsend"}

func goMarker(t *strtab, off uint32) bool {
	for _, m := range goMarkers {
		if t.is(off, m) {
			return true
		}
	}
	return false
}

// mapping reports whether a name is the mapping symbol want, alone or followed by
// a dot and anything ("ELF for the Arm 64-bit Architecture", section "Mapping
// symbols"; RISC-V psABI likewise, where an ISA string may follow $x).
func (f *File) mapping(t *strtab, off uint32, want string) bool {
	if f.Arch != "arm64" && f.Arch != "riscv64" {
		return false
	}
	end := uint64(off) + uint64(len(want))
	if end >= uint64(len(t.b)) || string(t.b[off:end]) != want {
		return false
	}
	next := t.b[end]
	return next == 0 || next == '.' || f.Arch == "riscv64" && want == "$x"
}

func bindRank(b elf.SymBind) uint8 {
	switch b {
	case elf.STB_LOCAL:
		return 2
	case elf.STB_WEAK:
		return 1
	}
	return 0
}

// Symbol is a function symbol as the file has it, aliases included.
type Symbol struct {
	Name  string
	Addr  VAddr  // of the code, also where the symbol itself names a descriptor
	Size  uint64 // bytes; 0: not stated
	IFunc bool   // the code is a resolver that the loader calls to choose the function
	Local bool   // STB_LOCAL: names of several may be equal
}

// Symbols yields every function symbol that lies in executable bytes, .symtab
// before .dynsym, each in the file's order. Many name the same address.
func (f *File) Symbols() iter.Seq2[Symbol, error] {
	return func(yield func(Symbol, error) bool) {
		syms, err := f.symbols()
		if err != nil {
			yield(Symbol{}, err)
			return
		}
		tabs := [2]strtab{newStrtab(syms.tabs[0].b), newStrtab(syms.tabs[1].b)}
		for _, s := range syms.list {
			if s.kind != symFunc && s.kind != symIFunc {
				continue
			}
			name, ok := tabs[s.tab].at(s.name)
			if !ok {
				yield(Symbol{}, f.fail(ErrMalformed, "symbol names overlap without end"))
				return
			}
			if !yield(Symbol{name, VAddr(s.addr), s.size, s.kind == symIFunc, s.bind == 2}, nil) {
				return
			}
		}
	}
}

// labels returns the symbols that can name an address, by address, the best
// name for an address first.
func (s *symbols) labels() []symbol {
	out := make([]symbol, 0, len(s.list))
	for _, sym := range s.list {
		if sym.kind <= symLabel {
			out = append(out, sym)
		}
	}
	sortByAddr(out, func(s *symbol) uint64 { return s.addr }, func(a, b symbol) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.bind, b.bind), cmp.Compare(a.ord, b.ord))
	})
	return out
}
