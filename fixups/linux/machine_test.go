package linux_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/fixups/linux"
	"github.com/xol-go/xol/reloc"
)

// TestNames holds the members of the structures against the names that ports
// give to their register numbers.
func TestNames(t *testing.T) {
	other := map[string]string{"rip": "pc", "eip": "pc", "eflags": "flags", "REG_EFL": "flags", "REG_RIP": "pc", "REG_EIP": "pc", "REG_CSGSFS": "cs",
		"xds": "ds", "xes": "es", "xfs": "fs", "xgs": "gs", "xcs": "cs", "xss": "ss", "fs_base": "fsbase", "gs_base": "gsbase", "xmm_space": "xmm0.0", "_xmm": "xmm0.0",
		"regs": "x0", "pstate": "flags", "vregs": "v0.0",
		"gpr": "r0", "PT_R0": "r0", "nip": "pc", "PT_NIP": "pc", "PT_MSR": "msr", "PT_CTR": "ctr", "link": "lr", "PT_LNK": "lr", "PT_XER": "xer",
		"ccr": "cr", "PT_CCR": "cr", "vscr.vscr_word": "vscr"}
	for _, m := range linux.Maps() {
		a, ok := arch.ByName(m.Arch)
		if !ok {
			continue // the map waits for its port
		}
		end := 0
		for _, f := range m.Fields {
			name := a.Info().Regs.Name(f.Reg)
			want, ok := other[f.C]
			if !ok {
				want = string(bytes.ToLower(bytes.TrimPrefix([]byte(f.C), []byte("REG_"))))
			}
			if m.Name == "i386_user_regs64" && want[0] == 'r' {
				want = "e" + want[1:]
			}
			if strings.HasPrefix(m.Name, "ppc64") && f.C == "vrregs" {
				want = map[fixups.End]string{fixups.BigEndian: "v0.1", fixups.LittleEndian: "v0.0"}[m.Order]
			}
			if f.C != "" && name != want {
				t.Errorf("%s: %s is register %s", m.Name, f.C, name)
			}
			if f.Bits == 0 && int(f.Off) < end || int(f.Off)+int(f.Size) > m.Size {
				t.Errorf("%s: %s at %d overlaps, or is behind the end", m.Name, name, f.Off)
			}
			end = int(f.Off) + int(f.Size)
		}
	}
}

// serving are the structures of a thread that runs programs with the given
// needs.
func serving(arch string, n fixups.Needs) []*linux.Map {
	switch {
	case arch == "amd64" && n&fixups.NeedsSegmentBase == 0:
		return []*linux.Map{linux.AMD64GRegs, linux.AMD64FPRegs}
	case arch == "amd64":
		return []*linux.Map{linux.AMD64UserRegs, linux.AMD64FPRegs}
	case arch == "arm64":
		return []*linux.Map{linux.ARM64MContext, linux.ARM64FPSIMDContext}
	case arch == "ppc64":
		return []*linux.Map{linux.PPC64GRegs, linux.PPC64FPRegs, linux.PPC64VRRegs, linux.PPC64VSX, linux.PPC64TAR}
	case arch == "ppc64le":
		return []*linux.Map{linux.PPC64LEGRegs, linux.PPC64LEFPRegs, linux.PPC64LEVRRegs, linux.PPC64LEVSX, linux.PPC64LETAR}
	}
	return []*linux.Map{linux.I386UserRegs, linux.I386FPXRegs}
}

// TestServes runs over the programs of the corpus: one without needs finds its
// registers in a signal frame, one that needs segment bases in what ptrace
// gives. A 32-bit structure has no segment bases.
func TestServes(t *testing.T) {
	served, without := 0, map[string]int{}
	for c := range corpus.All() {
		a, ok := arch.ByName(c.Arch)
		if !ok {
			continue // no port yet
		}
		off := 0
		for _, n := range c.Lens {
			var e fixups.Entry
			env := reloc.Env{Spill: true, Code: &reloc.Text{Addr: c.PC, Data: c.Bytes}}
			if reloc.Describe(&e, a, c.Bytes[off:], c.PC+uint64(off), &env, true) == nil {
				for i := range e.Forms {
					p := &e.Forms[i].Plan
					for _, prog := range programs(p) {
						switch {
						case linux.Serves(prog, serving(c.Arch, p.Needs)...):
							served++
						case c.Arch == "386" && p.Needs&fixups.NeedsSegmentBase != 0:
							without["386 segment bases"]++
						default:
							t.Errorf("%s+%d %v: %v", c.Key(), off, p.Form, prog.Format(a.Info().Regs))
						}
					}
				}
			}
			off += n
		}
	}
	t.Logf("%d programs served; without a map: %v", served, without)
	if served < 1000 {
		t.Error("too few programs")
	}
}

