package ppc64

import (
	"encoding/binary"
	"testing"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// encode writes words in the order of a.
func encode(a *Arch, words ...uint32) (b []byte) {
	for _, w := range words {
		if a.big {
			b = binary.BigEndian.AppendUint32(b, w)
		} else {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
	}
	return b
}

var arches = []*Arch{BE, LE}

func TestDecode(t *testing.T) {
	const pc = 0x10000600
	goesOn, hasTarget, operand, mem := reloc.Continues, reloc.HasTarget, reloc.PCOperand, reloc.Accesses
	for _, tt := range []struct {
		words  []uint32
		name   string
		class  fixups.Class
		fam    family
		flags  reloc.InsnFlags
		target uint64
	}{
		{[]uint32{0x48000100}, "b", fixups.ClassBranch, famB, hasTarget, pc + 0x100},
		{[]uint32{0x4bfffffd}, "bl", fixups.ClassCall, famB, hasTarget | goesOn, pc - 4},
		{[]uint32{0x48000005}, "bl .+4", fixups.ClassCall, famB, hasTarget | goesOn, pc + 4},
		{[]uint32{0x4a000002}, "b", fixups.ClassBranch, famB, hasTarget, 1<<64 - 1<<25},
		{[]uint32{0x4bfffffe}, "b", fixups.ClassBranch, famB, hasTarget, 1<<64 - 4},
		{[]uint32{0x429f0005}, "bcl 20,31,.+4", fixups.ClassCall, famBC, hasTarget | goesOn, pc + 4},
		{[]uint32{0x41828000}, "bc", fixups.ClassCondBranch, famBC, hasTarget | goesOn, pc - 0x8000},
		{[]uint32{0x4182fffe}, "bc", fixups.ClassCondBranch, famBC, hasTarget | goesOn, 1<<64 - 4},
		{[]uint32{0x42800010}, "bc always", fixups.ClassBranch, famBC, hasTarget, pc + 16},
		{[]uint32{0x42000011}, "bcl", fixups.ClassCondBranch, famBC, hasTarget | goesOn, pc + 16},
		{[]uint32{0x4e800020}, "bclr always", fixups.ClassReturn, famBCLR, 0, 0},
		{[]uint32{0x4d820020}, "bclr", fixups.ClassReturn, famBCLR, goesOn, 0},
		{[]uint32{0x4e800421}, "bcctrl always", fixups.ClassIndirectCall, famBCCTR, goesOn, 0},
		{[]uint32{0x4e800460}, "bctar always", fixups.ClassIndirectBranch, famBCTAR, 0, 0},
		{[]uint32{0x4c5f7fc5}, "addpcis", fixups.ClassPCRelative, famAddPCIS, hasTarget | operand | goesOn, pc + 4 + 0x7fff<<16},
		{[]uint32{0x44000002}, "sc", fixups.ClassKernelEntry, famSC, goesOn, 0},
		{[]uint32{0x44000001}, "scv", fixups.ClassKernelEntry, famSCV, goesOn, 0},
		{[]uint32{0x7fe00008}, "tw", fixups.ClassTrap, famTrap, goesOn, 0},
		{[]uint32{0x0fe5000b}, "twui (rseq)", fixups.ClassTrap, famTrap, goesOn, 0},
		{[]uint32{0x7ca02029}, "lwarx", fixups.ClassExclusive, famExclusive, mem | goesOn, 0},
		{[]uint32{0x7c00051d}, "tbegin.", fixups.ClassTransaction, famTBEGIN, goesOn, 0},
		{[]uint32{0x00000200}, "attn", fixups.ClassPrivileged, famAttn, goesOn, 0},
		{[]uint32{0x60000000}, "nop", fixups.ClassPlain, famNop, goesOn, 0},
		{[]uint32{0x7d40579e}, "isel", fixups.ClassPlain, famPlain, goesOn, 0},
		{[]uint32{0x04100000, 0xe4600100}, "pld R=1", fixups.ClassPCRelative, famPLoad, hasTarget | operand | goesOn | mem, pc + 0x100},
		{[]uint32{0x0613ffff, 0x80a0fe00}, "plwz R=1", fixups.ClassPCRelative, famPLoad, hasTarget | operand | goesOn | mem, pc - 0x200},
		{[]uint32{0x06120000, 0x3ac00000}, "paddi R=1", fixups.ClassPCRelative, famPADDI, hasTarget | operand | goesOn, 0xfffffffe10000600},
		{[]uint32{0x0610cda5, 0x3b408fbb}, "paddi R=1", fixups.ClassPCRelative, famPADDI, hasTarget | operand | goesOn, pc + 0xcda58fbb},
		{[]uint32{0x04000000, 0xc8c40014}, "plxv", fixups.ClassPlain, famPrefixed, goesOn | mem, 0},
		{[]uint32{0x07000000, 0x00000000}, "pnop", fixups.ClassPlain, famNop, goesOn, 0},
	} {
		for _, a := range arches {
			code := encode(a, tt.words...)
			var in reloc.Insn
			if err := a.Decode(&in, code, pc); err != nil {
				t.Errorf("%s %x: %v", a.info.Name, tt.words, err)
				continue
			}
			if got := makeRow(in.Row).Name; got != tt.name || in.Class != tt.class || in.Flags != tt.flags || in.Target != tt.target ||
				family(in.Ext[1]) != tt.fam || int(in.Len) != len(code) {
				t.Errorf("%s %x: %s %v, family %d, flags %b, target %#x; want %+v", a.info.Name, tt.words, got, in.Class, family(in.Ext[1]), in.Flags, in.Target, tt)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for _, words := range [][]uint32{
		{0x00000000},             // illegal for ever
		{0x44000000},             // opcode 17, neither sc nor scv
		{0x4c000420},             // bcctr that counts CTR down
		{0x7c00051c},             // tbegin without the record bit
		{0x4c000064},             // rfi of 32-bit processors
		{0x14000000},             // opcode 5
		{0x06100000, 0x38830001}, // R=1 with RA not 0
		{0x06000000, 0x48000000}, // a prefix of no branch
		{0x07000000, 0x48000000}, // pnop before a branch
		{0x07000000, 0x4e800020}, // before bclr
		{0x07000000, 0x04000000}, // before another prefix
		{0x07000001, 0x00000000}, // pnop with bits of its opcode set
		{0x05400000, 0x80000000}, // no such subtype
	} {
		for _, a := range arches {
			code := encode(a, words...)
			var in reloc.Insn
			if err := a.Decode(&in, code, 0); err != fixups.ReasonReserved || int(in.Len) != len(code) || in.Class != fixups.ClassInvalid {
				t.Errorf("%s %x: %v, %d bytes, %v", a.info.Name, words, in.Class, in.Len, err)
			}
			for n := range len(code) {
				if err := a.Decode(&in, code[:n:n], 0); err != fixups.ReasonTruncated || int(in.Len) != n {
					t.Errorf("%s %x cut to %d: %d bytes, %v", a.info.Name, words, n, in.Len, err)
				}
			}
		}
	}
}
