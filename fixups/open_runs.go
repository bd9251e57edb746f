package fixups

import "math/bits"

// The rules of runs, starts, sites and gaps.

func (c *checker) runs() error {
	var text, starts, sites, entries, end uint64
	for i := range c.count(secRuns) {
		r := c.v.run(i)
		align := c.v.mask
		words := r.words(c.v.shift)
		switch {
		case r.size == 0 || (r.addr|uint64(r.size))&align != 0 || r.addr+uint64(r.size)-1 < r.addr || i > 0 && (end == 0 || r.addr < end):
			return c.fail(secRuns, i, "address %#x, size %d: %w", r.addr, r.size, errRange)
		case uint64(r.name) >= uint64(len(c.v.strings)):
			return c.fail(secRuns, i, "function name: %w", errRange)
		case r.flags > binInFile || r.flags == 0 && r.offset != 0 || !zero(c.item(secRuns, i)[60:]):
			return c.fail(secRuns, i, "flags: %w", errRange)
		case r.text != text || uint64(r.size) > uint64(c.count(secText))-text:
			return c.fail(secRuns, i, "text: %w", errRange)
		case uint64(r.starts) != starts || words > uint64(c.count(secStarts))-starts:
			return c.fail(secRuns, i, "starts: %w", errRange)
		case uint64(r.sites) != sites || uint64(r.nsites) > uint64(c.count(secSites))-sites:
			return c.fail(secRuns, i, "sites: %w", errRange)
		}
		if err := c.run(i, &r); err != nil {
			return err
		}
		text, starts, sites = text+uint64(r.size), starts+words, sites+uint64(r.nsites)
		entries, end = entries+uint64(r.entries), r.addr+uint64(r.size)
	}
	if text != uint64(c.count(secText)) || starts != uint64(c.count(secStarts)) || sites != uint64(c.count(secSites)) {
		return headerError(binHeader, "text, starts or sites behind the last run")
	}
	if entries != le.Uint64(c.data[56:]) {
		return headerError(56, "%d entries, counted %d", le.Uint64(c.data[56:]), entries)
	}
	c.v.entries = int(entries)
	return nil
}

// run walks the instructions of run i and its sites side by side.
func (c *checker) run(i int, r *runView) error {
	v := c.v
	size := uint64(r.size)
	site, last := r.sites, r.sites+r.nsites
	count, prev := uint32(0), uint64(0)
	starts := v.sec[secStarts][8*uint64(r.starts):]
	if starts[0]&1 == 0 {
		return c.fail(secRuns, i, "no instruction at its start")
	}
	// The bit at the end of the run closes the last instruction.
	for w := range r.words(v.shift) {
		for word := le.Uint64(starts[8*w:]); word != 0; word &= word - 1 {
			off := (w<<6 + uint64(bits.TrailingZeros64(word))) << v.shift
			if off >= size {
				return c.fail(secRuns, i, "an instruction at %d, behind its end", off)
			}
			if count > 0 {
				if err := c.insn(i, prev, off, &site, last); err != nil {
					return err
				}
			}
			prev = off
			count++
		}
	}
	if err := c.insn(i, prev, size, &site, last); err != nil {
		return err
	}
	if site != last {
		return c.fail(secSites, int(site), "no instruction starts there")
	}
	if count != r.entries {
		return c.fail(secRuns, i, "%d entries, counted %d", r.entries, count)
	}
	return nil
}

// insn checks the instruction from off to end of run i. site is the number of
// the next site, last the first of the next run.
func (c *checker) insn(i int, off, end uint64, site *uint32, last uint32) error {
	n := end - off
	if n > 255 {
		return c.fail(secRuns, i, "an instruction of %d bytes at %d", n, off)
	}
	if *site < last {
		b := c.item(secSites, int(*site))
		if uint64(le.Uint32(b)) == off {
			id := le.Uint32(b[4:])
			if uint64(id) >= uint64(c.count(secShapes)) || uint64(c.item(secShapes, int(id))[1]) != n {
				return c.fail(secSites, int(*site), "shape %d is not one of %d bytes", id, n)
			}
			*site++
			return nil
		}
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
