package emu_test

import (
	"encoding/hex"
	"testing"

	"github.com/xol-go/xol/arch/arm64"
	"github.com/xol-go/xol/arch/ppc64"
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
	for _, info := range []*reloc.Info{x86.AMD64.Info(), x86.I386.Info(), arm64.A64.Info(), ppc64.BE.Info(), ppc64.LE.Info()} {
		target, err := emu.TargetOf(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		if target.Bits != info.Bits || target.SP != info.SP || target.Flags != info.Flags {
			t.Errorf("%s: bits %d sp %d flags %d, port has %d %d %d", info.Name, target.Bits, target.SP, target.Flags, info.Bits, info.SP, info.Flags)
		}
		for _, w := range target.Words {
			if w.Reg == fixups.RegPC || w.Name == "ftag" || w.Name == "fdp" || w.Name == "fop" || w.Name == "monitor" {
				continue // parts of registers under a name of their own, and what has no number
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

// TestFixedOperand: operands of the instruction sets with words.
func TestFixedOperand(t *testing.T) {
	const none = fixups.RegNone
	op := func(base, index fixups.Reg, scale uint8, disp int64) emu.Operand {
		return emu.Operand{Has: true, Base: base, Index: index, Seg: none, Bit: none, Vector: none, Scale: scale, Size: 8, Read: 16, Disp: disp}
	}
	with := func(o emu.Operand, f func(*emu.Operand)) emu.Operand { f(&o); return o }
	plain := with(op(none, none, 1, 0), func(o *emu.Operand) { o.Has = false })
	read := func(n uint8) func(*emu.Operand) { return func(o *emu.Operand) { o.Read = n } }
	rel := func(o *emu.Operand) { o.PCRel = true }
	tests := []struct {
		arch *emu.Target
		code string // words as the manual prints them
		want emu.Operand
	}{
		{emu.ARM64, "f9400421", op(1, none, 1, 8)},                    // ldr x1, [x1, #8]
		{emu.ARM64, "b94007e0", op(31, none, 1, 4)},                   // ldr w0, [sp, #4]
		{emu.ARM64, "f8627820", op(1, 2, 8, 0)},                       // ldr x0, [x1, x2, lsl #3]
		{emu.ARM64, "b862c820", op(1, 2, 1, 0)},                       // ldr w0, [x1, w2, sxtw]
		{emu.ARM64, "f85f8420", op(1, none, 1, 0)},                    // ldr x0, [x1], #-8
		{emu.ARM64, "f85f8c20", op(1, none, 1, -8)},                   // ldr x0, [x1, #-8]!
		{emu.ARM64, "a9bf7bfd", with(op(31, none, 1, -16), read(32))}, // stp x29, x30, [sp, #-16]!
		{emu.ARM64, "a8c17bfd", with(op(31, none, 1, 0), read(32))},   // ldp x29, x30, [sp], #16
		{emu.ARM64, "ad410440", with(op(2, none, 1, 32), read(32))},   // ldp q0, q1, [x2, #32]
		{emu.ARM64, "3dc00c41", op(2, none, 1, 48)},                   // ldr q1, [x2, #48]
		{emu.ARM64, "4c407040", with(op(2, none, 1, 0), read(64))},    // ld1 {v0.16b}, [x2]
		{emu.ARM64, "c85f7c41", op(2, none, 1, 0)},                    // ldxr x1, [x2]
		{emu.ARM64, "f8210041", op(2, none, 1, 0)},                    // ldadd x1, x1, [x2]
		{emu.ARM64, "f8200c22", op(1, none, 1, 0)},                    // ldraa x2, [x1]!
		{emu.ARM64, "58000041", with(op(none, none, 1, 4), rel)},      // ldr x1, pc+8
		{emu.ARM64, "d50b7421", with(op(1, none, 1, 0), read(64))},    // dc zva, x1
		{emu.ARM64, "8b020020", plain},                                // add x0, x1, x2
		{emu.ARM64, "10000000", plain},                                // adr x0, pc
		{emu.PPC64, "e8640008", op(4, none, 1, 8)},                    // ld r3, 8(r4)
		{emu.PPC64, "e8640009", op(4, none, 1, 8)},                    // ldu r3, 8(r4)
		{emu.PPC64, "8063fffc", op(3, none, 1, -4)},                   // lwz r3, -4(r3)
		{emu.PPC64, "80600010", op(none, none, 1, 16)},                // lwz r3, 16(0)
		{emu.PPC64, "7c64282a", op(4, 5, 1, 0)},                       // ldx r3, r4, r5
		{emu.PPC64, "7c60282a", op(none, 5, 1, 0)},                    // ldx r3, 0, r5
		{emu.PPC64, "7c6444aa", op(4, none, 1, 0)},                    // lswi r3, r4, 8
		{emu.PPC64, "f4040011", with(op(4, none, 1, 16), read(32))},   // lxv vs0, 16(r4)
		{emu.PPC64, "7c0027ec", with(op(none, 4, 1, 0), read(128))},   // dcbz 0, r4
		{emu.PPC64, "7c642214", plain},                                // add r3, r4, r4
		{emu.PPC64, "04100000e4600010", with(op(none, none, 1, 8), func(o *emu.Operand) { o.PCRel, o.Read = true, 32 })}, // pld r3, 16(0), 1
		{emu.PPC64, "0400000180640010", plain},                                   // no prefixed instruction
		{emu.PPC64, "0600000180640010", with(op(4, none, 1, 0x10010), read(32))}, // plwz r3, 65552(r4)
	}
	for _, tt := range tests {
		code := unhex(t, tt.code)
		for i := 0; tt.arch == emu.ARM64 && i < len(code); i += 4 {
			code[i], code[i+1], code[i+2], code[i+3] = code[i+3], code[i+2], code[i+1], code[i]
		}
		if got := tt.arch.Operand(code); got != tt.want {
			t.Errorf("%s %s: %+v, want %+v", tt.arch.Arch, tt.code, got, tt.want)
		}
		if tt.arch != emu.PPC64 {
			continue
		}
		for i := 0; i < len(code); i += 4 {
			code[i], code[i+1], code[i+2], code[i+3] = code[i+3], code[i+2], code[i+1], code[i]
		}
		if got := emu.PPC64LE.Operand(code); got != tt.want {
			t.Errorf("ppc64le %s: %+v, want %+v", tt.code, got, tt.want)
		}
	}
}

// TestAim: an operand that is relative to pc is made to name an address.
func TestAim(t *testing.T) {
	for _, tt := range []struct {
		arch     *emu.Target
		code     string
		pc, addr uint64
		want     bool
	}{
		{emu.AMD64, "488b0500000000", 0x1000, 0x2008, true},
		{emu.AMD64, "488b4310", 0x1000, 0x2008, false},
		{emu.ARM64, "41000058", 0x1000, 0x2008, true},
		{emu.ARM64, "41000058", 0x1000, 0x201000, false},
		{emu.PPC64, "04100000e4600010", 0x1000, 0x7fffffff, true},
		{emu.PPC64LE, "00001004100060e4", 0x100000, 0x2008, true},
		{emu.PPC64, "e8640008", 0x1000, 0x2008, false},
	} {
		code := unhex(t, tt.code)
		if got := tt.arch.Aim(code, tt.pc, tt.addr); got != tt.want {
			t.Errorf("%s %s: aimed %v", tt.arch.Arch, tt.code, got)
		} else if o := tt.arch.Operand(code); got && tt.pc+uint64(len(code))+uint64(o.Disp) != tt.addr {
			t.Errorf("%s %s: % x names %#x, not %#x", tt.arch.Arch, tt.code, code, tt.pc+uint64(len(code))+uint64(o.Disp), tt.addr)
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
