package relocgen

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// TestBinaryDeterministic: the same table however many processors there are.
func TestBinaryDeterministic(t *testing.T) {
	name := benchFile(t)
	var want []byte
	for _, n := range []int{1, 2, 3, 1} {
		old := runtime.GOMAXPROCS(n)
		var out bytes.Buffer
		_, err := sweep([]string{"--binary", name}, &out)
		runtime.GOMAXPROCS(old)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = out.Bytes()
		} else if !bytes.Equal(want, out.Bytes()) {
			t.Fatalf("%d processors: another table", n)
		}
	}
}

// TestCutUnits: the bits of every word, and nothing else, wherever they begin.
func TestCutUnits(t *testing.T) {
	for _, unit := range []int{1, 2, 4} {
		for at := range 130 {
			for size := unit; size < 700; size += unit * (1 + size/37) {
				src := make([]uint64, (at+size)/64+2)
				for i := range src {
					src[i] = 0x9e3779b97f4a7c15 * uint64(at+size+i+1)
				}
				dst := make([]uint64, (size/unit+63)/64)
				cutUnits(dst, src, at, size, 64/unit)
				for i := range 64 * len(dst) {
					bit := at + i*unit
					want := i < size/unit && src[bit/64]>>(bit%64)&1 != 0
					if got := dst[i/64]>>(i%64)&1 != 0; got != want {
						t.Fatalf("unit %d, %d bits from %d on: bit %d is %v", unit, size, at, i, got)
					}
				}
			}
		}
	}
}

// relatives are instructions with a field for D, zero here, of all lengths of field
// and plans that there are.
func relatives(a *x86.Arch) [][]byte {
	list := [][]byte{{0xeb, 0}, {0x74, 0}, {0x7f, 0}, {0xe2, 0}, {0xe0, 0}, {0xe3, 0}, {0xe8, 0, 0, 0, 0}, {0xe9, 0, 0, 0, 0},
		{0x0f, 0x84, 0, 0, 0, 0}, {0x2e, 0x0f, 0x8f, 0, 0, 0, 0}, {0xc7, 0xf8, 0, 0, 0, 0}, {0xf2, 0xe8, 0, 0, 0, 0},
		{0x6a, 0}, {0x66, 0x6a, 0}, {0x68, 0, 0, 0, 0}, {0x66, 0x68, 0, 0}, {0x2e, 0x68, 0, 0, 0, 0}}
	if a == x86.I386 {
		return list
	}
	return append(list, [][]byte{{0x48, 0x8b, 0x05, 0, 0, 0, 0}, {0x48, 0x8d, 0x3d, 0, 0, 0, 0}, {0x83, 0x3d, 0, 0, 0, 0, 7}, {0xff, 0x15, 0, 0, 0, 0},
		{0xff, 0x25, 0, 0, 0, 0}, {0xff, 0x35, 0, 0, 0, 0}, {0xf0, 0x48, 0x0f, 0xb1, 0x0d, 0, 0, 0, 0}, {0xc5, 0xfc, 0x28, 0x05, 0, 0, 0, 0},
		{0x66, 0x0f, 0x6f, 0x05, 0, 0, 0, 0}, {0xc7, 0x05, 0, 0, 0, 0, 1, 2, 3, 4}, {0x48, 0x68, 0, 0, 0, 0}, {0x62, 0xf1, 0x7c, 0x48, 0x28, 0x05, 0, 0, 0, 0}}...)
}

// TestShapesHold: a shape made from two samples is right for every distance, near
// the site, where reaches change over, and as far as the field goes.
func TestShapesHold(t *testing.T) {
	for _, a := range []*x86.Arch{x86.AMD64, x86.I386} {
		for _, env := range []reloc.Env{{}, {Spill: true, AllowLost: true}, {Return: fixups.ReturnsSlot, Biased: true}, {Slots: reloc.SlotsNear, Forms: fixups.FormJump.Bit()}} {
			for _, code := range relatives(a) {
				holds(t, a, &env, code)
			}
		}
	}
}

func holds(t *testing.T, a *x86.Arch, env *reloc.Env, code []byte) {
	t.Helper()
	j := &job{arch: a, w: &wishes{env: *env, both: true}, meta: fixups.Table{Arch: a.Info().Name, Layout: layoutOf(a)}}
	enc := fixups.NewEncoder(&j.meta)
	l := newLearner(j, enc)
	var in reloc.Insn
	var key [2]uint64
	var ds []int64
	for d := int64(-200); d <= 200; d++ {
		ds = append(ds, d)
	}
	ds = append(ds, -1<<31+20, -1<<30, -5000, 5000, 1<<30, 1<<31-1)
	pc := uint64(0x58001000)
	var want []fixups.Entry
	for _, d := range ds {
		if err := a.Decode(&in, code, pc); err != nil {
			t.Fatal(err)
		}
		b := a.Retarget(nil, &in, d)
		if a.Decode(&in, b, pc) != nil || a.ShapeD(&in) != d || a.ShapeKey(&in, &key) != reloc.ShapeKeyed {
			continue // it does not go so far, or it is planned for what it is
		}
		id := l.key(&reloc.ScanKey{Key: key, Insn: in})
		if id == reloc.ScanOwn {
			t.Fatalf("% x: no shape in common", code)
		}
		enc.Run(&fixups.Extent{Addr: pc, Code: b}, []uint64{1}, []fixups.Site{{Shape: id, D: d}})
		var e fixups.Entry
		l.sw.describe(&e, b, pc, &l.env)
		want = append(want, e)
		pc += uint64(len(b))
	}
	data, err := enc.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	view, err := fixups.OpenBinary(data)
	if err != nil || view.Len() != len(want) || len(want) < 200 {
		t.Fatalf("%d entries, %v", len(want), err)
	}
	var got fixups.Entry
	for i := range want {
		r, _ := view.Find(want[i].PC)
		if view.Entry(r, &got); !got.Equal(&want[i]) {
			regs := a.Info().Regs
			t.Fatalf("% x: D %d:\nshape %s\nalone %s", code, r.D, got.AppendJSON(nil, "", regs), want[i].AppendJSON(nil, "", regs))
		}
	}
	if n := enc.Shapes().Len(); n > 4 {
		t.Errorf("% x: %d shapes, addresses are of few classes", code, n)
	}
}

// TestBinaryOutputFails: an output that takes no more ends the table.
func TestBinaryOutputFails(t *testing.T) {
	if _, err := sweep([]string{"--binary", benchFile(t)}, &fullDisk{1 << 20}); err == nil {
		t.Error("no error")
	}
}

type fullDisk struct{ left int }

func (f *fullDisk) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}
