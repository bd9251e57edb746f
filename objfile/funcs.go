package objfile

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// Source says what the bounds of a function were read from.
type Source uint8

// The sources, best first.
const (
	FromSymbol  Source = iota + 1 // a function symbol with a size
	FromEHFrame                   // a frame description entry of .eh_frame
	FromPclntab                   // Go's table of functions
)

var sourceNames = [...]string{FromSymbol: "symbol", FromEHFrame: "eh_frame", FromPclntab: "pclntab"}

// String returns symbol, eh_frame or pclntab.
func (s Source) String() string {
	if s == 0 || int(s) >= len(sourceNames) {
		return fmt.Sprintf("Source(%d)", uint8(s))
	}
	return sourceNames[s]
}

// MarshalText writes what String returns.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Source) UnmarshalText(b []byte) error {
	for i, n := range sourceNames {
		if n != "" && n == string(b) {
			*s = Source(i)
			return nil
		}
	}
	return fmt.Errorf("objfile: unknown source %q", b)
}

// Func is one stretch of code with known bounds.
type Func struct {
	Name   string // as in the file, not demangled; empty if the file does not say
	Addr   VAddr
	Size   uint64 // bytes, not 0
	Source Source
	IFunc  bool // the code is a resolver that the loader calls to choose the function
	Part   bool // surely not entered as a function is: a split-off part or a linkage stub
}

// Range returns the function's addresses.
func (fn Func) Range() Range { return Range{fn.Addr, fn.Size} }

// Funcs returns the known stretches of code: sorted, disjoint, each inside one
// executable section. The slice is shared and must not be changed.
//
// Three sources are merged. Sized function symbols of .symtab and .dynsym come
// first. What they leave uncovered is filled from .eh_frame, in pieces if need
// be. The rest is filled from Go's pclntab, but only with ranges whose start is
// still uncovered, and only if the address that its entries count from is certain:
// runtime.moduledata must be found and agree with it. A damaged table is an error, not an absence.
//
// Within a source, ranges that overlap are made disjoint so that every boundary
// remains one that the file states:
//   - of several that start together the longest stays; of equals the global one,
//     then the weak one, then the first in the file (the others are aliases, see
//     [File.Symbols]);
//   - one nested in another is dropped; if it is a symbol it remains an entry of
//     the outer one, see [File.Entries];
//   - one that begins inside another and ends behind it cuts the other short.
//
// A symbol without size has an address but no bounds, so it makes no range; but
// it names one that another source begins at that address, and it is an entry.
// Symbols and frame entries that leave their section are not believed, nor are
// frame entries of signal trampolines (augmentation S), which begin a byte early:
// without a symbol a trampoline is a gap.
func (f *File) Funcs() ([]Func, error) { return f.funcs() }

// FuncAt returns the function that covers a, or [ErrNotFound].
func (f *File) FuncAt(a VAddr) (Func, error) {
	funcs, err := f.funcs()
	if err != nil {
		return Func{}, err
	}
	i := sort.Search(len(funcs), func(i int) bool { return funcs[i].Addr > a }) - 1
	if i < 0 || !funcs[i].Range().Contains(a) {
		return Func{}, f.fail(ErrNotFound, "address %#x lies in no known function", uint64(a))
	}
	return funcs[i], nil
}

// Lookup returns the functions of that name, by address: those of [File.Funcs]
// that carry it, and those that a symbol of that name points into (aliases, inner
// entries). Local symbols make several possible. None is [ErrNotFound].
func (f *File) Lookup(name string) ([]Func, error) {
	funcs, err := f.funcs()
	if err != nil {
		return nil, err
	}
	syms, err := f.symbols()
	if err != nil {
		return nil, err
	}
	var out []Func
	for _, fn := range funcs {
		if fn.Name == name && name != "" {
			out = append(out, fn)
		}
	}
	for _, s := range syms.list {
		if s.kind <= symIFunc && name != "" && syms.tabs[s.tab].is(s.name, name) {
			if fn, err := f.FuncAt(VAddr(s.addr)); err == nil {
				out = append(out, fn)
			}
		}
	}
	if len(out) == 0 {
		return nil, f.fail(ErrNotFound, "no function is named %q", name)
	}
	slices.SortFunc(out, func(a, b Func) int { return cmp.Compare(a.Addr, b.Addr) })
	return slices.CompactFunc(out, func(a, b Func) bool { return a.Addr == b.Addr }), nil
}

// candidate is a range that a source proposes.
type candidate struct {
	addr, size uint64
	ord        uint32 // position in its source
	rank       uint8  // of equals the lower wins
	part       bool
	signal     bool // the frame of a signal handler's caller
}

func (c candidate) end() uint64 { return c.addr + c.size } // at most 2^64-1: inside a section

// disjoint sorts candidates and resolves overlaps as Funcs says.
func disjoint(list []candidate) []candidate {
	sortByAddr(list, func(c *candidate) uint64 { return c.addr }, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.rank, b.rank), cmp.Compare(a.ord, b.ord))
	})
	out := list[:0]
	for _, c := range list {
		if n := len(out); n > 0 && c.addr < out[n-1].end() {
			last := &out[n-1]
			if c.addr == last.addr || c.end() <= last.end() {
				continue
			}
			last.size = c.addr - last.addr
		}
		out = append(out, c)
	}
	return out
}

