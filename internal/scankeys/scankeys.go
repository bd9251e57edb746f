// Package scankeys numbers the keys that scanners of code find: the part of a
// [reloc.Scanner] that is the same for all instruction sets.
package scankeys

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Table numbers keys. It is a hash table with open addresses, half full at most.
// Grow makes the first one. It serves one goroutine.
type Table struct {
	slots []slot
	shift uint8 // 64 less the log2 of its size
	keys  []reloc.ScanKey
}

// slot is a place in the table; n is the number of the key plus 1, 0 in an empty one.
type slot struct {
	key [2]uint64
	n   uint32
}

// Key implements [reloc.Scanner].
func (t *Table) Key(in *reloc.Insn, key *[2]uint64) fixups.ShapeID {
	if n := t.Lookup(key); n != 0 {
		return fixups.ShapeID(n - 1)
	}
	t.keys = append(t.keys, reloc.ScanKey{Key: *key, Insn: *in})
	if 2*len(t.keys) > len(t.slots) {
		t.Grow(64 - t.shift + 1)
	} else {
		t.insert(key, uint32(len(t.keys)))
	}
	return fixups.ShapeID(len(t.keys) - 1)
}

// Keys implements [reloc.Scanner].
func (t *Table) Keys() []reloc.ScanKey { return t.keys[:len(t.keys):len(t.keys)] }

func (t *Table) hash(key *[2]uint64) uint64 {
	return (key[0] ^ key[1]*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd >> (t.shift & 63)
}

// Lookup returns the number of a key plus 1, 0 if it has none yet.
func (t *Table) Lookup(key *[2]uint64) uint32 {
	for i := t.hash(key); ; i++ {
		s := &t.slots[i&uint64(len(t.slots)-1)]
		if s.n == 0 || s.key == *key {
			return s.n
		}
	}
}

func (t *Table) insert(key *[2]uint64, n uint32) {
	i := t.hash(key)
	for t.slots[i&uint64(len(t.slots)-1)].n != 0 {
		i++
	}
	t.slots[i&uint64(len(t.slots)-1)] = slot{*key, n}
}

// Grow makes a new table of 1<<bits slots.
func (t *Table) Grow(bits uint8) {
	t.slots, t.shift = make([]slot, 1<<bits), 64-bits
	for i := range t.keys {
		t.insert(&t.keys[i].Key, uint32(i+1))
	}
}
