package x86_test

import (
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// TestReadsOwnBytes moves an operand over its own instruction, byte by byte: the
// hazard is there while they touch, and as long as it is, or may be, the
// instruction shares no shape with others.
func TestReadsOwnBytes(t *testing.T) {
	for _, c := range []struct {
		name string
		code []byte
		size int64 // of the operand; 0: never accessed, or elsewhere
	}{
		{"mov eax", []byte{0x8b, 0x05, 0, 0, 0, 0}, 4},
		{"mov al", []byte{0x8a, 0x05, 0, 0, 0, 0}, 1},
		{"mov ax", []byte{0x66, 0x8b, 0x05, 0, 0, 0, 0}, 2},
		{"mov store rax", []byte{0x48, 0x89, 0x05, 0, 0, 0, 0}, 8},
		{"movzx byte", []byte{0x0f, 0xb6, 0x05, 0, 0, 0, 0}, 1},
		{"movsxd", []byte{0x48, 0x63, 0x05, 0, 0, 0, 0}, 4},
		{"mov imm8", []byte{0xc6, 0x05, 0, 0, 0, 0, 0x90}, 1},
		{"cmp imm32", []byte{0x81, 0x3d, 0, 0, 0, 0, 1, 2, 3, 4}, 4},
		{"jmp", []byte{0xff, 0x25, 0, 0, 0, 0}, 8},
		{"push", []byte{0xff, 0x35, 0, 0, 0, 0}, 8},
		{"addr32", []byte{0x67, 0x8b, 0x05, 0, 0, 0, 0}, 4},
		{"fld", []byte{0xd9, 0x05, 0, 0, 0, 0}, 10},
		{"fnstenv", []byte{0xd9, 0x35, 0, 0, 0, 0}, 64},
		{"movups", []byte{0x0f, 0x10, 0x05, 0, 0, 0, 0}, 16},
		{"vmovups ymm", []byte{0xc5, 0xfc, 0x10, 0x05, 0, 0, 0, 0}, 32},
		{"vmovups zmm", []byte{0x62, 0xf1, 0x7c, 0x48, 0x10, 0x05, 0, 0, 0, 0}, 64},
		{"lea", []byte{0x48, 0x8d, 0x05, 0, 0, 0, 0}, 0},
		{"nop", []byte{0x0f, 0x1f, 0x05, 0, 0, 0, 0}, 0},
		{"mov fs", []byte{0x64, 0x8b, 0x05, 0, 0, 0, 0}, 0},
	} {
		for _, pc := range []uint64{0x401000, 0x7fffff00, 0xffffffff80001000} {
			ownBytes(t, c.name, c.code, c.size, pc)
		}
	}
}

func ownBytes(t *testing.T, name string, code []byte, size int64, pc uint64) {
	t.Helper()
	a := x86.AMD64
	var in reloc.Insn
	var key [2]uint64
	if err := a.Decode(&in, code, pc); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if in.Ext == [2]uint64{} {
		t.Fatalf("%s: not decoded", name)
	}
	if prefixed := code[0] == 0x67; prefixed && pc > 1<<32-1 {
		return // an address of 32 bits is not here
	}
	n := int64(len(code))
	for d := int64(-100); d <= 20; d++ {
		b := a.Retarget(nil, &in, d)
		for _, cut := range []int{0, 16} { // the long way and the short one
			var got reloc.Insn
			if err := a.Decode(&got, append(b, make([]byte, cut)...), pc); err != nil {
				t.Fatalf("%s %d: %v", name, d, err)
			}
			want := size != 0 && d < n && d > -size
			if has := got.Hazards.Has(fixups.HazardReadsOwnBytes); has != want {
				t.Fatalf("%s: operand of %d bytes at %d: hazard %v", name, size, d, has)
			}
			if want && a.ShapeKey(&got, &key) != reloc.ShapeOwn {
				t.Fatalf("%s: operand at %d shares a shape", name, d)
			}
		}
	}
}