func programs(p *fixups.Plan) []fixups.Program {
	all := []fixups.Program{p.Pre, p.Post, p.Abort, p.Emulate}
	for i := range p.Points {
		all = append(all, p.Points[i].Back, p.Points[i].Forward)
	}
	return all
}

// mem is memory from address 0x1000 on.
type mem struct{ b []byte }

func (m *mem) at(off int64, n int) []byte {
	if off -= 0x1000; off < 0 || off+int64(n) > int64(len(m.b)) {
		return nil
	}
	return m.b[off:][:n]
}

func (m *mem) ReadAt(p []byte, off int64) (int, error) {
	return m.transfer(p, off, func(mine []byte) int { return copy(p, mine) })
}

func (m *mem) WriteAt(p []byte, off int64) (int, error) {
	return m.transfer(p, off, func(mine []byte) int { return copy(mine, p) })
}

func (m *mem) transfer(p []byte, off int64, f func([]byte) int) (int, error) {
	n := len(p)
	for n > 0 && m.at(off, n) == nil {
		n--
	}
	if f(m.at(off, n)); n < len(p) {
		return n, errors.New("short")
	}
	return n, nil
}

// callProgram is call +0x10 at the site, 5 bytes long.
var callProgram = fixups.Program{
	{Op: fixups.OpSub, Dst: fixups.T(0), A: fixups.R(7), B: fixups.Const(8)},
	{Op: fixups.OpStore, Size: 8, A: fixups.T(0), B: fixups.SitePlus(5)},
	{Op: fixups.OpShPush, A: fixups.SitePlus(5)},
	{Op: fixups.OpMov, Dst: fixups.R(7), A: fixups.T(0)},
	{Op: fixups.OpMov, Dst: fixups.PC(), A: fixups.SitePlus(0x10)},
}

// newThread is a thread of amd64 at 0x401000 with 64 bytes of stack.
func newThread(sp uint64) (*linux.Machine, *mem) {
	stack := &mem{make([]byte, 64)}
	m := &linux.Machine{Parts: []linux.Part{{Map: linux.AMD64UserRegs, Buf: make([]byte, 216)}}, Mem: &linux.File{R: stack, W: stack}}
	m.SetReg(7, sp)
	m.SetReg(fixups.RegPC, 0x401000)
	return m, stack
}

// TestRun emulates a call on a structure of ptrace.
func TestRun(t *testing.T) {
	m, stack := newThread(0x1040)
	var temps fixups.Temps
	at := fixups.Bases{Site: 0x401000}
	if err := fixups.Run(callProgram, m, &at, &temps, 64); err != nil {
		t.Fatal(err)
	}
	pc, _ := m.Reg(fixups.RegPC)
	sp, _ := m.Reg(7)
	if pc != 0x401010 || sp != 0x1038 || fmt.Sprintf("%x", stack.b[56:]) != "0510400000000000" {
		t.Errorf("pc %#x, sp %#x, stack %x", pc, sp, stack.b[56:])
	}
}

// TestRunFaults: a store that does not wholly lie in memory faults and changes
// nothing, registers included.
func TestRunFaults(t *testing.T) {
	for _, sp := range []uint64{0x1000, 0x1004, 0x1044, 1 << 63} {
		m, stack := newThread(sp)
		before := bytes.Clone(m.Parts[0].Buf)
		var temps fixups.Temps
		var fault *fixups.AccessError
		err := fixups.Run(callProgram, m, &fixups.Bases{Site: 0x401000}, &temps, 64)
		if !errors.As(err, &fault) || fault.Addr != sp-8 || !fault.Write {
			t.Errorf("sp %#x: %v", sp, err)
		}
		if !bytes.Equal(before, m.Parts[0].Buf) || !bytes.Equal(stack.b, make([]byte, 64)) {
			t.Errorf("sp %#x: something changed", sp)
		}
	}
}

