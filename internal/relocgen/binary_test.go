package relocgen

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"testing"

	"github.com/xol-go/xol/arch/arm64"
	"github.com/xol-go/xol/arch/ppc64"
	"github.com/xol-go/xol/arch/x86"
	"github.com/xol-go/xol/fixups"
	"github.com/xol-go/xol/internal/testenv"
	"github.com/xol-go/xol/objfile"
	"github.com/xol-go/xol/reloc"
)

// realFile is a real program: ls where there is one, else this test.
func realFile(t *testing.T) string {
	if _, err := os.Stat("/bin/ls"); err == nil {
		return "/bin/ls"
	}
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// realLibrary is libc, which pushes constants and is in assembly here and there, or
// "" where there is none for x86.
func realLibrary(t *testing.T) string {
	found, err := filepath.Glob("/lib/x86_64-linux-gnu/libc.so.6")
	if err != nil || found == nil || testenv.Race || testing.Short() {
		return ""
	}
	return found[0]
}

// TestBinaryMeansTheSame holds every entry of a binary table, made from shapes,
// against one that is made for the site alone.
func TestBinaryMeansTheSame(t *testing.T) {
	ways := [][]string{nil, {"--spill", "--allow-lost", "--return=slot"}, {"--slots=near", "--form=jump"}}
	meansTheSame(t, x86.AMD64, realFile(t), ways)
	if name := realLibrary(t); name != "" {
		meansTheSame(t, x86.AMD64, name, ways[:1])
	}
}

// TestBinaryMeansTheSameNear is the same for instruction sets on which neighbours
// matter, by the C libraries of cross compilers.
func TestBinaryMeansTheSameNear(t *testing.T) {
	ways := [][]string{nil, {"--spill", "--allow-lost", "--return=slot"}, {"--slots=near", "--form=jump"}}
	seen := false
	for _, lib := range []struct {
		arch reloc.Arch
		name string
	}{
		{arm64.A64, "/usr/aarch64-linux-gnu/lib/"},
		{ppc64.LE, "/usr/powerpc64le-linux-gnu/lib/"},
		{ppc64.BE, "/usr/powerpc64-linux-gnu/lib/"},
	} {
		if _, err := os.Stat(lib.name + "libc.so.6"); err != nil {
			continue
		}
		seen = true
		if testenv.Race || testing.Short() || lib.arch != arm64.A64 { // libc takes long
			meansTheSame(t, lib.arch, lib.name+"libm.so.6", ways)
			continue
		}
		meansTheSame(t, lib.arch, lib.name+"libc.so.6", ways[:1])
		meansTheSame(t, lib.arch, lib.name+"libm.so.6", ways[1:])
	}
	if !seen {
		testenv.Missing(t, "a cross compiler's C library (libc6-arm64-cross)")
	}
}

func meansTheSame(t *testing.T, a reloc.Arch, name string, ways [][]string) {
	for _, flags := range ways {
		var out bytes.Buffer
		found, err := sweep(append(append([]string{"--binary"}, flags...), name), &out)
		if err != nil {
			t.Fatal(err)
		}
		view, err := fixups.OpenBinary(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if view.Len() != found.sites || found.sites < 1000 {
			t.Fatalf("%d entries, %d sites were written", view.Len(), found.sites)
		}
		compareAll(t, a, name, view, flags)
	}
}

func compareAll(t *testing.T, a reloc.Arch, name string, view *fixups.View, flags []string) {
	file, err := objfile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	env, both := reloc.Env{}, true
	switch len(flags) {
	case 3:
		env.Spill, env.AllowLost, env.Return = true, true, fixups.ReturnsSlot
	case 2:
		env.Slots, env.Forms, both = reloc.SlotsNear, fixups.FormJump.Bit(), false
	}
	env.Biased = file.Type == elf.ET_DYN
	var got, want fixups.Entry
	code := make([]byte, 1<<20)
	bad := 0
	for ref := range view.All() {
		view.Entry(ref, &got)
		fn, err := file.FuncAt(objfile.VAddr(got.PC))
		if err != nil {
			t.Fatal(err)
		}
		n, err := file.ReadCode(code[:min(fn.Size, uint64(len(code)))], fn.Addr)
		if err != nil {
			t.Fatal(err)
		}
		env.Code = &reloc.Text{Addr: uint64(fn.Addr), Data: code[:n]}
		reloc.Describe(&want, a, code[got.PC-uint64(fn.Addr):n], got.PC, &env, both)
		want.Reads, want.Writes, want.Kills = fixups.RegSet{}, fixups.RegSet{}, fixups.RegSet{}
		want.Func, want.At, want.InFile, want.Offset = got.Func, got.At, got.InFile, got.Offset
		if !got.Equal(&want) {
			regs := a.Info().Regs
			t.Errorf("%v: %#x % x:\nbinary %s\nalone  %s", flags, got.PC, got.Bytes, got.AppendJSON(nil, a.Info().Name, regs), want.AppendJSON(nil, a.Info().Name, regs))
			if bad++; bad == 5 {
				t.FailNow()
			}
		}
	}
}
