package x86

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// Decode implements [reloc.Arch]: any bytes, any cut. Reserved means that the
// bytes so far cannot begin a valid instruction, whatever follows; truncated
// that they can.
//
// The body is the short way through most of real code: an opcode of map 0 or 1
// behind nothing but a REX prefix. It works in registers, on words of fields made
// in advance, and has no branch that the bytes decide but those on 0F and on
// pc-relative operands: the length, on which the next instruction waits, is a
// chain of two loads. For all that needs a second look [Arch.decode] starts
// afresh. What both can do, both do alike.
func (a *Arch) Decode(in *reloc.Insn, code []byte, pc uint64) error {
	in.PC = pc
	if len(code) < 16 {
		return a.cut(in, code)
	}
	p := (*[16]byte)(code)
	lo, hi := binary.LittleEndian.Uint64(p[:8]), binary.LittleEndian.Uint64(p[8:])
	l1 := a.rexWords[byte(lo)]
	pos := l1 / pfxREX & 1
	w := lo >> (pos * 8 & 63)
	pg, l0 := a.maps.legacy[0][0], a.modeFlag
	if byte(w) == 0x0f {
		pg, l0 = a.maps.legacy[1][0], l0|1<<l0Map
		pos++
		w >>= 8
	}
	d := pg[byte(w)]
	if d&descCommon == 0 {
		return a.decode(in, p, 16)
	}
	m := a.modWords[0][w>>8&0xff|d/descNoModRM&1<<8]
	imm := d >> (l1>>(l1W-2)&4 + descCommonImm) & 15
	l0 |= m&^modWordBase | w&0xff
	l0 += pos*(1<<l0OpcodeOff|1<<l0DispOff|1<<l0ImmOff|d&descModRM) + imm<<l0ImmLen
	leaf := leaves[d&descBase+uint64(shapeOf[d>>descShape&7][byte(w>>8)])]
	if leaf&leafSeldom != 0 || m&modWordBase != 0 && w>>16&7 == 5 {
		return a.decode(in, p, 16)
	}
	l1 |= leaf >> (leafWide + l1>>l1W&1) & a.rexMask << l1Op
	n := l0>>l0ImmOff&15 + imm
	in.Ext[0], in.Ext[1] = l0, l1
	k := &keep[n&15]
	binary.LittleEndian.PutUint64(in.Bytes[:8], lo&k[0])
	binary.LittleEndian.PutUint64(in.Bytes[8:], hi&k[1])
	in.Target, in.Hazards = 0, fixups.Hazards(leaf&factHazards)
	in.Row, in.Len, in.AltLen, in.Class = uint32(leaf>>leafRow&0xffff), uint8(n), 0, fixups.Class(leaf>>leafClass&15)
	in.Flags = reloc.InsnFlags(leaf >> (leafFlags + l0>>(l0Flags+2)&4) & 15)
	switch {
	case leaf&leafRel != 0: // the displacement follows the opcode, of which w still has eight bytes less two
		in.Ext[0] |= flagRelImm << l0Flags
		in.Flags |= reloc.HasTarget
		in.Target = (pc + n + uint64(int64(w<<((56-8*imm)&63))>>((64-8*imm)&63))) & a.branchWrap
	case m&(flagRIPRel<<l0Flags) != 0: // ModRM is between them
		named(in, pc+n+uint64(int64(w<<16)>>32))
	}
	return nil
}

// named notes the address that a pc-relative operand names.
func named(in *reloc.Insn, addr uint64) {
	in.Flags |= reloc.HasTarget | reloc.PCOperand
	in.Hazards |= fixups.HazardReadsPC.Bit()
	if in.Class == fixups.ClassPlain {
		in.Class = fixups.ClassPCRelative
	}
	in.Target = addr
	if mayCover(addr-in.PC, uint64(in.Len)) {
		ownBytes(in)
	}
}

// cut decodes what may end early. Behind the end zeros are decoded; what depends
// on them is answered truncated, because every answer knows how many bytes it
// rests on.
func (a *Arch) cut(in *reloc.Insn, code []byte) error {
	var buf [16]byte
	n := copy(buf[:], code)
	return a.decode(in, &buf, n)
}

