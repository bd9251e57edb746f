package fixups

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestPlaceUsual: what Place does by itself for the usual fields, and what it
// leaves to PlaceOrder, is the same: result, error and what they say.
func TestPlaceUsual(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	placed, failed := 0, 0
	for range 200_000 {
		p := Plan{Code: []byte("0123456789abcdefghijklmn")[:rnd.IntN(25)], Far: rnd.IntN(8) == 0}
		p.Reach = Reach{Min: -1 << 31, Max: 1 << 31}
		switch rnd.IntN(16) {
		case 0:
			p.Reach.Align, p.Reach.Residue = 16, 3
		case 1:
			p.SlotAlign = 64
		case 2:
			p.Form = FormEmulate
		}
		for range rnd.IntN(4) {
			p.Relocs = append(p.Relocs, randomReloc(rnd))
		}
		at := Bases{Site: rnd.Uint64(), Data: uint64(rnd.IntN(2))}
		at.Slot = at.Site + uint64(rnd.Int64N(1<<32+64)-1<<31-32)
		dst := append(make([]byte, 0, rnd.IntN(64)), 0xaa)
		got, err := Place(bytes.Clone(dst), &p, at)
		want, wantErr := PlaceOrder(dst, &p, at, Placing{})
		if !bytes.Equal(got, want) || !reflect.DeepEqual(err, wantErr) {
			t.Fatalf("%+v\n%+v\n% x %v\n% x %v", p, at, got, err, want, wantErr)
		}
		if err == nil {
			placed++
		} else {
			failed++
		}
	}
	if placed < 10_000 || failed < 10_000 {
		t.Errorf("%d placed, %d failed", placed, failed)
	}
}

// randomReloc is one of the usual fields, often with one thing changed.
func randomReloc(rnd *rand.Rand) Reloc {
	r := Reloc{Size: 4, Bits: 32, PCRel: true, Check: CheckSigned, Order: OrderInsn}
	if rnd.IntN(2) == 0 {
		r = Reloc{Size: 8, Bits: 64, Check: CheckNone, Order: OrderData}
	}
	r.Off, r.Addend = uint16(rnd.IntN(20)), rnd.Int64N(256)-128
	switch n := uint8(rnd.IntN(4)); rnd.IntN(24) {
	case 0:
		r.Size = 1 << n
	case 1:
		r.Lsb = n
	case 2:
		r.Bits = 29 + n
	case 3:
		r.Shift = n
	case 4:
		r.Page = n
	case 5:
		r.Base = Base(n)
	case 6:
		r.Check = Check(n)
	case 7:
		r.Order = Order(n)
	case 8:
		r.PCRel = !r.PCRel
	case 9:
		r.Addend = rnd.Int64()
	}
	return r
}

// TestFillWord: fillWord is fill where it does anything at all, and does most of
// what is asked of it.
func TestFillWord(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	filled, left := 0, 0
	for range 300_000 {
		r := randomReloc(rnd)
		if rnd.IntN(2) == 0 { // a field of fixed-width ISAs
			r.Size, r.Order, r.Check = 4, OrderInsn, Check(rnd.IntN(4))
			r.Lsb, r.Bits, r.Shift, r.Page = uint8(rnd.IntN(34)), uint8(rnd.IntN(34)), uint8(rnd.IntN(66)), uint8(12*rnd.IntN(2))
		}
		at := Bases{Site: rnd.Uint64(), Data: uint64(rnd.IntN(2))}
		at.Slot = at.Site + uint64(rnd.Int64N(1<<32+64)-1<<31-32)
		o := Placing{End(rnd.IntN(2)), End(rnd.IntN(2))}
		got, want := []byte("0123456789abcdefghij"), []byte("0123456789abcdefghij")
		err := r.fill(want, &at, o)
		if !r.fillWord(got, &at, o) {
			left++
			continue
		}
		filled++
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%+v: %v\n% x\n% x", r, err, got, want)
		}
	}
	if filled < 50_000 || left < 50_000 {
		t.Errorf("%d filled, %d left", filled, left)
	}
}
