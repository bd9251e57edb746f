/*
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

/* Registers of amd64 in struct pt_regs. */
XOL_API const xol_map *xol_map_amd64_pt_regs(void)
{
	static const xol_map_field fields[] = {
		{0xf, 0, 8, 0}, /* r15 */
		{0xe, 8, 8, 0}, /* r14 */
		{0xd, 16, 8, 0}, /* r13 */
		{0xc, 24, 8, 0}, /* r12 */
		{0x6, 32, 8, 0}, /* rbp */
		{0x3, 40, 8, 0}, /* rbx */
		{0xb, 48, 8, 0}, /* r11 */
		{0xa, 56, 8, 0}, /* r10 */
		{0x9, 64, 8, 0}, /* r9 */
		{0x8, 72, 8, 0}, /* r8 */
		{0x0, 80, 8, 0}, /* rax */
		{0x2, 88, 8, 0}, /* rcx */
		{0x1, 96, 8, 0}, /* rdx */
		{0x4, 104, 8, 0}, /* rsi */
		{0x5, 112, 8, 0}, /* rdi */
		{0xffff, 128, 8, 0}, /* rip */
		{0x33, 136, 2, 0}, /* cs */
		{0x31, 144, 8, 0}, /* eflags */
		{0x7, 152, 8, 0}, /* rsp */
		{0x34, 160, 2, 0}, /* ss */
	};
	static const xol_map map = {fields, sizeof fields / sizeof fields[0], 168, 0x31, 0x100, 0};

	return &map;
}

/* Registers of amd64 in struct user_regs_struct. */
XOL_API const xol_map *xol_map_amd64_user_regs(void)
{
	static const xol_map_field fields[] = {
		{0xf, 0, 8, 0}, /* r15 */
		{0xe, 8, 8, 0}, /* r14 */
		{0xd, 16, 8, 0}, /* r13 */
		{0xc, 24, 8, 0}, /* r12 */
		{0x6, 32, 8, 0}, /* rbp */
		{0x3, 40, 8, 0}, /* rbx */
		{0xb, 48, 8, 0}, /* r11 */
		{0xa, 56, 8, 0}, /* r10 */
		{0x9, 64, 8, 0}, /* r9 */
		{0x8, 72, 8, 0}, /* r8 */
		{0x0, 80, 8, 0}, /* rax */
		{0x2, 88, 8, 0}, /* rcx */
		{0x1, 96, 8, 0}, /* rdx */
		{0x4, 104, 8, 0}, /* rsi */
		{0x5, 112, 8, 0}, /* rdi */
		{0xffff, 128, 8, 0}, /* rip */
		{0x33, 136, 2, 0}, /* cs */
		{0x31, 144, 8, 0}, /* eflags */
		{0x7, 152, 8, 0}, /* rsp */
		{0x34, 160, 2, 0}, /* ss */
		{0x3a, 168, 8, 0}, /* fs_base */
		{0x3b, 176, 8, 0}, /* gs_base */
		{0x35, 184, 2, 0}, /* ds */
		{0x32, 192, 2, 0}, /* es */
		{0x36, 200, 2, 0}, /* fs */
		{0x37, 208, 2, 0}, /* gs */
	};
	static const xol_map map = {fields, sizeof fields / sizeof fields[0], 216, 0x31, 0x100, 0};

	return &map;
}

/* Registers of amd64 in gregset_t. */
XOL_API const xol_map *xol_map_amd64_gregs(void)
{
	static const xol_map_field fields[] = {
		{0x8, 0, 8, 0}, /* REG_R8 */
		{0x9, 8, 8, 0}, /* REG_R9 */
		{0xa, 16, 8, 0}, /* REG_R10 */
		{0xb, 24, 8, 0}, /* REG_R11 */
		{0xc, 32, 8, 0}, /* REG_R12 */
		{0xd, 40, 8, 0}, /* REG_R13 */
		{0xe, 48, 8, 0}, /* REG_R14 */
		{0xf, 56, 8, 0}, /* REG_R15 */
		{0x5, 64, 8, 0}, /* REG_RDI */
		{0x4, 72, 8, 0}, /* REG_RSI */
		{0x6, 80, 8, 0}, /* REG_RBP */
		{0x3, 88, 8, 0}, /* REG_RBX */
		{0x1, 96, 8, 0}, /* REG_RDX */
		{0x0, 104, 8, 0}, /* REG_RAX */
		{0x2, 112, 8, 0}, /* REG_RCX */
		{0x7, 120, 8, 0}, /* REG_RSP */
		{0xffff, 128, 8, 0}, /* REG_RIP */
		{0x31, 136, 8, 0}, /* REG_EFL */
		{0x33, 144, 2, 0}, /* REG_CSGSFS */
	};
	static const xol_map map = {fields, sizeof fields / sizeof fields[0], 184, 0x31, 0x100, 0};

	return &map;
}

