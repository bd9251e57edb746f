package main

import "strings"

// Immediates, as arch/x86/decode.go reads them (its constants imm*).
const (
	immNone   = iota
	immB      // 1
	immW      // 2
	immZ      // 2 or 4, by operand size
	immV      // 2, 4 or 8
	immP      // far pointer: 4 or 6
	immWB     // 3
	immBB     // 2
	immD      // 4
	immQ      // 8
	immMoffs  // a displacement of the size of an address
	immGroupB // of group 3: 1 if ModRM.reg is 0 or 1, else none
	immGroupZ
)

// describe works out what all rows that share an opcode must agree on: whether
// there is a ModRM byte, the immediate and the default operand size.
func describe(rows []*row, pt *point) (uint64, error) {
	imm, size, modrm := -1, -1, false
	for _, r := range rows {
		modrm = modrm || r.hasModRM()
	}
	var d uint64
	for _, r := range rows {
		i, err := r.imm()
		if err != nil {
			return 0, err
		}
		switch {
		case imm < 0:
			imm = i
		case imm == i:
		case (pt.op == 0xf6 || pt.op == 0xf7) && (i == immNone || imm == immNone):
			imm = max(i, imm)
			if imm == immB || imm == immZ {
				imm = immGroupB + b2i(imm == immZ)
			}
		case imm >= immGroupB && (i == immNone || i == immB || i == immZ):
		default:
			return 0, r.errorf("immediate differs from that of another row of the same opcode")
		}
		s := b2i(r.attrs["d64"]) | 2*b2i(r.attrs["f64"])
		if size >= 0 && s != size {
			size = 3 // by row: groups 5 and 1A mix them
		} else {
			size = s
		}
		if r.attrs["modreg"] {
			d |= descModReg
		}
	}
	d |= descNoModRM
	if modrm {
		d ^= descNoModRM | descModRM
	}
	if pt.space == spaceLegacy && d&descModReg == 0 && imm < immMoffs && !(modrm && isRel(rows)) {
		d |= descCommon | commonImm[imm]<<descCommonImm
	}
	return d | uint64(imm)<<descImm | uint64(size)<<descSize, nil
}

// isRel reports whether some row is a branch.
func isRel(rows []*row) bool {
	for _, r := range rows {
		for _, o := range r.operands {
			if o.code[0] == 'J' {
				return true
			}
		}
	}
	return false
}

// commonImm is the length of an immediate without 66; four bits higher, with
// REX.W.
var commonImm = [immMoffs]uint64{
	immB: 0x11, immW: 0x22, immZ: 0x44, immV: 0x84, immP: 0x66, immWB: 0x33, immBB: 0x22, immD: 0x44, immQ: 0x88,
}

// hasModRM reports whether the row has a ModRM byte: some condition tests it or
// some operand is encoded in it.
func (r *row) hasModRM() bool {
	c := &r.cond
	if c.reg|c.rm|c.mod != 0 || r.src.space == space3DNow {
		return true
	}
	for _, o := range r.operands {
		if !fixedRegs[o.code] && strings.ContainsRune("CDEGMNPQRSUVW", rune(o.code[0])) {
			return true
		}
		if o.code[0] == 'B' && r.src.space == spaceLegacy { // a bound register
			return true
		}
		if mask := strings.IndexByte("KT", o.code[0]) >= 0; mask && o.code[1] != 'H' {
			return true
		}
	}
	return false
}

// imm works out the immediate from the operands.
func (r *row) imm() (int, error) {
	var codes []string
	is4 := false
	for _, o := range r.operands {
		if strings.ContainsRune("AIJO", rune(o.code[0])) {
			codes = append(codes, o.code)
		}
		is4 = is4 || o.code[0] == 'L'
	}
	switch key := strings.Join(codes, ","); key {
	case "":
		if is4 || r.src.space == space3DNow { // the suffix is the opcode

			return immB, nil
		}
		return immNone, nil
	case "Ob", "Ov":
		return immMoffs, nil
	case "Ap":
		return immP, nil
	default:
		v, ok := immKinds[key]
		if !ok {
			return 0, r.errorf("immediate %q", key)
		}
		return v, nil
	}
}

var immKinds = map[string]int{
	"Ib": immB, "Jb": immB, "Iw": immW, "Iz": immZ, "Jz": immZ, "Iv": immV,
	"Iw,Ib": immWB, "Ib,Ib": immBB, "Id": immD, "Jq": immQ,
}
