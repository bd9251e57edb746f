/*
 * xol_fixups.h: binary fixup tables (.rfx) for C11 and C++17: check, look up,
 * place, run. docs/format.md defines the format, docs/c.md shows the use.
 *
 * One header, freestanding: <stdint.h>, <stddef.h> and <stdbool.h> only, no
 * libc, no allocation, no recursion, no static data that changes, no division
 * of 64-bit words. Every function is async-signal-safe. Compiled with -O2 or
 * -Os it needs less than 512 bytes of stack, callbacks not counted. The host's
 * byte order, word size and alignment do not matter: tables are read byte by
 * byte.
 *
 * All functions are static. Define XOL_API as nothing before the include to
 * give those of the interface external linkage.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef XOL_FIXUPS_H
#define XOL_FIXUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef XOL_API
#define XOL_API static inline
#endif

/*
 * The stack is bounded: what is called from everywhere has no frame of its own,
 * and the parts of xol_check do not share one.
 */
#if defined(__GNUC__)
#define XOL_LEAF static inline __attribute__((always_inline))
#define XOL_PART static __attribute__((noinline, unused))
#else
#define XOL_LEAF static inline
#define XOL_PART static inline
#endif

/*
 * Compilers turn loops that copy or compare bytes into calls of memcpy and its
 * like, which a freestanding program need not have. A barrier in the loop
 * keeps it a loop.
 */
#if defined(__GNUC__)
#define XOL_NO_LIBCALL() __asm__ volatile("" : : : "memory")
#else
#define XOL_NO_LIBCALL() ((void)0)
#endif

/* ---- Numbers of the format (docs/format.md, Numbers of the enumerations) -- */

enum {
	XOL_VERSION = 1,
	XOL_MAX_STEPS = 32, /* of a program */
	XOL_MAX_TEMPS = 8,
	XOL_MAX_STORES = 2, /* of a program */
	XOL_MAX_ITEMS = 1024, /* relocs, escapes, points of a verdict, each */
	XOL_MAX_CODE = 65535 /* bytes of slot code */
};

/* Registers: a number below 256 is a whole register of the ISA. */
#define XOL_REG_PC 0xffffu
#define XOL_REG_PART(v, i) (0x1000u | (uint32_t)(v) << 3 | ((uint32_t)(i) & 7))

enum {
	XOL_CLASS_INVALID, XOL_CLASS_PLAIN, XOL_CLASS_PC_RELATIVE, XOL_CLASS_BRANCH,
	XOL_CLASS_COND_BRANCH, XOL_CLASS_CALL, XOL_CLASS_INDIRECT_BRANCH,
	XOL_CLASS_INDIRECT_CALL, XOL_CLASS_RETURN, XOL_CLASS_TRAP,
	XOL_CLASS_KERNEL_ENTRY, XOL_CLASS_PRIVILEGED, XOL_CLASS_EXCLUSIVE,
	XOL_CLASS_TRANSACTION, XOL_CLASS_PREFIX
};

/* Bits of xol_hazards: bit n of the word is hazard n. */
enum {
	XOL_HAZARD_READS_PC, XOL_HAZARD_PUSHES_PC, XOL_HAZARD_SEES_TF,
	XOL_HAZARD_CHANGES_TF, XOL_HAZARD_CHANGES_IF, XOL_HAZARD_SHADOW,
	XOL_HAZARD_REPEATS, XOL_HAZARD_KERNEL_ENTRY, XOL_HAZARD_KERNEL_SEES_PC,
	XOL_HAZARD_TRANSACTION, XOL_HAZARD_EXCLUSIVE, XOL_HAZARD_ADJACENT,
	XOL_HAZARD_LANDING_PAD, XOL_HAZARD_BTYPE, XOL_HAZARD_SHADOW_STACK,
	XOL_HAZARD_VENDOR, XOL_HAZARD_X87_FIP, XOL_HAZARD_MONITOR, XOL_HAZARD_RSEQ,
	XOL_HAZARD_EXCEPTION_TABLE, XOL_HAZARD_UNWIND, XOL_HAZARD_READS_OWN_BYTES,
	XOL_HAZARD_PARTIAL, XOL_HAZARD_KEYED_BY_PC, XOL_HAZARD_CONTEXT_UNKNOWN
};

enum {
	XOL_REASON_NONE, XOL_REASON_UNKNOWN, XOL_REASON_RESERVED, XOL_REASON_TRUNCATED,
	XOL_REASON_VENDOR, XOL_REASON_EXCLUSIVE, XOL_REASON_ADJACENT,
	XOL_REASON_TRANSACTION, XOL_REASON_PREFIX_LINE, XOL_REASON_SUFFIX_WORD,
	XOL_REASON_NO_SCRATCH, XOL_REASON_NO_REACH, XOL_REASON_NOT_EMULATED,
	XOL_REASON_PRIVILEGED, XOL_REASON_SHADOW_STACK, XOL_REASON_RETURN_INTO_PATCH,
	XOL_REASON_JUMP_INTO_REGION, XOL_REASON_NO_ROOM, XOL_REASON_DATA,
	XOL_REASON_UNLINKED_FIELD, XOL_REASON_FOREIGN_BREAKPOINT, XOL_REASON_OVERLAP,
	XOL_REASON_MID_INSTRUCTION, XOL_REASON_RETURN_ADDRESS, XOL_REASON_NO_STOP
};

enum { XOL_FORM_EMULATE, XOL_FORM_JUMP, XOL_FORM_STEP, XOL_FORM_REGION };

enum {
	XOL_STRATEGY_NONE, XOL_STRATEGY_COPY, XOL_STRATEGY_RE_ENCODE,
	XOL_STRATEGY_ABSOLUTE, XOL_STRATEGY_OWN_DEST, XOL_STRATEGY_DEAD_REG,
	XOL_STRATEGY_SPILL, XOL_STRATEGY_LITERAL, XOL_STRATEGY_ISLAND,
	XOL_STRATEGY_EMULATE
};

enum { XOL_TAIL_NONE, XOL_TAIL_JUMP, XOL_TAIL_TRAP };
enum { XOL_STOP_HARDWARE, XOL_STOP_TRAP };
enum { XOL_RETURNS_ORIGINAL, XOL_RETURNS_SLOT };
enum { XOL_STATE_START, XOL_STATE_PART, XOL_STATE_DONE };
enum { XOL_ESCAPE_RETURN_ADDRESS, XOL_ESCAPE_ABORT_PC, XOL_ESCAPE_CHILD, XOL_ESCAPE_CONTEXT };
enum { XOL_BASE_SITE, XOL_BASE_SLOT, XOL_BASE_DATA, XOL_BASE_INSN, XOL_BASE_REG };
enum { XOL_CHECK_NONE, XOL_CHECK_SIGNED, XOL_CHECK_UNSIGNED, XOL_CHECK_WRAP };
enum { XOL_ORDER_INSN, XOL_ORDER_DATA };

enum {
	XOL_OP_MOV, XOL_OP_ADD, XOL_OP_SUB, XOL_OP_AND, XOL_OP_OR, XOL_OP_XOR,
	XOL_OP_SHL, XOL_OP_SHR, XOL_OP_ZEXT, XOL_OP_SEXT, XOL_OP_EXTRACT,
	XOL_OP_INSERT, XOL_OP_LOAD, XOL_OP_STORE, XOL_OP_SKIP, XOL_OP_SHPUSH,
	XOL_OP_SHPOP
};

enum {
	XOL_COND_EQ, XOL_COND_NE, XOL_COND_LT, XOL_COND_LE, XOL_COND_GT, XOL_COND_GE,
	XOL_COND_B, XOL_COND_BE, XOL_COND_A, XOL_COND_AE
};

enum {
	XOL_OPERAND_NONE, XOL_OPERAND_REG, XOL_OPERAND_TEMP, XOL_OPERAND_CONST,
	XOL_OPERAND_SITE, XOL_OPERAND_SLOT, XOL_OPERAND_DATA
};

/* Sets. */
enum { XOL_PATCH_TRAP = 1, XOL_PATCH_BRANCH = 2 };
enum { XOL_NEEDS_VECTOR = 1, XOL_NEEDS_SEGMENT_BASE = 2, XOL_NEEDS_SHADOW_STACK = 4 };

/* Flags of a verdict. The last three matter to this header only. */
enum {
	XOL_FAR_ASKED = 0x001, XOL_FAR = 0x002, XOL_IS_CALL = 0x004, XOL_PRIVATE = 0x008,
	XOL_X87 = 0x010, XOL_ALIAS = 0x020, XOL_COPY = 0x040, XOL_MIN_D = 0x080,
	XOL_MAX_D = 0x100
};

/* Section kinds, as xol_error names them; 0 is what stands before and behind them. */
enum {
	XOL_SEC_HEADER, XOL_SEC_BODY, XOL_SEC_RUNS, XOL_SEC_GAPS, XOL_SEC_PLAIN,
	XOL_SEC_SHAPES, XOL_SEC_VERDICTS, XOL_SEC_RELOCS, XOL_SEC_POINTS,
	XOL_SEC_ESCAPES, XOL_SEC_STEPS, XOL_SEC_CODE, XOL_SEC_STRINGS,
	XOL_SECTIONS = 12
};

/* What functions return. */
enum {
	XOL_OK,
	XOL_E_TABLE,    /* not a valid table: xol_error says where */
	XOL_E_REFUSED,  /* the verdict is a refusal */
	XOL_E_REACH,    /* slot out of reach, or a field cannot hold its value: xol_miss */
	XOL_E_ALIGN,    /* slot not aligned as the plan asks */
	XOL_E_BASES,    /* an address or register that the plan asks for is not given */
	XOL_E_ROOM,     /* destination too small */
	XOL_E_FAULT,    /* a load or store of a program faulted: xol_fault */
	XOL_E_REGISTER, /* the machine does not have a register of the program */
	XOL_E_PROGRAM   /* malformed program */
};