/* Registers of amd64 in struct user_fpregs_struct. */
XOL_API const xol_map *xol_map_amd64_fpregs(void)
{
	static const xol_map_field fields[] = {
		{0x40, 24, 4, 0}, /* mxcsr */
		{0x1088, 160, 8, 1}, /* xmm_space */
		{0x1089, 168, 8, 0},
		{0x1090, 176, 8, 1},
		{0x1091, 184, 8, 0},
		{0x1098, 192, 8, 1},
		{0x1099, 200, 8, 0},
		{0x10a0, 208, 8, 1},
		{0x10a1, 216, 8, 0},
		{0x10a8, 224, 8, 1},
		{0x10a9, 232, 8, 0},
		{0x10b0, 240, 8, 1},
		{0x10b1, 248, 8, 0},
		{0x10b8, 256, 8, 1},
		{0x10b9, 264, 8, 0},
		{0x10c0, 272, 8, 1},
		{0x10c1, 280, 8, 0},
		{0x10c8, 288, 8, 1},
		{0x10c9, 296, 8, 0},
		{0x10d0, 304, 8, 1},
		{0x10d1, 312, 8, 0},
		{0x10d8, 320, 8, 1},
		{0x10d9, 328, 8, 0},
		{0x10e0, 336, 8, 1},
		{0x10e1, 344, 8, 0},
		{0x10e8, 352, 8, 1},
		{0x10e9, 360, 8, 0},
		{0x10f0, 368, 8, 1},
		{0x10f1, 376, 8, 0},
		{0x10f8, 384, 8, 1},
		{0x10f9, 392, 8, 0},
		{0x1100, 400, 8, 1},
		{0x1101, 408, 8, 0},
	};
	static const xol_map map = {fields, sizeof fields / sizeof fields[0], 512, 0xfffe, 0x0, 0};

	return &map;
}

/* Registers of 386 in struct pt_regs. */
XOL_API const xol_map *xol_map_i386_pt_regs(void)
{
	static const xol_map_field fields[] = {
		{0x3, 0, 4, 0}, /* ebx */
		{0x1, 4, 4, 0}, /* ecx */
		{0x2, 8, 4, 0}, /* edx */
		{0x6, 12, 4, 0}, /* esi */
		{0x7, 16, 4, 0}, /* edi */
		{0x5, 20, 4, 0}, /* ebp */
		{0x0, 24, 4, 0}, /* eax */
		{0x2b, 28, 2, 0}, /* xds */
		{0x28, 32, 2, 0}, /* xes */
		{0x2c, 36, 2, 0}, /* xfs */
		{0x2d, 40, 2, 0}, /* xgs */
		{0xffff, 48, 4, 0}, /* eip */
		{0x29, 52, 2, 0}, /* xcs */
		{0x9, 56, 4, 0}, /* eflags */
		{0x4, 60, 4, 0}, /* esp */
		{0x2a, 64, 2, 0}, /* xss */
	};
	static const xol_map map = {fields, sizeof fields / sizeof fields[0], 68, 0x9, 0x100, 0};

	return &map;
}

