package unicorn

import (
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/fixups"
)

// ucReg is how Unicorn names a register, or the fields that it keeps one in.
type ucReg struct {
	id     int32
	size   uint8 // bytes
	api    bool  // computed, or setting it has effects elsewhere in the processor
	fields []ucField
}

// ucField is a part of a word that the emulator keeps by itself: see xu_field.
type ucField struct {
	id                int32
	code              [3]uint32
	src               uint8
	size, shift, bits uint8
	up                uint8  // the interface has the value so far up, in a register
	base              uint64 // whose other bits are these
	try               [2]uint64
}

// pattern is what a field of 64 bits is looked for with.
var pattern = [2]uint64{0x6b8b4567327b23c6, 0x643c986966334873}

// probeData is an address that probing code may access, and another.
var probeData = [2]uint64{0x71001100, 0x71001200}

// processor is how the shim knows an instruction set.
type processor struct {
	isa   int
	regs  map[fixups.Reg]ucReg
	parts map[fixups.Reg][2]ucReg // of registers whose parts are found one by one
	named map[string]ucReg
	// canary returns instructions that set the first word of a state to n.
	canary func(n uint32) []byte
	// shape, if not nil, changes states that end the process.
	shape func(e *engine, words []uint64)
}

// processors by GOARCH name.
var processors = map[string]*processor{
	"amd64":   {isa: isaX64, regs: ucRegs64(), named: x86Named, canary: x86Canary, shape: x86Shape},
	"386":     {isa: isaX32, regs: ucRegs32(), named: x86Named, canary: x86Canary, shape: x86Shape},
	"arm64":   {isa: isaA64, regs: a64Regs(), named: a64Named, canary: a64Canary},
	"ppc64":   {isa: isaPowerBE, regs: powerRegs(), parts: powerVectors(), named: powerNamed, canary: powerCanaryBE},
	"ppc64le": {isa: isaPowerLE, regs: powerRegs(), parts: powerVectors(), named: powerNamed, canary: powerCanaryLE},
}

// word returns the register behind a word and which part of it the word is.
func (p *processor) word(w *emu.Word) (ucReg, uint8, bool) {
	if u, ok := p.named[w.Name]; ok {
		if u.size == 0 {
			u.size = w.Bits / 8
		}
		return u, 0, true
	}
	if u, ok := p.parts[w.Reg]; ok {
		return u[w.Part], 0, true
	}
	u, ok := p.regs[w.Reg]
	return u, w.Part, ok
}
