//go:build linux && amd64

package main

import (
	"fmt"
	"maps"
	"os"

	"github.com/xol-go/xol/fixups"
)

// space is the memory of one or more processes: threads and children of vfork
// share one.
type space struct {
	mem    *os.File // /proc/PID/mem: reaches every page, whatever its protection
	image  *image   // nil: nothing is probed
	full   map[*function]bool
	users  int  // processes
	booted bool // image is complete; before, only its entry has a breakpoint
	first  byte // what that breakpoint replaced
}

func openSpace(pid int) (*space, error) {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &space{mem: f, full: map[*function]bool{}, users: 1}, nil
}

// fork is the memory of a child with a copy of everything.
func (s *space) fork(pid int) (*space, error) {
	c, err := openSpace(pid)
	if err != nil {
		return nil, err
	}
	c.image, c.full, c.booted, c.first = s.image, maps.Clone(s.full), s.booted, s.first
	return c, nil
}

func (s *space) release() {
	if s.users--; s.users == 0 {
		s.mem.Close()
	}
}

// swap writes b at addr and returns what was there.
func (s *space) swap(addr uint64, b []byte) ([]byte, error) {
	old := make([]byte, len(b))
	if _, err := s.mem.ReadAt(old, int64(addr)); err != nil {
		return nil, err
	}
	_, err := s.mem.WriteAt(b, int64(addr))
	return old, err
}

// state is what the bytes at a site say.
type state int

const (
	unarmed state = iota // no breakpoint of ours
	armed                // a breakpoint, and behind it what was there before
	stale                // a breakpoint, but the program has changed what is behind it
)

// look compares the bytes at a site, read through our patch, with those that were
// planned for.
func (s *space) look(p *probe) state {
	var buf [15]byte
	b := buf[:len(p.code)]
	if _, err := s.mem.ReadAt(b, int64(p.addr)); err != nil || b[0] != int3 {
		return unarmed
	}
	if string(b[1:]) != string(p.code[1:]) {
		return stale
	}
	return armed
}

// disarm takes one breakpoint out. A thread that has run into it already finds
// its site without a breakpoint, and goes on there.
func (s *space) disarm(p *probe) error {
	_, err := s.mem.WriteAt(p.code[:1], int64(p.addr))
	return err
}

// arm puts probes in: first all slots, then the breakpoints, so that a thread
// which runs here meanwhile never meets a slot without code. A breakpoint is one
// byte, so each fetch sees the old instruction or the trap, and bytes that are
// written as they were do not matter to anybody.
func (t *tracer) arm(s *space, list []*probe) error {
	if err := t.writeSlots(s, list); err != nil {
		return err
	}
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].fn == list[0].fn {
			n++
		}
		if err := t.armIn(s, list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// armIn is arm for probes of one function, in order. Sites whose bytes are not
// those of the file are left alone.
func (t *tracer) armIn(s *space, list []*probe) error {
	first, last := list[0], list[len(list)-1]
	b := make([]byte, last.addr+uint64(len(last.code))-first.addr)
	if _, err := s.mem.ReadAt(b, int64(first.addr)); err != nil {
		return err
	}
	for _, p := range list {
		at := b[p.addr-first.addr:][:len(p.code)]
		switch {
		case string(at) == string(p.code):
			at[0] = int3
		case at[0] != int3 || string(at[1:]) != string(p.code[1:]): // else it is armed already
			t.count.stale++
		}
	}
	_, err := s.mem.WriteAt(b, int64(first.addr))
	return err
}

// writeSlots fills slots in, as many as are side by side with one write.
func (t *tracer) writeSlots(s *space, list []*probe) error {
	var buf []byte
	var base uint64
	flush := func() error {
		if len(buf) == 0 {
			return nil
		}
		_, err := s.mem.WriteAt(buf, int64(base))
		buf = buf[:0]
		return err
	}
	for _, p := range list {
		if p.slot == 0 {
			continue
		}
		if p.slot != base+uint64(len(buf)) {
			if err := flush(); err != nil {
				return err
			}
			base = p.slot
		}
		if err := s.image.relocate(&t.plan, p, fixups.FormStep); err != nil {
			return err
		}
		var err error
		buf, err = fixups.Place(buf, &t.plan, fixups.Bases{Site: p.addr, Slot: p.slot})
		if err != nil {
			return err
		}
		for len(buf)%unit != 0 {
			buf = append(buf, int3)
		}
	}
	return flush()
}

// restore takes all breakpoints out.
func (s *space) restore() error {
	if s.image == nil {
		return nil
	}
	if !s.booted {
		_, err := s.swap(s.image.entry, []byte{s.first})
		return err
	}
	for _, p := range s.image.probes {
		if s.look(p) == unarmed {
			continue
		}
		if err := s.disarm(p); err != nil {
			return err
		}
	}
	return nil
}
