package native

import (
	"encoding/hex"
	"testing"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/emu"
	"github.com/xol-go/xol/reloc"
)

// TestBatchAbsent executes an instruction of each row that an absent feature keeps
// from being compared: it is refused. A row of the capability table that is too wide
// would hide instructions.
func TestBatchAbsent(t *testing.T) {
	for _, name := range batchArches {
		t.Run(name, func(t *testing.T) {
			e, x := batch(t, name)
			ran := 0
			for i := range x.m.features {
				c := &x.m.features[i]
				if c.beyond || x.f.has(c.name) {
					continue
				}
				for _, r := range c.rows {
					for _, fields := range [...]uint64{0, ^uint64(0)} {
						word := uint32(r.value | fields&^r.mask)
						if fields == 0 && c.probe&uint32(r.mask) == uint32(r.value) {
							word = c.probe
						}
						b := e.single(e.caseAt(x.insn(word)...))
						mustRun(t, e, b)
						if s := &b.Stops[0]; s.Kind != emu.StopInvalid {
							t.Errorf("%s: %08x ends as %+v", c.name, word, *s)
						}
						ran++
					}
				}
			}
			if ran == 0 {
				t.Log("everything is there")
			}
			t.Logf("absent: %v; %d instructions are refused", x.f.lacks, ran)
		})
	}
}

// TestBatchLimits: samples are what their rows match, and the port decodes them.
func TestBatchLimits(t *testing.T) {
	for _, m := range machines() {
		a, ok := arch.ByName(m.arch)
		if !ok {
			t.Fatal(m.arch)
		}
		target, err := emu.TargetOf(m.arch)
		if err != nil {
			t.Fatal(err)
		}
		for i := range m.limits {
			l := &m.limits[i]
			code, err := hex.DecodeString(l.Sample)
			if err != nil || len(code) != 4 {
				t.Fatalf("%s %s: %q", m.arch, l.Name, l.Sample)
			}
			if m.arch == "ppc64le" {
				code = []byte{code[3], code[2], code[1], code[0]}
			}
			var in reloc.Insn
			if err := a.Decode(&in, code, 0x1000); err != nil {
				t.Errorf("%s %s: %v", m.arch, l.Name, err)
			}
			if len(emu.AppendLimits(nil, target, m.limits[i:i+1], code, &in)) != 1 {
				t.Errorf("%s %s does not match %s", m.arch, l.Name, l.Sample)
			}
		}
	}
}
