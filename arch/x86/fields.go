package x86

import (
	"strconv"

	"github.com/xol-go/xol/reloc"
)

// AppendFields implements [reloc.Fielder]: the parts of the instruction in the
// order of their bytes, named as the manual names them (SDM volume 2, section
// 2.1): prefixes, rex, rex2, vex, evex, xop, opcode, modrm, sib, dispN, immN,
// relN.
func (a *Arch) AppendFields(dst []reloc.Field, in *reloc.Insn) []reloc.Field {
	l := lay(in)
	off := 0
	add := func(end int, name string) {
		if end > off {
			dst = append(dst, reloc.Field{Off: off, Len: end - off, Name: name})
			off = end
		}
	}
	op := l.opcodeOff()
	if l.enc() == enc3DNow {
		op = l.modrmOff() - 1 // the opcode proper stands last; 0f 0f is in front
	}
	if name := prefixName(l); name != "" {
		for ; off < l.prefixOff(); off++ {
			dst = append(dst, reloc.Field{Off: off, Len: 1, Name: "pfx"})
		}
		add(l.prefixOff()+prefixLen(l), name)
	}
	for ; off < op-escapes(l); off++ {
		dst = append(dst, reloc.Field{Off: off, Len: 1, Name: "pfx"})
	}
	add(op+1, "opcode")
	if l.modrmOff() != 0 {
		add(l.modrmOff()+1, "modrm")
		if l.has(flagSIB) {
			add(off+1, "sib")
		}
	}
	if l.dispLen() != 0 {
		add(l.dispOff()+l.dispLen(), "disp"+strconv.Itoa(8*l.dispLen()))
	}
	if l.immLen() != 0 {
		name := "imm"
		if l.has(flagRelImm) {
			name = "rel"
		}
		add(l.immOff()+l.immLen(), name+strconv.Itoa(8*l.immLen()))
	}
	add(int(in.Len), "opcode")
	return dst
}

// prefixName names the prefix that extends the opcode or the registers.
func prefixName(l *layout) string {
	switch l.enc() {
	case encREX2:
		return "rex2"
	case encVEX2, encVEX3:
		return "vex"
	case encEVEX:
		return "evex"
	case encXOP:
		return "xop"
	}
	if l.pfx(pfxREX) {
		return "rex"
	}
	return ""
}

func prefixLen(l *layout) int {
	switch l.enc() {
	case encREX2, encVEX2:
		return 2
	case encVEX3, encXOP:
		return 3
	case encEVEX:
		return 4
	}
	return 1
}

// escapes is how many escape bytes (0f, 0f 38, 0f 3a) stand before the opcode
// byte of a legacy encoding.
func escapes(l *layout) int {
	switch {
	case l.enc() == enc3DNow:
		return 1
	case l.enc() != encLegacy || l.opmap() == 0:
		return 0
	case l.opmap() == 1:
		return 1
	}
	return 2
}
