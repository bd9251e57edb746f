package main

import (
	"strings"

	"github.com/xol-go/xol/fixups"
)

// Facts of a row in one word, as arch/x86/decode.go reads them (its constants
// fact*): bits 0 to 25 hazards, 26 and 27 operand size, 28 to 31 class.
const (
	factSize  = 26
	factClass = 28
)

const (
	factLock uint64 = 1 << (32 + iota)
	factRep
	factRel
	factStops
	factAccess
	factAddrOnly
	factV66
	factVW
	factNoRexR
	factVvvv
	factVSIB
	factMask
	factZero
	factKneed
	factBcst
	factER
	factSAE
	factSCC
	factAbs
	factNoTrack
	factSeldom // VW, NoRexR, NoRIP, No16 or Abs
	factND     // EVEX.b is ND
	factNF     // bit 2 of EVEX.aaa is NF
	factNoRIP
	factNo16
	factLowReg // ModRM.reg names one of eight registers
	factLowRM  // ModRM.rm does
	factLowV   // vvvv does
	factMemDst // a memory operand is written under a mask, so z = 1 faults with it
)

var attrFacts = map[string]uint64{
	"lock": factLock, "rep": factRep, "stops": factStops, "ud": factStops, "mem": factAccess,
	"push": factAccess, "pop": factAccess, "v66": factV66, "vw": factVW | factSeldom,
	"norexr": factNoRexR | factSeldom, "vsib": factVSIB, "mask": factMask, "zero": factZero,
	"kneed": factKneed | factMask, "bcst": factBcst, "er": factER, "sae": factSAE, "scc": factSCC, "norip": factNoRIP | factSeldom, "no16": factNo16 | factSeldom,
}

// facts packs what Decode needs of a row.
func (r *row) facts() (uint64, error) {
	var f uint64
	for a := range r.attrs {
		f |= attrFacts[a]
	}
	for _, h := range r.hazards {
		var z fixups.Hazard
		if err := z.UnmarshalText([]byte(h)); err != nil {
			return 0, r.errorf("%v", err)
		}
		f |= uint64(z.Bit())
	}
	var class fixups.Class
	if err := class.UnmarshalText([]byte(r.class)); err != nil {
		return 0, r.errorf("%v", err)
	}
	if r.cond.nd != 0 {
		f |= factND
	}
	if r.cond.nf != 0 {
		f |= factNF
	}
	f |= uint64(class)<<factClass | uint64(b2i(r.attrs["d64"])|2*b2i(r.attrs["f64"]))<<factSize
	switch class {
	case fixups.ClassBranch, fixups.ClassIndirectBranch, fixups.ClassReturn:
		f |= factStops
	}
	if strings.Contains(strings.Join(r.hazards, ","), "landing-pad") && strings.HasPrefix(r.class, "indirect") {
		f |= factNoTrack
	}
	for _, o := range r.operands {
		f |= o.facts(r)
	}
	if f>>26&3 == 3 || fixups.HazardContextUnknown > 25 {
		return 0, r.errorf("d64 and f64, or more hazards than the word has room for")
	}
	return f, nil
}

func (o operand) facts(r *row) uint64 {
	if fixedRegs[o.code] {
		return 0
	}
	switch m := o.code[0]; {
	case m == 'J' && o.code == "Jq":
		return factAbs | factSeldom
	case m == 'J':
		return factRel
	case m == 'X' || m == 'Y' || m == 'O':
		return factAccess
	case o.code == "KH", o.code == "TH":
		return factVvvv | factLowV
	case m == 'H', m == 'B' && r.src.space >= spaceVEX:
		return factVvvv
	case o.code == "KG", o.code == "KGG", o.code == "TG":
		return factLowReg
	case o.code == "TE":
		return factLowRM
	case strings.ContainsRune("MW", rune(m)) && r.attrs["zero"] && o.access != 'r':
		return factMemDst
	case o.access == 'n' && strings.ContainsRune("EM", rune(m)):
		return factAddrOnly
	}
	return 0
}

// fixedRegs are codes that name a register, not a place in the encoding.
var fixedRegs = set(`al ah ax dx cl 1 eAX rAX rCX rDX rBX rBP rSI rDI aAX aCX aSI aDI
	rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15 eax ecx edx ebx
	es cs ss ds fs gs fsbase gsbase st0 st1 sti st xmm0 xmm1 xmm0-6 xmm0-7 xmm0-15 xmm xmm*
	flags mxcsr fcw fsw fip xcr0 ssp pkru uif msr cr0 gdtr idtr ldtr tr xstate aaa k0 tilecfg`)

// Leaves, as arch/x86/decode.go reads them (its constants leaf*).
const (
	leafRow    = 32
	leafFlags  = 48
	leafWide   = 56
	leafRel    = 1 << 58
	leafSeldom = 1 << 59
)

// wide says by the default operand size, normal, d64 or f64, whether the operand
// size is 64 bits in 64-bit mode, and one bit higher whether it is with REX.W.
var wide = [4]uint64{2, 3, 3}

// leaf is a row number and what the short way through Decode needs of its facts.
// No row is something to look at twice.
func leaf(id uint16, facts []uint64) uint64 {
	if id == 0 {
		return leafSeldom
	}
	f := facts[id]
	const continues, accesses = 4, 8
	reg := (^f/factStops&1)*continues | f/factAccess&1*accesses
	mem := reg | ^f/factAddrOnly&1*accesses
	return f&(1<<32-1)&^(3<<factSize) | uint64(id)<<leafRow | reg<<leafFlags | mem<<(leafFlags+4) |
		wide[f>>factSize&3]<<leafWide | f/factRel&1*leafRel | f/factSeldom&1*leafSeldom
}