// decode takes all ways. Of p, n bytes are code.
func (a *Arch) decode(in *reloc.Insn, p *[16]byte, n int) error {
	l1, pos, ok := a.usualPrefixes(p)
	if !ok {
		if l1, pos = a.prefixes(p); pos == 15 {
			return fail(in, n, 15)
		}
	}
	b := p[pos&15]
	kind := a.lead[b]
	if kind >= leadREX2 && (a.m64 || p[pos+1] >= 0xc0 || kind == leadXOP) {
		if kind != leadXOP || p[pos+1]&0x1f >= 8 {
			return a.vector(in, p, n, pos, kind, l1)
		}
	}
	pp := l1 >> l1PP & 3
	var l0 uint64
	if l1&pfxREX != 0 {
		l0 = uint64(pos-1) << l0PrefixOff
	}
	if kind != lead0F {
		return a.finish(in, p, n, pos, a.maps.legacy[0][pp][b], l0, l1)
	}
	pos++
	switch b = p[pos]; b {
	case 0x38:
		return a.finish(in, p, n, pos+1, a.maps.legacy[2][pp][p[(pos+1)&15]], l0|2<<l0Map, l1)
	case 0x3a:
		return a.finish(in, p, n, pos+1, a.maps.legacy[3][pp][p[(pos+1)&15]], l0|3<<l0Map, l1)
	case 0x0f:
		return a.suffixed(in, p, n, pos, l0|1<<l0Map|enc3DNow<<l0Enc, l1)
	}
	return a.finish(in, p, n, pos, a.maps.legacy[1][pp][b], l0|1<<l0Map, l1)
}

// suffixed decodes 3DNow!: the opcode stands where an immediate would, and is
// laid out as one, behind 0F 0F and the operands.
func (a *Arch) suffixed(in *reloc.Insn, p *[16]byte, n, pos int, l0, l1 uint64) error {
	end := pos + a.operandsEnd(p, pos, l1)
	if end >= 15 {
		return fail(in, n, min(pos+3, 15))
	}
	d := a.maps.now[0][0][p[end]]
	if d == 0 || n <= end {
		return fail(in, n, end+1)
	}
	if err := a.finish(in, p, n, pos, d, l0, l1); err != nil {
		return err
	}
	in.Ext[0] = in.Ext[0]&^0xff | uint64(p[end])
	return nil
}

// operandsEnd is how far behind the opcode at pos the ModRM operand ends.
func (a *Arch) operandsEnd(p *[16]byte, pos int, l1 uint64) int {
	return int(a.operandWord(p, pos, 0, uint64(p[(pos+1)&15]), l1) >> l0ImmOff & 15)
}

// finish decodes from the opcode at pos on, which descriptor d belongs to. Sums
// that are carried out of a field belong to instructions of more than 15 bytes,
// which are refused before anybody looks at the field above.
func (a *Arch) finish(in *reloc.Insn, p *[16]byte, n, pos int, d, l0, l1 uint64) error {
	if d&descVariants != 0 {
		d = uint64(variants[d&descBase+variantKey(d, l0, l1, p, pos)])
	}
	if d == 0 {
		return fail(in, n, pos+1+int(l1>>l1BC&1))
	}
	modrm := uint64(p[(pos+1)&15])
	m := a.operandWord(p, pos, d, modrm, l1)
	l0 |= m | uint64(p[pos&15]) | a.modeFlag
	l0 += uint64(pos) * (1<<l0OpcodeOff | 1<<l0DispOff | 1<<l0ImmOff | d&descModRM)
	l1 |= a.addrLog[l1>>1&1]
	row := uint16(leaves[d&descBase+uint64(shapeOf[d>>descShape&7][modrm])] >> leafRow)
	f := facts[row]
	if unusual := l1&pfxLock | l0>>l0Enc&15 | f&factSeldom; row == 0 || unusual != 0 && !a.allowed(f, l0, l1) {
		return fail(in, n, pos+1+int(d/descModRM&1))
	}
	size := d >> descSize & 3
	if size == sizeByRow {
		size = f >> factSize & 3
	}
	op := a.opLog[size&3][opKey(l0, l1)&3]
	l1 |= uint64(op) << l1Op
	kind := d >> descImm & 15
	imm := uint64(immLen[kind][op&3])
	end := uint64(pos) + m>>l0ImmOff&15
	if kind >= immMoffs {
		imm = groupImm(kind, op, l0, l1)
		if kind == immMoffs {
			l0 += imm<<l0DispLen | imm<<l0ImmOff
			end, imm = end+imm, 0
		}
	}
	l0 += imm << l0ImmLen
	if end += imm; end > 15 { // ModRM and SIB told
		return fail(in, n, pos+1+int(d/descModRM&1+m/(flagSIB<<l0Flags)&1))
	}
	if int(end) > n {
		return fail(in, n, int(end))
	}
	lo, hi := binary.LittleEndian.Uint64(p[:8]), binary.LittleEndian.Uint64(p[8:])
	binary.LittleEndian.PutUint64(in.Bytes[:8], lo&keep[end&15][0])
	binary.LittleEndian.PutUint64(in.Bytes[8:], hi&keep[end&15][1])
	in.Ext[0], in.Ext[1] = l0, l1
	in.Row, in.Len, in.AltLen = uint32(row), uint8(end), 0
	a.classify(in, f, l0, l1)
	return nil
}

