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
	least := map[string]int{"gcc": 40, "clang": 40, "i686-linux-gnu-gcc": 40, "aarch64-linux-gnu-gcc": 12, "powerpc64-linux-gnu-gcc": 18,
		"powerpc64le-linux-gnu-gcc": 18}
	for cc, least := range least {
		for _, lang := range []string{"c", "c++"} {
			if strings.Contains(cc, "-linux-gnu-") && lang == "c++" {
				continue // the packages have no C++ compiler
			}
			if out, err := system(t, cc, lang, good); err != nil {
				t.Errorf("%s %s: %v\n%s", cc, lang, err, out)
			}
		}
		// Every assertion of this machine fails when it is off by one.
		broken := bytes.ReplaceAll(good, []byte(" == "), []byte(" == 1 + "))
		out, err := system(t, cc, "c", broken)
		if n := strings.Count(string(out), "static assertion failed") + strings.Count(string(out), "static_assert failed"); err == nil || n < least {
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

	"arm64_pt_regs":        {"__aarch64__", "__ASM_PTRACE_H"},
	"arm64_mcontext":       {"__aarch64__", "_SYS_UCONTEXT_H"},
	"arm64_fpsimd_context": {"__aarch64__", "__ASM_SIGCONTEXT_H"},
	"arm64_fpregs":         {"__aarch64__", "__ASM_PTRACE_H"},

	"ppc64_pt_regs":   {ppcBig, "_ASM_POWERPC_PTRACE_H"},
	"ppc64_gregs":     {ppcBig, "PT_NIP"},
	"ppc64_fpregs":    {ppcBig, "_SYS_UCONTEXT_H"},
	"ppc64_vrregs":    {ppcBig, "_SYS_UCONTEXT_H"},
	"ppc64le_pt_regs": {ppcLittle, "_ASM_POWERPC_PTRACE_H"},
	"ppc64le_gregs":   {ppcLittle, "PT_NIP"},
	"ppc64le_fpregs":  {ppcLittle, "_SYS_UCONTEXT_H"},
	"ppc64le_vrregs":  {ppcLittle, "_SYS_UCONTEXT_H"},
}

const (
	ppcBig    = "__powerpc64__) && defined(__BIG_ENDIAN__"
	ppcLittle = "__powerpc64__) && defined(__LITTLE_ENDIAN__"
)

func header() []byte {
	var b bytes.Buffer
	b.WriteString(headerTop)
	for _, m := range Maps() {
		writeMap(&b, m)
	}
	b.WriteString(headerFrame)
	b.WriteString(headerAsserts)
	for _, m := range Maps() {
		writeAsserts(&b, m)
	}
	b.WriteString("\n#endif /* XOL_LINUX_H */\n")
	return b.Bytes()
}

func writeMap(b *bytes.Buffer, m *Map) {
	fmt.Fprintf(b, "\n/* Registers of %s in %s. */\nXOL_API const xol_map *xol_map_%s(void)\n{\n\tstatic const xol_map_field fields[] = {\n", m.Arch, m.Struct, m.Name)
	for _, f := range m.Fields {
		ro := 0
		if f.ReadOnly {
			ro = 1
		}
		fmt.Fprintf(b, "\t\t{0x%x, %d, %d, %d, %d, %d, %d, %d},", uint16(f.Reg), f.Off, f.Size, ro, f.Lsb, f.Bits, f.Shift, f.Zeroes)
		if f.C != "" {
			fmt.Fprintf(b, " /* %s */", f.C)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "\t};\n\tstatic const xol_map map = {fields, sizeof fields / sizeof fields[0], %d, 0x%x, 0x%x, %d};\n\n\treturn &map;\n}\n",
		m.Size, uint16(m.Flags), m.Trap, m.Order)
}

func writeAsserts(b *bytes.Buffer, m *Map) {
	g, ok := abi[m.Name]
	if !ok {
		return // no structure of C has these words
	}
	fmt.Fprintf(b, "#if defined(%s) && defined(%s) && !defined(__KERNEL__)\n", g[0], g[1])
	for _, f := range m.Fields {
		switch {
		case f.C == "":
		case strings.HasPrefix(f.C, "PT_"): // Power's gregset_t has no name for its words
			fmt.Fprintf(b, "XOL_ASSERT(%s * sizeof(unsigned long) == %d, \"%s\");\n", f.C, f.Off, m.Name)
		case m.Struct == "gregset_t":
			fmt.Fprintf(b, "XOL_ASSERT(%s * sizeof(greg_t) == %d, \"%s\");\n", f.C, f.Off, m.Name)
		default:
			fmt.Fprintf(b, "XOL_ASSERT(offsetof(%s, %s) == %d, \"%s\");\n", m.Struct, f.C, f.Off, m.Name)
		}
	}
	if m.Name != "i386_fpstate" && m.Name != "arm64_mcontext" { // these go on
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
	uint8_t read_only; /* such as the lowest part of xmm: writing it zeroes parts that are not here */
	uint8_t lsb, bits, shift; /* bits of the word that are the register, bits 0: all of them */
	uint8_t zeroes;    /* bytes behind the word that a write zeroes: the rest of a vector */
} xol_map_field;

typedef struct xol_map {
	const xol_map_field *fields;
	uint32_t count;
	uint32_t size;  /* bytes of the structure */
	uint32_t flags; /* register with the trap flag, 0xfffe if it is not here */
	uint32_t trap;  /* the trap flag */
	uint32_t big;   /* byte order of the structure: 0 little-endian, 1 big-endian */
} xol_map;

#define XOL_MAPS 6

/*
 * Registers of a thread, for xol_machine: ctx is a xol_regs, reg is xol_regs_get
 * and set_reg is xol_regs_set. The first map that has a register decides; a map
 * may be NULL. With hide_trap the trap flag in the structure is a stepper's:
 * programs do not see it, and what they write leaves it alone.
 *
 * wide, if not NULL, are the whole vectors where a structure holds the lower
 * parts of them, wide_size bytes each: the Z registers of arm64. Reads come from
 * the structure, writes go to both; one of part 0 zeroes the rest of the vector.
 */
typedef struct xol_regs {
	const xol_map *map[XOL_MAPS];
	void *buf[XOL_MAPS]; /* the structures; any alignment */
	bool hide_trap;
	void *wide;
	uint32_t wide_size;
} xol_regs;

/* The field of a register, NULL if there is none; *at becomes its address. */
XOL_LEAF const xol_map_field *xol_regs_find(const xol_regs *r, uint32_t reg, uint8_t **at, uint32_t *which)
{
	uint32_t i;

	for (*which = 0; *which < XOL_MAPS; ++*which) {
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

/* The number of the first vector register that a structure has. */
XOL_LEAF uint32_t xol_first_vector(const xol_map *m)
{
	uint32_t i;

	for (i = 0; i < m->count; i++)
		if (m->fields[i].zeroes != 0)
			return (m->fields[i].reg & 0xfffu) >> 3;
	return 0;
}

/* The same write to a part of a vector, in wide. */
XOL_LEAF void xol_widen(const xol_regs *r, uint32_t reg, uint64_t value, bool lowest, uint32_t first)
{
	uint8_t *vector = (uint8_t *)r->wide + (size_t)(((reg & 0xfff) >> 3) - first) * r->wide_size;
	uint32_t i, at = 8 * (reg & 7);

	if (at + 8 > r->wide_size)
		return;
	xol_put_word(vector + at, value, 8, 0);
	for (i = 8; lowest && i < r->wide_size; i++)
		vector[i] = 0;
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
	if (f->bits != 0)
		*value = (*value >> f->lsb & (((uint64_t)1 << f->bits) - 1)) << f->shift;
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
	uint32_t i;

	if (f == NULL || f->read_only)
		return false;
	if (r->hide_trap && reg == r->map[which]->flags) {
		uint64_t trap = r->map[which]->trap;

		value = (value & ~trap) | (xol_get_word(at, f->size, r->map[which]->big) & trap);
	}
	if (f->bits != 0) {
		uint64_t mask = (((uint64_t)1 << f->bits) - 1) << f->lsb;

		value = (xol_get_word(at, f->size, r->map[which]->big) & ~mask) | (value >> f->shift << f->lsb & mask);
	}
	xol_put_word(at, value, f->size, r->map[which]->big);
	for (i = 0; i < f->zeroes; i++)
		at[f->size + i] = 0;
	if (r->wide != NULL && xol_first_vector(r->map[which]) != 0 && reg >= 0x1000 && reg < 0x1800)
		xol_widen(r, reg, value, f->zeroes != 0, xol_first_vector(r->map[which]));
	return true;
}
`

const headerFrame = `
/*
 * The vectors in a signal frame of arm64: reserved is uc_mcontext.__reserved and
 * size the bytes of it. Map i of r becomes that of the record fpsimd_context,
 * and wide the Z registers of sve_context, if the thread has live ones. Returns
 * false, and changes nothing, if there is no fpsimd_context. The kernel restores
 * the lower 128 bits from the one and the rest from the other; QEMU takes all from
 * sve_context. Both find what a program has written.
 */
XOL_API bool xol_arm64_frame(xol_regs *r, uint32_t i, void *reserved, uint32_t size)
{
	uint8_t *at = (uint8_t *)reserved, *vectors = NULL, *wide = NULL;
	uint32_t left = size, wide_size = 0;

	while (left >= 8) {
		uint32_t magic = xol_u32(at), len = xol_u32(at + 4);

		if (magic == 0x45585401u && left >= 20) { /* extra_context: the list goes on elsewhere */
			left = xol_u32(at + 16);
			at = (uint8_t *)(uintptr_t)xol_u64(at + 8);
			continue;
		}
		if (magic == 0 || len < 8 || len > left)
			break;
		if (magic == 0x46508001u && len >= 528) /* fpsimd_context */
			vectors = at;
		if (magic == 0x53564501u && len > 16) { /* sve_context */
			wide_size = xol_u16(at + 8);
			if (len < 16 + 32 * wide_size)
				return false;
			wide = at + 16;
		}
		at += len;
		left -= len;
	}
	if (vectors == NULL)
		return false;
	r->map[i] = xol_map_arm64_fpsimd_context();
	r->buf[i] = vectors;
	r->wide = wide;
	r->wide_size = wide_size;
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
