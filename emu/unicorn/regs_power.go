package unicorn

// #include <unicorn/unicorn.h>
import "C"

import (
	"encoding/binary"

	"github.com/xol-go/xol/fixups"
)

func powerRegs() map[fixups.Reg]ucReg {
	m := map[fixups.Reg]ucReg{
		fixups.RegPC: {id: C.UC_PPC_REG_PC, size: 8},
		65:           {id: C.UC_PPC_REG_LR, size: 8},
		66:           {id: C.UC_PPC_REG_CTR, size: 8},
	}
	for i := range 32 {
		m[fixups.Reg(i)] = ucReg{id: int32(C.UC_PPC_REG_0 + i), size: 8}
	}
	return m
}

// Instructions of probes. They take their value from r3, or r4.
const (
	mtvsrdd = 0x7c032366 // mtvsrdd vs0, r3, r4
	vs1     = 1 << 21
	vs33    = vs1 | 1
	mtfsf   = 0xfdfe0d8e // mtfsf 255, f1
	xxlxor  = 0xf0210cd0 // xxlxor vs1, vs1, vs1: what is looked for is nowhere else
	vxor    = 0x10210cc4 // vxor v1, v1, v1
	mtvscr  = 0x10000e44 // mtvscr v1
	mtxer   = 0x7c6103a6 // mtxer r3
	ldarx   = 0x7ca018a8 // ldarx r5, 0, r3
)

// mtspr is mtspr n, r3.
func mtspr(n uint32) uint32 { return 0x7c6003a6 | n&31<<16 | n>>5<<11 }

// powerVectors are the halves of vs0 to vs63, the less significant one first.
func powerVectors() map[fixups.Reg][2]ucReg {
	m := map[fixups.Reg][2]ucReg{}
	for i := range uint32(64) {
		insn := mtvsrdd | i&31<<21 | i>>5
		half := func(src uint8) ucReg {
			return ucReg{fields: []ucField{{code: [3]uint32{insn}, src: src, size: 8, bits: 64, try: pattern}}}
		}
		reg := 32 + fixups.Reg(i)
		if i >= 32 {
			reg = 77 + fixups.Reg(i-32)
		}
		m[reg] = [2]ucReg{half(1), half(0)}
	}
	return m
}

// powerNamed are registers that the emulator keeps in several places, or does not
// name.
var powerNamed = map[string]ucReg{
	"cr": {fields: crFields()},
	"xer": {fields: []ucField{
		xerField(31, 1, [2]uint64{0, 1}), xerField(30, 1, [2]uint64{0, 1}), xerField(29, 1, [2]uint64{0, 1}),
		xerField(19, 1, [2]uint64{0, 1}), xerField(18, 1, [2]uint64{0, 1}), xerField(0, 7, [2]uint64{0x15, 0x2a})}},
	"tar":    {fields: []ucField{{code: [3]uint32{mtspr(815)}, size: 8, bits: 64, try: pattern}}},
	"vrsave": {fields: []ucField{{code: [3]uint32{mtspr(256)}, size: 8, bits: 32, try: [2]uint64{0x6b8b4567, 0x327b23c6}}}},
	"fpscr":  {fields: []ucField{{code: [3]uint32{mtvsrdd | vs1, mtfsf, xxlxor}, size: 4, bits: 32, try: [2]uint64{0x50, 0xa0}}}},
	"vscr": {fields: []ucField{
		{code: [3]uint32{mtvsrdd | vs33, mtvscr, vxor}, src: 1, size: 4, bits: 32, try: [2]uint64{0x10000, 0}},
		{code: [3]uint32{mtvsrdd | vs33, mtvscr, vxor}, src: 1, size: 8, bits: 1, try: [2]uint64{1, 0}}}},
	"monitor": {fields: []ucField{{code: [3]uint32{ldarx}, size: 8, bits: 64, try: probeData}}},
}

func crFields() []ucField {
	var f []ucField
	for i := range 8 {
		f = append(f, ucField{id: int32(C.UC_PPC_REG_CR0 + i), size: 4, shift: uint8(28 - 4*i), bits: 4, try: [2]uint64{5, 10}})
	}
	return f
}

func xerField(shift, bits uint8, try [2]uint64) ucField {
	return ucField{code: [3]uint32{mtxer}, size: 8, shift: shift, bits: bits, try: try}
}

// powerCanary is lis r0, n; ori r0, r0, n.
func powerCanary(n uint32) (lis, ori uint32) {
	return 0x3c000000 | n>>16, 0x60000000 | n&0xffff
}

func powerCanaryBE(n uint32) []byte {
	lis, ori := powerCanary(n)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, lis), ori)
}

func powerCanaryLE(n uint32) []byte {
	lis, ori := powerCanary(n)
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, lis), ori)
}