// operandWord is the word of fields for the ModRM byte behind the opcode at pos.
func (a *Arch) operandWord(p *[16]byte, pos int, d, modrm, l1 uint64) uint64 {
	if d&descModReg != 0 {
		return a.modWords[0][0xc0]&^0xff00 | modrm<<8
	}
	m := a.modWords[l1>>1&1][modrm|d/descNoModRM&1<<8]
	if m&modWordBase != 0 {
		m &^= modWordBase
		if p[(pos+2)&15]&7 == 5 {
			m += 4<<l0DispLen + 4<<l0ImmOff
		}
	}
	return m
}

// flagsOf is Continues and Accesses.
func flagsOf(f, l0 uint64) reloc.InsnFlags {
	mem := l0 / (flagMem << l0Flags) & 1
	return reloc.InsnFlags((^f / factStops & 1 * uint64(reloc.Continues)) | ((f/factAccess | mem&^(f/factAddrOnly)) & 1 * uint64(reloc.Accesses)))
}

// classify sets class, hazards, flags and target.
func (a *Arch) classify(in *reloc.Insn, f, l0, l1 uint64) {
	in.Class = fixups.Class(f >> factClass & 15)
	in.Hazards = fixups.Hazards(f & factHazards)
	in.Flags = flagsOf(f, l0)
	in.Target = 0
	if f&(factRel|factAbs)|l0&(flagRIPRel<<l0Flags) != 0 {
		a.relative(in, f, l0, l1)
	}
	if l1&l1Changing != 0 && f&factVaries != 0 || f&factVW != 0 {
		a.vary(in, f, l0, l1)
	}
}

// relative sets the target of a branch, or what a pc-relative operand names.
//
// In 32-bit mode addresses wrap at 32 bits, and those of branches at 16 if the
// operand size is 16. xbegin, which alone has a 16-bit displacement in 64-bit
// mode too, extends it and does not wrap there (SDM volume 2, XBEGIN, Operation).
// With the prefix 67 an operand is relative to eip and wraps at 32 bits.
func (a *Arch) relative(in *reloc.Insn, f, l0, l1 uint64) {
	in.Flags |= reloc.HasTarget
	at, size := l0>>l0ImmOff, l0>>l0ImmLen
	wrap := a.branchWrap
	switch {
	case f&factRel != 0:
		in.Ext[0] |= flagRelImm << l0Flags
		if l1>>l1Op&15 == 1 && !a.m64 && in.Class != fixups.ClassTransaction {
			wrap = 1<<16 - 1
		}
	case f&factAbs != 0:
		in.Target = binary.LittleEndian.Uint64(in.Bytes[at&15&7:])
		return
	default:
		at, size = l0>>l0DispOff, l0>>l0DispLen
		if l1&pfx67 != 0 {
			wrap = 1<<32 - 1
		}
		named(in, (in.Next()+field(&in.Bytes, at&15, size&15))&wrap)
		return
	}
	in.Target = (in.Next() + field(&in.Bytes, at&15, size&15)) & wrap
}

// field is the signed little-endian field of 1, 2 or 4 bytes at offset at.
func field(b *[16]byte, at, size uint64) uint64 {
	v := uint64(b[at&15]) | uint64(b[(at+1)&15])<<8 | uint64(b[(at+2)&15])<<16 | uint64(b[(at+3)&15])<<24
	drop := 64 - 8*size
	return uint64(int64(v<<(drop&63)) >> (drop & 63))
}