/* Registers of 386 in struct user_regs_struct. */
XOL_API const xol_map *xol_map_i386_user_regs(void)
{
	static const xol_map_field fields[] = {
		{0x3, 0, 4, 0}, /* ebx */
		{0x1, 4, 4, 0}, /* ecx */
		{0x2, 8, 4, 0}, /* edx */
		{0x6, 12, 4, 0}, /* esi */
		{0x7, 16, 4, 0}, /* edi */
		{0x5, 20, 4, 0}, /* ebp */
		{0x0, 24, 4, 0}, /* eax */
		{0x2b, 28, 2, 0}, /* xds */
		{0x28, 32, 2, 0}, /* xes */
		{0x2c, 36, 2, 0}, /* xfs */
		{0x2d, 40, 2, 0}, /* xgs */
		{0xffff, 48, 4, 0}, /* eip */
		{0x29, 52, 2, 0}, /* xcs */
		{0x9, 56, 4, 0}, /* eflags */
		{0x4, 60, 4, 0}, /* esp */
		{0x2a, 64, 2, 0}, /* xss */
	};
	static const xol_map map = {fields, sizeof fields / sizeof fields[0], 68, 0x9, 0x100, 0};

	return &map;
}

/* Registers of 386 in struct user_regs_struct. */
XOL_API const xol_map *xol_map_i386_user_regs64(void)
{
	static const xol_map_field fields[] = {
		{0x5, 32, 8, 0}, /* rbp */
		{0x3, 40, 8, 0}, /* rbx */
		{0x0, 80, 8, 0}, /* rax */
		{0x1, 88, 8, 0}, /* rcx */
		{0x2, 96, 8, 0}, /* rdx */
		{0x6, 104, 8, 0}, /* rsi */
		{0x7, 112, 8, 0}, /* rdi */
		{0xffff, 128, 8, 0}, /* rip */
		{0x29, 136, 2, 0}, /* cs */
		{0x9, 144, 8, 0}, /* eflags */
		{0x4, 152, 8, 0}, /* rsp */
		{0x2a, 160, 2, 0}, /* ss */
		{0x2b, 184, 2, 0}, /* ds */
		{0x28, 192, 2, 0}, /* es */
		{0x2c, 200, 2, 0}, /* fs */
		{0x2d, 208, 2, 0}, /* gs */
	};
	static const xol_map map = {fields, sizeof fields / sizeof fields[0], 216, 0x9, 0x100, 0};

	return &map;
}

/* Registers of 386 in gregset_t. */
XOL_API const xol_map *xol_map_i386_gregs(void)
{
	static const xol_map_field fields[] = {
		{0x2d, 0, 2, 0}, /* REG_GS */
		{0x2c, 4, 2, 0}, /* REG_FS */
		{0x28, 8, 2, 0}, /* REG_ES */
		{0x2b, 12, 2, 0}, /* REG_DS */
		{0x7, 16, 4, 0}, /* REG_EDI */
		{0x6, 20, 4, 0}, /* REG_ESI */
		{0x5, 24, 4, 0}, /* REG_EBP */
		{0x4, 28, 4, 0}, /* REG_ESP */
		{0x3, 32, 4, 0}, /* REG_EBX */
		{0x2, 36, 4, 0}, /* REG_EDX */
		{0x1, 40, 4, 0}, /* REG_ECX */
		{0x0, 44, 4, 0}, /* REG_EAX */
		{0xffff, 56, 4, 0}, /* REG_EIP */
		{0x29, 60, 2, 0}, /* REG_CS */
		{0x9, 64, 4, 0}, /* REG_EFL */
		{0x2a, 72, 2, 0}, /* REG_SS */
	};
	static const xol_map map = {fields, sizeof fields / sizeof fields[0], 76, 0x9, 0x100, 0};

	return &map;
}

/* Registers of 386 in struct user_fpxregs_struct. */
XOL_API const xol_map *xol_map_i386_fpxregs(void)
{
	static const xol_map_field fields[] = {
		{0x27, 24, 4, 0}, /* mxcsr */
		{0x10a8, 160, 8, 1}, /* xmm_space */
		{0x10a9, 168, 8, 0},
		{0x10b0, 176, 8, 1},
		{0x10b1, 184, 8, 0},
		{0x10b8, 192, 8, 1},
		{0x10b9, 200, 8, 0},
		{0x10c0, 208, 8, 1},
		{0x10c1, 216, 8, 0},
		{0x10c8, 224, 8, 1},
		{0x10c9, 232, 8, 0},
		{0x10d0, 240, 8, 1},
		{0x10d1, 248, 8, 0},
		{0x10d8, 256, 8, 1},
		{0x10d9, 264, 8, 0},
		{0x10e0, 272, 8, 1},
		{0x10e1, 280, 8, 0},
	};
	static const xol_map map = {fields, sizeof fields / sizeof fields[0], 512, 0xfffe, 0x0, 0};

	return &map;
}

