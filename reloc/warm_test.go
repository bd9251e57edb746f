package reloc_test

import (
	"testing"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// anyArch is the instruction set as an interface value that the compiler cannot
// see through: what a caller of arch.ByName has.
func anyArch(t testing.TB) reloc.Arch {
	a, ok := arch.ByName("amd64")
	if !ok {
		t.Fatal("amd64 is missing")
	}
	return a
}

// warm is code with every kind of plan: rip-relative, calls, branches, a lock, a
// return, a site without any plan, bytes that do not decode and bytes cut short.
var warm = [][]byte{
	{0x48, 0x8b, 0x05, 0x34, 0x12, 0, 0},
	{0xe8, 0, 1, 0, 0},
	{0x74, 0x10},
	{0xf0, 0x48, 0x0f, 0xb1, 0x0d, 0, 1, 0, 0},
	{0xc3},
	{0xf4},
	{0x06},
	{0x48, 0x8b},
	{},
}

// Storage is the caller's: nothing is allocated once it has its size.
func TestWarm(t *testing.T) {
	a := anyArch(t)
	text := &reloc.Text{Addr: 0x401000, Data: make([]byte, 64)}
	env := &reloc.Env{Spill: true, Code: text}
	var (
		in   reloc.Insn
		plan reloc.Plan
		e    fixups.Entry
		fs   []fixups.Verdict
	)
	for name, f := range map[string]func(code []byte){
		"Analyze":  func(code []byte) { _ = reloc.Analyze(&in, a, code, 0x401000, env) },
		"Relocate": func(code []byte) { _ = reloc.Relocate(&plan, a, code, 0x401000, env) },
		"Describe": func(code []byte) { _ = reloc.Describe(&e, a, code, 0x401000, env, true) },
		"Verdicts": func(code []byte) {
			if x86.AMD64.Decode(&in, code, 0x401000) == nil {
				fs = reloc.Verdicts(fs, a, &in, env, true)
			}
		},
	} {
		for range 2 {
			for _, code := range warm {
				f(code)
			}
		}
		for _, code := range warm {
			if n := testing.AllocsPerRun(20, func() { f(code) }); n != 0 {
				t.Errorf("%s allocates %v times for % x", name, n, code)
			}
		}
	}
}
