package linux

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xol-go/xol/internal/testenv"
)

//go:generate go test -run=^TestHeader$ . -update

var update = flag.Bool("update", false, "rewrite fixups/c/xol_linux.h")

const headerPath = "../c/xol_linux.h"

// TestHeader regenerates the C header from the maps.
func TestHeader(t *testing.T) {
	want := header()
	if *update {
		if err := os.WriteFile(headerPath, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(headerPath)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from the maps; go generate ./fixups/linux", headerPath)
	}
}

// TestSystemHeaders lets compilers hold the offsets against the structures of
// the system's own headers, and shows that they would notice.
func TestSystemHeaders(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	good, err := os.ReadFile(headerPath)
	if err != nil {
		t.Fatal(err)
	}
	for _, cc := range []string{"gcc", "clang", "i686-linux-gnu-gcc"} {
		for _, lang := range []string{"c", "c++"} {
			if cc == "i686-linux-gnu-gcc" && lang == "c++" {
				continue // the package has no C++ compiler
			}
			if out, err := system(t, cc, lang, good); err != nil {
				t.Errorf("%s %s: %v\n%s", cc, lang, err, out)
			}
		}
		// Every assertion of this machine fails when it is off by one.
		broken := bytes.ReplaceAll(good, []byte(" == "), []byte(" == 1 + "))
		out, err := system(t, cc, "c", broken)
		if n := strings.Count(string(out), "static assertion failed") + strings.Count(string(out), "static_assert failed"); err == nil || n < 40 {
			t.Errorf("%s: %d assertions failed when all should", cc, n)
		}
	}
}

func system(t *testing.T, cc, lang string, text []byte) ([]byte, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "xol_linux.h"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	std := map[string]string{"c": "-std=c11", "c++": "-std=c++17"}[lang]
	args := []string{"-x" + lang, std, "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-I" + dir, "-I../c", "-fsyntax-only", "-"}
	if cc == "clang" {
		args = append([]string{"-ferror-limit=0"}, args...)
	}
	cmd := exec.Command(testenv.Tool(t, cc), args...)
	cmd.Stdin = strings.NewReader("#include <sys/user.h>\n#include <ucontext.h>\n#include <asm/ptrace.h>\n#include <asm/sigcontext.h>\n#include \"xol_linux.h\"\n")
	return cmd.CombinedOutput()
}

// abi says for which machine's headers a map describes a structure, and the
// include guard of the header that has it.
var abi = map[string][2]string{
	"amd64_pt_regs":    {"__x86_64__", "_ASM_X86_PTRACE_H"},
	"amd64_user_regs":  {"__x86_64__", "_SYS_USER_H"},
	"amd64_gregs":      {"__x86_64__", "REG_RIP"},
	"amd64_fpregs":     {"__x86_64__", "_SYS_USER_H"},
	"i386_pt_regs":     {"__i386__", "_ASM_X86_PTRACE_H"},
	"i386_user_regs":   {"__i386__", "_SYS_USER_H"},
	"i386_user_regs64": {"__x86_64__", "_SYS_USER_H"},
	"i386_gregs":       {"__i386__", "REG_EIP"},
	"i386_fpxregs":     {"__i386__", "_SYS_USER_H"},
	"i386_fpstate":     {"__i386__", "_ASM_X86_SIGCONTEXT_H"},
}

func header() []byte {
	var b bytes.Buffer
	b.WriteString(headerTop)
	for _, m := range Maps() {
		fmt.Fprintf(&b, "\n/* Registers of %s in %s. */\nXOL_API const xol_map *xol_map_%s(void)\n{\n\tstatic const xol_map_field fields[] = {\n", m.Arch, m.Struct, m.Name)
		for _, f := range m.Fields {
			ro := 0
			if f.ReadOnly {
				ro = 1
			}
			fmt.Fprintf(&b, "\t\t{0x%x, %d, %d, %d},", uint16(f.Reg), f.Off, f.Size, ro)
			if f.C != "" {
				fmt.Fprintf(&b, " /* %s */", f.C)
			}
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "\t};\n\tstatic const xol_map map = {fields, sizeof fields / sizeof fields[0], %d, 0x%x, 0x%x, %d};\n\n\treturn &map;\n}\n",
			m.Size, uint16(m.Flags), m.Trap, m.Order)
	}
	b.WriteString(headerAsserts)
	for _, m := range Maps() {
		writeAsserts(&b, m)
	}
	b.WriteString("\n#endif /* XOL_LINUX_H */\n")
	return b.Bytes()
}

func writeAsserts(b *bytes.Buffer, m *Map) {
	g := abi[m.Name]
	fmt.Fprintf(b, "#if defined(%s) && defined(%s) && !defined(__KERNEL__)\n", g[0], g[1])
	for _, f := range m.Fields {
		switch {
		case f.C == "":
		case m.Struct == "gregset_t":
			fmt.Fprintf(b, "XOL_ASSERT(%s * sizeof(greg_t) == %d, \"%s\");\n", f.C, f.Off, m.Name)
		default:
			fmt.Fprintf(b, "XOL_ASSERT(offsetof(%s, %s) == %d, \"%s\");\n", m.Struct, f.C, f.Off, m.Name)
		}
	}
	if m.Name != "i386_fpstate" { // the kernel's goes on
		fmt.Fprintf(b, "XOL_ASSERT(sizeof(%s) == %d, \"%s\");\n", m.Struct, m.Size, m.Name)
	}
	b.WriteString("#endif\n")
}

const headerTop = `/*
 * xol_linux.h: where registers are in structures of Linux, by the numbers that
 * fixup programs use. Made from package fixups/linux by go generate.
 *
 * No system header is needed. Those that are included before this one are held
 * against it by static assertions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef XOL_LINUX_H
#define XOL_LINUX_H

#include "xol_fixups.h"

typedef struct xol_map_field {
	uint16_t reg, off; /* off: bytes from the start of the structure */
	uint8_t size;      /* bytes: 2, 4 or 8 */
	uint8_t read_only; /* lowest part of a vector: writing it zeroes parts that are not here */
} xol_map_field;

typedef struct xol_map {
	const xol_map_field *fields;
	uint32_t count;
	uint32_t size;  /* bytes of the structure */
	uint32_t flags; /* register with the trap flag, 0xfffe if it is not here */
	uint32_t trap;  /* the trap flag */
	uint32_t big;   /* byte order of the structure: 0 little-endian, 1 big-endian */
} xol_map;

/*
 * Registers of a thread, for xol_machine: ctx is a xol_regs, reg is xol_regs_get
 * and set_reg is xol_regs_set. The first map that has a register decides; a map
 * may be NULL. With hide_trap the trap flag in the structure is a stepper's:
 * programs do not see it, and what they write leaves it alone.
 */
typedef struct xol_regs {
	const xol_map *map[2];
	void *buf[2]; /* the structures; any alignment */
	bool hide_trap;
} xol_regs;

/* The field of a register, NULL if there is none; *at becomes its address. */
XOL_LEAF const xol_map_field *xol_regs_find(const xol_regs *r, uint32_t reg, uint8_t **at, uint32_t *which)
{
	uint32_t i;

	for (*which = 0; *which < 2; ++*which) {
		const xol_map *m = r->map[*which];

		for (i = 0; m != NULL && i < m->count; i++) {
			if (m->fields[i].reg == reg) {
				*at = (uint8_t *)r->buf[*which] + m->fields[i].off;
				return &m->fields[i];
			}
		}
	}
	return NULL;
}

XOL_API bool xol_regs_get(void *ctx, uint32_t reg, uint64_t *value)
{
	const xol_regs *r = (const xol_regs *)ctx;
	uint8_t *at;
	uint32_t which;
	const xol_map_field *f = xol_regs_find(r, reg, &at, &which);

	if (f == NULL)
		return false;
	*value = xol_get_word(at, f->size, r->map[which]->big);
	if (r->hide_trap && reg == r->map[which]->flags)
		*value &= ~(uint64_t)r->map[which]->trap;
	return true;
}

XOL_API bool xol_regs_set(void *ctx, uint32_t reg, uint64_t value)
{
	const xol_regs *r = (const xol_regs *)ctx;
	uint8_t *at;
	uint32_t which;
	const xol_map_field *f = xol_regs_find(r, reg, &at, &which);

	if (f == NULL || f->read_only)
		return false;
	if (r->hide_trap && reg == r->map[which]->flags) {
		uint64_t trap = r->map[which]->trap;

		value = (value & ~trap) | (xol_get_word(at, f->size, r->map[which]->big) & trap);
	}
	xol_put_word(at, value, f->size, r->map[which]->big);
	return true;
}
`

const headerAsserts = `
#if defined(__cplusplus)
#define XOL_ASSERT(cond, what) static_assert(cond, what)
#else
#define XOL_ASSERT(cond, what) _Static_assert(cond, what)
#endif

`
