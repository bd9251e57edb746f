package ppc64

import (
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// loop is the usual compare-and-swap:
//
//	0 mr     4 lwarx     8 cmpw     c bne 18     10 stwcx.     14 bne 4     18 isync     1c blr
var loop = []uint32{0x7c832378, 0x7ca01828, 0x7c052000, 0x4082000c, 0x7cc0192d, 0x40a2fff0, 0x4c00012c, 0x4e800020}

func TestContext(t *testing.T) {
	none, excl := fixups.ReasonNone, fixups.ReasonExclusive
	for _, tt := range []struct {
		name  string
		words []uint32
		pc    uint64 // of the first word
		want  []fixups.Reason
	}{
		{"compare and swap", loop, 0x1000, []fixups.Reason{none, none, excl, excl, none, none, none, none}},
		{"without the store", append(append([]uint32{}, loop[:4]...), 0x60000000, 0x60000000, 0x4e800020), 0x1000,
			[]fixups.Reason{none, none, none, none, none, none, none}},
		{"a call between", []uint32{0x7ca01828, 0x48001001, 0x60000000, 0x7cc0192d}, 0x1000, []fixups.Reason{none, none, none, none}},
		// The window goes on at 10: b 10; (never run) nop; blr; 10: addi; stdcx.
		{"round a branch", []uint32{0x7ca018a8, 0x4800000c, 0x60000000, 0x4e800020, 0x38a50001, 0x7ca019ad}, 0x1000,
			[]fixups.Reason{none, excl, none, none, excl, none}},
		{"behind another reserve", []uint32{0x7ca018a8, 0x38a50001, 0x7ca018a8, 0x7ca019ad}, 0x1000, []fixups.Reason{none, none, none, none}},
		{"a prefix and its suffix", []uint32{0x04100000, 0xe4600100, 0x60000000}, 0x1000, []fixups.Reason{none, fixups.ReasonSuffixWord, none}},
		{"a prefix of nothing", []uint32{0x04100000, 0x48000004, 0x60000000}, 0x1000, []fixups.Reason{fixups.ReasonReserved, none, none}},
		{"across a line", []uint32{0x04100000, 0xe4600100}, 0x103c, []fixups.Reason{fixups.ReasonPrefixLine, fixups.ReasonSuffixWord}},
		{"up to a line", []uint32{0x04100000, 0xe4600100}, 0x1038, []fixups.Reason{none, fixups.ReasonSuffixWord}},
	} {
		for _, a := range arches {
			code := encode(a, tt.words...)
			env := &reloc.Env{Code: &reloc.Text{Addr: tt.pc, Data: code}}
			for i, want := range tt.want {
				var in reloc.Insn
				err := analyze(&in, a, code[4*i:], tt.pc+uint64(4*i), env)
				if reloc.ReasonOf(err) != want || in.Hazards.Has(fixups.HazardExclusive) != (want == excl || in.Class == fixups.ClassExclusive) {
					t.Errorf("%s %s +%#x: %v, want %q", a.info.Name, tt.name, 4*i, err, want)
				}
			}
		}
	}
}

// analyze is what the engine does with a site.
func analyze(in *reloc.Insn, a *Arch, code []byte, pc uint64, env *reloc.Env) error {
	if err := a.Decode(in, code, pc); err != nil {
		return err
	}
	return a.Context(in, env)
}

// Nothing is looked at that is not there: before the first word of a text, or
// behind its last.
func TestContextAtEdges(t *testing.T) {
	for n := 1; n <= len(loop); n++ {
		for from := range n {
			code := encode(BE, loop[from:n]...)
			for i := range n - from {
				env := &reloc.Env{Code: exact{t, 4, code}} // at the start of the address space
				var in reloc.Insn
				_ = analyze(&in, BE, code[4*i:], 4+uint64(4*i), env)
			}
		}
	}
}

// exact fails the test if it is asked for what no text in front of a page has.
type exact struct {
	t    *testing.T
	addr uint64
	code []byte
}

func (x exact) Bytes(addr uint64) []byte {
	if d := addr - x.addr; d < uint64(len(x.code)) {
		return x.code[d:len(x.code):len(x.code)]
	}
	return nil
}

// A window is found as far as it is looked for, and no farther, at the start of a
// text too.
func TestWindowEnds(t *testing.T) {
	for n, want := range map[int]error{20: fixups.ReasonExclusive, windowWords - 1: fixups.ReasonExclusive, windowWords + 1: nil} {
		words := []uint32{0x7ca01828} // lwarx
		for range 2*n - 1 {
			words = append(words, 0x60000000)
		}
		code := encode(BE, append(words, 0x7cc0192d)...) // stwcx.
		var in reloc.Insn
		err := analyze(&in, BE, code[4*n:], 4*uint64(n), &reloc.Env{Code: &reloc.Text{Data: code}})
		if err != want {
			t.Errorf("%d words from both ends: %v", n, err)
		}
	}
}

func TestThunks(t *testing.T) {
	// bl to mflr r5; blr, and to mflr r0; std r0,16(r1)
	for target, want := range map[uint64]bool{0x1008: true, 0x1010: false} {
		code := encode(BE, 0x48000001|uint32(target-0x1000), 0x60000000, 0x7ca802a6, 0x4e800020, 0x7c0802a6, 0xf8010010)
		var in reloc.Insn
		err := analyze(&in, BE, code, 0x1000, &reloc.Env{Code: &reloc.Text{Addr: 0x1000, Data: code}})
		if err != nil || in.Hazards.Has(fixups.HazardReadsPC) != want {
			t.Errorf("bl %#x: hazards %b, %v", target, in.Hazards, err)
		}
	}
}

func TestPatch(t *testing.T) {
	both := fixups.PatchTrap | fixups.PatchBranch
	for _, tt := range []struct {
		words []uint32
		want  fixups.Patch
	}{
		{[]uint32{0x60000000}, both},
		{[]uint32{0x04100000, 0xe4600100}, both},
		{[]uint32{0x0fe5000b}, 0},
		{[]uint32{0x0fe5000c}, both},
		{[]uint32{0x7ca01828}, 0},
	} {
		var in reloc.Insn
		if err := LE.Decode(&in, encode(LE, tt.words...), 0); err != nil || LE.Patch(&in, &reloc.Env{}) != tt.want {
			t.Errorf("%x: %b, %v", tt.words, LE.Patch(&in, &reloc.Env{}), err)
		}
	}
	// The handler behind a signature may be entered by either, and is one.
	code := encode(LE, 0x0fe5000b, 0x60000000)
	var in reloc.Insn
	if err := analyze(&in, LE, code[4:], 0x1004, &reloc.Env{Code: &reloc.Text{Addr: 0x1000, Data: code}}); err != nil || !in.Hazards.Has(fixups.HazardRSeq) {
		t.Errorf("handler: hazards %b, %v", in.Hazards, err)
	}
}
