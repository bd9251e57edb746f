package relocgen

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// siteEncoder writes a table piece by piece. site may be called from several
// goroutines at once if parallel says so.
type siteEncoder interface {
	begin(dst []byte) []byte
	site(dst []byte, e *fixups.Entry) []byte
	end(dst []byte, gaps []fixups.Range) []byte
	// first takes what separates sites off the front of the first site.
	first(sites []byte) []byte
	parallel() bool
}

func newEncoder(f format, a reloc.Arch, t *fixups.Table, colour bool) siteEncoder {
	switch f {
	case formatJSON:
		return &jsonEncoder{arch: a, meta: t}
	case formatJSONL:
		return &jsonEncoder{arch: a, meta: t, lines: true}
	case formatCount:
		return &countEncoder{arch: a}
	}
	return &textEncoder{arch: a, paint: painter(colour)}
}

// jsonEncoder writes the document or, with lines, one object a line.
type jsonEncoder struct {
	arch  reloc.Arch
	meta  *fixups.Table
	lines bool
}

func (j *jsonEncoder) parallel() bool { return true }

func (j *jsonEncoder) begin(dst []byte) []byte {
	if j.lines {
		return dst
	}
	return append(j.meta.AppendJSONHead(dst), '\n')
}

func (j *jsonEncoder) site(dst []byte, e *fixups.Entry) []byte {
	if !j.lines {
		dst = append(dst, ",\n"...)
	}
	dst = e.AppendJSON(dst, j.meta.Arch, j.arch.Info().Regs)
	if j.lines {
		dst = append(dst, '\n')
	}
	return dst
}

func (j *jsonEncoder) first(sites []byte) []byte {
	if j.lines {
		return sites
	}
	return sites[len(",\n"):]
}

func (j *jsonEncoder) end(dst []byte, gaps []fixups.Range) []byte {
	if j.lines {
		return dst
	}
	t := *j.meta
	t.Gaps = gaps
	return t.AppendJSONTail(dst)
}
