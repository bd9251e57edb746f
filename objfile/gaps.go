package objfile

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// Gap is a run of executable bytes of which it is not known that they are
// instructions: padding, data in text, or code that no table describes.
type Gap struct {
	Range
	Section string // name of the executable section
	Data    bool   // the file says that it is data (AArch64 and RISC-V mapping symbols, tables in Power's functions)
}

// Gaps returns the executable bytes that no function covers, and the data inside
// functions, by address. Together with [File.Code] of every function they are
// all executable bytes, each once. Nothing is guessed from the bytes themselves, but
// in functions of 64-bit Power the tables of compilers are told by their form.
func (f *File) Gaps() ([]Gap, error) {
	funcs, err := f.funcs()
	if err != nil {
		return nil, err
	}
	data, err := f.inside()
	if err != nil {
		return nil, err
	}
	var out []Gap
	for _, s := range f.Sections {
		gaps := f.gapsIn(s, funcs)
		if len(data) == 0 {
			if out == nil {
				out = gaps
			} else {
				out = append(out, gaps...)
			}
			continue
		}
		for _, g := range gaps {
			out = appendGaps(out, g, data)
		}
	}
	if len(data) == 0 {
		return out, nil // by section, and so by address
	}
	for _, fn := range funcs {
		sec := f.sectionAt(fn.Addr)
		for r := range overlaps(data, fn.Range()) {
			out = append(out, Gap{r, sec.Name, true})
		}
	}
	slices.SortFunc(out, func(a, b Gap) int { return cmp.Compare(a.Addr, b.Addr) })
	return out, nil
}

// gapsIn returns what no function of a section covers.
func (f *File) gapsIn(s Section, funcs []Func) []Gap {
	at := sort.Search(len(funcs), func(i int) bool { return funcs[i].Range().End() > s.Addr })
	end := at + sort.Search(len(funcs)-at, func(i int) bool { return funcs[at+i].Addr >= s.Range().End() })
	ranges := make([]Range, 0, end-at+1)
	ranges = appendUncovered(ranges, candidate{addr: uint64(s.Addr), size: s.Size}, funcs, at)
	out := make([]Gap, len(ranges))
	for i, r := range ranges {
		out[i] = Gap{r, s.Name, false}
	}
	return out
}

// appendGaps splits a gap at the bounds of the data in it.
func appendGaps(out []Gap, g Gap, data []Range) []Gap {
	pos := g.Addr
	for r := range overlaps(data, g.Range) {
		if r.Addr > pos {
			out = append(out, Gap{Range{pos, uint64(r.Addr - pos)}, g.Section, false})
		}
		out = append(out, Gap{r, g.Section, true})
		pos = r.End()
	}
	if end := g.End(); pos < end {
		out = append(out, Gap{Range{pos, uint64(end - pos)}, g.Section, false})
	}
	return out
}

// Code yields the instructions' ranges of a function: all of it but the data in
// it. On x86, whose files do not mark data, it yields the function whole, on 64-bit
// Power all but its traceback table and jump tables. Each range begins at an instruction.
func (f *File) Code(fn Func) iter.Seq[Range] {
	return func(yield func(Range) bool) {
		data, err := f.inside()
		if err != nil {
			return // then Gaps fails too, and fn is not one of its functions
		}
		pos := fn.Addr
		for r := range overlaps(data, fn.Range()) {
			if r.Addr > pos && !yield(Range{pos, uint64(r.Addr - pos)}) {
				return
			}
			pos = r.End()
		}
		if end := fn.Range().End(); pos < end {
			yield(Range{pos, uint64(end - pos)})
		}
	}
}

// findData computes the data in executable sections: from each data mapping
// symbol to the next mapping symbol or the section's end, and what Go's linker
// puts into the text. Ranges are sorted and disjoint.
func (f *File) findData() ([]Range, error) {
	syms, err := f.symbols()
	if err != nil {
		return nil, err
	}
	var marks []symbol
	var out []Range
	for _, s := range syms.list {
		switch {
		case s.kind == symMapCode || s.kind == symMapData:
			marks = append(marks, s)
		case s.kind == symData && s.size != 0:
			out = append(out, Range{VAddr(s.addr), s.size})
		}
	}
	// Of two marks at one address the later in the table holds: it is the state
	// that the assembler ended up in.
	slices.SortFunc(marks, func(a, b symbol) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.ord, b.ord))
	})
	for i, m := range marks {
		end := uint64(f.sectionAt(VAddr(m.addr)).Range().End())
		if i+1 < len(marks) {
			end = min(end, marks[i+1].addr)
		}
		if m.kind == symMapData && end > m.addr {
			out = append(out, Range{VAddr(m.addr), end - m.addr})
		}
	}
	return union(out), nil
}

// findInside computes the data that [File.Code] leaves out.
func (f *File) findInside() ([]Range, error) {
	data, err := f.data()
	if err != nil {
		return nil, err
	}
	power, err := f.findPower()
	if len(power) == 0 || err != nil {
		return data, err
	}
	return union(slices.Concat(data, power)), nil
}

// union sorts ranges and joins those that touch or overlap.
func union(list []Range) []Range {
	slices.SortFunc(list, func(a, b Range) int { return cmp.Compare(a.Addr, b.Addr) })
	out := list[:0]
	for _, r := range list {
		if n := len(out); n > 0 && r.Addr <= out[n-1].End() {
			if r.End() > out[n-1].End() {
				out[n-1].Size = uint64(r.End() - out[n-1].Addr)
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

// overlaps yields the parts of within that the sorted, disjoint ranges cover.
func overlaps(ranges []Range, within Range) iter.Seq[Range] {
	return func(yield func(Range) bool) {
		i := sort.Search(len(ranges), func(i int) bool { return ranges[i].End() > within.Addr })
		for ; i < len(ranges) && ranges[i].Addr < within.End(); i++ {
			lo, hi := max(ranges[i].Addr, within.Addr), min(ranges[i].End(), within.End())
			if !yield(Range{lo, uint64(hi - lo)}) {
				return
			}
		}
	}
}

func inRanges(ranges []Range, a VAddr) bool {
	i := sort.Search(len(ranges), func(i int) bool { return ranges[i].End() > a })
	return i < len(ranges) && ranges[i].Addr <= a
}
