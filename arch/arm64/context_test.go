package arm64

import (
	"encoding/binary"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

func encode(words ...uint32) (b []byte) {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// analyze is what the engine does with a site.
func analyze(in *reloc.Insn, code []byte, pc uint64, env *reloc.Env) error {
	if err := A64.Decode(in, code, pc); err != nil {
		return err
	}
	return A64.Context(in, env)
}

const (
	ldxr, stxr   = 0xc85f7c20, 0xc8027c23 // ldxr x0,[x1]; stxr w2,x3,[x1]
	ldaxp, stlxp = 0x887f8c20, 0x88228c20 // ldaxp w0,w3,[x1]; stlxp w2,w0,w3,[x1]
	ldtxr, sttxr = 0x895f7c20, 0x89027c23 // ldtxr w0,[x1]; sttxr w2,w3,[x1]
	clrex        = 0xd5033f5f
	nop          = 0xd503201f
	ret          = 0xd65f03c0
	svc          = 0xd4000001
	pacm         = 0xd50324ff
	movprfx      = 0x0420bc20 // movprfx z0,z1
	movprfxM     = 0x04912020 // movprfx z0.s,p0/m,z1.s
)

func bWord(d int32) uint32           { return 0x14000000 | uint32(d)&(1<<26-1) }
func bCond(c uint32, d int32) uint32 { return 0x54000000 | uint32(d)&(1<<19-1)<<5 | c }

func TestContext(t *testing.T) {
	none, excl, adj := fixups.ReasonNone, fixups.ReasonExclusive, fixups.ReasonAdjacent
	for _, tt := range []struct {
		name  string
		words []uint32
		want  []fixups.Reason
	}{
		// 0 ldxr  4 cmp  8 b.ne 18  c stxr  10 cbnz 0  14 ret  18 clrex  1c ret
		{"compare and swap", []uint32{ldxr, 0xeb04001f, bCond(1, 4), stxr, 0x35ffff82, ret, clrex, ret},
			[]fixups.Reason{none, excl, excl, none, none, none, none, none}},
		{"pairs", []uint32{ldaxp, nop, stlxp, nop}, []fixups.Reason{none, excl, none, none}},
		{"unprivileged", []uint32{ldtxr, nop, sttxr, nop}, []fixups.Reason{none, excl, none, none}},
		{"without the store", []uint32{ldxr, nop, nop, ret, stxr}, []fixups.Reason{none, none, none, none, none}},
		{"given up", []uint32{ldxr, nop, clrex, nop, stxr}, []fixups.Reason{none, none, none, none, none}},
		{"a system call between", []uint32{ldxr, nop, svc, nop, stxr}, []fixups.Reason{none, none, none, none, none}},
		{"a call between", []uint32{ldxr, 0x94001000, nop, stxr}, []fixups.Reason{none, excl, excl, none}},
		// The window goes on at 10: b 10; (never run) nop; ret; 10: nop; stxr.
		{"round a branch", []uint32{ldxr, bWord(3), nop, ret, nop, stxr}, []fixups.Reason{none, excl, none, none, excl, none}},
		// The store is in front of the load.
		{"backwards", []uint32{nop, stxr, ret, ldxr, bWord(-4)}, []fixups.Reason{excl, none, none, none, excl}},
		{"behind another load", []uint32{ldxr, nop, ldxr, nop, stxr}, []fixups.Reason{none, none, none, excl, none}},
		{"ordered accesses are none", []uint32{0xc8dffc20, nop, 0xc89ffc23}, []fixups.Reason{none, none, none}},
		{"compare and swap in one", []uint32{0xc8a07c23, nop, stxr}, []fixups.Reason{none, none, none}},
		{"movprfx", []uint32{movprfx, 0x04400000, nop}, []fixups.Reason{none, adj, none}},
		{"movprfx under a predicate", []uint32{movprfxM, 0x04800000, nop}, []fixups.Reason{none, adj, none}},
		{"pacm", []uint32{pacm, 0xd503233f, nop}, []fixups.Reason{none, adj, none}},
	} {
		const pc = 0x1000
		code := encode(tt.words...)
		env := &reloc.Env{Code: &reloc.Text{Addr: pc, Data: code}}
		for i, want := range tt.want {
			var in reloc.Insn
			err := analyze(&in, code[4*i:], pc+uint64(4*i), env)
			if reloc.ReasonOf(err) != want {
				t.Errorf("%s +%#x: %v, want %q", tt.name, 4*i, err, want)
			}
			if excl := want == excl; excl && !in.Hazards.Has(fixups.HazardExclusive) || want == adj && !in.Hazards.Has(fixups.HazardAdjacent) {
				t.Errorf("%s +%#x: hazards %b", tt.name, 4*i, in.Hazards)
			}
		}
	}
}

// A window is found as far as the manual lets one be, and no farther.
func TestWindowEnds(t *testing.T) {
	for n, want := range map[int]error{windowWords - 1: fixups.ReasonExclusive, windowWords + 1: nil} {
		words := []uint32{ldxr}
		for range 2*n - 1 {
			words = append(words, nop)
		}
		code := encode(append(words, stxr)...)
		var in reloc.Insn
		err := analyze(&in, code[4*n:], 4*uint64(n), &reloc.Env{Code: &reloc.Text{Data: code}})
		if err != want {
			t.Errorf("%d words from both ends: %v", n, err)
		}
	}
}

// exact hands out no byte more than there is.
type exact struct {
	addr uint64
	code []byte
}

func (x exact) Bytes(addr uint64) []byte {
	if d := addr - x.addr; d < uint64(len(x.code)) {
		return x.code[d:len(x.code):len(x.code)]
	}
	return nil
}

// Nothing is looked at that is not there: before the first word of a text, or
// behind its last, whole or cut.
func TestContextAtEdges(t *testing.T) {
	whole := encode(ldxr, 0xeb04001f, bCond(1, 4), stxr, 0x35ffff82, ret, clrex, ret)
	for n := 1; n <= len(whole); n++ {
		for i := 0; i+4 <= n; i += 4 {
			for from := 0; from <= i; from += 4 {
				code := whole[from:n]
				env := &reloc.Env{Code: exact{4, code}} // at the start of the address space
				var in reloc.Insn
				_ = analyze(&in, code[i-from:], 4+uint64(i-from), env)
			}
		}
	}
}

// The handler behind a signature is known; the word itself may not be patched.
func TestRseq(t *testing.T) {
	code := encode(rseqSignature, nop)
	env := &reloc.Env{Code: &reloc.Text{Addr: 0x1000, Data: code}}
	var in reloc.Insn
	if err := analyze(&in, code[4:], 0x1004, env); err != nil || !in.Hazards.Has(fixups.HazardRSeq) {
		t.Errorf("handler: hazards %b, %v", in.Hazards, err)
	}
	if err := analyze(&in, code, 0x1000, env); err != nil || A64.Patch(&in, env) != 0 {
		t.Errorf("signature: patch %b, %v", A64.Patch(&in, env), err)
	}
}

func TestPatch(t *testing.T) {
	trap, both := fixups.PatchTrap, fixups.PatchTrap|fixups.PatchBranch
	for _, tt := range []struct {
		w       uint32
		on, off fixups.Patch // branch target identification: on or unknown, and off
	}{
		{nop, both, both},
		{0xd503245f, trap, both}, // bti c
		{0xd503241f, both, both}, // bti
		{0xd503233f, trap, both}, // paciasp
		{0xd503237f, trap, both}, // pacibsp
		{0xd50323bf, both, both}, // autiasp
		{clrex, both, both},
		{0xdac1a3fe, trap, both}, // paciasppc
		{0xdac183fe, both, both}, // pacnbiasppc
		{ldxr, 0, 0}, {stlxp, 0, 0}, {rseqSignature, 0, 0}, {movprfx, 0, 0}, {pacm, 0, 0},
		{0x19010440, 0, 0}, // cpyfp
	} {
		var in reloc.Insn
		if err := A64.Decode(&in, encode(tt.w), 0); err != nil {
			t.Fatalf("%08x: %v", tt.w, err)
		}
		for _, bti := range []reloc.Switch{reloc.On, reloc.Unknown, reloc.Off} {
			want := tt.on
			if bti == reloc.Off {
				want = tt.off
			}
			if got := A64.Patch(&in, &reloc.Env{BTI: bti}); got != want {
				t.Errorf("%08x, bti %d: %b, want %b", tt.w, bti, got, want)
			}
		}
	}
}

// In kernel mode what reads the registers of the last exception is not entered by
// another one.
func TestPatchKernel(t *testing.T) {
	trap, branch := fixups.PatchTrap, fixups.PatchBranch
	for w, want := range map[uint32]fixups.Patch{
		0xd5384020: branch, 0xd5384001: branch, // mrs elr_el1, spsr_el1
		0xd5385200: branch, 0xd5386000: branch, // mrs esr_el1, far_el1
		0xd53c4020: branch, 0xd53d5200: branch, // mrs elr_el2, esr_el12
		0xd5384100: trap | branch, 0xd5384240: trap | branch, // mrs sp_el0, currentel
		0xd5184020: trap | branch, 0xd53bd040: trap | branch, // msr elr_el1; mrs tpidr_el0
		0xd53b4200: trap | branch, 0xd5381000: trap | branch, // mrs nzcv, sctlr_el1
	} {
		var in reloc.Insn
		if err := A64.Decode(&in, encode(w), 0); err != nil {
			t.Fatalf("%08x: %v", w, err)
		}
		if got := A64.Patch(&in, &reloc.Env{Mode: reloc.ModeKernel}); got != want {
			t.Errorf("%08x in kernel mode: %b, want %b", w, got, want)
		}
		if got := A64.Patch(&in, &reloc.Env{}); got != trap|branch {
			t.Errorf("%08x in user mode: %b", w, got)
		}
	}
}
