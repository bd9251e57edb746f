package x86

import (
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Near branches with a 66 prefix and without REX.W in 64-bit mode are different
// instructions on the processors of different vendors. Intel's ignore the prefix
// (SDM volume 2, appendix A.2, superscript f64). AMD's obey it (APM volume 3, CALL
// (Near), JMP (Near), Jcc, RET (Near), LOOPcc): the displacement of E8, E9 and 0F 8x
// has 16 bits, the target is cut to 16 bits, two bytes are pushed or popped.
//
// [Arch.Decode] knows no vendor and answers Intel's length, with the other in
// AltLen. [Arch.DecodeFor] is told.

// DecodeFor implements [reloc.VendorDecoder].
func (a *Arch) DecodeFor(in *reloc.Insn, code []byte, pc uint64, v reloc.Vendor) error {
	err := a.Decode(in, code, pc)
	switch {
	case v != reloc.VendorAMD || !a.m64:
	case err == nil && in.Hazards.Has(fixups.HazardVendor):
		a.obey66(in)
	case err == fixups.ReasonTruncated:
		return a.decodeShorter(in, code, pc)
	}
	return err
}

// decodeShorter decodes code that Intel's length is too long for: AMD's may fit.
// It differs by the two bytes of a displacement that nothing depends on.
func (a *Arch) decodeShorter(in *reloc.Insn, code []byte, pc uint64) error {
	var buf [longest + 1]byte
	n := copy(buf[:], code)
	var alt reloc.Insn
	if n+2 > longest || a.Decode(&alt, buf[:n+2], pc) != nil || alt.AltLen == 0 || int(alt.AltLen) > n {
		return fixups.ReasonTruncated
	}
	a.obey66(&alt)
	*in = alt
	return nil
}

// obey66 makes of a decoded near branch that has an effective 66 prefix what it is
// where the prefix is obeyed. MOVSXD, the other instruction whose operand size is
// vendor-dependent, keeps its length and its fields.
func (a *Arch) obey66(in *reloc.Insn) {
	l := lay(in)
	f := facts[in.Row]
	if f&factV66 == 0 || in.Class == fixups.ClassPlain || in.Class == fixups.ClassPCRelative || !l.pfx(pfx66) || l.w() != 0 {
		return
	}
	l[1] = l[1]&^(15<<l1Op) | 1<<l1Op
	if in.AltLen != 0 {
		in.Len, in.AltLen = in.AltLen, in.Len
		l[0] = l[0]&^(15<<l0ImmLen) | 2<<l0ImmLen
		clear(in.Bytes[in.Len:])
	}
	if l.has(flagRelImm) {
		in.Target = (in.Next() + uint64(signed(&in.Bytes, l.immOff(), l.immLen()))) & 0xffff
	}
}

// vendor refuses a near branch of 64-bit mode that is not the same everywhere,
// unless it was decoded for the vendor that the caller names.
func (b *planner) vendor() fixups.Reason {
	if b.a.m64 && b.in.Hazards.Has(fixups.HazardVendor) && !b.vendorKnown() {
		return fixups.ReasonVendor
	}
	return fixups.ReasonNone
}

// vendorKnown reports whether the instruction was decoded for the vendor that the
// caller names.
func (b *planner) vendorKnown() bool {
	switch b.env.Vendor {
	case reloc.VendorIntel:
		return !b.a.m64 || !b.short()
	case reloc.VendorAMD:
		return b.short()
	}
	return false
}
