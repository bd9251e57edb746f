package x86

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// TestSyscallCode holds the bytes of both forms, placed, and what the programs do
// with a thread that is found at each boundary.
func TestSyscallCode(t *testing.T) {
	const site, slot = 0x7f1200400000, 0x2a0000500000
	const back = "ff250000000002004000127f0000" // jmp [rip+0], end of the site
	for _, tt := range []struct {
		name, want string
		env        reloc.Env
	}{
		{"jump", "0f05" + "48b902004000127f0000" + back, reloc.Env{Forms: fixups.FormJump.Bit()}},
		{"step", "0f05" + "48b902004000127f0000" + "4d8d9b00ffffff" + back, reloc.Env{Forms: fixups.FormStep.Bit()}},
		{"step to a trap", "0f05" + "cc", reloc.Env{Forms: fixups.FormStep.Bit(), Stop: fixups.StopTrap}},
	} {
		var p reloc.Plan
		if err := reloc.Relocate(&p, AMD64, unhex(t, "0f05"), site, &tt.env); err != nil {
			t.Fatal(err)
		}
		code, err := fixups.Place(nil, &p, fixups.Bases{Site: site, Slot: slot})
		if got := hex.EncodeToString(code); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.name, got, err, tt.want)
		}
		if !slices.Equal(p.Escapes, []fixups.Escape{{Off: 2, Kind: fixups.EscapeChild}}) {
			t.Errorf("%s: escapes %v", tt.name, p.Escapes)
		}
		for i := range p.Points {
			pt := &p.Points[i]
			prog := pt.Forward
			if pt.State == fixups.StateStart {
				prog = pt.Back
			}
			syscallLeft(t, tt.name, prog, &p, pt, site, slot)
		}
	}
}

// syscallLeft runs a point's program on a thread that has come back from the kernel
// to the point: rcx is the address in the slot, and r11 and the flags have a trap
// flag or none.
func syscallLeft(t *testing.T, name string, prog fixups.Program, p *reloc.Plan, pt *fixups.Point, site, slot uint64) {
	t.Helper()
	for _, own := range []uint64{0, 1 << bitTF} {
		m := &state{regs: map[fixups.Reg]uint64{RCX: slot + 2, r11: 0x246 | own, FLAGS: 0x246 | own}}
		if p.Form == fixups.FormStep && p.Stop == fixups.StopHardware {
			m.regs[r11] |= 1 << bitTF // the stepper's
		}
		stepped := m.regs[r11]
		m.regs[fixups.RegPC] = slot + uint64(pt.Off)
		if pt.State == fixups.StateDone {
			m.regs[RCX], m.regs[r11] = site+2, 0x246|own // the code has done it
		}
		if err := fixups.Run(prog, m, &fixups.Bases{Site: site, Slot: slot}, new(fixups.Temps), 64); err != nil {
			t.Fatal(err)
		}
		wantPC := site + 2
		if pt.State == fixups.StateStart {
			wantPC = site
		}
		if pt.State == fixups.StatePart && pt.Off != 2 {
			m.regs[RCX] = site + 2 // by the code before
		}
		if m.regs[fixups.RegPC] != wantPC || m.regs[RCX] != site+2 || m.regs[r11] != 0x246|own {
			t.Errorf("%s, point %d, r11 %#x: pc %#x rcx %#x r11 %#x", name, pt.Off, stepped,
				m.regs[fixups.RegPC], m.regs[RCX], m.regs[r11])
		}
	}
}

// TestSyscallPost: a call that does not come back behind itself keeps its registers
// (rt_sigreturn, execve); one that a signal sends back to its start has them put
// right, and an interrupted one is done.
func TestSyscallPost(t *testing.T) {
	const site, slot, other = 0x7f1200400000, 0x2a0000500000, 0x555500001234
	var p reloc.Plan
	if err := reloc.Relocate(&p, AMD64, unhex(t, "0f05"), site, &reloc.Env{Forms: fixups.FormStep.Bit()}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name                  string
		prog                  fixups.Program
		pc, rcx, r11          uint64
		wantPC, wantC, want11 uint64
	}{
		{"done", p.Post, slot + 2, slot + 2, 0x346, site + 2, site + 2, 0x246},
		{"gone", p.Post, other, 1, 0x346, other, 1, 0x346},
		{"gone with the slot's address in rcx", p.Post, other, slot + 2, 0x346, other, slot + 2, 0x346},
		{"not begun", p.Abort, slot, 1, 0x346, site, 1, 0x346},
		{"to be restarted", p.Abort, slot, slot + 2, 0x346, site, site + 2, 0x246},
		{"interrupted", p.Abort, slot + 2, slot + 2, 0x346, site + 2, site + 2, 0x246},
	} {
		m := &state{regs: map[fixups.Reg]uint64{FLAGS: 0x246, RCX: 1, r11: 2}}
		var temps fixups.Temps
		at := fixups.Bases{Site: site, Slot: slot}
		if err := fixups.Run(p.Pre, m, &at, &temps, 64); err != nil {
			t.Fatal(err)
		}
		m.regs[fixups.RegPC], m.regs[RCX], m.regs[r11] = tt.pc, tt.rcx, tt.r11
		if err := fixups.Run(tt.prog, m, &at, &temps, 64); err != nil {
			t.Fatal(err)
		}
		if m.regs[fixups.RegPC] != tt.wantPC || m.regs[RCX] != tt.wantC || m.regs[r11] != tt.want11 {
			t.Errorf("%s: pc %#x rcx %#x r11 %#x", tt.name, m.regs[fixups.RegPC], m.regs[RCX], m.regs[r11])
		}
	}
}

