package objfile

import (
	"cmp"
	"slices"
	"strings"
)

// Entry is an address at which a function is entered.
type Entry struct {
	Name string // empty if the file does not say
	Addr VAddr  // where a probe that is to see every call belongs

	// Global is where the function is entered from other objects. It differs from
	// Addr only in 64-bit Power's second ABI, where code that sets up r2 stands in
	// front of the local entry, and calls inside an object skip it. Only symbols
	// tell the distance: without one both are the start of the range.
	Global VAddr
}

// Entries returns where functions are entered, by address: the start of each of
// [File.Funcs] and each function symbol inside one (nested, of another size or
// without size). Left out are stretches known to be parts ([Func.Part]), linkage
// sections, and symbols in data or outside every function. In a stripped file
// some split-off parts cannot be told from functions and are included. The slice
// is shared and must not be changed.
func (f *File) Entries() ([]Entry, error) { return f.entries() }

func (f *File) findEntries() ([]Entry, error) {
	funcs, err := f.funcs()
	if err != nil {
		return nil, err
	}
	syms, err := f.symbols()
	if err != nil {
		return nil, err
	}
	data, err := f.data()
	if err != nil {
		return nil, err
	}
	out, err := f.entrySymbols(syms, data)
	if err != nil {
		return nil, err
	}
	for _, fn := range funcs {
		if !fn.Part && !f.sectionAt(fn.Addr).PLT && !inRanges(data, fn.Addr) {
			out = append(out, Entry{fn.Name, fn.Addr, fn.Addr})
		}
	}
	// A symbol knows the local entry, so it goes before a bare range.
	slices.SortStableFunc(out, func(a, b Entry) int { return cmp.Compare(a.Global, b.Global) })
	out = slices.CompactFunc(out, func(a, b Entry) bool { return a.Global == b.Global })
	slices.SortStableFunc(out, func(a, b Entry) int { return cmp.Compare(a.Addr, b.Addr) })
	return slices.Clip(out), nil
}

// entrySymbols returns the entries that function symbols state, best symbol
// first where several name one address.
func (f *File) entrySymbols(syms *symbols, data []Range) ([]Entry, error) {
	tabs := [2]strtab{newStrtab(syms.tabs[0].b), newStrtab(syms.tabs[1].b)}
	var out []Entry
	for _, s := range syms.labels() {
		if s.kind > symIFunc || inRanges(data, VAddr(s.addr)) {
			continue
		}
		if n := len(out); n > 0 && uint64(out[n-1].Global) == s.addr {
			continue
		}
		if _, err := f.FuncAt(VAddr(s.addr)); err != nil {
			continue
		}
		name, ok := tabs[s.tab].at(s.name)
		if !ok {
			return nil, f.fail(ErrMalformed, "symbol names overlap without end")
		}
		if !isPart(name) {
			out = append(out, Entry{name, VAddr(s.addr + f.localEntry(s.other)), VAddr(s.addr)})
		}
	}
	return out, nil
}

// isPart reports whether a name is one that GCC and LLVM give to the seldom
// executed half of a function, which is jumped to: f.cold, f.cold.12.
func isPart(name string) bool {
	if !strings.Contains(name, ".cold") { // as nearly all do not
		return false
	}
	i := strings.LastIndex(name, ".cold")
	if i <= 0 {
		return false
	}
	rest := name[i+len(".cold"):]
	return rest == "" || rest[0] == '.' && strings.Trim(rest[1:], "0123456789") == ""
}
