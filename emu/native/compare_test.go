package native_test

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// The plans here are written by hand or spoiled: the judge is what is tested.

var (
	info64 = &reloc.Info{Name: "amd64", Bits: 64, Trap: []byte{0xcc}, TrapAdvances: 1,
		Zones: []reloc.Zone{{Zone: 128, Kept: 128}}}
	info32 = &reloc.Info{Name: "386", Bits: 32, Trap: []byte{0xcc}, TrapAdvances: 1}
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// copyPlan is code and a jump to behind the site; the code is one boundary.
func copyPlan(bits, siteLen int, code []byte) *fixups.Plan {
	n := len(code)
	to := int64(siteLen)
	p := &fixups.Plan{Form: fixups.FormJump, Far: bits == 64, SiteLen: uint8(siteLen), Reach: fixups.AnyReach()}
	p.Code = append(p.Code, code...)
	if bits == 64 {
		p.Code = append(p.Code, 0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		p.Relocs = []fixups.Reloc{{Off: uint16(n + 6), Size: 8, Bits: 64, Base: fixups.BaseSite, Addend: to}}
	} else {
		p.Code = append(p.Code, 0xe9, 0, 0, 0, 0)
		p.Relocs = []fixups.Reloc{{Off: uint16(n + 1), Size: 4, Bits: 32, Base: fixups.BaseSite, Addend: to - 4, PCRel: true, Check: fixups.CheckWrap}}
	}
	pc := func(at int64) fixups.Program {
		return fixups.Program{{Op: fixups.OpMov, Dst: fixups.PC(), A: fixups.SitePlus(at)}}
	}
	p.Points = []fixups.Point{{Off: 0, Back: pc(0), HasBack: true},
		{Off: uint16(n), State: fixups.StateDone, Forward: pc(to), HasForward: true}}
	return p
}

// TestCompare: what differs is seen, wherever a state can differ.
func TestCompare(t *testing.T) {
	o := oracle(t)
	tests := []struct {
		name       string
		bits       int
		site, code string // the site's if empty
		what       string // that differs, empty if nothing does
	}{
		{name: "add", bits: 64, site: "48014308"},
		{name: "vaddps ymm", bits: 64, site: "c5f458c2"},
		{name: "vmovups load", bits: 64, site: "c5fc104310"},
		{name: "vmovaps store", bits: 64, site: "c5fc294310"},
		{name: "vfmadd", bits: 64, site: "c4e2f5984310"},
		{name: "vpmaskmov", bits: 64, site: "c4e2758e5310"},
		{name: "vzeroupper", bits: 64, site: "c5f877"},
		{name: "sha256", bits: 64, site: "0f38cbc1"},
		{name: "xsave", bits: 64, site: "480fae23"},
		{name: "fld", bits: 64, site: "dd4310"},
		{name: "fxsave", bits: 64, site: "0fae07"},
		{name: "rep movsb", bits: 64, site: "f3a4"},
		{name: "cmpxchg16b", bits: 64, site: "f0480fc70e"},
		{name: "rdfsbase", bits: 64, site: "f3480faec0"},
		{name: "wrong upper half", bits: 64, site: "c5fc28c1", code: "c5f828c1", what: "xmm0.2"},
		{name: "wrong upper source", bits: 64, site: "c4e37d06c131", code: "c4e37d06c130", what: "xmm0."},
		{name: "wrong high register", bits: 64, site: "c4417c28c1", code: "c4417c28c2", what: "xmm8"},
		{name: "wrong register", bits: 64, site: "48ffc0", code: "48ffc1", what: "rax"},
		{name: "wrong flags", bits: 64, site: "488d4001", code: "48ffc0", what: "flags"},
		{name: "wrong carry", bits: 64, site: "f8", code: "f9", what: "flags"},
		{name: "wrong memory", bits: 64, site: "88450a", code: "88450b", what: "["},
		{name: "wrong vector memory", bits: 64, site: "c5fc114500", code: "c5fc114501", what: "["},
		{name: "wrong base", bits: 64, site: "f3480faed0", code: "f3480faed1", what: "fsbase"},
		{name: "wrong fault", bits: 64, site: "488b4310", code: "488b4318", what: "rax"},
		{name: "wrong direction", bits: 64, site: "8a03", code: "8803", what: "rax"},
		{name: "alignment", bits: 64, site: "c5fc284310", code: "c5fc104310", what: "stop"},
		{name: "dead store", bits: 64, site: "90", code: "884424f0", what: "["},
		{name: "x87 top", bits: 64, site: "d9f7", code: "d9f6", what: "fsw"},
		{name: "x87 tag", bits: 64, site: "ddc0", code: "ddc1", what: "ftag"},
		{name: "x87 register", bits: 64, site: "d9e0", code: "d9e1", what: "st0"},
		{name: "trap flag", bits: 64, site: "9c"},
		{name: "inc", bits: 32, site: "40"},
		{name: "vaddps ymm", bits: 32, site: "c5f458c2"},
		{name: "pusha", bits: 32, site: "60"},
		{name: "16 bits", bits: 32, site: "678b4208"},
		{name: "aaa", bits: 32, site: "37"},
		{name: "wrong", bits: 32, site: "40", code: "41", what: "eax"},
		{name: "wrong upper half", bits: 32, site: "c5fc28c1", code: "c5f828c1", what: "xmm0.2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			info := info64
			if tt.bits == 32 {
				info = info32
			}
			w, err := emu.NewWorker(o, info, 1)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			site, code := unhex(t, tt.site), unhex(t, tt.code)
			if tt.code == "" {
				code = site
			}
			pc, _, err := w.NextSite()
			if err != nil {
				t.Fatal(err)
			}
			in := &reloc.Insn{PC: pc, Len: uint8(len(site)), Class: fixups.ClassPlain}
			copy(in.Bytes[:], site)
			if err := w.Site(in); err != nil {
				t.Fatal(err)
			}
			if err := w.States(48); err != nil {
				t.Fatal(err)
			}
			p := copyPlan(tt.bits, len(site), code)
			p.X87 = site[0] >= 0xd8 && site[0] < 0xe0
			reaches := w.Reaches(p)
			if len(reaches) < 3 {
				t.Fatalf("only %d placements", len(reaches))
			}
			for _, arena := range reaches {
				var res emu.Result
				if err := w.Check(&res, p, &reloc.Env{}, emu.Placement{Arena: arena, Interrupt: 8}); err != nil {
					t.Fatal(err)
				}
				if seen := res.Verdict == emu.Mismatch; seen != (tt.what != "") || res.Verdict == emu.Unsupported {
					t.Fatalf("%v %s\n%v", res.Verdict, res.Limit, res.Diff)
				}
				if tt.what == "" {
					if res.States < 24 {
						t.Errorf("only %d states", res.States)
					}
					continue
				}
				if !slices.ContainsFunc(res.Diff.List, func(d emu.Difference) bool { return strings.HasPrefix(d.What, tt.what) }) {
					t.Errorf("no difference in %s:\n%v", tt.what, res.Diff)
				}
			}
		})
	}
}

// spoiled makes plans of a port with one mistake: reloc number field leads one
// byte too far.
type spoiled struct {
	reloc.Arch
	field int
}

func (s spoiled) Plan(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) error {
	if err := s.Arch.Plan(p, in, env); err != nil {
		return err
	}
	if s.field < len(p.Relocs) {
		p.Relocs = slices.Clone(p.Relocs)
		p.Relocs[s.field].Addend++
	}
	return nil
}

// TestSpoiled: each field of each plan for an operand that is relative to pc
// matters, and one that is wrong by a byte is a mismatch. A comparison that did
// not see it would prove nothing.
func TestSpoiled(t *testing.T) {
	o := oracle(t)
	for _, a := range arches() {
		w, err := emu.NewWorker(o, a.Info(), 1)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		plans, n := 0, 0
		for r := range corpus.X86Rows() {
			if !slices.Contains(r.Modes, a.Info().Name) {
				continue
			}
			for _, code := range variants(a, r.Bytes) {
				if n++; n%7 != 0 && !sweeping() {
					continue
				}
				plans += spoil(t, w, a, code)
			}
		}
		t.Logf("%s: %d spoiled plans, all seen", a.Info().Name, plans)
		if plans < 100 {
			t.Errorf("%s: only %d plans", a.Info().Name, plans)
		}
	}
}

// spoil judges plans for code with each field spoiled, and returns how many were
// compared.
func spoil(t *testing.T, w *emu.Worker, a reloc.Arch, code []byte) int {
	t.Helper()
	plans, own := 0, slices.Clone(code)
	for field := range 4 {
		for _, env := range []reloc.Env{{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsNear}, {Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsFar, Spill: true}} {
			if a.Info().NearOnly && env.Slots == reloc.SlotsFar {
				continue
			}
			pc, _, err := w.NextSite()
			if err != nil {
				t.Fatal(err)
			}
			var in reloc.Insn
			var p reloc.Plan
			if reloc.Analyze(&in, a, code, pc, nil) != nil || a.Plan(&p, &in, &env) != nil || field >= len(p.Relocs) {
				continue
			}
			// Now and then the operand is left where it is, in front of more of the
			// same bytes, or results do not depend on it.
			var tally emu.Tally
			code := slices.Clone(own)
			for try := 0; try < 40 && tally.Mismatches() == 0; try++ {
				// An immediate of zero would shift by nothing, test no bit and use no
				// element of the operand.
				code[len(code)-1] = own[len(own)-1] | [2]byte{0x31, 1}[try&1]
				if _, err := w.JudgeCode(&tally, spoiled{a, field}, code, []reloc.Env{env}, emu.Options{States: 16, Placements: 1}); err != nil {
					t.Fatal(err)
				}
			}
			if tally.States == tally.Faults && tally.Mismatches() == 0 {
				continue // nothing was compared, or nothing but the fault of the first instruction
			}
			plans++
			if tally.Mismatches() == 0 {
				t.Errorf("%s % x: field %d of slots %d is wrong by one, and nothing is seen", a.Info().Name, in.Raw(), field, env.Slots)
			}
		}
	}
	return plans
}

// misled makes plans of a port whose programs out of the slot lead a byte too far.
type misled struct{ reloc.Arch }

func (m misled) Plan(p *reloc.Plan, in *reloc.Insn, env *reloc.Env) error {
	if err := m.Arch.Plan(p, in, env); err != nil {
		return err
	}
	p.Points = slices.Clone(p.Points)
	for i := range p.Points {
		pt := &p.Points[i]
		pt.Forward = slices.Clone(pt.Forward)
		for k := range pt.Forward {
			if s := &pt.Forward[k]; s.Dst == fixups.PC() {
				s.A.Val++
			}
		}
	}
	return nil
}

// TestInterrupted: runs are really stopped at boundaries, and a program out that
// is wrong is seen.
func TestInterrupted(t *testing.T) {
	o := oracle(t)
	for _, a := range arches() {
		for _, arch := range []reloc.Arch{a, misled{a}} {
			w, err := emu.NewWorker(o, a.Info(), 1)
			if err != nil {
				t.Fatal(err)
			}
			var tally emu.Tally
			envs := []reloc.Env{{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsNear}}
			if _, err := w.JudgeCode(&tally, arch, unhex(t, "c5fc104310"), envs, emu.Options{States: 32, Interrupt: 32}); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if wrong := tally.Mismatches() > 0; wrong != (arch != a) || tally.Points < 32 && !wrong {
				t.Errorf("%s %T: %d of %d plans are wrong, %d interruptions", a.Info().Name, arch, tally.Mismatches(), tally.Plans, tally.Points)
			}
		}
	}
}

// TestLoopPrefixes: where F2 or F3 asks LOOPE or LOOPNE for the opposite, makers
// differ; what is planned all the same is right here.
func TestLoopPrefixes(t *testing.T) {
	o := oracle(t)
	for _, a := range arches() {
		w, err := emu.NewWorker(o, a.Info(), 1)
		if err != nil {
			t.Fatal(err)
		}
		var tally emu.Tally
		for _, op := range []string{"e010", "e110", "e210", "e310", "7410"} {
			for _, prefix := range []string{"f2", "f3", "f2f3", "66f2", "66f3", "f366"} {
				for range 4 {
					envs := append(environments(a), reloc.Env{Vendor: o.Vendor(), Spill: true})
					if _, err := w.JudgeCode(&tally, a, unhex(t, prefix+op), envs, emu.Options{States: 24, Interrupt: 2, Placements: 1}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		report(t, &tally)
		w.Close()
	}
}
