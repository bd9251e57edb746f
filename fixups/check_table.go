package fixups

import (
	"errors"
	"fmt"
	"strings"
)

// ErrTable means that a table contradicts itself.
var ErrTable = errors.New("fixups: malformed table")

// Check reports whether t is well formed: a layout in range; a build ID of
// lower-case hexadecimal digits; no NUL in a name; entries that [Entry.Check]
// accepts, in ascending order, that do not overlap and have as many bytes as
// their length says (fewer only where they were cut off: [ReasonTruncated]);
// gaps that are not empty, in ascending order, that do not overlap; and no
// address beyond the width of a word, which is 64 bits where the layout says
// nothing. [DecodeJSON], [DecodeJSONL] and [Table.AppendBinary] refuse what it
// refuses. The error wraps [ErrTable], [ErrPlan] or [ErrProgram].
func (t *Table) Check() error {
	if err := t.checkHead(); err != nil {
		return err
	}
	for i := range t.Entries {
		if err := t.checkSite(i); err != nil {
			return err
		}
	}
	return t.checkGaps()
}

// lastAddr is the last address that a word can name.
func (t *Table) lastAddr() uint64 {
	if t.Layout.Bits == 32 {
		return 1<<32 - 1
	}
	return ^uint64(0)
}

func (t *Table) checkHead() error {
	switch {
	case !t.Layout.valid():
		return fmt.Errorf("%w: layout %+v", ErrTable, t.Layout)
	case t.Base > t.lastAddr():
		return fmt.Errorf("%w: base %#x is no address of %d bits", ErrTable, t.Base, t.Layout.Bits)
	case strings.Trim(t.BuildID, "0123456789abcdef") != "":
		return fmt.Errorf("%w: build ID %q is not hexadecimal", ErrTable, cut(t.BuildID))
	}
	for _, s := range [...]string{t.Arch, t.File} {
		if strings.Contains(s, "\x00") {
			return fmt.Errorf("%w: NUL in name %q", ErrTable, cut(s))
		}
	}
	return nil
}

// checkSite checks entry i by itself and against the one before.
func (t *Table) checkSite(i int) error {
	e := &t.Entries[i]
	if err := e.Check(); err != nil {
		return err
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: site %#x: %s", ErrTable, e.PC, fmt.Sprintf(format, args...))
	}
	last := e.PC + uint64(max(e.Len, 1)) - 1
	switch {
	case e.Len == 0 && e.Reason == ReasonNone:
		return bad("no length")
	case len(e.Bytes) > int(e.Len) || len(e.Bytes) < int(e.Len) && e.Reason != ReasonTruncated:
		return bad("%d bytes for a length of %d", len(e.Bytes), e.Len)
	case last < e.PC || last > t.lastAddr():
		return bad("%d bytes reach beyond the last address", e.Len)
	case e.HasTarget && e.Target > t.lastAddr():
		return bad("target %#x is no address of %d bits", e.Target, t.Layout.Bits)
	case strings.Contains(e.Func, "\x00"):
		return bad("NUL in name %q", cut(e.Func))
	}
	if i == 0 {
		return nil
	}
	// The sum does not wrap: entry i-1 was checked.
	if b := &t.Entries[i-1]; e.PC <= b.PC || e.PC-b.PC < uint64(b.Len) {
		return bad("not behind the %d bytes at %#x", b.Len, b.PC)
	}
	return nil
}

func (t *Table) checkGaps() error {
	for i, g := range t.Gaps {
		last := g.Addr + g.Size - 1
		if g.Size == 0 || last < g.Addr || last > t.lastAddr() {
			return fmt.Errorf("%w: gap at %#x of %d bytes", ErrTable, g.Addr, g.Size)
		}
		if i == 0 {
			continue
		}
		if b := t.Gaps[i-1]; g.Addr <= b.Addr || g.Addr-b.Addr < b.Size {
			return fmt.Errorf("%w: gap at %#x is not behind the %d bytes at %#x", ErrTable, g.Addr, b.Size, b.Addr)
		}
	}
	return nil
}

// maxQuoted is how many bytes of an input an error repeats at most.
const maxQuoted = 60

// cut shortens s for an error message: inputs may have megabytes.
func cut(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	return s[:maxQuoted] + "..."
}
