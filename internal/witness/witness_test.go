package witness_test

import (
	"encoding/hex"
	"testing"

	"github.com/xol-go/xol/internal/witness"
)

// What both witnesses must say of instructions whose reading is beyond doubt.
// A mistake in the protocol would show here and not as a disagreement.
var known = []struct {
	bits int
	hex  string
	want witness.Answer
}{
	{64, "90", witness.Answer{Len: 1}},
	{64, "7410", witness.Answer{Len: 2, Kind: witness.CondBranch, Flags: witness.Rel, FieldOff: 1, FieldSize: 1, Target: witness.PC + 0x12}},
	{64, "e8fbffffff", witness.Answer{Len: 5, Kind: witness.Call, Flags: witness.Rel, FieldOff: 1, FieldSize: 4, Target: witness.PC}},
	{64, "488b0578563412", witness.Answer{Len: 7, Flags: witness.RIP, DispOff: 3, DispSize: 4, Target: witness.PC + 0x1234567f}},
	{64, "c5fc280578563412", witness.Answer{Len: 8, Flags: witness.RIP, DispOff: 4, DispSize: 4, Target: witness.PC + 0x12345680}},
	{64, "62f17c48100578563412", witness.Answer{Len: 10, Flags: witness.RIP, DispOff: 6, DispSize: 4, Target: witness.PC + 0x12345682}},
	{32, "8b0578563412", witness.Answer{Len: 6, DispOff: 2, DispSize: 4}},
	{64, "06", witness.Answer{}},
	{32, "06", witness.Answer{Len: 1}},
	{64, "cc", witness.Answer{Len: 1, Kind: witness.Trap}},
	{64, "488b05", witness.Answer{}}, // cut
}

func TestKnown(t *testing.T) {
	var probes []witness.Probe
	for _, k := range known {
		code, err := hex.DecodeString(k.hex)
		if err != nil {
			t.Fatal(err)
		}
		p := witness.Probe{Bits: uint8(k.bits), Len: uint8(len(code))}
		copy(p.Code[:], code)
		probes = append(probes, p)
	}
	for _, w := range []*witness.Witness{witness.Zydis(t), witness.LLVM(t)} {
		got := make([]witness.Answer, len(probes))
		texts := make([]string, len(probes))
		if err := w.Check(got, nil, texts, probes); err != nil {
			t.Fatal(err)
		}
		for i, k := range known {
			if w.Name == "llvm" { // says nothing of displacements and kinds
				k.want.DispOff, k.want.DispSize, k.want.Kind = 0, 0, 0
			}
			if got[i] != k.want {
				t.Errorf("%s: %s (%d bits, %q): %+v, want %+v", w.Name, k.hex, k.bits, texts[i], got[i], k.want)
			}
		}
	}
}

// TestRegisters pins the numbering of registers.
func TestRegisters(t *testing.T) {
	w := witness.Zydis(t)
	// mulx r9, rdx, [rbx]: reads rdx and rbx, overwrites r9 and rdx.
	p := witness.Probe{Bits: 64, Len: 5, Code: [16]byte{0xc4, 0x62, 0xeb, 0xf6, 0x0b}}
	regs := make([]witness.Regs, 1)
	if err := w.Check(make([]witness.Answer, 1), regs, nil, []witness.Probe{p}); err != nil {
		t.Fatal(err)
	}
	var want witness.Regs
	for _, n := range []int{2, 3} {
		want.Read.Add(witness.RegGPR + n)
	}
	for _, n := range []int{2, 9} {
		want.Write.Add(witness.RegGPR + n)
	}
	want.Kill = want.Write
	if regs[0] != want {
		t.Errorf("mulx: %x, want %x", regs[0], want)
	}
}