/* Registers of 386 in struct _fpstate_32. */
XOL_API const xol_map *xol_map_i386_fpstate(void)
{
	static const xol_map_field fields[] = {
		{0x27, 136, 4, 0}, /* mxcsr */
		{0x10a8, 272, 8, 1}, /* _xmm */
		{0x10a9, 280, 8, 0},
		{0x10b0, 288, 8, 1},
		{0x10b1, 296, 8, 0},
		{0x10b8, 304, 8, 1},
		{0x10b9, 312, 8, 0},
		{0x10c0, 320, 8, 1},
		{0x10c1, 328, 8, 0},
		{0x10c8, 336, 8, 1},
		{0x10c9, 344, 8, 0},
		{0x10d0, 352, 8, 1},
		{0x10d1, 360, 8, 0},
		{0x10d8, 368, 8, 1},
		{0x10d9, 376, 8, 0},
		{0x10e0, 384, 8, 1},
		{0x10e1, 392, 8, 0},
	};
	static const xol_map map = {fields, sizeof fields / sizeof fields[0], 624, 0xfffe, 0x0, 0};

	return &map;
}

#if defined(__cplusplus)
#define XOL_ASSERT(cond, what) static_assert(cond, what)
#else
#define XOL_ASSERT(cond, what) _Static_assert(cond, what)
#endif

