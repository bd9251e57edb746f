package arm64

import (
	"math/rand/v2"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

func TestDecode(t *testing.T) {
	const pc = 0x400120
	goesOn, hasTarget, operand, mem := reloc.Continues, reloc.HasTarget, reloc.PCOperand, reloc.Accesses
	lit := hasTarget | operand | goesOn
	for _, tt := range []struct {
		word   uint32
		name   string
		class  fixups.Class
		fam    family
		flags  reloc.InsnFlags
		target uint64
	}{
		{0x14000040, "b", fixups.ClassBranch, famB, hasTarget, pc + 0x100},
		{0x16000000, "b", fixups.ClassBranch, famB, hasTarget, (pc - 1<<27) & (1<<64 - 1)},
		{0x15ffffff, "b", fixups.ClassBranch, famB, hasTarget, pc + 1<<27 - 4},
		{0x97ffffff, "bl", fixups.ClassCall, famBL, hasTarget | goesOn, pc - 4},
		{0x54ffffe0, "b.cond", fixups.ClassCondBranch, famBCond, hasTarget | goesOn, pc - 4},
		{0x54800001, "b.cond", fixups.ClassCondBranch, famBCond, hasTarget | goesOn, (pc - 1<<20) & (1<<64 - 1)},
		{0x547ffff0, "bc.cond", fixups.ClassCondBranch, famBCond, hasTarget | goesOn, pc + 1<<20 - 4},
		{0x5400004e, "b.al, bc.al", fixups.ClassBranch, famBCond, hasTarget, pc + 8},
		{0x5400005f, "b.al, bc.al", fixups.ClassBranch, famBCond, hasTarget, pc + 8},
		{0xb4800000, "cbz, cbnz", fixups.ClassCondBranch, famCBZ, hasTarget | goesOn, (pc - 1<<20) & (1<<64 - 1)},
		{0xb7040000, "tbz, tbnz", fixups.ClassCondBranch, famTBZ, hasTarget | goesOn, pc - 1<<15},
		{0x3603ffe0, "tbz, tbnz", fixups.ClassCondBranch, famTBZ, hasTarget | goesOn, pc + 1<<15 - 4},
		{0x74002000, "cb<cc> register", fixups.ClassCondBranch, famCBReg, hasTarget | goesOn, pc - 1<<10},
		{0x7423a005, "cbb<cc>, cbh<cc>", fixups.ClassCondBranch, famCBReg, hasTarget | goesOn, pc - 0x400},
		{0xf5c01fe3, "cb<cc> immediate", fixups.ClassCondBranch, famCBImm, hasTarget | goesOn, pc + 1<<10 - 4},
		{0x10800000, "adr", fixups.ClassPCRelative, famADR, lit, (pc - 1<<20) & (1<<64 - 1)},
		{0x707fffff, "adr", fixups.ClassPCRelative, famADR, lit, pc + 1<<20 - 1},
		{0x90800000, "adrp", fixups.ClassPCRelative, famADRP, lit, 0xffffffff00400000},
		{0xf07fffff, "adrp", fixups.ClassPCRelative, famADRP, lit, 0x1003ff000},
		{0x18800000, "ldr (literal)", fixups.ClassPCRelative, famLDRLit, lit | mem, (pc - 1<<20) & (1<<64 - 1)},
		{0x98000040, "ldrsw (literal)", fixups.ClassPCRelative, famLDRLit, lit | mem, pc + 8},
		{0xd8000040, "prfm (literal)", fixups.ClassPCRelative, famPRFMLit, lit, pc + 8},
		{0x9c000040, "ldr (literal, simd&fp)", fixups.ClassPCRelative, famLDRVLit, lit | mem, pc + 8},
		{0xf380005f, "autiasppc, autibsppc", fixups.ClassPCRelative, famAUTPPC, lit, pc - 8},
		{0x551fffff, "retaasppc, retabsppc", fixups.ClassReturn, famRETPPC, hasTarget | operand, pc - 0xffff*4},
		{0xdac1a3fe, "paciasppc, pacibsppc", fixups.ClassPCRelative, famPACPPC, operand | goesOn, 0},
		{0xd61f0060, "br", fixups.ClassIndirectBranch, famBR, 0, 0},
		{0xd63f03c0, "blr", fixups.ClassIndirectCall, famBLR, goesOn, 0},
		{0xd65f03c0, "ret", fixups.ClassReturn, famRET, 0, 0},
		{0xd65f0bff, "retaa, retab", fixups.ClassReturn, famRETAuth, 0, 0},
		{0xd69f03e0, "eret", fixups.ClassPrivileged, famERET, 0, 0},
		{0xd4000001, "svc", fixups.ClassKernelEntry, famSVC, goesOn, 0},
		{0xd4200000, "brk", fixups.ClassTrap, famBRK, 0, 0},
		{0x00000000, "udf", fixups.ClassTrap, famUDF, 0, 0},
		{0xc85f7c20, "ldxr, ldaxr", fixups.ClassExclusive, famExclusive, mem | goesOn, 0},
		{0xc8dffc20, "ldar, ldlar", fixups.ClassPlain, famPlain, mem | goesOn, 0},
		{0xc8a07c23, "cas", fixups.ClassPlain, famPlain, mem | goesOn, 0},
		{0xd503201f, "nop", fixups.ClassPlain, famNop, goesOn, 0},
		{0xd503245f, "bti", fixups.ClassPlain, famBTI, goesOn, 0},
		{0xd50324ff, "pacm", fixups.ClassPrefix, famPACM, goesOn, 0},
		{0x0420bc20, "movprfx", fixups.ClassPrefix, famMOVPRFX, goesOn, 0},
		{0xd5233060, "tstart", fixups.ClassTransaction, famTSTART, goesOn, 0},
		{0xd53bd041, "mrs tpidr_el0", fixups.ClassPlain, famMRS, goesOn, 0},
		{0xd53b4220, "mrs daif", fixups.ClassPrivileged, famDAIF, goesOn, 0},
		{0x91000463, "add, sub (immediate)", fixups.ClassPlain, famPlain, goesOn, 0},
	} {
		var in reloc.Insn
		if err := A64.Decode(&in, encode(tt.word), pc); err != nil {
			t.Errorf("%08x: %v", tt.word, err)
			continue
		}
		if got := makeRow(in.Row).Name; got != tt.name || in.Class != tt.class || in.Flags != tt.flags || in.Target != tt.target || familyOf(&in) != tt.fam {
			t.Errorf("%08x: %s %v, family %d, flags %b, target %#x; want %+v", tt.word, got, in.Class, familyOf(&in), in.Flags, in.Target, tt)
		}
	}
}

// A literal that overlaps its own load is one.
func TestReadsOwnBytes(t *testing.T) {
	for word, sizes := range map[uint32]int{0x18000000: 4, 0x58000000: 8, 0x98000000: 4, 0x1c000000: 4, 0x5c000000: 8, 0x9c000000: 16, 0xd8000000: 0} {
		for d := -5; d <= 2; d++ {
			var in reloc.Insn
			if err := A64.Decode(&in, encode(word|uint32(d)&(1<<19-1)<<5), 0x1000); err != nil {
				t.Fatal(err)
			}
			want := d <= 0 && -4*d < sizes
			if got := in.Hazards.Has(fixups.HazardReadsOwnBytes); got != want || in.Target != uint64(0x1000+4*d) {
				t.Errorf("%08x by %d words: %t, target %#x", word, d, got, in.Target)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for _, w := range []uint32{
		0x00010000, // no UDF
		0x74800000, // CB<cc> with cc = 100
		0xf4008000, // CBB of 64 bits
		0x75004000, // CB<cc> of a constant, bit 14
		0xd61f0001, // BR with bits of an authenticated one
		0xd69f0000, // ERET with a register
		0xd4200001, // BRK with low bits
		0xd5032a5f, // a hint without a name
		0xd5000000, // op0 = 0, no instruction
		0xd503417f, // SMSTART of neither mode
		0xdc000000, // no literal
		0xdac1affe, // one source, next to PACIASPPC
		0xdac2b800, // one source, no such opcode2
		0x08000000 | 1<<21 | 1<<31 | 1<<23 | 1<<10, // CAS with Rt2 of 1
		0x02000000,                           // between SME and SVE
		0xffffffff &^ (1 << 25) &^ (7 << 26), // 1110 0001 ...: bits 28 to 25 are 0000 with bit 31
	} {
		var in reloc.Insn
		err := A64.Decode(&in, encode(w), 0)
		if w>>31 == 1 && w>>25&15 == 0 {
			if err != nil {
				t.Errorf("%08x: %v, which is SME's", w, err)
			}
			continue
		}
		if err != fixups.ReasonReserved || in.Len != wordLen || in.Class != fixups.ClassInvalid {
			t.Errorf("%08x: %v, %d bytes, %v", w, in.Class, in.Len, err)
		}
	}
}

// Every row has encodings that decode to it, what follows does not matter, and every
// cut of them asks for more bytes.
func TestRowsDecode(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2)).Uint64
	for id := uint32(1); id < uint32(len(facts)); id++ {
		for range 20 {
			w, ok := randomOf(id, rnd)
			if !ok {
				t.Errorf("no encoding of row %d, %s : %s", id, rowTexts[id].pattern, rowTexts[id].name)
				break
			}
			checkCuts(t, id, encode(w))
		}
	}
}

func checkCuts(t *testing.T, id uint32, code []byte) {
	t.Helper()
	in := reloc.Insn{Target: 1, AltLen: 3, Bytes: [16]byte{4: 5, 15: 6}} // used storage
	var clean, short reloc.Insn
	if err := A64.Decode(&in, code, 0x1000); err != nil || in.Row != id {
		t.Fatalf("%x: row %d, %v; want row %d", code, in.Row, err, id)
	}
	if err := A64.Decode(&clean, append(code[:4:4], 1, 2, 3, 4), 0x1000); err != nil || clean != in {
		t.Fatalf("%x: what was there, or what follows, matters: %v\n%+v\n%+v", code, err, in, clean)
	}
	for n := range code {
		if err := A64.Decode(&short, code[:n:n], 0x1000); err != fixups.ReasonTruncated || int(short.Len) != n {
			t.Fatalf("%x cut to %d: %d bytes, %v", code, n, short.Len, err)
		}
	}
}

// What Rows says agrees with Row, and every row has a source.
func TestRows(t *testing.T) {
	rows := A64.Rows()
	for i, r := range rows {
		if got, ok := A64.Row(r.ID); !ok || got != r || r.ID != uint32(i+1) {
			t.Errorf("row %d: %+v, %v", i, got, ok)
		}
		if r.Source == "" || r.Name == "" || r.Class == fixups.ClassInvalid {
			t.Errorf("row %+v is incomplete", r)
		}
	}
	for _, id := range []uint32{0, uint32(len(rows) + 1)} {
		if _, ok := A64.Row(id); ok {
			t.Errorf("row %d exists", id)
		}
	}
}

// regSet makes a set from names.
func regSet(t *testing.T, names []string) (s fixups.RegSet) {
	t.Helper()
	for _, n := range names {
		r, ok := regs.Reg(n)
		if !ok {
			t.Fatalf("no register %s", n)
		}
		s.Add(r)
	}
	return s
}

func TestRegisters(t *testing.T) {
	type list []string
	for _, tt := range []struct {
		word                 uint32
		reads, writes, kills list
	}{
		{0x91000463, list{"x3"}, list{"x3"}, list{"x3"}},                                   // add x3,x3,#1
		{0x910003bf, list{"x29"}, list{"sp"}, list{"sp"}},                                  // mov sp,x29
		{0xab030041, list{"x2", "x3"}, list{"x1", "flags"}, list{"x1", "flags"}},           // adds x1,x2,x3
		{0xf2800001, list{"x1"}, list{"x1"}, list{"x1"}},                                   // movk x1,#0
		{0xb3400041, list{"x1", "x2"}, list{"x1"}, list{"x1"}},                             // bfm x1,x2
		{0xf9400041, list{"x2"}, list{"x1"}, list{"x1"}},                                   // ldr x1,[x2]
		{0xf90003e1, list{"x1", "sp"}, nil, nil},                                           // str x1,[sp]
		{0xa9bf7bfd, list{"sp", "x29", "x30"}, list{"sp"}, nil},                            // stp x29,x30,[sp,#-16]!
		{0xa8c17bfd, list{"sp"}, list{"sp", "x29", "x30"}, list{"x29", "x30"}},             // ldp x29,x30,[sp],#16
		{0x58000005, nil, list{"x5"}, list{"x5"}},                                          // ldr x5,.
		{0x5800001f, nil, nil, nil},                                                        // ldr xzr,.
		{0x9c000005, nil, list{"v5"}, list{"v5"}},                                          // ldr q5,.
		{0x1000001f, nil, nil, nil},                                                        // adr xzr,.
		{0xd63f03c0, list{"x30"}, list{"x30"}, list{"x30"}},                                // blr x30
		{0xd73f0909, list{"x8", "x9"}, list{"x30"}, list{"x30"}},                           // blraa x8,x9
		{0xd73f091f, list{"x8", "sp"}, list{"x30"}, list{"x30"}},                           // blraa x8,sp
		{0xd65f0bff, list{"x30", "sp"}, nil, nil},                                          // retaa
		{0x54000040, list{"flags"}, nil, nil},                                              // b.eq
		{0x5400004e, nil, nil, nil},                                                        // b.al
		{0x7423a005, list{"x3", "x5"}, nil, nil},                                           // cbb
		{0xc8027c23, list{"x1", "x3"}, list{"x2"}, list{"x2"}},                             // stxr w2,x3,[x1]
		{0xc8a17c43, list{"x1", "x2", "x3"}, list{"x1"}, list{"x1"}},                       // cas x1,x3,[x2]
		{0xd503233f, list{"x30", "sp"}, list{"x30"}, nil},                                  // paciasp
		{0xd53b4203, list{"flags"}, list{"x3"}, list{"x3"}},                                // mrs x3,nzcv
		{0xd51b4203, list{"x3"}, list{"flags"}, list{"flags"}},                             // msr nzcv,x3
		{0x9a830041, list{"x2", "x3", "flags"}, list{"x1"}, list{"x1"}},                    // csel x1,x2,x3,eq
		{0xd503201f, nil, nil, nil},                                                        // nop
		{0x1e7e0022, list{"v1", "fpcr"}, list{"x2", "flags", "fpsr"}, list{"x2", "flags"}}, // fjcvtzs w2,d1
		{0xf8200041, list{"x0", "x2"}, list{"x1"}, list{"x1"}},                             // ldadd x0,x1,[x2]
		{0xb8e1805f, list{"x1", "x2"}, nil, nil},                                           // swpal w1,wzr,[x2]
		{0x99500041, list{"x2"}, list{"x1"}, list{"x1"}},                                   // ldapur w1,[x2,#-256]
		{0x19000be1 &^ 0xc00, list{"x1", "sp"}, nil, nil},                                  // stlurb w1,[sp]
		{0xd53b4243, list{"za"}, list{"x3"}, list{"x3"}},                                   // mrs x3,svcr
	} {
		var in reloc.Insn
		if err := A64.Decode(&in, encode(tt.word), 0); err != nil {
			t.Errorf("%08x: %v", tt.word, err)
			continue
		}
		var use reloc.RegUse
		A64.Registers(&use, &in)
		want := reloc.RegUse{Reads: regSet(t, tt.reads), Writes: regSet(t, tt.writes), Kills: regSet(t, tt.kills)}
		if use != want {
			t.Errorf("%08x %s: %+v, want %+v", tt.word, makeRow(in.Row).Name, use, want)
		}
	}
}
