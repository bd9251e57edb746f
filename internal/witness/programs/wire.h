/*
 * What the witnesses speak: batches over stdin and stdout, in the byte order of
 * the host.
 *
 *   request   struct batch, then count times struct probe
 *   answer    count times struct answer, each followed by struct regs and by
 *             struct text if the batch asked for them
 *
 * The program ends at the end of its input.
 */
#ifndef XOL_WIRE_H
#define XOL_WIRE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WANT_REGS = 1, WANT_TEXT = 2 };

enum {
	IS_REL = 1, /* a branch displacement: field and target are set */
	IS_RIP = 2, /* a pc-relative memory operand: disp and target are set */
	IS_EIP = 4  /* with a 32-bit address */
};

struct batch {
	uint32_t want, count;
	uint64_t pc;
};

struct probe {
	uint8_t bits; /* 32 or 64 */
	uint8_t len;
	uint8_t code[16];
};

struct answer {
	uint8_t len; /* 0: refused */
	uint8_t flags;
	uint8_t field_off, field_size;
	uint8_t disp_off, disp_size;
	uint8_t kind; /* of instruction, K_*; zydis only */
	uint8_t pad;
	uint64_t target;
};

enum {
	K_OTHER, K_BRANCH, K_COND_BRANCH, K_CALL, K_INDIRECT_BRANCH, K_INDIRECT_CALL, K_RETURN,
	K_TRAP, K_KERNEL_ENTRY, K_PRIVILEGED
};

/* Sets of registers; the numbers are in registers.go. */
struct regs {
	uint64_t read[2], write[2], kill[2];
};

struct text {
	char s[64];
};

static inline void get(void *p, size_t n)
{
	if (fread(p, 1, n, stdin) != n)
		exit(feof(stdin) ? 0 : 1);
}

static inline void put(const void *p, size_t n)
{
	if (fwrite(p, 1, n, stdout) != n)
		exit(1);
}

/* answer_one fills a, and r and t if they are not null; all are zero before. */
static void answer_one(const struct batch *b, const struct probe *p, struct answer *a,
		       struct regs *r, struct text *t);

static void serve(void)
{
	static char in[1 << 20], out[1 << 20];
	struct batch b;

	setvbuf(stdin, in, _IOFBF, sizeof in);
	setvbuf(stdout, out, _IOFBF, sizeof out);
	for (;;) {
		get(&b, sizeof b);
		for (uint32_t i = 0; i < b.count; i++) {
			struct probe p;
			struct answer a = { 0 };
			struct regs r = { { 0 } };
			struct text t = { { 0 } };

			get(&p, sizeof p);
			answer_one(&b, &p, &a, b.want & WANT_REGS ? &r : NULL,
				   b.want & WANT_TEXT ? &t : NULL);
			put(&a, sizeof a);
			if (b.want & WANT_REGS)
				put(&r, sizeof r);
			if (b.want & WANT_TEXT)
				put(&t, sizeof t);
		}
		fflush(stdout);
	}
}

#endif
