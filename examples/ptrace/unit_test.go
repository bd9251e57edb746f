//go:build linux && amd64

package main

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"github.com/xol-go/xol/fixups/linux"
	"github.com/xol-go/xol/internal/testenv"
)

// TestPlace: what place returns is free, aligned, and within reach of both ends.
func TestPlace(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testenv.Seed(t), 1))
	found := 0
	for range 2000 {
		var maps []mapping
		at := uint64(0x10000)
		for at < 1<<47-1<<36 {
			start := (at + rnd.Uint64N(1<<(20+rnd.UintN(24)))) &^ 0xfff
			end := (start + 0x1000 + rnd.Uint64N(1<<(12+rnd.UintN(20)))) &^ 0xfff
			maps = append(maps, mapping{start: start, end: end})
			at = end
		}
		o := maps[rnd.IntN(len(maps))]
		size := (0x1000 + rnd.Uint64N(256<<20)) &^ 0xfff
		addr, ok := place(maps, o.start, o.end, size)
		if !ok {
			continue
		}
		found++
		if addr&0xfff != 0 || addr == 0 {
			t.Fatalf("%#x", addr)
		}
		for _, m := range maps {
			if addr < m.end && m.start < addr+size {
				t.Fatalf("%#x+%#x overlaps %#x-%#x", addr, size, m.start, m.end)
			}
		}
		for _, from := range []uint64{o.start, o.end} {
			for _, to := range []uint64{addr, addr + size} {
				if d := int64(to - from); d > 1<<31-4096 || d < -(1<<31-4096) {
					t.Fatalf("%#x is %#x away from %#x", to, d, from)
				}
			}
		}
	}
	if found < 1000 {
		t.Errorf("room in %d cases of 2000", found)
	}
}

// TestRegion: slots do not overlap, and each address leads to its probe.
func TestRegion(t *testing.T) {
	g := &region{addr: 0x10000, size: 10 * unit, next: 0x10000}
	a, b := &probe{}, &probe{}
	x, okX := g.alloc(a, 1)
	y, okY := g.alloc(b, unit+1)
	if !okX || !okY || x != 0x10000 || y != 0x10000+unit {
		t.Errorf("slots at %#x and %#x", x, y)
	}
	for addr, want := range map[uint64]*probe{x: a, x + unit - 1: a, y: b, y + 2*unit - 1: b, y + 2*unit: nil, x - 1: nil, 0: nil, ^uint64(0): nil} {
		if got := g.at(addr); got != want {
			t.Errorf("%#x leads to another probe", addr)
		}
	}
	if _, ok := g.alloc(a, 8*unit); ok {
		t.Error("a slot behind the end")
	}
	if _, ok := (*region)(nil).alloc(a, 1); ok {
		t.Error("a slot in no region")
	}
}

// TestMemory uses the memory of the test itself: protection is obeyed, and a store
// that cannot be whole changes nothing.
func TestMemory(t *testing.T) {
	pages, err := syscall.Mmap(-1, 0, 2*4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(pages)
	base := uint64(uintptr(unsafe.Pointer(&pages[0])))
	mem := memory(syscall.Getpid())
	var b [8]byte
	if !mem.Load(base, b[:]) {
		t.Skip("process_vm_readv is not permitted here: 1 test not run")
	}
	if err := syscall.Mprotect(pages[4096:], syscall.PROT_READ); err != nil {
		t.Fatal(err)
	}
	word := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	if !mem.Store(base, word) || pages[7] != 8 {
		t.Error("store")
	}
	if mem.Store(base+4092, word) || pages[4092] != 0 {
		t.Error("half a store")
	}
	if mem.Store(base+4096, word) {
		t.Error("a store to memory that is read-only")
	}
	if !mem.Load(base+4092, b[:]) || mem.Load(0, b[:]) || mem.Load(1<<63, b[:]) {
		t.Error("load")
	}
}

// recorder is memory that counts stores.
type recorder struct {
	linux.Memory
	stores int
}

func (r *recorder) Store(uint64, []byte) bool { r.stores++; return true }

// TestLate: a store happens when it is committed, and once.
func TestLate(t *testing.T) {
	r := &recorder{}
	l := late{Memory: r}
	if !l.Store(1, []byte{1}) || r.stores != 0 {
		t.Error("the store was not kept back")
	}
	if !l.commit() || r.stores != 1 || !l.commit() || r.stores != 1 {
		t.Error("the store did not happen once")
	}
}

func TestParse(t *testing.T) {
	bad := [][]string{
		{}, {"--all-hot", "1"}, {"--all-hot", "1", "-p", "1", "--", "x"}, {"--", "x"}, {"--form", "jump", "--all-hot", "1", "x"},
		{"--children", "eat", "--all-hot", "1", "x"}, {"--no-such-flag", "x"}, {"--all-hot", "-1", "x"},
	}
	for _, args := range bad {
		if _, err := parse(args); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	c, err := parse([]string{"--func", "a", "--func", "b:c", "--", "prog", "--func", "d"})
	if err != nil || len(c.funcs) != 2 || len(c.args) != 3 {
		t.Errorf("%+v, %v", c, err)
	}
}