func TestAllocs(t *testing.T) {
	m, _ := newThread(0x1040)
	var temps fixups.Temps
	at := fixups.Bases{Site: 0x401000}
	if n := testing.AllocsPerRun(100, func() {
		m.SetReg(7, 0x1040)
		if err := fixups.Run(callProgram, m, &at, &temps, 64); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestShort: a buffer that ends too early has no register behind its end.
func TestShort(t *testing.T) {
	buf := make([]byte, 10)
	if linux.AMD64UserRegs.Set(buf, 14, 1) || !linux.AMD64UserRegs.Set(buf, 15, 1) {
		t.Error("r14 is behind 10 bytes, r15 is not")
	}
	if _, ok := linux.AMD64UserRegs.Get(buf, 14); ok {
		t.Error("r14 was read")
	}
}

// TestVectorParts: the FXSAVE area has the low 128 bits of vectors. Their lowest
// part is read-only, since a write would have to zero what is not there.
func TestVectorParts(t *testing.T) {
	m := linux.Machine{Parts: []linux.Part{{Map: linux.AMD64FPRegs, Buf: make([]byte, 512)}}}
	m.Parts[0].Buf[160+16*3] = 7
	if v, ok := m.Reg(fixups.RegPart(20, 0)); !ok || v != 7 {
		t.Errorf("xmm3.0 = %d, %t", v, ok)
	}
	if m.SetReg(fixups.RegPart(20, 0), 1) || !m.SetReg(fixups.RegPart(20, 1), 1) {
		t.Error("part 0 is read-only, part 1 is not")
	}
	if _, ok := m.Reg(fixups.RegPart(20, 2)); ok {
		t.Error("part 2 is not in the area")
	}
}

// TestPstate: condition flags and BTYPE are bits of one word, and a write of one
// leaves the rest of it alone.
func TestPstate(t *testing.T) {
	m := linux.Machine{Parts: []linux.Part{{Map: linux.ARM64PtRegs, Buf: make([]byte, 272)}}}
	binary.LittleEndian.PutUint64(m.Parts[0].Buf[264:], 0x60200c00)
	nzcv, btype := fieldOf(t, linux.ARM64PtRegs, 28), fieldOf(t, linux.ARM64PtRegs, 10)
	if v, ok := m.Reg(nzcv); !ok || v != 0x60000000 {
		t.Errorf("nzcv %#x, %t", v, ok)
	}
	if v, ok := m.Reg(btype); !ok || v != 3 {
		t.Errorf("btype %#x, %t", v, ok)
	}
	m.SetReg(nzcv, 0xffffffff9fffffff)
	m.SetReg(btype, 0xd)
	if v := binary.LittleEndian.Uint64(m.Parts[0].Buf[264:]); v != 0x90200400 {
		t.Errorf("pstate %#x", v)
	}
}

// fieldOf is the register whose bits begin at lsb.
func fieldOf(t *testing.T, m *linux.Map, lsb uint8) fixups.Reg {
	t.Helper()
	for _, f := range m.Fields {
		if f.Bits != 0 && f.Lsb == lsb {
			return f.Reg
		}
	}
	t.Fatalf("%s: no field from bit %d on", m.Name, lsb)
	return fixups.RegNone
}

// TestWide: part 0 zeroes what is above it, in the structure and in the whole
// vectors beside it; other vectors keep theirs.
func TestWide(t *testing.T) {
	const vl = 32
	buf, wide := bytes.Repeat([]byte{0xaa}, 528), bytes.Repeat([]byte{0xaa}, 32*vl)
	m := linux.Machine{Parts: []linux.Part{{Map: linux.ARM64FPRegs, Buf: buf, Wide: wide, WideSize: vl}}}
	v5 := linux.ARM64FPRegs.Fields[0].Reg>>3&0xff + 5
	if !m.SetReg(fixups.RegPart(v5, 0), 1) || !m.SetReg(fixups.RegPart(v5, 1), 2) || m.SetReg(fixups.RegPart(v5, 2), 3) {
		t.Error("parts 0 and 1 can be written, part 2 is not in the structure")
	}
	want := append(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 1), 2), make([]byte, vl-16)...)
	if !bytes.Equal(buf[5*16:][:16], want[:16]) || !bytes.Equal(wide[5*vl:][:vl], want) {
		t.Errorf("v5 is %x and %x", buf[5*16:][:16], wide[5*vl:][:vl])
	}
	if bytes.Count(buf, []byte{0xaa}) != 512 || bytes.Count(wide, []byte{0xaa}) != 31*vl {
		t.Error("another vector has changed")
	}
	short := linux.Machine{Parts: []linux.Part{{Map: linux.ARM64FPRegs, Buf: buf, Wide: wide[:5*vl], WideSize: vl}}}
	before := bytes.Clone(buf)
	if short.SetReg(fixups.RegPart(v5, 0), 9) || !bytes.Equal(buf, before) {
		t.Error("a vector behind the end was written")
	}
}
