//go:build linux && amd64

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/xol-go/xol/fixups"
)

// counters are what the report is made of.
type counters struct {
	objects, functions, sites int
	canStep, canEmulate       int
	refused                   map[fixups.Reason]int
	skipped                   []string
	emulated, stepped         uint64 // steps of each form
	failed                    uint64 // accesses of emulated instructions, which were stepped then
	takenBack, faults, moved  uint64
	signals, stops            uint64
	children, execs, stale    int
}

// print writes one figure a line.
func (c *counters) print(w io.Writer, images []*image, each bool, took time.Duration) {
	probes, hits := visited(images)
	fmt.Fprintf(w, "objects %d\nfunctions %d\nsites %d\nby-emulate %d\nby-step %d\n", c.objects, c.functions, c.sites, c.canEmulate, c.canStep)
	n := 0
	for _, v := range c.refused {
		n += v
	}
	fmt.Fprintf(w, "not-probed %d\n", n)
	for _, r := range slices.Sorted(maps.Keys(c.refused)) {
		fmt.Fprintf(w, "not-probed %v %d\n", r, c.refused[r])
	}
	fmt.Fprintf(w, "sites-hit %d\nhits %d\nemulated %d\nstepped %d\n", len(probes), hits, c.emulated, c.stepped)
	fmt.Fprintf(w, "emulate-failed %d\ntaken-back %d\nfaults %d\nmoved %d\n", c.failed, c.takenBack, c.faults, c.moved)
	fmt.Fprintf(w, "stops %d\nsignals %d\nchildren %d\nexecs %d\nstale %d\n", c.stops, c.signals, c.children, c.execs, c.stale)
	fmt.Fprintf(w, "hits-per-second %.0f\n", float64(hits)/max(took.Seconds(), 1e-3))
	for _, s := range c.skipped {
		fmt.Fprintf(w, "skipped %s\n", s)
	}
	if each {
		printEach(w, probes)
	}
}

// visited returns the probes that were hit, and how often in all.
func visited(images []*image) (list []*probe, hits uint64) {
	for _, m := range images {
		for _, p := range m.probes {
			if p.hits > 0 {
				list = append(list, p)
				hits += p.hits
			}
		}
	}
	return list, hits
}

// printEach lists sites, the busiest first.
func printEach(w io.Writer, list []*probe) {
	slices.SortFunc(list, func(a, b *probe) int {
		return cmp.Or(cmp.Compare(b.hits, a.hits), cmp.Compare(a.addr, b.addr))
	})
	for _, p := range list {
		fmt.Fprintf(w, "%10d  %#x  %v+%#x  % x\n", p.hits, p.addr-p.fn.obj.bias, p.fn, p.addr-p.fn.text.Addr, p.code)
	}
}