#if defined(__x86_64__) && defined(_ASM_X86_PTRACE_H) && !defined(__KERNEL__)
XOL_ASSERT(offsetof(struct pt_regs, r15) == 0, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, r14) == 8, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, r13) == 16, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, r12) == 24, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, rbp) == 32, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, rbx) == 40, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, r11) == 48, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, r10) == 56, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, r9) == 64, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, r8) == 72, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, rax) == 80, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, rcx) == 88, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, rdx) == 96, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, rsi) == 104, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, rdi) == 112, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, rip) == 128, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, cs) == 136, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, eflags) == 144, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, rsp) == 152, "amd64_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, ss) == 160, "amd64_pt_regs");
XOL_ASSERT(sizeof(struct pt_regs) == 168, "amd64_pt_regs");
#endif
#if defined(__x86_64__) && defined(_SYS_USER_H) && !defined(__KERNEL__)
XOL_ASSERT(offsetof(struct user_regs_struct, r15) == 0, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, r14) == 8, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, r13) == 16, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, r12) == 24, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, rbp) == 32, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, rbx) == 40, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, r11) == 48, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, r10) == 56, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, r9) == 64, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, r8) == 72, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, rax) == 80, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, rcx) == 88, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, rdx) == 96, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, rsi) == 104, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, rdi) == 112, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, rip) == 128, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, cs) == 136, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, eflags) == 144, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, rsp) == 152, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, ss) == 160, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, fs_base) == 168, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, gs_base) == 176, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, ds) == 184, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, es) == 192, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, fs) == 200, "amd64_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, gs) == 208, "amd64_user_regs");
XOL_ASSERT(sizeof(struct user_regs_struct) == 216, "amd64_user_regs");
#endif
#if defined(__x86_64__) && defined(REG_RIP) && !defined(__KERNEL__)
XOL_ASSERT(REG_R8 * sizeof(greg_t) == 0, "amd64_gregs");
XOL_ASSERT(REG_R9 * sizeof(greg_t) == 8, "amd64_gregs");
XOL_ASSERT(REG_R10 * sizeof(greg_t) == 16, "amd64_gregs");
XOL_ASSERT(REG_R11 * sizeof(greg_t) == 24, "amd64_gregs");
XOL_ASSERT(REG_R12 * sizeof(greg_t) == 32, "amd64_gregs");
XOL_ASSERT(REG_R13 * sizeof(greg_t) == 40, "amd64_gregs");
XOL_ASSERT(REG_R14 * sizeof(greg_t) == 48, "amd64_gregs");
XOL_ASSERT(REG_R15 * sizeof(greg_t) == 56, "amd64_gregs");
XOL_ASSERT(REG_RDI * sizeof(greg_t) == 64, "amd64_gregs");
XOL_ASSERT(REG_RSI * sizeof(greg_t) == 72, "amd64_gregs");
XOL_ASSERT(REG_RBP * sizeof(greg_t) == 80, "amd64_gregs");
XOL_ASSERT(REG_RBX * sizeof(greg_t) == 88, "amd64_gregs");
XOL_ASSERT(REG_RDX * sizeof(greg_t) == 96, "amd64_gregs");
XOL_ASSERT(REG_RAX * sizeof(greg_t) == 104, "amd64_gregs");
XOL_ASSERT(REG_RCX * sizeof(greg_t) == 112, "amd64_gregs");
XOL_ASSERT(REG_RSP * sizeof(greg_t) == 120, "amd64_gregs");
XOL_ASSERT(REG_RIP * sizeof(greg_t) == 128, "amd64_gregs");
XOL_ASSERT(REG_EFL * sizeof(greg_t) == 136, "amd64_gregs");
XOL_ASSERT(REG_CSGSFS * sizeof(greg_t) == 144, "amd64_gregs");
XOL_ASSERT(sizeof(gregset_t) == 184, "amd64_gregs");
#endif
#if defined(__x86_64__) && defined(_SYS_USER_H) && !defined(__KERNEL__)
XOL_ASSERT(offsetof(struct user_fpregs_struct, mxcsr) == 24, "amd64_fpregs");
XOL_ASSERT(offsetof(struct user_fpregs_struct, xmm_space) == 160, "amd64_fpregs");
XOL_ASSERT(sizeof(struct user_fpregs_struct) == 512, "amd64_fpregs");
#endif
#if defined(__i386__) && defined(_ASM_X86_PTRACE_H) && !defined(__KERNEL__)
XOL_ASSERT(offsetof(struct pt_regs, ebx) == 0, "i386_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, ecx) == 4, "i386_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, edx) == 8, "i386_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, esi) == 12, "i386_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, edi) == 16, "i386_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, ebp) == 20, "i386_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, eax) == 24, "i386_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, xds) == 28, "i386_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, xes) == 32, "i386_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, xfs) == 36, "i386_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, xgs) == 40, "i386_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, eip) == 48, "i386_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, xcs) == 52, "i386_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, eflags) == 56, "i386_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, esp) == 60, "i386_pt_regs");
XOL_ASSERT(offsetof(struct pt_regs, xss) == 64, "i386_pt_regs");
XOL_ASSERT(sizeof(struct pt_regs) == 68, "i386_pt_regs");
#endif
#if defined(__i386__) && defined(_SYS_USER_H) && !defined(__KERNEL__)
XOL_ASSERT(offsetof(struct user_regs_struct, ebx) == 0, "i386_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, ecx) == 4, "i386_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, edx) == 8, "i386_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, esi) == 12, "i386_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, edi) == 16, "i386_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, ebp) == 20, "i386_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, eax) == 24, "i386_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, xds) == 28, "i386_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, xes) == 32, "i386_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, xfs) == 36, "i386_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, xgs) == 40, "i386_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, eip) == 48, "i386_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, xcs) == 52, "i386_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, eflags) == 56, "i386_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, esp) == 60, "i386_user_regs");
XOL_ASSERT(offsetof(struct user_regs_struct, xss) == 64, "i386_user_regs");
XOL_ASSERT(sizeof(struct user_regs_struct) == 68, "i386_user_regs");
#endif
#if defined(__x86_64__) && defined(_SYS_USER_H) && !defined(__KERNEL__)
XOL_ASSERT(offsetof(struct user_regs_struct, rbp) == 32, "i386_user_regs64");
XOL_ASSERT(offsetof(struct user_regs_struct, rbx) == 40, "i386_user_regs64");
XOL_ASSERT(offsetof(struct user_regs_struct, rax) == 80, "i386_user_regs64");
XOL_ASSERT(offsetof(struct user_regs_struct, rcx) == 88, "i386_user_regs64");
XOL_ASSERT(offsetof(struct user_regs_struct, rdx) == 96, "i386_user_regs64");
XOL_ASSERT(offsetof(struct user_regs_struct, rsi) == 104, "i386_user_regs64");
XOL_ASSERT(offsetof(struct user_regs_struct, rdi) == 112, "i386_user_regs64");
XOL_ASSERT(offsetof(struct user_regs_struct, rip) == 128, "i386_user_regs64");
XOL_ASSERT(offsetof(struct user_regs_struct, cs) == 136, "i386_user_regs64");
XOL_ASSERT(offsetof(struct user_regs_struct, eflags) == 144, "i386_user_regs64");
XOL_ASSERT(offsetof(struct user_regs_struct, rsp) == 152, "i386_user_regs64");
XOL_ASSERT(offsetof(struct user_regs_struct, ss) == 160, "i386_user_regs64");
XOL_ASSERT(offsetof(struct user_regs_struct, ds) == 184, "i386_user_regs64");
XOL_ASSERT(offsetof(struct user_regs_struct, es) == 192, "i386_user_regs64");
XOL_ASSERT(offsetof(struct user_regs_struct, fs) == 200, "i386_user_regs64");
XOL_ASSERT(offsetof(struct user_regs_struct, gs) == 208, "i386_user_regs64");
XOL_ASSERT(sizeof(struct user_regs_struct) == 216, "i386_user_regs64");
#endif
#if defined(__i386__) && defined(REG_EIP) && !defined(__KERNEL__)
XOL_ASSERT(REG_GS * sizeof(greg_t) == 0, "i386_gregs");
XOL_ASSERT(REG_FS * sizeof(greg_t) == 4, "i386_gregs");
XOL_ASSERT(REG_ES * sizeof(greg_t) == 8, "i386_gregs");
XOL_ASSERT(REG_DS * sizeof(greg_t) == 12, "i386_gregs");
XOL_ASSERT(REG_EDI * sizeof(greg_t) == 16, "i386_gregs");
XOL_ASSERT(REG_ESI * sizeof(greg_t) == 20, "i386_gregs");
XOL_ASSERT(REG_EBP * sizeof(greg_t) == 24, "i386_gregs");
XOL_ASSERT(REG_ESP * sizeof(greg_t) == 28, "i386_gregs");
XOL_ASSERT(REG_EBX * sizeof(greg_t) == 32, "i386_gregs");
XOL_ASSERT(REG_EDX * sizeof(greg_t) == 36, "i386_gregs");
XOL_ASSERT(REG_ECX * sizeof(greg_t) == 40, "i386_gregs");
XOL_ASSERT(REG_EAX * sizeof(greg_t) == 44, "i386_gregs");
XOL_ASSERT(REG_EIP * sizeof(greg_t) == 56, "i386_gregs");
XOL_ASSERT(REG_CS * sizeof(greg_t) == 60, "i386_gregs");
XOL_ASSERT(REG_EFL * sizeof(greg_t) == 64, "i386_gregs");
XOL_ASSERT(REG_SS * sizeof(greg_t) == 72, "i386_gregs");
XOL_ASSERT(sizeof(gregset_t) == 76, "i386_gregs");
#endif
#if defined(__i386__) && defined(_SYS_USER_H) && !defined(__KERNEL__)
XOL_ASSERT(offsetof(struct user_fpxregs_struct, mxcsr) == 24, "i386_fpxregs");
XOL_ASSERT(offsetof(struct user_fpxregs_struct, xmm_space) == 160, "i386_fpxregs");
XOL_ASSERT(sizeof(struct user_fpxregs_struct) == 512, "i386_fpxregs");
#endif
#if defined(__i386__) && defined(_ASM_X86_SIGCONTEXT_H) && !defined(__KERNEL__)
XOL_ASSERT(offsetof(struct _fpstate_32, mxcsr) == 136, "i386_fpstate");
XOL_ASSERT(offsetof(struct _fpstate_32, _xmm) == 272, "i386_fpstate");
#endif

#endif /* XOL_LINUX_H */