// opKey selects the operand size: W and 66, or what stands for 66 in map 4.
func opKey(l0, l1 uint64) uint64 {
	k := l1>>l1W&1<<1 | l1&pfx66
	if l0>>l0Enc&15 >= encVEX2 {
		k = k&2 | l1>>l1PP&3&(l0>>l0Map&15>>2&1) // pp is 1 for 66, and maps above 4 have no operand size
	}
	return k
}

// groupImm is the length of an immediate that depends on more than the operand
// size: group 3 has one for test only, moffs goes by address size.
func groupImm(imm uint64, op uint8, l0, l1 uint64) uint64 {
	switch {
	case imm == immMoffs:
		return 1 << (l1 >> l1Addr & 15)
	case l0>>12&3 != 0: // ModRM.reg above 1
		return 0
	}
	if imm == immGroupB {
		return 1
	}
	return uint64(immLen[immZ][op&3])
}

// variantKey is W, L'L and, in map 4, ND and NF. With EVEX.b and a register L'L
// is the rounding mode and the length 512 bits (SDM volume 2, 2.7.4).
func variantKey(d, l0, l1 uint64, p *[16]byte, pos int) uint64 {
	ll := l1 >> l1LL & 3
	if l1>>l1BC&1 != 0 && l0>>l0Map&15 != 4 && p[(pos+1)&15] >= 0xc0 {
		ll = 2
	}
	k := l1>>l1W&1 | ll<<1
	if d&descMap4 != 0 {
		k |= l1>>l1BC&1<<3 | l1>>(l1AAA+2)&1<<4
	}
	return k
}

// vary applies what prefixes change: repetition, the meaning of 66 on near
// branches, of REX.W on far pointers, and the waiver of a landing pad.
func (a *Arch) vary(in *reloc.Insn, f, l0, l1 uint64) {
	if f&factRep != 0 && l1&(pfxF2|pfxF3) != 0 {
		in.Hazards |= fixups.HazardRepeats.Bit() | fixups.HazardPartial.Bit()
	}
	// REX.W takes precedence over 66 on all processors (SDM volume 2, 2.2.1.2; APM
	// volume 3, 1.2.7): the padded call of thread-local storage, 66 66 48 E8, is a
	// plain one. Without it Intel's ignore 66 and AMD's take a rel16.
	if f&factV66 != 0 && l1&pfx66 != 0 && a.m64 && l1>>l1W&1 == 0 {
		in.Hazards |= fixups.HazardVendor.Bit()
		if f&factRel != 0 && l0>>l0ImmLen&15 == 4 {
			in.AltLen = in.Len - 2
		}
	}
	if f&factVW != 0 && l1>>l1W&1 != 0 {
		in.Hazards |= fixups.HazardVendor.Bit() // AMD has no far pointer with 64-bit offset
	}
	if f&factLock != 0 && l1&(pfxF2|pfxF3) != 0 && isElision(in, l0, l1) {
		in.Hazards |= fixups.HazardTransaction.Bit()
	}
	if f&factNoTrack != 0 && a.noTrack(in) {
		in.Hazards &^= fixups.HazardLandingPad.Bit()
	}
}

// isElision reports whether F2 or F3 is XACQUIRE or XRELEASE: before a locked
// instruction, or xchg, which locks by itself (SDM volume 2, XACQUIRE). When the
// transaction aborts, execution goes on at its start.
func isElision(in *reloc.Insn, l0, l1 uint64) bool {
	xchg := lay(in).opmap() == 0 && in.Bytes[lay(in).opcodeOff()]&^1 == 0x86
	return l0&(flagMem<<l0Flags) != 0 && (l1&pfxLock != 0 || xchg)
}

// noTrack reports whether 3E is the only segment prefix. With others before or
// behind it the manual leaves the matter to the order, so a landing pad is still
// said to be needed.
func (a *Arch) noTrack(in *reloc.Insn) bool {
	found := false
	for _, b := range in.Bytes[:lay(in).opcodeOff()] {
		switch b {
		case 0x3e:
			found = true
		case 0x26, 0x2e, 0x36, 0x64, 0x65:
			return false
		}
	}
	return found
}

// fail answers for bytes of which the first need decide.
func fail(in *reloc.Insn, n, need int) error {
	*in = reloc.Insn{PC: in.PC}
	if need = min(need, 15); need > n {
		in.Len = uint8(min(n, 15))
		return fixups.ReasonTruncated
	}
	in.Len = uint8(need)
	return fixups.ReasonReserved
}