/* ---- Types ---------------------------------------------------------------- */

/* A checked table. xol_check fills it in; nothing may change it or the bytes. */
typedef struct xol_table {
	const uint8_t *data;
	size_t size;
	size_t end;                           /* where the fields behind the sections begin */
	const uint8_t *sec[XOL_SECTIONS + 1]; /* by kind; [0] is the file */
	size_t count[XOL_SECTIONS + 1];       /* items */
	uint64_t base;                        /* lowest address of a loadable segment */
	uint8_t bits;                         /* word size of the ISA: 32 or 64 */
	uint8_t align, shift;                 /* bytes for each bit of starts, and its log2 */
	uint8_t insn_order, data_order;       /* 0 little-endian, 1 big-endian */
} xol_table;

/* What is wrong with a table. */
typedef struct xol_error {
	uint64_t offset;  /* in the file, bytes */
	uint32_t section; /* XOL_SEC_... */
	const char *rule; /* what is broken, in words */
} xol_error;

/* One instruction of a table. */
typedef struct xol_ref {
	uint64_t pc;    /* as in the table: without load bias */
	uint64_t d;     /* target - pc; without a target a number that the plans move with */
	uint32_t shape; /* equal shapes have equal class, hazards and, up to D, plans */
	uint32_t run;
	uint8_t len;    /* bytes */
	bool plain;     /* stored as a bit */
} xol_ref;

/* One verdict on an instruction: a plan, or a refusal. */
typedef struct xol_verdict {
	const xol_table *table;
	const uint8_t *rec;  /* struct verdict */
	const uint8_t *site; /* bytes of the instruction when the table was made */
	uint64_t d;
} xol_verdict;

typedef struct xol_reach {
	int64_t min, max; /* of Slot - Site, both included; all of int64_t if far_slots */
	uint32_t align, residue;
	bool far_slots; /* any slot; align and residue hold nevertheless */
} xol_reach;

/* A program of a checked table. */
typedef struct xol_program {
	const uint8_t *steps;
	uint32_t count;
	uint64_t d;
} xol_program;

/* Addresses that a plan is placed at, at run time. */
typedef struct xol_bases {
	uint64_t site, slot;
	uint64_t data; /* private data of the slot (16 bytes, at a multiple of 8), 0: none */
	void *ctx;     /* for the two callbacks, which may be NULL */
	bool (*reg)(void *ctx, uint32_t reg, uint64_t *value);    /* private slots: a register at the hit */
	bool (*insn)(void *ctx, uint32_t index, uint64_t *addr);  /* regions: copy of the n-th instruction */
} xol_bases;

/* By how much a slot is out of reach. */
typedef struct xol_miss {
	int64_t over;  /* bytes above the greatest (positive) or below the least Slot - Site; 0: wrong residue */
	int32_t reloc; /* field that cannot hold value; -1: the slot is out of reach */
	int64_t value;
} xol_miss;

/*
 * The thread that a program works on. Registers have the numbers of the ISA;
 * flags do not contain the trap flag of a stepper. Each load and store is one
 * access of 1, 2, 4 or 8 bytes, in memory order in buf. Callbacks return false
 * if there is no such register, or if the access faults (and then have changed
 * nothing). shpush and shpop may be NULL: the shadow stack is off. shpop
 * returns false if it is off, shpush only if the push faults.
 *
 * Writing part 0 of an A64 or VEX vector zeroes its higher parts.
 */
typedef struct xol_machine {
	void *ctx;
	bool (*reg)(void *ctx, uint32_t reg, uint64_t *value);
	bool (*set_reg)(void *ctx, uint32_t reg, uint64_t value);
	bool (*load)(void *ctx, uint64_t addr, uint8_t *buf, uint32_t size);
	bool (*store)(void *ctx, uint64_t addr, const uint8_t *buf, uint32_t size);
	bool (*shpush)(void *ctx, uint64_t value);
	bool (*shpop)(void *ctx, uint64_t *value);
} xol_machine;

/* t0 to t7. They belong to the thread from pre to post or abort. */
typedef struct xol_temps {
	uint64_t t[XOL_MAX_TEMPS];
} xol_temps;

/* The access of a program that faulted. */
typedef struct xol_fault {
	uint64_t addr; /* 0 if shadow */
	uint32_t size; /* bytes */
	bool write;
	bool shadow; /* it was the push to the shadow stack */
} xol_fault;

/* ---- Bytes ---------------------------------------------------------------- */

