package unicorn

// #include <time.h>
// #include "engine.h"
import "C"

import (
	"errors"
	"slices"
	"time"
	"unsafe"

	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
)

// driver is the comparison in C that the benchmarks hold the one in Go against.
type driver struct {
	e          *engine
	m          *C.xu_scratch
	site, slot C.xu_ring
	states     int
}

func newDriver(e *engine, states int) (*driver, error) {
	d := &driver{e: e, states: states}
	ring := func(a emu.Arena) (C.xu_ring, error) {
		p, err := e.Map(a.Addr, int(a.Size), emu.ProtRead|emu.ProtExec, false)
		if err != nil {
			return C.xu_ring{}, err
		}
		e.t.FillAt(p.Live, a.Addr)
		return C.xu_ring{addr: C.uint64_t(a.Addr), size: C.uint64_t(a.Size), live: (*C.uint8_t)(unsafe.Pointer(&p.Live[0]))}, nil
	}
	var err error
	if d.site, err = ring(e.t.Sites[0]); err != nil {
		return nil, err
	}
	if d.slot, err = ring(e.t.Slots[0]); err != nil {
		return nil, err
	}
	// As many pages as a worker has: the emulator looks addresses up in them.
	for _, a := range slices.Concat(e.t.Sites[1:], e.t.Slots[1:]) {
		if _, err := ring(a); err != nil {
			return nil, err
		}
	}
	for _, a := range []uint64{e.t.Sites[0].Data, e.t.Stack.Addr} {
		if _, err := e.Map(a, 4096, emu.ProtRead|emu.ProtWrite, true); err != nil {
			return nil, err
		}
	}
	d.m = C.xu_driver_open(e.x, C.uint32_t(states), C.uint64_t(e.t.Sites[0].Data))
	if d.m == nil {
		return nil, errors.New("unicorn: no memory")
	}
	for i := range e.t.Words {
		w := &e.t.Words[i]
		d.m.mask[i] = C.uint64_t(^uint64(0) >> (64 - w.Bits))
		switch {
		case w.Vary != 0:
			d.m.mask[i], d.m.value[i] = C.uint64_t(w.Vary), C.uint64_t(w.Value)
		case w.Const || w.ReadOnly || w.Reg == fixups.RegPC:
			d.m.keep[i] = 1
			d.m.value[i] = C.uint64_t(w.Value)
		}
	}
	return d, nil
}

// run does n cases and returns how many states differ: none.
func (d *driver) run(n int) uint64 {
	return uint64(C.xu_driver(d.e.x, &d.site, &d.slot, C.uint32_t(n), C.uint32_t(d.states), d.m))
}

func (d *driver) close() { C.xu_driver_close(d.m) }

// threadClock is the processor time of the calling thread.
func threadClock() time.Duration {
	var t C.struct_timespec
	C.clock_gettime(C.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.tv_sec)*time.Second + time.Duration(t.tv_nsec)
}
