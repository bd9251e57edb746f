package objfile

import (
	"bytes"
	"fmt"
	"iter"
)

// Probe is a static probe site: a nop in the code and a note that says where it
// is (SystemTap's sys/sdt.h, "User Space Probe Implementation").
type Probe struct {
	Provider string
	Name     string // one name may have many sites
	Args     string // as in the note: "size@operand" in assembler syntax, space-separated

	PC     VAddr      // the site
	Offset FileOffset // of the site

	// Semaphore is a 16-bit counter that the program reads to see whether anyone
	// listens; 0 means that there is none. RefCtrOffset is its place in the file,
	// as perf_event_open wants it.
	Semaphore    VAddr
	RefCtrOffset FileOffset

	Nop  int    // length of the nop at the site in bytes; 0: something else stands there
	Site []byte // the bytes at the site, up to 16, fewer where the section ends
}

const noteSDT = 3 // type of a "stapsdt" note

// SDT yields the static probes of .note.stapsdt in the file's order. A site
// outside executable code or a semaphore outside the file is an error; a site
// that is not a nop is not (see [Probe]). An error ends the walk.
func (f *File) SDT() iter.Seq2[Probe, error] {
	return func(yield func(Probe, error) bool) {
		budget := f.size
		for i := range f.shdrs {
			s := &f.shdrs[i]
			if s.name != ".note.stapsdt" {
				continue
			}
			if s.size > budget {
				yield(Probe{}, f.fail(ErrMalformed, "sections .note.stapsdt are larger than the file"))
				return
			}
			budget -= s.size
			if !f.sdtSection(s, yield) {
				return
			}
		}
	}
}

// sdtSection yields the probes of one section; false means stop.
func (f *File) sdtSection(s *shdr, yield func(Probe, error) bool) bool {
	if s.size > maxNotes {
		yield(Probe{}, f.fail(ErrTooLarge, ".note.stapsdt of %d bytes", s.size))
		return false
	}
	b, err := f.read(s.off, s.size, ".note.stapsdt")
	if err != nil {
		yield(Probe{}, err)
		return false
	}
	stopped := false
	whole := f.lay.forNotes(b, func(n note) bool {
		if n.owner != "stapsdt" || n.typ != noteSDT {
			return true
		}
		p, err := f.probe(n.desc)
		stopped = !yield(p, err) || err != nil
		return !stopped
	})
	if !stopped && !whole {
		yield(Probe{}, f.fail(ErrMalformed, ".note.stapsdt: a note does not fit"))
		return false
	}
	return !stopped
}

// probe parses a descriptor: the addresses of site, base and semaphore, then
// provider, name and arguments, each up to its NUL. The base is where the linker
// had placed the section .stapsdt.base when it resolved the addresses; if a tool
// has moved that since (prelink), the others moved along.
func (f *File) probe(desc []byte) (Probe, error) {
	w := f.lay.wordSize()
	if len(desc) < 3*w {
		return Probe{}, f.fail(ErrMalformed, ".note.stapsdt: descriptor of %d bytes", len(desc))
	}
	pc, base, sem := f.lay.word(desc), f.lay.word(desc[w:]), f.lay.word(desc[2*w:])
	parts := bytes.SplitN(desc[3*w:], []byte{0}, 4)
	if len(parts) < 4 {
		return Probe{}, f.fail(ErrMalformed, ".note.stapsdt: descriptor without its three strings")
	}
	p := Probe{Provider: string(parts[0]), Name: string(parts[1]), Args: string(parts[2])}
	if s := f.section(".stapsdt.base"); s != nil && base != 0 {
		pc += s.addr - base
		if sem != 0 {
			sem += s.addr - base
		}
	}
	p.PC, p.Semaphore = VAddr(pc&f.lay.maxAddr()), VAddr(sem&f.lay.maxAddr())
	return p, f.placeProbe(&p)
}

// placeProbe looks at what the probe points to.
func (f *File) placeProbe(p *Probe) error {
	name := fmt.Sprintf("probe %.64q:%.64q", p.Provider, p.Name)
	var err error
	if p.Offset, err = f.OffsetOf(p.PC); err != nil || f.sectionAt(p.PC) == nil {
		return f.fail(ErrMalformed, "%s: site %#x is not code", name, uint64(p.PC))
	}
	if p.Semaphore != 0 {
		if p.RefCtrOffset, err = f.OffsetOf(p.Semaphore); err != nil {
			return f.fail(ErrMalformed, "%s: semaphore %#x is not in the file", name, uint64(p.Semaphore))
		}
	}
	buf := make([]byte, 16)
	n, err := f.ReadCode(buf, p.PC)
	if err != nil {
		return err
	}
	p.Site = buf[:n]
	p.Nop = f.nopLen(p.Site)
	return nil
}

// nopLen returns the length of the nop that b starts with, or 0.
func (f *File) nopLen(b []byte) int {
	fixed := map[string]string{
		"arm64":   "\x1f\x20\x03\xd5",
		"ppc64":   "\x60\x00\x00\x00",
		"ppc64le": "\x00\x00\x00\x60",
		"riscv64": "\x13\x00\x00\x00",
	}
	switch {
	case f.Arch == "amd64" || f.Arch == "386":
		return nopLenX86(b)
	case f.Arch == "riscv64" && bytes.HasPrefix(b, []byte("\x01\x00")): // c.nop
		return 2
	case fixed[f.Arch] != "" && bytes.HasPrefix(b, []byte(fixed[f.Arch])):
		return 4
	}
	return 0
}

// nopLenX86 measures the nops that assemblers emit: 90 and 0F 1F /0 with a memory
// or register operand, behind any number of 66 and one 2E (Intel SDM volume 2,
// NOP, and the recommended multi-byte sequences). F3 90 is pause and no nop.
func nopLenX86(b []byte) int {
	n := 0
	for n < len(b) && n < 14 && (b[n] == 0x66 || b[n] == 0x2e) {
		n++
	}
	if n < len(b) && b[n] == 0x90 {
		return n + 1
	}
	if n+2 >= len(b) || b[n] != 0x0f || b[n+1] != 0x1f || b[n+2]&0x38 != 0 {
		return 0
	}
	modrm := b[n+2]
	n += 3
	mod, rm := modrm>>6, modrm&7
	if mod != 3 && rm == 4 { // a SIB byte
		if n >= len(b) {
			return 0
		}
		if mod == 0 && b[n]&7 == 5 {
			n += 4
		}
		n++
	}
	switch {
	case mod == 1:
		n++
	case mod == 2 || mod == 0 && rm == 5:
		n += 4
	}
	if n > len(b) || n > 15 {
		return 0
	}
	return n
}
