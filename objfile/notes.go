package objfile

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
)

// note is one entry of a note section or segment (gABI, "Note Section").
type note struct {
	owner string
	typ   uint32
	desc  []byte
}

// maxNotes bounds a note section. Static probes are the only large ones, some
// hundred bytes each.
const maxNotes = 64 << 20

// maxOwner bounds an owner name; no known one is longer than a dozen bytes.
const maxOwner = 256

// forNotes calls fn for each note in b until fn returns false. Names and
// descriptors are padded to 4 bytes, in both classes, as every producer does.
// A note that does not fit ends the walk with false.
func (l layout) forNotes(b []byte, fn func(note) bool) bool {
	for len(b) >= 12 {
		namesz, descsz, typ := uint64(l.u32(b)), uint64(l.u32(b[4:])), l.u32(b[8:])
		b = b[12:]
		nameEnd, descEnd := align4(namesz), align4(descsz)
		if nameEnd > uint64(len(b)) {
			return false
		}
		owner := b[:min(namesz, maxOwner)]
		if n := bytes.IndexByte(owner, 0); n >= 0 {
			owner = owner[:n]
		}
		b = b[nameEnd:]
		if descsz > uint64(len(b)) {
			return false
		}
		if !fn(note{string(owner), typ, b[:descsz]}) {
			return true
		}
		b = b[min(descEnd, uint64(len(b))):] // the last one may lack its padding
	}
	return len(b) == 0 || len(bytes.Trim(b, "\x00")) == 0
}

func align4(n uint64) uint64 { return (n + 3) &^ 3 }

const noteGNUBuildID = 3 // NT_GNU_BUILD_ID

// maxBuildIDNotes bounds what is searched for the build id, in bytes over all
// note segments and sections; the notes that are loaded are a few hundred bytes.
const maxBuildIDNotes = 1 << 20

// setBuildID looks for the GNU build id in note segments, then note sections.
// A damaged note is no reason to refuse the code, so it only leaves the id empty.
func (f *File) setBuildID() error {
	budget := uint64(maxBuildIDNotes)
	look := func(off, size uint64) error {
		if f.BuildID != "" || size > budget {
			return nil
		}
		budget -= size
		b, err := f.read(off, size, "notes")
		if err != nil {
			return err
		}
		f.BuildID = f.lay.buildID(b)
		return nil
	}
	for _, p := range f.phdrs {
		if p.typ == elf.PT_NOTE {
			if err := look(p.off, p.filesz); err != nil {
				return err
			}
		}
	}
	for i := range f.shdrs {
		if s := &f.shdrs[i]; s.name == ".note.gnu.build-id" && s.typ == elf.SHT_NOTE {
			if err := look(s.off, s.size); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l layout) buildID(notes []byte) (id string) {
	l.forNotes(notes, func(n note) bool {
		if n.owner == "GNU" && n.typ == noteGNUBuildID && len(n.desc) > 0 && len(n.desc) <= 64 {
			id = hex.EncodeToString(n.desc)
		}
		return id == ""
	})
	return id
}
