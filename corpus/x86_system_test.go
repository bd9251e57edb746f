package corpus_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/xol-go/xol/arch"
	"github.com/xol-go/xol/corpus"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/reloc"
)

const systemHead = `# What near slots answer for each row of the x86 tables that belongs to the system,
# or is refused in some form, with no wishes (Env of Slots = near) in user and in
# kernel mode. Made from the tables by go generate ./corpus. Fields between tabs:
# mode of the processor, bytes, mnemonic, then jump and step in user mode, jump and
# step in kernel mode: plan, or the reason.
`

//go:generate go test -run=^TestX86System$ . -update

// TestX86System holds the answers for the instructions of the system, row by row,
// and that no row of the tables is refused as unknown in any mode.
func TestX86System(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(systemHead)
	count := map[string]int{}
	for r := range corpus.X86Rows() {
		for _, name := range r.Modes {
			a, ok := arch.ByName(name)
			if !ok {
				t.Fatal(name)
			}
			answers := systemAnswers(a, &r)
			for i, s := range answers {
				if s == fixups.ReasonUnknown.String() {
					t.Errorf("%s % x %s: unknown (%s)", name, r.Bytes, r.Name, systemColumns[i])
				}
			}
			if !isSystem(r.Class) && !slices.ContainsFunc(answers[:], func(s string) bool { return s != "plan" }) {
				continue
			}
			for i, s := range answers {
				count[name+" "+systemColumns[i]+" "+s]++
			}
			fmt.Fprintf(&b, "%s\t%x\t%s\t%s\n", name, r.Bytes, r.Name, strings.Join(answers[:], "\t"))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%-40s %d", k, count[k])
	}
	const file = "x86_system.txt"
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, b.Bytes()) {
		t.Errorf("%s is stale; run go generate ./corpus and review the difference", file)
	}
}

var systemColumns = [4]string{"user jump", "user step", "kernel jump", "kernel step"}

func isSystem(c fixups.Class) bool {
	return c == fixups.ClassPrivileged || c == fixups.ClassTrap || c == fixups.ClassKernelEntry
}

// systemAnswers plans a row's case in the order of systemColumns.
func systemAnswers(a reloc.Arch, r *corpus.Row) (answers [4]string) {
	const pc = 0x401000
	for i := range answers {
		env := reloc.Env{Slots: reloc.SlotsNear, Forms: fixups.FormJump.Bit()}
		if i&1 != 0 {
			env.Forms = fixups.FormStep.Bit()
		}
		if i >= 2 {
			env.Mode = reloc.ModeKernel
		}
		var p reloc.Plan
		answers[i] = "plan"
		if err := reloc.Relocate(&p, a, r.Bytes, pc, &env); err != nil {
			answers[i] = reloc.ReasonOf(err).String()
		}
	}
	return answers
}
