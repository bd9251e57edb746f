package arm64

import (
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// file is a machine of registers alone.
type file map[fixups.Reg]uint64

func (f file) Reg(r fixups.Reg) (uint64, bool)    { return f[r], true }
func (f file) SetReg(r fixups.Reg, v uint64) bool { f[r] = v; return true }
func (f file) Load(addr uint64, b []byte) bool    { return false }
func (f file) Store(addr uint64, b []byte) bool   { return false }
func (f file) ShadowPush(v uint64) bool           { return false }
func (f file) ShadowPop() (v uint64, ok bool)     { return 0, false }

// taken emulates the conditional branch w, of 8 bytes forward, and reports whether
// it is taken.
func taken(t *testing.T, w uint32, m file) bool {
	t.Helper()
	var in reloc.Insn
	if err := A64.Decode(&in, encode(w), testSite); err != nil {
		t.Fatalf("%08x: %v", w, err)
	}
	p := new(reloc.Plan)
	env := reloc.Env{Forms: fixups.FormEmulate.Bit(), Features: FeatureHBC | FeatureCMPBR}
	if err := A64.Plan(p, &in, &env); err != nil {
		t.Fatalf("%08x: %v", w, err)
	}
	var temps fixups.Temps
	if err := fixups.Run(p.Emulate, m, &fixups.Bases{Site: testSite}, &temps, 64); err != nil {
		t.Fatalf("%08x: %v", w, err)
	}
	pc := m[fixups.RegPC]
	if pc != testSite+4 && pc != testSite+8 {
		t.Fatalf("%08x: goes to %#x", w, pc)
	}
	return pc == testSite+8
}

// B.cond and BC.cond of all conditions with all flags, by ConditionHolds (Arm ARM,
// J1, shared/functions/system/ConditionHolds).
func TestEmulateConditions(t *testing.T) {
	for flags := range uint64(16) {
		n, z, c, v := flags>>3&1 != 0, flags>>2&1 != 0, flags>>1&1 != 0, flags&1 != 0
		for cond := range uint32(16) {
			want := [8]bool{z, c, n, v, c && !z, n == v, n == v && !z, true}[cond>>1]
			if cond&1 != 0 && cond != 15 {
				want = !want
			}
			for bc := range uint32(2) {
				// What is no flag must not matter.
				m := file{NZCV: flags<<28 | 0xffffffff0fffffff}
				if got := taken(t, bCond(cond|bc<<4, 2), m); got != want {
					t.Errorf("condition %d, bc %d, flags %04b: %t", cond, bc, flags, got)
				}
			}
		}
	}
}

// TestEmulateCompare is CB<cc> of two registers in all widths, and of a constant,
// with values about the ends of the widths; what is above them must not matter.
func TestEmulateCompare(t *testing.T) {
	const garbage = 0xa5a5a5a5a5a5a5a5
	values := []uint64{0, 1, 0x3f, 0x40, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for _, width := range []uint{8, 16, 32, 64} {
		mask := uint64(1)<<(width-1)<<1 - 1
		size := map[uint]uint32{8: 2 << 14, 16: 3 << 14, 32: 0, 64: 1 << 31}[width]
		for _, x := range values {
			for _, y := range values {
				m := file{1: x&mask | garbage&^mask, 2: y&mask | ^uint64(garbage)&^mask}
				x, y := x&mask, y&mask
				sx, sy := int64(x<<(64-width)), int64(y<<(64-width))
				for cc, want := range map[uint32]bool{0: sx > sy, 1: sx >= sy, 2: x > y, 3: x >= y, 6: x == y, 7: x != y} {
					if got := taken(t, 0x74000041|cc<<21|2<<16|size, m); got != want {
						t.Errorf("width %d, cc %d, %#x and %#x: %t", width, cc, x, y, got)
					}
				}
				if width < 32 || y > 63 {
					continue
				}
				for cc, want := range map[uint32]bool{0: sx > sy, 1: sx < sy, 2: x > y, 3: x < y, 6: x == y, 7: x != y} {
					if got := taken(t, 0x75000041|cc<<21|uint32(y)<<15|size, m); got != want {
						t.Errorf("width %d, cc %d, %#x and the constant %#x: %t", width, cc, x, y, got)
					}
				}
			}
		}
	}
}

// TestEmulateBits is TBZ and TBNZ of all bits, and CBZ and CBNZ in both widths.
func TestEmulateBits(t *testing.T) {
	for bit := range uint32(64) {
		for op := range uint32(2) {
			w := 0x36000041 | op<<24 | bit>>5<<31 | bit&31<<19
			if taken(t, w, file{1: 1 << bit}) != (op == 1) || taken(t, w, file{1: ^(uint64(1) << bit)}) != (op == 0) {
				t.Errorf("bit %d, op %d", bit, op)
			}
			if taken(t, w|31, file{31: 1 << bit}) != (op == 0) {
				t.Errorf("bit %d of xzr, op %d", bit, op)
			}
		}
	}
	for op := range uint32(2) {
		for sf := range uint32(2) {
			w := 0x34000041 | op<<24 | sf<<31
			for _, x := range []uint64{0, 1, 1 << 31, 1 << 32, 1 << 63} {
				if got := taken(t, w, file{1: x}); got != ((x == 0 || sf == 0 && uint32(x) == 0) == (op == 0)) {
					t.Errorf("cbz %08x of %#x: %t", w, x, got)
				}
			}
		}
	}
}