// TestTrapAbort: the signal of the site's own trap finds pc at the end of the copy,
// any other before it.
func TestTrapAbort(t *testing.T) {
	const site, slot = 0x401000, 0x500000
	for _, a := range []*Arch{AMD64, I386} {
		for _, code := range []string{"cc", "cd80", "cd03"} {
			var p reloc.Plan
			b := unhex(t, code)
			if err := reloc.Relocate(&p, a, b, site, &reloc.Env{Forms: fixups.FormStep.Bit(), Slots: reloc.SlotsNear}); err != nil {
				t.Fatal(err)
			}
			for _, off := range []uint64{0, uint64(len(b))} {
				m := &state{regs: map[fixups.Reg]uint64{fixups.RegPC: slot + off}}
				if err := fixups.Run(p.Abort, m, &fixups.Bases{Site: site, Slot: slot}, new(fixups.Temps), a.info.Bits); err != nil {
					t.Fatal(err)
				}
				if m.regs[fixups.RegPC] != site+off {
					t.Errorf("%s %s at +%d: pc %#x", a.info.Name, code, off, m.regs[fixups.RegPC])
				}
			}
		}
	}
}

// TestSoftIntPost: a call that the kernel sends back to its start goes on from the
// site, one that is done behind it, and one that went elsewhere stays there.
func TestSoftIntPost(t *testing.T) {
	const site, slot, other = 0x401000, 0x500000, 0x601234
	for _, a := range []*Arch{AMD64, I386} {
		var p reloc.Plan
		if err := reloc.Relocate(&p, a, unhex(t, "cd80"), site, &reloc.Env{Forms: fixups.FormStep.Bit(), Slots: reloc.SlotsNear}); err != nil {
			t.Fatal(err)
		}
		for pc, want := range map[uint64]uint64{slot: site, slot + 2: site + 2, other: other} {
			m := &state{regs: map[fixups.Reg]uint64{fixups.RegPC: pc}}
			if err := fixups.Run(p.Post, m, &fixups.Bases{Site: site, Slot: slot}, new(fixups.Temps), a.info.Bits); err != nil {
				t.Fatal(err)
			}
			if m.regs[fixups.RegPC] != want {
				t.Errorf("%s: from %#x to %#x, want %#x", a.info.Name, pc, m.regs[fixups.RegPC], want)
			}
		}
	}
}

// TestAssertionHazard: what always faults is looked up by its address in the kernel
// and there alone.
func TestAssertionHazard(t *testing.T) {
	for _, a := range []*Arch{AMD64, I386} {
		for _, code := range []string{"0f0b", "0fb900"} {
			for _, mode := range []reloc.Mode{reloc.ModeUser, reloc.ModeKernel} {
				_, in, err := planOf(t, a, testSite32, code, reloc.Env{Forms: fixups.FormJump.Bit(), Slots: reloc.SlotsNear, Mode: mode})
				if err != nil {
					t.Fatal(err)
				}
				if got := in.Hazards.Has(fixups.HazardKeyedByPC); got != (mode == reloc.ModeKernel) {
					t.Errorf("%s %s in mode %v: %v", a.info.Name, code, mode, got)
				}
			}
		}
	}
}

// TestEmulatePopf holds the program against the table of POPF in the manual (SDM
// volume 2, POPF, CPL 3): IOPL never changes, IF only if IOPL is 3, RF is cleared
// but by the 16-bit form, which leaves the upper half alone.
func TestEmulatePopf(t *testing.T) {
	const sp = 0x2000
	for _, a := range []*Arch{AMD64, I386} {
		for _, code := range []string{"9d", "669d"} {
			for n := range uint64(64) {
				old := n&3<<12 | n>>2&1<<9 | n>>3&1<<16 | 0x2
				for _, image := range []uint64{0, 0x200, 0xffffff, 0xffffff &^ 0x200, 0x3000, 0x100} {
					want := popfByManual(old, image, code == "669d")
					s := newState()
					s.Store(sp, []byte{byte(image), byte(image >> 8), byte(image >> 16), 0, 0, 0, 0, 0})
					s.regs[fixups.RegPC] = testSite32
					p, _, err := planOf(t, a, testSite32, code, reloc.Env{Forms: fixups.FormEmulate.Bit()})
					if err != nil {
						t.Fatal(err)
					}
					s.regs[a.general(4)] = sp
					s.regs[a.info.Flags] = old
					if err := fixups.Run(p.Emulate, s, &fixups.Bases{Site: testSite32}, new(fixups.Temps), a.info.Bits); err != nil {
						t.Fatal(err)
					}
					if got := s.regs[a.info.Flags]; got != want {
						t.Errorf("%s %s: flags %#x, image %#x: %#x, want %#x", a.info.Name, code, old, image, got, want)
					}
				}
			}
		}
	}
}

func popfByManual(old, image uint64, short bool) uint64 {
	taken := uint64(0x244dd5) // ID AC NT OF DF TF SF ZF AF PF CF
	if old>>12&3 == 3 {
		taken |= 1 << 9
	}
	if short {
		taken &= 0xffff
	} else {
		old &^= 1 << 16
	}
	return old&^taken | image&taken
}
