package fixups

import (
	"fmt"
	"math/bits"
)

// The rules of runs, starts, sites and gaps.

func (c *checker) runs() error {
	var body, entries, end uint64
	for i := range c.count(secRuns) {
		r, at := c.v.runFields(i)
		align := c.v.mask
		starts, sites, text := r.sizes(c.v.shift)
		switch {
		case r.size == 0 || (r.addr|uint64(r.size))&align != 0 || r.addr+uint64(r.size)-1 < r.addr || i > 0 && (end == 0 || r.addr < end):
			return c.fail(secRuns, i, "address %#x, size %d: %w", r.addr, r.size, errRange)
		case uint64(r.name) >= uint64(len(c.v.strings)):
			return c.fail(secRuns, i, "function name: %w", errRange)
		case r.flags > binInFile || r.flags == 0 && r.offset != 0 || !zero(c.item(secRuns, i)[52:]):
			return c.fail(secRuns, i, "flags: %w", errRange)
		case at != body || starts+sites+text > uint64(c.count(secBody))-body:
			return c.fail(secRuns, i, "body: %w", errRange)
		}
		c.v.pieces(&r, at)
		if !zero(c.v.sec[secBody][body+starts+sites:][r.size:text]) {
			return c.fail(secRuns, i, "padding behind the text")
		}
		if err := c.run(i, &r); err != nil {
			return err
		}
		body += starts + sites + text
		entries, end = entries+uint64(r.entries), r.addr+uint64(r.size)
	}
	if body != uint64(c.count(secBody)) {
		return headerError(c.end+binEnd+16, "a body behind that of the last run")
	}
	if counted := le.Uint64(c.data[c.end+32:]); entries != counted {
		return headerError(c.end+32, "%d entries, counted %d", counted, entries)
	}
	c.v.entries = int(entries)
	return nil
}

// run walks the instructions of run i and its sites side by side.
func (c *checker) run(i int, r *runView) error {
	size := uint64(r.size)
	site, count, prev := uint32(0), uint32(0), uint64(0)
	if r.starts[0]&1 == 0 {
		return c.fail(secRuns, i, "no instruction at its start")
	}
	// The bit at the end of the run closes the last instruction.
	for w := range r.words() {
		for word := r.word(w); word != 0; word &= word - 1 {
			off := (w<<6 + uint64(bits.TrailingZeros64(word))) << c.v.shift
			if off >= size {
				return c.fail(secRuns, i, "an instruction at %d, behind its end", off)
			}
			if count > 0 {
				if err := c.insn(i, r, prev, off, &site); err != nil {
					return err
				}
			}
			prev = off
			count++
		}
	}
	if err := c.insn(i, r, prev, size, &site); err != nil {
		return err
	}
	if site != r.nsites {
		return c.failSite(i, int(site), "no instruction starts there")
	}
	if count != r.entries {
		return c.fail(secRuns, i, "%d entries, counted %d", r.entries, count)
	}
	return nil
}

// failSite makes the error for a site of run i.
func (c *checker) failSite(i, site int, format string, args ...any) error {
	r, at := c.v.runFields(i)
	starts, _, _ := r.sizes(c.v.shift)
	return &FormatError{Offset: c.off[secBody] + int(at+starts) + site*binSite, What: fmt.Sprintf("site[%d] of runs[%d]", site, i), Err: fmt.Errorf(format, args...)}
}

// insn checks the instruction from off to end of run i. site is the number of
// the next site.
func (c *checker) insn(i int, r *runView, off, end uint64, site *uint32) error {
	n := end - off
	if n > 255 {
		return c.fail(secRuns, i, "an instruction of %d bytes at %d", n, off)
	}
	if *site < r.nsites && uint64(r.siteOff(int(*site))) == off {
		id := le.Uint32(r.sites[binSite*int(*site)+4:])
		if uint64(id) >= uint64(c.count(secShapes)) || uint64(c.item(secShapes, int(id))[1]) != n {
			return c.failSite(i, int(*site), "shape %d is not one of %d bytes", id, n)
		}
		*site++
		return nil
	}
	if n >= uint64(c.count(secPlain)) || le.Uint32(c.item(secPlain, int(n))) == binNone {
		return c.fail(secRuns, i, "a plain instruction of %d bytes at %d, and no shape for it", n, off)
	}
	return nil
}

func (c *checker) gaps() error {
	var end uint64
	for i := range c.count(secGaps) {
		b := c.item(secGaps, i)
		addr, size := le.Uint64(b), le.Uint64(b[8:])
		if size == 0 || addr+size-1 < addr || i > 0 && (end == 0 || addr < end) {
			return c.fail(secGaps, i, "address %#x, size %d: %w", addr, size, errRange)
		}
		end = addr + size
	}
	return nil
}
