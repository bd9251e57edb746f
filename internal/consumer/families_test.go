package consumer

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

// readmeFamilies are the rows of README's table of families: the row as it
// stands there, the plans that it promises, in the letters e (emulate), n, f
// (jump near, far), p, q (the same with Spill), N, F (step near, far), and
// instructions for which it must be so, in 64-bit mode if m64, in 32-bit mode if
// m32.
var readmeFamilies = []struct {
	row, plans string
	m64, m32   string
}{
	{"| plain (no pc, no neighbour: arithmetic, SSE to AVX-512, x87, `lock`, `rep`, `cpuid` ...) | – | yes | yes |", "nfpqNF",
		"01c8 0f58c1 c5fc58c1 62f17c4858c1 d8c1 f00fb110 f3a4 0fa2 0f31", "01c8 0f58c1 c5fc58c1 d8c1 f00fb110 f3a4 0fa2 60 61"},
	{"| no-ops, `endbr`, `push` and `pop` of registers, constants and memory, `pushf` | yes | yes | yes |", "enfpqNF",
		"90 0f1f00 f30f1efa 50 58 6a01 ff30 8f00 9c", "90 f30f1efb 50 58 6a01 ff30 8f00 9c"},
	{"| `popf` | yes | – | yes |", "eNF", "9d", "9d"},
	{"| rip-relative `mov`, `movzx`, `movsx`, `movsxd`, `lea`, `push`, `pop` | yes | near; far: see below | yes |", "enpqNF",
		"488b0d00100000 48890d00100000 0fb60500100000 0fbe0500100000 48630500100000 488d0d00100000 ff3500100000 8f0500100000", ""},
	{"| rip-relative, all others | – | near; far: see below | yes |", "npqNF",
		"48030d00100000 0f580d00100000 48ff0500100000 f0480fb10d00100000", ""},
	{"| `jmp`, `jcc`, `loop`, `jrcxz` | yes | yes | yes |", "enfpqNF", "e900010000 eb10 7410 0f8400010000 e2fe e310", "e900010000 7410 e2fe e310"},
	{"| `call` | yes | yes | yes |", "enfpqNF", "e800010000 e800000000", "e800010000 e800000000"},
	{"| `call` through a register | yes | yes | yes |", "enfpqNF", "ffd0 41ffd3", "ffd0"},
	{"| `call` through memory | yes | with `Spill`, `Short` or a dead register | yes |", "epqNF", "ff10 ff1500100000", "ff10 ff1500100000"},
	{"| `call` through memory at a constant distance from the stack pointer | yes | yes | yes |", "enfpqNF", "ff542408", "ff1424 ff942400100000"},
	{"| `jmp` through a register or memory, `ret` | yes | yes; rip-relative far: with `Spill` | yes |", "enpqNF",
		"ffe0 ff20 c3 c20800 ff2500100000", "ffe0 ff20 c3 c20800"},
	{"| far `jmp`, far `ret` | – | yes | yes |", "nfpqNF", "ff28 cb", "ff28 cb ea785634120800"},
	{"| direct branches with a 66 prefix, 386 | yes | yes | yes |", "enfpqNF", "", "66e90000 660f840000 66e80000"},
	{"| `xbegin` | yes, as an immediate abort | yes | – |", "enfpq", "c7f800000000 66c7f80000", "c7f800000000 66c7f80000"},
	{"| `xend`, `xabort`, `xtest` | – | yes | – |", "nfpq", "0f01d5 c6f800 0f01d6", "0f01d5 c6f800 0f01d6"},
	{"| far `call` | – | with `Return` = `slot`, where that is not cut | yes |", "NF", "ff18", "ff18 9a785634120800"},
	{"| `iret`, `uiret`, user mode | – | yes | yes |", "nfpqNF", "cf 48cf f30f01ec", "cf"},
	{"| `syscall`, user mode | – | yes | yes |", "nfpqNF", "0f05", ""},
	{"| `int3`, `into`, `int n`, user mode | – | yes | yes |", "nfpqNF", "cc cd80", "cc ce cd80"},
	{"| `int1`, user mode | – | yes | – |", "nfpq", "f1", "f1"},
	{"| `ud0`, `ud1`, `ud2`; user mode: `hlt`, `cli`, `sti`, port I/O and all other privileged instructions | – | yes | yes |", "nfpqNF",
		"0fffc0 0fb9c0 0f0b f4 fa fb e410 0f01f8 0f01c1 0f30 0f22d8 0f07", "0fffc0 0fb9c0 0f0b f4 fa fb e410 0f01c1 0f30 0f22d8 0f35"},
	{"| `mov ss`, `pop ss`, `sysenter`, `enclu`, `vmfunc`, `stui` | – | – | – |", "", "8ed0 0f34 0f01d7 0f01d4 f30f01ef", "8ed0 17 0f34 0f01d7 0f01d4"},
}

// TestFamilies holds the README's table of what has a plan against the ports.
// Addresses do not fit in 32 bits, so that "see below" is not met by luck.
func TestFamilies(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range readmeFamilies {
		if !strings.Contains(string(page), "\n"+f.row+"\n") {
			t.Errorf("README lacks the row %s", f.row)
		}
		for _, mode := range []struct{ arch, codes string }{{"amd64", f.m64}, {"386", f.m32}} {
			for code := range strings.FieldsSeq(mode.codes) {
				got := plansOf(t, mode.arch, code)
				for _, letter := range "enfpqNF" {
					// What "see below" and "rip-relative far" leave open is not checked.
					open := letter == 'f' && strings.Contains(f.row, "far:")
					if has := strings.ContainsRune(got, letter); has != strings.ContainsRune(f.plans, letter) && !open {
						t.Errorf("%s\n%s %s has plans %q, the row promises %q", f.row, mode.arch, code, got, f.plans)
						break
					}
				}
			}
		}
	}
}

// plansOf returns the letters of the plans that an instruction has.
func plansOf(t *testing.T, name, code string) (letters string) {
	t.Helper()
	a, _ := arch.ByName(name)
	b, err := hex.DecodeString(code)
	if err != nil {
		t.Fatal(err)
	}
	pc := uint64(0x401000)
	if a.Info().Bits == 64 {
		pc = 0x7f0000401000
	}
	emulate, jump, step := fixups.FormEmulate.Bit(), fixups.FormJump.Bit(), fixups.FormStep.Bit()
	near, far := reloc.SlotsNear, reloc.SlotsFar
	for _, try := range []struct {
		letter string
		env    reloc.Env
	}{
		{"e", reloc.Env{Forms: emulate}},
		{"n", reloc.Env{Forms: jump, Slots: near}}, {"f", reloc.Env{Forms: jump, Slots: far}},
		{"p", reloc.Env{Forms: jump, Slots: near, Spill: true}}, {"q", reloc.Env{Forms: jump, Slots: far, Spill: true}},
		{"N", reloc.Env{Forms: step, Slots: near}}, {"F", reloc.Env{Forms: step, Slots: far}},
	} {
		var p reloc.Plan
		if reloc.Relocate(&p, a, b, pc, &try.env) == nil {
			letters += try.letter
		}
	}
	return letters
}
