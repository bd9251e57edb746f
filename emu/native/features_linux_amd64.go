package native

import (
	"encoding/binary"
	"fmt"

	"github.com/xol-go/xol/emu"
)

// detect asks the processor, by executing CPUID and XGETBV as cases, and the
// kernel, which says in each signal frame what it stores there.
func detect() (*Features, error) {
	f := new(Features)
	e, err := openX86(emu.AMD64, f)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if err := e.Canary(); err != nil {
		return nil, err
	}
	ask := func(l *leaf, a, c uint32) {
		if err == nil {
			*l, err = e.cpuid(a, c)
		}
	}
	var top, topAMD leaf
	ask(&top, 0, 0)
	ask(&topAMD, 0x80000000, 0)
	ask(&f.leaf1, 1, 0)
	if top[eax] >= 7 {
		ask(&f.leaf7, 7, 0)
		if f.leaf7[eax] > 0 {
			ask(&f.leaf71, 7, 1)
		}
	}
	if topAMD[eax] >= 0x80000001 {
		ask(&f.leafAMD1, 0x80000001, 0)
	}
	if topAMD[eax] >= 0x80000008 {
		ask(&f.leafAMD8, 0x80000008, 0)
	}
	const genu = 0x756e6547 // how GenuineIntel begins
	f.intel = top[ebx] == genu
	if err != nil {
		return nil, err
	}
	return f, f.frame(e)
}

// frame reads how large signal frames are and where they have what.
func (f *Features) frame(e *engine) error {
	const magic = 0x46505853
	sw := e.p.shared[offOut+recX+xSoftware:]
	if got := binary.LittleEndian.Uint32(sw); got != magic {
		return fmt.Errorf("native: signal frames have no XSAVE area: %#x", got)
	}
	have := binary.LittleEndian.Uint64(sw[8:])
	f.components = have & baseComponents
	for _, want := range []uint64{avxComponents, avx512Components} {
		if have&want == want {
			f.components = want
		}
	}
	f.size = xHeaderEnd
	for n := compAVX; n <= compHi16; n++ {
		if f.components>>n&1 == 0 {
			continue
		}
		l, err := e.cpuid(0xd, uint32(n))
		if err != nil {
			return err
		}
		c := component{n, int(l[ebx]), int(l[eax])}
		f.parts = append(f.parts, c)
		f.size = max(f.size, c.off+c.size)
		switch n {
		case compAVX:
			f.ymm = c.off
		case compOpmask:
			f.opmask = c.off
		case compZMM:
			f.zmm = c.off
		case compHi16:
			f.hi16 = c.off
		}
	}
	return f.pointers(e)
}

// pointers asks whether the processor keeps the address of the last x87
// instruction: FLD1 is executed, and the address looked for.
func (f *Features) pointers(e *engine) error {
	b := e.single(e.caseAt(0xd9, 0xe8))
	if err := e.Run(b); err != nil {
		return err
	}
	for i := range e.t.Words {
		if e.t.Words[i].Name == "fip" {
			f.NoErrorPointers = b.Out[i] != b.Lo
		}
	}
	return nil
}

// cpuid executes CPUID.
func (e *engine) cpuid(a, c uint32) (leaf, error) {
	b := e.single(e.caseAt(0x0f, 0xa2))
	b.In[0], b.In[2] = uint64(a), uint64(c) // rax, rcx: the order of DWARF
	if err := e.Run(b); err != nil {
		return leaf{}, err
	}
	if s := &b.Stops[0]; s.Kind != emu.StopLeft || s.Steps != 1 {
		return leaf{}, fmt.Errorf("native: CPUID ends as %v after %d steps", s.Kind, s.Steps)
	}
	return leaf{uint32(b.Out[0]), uint32(b.Out[3]), uint32(b.Out[2]), uint32(b.Out[1])}, nil
}