XOL_LEAF uint32_t xol_u16(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

XOL_LEAF uint32_t xol_u32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

XOL_LEAF uint64_t xol_u64(const uint8_t *p)
{
	return (uint64_t)xol_u32(p) | (uint64_t)xol_u32(p + 4) << 32;
}

/* Reads a word of 1, 2, 4 or 8 bytes. */
XOL_LEAF uint64_t xol_get_word(const uint8_t *p, uint32_t size, uint32_t big)
{
	uint64_t v = 0;
	uint32_t i;

	for (i = 0; i < size; i++)
		v |= (uint64_t)p[i] << 8 * (big ? size - 1 - i : i);
	return v;
}

/* Writes the low bits of v as a word of 1, 2, 4 or 8 bytes. */
XOL_LEAF void xol_put_word(uint8_t *p, uint64_t v, uint32_t size, uint32_t big)
{
	uint32_t i;

	for (i = 0; i < size; i++) {
		p[i] = (uint8_t)(v >> 8 * (big ? size - 1 - i : i));
		XOL_NO_LIBCALL();
	}
}

XOL_LEAF bool xol_zero(const uint8_t *p, size_t n)
{
	uint8_t any = 0;
	size_t i;

	for (i = 0; i < n; i++)
		any |= p[i];
	return any == 0;
}

/* The number of the lowest set bit; w is not 0. */
XOL_LEAF uint32_t xol_low_bit(uint64_t w)
{
	uint32_t n = 0, x = (uint32_t)w;

	if (x == 0) {
		n = 32;
		x = (uint32_t)(w >> 32);
	}
	if ((x & 0xffff) == 0) {
		n += 16;
		x >>= 16;
	}
	if ((x & 0xff) == 0) {
		n += 8;
		x >>= 8;
	}
	if ((x & 0xf) == 0) {
		n += 4;
		x >>= 4;
	}
	if ((x & 3) == 0) {
		n += 2;
		x >>= 2;
	}
	return n + (~x & 1);
}

/* Bits lsb to lsb+width-1; width is 1 to 64. */
XOL_LEAF uint64_t xol_field(uint32_t lsb, uint32_t width)
{
	return ~(uint64_t)0 >> (64 - width) << lsb;
}

/* Arithmetic shift right, which C leaves to the implementation. n is 0 to 63. */
XOL_LEAF uint64_t xol_sar(uint64_t v, uint32_t n)
{
	uint64_t sign = 0 - (v >> 63);

	return v >> n | (sign & ~(~(uint64_t)0 >> n));
}

/* a < b as two's complement numbers. */
XOL_LEAF bool xol_less(uint64_t a, uint64_t b)
{
	return (a ^ (uint64_t)1 << 63) < (b ^ (uint64_t)1 << 63);
}

/* The number that v is in two's complement, without a conversion that C leaves
 * to the implementation. */
XOL_LEAF int64_t xol_signed(uint64_t v)
{
	return v >> 63 ? -(int64_t)~v - 1 : (int64_t)v;
}

/* CRC-32C of n bytes, continuing crc, without the initial and final xor. */
XOL_API uint32_t xol_crc32c(uint32_t crc, const uint8_t *p, size_t n)
{
	static const uint32_t nibble[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
		0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	size_t i;

	for (i = 0; i < n; i++) {
		crc ^= p[i];
		crc = crc >> 4 ^ nibble[crc & 15];
		crc = crc >> 4 ^ nibble[crc & 15];
	}
	return crc;
}

XOL_LEAF bool xol_access_size(uint32_t n)
{
	return n == 1 || n == 2 || n == 4 || n == 8;
}

XOL_LEAF bool xol_pow2_or_0(uint32_t n)
{
	return (n & (n - 1)) == 0;
}

/* Bytes of an item of a section. */
XOL_LEAF uint32_t xol_item_size(uint32_t kind)
{
	static const uint8_t size[XOL_SECTIONS + 1] = {0, 1, 56, 16, 4, 120, 184, 24, 56, 4, 32, 1, 1};

	return size[kind];
}

/* Item i of a section. */
XOL_LEAF const uint8_t *xol_item(const xol_table *t, uint32_t kind, size_t i)
{
	return t->sec[kind] + i * xol_item_size(kind);
}

/* Whether the span at p lies in a section. */
XOL_LEAF bool xol_span_ok(const xol_table *t, uint32_t kind, const uint8_t *p)
{
	return (uint64_t)xol_u32(p) + xol_u32(p + 4) <= t->count[kind];
}

/* ---- Check ---------------------------------------------------------------- */

XOL_LEAF bool xol_bad(xol_error *e, uint32_t section, uint64_t offset, const char *rule)
{
	e->section = section;
	e->offset = offset;
	e->rule = rule;
	return false;
}

/* xol_bad for item i of a section. */
XOL_PART bool xol_bad_item(const xol_table *t, xol_error *e, uint32_t kind, size_t i, const char *rule)
{
	uint64_t off = (uint64_t)(t->sec[kind] - t->data) + (uint64_t)i * xol_item_size(kind);

	return xol_bad(e, kind, off, rule);
}

XOL_PART bool xol_check_sections(xol_table *t, xol_error *e)
{
	uint32_t kind;
	size_t at = 16;

	for (kind = 1; kind <= XOL_SECTIONS; kind++) {
		size_t pos = t->end + 48 + 24 * (kind - 1);
		uint32_t item = xol_item_size(kind);
		const uint8_t *b = t->data + pos;
		uint64_t count = xol_u64(b + 16), size, left = t->end - at;

		if (xol_u32(b) != kind)
			return xol_bad(e, XOL_SEC_HEADER, pos, "section kind");
		if (xol_u32(b + 4) != item)
			return xol_bad(e, XOL_SEC_HEADER, pos + 4, "size of an item");
		if (xol_u64(b + 8) != at)
			return xol_bad(e, XOL_SEC_HEADER, pos + 8, "offset of a section");
		/* count <= left < 2^56, so the product does not overflow. */
		if (count > left || count * item > left || (kind != XOL_SEC_BODY && count >> 32 != 0))
			return xol_bad(e, XOL_SEC_HEADER, pos + 16, "a section does not fit");
		size = count * item;
		if (((size + 7) & ~(uint64_t)7) > left || !xol_zero(t->data + at + (size_t)size, (size_t)(0 - size) & 7))
			return xol_bad(e, XOL_SEC_HEADER, pos + 16, "padding of a section");
		t->sec[kind] = t->data + at;
		t->count[kind] = (size_t)count;
		at += (size_t)((size + 7) & ~(uint64_t)7);
	}
	if (at != t->end)
		return xol_bad(e, XOL_SEC_HEADER, t->end, "bytes behind the last section");
	return true;
}

/* The fields of the end of the file, which has n bytes. */
XOL_PART bool xol_check_end(xol_table *t, uint32_t n, xol_error *e)
{
	const uint8_t *b = t->data + t->end;
	uint32_t fixed = 48 + 24 * XOL_SECTIONS;

	if (xol_u64(b) != t->size)
		return xol_bad(e, XOL_SEC_HEADER, t->end, "file length");
	if (b[16] != 32 && b[16] != 64)
		return xol_bad(e, XOL_SEC_HEADER, t->end + 16, "word size");
	if (!xol_access_size(b[17]))
		return xol_bad(e, XOL_SEC_HEADER, t->end + 17, "alignment");
	if (b[18] > 1 || b[19] > 1)
		return xol_bad(e, XOL_SEC_HEADER, t->end + 18, "byte orders");
	if (xol_u32(b + 40) != XOL_SECTIONS)
		return xol_bad(e, XOL_SEC_HEADER, t->end + 40, "number of sections");
	if (!xol_zero(b + 44, 4))
		return xol_bad(e, XOL_SEC_HEADER, t->end + 44, "not zero");
	if (!xol_zero(b + fixed, n - fixed - 8))
		return xol_bad(e, XOL_SEC_HEADER, t->end + fixed, "unknown fields that are not zero");
	t->base = xol_u64(b + 8);
	t->bits = b[16];
	t->align = b[17];
	t->shift = (uint8_t)xol_low_bit(b[17]);
	t->insn_order = b[18];
	t->data_order = b[19];
	return true;
}

XOL_PART bool xol_check_header(xol_table *t, xol_error *e)
{
	static const uint8_t magic[8] = {0x89, 'R', 'F', 'X', '\r', '\n', 0x1a, '\n'};
	const uint8_t *b = t->data;
	uint32_t i, n, least = 48 + 24 * XOL_SECTIONS + 8;
	size_t last = t->size - 8;

	if (t->size < 16 + least || (uint64_t)t->size >> 56 != 0)
		return xol_bad(e, XOL_SEC_HEADER, t->size, "too few bytes");
	for (i = 0; i < 8; i++)
		if (b[i] != magic[i])
			return xol_bad(e, XOL_SEC_HEADER, 0, "magic");
	if (xol_u16(b + 8) != XOL_VERSION)
		return xol_bad(e, XOL_SEC_HEADER, 8, "version");
	if (!xol_zero(b + 10, 6))
		return xol_bad(e, XOL_SEC_HEADER, 10, "flags");
	n = xol_u32(b + last);
	if (n < least || n % 8 != 0 || n > t->size - 16)
		return xol_bad(e, XOL_SEC_HEADER, last, "length of the end");
	t->end = t->size - n;
	if (!xol_check_end(t, n, e) || !xol_check_sections(t, e))
		return false;
	if (~xol_crc32c(0xffffffff, b, last + 4) != xol_u32(b + last + 4))
		return xol_bad(e, XOL_SEC_HEADER, last + 4, "checksum");
	return true;
}

XOL_PART bool xol_check_strings(const xol_table *t, xol_error *e)
{
	const uint8_t *s = t->sec[XOL_SEC_STRINGS];
	size_t n = t->count[XOL_SEC_STRINGS];

	if (n == 0 || s[0] != 0 || s[n - 1] != 0)
		return xol_bad_item(t, e, XOL_SEC_STRINGS, 0, "does not begin and end with NUL");
	return true;
}

/* Whether an operation writes its destination, and whether it uses operand B. */
XOL_LEAF bool xol_op_writes(uint32_t op)
{
	return op != XOL_OP_STORE && op != XOL_OP_SKIP && op != XOL_OP_SHPUSH;
}

XOL_LEAF bool xol_op_binary(uint32_t op)
{
	return (op >= XOL_OP_ADD && op <= XOL_OP_SHR) || op == XOL_OP_STORE || op == XOL_OP_SKIP;
}

/* An operand, without plus-D. set has bit i if ti may be read. */
XOL_LEAF bool xol_operand_ok(uint32_t kind, uint32_t reg, uint32_t set)
{
	switch (kind) {
	case XOL_OPERAND_REG:
		return reg < 256 || (reg >= 0x1000 && reg < 0x1800) || reg == XOL_REG_PC;
	case XOL_OPERAND_TEMP:
		return reg < XOL_MAX_TEMPS && (set >> reg & 1) != 0;
	}
	return kind >= XOL_OPERAND_CONST && kind <= XOL_OPERAND_DATA;
}

/* Whether the operation exists and the fields it uses are in range. */
XOL_LEAF bool xol_step_fields_ok(const uint8_t *s)
{
	uint32_t op = s[0], size = s[3], lsb = s[4], width = s[5];

	switch (op) {
	case XOL_OP_ZEXT:
	case XOL_OP_SEXT:
		return width == 8 || width == 16 || width == 32;
	case XOL_OP_EXTRACT:
	case XOL_OP_INSERT:
		return width >= 1 && width <= 64 && lsb < 64 && lsb + width <= 64;
	case XOL_OP_LOAD:
	case XOL_OP_STORE:
		return xol_access_size(size) && s[2] <= 1;
	case XOL_OP_SKIP:
		return (width == 8 || width == 16 || width == 32 || width == 64) && s[1] <= XOL_COND_AE &&
		       s[6] >= 1 && s[6] < XOL_MAX_STEPS;
	}
	return op <= XOL_OP_SHPOP;
}

/* One step whose program may read the temporaries in set. */
XOL_LEAF bool xol_step_ok(const uint8_t *s, uint32_t set)
{
	uint32_t op = s[0], a = s[8] & 0x7fu, b = s[9] & 0x7fu;

	if (!xol_step_fields_ok(s))
		return false;
	if (xol_op_writes(op)) {
		if (s[7] != XOL_OPERAND_REG && s[7] != XOL_OPERAND_TEMP)
			return false;
		/* insert is the only operation that reads its destination. */
		if (!xol_operand_ok(s[7], xol_u16(s + 10), op == XOL_OP_INSERT ? set : 0xff))
			return false;
	}
	if ((op != XOL_OP_SHPOP || a != XOL_OPERAND_NONE) && !xol_operand_ok(a, xol_u16(s + 12), set))
		return false;
	return !xol_op_binary(op) || xol_operand_ok(b, xol_u16(s + 14), set);
}

/* Bit 0x80 of an operand kind goes with constants and bases only. */
XOL_LEAF bool xol_plus_d_ok(uint32_t kind)
{
	return kind < 0x80 || (kind >= 0x80 + XOL_OPERAND_CONST && kind <= 0x80 + XOL_OPERAND_DATA);
}

XOL_PART bool xol_check_steps(const xol_table *t, xol_error *e)
{
	size_t i;

	for (i = 0; i < t->count[XOL_SEC_STEPS]; i++) {
		const uint8_t *s = xol_item(t, XOL_SEC_STEPS, i);

		if (!xol_plus_d_ok(s[8]) || !xol_plus_d_ok(s[9]))
			return xol_bad_item(t, e, XOL_SEC_STEPS, i, "plus-D of an operand without a value");
		if (!xol_step_ok(s, 0xff))
			return xol_bad_item(t, e, XOL_SEC_STEPS, i, "malformed step");
	}
	return true;
}

/*
 * The rules of the program of the span at p, whose predecessors have set the
 * temporaries in *set. Adds those that it certainly writes: writes under a skip
 * do not count, nor does shpop without a default. With emulate, also the
 * promise that a failed access has changed nothing.
 */
XOL_PART bool xol_program_ok(const xol_table *t, const uint8_t *p, uint32_t *set, bool emulate)
{
	uint32_t i, count = xol_u32(p + 4), stores = 0, clear = 0; /* steps from clear on are under no skip */
	const uint8_t *s;
	bool changed = false;

	if (!xol_span_ok(t, XOL_SEC_STEPS, p) || count > XOL_MAX_STEPS)
		return false;
	s = xol_item(t, XOL_SEC_STEPS, xol_u32(p));
	for (i = 0; i < count; i++, s += 32) {
		uint32_t op = s[0];

		if (!xol_step_ok(s, *set))
			return false;
		if (emulate && changed && (op == XOL_OP_LOAD || op == XOL_OP_STORE))
			return false;
		if (op == XOL_OP_STORE)
			stores++;
		if (op == XOL_OP_SKIP) {
			if (i + s[6] >= count)
				return false;
			if (i + s[6] + 1 > clear)
				clear = i + s[6] + 1;
		}
		if (i >= clear && xol_op_writes(op) && s[7] == XOL_OPERAND_TEMP && !(op == XOL_OP_SHPOP && s[8] == XOL_OPERAND_NONE))
			*set |= 1u << xol_u16(s + 10);
		if (op == XOL_OP_STORE || op == XOL_OP_SHPUSH || op == XOL_OP_SHPOP || (xol_op_writes(op) && s[7] == XOL_OPERAND_REG))
			changed = true;
	}
	return stores <= XOL_MAX_STORES;
}

/* xol_program_ok for a program that starts with the temporaries in set. */
XOL_LEAF bool xol_program_after(const xol_table *t, const uint8_t *p, uint32_t set)
{
	return xol_program_ok(t, p, &set, false);
}

XOL_PART bool xol_check_relocs(const xol_table *t, xol_error *e)
{
	size_t i;

	for (i = 0; i < t->count[XOL_SEC_RELOCS]; i++) {
		const uint8_t *r = xol_item(t, XOL_SEC_RELOCS, i);
		uint32_t size = r[12], lsb = r[13], bits = r[14], base = r[17];
		bool ok = xol_access_size(size) && bits >= 1 && bits <= 64 && lsb + bits <= 8 * size &&
			  xol_u16(r + 8) + size <= XOL_MAX_CODE && r[15] < 64 && r[16] < 64 && base <= XOL_BASE_REG &&
			  r[18] <= XOL_CHECK_WRAP && r[19] <= XOL_ORDER_DATA && r[20] <= 3 && xol_zero(r + 21, 3) &&
			  (xol_u16(r + 10) == 0 || base == XOL_BASE_INSN || base == XOL_BASE_REG);

		if (!ok)
			return xol_bad_item(t, e, XOL_SEC_RELOCS, i, "malformed relocation");
	}
	return true;
}

XOL_PART bool xol_check_points(const xol_table *t, xol_error *e)
{
	size_t i;

	for (i = 0; i < t->count[XOL_SEC_POINTS]; i++) {
		const uint8_t *p = xol_item(t, XOL_SEC_POINTS, i);

		if (p[4] > XOL_STATE_DONE || p[5] > 3 || !xol_zero(p + 6, 2))
			return xol_bad_item(t, e, XOL_SEC_POINTS, i, "state or flags");
		if (((p[5] & 1) == 0 && !xol_zero(p + 8, 8)) || ((p[5] & 2) == 0 && !xol_zero(p + 16, 8)))
			return xol_bad_item(t, e, XOL_SEC_POINTS, i, "a program that it says it has not");
		if (!xol_program_after(t, p + 8, 0) || !xol_program_after(t, p + 16, 0))
			return xol_bad_item(t, e, XOL_SEC_POINTS, i, "malformed program");
	}
	return true;
}

XOL_PART bool xol_check_escapes(const xol_table *t, xol_error *e)
{
	size_t i;

	for (i = 0; i < t->count[XOL_SEC_ESCAPES]; i++) {
		const uint8_t *b = xol_item(t, XOL_SEC_ESCAPES, i);

		if (b[2] > XOL_ESCAPE_CONTEXT || b[3] != 0)
			return xol_bad_item(t, e, XOL_SEC_ESCAPES, i, "kind");
	}
	return true;
}

/* Numbers of a plan that point at nothing. */
XOL_LEAF bool xol_plan_fields_ok(const uint8_t *v)
{
	uint32_t align = xol_u32(v + 32), residue = xol_u32(v + 36);

	return v[2] <= XOL_STRATEGY_EMULATE && v[3] <= XOL_TAIL_TRAP && v[4] <= XOL_STOP_TRAP &&
	       v[5] <= XOL_RETURNS_SLOT && v[6] != 0 && v[7] < 8 && xol_pow2_or_0(xol_u16(v + 10)) &&
	       xol_pow2_or_0(align) && (residue == 0 || residue < align);
}

/* Ends of the reach that move with D are there if the flags say so. */
XOL_LEAF bool xol_plan_reach_ok(const uint8_t *v)
{
	uint32_t flags = xol_u16(v + 8);

	return ((flags & XOL_MIN_D) != 0 || xol_u64(v + 168) == 0) && ((flags & XOL_MAX_D) != 0 || xol_u64(v + 176) == 0);
}

/* Code, and what must lie inside it. */
XOL_PART bool xol_plan_code_ok(const xol_table *t, const uint8_t *v)
{
	uint32_t i, n = xol_u32(v + 108), last = 0;
	const uint8_t *b;

	if (!xol_span_ok(t, XOL_SEC_CODE, v + 104) || n > XOL_MAX_CODE || xol_u16(v + 14) > n)
		return false;
	if ((xol_u16(v + 8) & XOL_COPY) != 0 && n < v[6])
		return false;
	if (!xol_span_ok(t, XOL_SEC_RELOCS, v + 112) || !xol_span_ok(t, XOL_SEC_ESCAPES, v + 120) ||
	    !xol_span_ok(t, XOL_SEC_POINTS, v + 128))
		return false;
	if (xol_u32(v + 116) > XOL_MAX_ITEMS || xol_u32(v + 124) > XOL_MAX_ITEMS || xol_u32(v + 132) > XOL_MAX_ITEMS)
		return false;
	b = xol_item(t, XOL_SEC_RELOCS, xol_u32(v + 112));
	for (i = 0; i < xol_u32(v + 116); i++, b += 24)
		if (xol_u16(b + 8) + b[12] > n)
			return false;
	b = xol_item(t, XOL_SEC_ESCAPES, xol_u32(v + 120));
	for (i = 0; i < xol_u32(v + 124); i++, b += 4)
		if (xol_u16(b) > n)
			return false;
	b = xol_item(t, XOL_SEC_POINTS, xol_u32(v + 128));
	for (i = 0; i < xol_u32(v + 132); i++, b += 56) {
		if (xol_u16(b) > n || (i > 0 && xol_u16(b) <= last))
			return false;
		last = xol_u16(b);
	}
	return true;
}

XOL_LEAF bool xol_plan_programs_ok(const xol_table *t, const uint8_t *v)
{
	uint32_t set = 0, none = 0;

	return xol_program_ok(t, v + 136, &set, false) && xol_program_after(t, v + 144, set) &&
	       xol_program_after(t, v + 152, set) && xol_program_ok(t, v + 160, &none, true);
}

XOL_PART bool xol_check_verdicts(const xol_table *t, xol_error *e)
{
	size_t i;

	for (i = 0; i < t->count[XOL_SEC_VERDICTS]; i++) {
		const uint8_t *v = xol_item(t, XOL_SEC_VERDICTS, i);
		uint32_t flags = xol_u16(v + 8);

		if (v[0] > XOL_FORM_REGION || v[1] > XOL_REASON_NO_STOP || flags > 0x1ff)
			return xol_bad_item(t, e, XOL_SEC_VERDICTS, i, "form, reason or flags");
		if (v[1] != 0) {
			if (!xol_zero(v + 2, 6) || flags > XOL_FAR_ASKED || !xol_zero(v + 10, 174))
				return xol_bad_item(t, e, XOL_SEC_VERDICTS, i, "a refusal with a plan");
			continue;
		}
		if (!xol_plan_fields_ok(v) || !xol_plan_reach_ok(v))
			return xol_bad_item(t, e, XOL_SEC_VERDICTS, i, "fields of the plan");
		if (!xol_plan_code_ok(t, v))
			return xol_bad_item(t, e, XOL_SEC_VERDICTS, i, "code, or what should be inside it");
		if (!xol_plan_programs_ok(t, v))
			return xol_bad_item(t, e, XOL_SEC_VERDICTS, i, "malformed program");
	}
	return true;
}

XOL_PART bool xol_check_shapes(const xol_table *t, xol_error *e)
{
	size_t i;
	uint32_t j;

	for (i = 0; i < t->count[XOL_SEC_SHAPES]; i++) {
		const uint8_t *s = xol_item(t, XOL_SEC_SHAPES, i), *v;

		if (s[0] > XOL_CLASS_PREFIX || s[3] > 3 || s[4] > XOL_REASON_NO_STOP ||
		    xol_u64(s + 16) >> (XOL_HAZARD_CONTEXT_UNKNOWN + 1) != 0)
			return xol_bad_item(t, e, XOL_SEC_SHAPES, i, "class, patch, reason or hazards");
		if (s[1] == 0 || s[5] > 1 || !xol_zero(s + 6, 2) || !xol_span_ok(t, XOL_SEC_VERDICTS, s + 8) || xol_u32(s + 12) > 255)
			return xol_bad_item(t, e, XOL_SEC_SHAPES, i, "length, flags or verdicts");
		v = xol_item(t, XOL_SEC_VERDICTS, xol_u32(s + 8));
		for (j = 0; j < xol_u32(s + 12); j++, v += 184)
			if (v[1] == 0 && v[6] != s[1] && (v[0] != XOL_FORM_REGION || (xol_u16(v + 8) & XOL_COPY) != 0))
				return xol_bad_item(t, e, XOL_SEC_SHAPES, i, "a plan for a site of another length");
	}
	return true;
}

/* Whether id names a shape of instructions of n bytes. */
XOL_LEAF bool xol_shape_of(const xol_table *t, uint32_t id, uint64_t n)
{
	return id < t->count[XOL_SEC_SHAPES] && xol_item(t, XOL_SEC_SHAPES, id)[1] == n;
}

XOL_PART bool xol_check_plain(const xol_table *t, xol_error *e)
{
	size_t i, n = t->count[XOL_SEC_PLAIN];

	if (n > 256)
		return xol_bad_item(t, e, XOL_SEC_PLAIN, 256, "more than 256 items");
	for (i = 0; i < n; i++) {
		uint32_t id = xol_u32(xol_item(t, XOL_SEC_PLAIN, i));

		if (id != 0xffffffff && !xol_shape_of(t, id, i))
			return xol_bad_item(t, e, XOL_SEC_PLAIN, i, "not a shape of this length");
	}
	return true;
}

/* Words of starts of the run at r. */
XOL_LEAF uint32_t xol_run_words(const xol_table *t, const uint8_t *r)
{
	uint32_t units = xol_u32(r + 8) >> t->shift;

	return units / 64 + (units % 64 != 0);
}

/* What the run at r has in the body: its bitmap, its sites, its text. */
XOL_LEAF const uint8_t *xol_run_starts(const xol_table *t, const uint8_t *r)
{
	return t->sec[XOL_SEC_BODY] + (size_t)xol_u64(r + 32);
}

XOL_LEAF const uint8_t *xol_run_sites(const xol_table *t, const uint8_t *r)
{
	return xol_run_starts(t, r) + (size_t)8 * xol_run_words(t, r);
}

XOL_LEAF const uint8_t *xol_run_text(const xol_table *t, const uint8_t *r)
{
	return xol_run_sites(t, r) + (size_t)16 * xol_u32(r + 40);
}

/* xol_bad for site n of run i. */
XOL_PART bool xol_bad_site(const xol_table *t, xol_error *e, size_t i, uint32_t n, const char *rule)
{
	const uint8_t *s = xol_run_sites(t, xol_item(t, XOL_SEC_RUNS, i)) + (size_t)16 * n;

	return xol_bad(e, XOL_SEC_BODY, (uint64_t)(s - t->data), rule);
}

/* The instruction of run i from off to end; *site is the number of the next of
 * the nsites sites. */
XOL_LEAF bool xol_check_insn(const xol_table *t, size_t i, uint64_t off, uint64_t end, uint32_t *site, uint32_t nsites,
			     const uint8_t *sites, xol_error *e)
{
	uint64_t n = end - off;
	const uint8_t *s = sites + (size_t)16 * *site;

	if (n > 255)
		return xol_bad_item(t, e, XOL_SEC_RUNS, i, "an instruction of more than 255 bytes");
	if (*site < nsites && xol_u32(s) == off) {
		if (!xol_shape_of(t, xol_u32(s + 4), n))
			return xol_bad_site(t, e, i, *site, "not a shape of this length");
		++*site;
		return true;
	}
	if (n >= t->count[XOL_SEC_PLAIN] || xol_u32(xol_item(t, XOL_SEC_PLAIN, (size_t)n)) == 0xffffffff)
		return xol_bad_item(t, e, XOL_SEC_RUNS, i, "no shape for a plain instruction of this length");
	return true;
}

/* Walks the instructions of run i and its sites side by side. */
XOL_LEAF bool xol_check_run(const xol_table *t, size_t i, xol_error *e)
{
	const uint8_t *r = xol_item(t, XOL_SEC_RUNS, i), *starts = xol_run_starts(t, r), *sites = xol_run_sites(t, r);
	uint32_t w, words = xol_run_words(t, r), size = xol_u32(r + 8), count = 0, site = 0, nsites = xol_u32(r + 40);
	uint64_t prev = 0;

	if ((starts[0] & 1) == 0)
		return xol_bad_item(t, e, XOL_SEC_RUNS, i, "no instruction at its start");
	for (w = 0; w < words; w++, starts += 8) {
		uint64_t word;

		for (word = xol_u64(starts); word != 0; word &= word - 1) {
			uint64_t off = ((uint64_t)w * 64 + xol_low_bit(word)) << t->shift;

			if (off >= size)
				return xol_bad_item(t, e, XOL_SEC_RUNS, i, "an instruction behind its end");
			if (count > 0 && !xol_check_insn(t, i, prev, off, &site, nsites, sites, e))
				return false;
			prev = off;
			count++;
		}
	}
	/* The end of the run closes the last instruction. */
	if (!xol_check_insn(t, i, prev, size, &site, nsites, sites, e))
		return false;
	if (site != nsites)
		return xol_bad_site(t, e, i, site, "no instruction starts there");
	if (count != xol_u32(r + 44))
		return xol_bad_item(t, e, XOL_SEC_RUNS, i, "number of entries");
	return true;
}

/* Fields of the run at r, which comes behind one that ends at end. */
XOL_PART const char *xol_run_fields(const xol_table *t, const uint8_t *r, bool first, uint64_t end)
{
	uint64_t addr = xol_u64(r);
	uint32_t size = xol_u32(r + 8), flags = xol_u32(r + 48);

	if (size == 0 || ((addr | size) & (t->align - 1u)) != 0 || addr + size - 1 < addr ||
	    (!first && (end == 0 || addr < end)))
		return "address or size";
	if (xol_u32(r + 12) >= t->count[XOL_SEC_STRINGS])
		return "function name";
	if (flags > 1 || (flags == 0 && xol_u64(r + 24) != 0) || !xol_zero(r + 52, 4))
		return "flags";
	return NULL;
}

XOL_PART bool xol_check_runs(const xol_table *t, xol_error *e)
{
	size_t i, body = 0;
	uint64_t entries = 0, end = 0;

	for (i = 0; i < t->count[XOL_SEC_RUNS]; i++) {
		const uint8_t *r = xol_item(t, XOL_SEC_RUNS, i);
		const char *bad = xol_run_fields(t, r, i == 0, end);
		uint32_t size = xol_u32(r + 8), pad = (0 - size) & 7;
		uint64_t need = (uint64_t)8 * xol_run_words(t, r) + (uint64_t)16 * xol_u32(r + 40) + size + pad;

		if (bad == NULL && (xol_u64(r + 32) != body || need > t->count[XOL_SEC_BODY] - body))
			bad = "body";
		if (bad == NULL && !xol_zero(xol_run_text(t, r) + size, pad))
			bad = "padding behind the text";
		if (bad != NULL)
			return xol_bad_item(t, e, XOL_SEC_RUNS, i, bad);
		if (!xol_check_run(t, i, e))
			return false;
		body += (size_t)need;
		entries += xol_u32(r + 44);
		end = xol_u64(r) + size;
	}
	if (body != t->count[XOL_SEC_BODY])
		return xol_bad(e, XOL_SEC_HEADER, t->end + 64, "a body behind that of the last run");
	if (entries != xol_u64(t->data + t->end + 32))
		return xol_bad(e, XOL_SEC_HEADER, t->end + 32, "number of entries");
	return true;
}

XOL_PART bool xol_check_gaps(const xol_table *t, xol_error *e)
{
	uint64_t end = 0;
	size_t i;

	for (i = 0; i < t->count[XOL_SEC_GAPS]; i++) {
		const uint8_t *g = xol_item(t, XOL_SEC_GAPS, i);
		uint64_t addr = xol_u64(g), size = xol_u64(g + 8);

		if (size == 0 || addr + size - 1 < addr || (i > 0 && (end == 0 || addr < end)))
			return xol_bad_item(t, e, XOL_SEC_GAPS, i, "address or size");
		end = addr + size;
	}
	return true;
}

XOL_PART bool xol_check_names(const xol_table *t, xol_error *e)
{
	uint32_t i;

	for (i = 20; i < 32; i += 4)
		if (xol_u32(t->data + t->end + i) >= t->count[XOL_SEC_STRINGS])
			return xol_bad(e, XOL_SEC_HEADER, t->end + i, "a string");
	return true;
}

/*
 * xol_check holds size bytes at data against every rule of docs/format.md and
 * fills in t. What it accepts can be used without further checks, as long as
 * the bytes do not change. It reads each byte of the table a bounded number of
 * times, and none outside.
 *
 * It returns XOL_OK or XOL_E_TABLE.
 */
XOL_API int xol_check(xol_table *t, const void *data, size_t size, xol_error *err)
{
	t->data = (const uint8_t *)data;
	t->size = size;
	t->end = 0;
	t->sec[0] = t->data;
	t->count[0] = 0;
	/* What a structure points at is checked before it. */
	if (xol_check_header(t, err) && xol_check_strings(t, err) && xol_check_steps(t, err) && xol_check_relocs(t, err) &&
	    xol_check_points(t, err) && xol_check_escapes(t, err) && xol_check_verdicts(t, err) && xol_check_shapes(t, err) &&
	    xol_check_plain(t, err) && xol_check_runs(t, err) && xol_check_gaps(t, err) && xol_check_names(t, err))
		return XOL_OK;
	return XOL_E_TABLE;
}

/* ---- Look up -------------------------------------------------------------- */

/* The run that holds pc, false if there is none. */
XOL_LEAF bool xol_find_run(const xol_table *t, uint64_t pc, uint32_t *run)
{
	uint32_t lo = 0, hi = (uint32_t)t->count[XOL_SEC_RUNS]; /* the first run above pc */
	const uint8_t *r;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (xol_u64(xol_item(t, XOL_SEC_RUNS, mid)) <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return false;
	*run = lo - 1;
	r = xol_item(t, XOL_SEC_RUNS, lo - 1);
	return pc - xol_u64(r) < xol_u32(r + 8);
}

/* The site record at off in the run at r, NULL if the instruction is plain. */
XOL_LEAF const uint8_t *xol_find_site(const xol_table *t, const uint8_t *r, uint32_t off)
{
	uint32_t lo = 0, hi = xol_u32(r + 40);
	const uint8_t *sites = xol_run_sites(t, r);

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const uint8_t *s = sites + (size_t)16 * mid;

		if (xol_u32(s) == off)
			return s;
		if (xol_u32(s) < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* Length of the instruction at off in the run at r: to the next start or the
 * end, at most 255 bytes and so at most four words away. */
XOL_LEAF uint32_t xol_length(const xol_table *t, const uint8_t *r, uint32_t off)
{
	uint32_t i = (off >> t->shift) + 1, units = xol_u32(r + 8) >> t->shift;
	const uint8_t *starts = xol_run_starts(t, r);

	for (; i < units; i = (i | 63) + 1) {
		uint64_t w = xol_u64(starts + (size_t)8 * (i / 64)) >> (i & 63);

		if (w != 0)
			return ((i + xol_low_bit(w)) << t->shift) - off;
	}
	return xol_u32(r + 8) - off;
}

/*
 * xol_find looks up the instruction at pc, which is an address of the object
 * file: subtract the load bias first. It returns false if no instruction of the
 * table starts there.
 */
XOL_API bool xol_find(const xol_table *t, uint64_t pc, xol_ref *ref)
{
	uint32_t off, bit;
	const uint8_t *r, *s;

	if (!xol_find_run(t, pc, &ref->run))
		return false;
	r = xol_item(t, XOL_SEC_RUNS, ref->run);
	off = (uint32_t)(pc - xol_u64(r));
	bit = off >> t->shift;
	if ((off & (t->align - 1u)) != 0 ||
	    (xol_u64(xol_run_starts(t, r) + (size_t)8 * (bit / 64)) >> (bit & 63) & 1) == 0)
		return false;
	ref->pc = pc;
	s = xol_find_site(t, r, off);
	ref->plain = s == NULL;
	if (s != NULL) {
		ref->shape = xol_u32(s + 4);
		ref->d = xol_u64(s + 8);
		ref->len = xol_item(t, XOL_SEC_SHAPES, ref->shape)[1];
	} else {
		ref->len = (uint8_t)xol_length(t, r, off);
		ref->shape = xol_u32(xol_item(t, XOL_SEC_PLAIN, ref->len));
		ref->d = 0;
	}
	return true;
}

/* Bytes of an instruction when the table was made. If those at the site differ,
 * the table is stale there. */
XOL_API const uint8_t *xol_bytes(const xol_table *t, const xol_ref *ref)
{
	const uint8_t *r = xol_item(t, XOL_SEC_RUNS, ref->run);

	return xol_run_text(t, r) + (size_t)(ref->pc - xol_u64(r));
}

/* A string of the table: NUL-terminated, empty if there is none. */
XOL_API const char *xol_string(const xol_table *t, uint32_t off)
{
	return (const char *)t->sec[XOL_SEC_STRINGS] + off;
}

XOL_API const char *xol_arch(const xol_table *t) { return xol_string(t, xol_u32(t->data + t->end + 20)); }
XOL_API const char *xol_file(const xol_table *t) { return xol_string(t, xol_u32(t->data + t->end + 24)); }
XOL_API const char *xol_buildid(const xol_table *t) { return xol_string(t, xol_u32(t->data + t->end + 28)); }
XOL_API uint64_t xol_entries(const xol_table *t) { return xol_u64(t->data + t->end + 32); }

/* Name of the function that holds an instruction, empty if unknown, and the
 * offset in it. */
XOL_API const char *xol_func(const xol_table *t, const xol_ref *ref, uint64_t *at)
{
	const uint8_t *r = xol_item(t, XOL_SEC_RUNS, ref->run);

	*at = xol_u64(r + 16) + (ref->pc - xol_u64(r));
	return xol_string(t, xol_u32(r + 12));
}

/* Offset of an instruction in the object file, false if it is not in a file. */
XOL_API bool xol_file_offset(const xol_table *t, const xol_ref *ref, uint64_t *off)
{
	const uint8_t *r = xol_item(t, XOL_SEC_RUNS, ref->run);

	*off = xol_u64(r + 24) + (ref->pc - xol_u64(r));
	return (xol_u32(r + 48) & 1) != 0;
}

XOL_LEAF const uint8_t *xol_shape(const xol_table *t, const xol_ref *ref) { return xol_item(t, XOL_SEC_SHAPES, ref->shape); }

XOL_API uint32_t xol_class(const xol_table *t, const xol_ref *ref) { return xol_shape(t, ref)[0]; }
XOL_API uint32_t xol_alt_len(const xol_table *t, const xol_ref *ref) { return xol_shape(t, ref)[2]; }
XOL_API uint32_t xol_patch(const xol_table *t, const xol_ref *ref) { return xol_shape(t, ref)[3]; }
XOL_API uint32_t xol_reason(const xol_table *t, const xol_ref *ref) { return xol_shape(t, ref)[4]; }
XOL_API uint64_t xol_hazards(const xol_table *t, const xol_ref *ref) { return xol_u64(xol_shape(t, ref) + 16); }

/* What a branch goes to, or the address a pc-relative operand names, in
 * addresses of the object file; false if there is none. */
XOL_API bool xol_target(const xol_table *t, const xol_ref *ref, uint64_t *target)
{
	*target = ref->pc + ref->d;
	return (xol_shape(t, ref)[5] & 1) != 0;
}

/* Membership of a set of registers. */
XOL_LEAF bool xol_in_set(const uint8_t *set, uint32_t reg) { return reg < 256 && (set[reg / 8] >> (reg & 7) & 1) != 0; }

XOL_API bool xol_reads(const xol_table *t, const xol_ref *ref, uint32_t reg) { return xol_in_set(xol_shape(t, ref) + 24, reg); }
XOL_API bool xol_writes(const xol_table *t, const xol_ref *ref, uint32_t reg) { return xol_in_set(xol_shape(t, ref) + 56, reg); }
XOL_API bool xol_kills(const xol_table *t, const xol_ref *ref, uint32_t reg) { return xol_in_set(xol_shape(t, ref) + 88, reg); }

/* ---- Verdicts ------------------------------------------------------------- */

/* Number of verdicts on an instruction. */
XOL_API uint32_t xol_verdicts(const xol_table *t, const xol_ref *ref) { return xol_u32(xol_shape(t, ref) + 12); }

/* Verdict i, in order of preference; false if there are not so many. */
XOL_API bool xol_verdict_at(const xol_table *t, const xol_ref *ref, uint32_t i, xol_verdict *v)
{
	const uint8_t *s = xol_shape(t, ref);

	if (i >= xol_u32(s + 12))
		return false;
	v->table = t;
	v->rec = xol_item(t, XOL_SEC_VERDICTS, (size_t)xol_u32(s + 8) + i);
	v->site = xol_bytes(t, ref);
	v->d = ref->d;
	return true;
}

XOL_LEAF uint32_t xol_v_form(const xol_verdict *v) { return v->rec[0]; }
XOL_LEAF uint32_t xol_v_reason(const xol_verdict *v) { return v->rec[1]; } /* 0: it is a plan */
XOL_LEAF uint32_t xol_v_strategy(const xol_verdict *v) { return v->rec[2]; }
XOL_LEAF uint32_t xol_v_tail(const xol_verdict *v) { return v->rec[3]; }
XOL_LEAF uint32_t xol_v_stop(const xol_verdict *v) { return v->rec[4]; }
XOL_LEAF uint32_t xol_v_returns(const xol_verdict *v) { return v->rec[5]; }
XOL_LEAF uint32_t xol_v_site_len(const xol_verdict *v) { return v->rec[6]; }
XOL_LEAF uint32_t xol_v_needs(const xol_verdict *v) { return v->rec[7]; }
XOL_LEAF uint32_t xol_v_flags(const xol_verdict *v) { return xol_u16(v->rec + 8); } /* XOL_FAR ... */
XOL_LEAF uint32_t xol_v_slot_align(const xol_verdict *v) { return xol_u16(v->rec + 10); }
XOL_LEAF uint32_t xol_v_stack(const xol_verdict *v) { return xol_u16(v->rec + 12); }
XOL_LEAF uint32_t xol_v_copy_len(const xol_verdict *v) { return xol_u16(v->rec + 14); }
XOL_LEAF uint32_t xol_v_code_len(const xol_verdict *v) { return xol_u32(v->rec + 108); }
XOL_LEAF bool xol_v_clobbers(const xol_verdict *v, uint32_t reg) { return xol_in_set(v->rec + 40, reg); }
XOL_LEAF bool xol_v_lost(const xol_verdict *v, uint32_t reg) { return xol_in_set(v->rec + 72, reg); }

XOL_LEAF void xol_v_reach(const xol_verdict *v, xol_reach *r)
{
	uint32_t flags = xol_v_flags(v);

	r->far_slots = (flags & XOL_FAR) != 0;
	r->min = xol_signed(xol_u64(v->rec + 16));
	r->max = xol_signed(xol_u64(v->rec + 24));
	if ((flags & XOL_MIN_D) != 0 && xol_signed(xol_u64(v->rec + 168) + v->d) > r->min)
		r->min = xol_signed(xol_u64(v->rec + 168) + v->d);
	if ((flags & XOL_MAX_D) != 0 && xol_signed(xol_u64(v->rec + 176) + v->d) < r->max)
		r->max = xol_signed(xol_u64(v->rec + 176) + v->d);
	if (r->far_slots) {
		r->min = INT64_MIN;
		r->max = INT64_MAX;
	}
	r->align = xol_u32(v->rec + 32);
	r->residue = xol_u32(v->rec + 36);
}

/* Escape i of a plan: offset in code, kind. False if there are not so many. */
XOL_API bool xol_v_escape(const xol_verdict *v, uint32_t i, uint32_t *off, uint32_t *kind)
{
	const uint8_t *b;

	if (i >= xol_u32(v->rec + 124))
		return false;
	b = xol_item(v->table, XOL_SEC_ESCAPES, (size_t)xol_u32(v->rec + 120) + i);
	*off = xol_u16(b);
	*kind = b[2];
	return true;
}

/* By how much Slot - Site = dist is out of reach; XOL_OK if it is not. */
XOL_LEAF int xol_v_holds(const xol_verdict *v, uint64_t dist, int64_t *over)
{
	xol_reach r;
	int64_t d = xol_signed(dist);

	xol_v_reach(v, &r);
	*over = 0;
	if (!r.far_slots && d > r.max) {
		*over = xol_signed(dist - (uint64_t)r.max);
		if (*over <= 0) /* more than int64_t holds */
			*over = INT64_MAX;
		return XOL_E_REACH;
	}
	if (!r.far_slots && d < r.min) {
		*over = xol_signed(dist - (uint64_t)r.min);
		if (*over >= 0)
			*over = INT64_MIN;
		return XOL_E_REACH;
	}
	if (r.align > 1 && ((uint32_t)dist & (r.align - 1)) != r.residue)
		return XOL_E_REACH;
	return XOL_OK;
}

/*
 * xol_choose takes the first verdict, in order of preference, that is a plan of
 * one of forms (bits 1 << XOL_FORM_...) whose needs are all in needs and which
 * can be placed at slot for the site at run-time address site. It returns false
 * if there is none.
 */
XOL_API bool xol_choose(const xol_table *t, const xol_ref *ref, uint32_t forms, uint32_t needs, uint64_t site, uint64_t slot, xol_verdict *v)
{
	uint32_t i;
	int64_t over;

	for (i = 0; xol_verdict_at(t, ref, i, v); i++) {
		uint32_t align = xol_v_slot_align(v);

		if (xol_v_reason(v) != 0 || (forms >> xol_v_form(v) & 1) == 0 || (xol_v_needs(v) & ~needs) != 0)
			continue;
		if (xol_v_code_len(v) == 0)
			return true;
		if (xol_v_holds(v, slot - site, &over) == XOL_OK && (align == 0 || (slot & (align - 1)) == 0))
			return true;
	}
	return false;
}

/*
 * xol_choose_slots is xol_choose before a slot is known: a plan that was asked
 * for near slots (far false) or any slot (far true). A plan without code fits
 * both.
 */
XOL_API bool xol_choose_slots(const xol_table *t, const xol_ref *ref, uint32_t forms, uint32_t needs, bool far_slots, xol_verdict *v)
{
	uint32_t i;

	for (i = 0; xol_verdict_at(t, ref, i, v); i++) {
		bool far_asked = (xol_v_flags(v) & XOL_FAR_ASKED) != 0;

		if (xol_v_reason(v) != 0 || (forms >> xol_v_form(v) & 1) == 0 || (xol_v_needs(v) & ~needs) != 0)
			continue;
		if (xol_v_form(v) == XOL_FORM_EMULATE || far_asked == far_slots)
			return true;
	}
	return false;
}

/* ---- Place ---------------------------------------------------------------- */

/* The value of field r of a plan, before it is cut to its bits. */
XOL_LEAF int xol_reloc_value(const xol_verdict *v, const uint8_t *r, const xol_bases *at, uint64_t *value)
{
	uint64_t base = 0, p = 0;
	uint32_t page = r[16];

	switch (r[17]) {
	case XOL_BASE_SITE:
		base = at->site;
		break;
	case XOL_BASE_SLOT:
		base = at->slot;
		break;
	case XOL_BASE_DATA:
		base = at->data;
		if (base == 0)
			return XOL_E_BASES;
		break;
	case XOL_BASE_INSN:
		if (at->insn == NULL || !at->insn(at->ctx, xol_u16(r + 10), &base))
			return XOL_E_BASES;
		break;
	default:
		if (at->reg == NULL || !at->reg(at->ctx, xol_u16(r + 10), &base))
			return XOL_E_BASES;
	}
	base += xol_u64(r) + ((r[20] & 2) != 0 ? v->d : 0);
	if ((r[20] & 1) != 0)
		p = at->slot + xol_u16(r + 8);
	if (page != 0) {
		base = base >> page << page;
		p = p >> page << page;
	}
	*value = xol_sar(base - p, r[15]);
	return XOL_OK;
}

XOL_LEAF bool xol_reloc_fits(const uint8_t *r, uint64_t value)
{
	uint32_t bits = r[14];

	if (bits >= 64)
		return true;
	if (r[18] == XOL_CHECK_SIGNED)
		return xol_sar(value << (64 - bits), 64 - bits) == value;
	return r[18] != XOL_CHECK_UNSIGNED || value >> bits == 0;
}

/* Whether every field can be filled in. The first that cannot decides. */
XOL_PART int xol_place_check(const xol_verdict *v, const xol_bases *at, xol_miss *miss)
{
	const uint8_t *r = xol_item(v->table, XOL_SEC_RELOCS, xol_u32(v->rec + 112));
	uint32_t i, n = xol_u32(v->rec + 116);

	for (i = 0; i < n; i++, r += 24) {
		uint64_t value;
		int err = xol_reloc_value(v, r, at, &value);

		if (err != XOL_OK)
			return err;
		if (!xol_reloc_fits(r, value)) {
			miss->reloc = (int32_t)i;
			miss->value = xol_signed(value);
			return XOL_E_REACH;
		}
	}
	return XOL_OK;
}

/* The template, with the bytes of a copied site. */
XOL_PART void xol_place_copy(const xol_verdict *v, uint8_t *dst)
{
	const uint8_t *code = v->table->sec[XOL_SEC_CODE] + xol_u32(v->rec + 104);
	uint32_t i, n = xol_v_code_len(v), copied = (xol_v_flags(v) & XOL_COPY) != 0 ? v->rec[6] : 0;

	for (i = 0; i < n; i++) {
		dst[i] = i < copied ? v->site[i] : code[i];
		XOL_NO_LIBCALL();
	}
}

/* The fields, which xol_place_check has found to hold their values. */
XOL_PART void xol_place_fill(const xol_verdict *v, const xol_bases *at, uint8_t *dst)
{
	const uint8_t *r = xol_item(v->table, XOL_SEC_RELOCS, xol_u32(v->rec + 112));
	uint32_t i, n = xol_u32(v->rec + 116);

	for (i = 0; i < n; i++, r += 24) {
		uint32_t big = r[19] == XOL_ORDER_DATA ? v->table->data_order : v->table->insn_order;
		uint8_t *word = dst + xol_u16(r + 8);
		uint64_t value = 0, mask = xol_field(r[13], r[14]);

		(void)xol_reloc_value(v, r, at, &value);
		value = (xol_get_word(word, r[12], big) & ~mask) | (value << r[13] & mask);
		xol_put_word(word, value, r[12], big);
	}
}

/*
 * xol_place writes the slot code of a plan, with every field filled in, into
 * dst, which has room for cap bytes, and its length into *len. If it fails,
 * nothing has been written. miss may be NULL. The callbacks of at are called
 * twice for each field that wants them and must answer the same.
 *
 * It returns XOL_OK, XOL_E_REFUSED, XOL_E_REACH, XOL_E_ALIGN, XOL_E_BASES or
 * XOL_E_ROOM. A plan to emulate by is placed in no bytes; any other without
 * code is XOL_E_REFUSED, as is one to emulate by without a program.
 *
 * The caller makes the code visible to instruction fetch, as the ISA demands.
 */
XOL_API int xol_place(const xol_verdict *v, const xol_bases *at, uint8_t *dst, size_t cap, size_t *len, xol_miss *miss)
{
	uint32_t n = xol_v_code_len(v), align = xol_v_slot_align(v);
	xol_miss ignored;
	int err;

	if (miss == NULL)
		miss = &ignored;
	miss->over = 0;
	miss->reloc = -1;
	miss->value = 0;
	*len = 0;
	if (xol_v_reason(v) != 0)
		return XOL_E_REFUSED;
	if (n == 0) /* v->rec + 164: how many steps emulate has */
		return xol_v_form(v) == XOL_FORM_EMULATE && xol_u32(v->rec + 164) != 0 ? XOL_OK : XOL_E_REFUSED;
	err = xol_v_holds(v, at->slot - at->site, &miss->over);
	if (err != XOL_OK)
		return err;
	if (align > 1 && (at->slot & (align - 1)) != 0)
		return XOL_E_ALIGN;
	err = xol_place_check(v, at, miss);
	if (err != XOL_OK)
		return err;
	if (n > cap)
		return XOL_E_ROOM;
	xol_place_copy(v, dst);
	xol_place_fill(v, at, dst);
	*len = n;
	return XOL_OK;
}

/* ---- Programs ------------------------------------------------------------- */

/* Programs of a plan, by their place in struct verdict. */
enum { XOL_PRE = 136, XOL_POST = 144, XOL_ABORT = 152, XOL_EMULATE = 160 };

XOL_LEAF void xol_span_program(const xol_verdict *v, const uint8_t *span, xol_program *p)
{
	p->steps = xol_item(v->table, XOL_SEC_STEPS, xol_u32(span));
	p->count = xol_u32(span + 4);
	p->d = v->d;
}

/* Program which (XOL_PRE, XOL_POST, XOL_ABORT, XOL_EMULATE) of a plan; of a
 * refusal, one without steps. */
XOL_API void xol_v_program(const xol_verdict *v, uint32_t which, xol_program *p)
{
	xol_span_program(v, v->rec + which, p);
}

/* What xol_run works with. */
typedef struct xol_runner {
	const xol_machine *m;
	const xol_bases *at;
	xol_temps *temps;
	xol_fault *fault;
	uint64_t mask, d;
} xol_runner;

/* The value of an operand whose record begins at kind, reg and val. */
XOL_API int xol_value(const xol_runner *r, uint32_t kind, uint32_t reg, const uint8_t *val, uint64_t *out)
{
	uint64_t v = 0;

	if ((kind & 0x7f) >= XOL_OPERAND_CONST)
		v = xol_u64(val) + ((kind & 0x80) != 0 ? r->d : 0);
	switch (kind & 0x7f) {
	case XOL_OPERAND_REG:
		if (!r->m->reg(r->m->ctx, reg, &v))
			return XOL_E_REGISTER;
		break;
	case XOL_OPERAND_TEMP:
		if (reg >= XOL_MAX_TEMPS)
			return XOL_E_PROGRAM;
		v = r->temps->t[reg];
		break;
	case XOL_OPERAND_CONST:
		break;
	case XOL_OPERAND_SITE:
		v += r->at->site;
		break;
	case XOL_OPERAND_SLOT:
		v += r->at->slot;
		break;
	case XOL_OPERAND_DATA:
		if (r->at->data == 0)
			return XOL_E_BASES;
		v += r->at->data;
		break;
	default:
		return XOL_E_PROGRAM;
	}
	*out = v & r->mask;
	return XOL_OK;
}

/* Sets the destination of step s. */
XOL_API int xol_set(const xol_runner *r, const uint8_t *s, uint64_t v)
{
	uint32_t reg = xol_u16(s + 10);

	v &= r->mask;
	if (s[7] == XOL_OPERAND_REG)
		return r->m->set_reg(r->m->ctx, reg, v) ? XOL_OK : XOL_E_REGISTER;
	if (s[7] != XOL_OPERAND_TEMP || reg >= XOL_MAX_TEMPS)
		return XOL_E_PROGRAM;
	r->temps->t[reg] = v;
	return XOL_OK;
}

XOL_LEAF int xol_faulted(const xol_runner *r, uint64_t addr, uint32_t size, bool write, bool shadow)
{
	if (r->fault != NULL) {
		r->fault->addr = addr;
		r->fault->size = size;
		r->fault->write = write;
		r->fault->shadow = shadow;
	}
	return XOL_E_FAULT;
}

/* Operations that only touch words. */
XOL_LEAF uint64_t xol_compute(const uint8_t *s, uint64_t a, uint64_t b)
{
	switch (s[0]) {
	case XOL_OP_ADD:
		return a + b;
	case XOL_OP_SUB:
		return a - b;
	case XOL_OP_AND:
		return a & b;
	case XOL_OP_OR:
		return a | b;
	case XOL_OP_XOR:
		return a ^ b;
	case XOL_OP_SHL:
		return b < 64 ? a << b : 0;
	case XOL_OP_SHR:
		return b < 64 ? a >> b : 0;
	case XOL_OP_ZEXT:
		return a & xol_field(0, s[5]);
	case XOL_OP_SEXT:
		return xol_sar(a << (64 - s[5]), 64 - s[5]);
	case XOL_OP_EXTRACT:
		return a >> s[4] & xol_field(0, s[5]);
	}
	return a;
}

XOL_LEAF bool xol_cond_holds(const uint8_t *s, uint64_t a, uint64_t b)
{
	a <<= 64 - s[5];
	b <<= 64 - s[5];
	switch (s[1]) {
	case XOL_COND_EQ:
		return a == b;
	case XOL_COND_NE:
		return a != b;
	case XOL_COND_LT:
		return xol_less(a, b);
	case XOL_COND_LE:
		return !xol_less(b, a);
	case XOL_COND_GT:
		return xol_less(b, a);
	case XOL_COND_GE:
		return !xol_less(a, b);
	case XOL_COND_B:
		return a < b;
	case XOL_COND_BE:
		return a <= b;
	case XOL_COND_A:
		return a > b;
	}
	return a >= b;
}

/* Loads, stores and the shadow stack: step s with operands a and b. */
XOL_API int xol_access(const xol_runner *r, const uint8_t *s, uint64_t a, uint64_t b)
{
	uint8_t buf[8];

	switch (s[0]) {
	case XOL_OP_LOAD:
		if (!r->m->load(r->m->ctx, a, buf, s[3]))
			return xol_faulted(r, a, s[3], false, false);
		return xol_set(r, s, xol_get_word(buf, s[3], s[2]));
	case XOL_OP_STORE:
		xol_put_word(buf, b, s[3], s[2]);
		if (!r->m->store(r->m->ctx, a, buf, s[3]))
			return xol_faulted(r, a, s[3], true, false);
		return XOL_OK;
	}
	if (r->m->shpush != NULL && !r->m->shpush(r->m->ctx, a))
		return xol_faulted(r, 0, r->mask >> 32 == 0 ? 4 : 8, true, true);
	return XOL_OK;
}

XOL_API int xol_shadow_pop(const xol_runner *r, const uint8_t *s)
{
	uint64_t v = 0;

	if (r->m->shpop == NULL || !r->m->shpop(r->m->ctx, &v)) {
		int err;

		if ((s[8] & 0x7f) == XOL_OPERAND_NONE)
			return XOL_OK;
		err = xol_value(r, s[8], xol_u16(s + 12), s + 16, &v);
		if (err != XOL_OK)
			return err;
	}
	return xol_set(r, s, v);
}

/* One step; *skip is how many of the following are skipped. */
XOL_API int xol_step(const xol_runner *r, const uint8_t *s, uint32_t *skip)
{
	uint64_t a, b = 0, old, f;
	int err;

	if (!xol_step_fields_ok(s))
		return XOL_E_PROGRAM;
	if (s[0] == XOL_OP_SHPOP)
		return xol_shadow_pop(r, s);
	err = xol_value(r, s[8], xol_u16(s + 12), s + 16, &a);
	if (err != XOL_OK)
		return err;
	if (xol_op_binary(s[0])) {
		err = xol_value(r, s[9], xol_u16(s + 14), s + 24, &b);
		if (err != XOL_OK)
			return err;
	}
	switch (s[0]) {
	case XOL_OP_LOAD:
	case XOL_OP_STORE:
	case XOL_OP_SHPUSH:
		return xol_access(r, s, a, b);
	case XOL_OP_SKIP:
		if (xol_cond_holds(s, a, b))
			*skip = s[6];
		return XOL_OK;
	case XOL_OP_INSERT:
		err = xol_value(r, s[7], xol_u16(s + 10), s, &old);
		if (err != XOL_OK)
			return err;
		f = xol_field(s[4], s[5]);
		return xol_set(r, s, (old & ~f) | (a << s[4] & f));
	}
	return xol_set(r, s, xol_compute(s, a, b));
}

/*
 * xol_run interprets a program on a machine. bits is the word size of the ISA
 * (xol_table.bits): operands and results are taken modulo 2^bits. Temporaries
 * are shared by pre, post and abort of one visit. fault may be NULL.
 *
 * It returns XOL_OK; XOL_E_FAULT if a load or store faulted, and fault says
 * which; XOL_E_REGISTER; XOL_E_BASES if the program wants private data and
 * there is none; XOL_E_PROGRAM, which a checked table excludes. It does not
 * undo: an emulate program is written so that nothing precedes its last access
 * (xol_check proves it).
 */
XOL_API int xol_run(const xol_program *p, const xol_machine *m, const xol_bases *at, xol_temps *temps, uint32_t bits, xol_fault *fault)
{
	xol_runner r;
	uint32_t i;

	if ((bits != 32 && bits != 64) || p->count > XOL_MAX_STEPS)
		return XOL_E_PROGRAM;
	r.m = m;
	r.at = at;
	r.temps = temps;
	r.fault = fault;
	r.mask = ~(uint64_t)0 >> (64 - bits);
	r.d = p->d;
	for (i = 0; i < p->count; i++) {
		uint32_t skip = 0;
		int err = xol_step(&r, p->steps + 32 * i, &skip);

		if (err != XOL_OK)
			return err;
		i += skip;
	}
	return XOL_OK;
}

/* ---- Points --------------------------------------------------------------- */

/* Why a thread was found with its pc in a slot: the instruction at pc faulted;
 * or a signal is about to be delivered, or the probe goes. */
enum { XOL_WHY_FAULT, XOL_WHY_SIGNAL };

/* What to do with such a thread. */
typedef struct xol_resume {
	const uint8_t *rec; /* struct point */
	uint32_t off, insn, state;
	bool back;           /* the program goes back to the site, else forward to its end */
	xol_program program; /* to be run with the slot's bases */
} xol_resume;

/* Whether a register's old value is gone after going back. */
XOL_API bool xol_point_lost(const xol_resume *r, uint32_t reg) { return xol_in_set(r->rec + 24, reg); }

/*
 * xol_point says how a thread that was stopped at pc, in the slot of v, leaves
 * it: after a fault by the point's back program, so that the fault appears at
 * the site; for a signal by back if nothing has happened yet, else by forward.
 * It returns false if pc is not an instruction boundary of the slot code (then
 * the thread is not in this slot), or if there is no such program. Traps are
 * reported behind themselves: where all is done and the point has no back, a
 * fault leads forward.
 *
 * For the step form run XOL_ABORT while the copy has not run, XOL_POST once it
 * has.
 */
XOL_API bool xol_point(const xol_verdict *v, uint64_t pc, uint64_t slot, uint32_t why, xol_resume *out)
{
	uint32_t lo = 0, hi = xol_u32(v->rec + 132), first = xol_u32(v->rec + 128);

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const uint8_t *p = xol_item(v->table, XOL_SEC_POINTS, (size_t)first + mid);

		if (xol_u16(p) < pc - slot) {
			lo = mid + 1;
		} else if (xol_u16(p) > pc - slot) {
			hi = mid;
		} else {
			out->rec = p;
			out->off = xol_u16(p);
			out->insn = xol_u16(p + 2);
			out->state = p[4];
			out->back = p[4] == XOL_STATE_START ||
				(why == XOL_WHY_FAULT && ((p[5] & 1) != 0 || p[4] != XOL_STATE_DONE));
			xol_span_program(v, p + (out->back ? 8 : 16), &out->program);
			return (p[5] & (out->back ? 1 : 2)) != 0;
		}
	}
	return false;
}

#endif /* XOL_FIXUPS_H */
