package emu_test

import (
	"encoding/hex"
	"testing"

	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestTargets: the registers of a target have the numbers of the port, and the
// roles that the port gives them.
func TestTargets(t *testing.T) {
	for _, a := range []reloc.Arch{x86.AMD64, x86.I386} {
		info := a.Info()
		target, err := emu.TargetOf(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		if target.Bits != info.Bits || target.SP != info.SP || target.Flags != info.Flags {
			t.Errorf("%s: bits %d sp %d flags %d, port has %d %d %d", info.Name, target.Bits, target.SP, target.Flags, info.Bits, info.SP, info.Flags)
		}
		for _, w := range target.Words {
			if w.Reg == fixups.RegPC || w.Name == "ftag" || w.Name == "fdp" || w.Name == "fop" {
				continue // parts of registers under a name of their own
			}
			r, part, want := w.Reg, int(w.Part), w.Name
			if r >= 256 {
				t.Errorf("%s: register %d", w.Name, r)
				continue
			}
			got := info.Regs.Name(r)
			if len(want) > 2 && want[len(want)-2] == '.' {
				got += "." + string(rune('0'+part))
			}
			if got != want {
				t.Errorf("%s: word %s is %s of the port", info.Name, want, got)
			}
		}
	}
	if _, err := emu.TargetOf("vax"); err == nil {
		t.Error("there is a target vax")
	}
}

// TestArenas: no two pieces of a target's memory overlap.
func TestArenas(t *testing.T) {
	for _, target := range emu.Targets() {
		type run struct {
			name       string
			addr, size uint64
		}
		var all []run
		for _, list := range [][]emu.Arena{target.Sites, target.Slots, {target.Stack}} {
			for _, a := range list {
				all = append(all, run{a.Name, a.Addr, a.Size})
				if a.Data != 0 {
					all = append(all, run{a.Name + " data", a.Data, 4096})
				}
			}
		}
		for i, a := range all {
			if target.Bits == 32 && a.addr+a.size > 1<<32 {
				t.Errorf("%s: %s ends above 4 GiB", target.Arch, a.name)
			}
			for _, b := range all[:i] {
				if a.addr < b.addr+b.size && b.addr < a.addr+a.size {
					t.Errorf("%s: %s and %s overlap", target.Arch, a.name, b.name)
				}
			}
		}
	}
}

func TestKey(t *testing.T) {
	tests := []struct {
		code  string
		mask  uint64
		value uint64
	}{
		{"c5f058c2", emu.X86MaskEnc, emu.X86Enc(emu.X86VEX)},
		{"62f1744858c2", emu.X86MaskEnc, emu.X86Enc(emu.X86EVEX)},
		{"8fe97890c1", emu.X86MaskEnc, emu.X86Enc(emu.X86XOP)},
		{"d50089c1", emu.X86MaskEnc, emu.X86Enc(emu.X86REX2)},
		{"8f00", emu.X86MaskOp, emu.X86Op(0, 0x8f)},
		{"f20fae03", emu.X86MaskOp, emu.X86Op(1, 0xae)},
		{"660f38f003", emu.X86MaskOp, emu.X86Op(2, 0xf0)},
		{"0f0fc19e", emu.X86MaskOp, emu.X86Op(emu.X86Map3DNow, 0x9e)},
		{"41668b06", emu.X86Prefix(emu.X86PVoidREX), emu.X86Prefix(emu.X86PVoidREX)},
		{"66418b06", emu.X86Prefix(emu.X86PVoidREX), 0},
		{"c20080", emu.X86MaskModRM, 0x80 << 8},
		{"c5fb58c1", emu.X86MaskOp | emu.X86Prefix(emu.X86P66|emu.X86PF2|emu.X86PF3|emu.X86PW), emu.X86Op(1, 0x58) | emu.X86Enc(emu.X86VEX) | emu.X86Prefix(emu.X86PF2)},
		{"c4e2f1b4c1", emu.X86MaskOp | emu.X86Prefix(emu.X86P66|emu.X86PW), emu.X86Op(2, 0xb4) | emu.X86Enc(emu.X86VEX) | emu.X86Prefix(emu.X86P66|emu.X86PW)},
		{"62f17e08100b", emu.X86Prefix(emu.X86P66 | emu.X86PF2 | emu.X86PF3), emu.X86Prefix(emu.X86PF3)},
		{"f3a4", emu.X86Prefix(emu.X86PF3 | emu.X86PF2), emu.X86Prefix(emu.X86PF3)},
	}
	for _, tt := range tests {
		if got := emu.AMD64.Key(unhex(t, tt.code)) & tt.mask; got != tt.value {
			t.Errorf("%s: key & %#x = %#x, want %#x", tt.code, tt.mask, got, tt.value)
		}
	}
	// In 32-bit mode LES, LDS and BOUND look like VEX and EVEX.
	for _, code := range []string{"c400", "c500", "6200"} {
		if got := emu.I386.Key(unhex(t, code)) & emu.X86MaskEnc; got != 0 {
			t.Errorf("386 %s: encoding %#x", code, got)
		}
	}
}

func TestOperand(t *testing.T) {
	const none = fixups.RegNone
	tests := []struct {
		arch *emu.Target
		code string
		want emu.Operand
	}{
		{emu.AMD64, "488b4310", emu.Operand{Has: true, Base: 3, Index: none, Seg: none, Scale: 1, Size: 8, Disp: 16}},
		{emu.AMD64, "4a8b44a310", emu.Operand{Has: true, Base: 3, Index: 12, Seg: none, Scale: 4, Size: 8, Disp: 16}},
		{emu.AMD64, "488b442410", emu.Operand{Has: true, Base: 7, Index: none, Seg: none, Scale: 1, Size: 8, Disp: 16}},
		{emu.AMD64, "488b05ffffffff", emu.Operand{Has: true, Base: none, Index: none, Seg: none, Scale: 1, Size: 8, PCRel: true, Disp: -1}},
		{emu.AMD64, "64488b042528000000", emu.Operand{Has: true, Base: none, Index: none, Seg: 58, Scale: 1, Size: 8, Disp: 0x28}},
		{emu.AMD64, "48a18877665544332211", emu.Operand{Has: true, Base: none, Index: none, Seg: none, Scale: 1, Size: 8, Disp: 0x1122334455667788}},
		{emu.AMD64, "678b4310", emu.Operand{Has: true, Base: 3, Index: none, Seg: none, Scale: 1, Size: 4, Disp: 16}},
		{emu.AMD64, "4889c3", emu.Operand{Base: none, Index: none, Seg: none, Scale: 1, Size: 8}},
		{emu.AMD64, "4c0fa32db5621d00", emu.Operand{Has: true, Base: none, Index: none, Seg: none, Bit: 13, BitWord: 8, Scale: 1, Size: 8, PCRel: true, Disp: 0x1d62b5}},
		{emu.AMD64, "660fbb03", emu.Operand{Has: true, Base: 3, Index: none, Seg: none, Bit: 0, BitWord: 2, Scale: 1, Size: 8}},
		{emu.AMD64, "0fba2307", emu.Operand{Has: true, Base: 3, Index: none, Seg: none, Scale: 1, Size: 8}},
		{emu.AMD64, "c4e27190141b", emu.Operand{Has: true, Base: 3, Index: none, Seg: none, Vector: 20, VectorBits: 32, Read: 32, Scale: 1, Size: 8}},
		{emu.AMD64, "c4a2f193548b10", emu.Operand{Has: true, Base: 3, Index: none, Seg: none, Vector: 26, VectorBits: 64, Read: 32, Scale: 4, Size: 8, Disp: 16}},
		{emu.AMD64, "c5fc100d00010000", emu.Operand{Has: true, Base: none, Index: none, Seg: none, Read: 32, Scale: 1, Size: 8, PCRel: true, Disp: 256}},
		{emu.AMD64, "62f17c481003", emu.Operand{Has: true, Base: 3, Index: none, Seg: none, Read: 64, Scale: 1, Size: 8}},
		{emu.I386, "c4e27190141b", emu.Operand{Has: true, Base: 3, Index: none, Seg: none, Vector: 24, VectorBits: 32, Read: 32, Scale: 1, Size: 4}},
		{emu.I386, "0fab0b", emu.Operand{Has: true, Base: 3, Index: none, Seg: none, Bit: 1, BitWord: 4, Scale: 1, Size: 4}},
		{emu.I386, "678b4208", emu.Operand{Has: true, Base: 5, Index: 6, Seg: none, Scale: 1, Size: 2, Disp: 8}},
		{emu.I386, "8b0500100000", emu.Operand{Has: true, Base: none, Index: none, Seg: none, Scale: 1, Size: 4, Disp: 0x1000}},
	}
	for _, tt := range tests {
		if tt.want.BitWord == 0 {
			tt.want.Bit = none
		}
		if tt.want.VectorBits == 0 {
			tt.want.Vector = none
		}
		if tt.want.Read == 0 {
			tt.want.Read = 16
		}
		if got := tt.arch.Operand(unhex(t, tt.code)); got != tt.want {
			t.Errorf("%s %s: %+v, want %+v", tt.arch.Arch, tt.code, got, tt.want)
		}
	}
}

// TestOperandAgrees: where the port says that an operand is relative to pc, so
// does the target, and the address is the same.
func TestOperandAgrees(t *testing.T) {
	const pc = 0x7f1200400000
	n := 0
	s := uint64(1)
	rnd := func() uint64 {
		s = s*6364136223846793005 + 1442695040888963407
		return s ^ s>>29
	}
	for range 200000 {
		code := emu.AMD64.Random(nil, rnd)
		var in reloc.Insn
		if x86.AMD64.Decode(&in, code, pc) != nil {
			continue
		}
		op := emu.AMD64.Operand(in.Raw())
		if rip := in.Flags&reloc.PCOperand != 0; rip != (op.Has && op.PCRel) {
			t.Fatalf("% x: relative to pc: port %v, target %v", in.Raw(), rip, op.PCRel)
		} else if rip {
			n++
			want := in.Next() + uint64(op.Disp)
			if op.Size == 4 {
				want &= 1<<32 - 1
			}
			if in.HasTarget() && in.Target != want {
				t.Fatalf("% x: port names %#x, target %#x", in.Raw(), in.Target, want)
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d operands relative to pc", n)
	}
}

// first is what [emu.Worker.Limit] does with the rows of a site.
func first(rows []*emu.Limit, f fixups.Form) *emu.Limit {
	for _, l := range rows {
		if l.Forms == 0 || l.Forms.Has(f) {
			return l
		}
	}
	return nil
}

func TestAppendLimits(t *testing.T) {
	rows := []emu.Limit{
		{Name: "class", Verdict: emu.Unsupported, Classes: emu.ClassSet(fixups.ClassTrap)},
		{Name: "hazard", Verdict: emu.Suspect, Hazards: fixups.HazardVendor.Bit()},
		{Name: "form", Verdict: emu.Unsupported, Mask: emu.X86MaskOp, Value: emu.X86Op(0, 0x9d), Forms: fixups.FormEmulate.Bit()},
	}
	find := func(code []byte, class fixups.Class, h fixups.Hazards, f fixups.Form) string {
		if l := first(emu.AppendLimits(nil, emu.AMD64, rows, code, &reloc.Insn{Class: class, Hazards: h}), f); l != nil {
			return l.Name
		}
		return ""
	}
	if got := find([]byte{0xcc}, fixups.ClassTrap, 0, fixups.FormJump); got != "class" {
		t.Errorf("trap: %q", got)
	}
	if got := find([]byte{0x90}, fixups.ClassPlain, fixups.HazardVendor.Bit(), fixups.FormJump); got != "hazard" {
		t.Errorf("vendor: %q", got)
	}
	if got := find([]byte{0x9d}, fixups.ClassPlain, 0, fixups.FormEmulate); got != "form" {
		t.Errorf("popf emulated: %q", got)
	}
	if got := find([]byte{0x9d}, fixups.ClassPlain, 0, fixups.FormStep); got != "" {
		t.Errorf("popf stepped: %q", got)
	}
}