// appendUncovered appends the pieces of c that no function of funcs covers; funcs
// is sorted and disjoint, and at is the first that ends behind c.addr.
func appendUncovered(dst []Range, c candidate, funcs []Func, at int) []Range {
	pos := c.addr
	for ; at < len(funcs) && uint64(funcs[at].Addr) < c.end(); at++ {
		if start := uint64(funcs[at].Addr); start > pos {
			dst = append(dst, Range{VAddr(pos), start - pos})
		}
		pos = uint64(funcs[at].Range().End())
	}
	if pos < c.end() {
		dst = append(dst, Range{VAddr(pos), c.end() - pos})
	}
	return dst
}

// fill adds what the candidates cover and funcs does not, as far as keep makes
// functions of it. The result is sorted.
func fill(funcs []Func, list []candidate, keep func(c candidate, piece Range) (Func, bool)) []Func {
	added := make([]Func, 0, max(0, len(list)-len(funcs)))
	var pieces []Range
	at := 0
	for _, c := range disjoint(list) {
		for at < len(funcs) && uint64(funcs[at].Range().End()) <= c.addr {
			at++
		}
		pieces = appendUncovered(pieces[:0], c, funcs, at)
		for _, piece := range pieces {
			if fn, ok := keep(c, piece); ok {
				added = append(added, fn)
			}
		}
	}
	return mergeFuncs(funcs, added)
}

// mergeFuncs merges two sorted lists that are disjoint.
func mergeFuncs(a, b []Func) []Func {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return b
	}
	out := make([]Func, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		from := &a
		if b[0].Addr < a[0].Addr {
			from = &b
		}
		out = append(out, (*from)[0])
		*from = (*from)[1:]
	}
	return append(append(out, a...), b...)
}

// findFuncs computes Funcs.
func (f *File) findFuncs() ([]Func, error) {
	syms, err := f.symbols()
	if err != nil {
		return nil, err
	}
	data, err := f.data()
	if err != nil {
		return nil, err
	}
	n := &namer{f: f, syms: syms, tabs: syms.tabs, data: data}
	funcs := n.fromSymbols()
	frames, err := f.frameRanges()
	if err != nil {
		return nil, err
	}
	// Unwinders look a return address up by the byte before it, and nothing calls
	// a signal trampoline. So its entry begins a byte early by convention, inside
	// whatever is there: no place to begin decoding at.
	frames = slices.DeleteFunc(frames, func(c candidate) bool { return c.signal })
	funcs = fill(funcs, frames, n.fromFrame)
	table, err := f.goTable()
	if err != nil {
		return nil, err
	}
	if table != nil {
		funcs = fill(funcs, table.list, func(c candidate, piece Range) (Func, bool) {
			if uint64(piece.Addr) != c.addr || inRanges(data, piece.Addr) {
				return Func{}, false
			}
			name, ok := table.names.at(uint32(table.nameOff[c.ord]))
			n.spent = n.spent || !ok
			return Func{Name: name, Addr: piece.Addr, Size: piece.Size, Source: FromPclntab}, true
		})
	}
	if n.spent {
		return nil, f.fail(ErrMalformed, "symbol names overlap without end")
	}
	return slices.Clip(funcs), nil
}

// namer turns candidates into named functions.
type namer struct {
	f      *File
	syms   *symbols
	tabs   [2]strtab // with a budget of their own
	data   []Range
	labels []symbol
	label  int // the first that does not lie before the last piece
	sorted bool
	spent  bool // a string table's budget is spent
}

func (n *namer) name(s symbol) string {
	name, ok := n.tabs[s.tab].at(s.name)
	n.spent = n.spent || !ok
	if !ok {
		return ""
	}
	return name
}

// fromSymbols makes the functions that sized symbols state.
func (n *namer) fromSymbols() []Func {
	list := make([]candidate, 0, len(n.syms.list))
	for i, s := range n.syms.list {
		if s.kind <= symIFunc && s.size != 0 && !inRanges(n.data, VAddr(s.addr)) {
			list = append(list, candidate{addr: s.addr, size: s.size, ord: uint32(i), rank: s.bind})
		}
	}
	list = disjoint(list)
	funcs := make([]Func, 0, len(list))
	for _, c := range list {
		s := n.syms.list[c.ord]
		name := n.name(s)
		funcs = append(funcs, Func{name, VAddr(c.addr), c.size, FromSymbol, s.kind == symIFunc, isPart(name)})
	}
	return funcs
}

// fromFrame makes a function of a piece of a frame description entry, named by
// what label there is at its start.
func (n *namer) fromFrame(c candidate, piece Range) (Func, bool) {
	if inRanges(n.data, piece.Addr) {
		return Func{}, false
	}
	if !n.sorted {
		n.labels, n.sorted = n.syms.labels(), true
	}
	fn := Func{Addr: piece.Addr, Size: piece.Size, Source: FromEHFrame}
	// Pieces come in the order of their addresses.
	for n.label < len(n.labels) && n.labels[n.label].addr < uint64(piece.Addr) {
		n.label++
	}
	if n.label < len(n.labels) && n.labels[n.label].addr == uint64(piece.Addr) {
		fn.Name = n.name(n.labels[n.label])
	}
	fn.Part = c.part && uint64(piece.Addr) == c.addr || isPart(fn.Name)
	return fn, true
}
