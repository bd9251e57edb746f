/*
 * Does with xol_fixups.h and xol_linux.h what a script on standard input says, and prints what
 * came of it. The tests of this directory compare that with package fixups.
 *
 * A command is a line of words; numbers are hexadecimal.
 *
 *	table LEN\n BYTES          check a table, and make it the current one
 *	find PC                    the instruction at pc
 *	entry PC                   all that the table says of it
 *	place PC I SITE SLOT DATA SEED CAP
 *	run PC I WHICH SITE SLOT DATA SEED THREADPC
 *	point PC I OFF WHY SITE SLOT DATA SEED
 *	choose PC FORMS NEEDS SITE SLOT
 *	slots PC FORMS NEEDS FAR
 *	regs MAP REG VALUE HIDE WIDE  read and write a register of a structure, with 32
 *	                              vectors of WIDE bytes behind it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xol_linux.h"

typedef uint64_t u64;

static void hex(u64 v)
{
	char buf[16], *p = buf + sizeof buf;

	do {
		*--p = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v != 0);
	fwrite(p, 1, (size_t)(buf + sizeof buf - p), stdout);
}

static void word(const char *name, u64 v)
{
	fputs(name, stdout);
	hex(v);
}

static void bytes(const uint8_t *b, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		putchar("0123456789abcdef"[b[i] >> 4]);
		putchar("0123456789abcdef"[b[i] & 15]);
	}
}

static void text(const char *name, const char *s)
{
	fputs(name, stdout);
	bytes((const uint8_t *)s, strlen(s));
}

/* The reply of the whole test machine is a function of these. */
static u64 mix(u64 a, u64 b)
{
	u64 z = a + b * 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* A machine that traces. */
struct machine {
	u64 seed, pc;
	struct { uint32_t reg; u64 v; } set[64];
	unsigned nset;
	struct { u64 addr; uint8_t buf[8]; uint32_t size; } stored[4];
	unsigned nstored;
};

static bool m_reg(void *ctx, uint32_t reg, u64 *v)
{
	struct machine *m = (struct machine *)ctx;
	unsigned i;

	*v = mix(m->seed ^ 2, reg);
	if (reg == XOL_REG_PC)
		*v = m->pc;
	else if ((mix(m->seed ^ 1, reg) & 15) == 0)
		return false;
	for (i = 0; i < m->nset; i++)
		if (m->set[i].reg == reg)
			*v = m->set[i].v;
	word(" r", reg);
	word("=", *v);
	return true;
}

static bool m_set(void *ctx, uint32_t reg, u64 v)
{
	struct machine *m = (struct machine *)ctx;

	if (reg != XOL_REG_PC && (mix(m->seed ^ 1, reg) & 15) == 0)
		return false;
	m->set[m->nset].reg = reg;
	m->set[m->nset++].v = v;
	word(" w", reg);
	word("=", v);
	return true;
}

static bool m_load(void *ctx, u64 addr, uint8_t *buf, uint32_t size)
{
	struct machine *m = (struct machine *)ctx;
	uint32_t i, j, k;

	word(" l", addr);
	word("/", size);
	if ((mix(m->seed ^ 4, addr) & 7) == 0)
		return false;
	for (i = 0; i < size; i++) {
		buf[i] = (uint8_t)mix(m->seed ^ 3, addr + i);
		for (j = 0; j < m->nstored; j++)
			for (k = 0; k < m->stored[j].size; k++)
				if (m->stored[j].addr + k == addr + i)
					buf[i] = m->stored[j].buf[k];
	}
	return true;
}

static bool m_store(void *ctx, u64 addr, const uint8_t *buf, uint32_t size)
{
	struct machine *m = (struct machine *)ctx;

	word(" s", addr);
	putchar('=');
	bytes(buf, size);
	if ((mix(m->seed ^ 5, addr) & 7) == 0)
		return false;
	m->stored[m->nstored].addr = addr;
	m->stored[m->nstored].size = size;
	memcpy(m->stored[m->nstored++].buf, buf, size);
	return true;
}

static bool m_push(void *ctx, u64 v)
{
	struct machine *m = (struct machine *)ctx;

	word(" P", v);
	return (mix(m->seed ^ 6, 0) & 3) != 2;
}

static bool m_pop(void *ctx, u64 *v)
{
	struct machine *m = (struct machine *)ctx;

	fputs(" O", stdout);
	*v = mix(m->seed ^ 7, 0);
	return (mix(m->seed ^ 6, 0) & 3) != 3;
}

static bool b_reg(void *ctx, uint32_t reg, u64 *v)
{
	u64 seed = *(u64 *)ctx;

	*v = mix(seed ^ 8, reg);
	return (mix(seed ^ 9, reg) & 7) != 0;
}

static bool b_insn(void *ctx, uint32_t n, u64 *v)
{
	*v = mix(*(u64 *)ctx ^ 10, n);
	return true;
}

static xol_table table;
static uint8_t *room;

static void do_table(u64 len)
{
	static unsigned turn;
	size_t shift = turn++ % 8; /* every alignment, and the last byte at the end of what is allocated */
	xol_error e;

	free(room);
	room = (uint8_t *)malloc((size_t)len + shift + (len + shift == 0));
	if (fread(room + shift, 1, (size_t)len, stdin) != len)
		exit(3);
	if (xol_check(&table, room + shift, (size_t)len, &e) != XOL_OK) {
		word("bad ", e.offset);
		printf(" #%s", e.rule);
		return;
	}
	word("ok ", table.base);
	word(" ", table.bits);
	word(" ", table.align);
	word(" ", table.insn_order);
	word(" ", table.data_order);
	word(" ", xol_entries(&table));
	text(" ", xol_arch(&table));
	text(" ", xol_file(&table));
	text(" ", xol_buildid(&table));
}

static void show_set(const char *name, bool (*in)(const xol_table *, const xol_ref *, uint32_t), const xol_ref *ref)
{
	uint32_t r;

	fputs(name, stdout);
	for (r = 0; r < 257; r++)
		if (in(&table, ref, r))
			word(",", r);
}

static void show_vset(const char *name, bool (*in)(const xol_verdict *, uint32_t), const xol_verdict *v)
{
	uint32_t r;

	fputs(name, stdout);
	for (r = 0; r < 257; r++)
		if (in(v, r))
			word(",", r);
}

static void show_verdict(const xol_verdict *v)
{
	uint32_t i, off, kind;
	xol_reach r;
	xol_program p;

	word(" {", xol_v_form(v));
	word(" ", xol_v_reason(v));
	word(" ", xol_v_flags(v) & (XOL_FAR_ASKED | XOL_FAR | XOL_IS_CALL | XOL_PRIVATE | XOL_X87 | XOL_ALIAS));
	if (xol_v_reason(v) != 0)
		return;
	word(" ", xol_v_strategy(v));
	word(" ", xol_v_tail(v));
	word(" ", xol_v_stop(v));
	word(" ", xol_v_returns(v));
	word(" ", xol_v_site_len(v));
	word(" ", xol_v_needs(v));
	word(" ", xol_v_slot_align(v));
	word(" ", xol_v_stack(v));
	word(" ", xol_v_copy_len(v));
	word(" ", xol_v_code_len(v));
	xol_v_reach(v, &r);
	word(" reach ", (u64)r.min);
	word(":", (u64)r.max);
	word("/", r.align);
	word("+", r.residue);
	show_vset(" clobbers", xol_v_clobbers, v);
	show_vset(" lost", xol_v_lost, v);
	for (i = 0; xol_v_escape(v, i, &off, &kind); i++) {
		word(" escape ", off);
		word("/", kind);
	}
	for (i = XOL_PRE; i <= XOL_EMULATE; i += 8) {
		xol_v_program(v, i, &p);
		word(" p", p.count);
	}
}

static void do_find(u64 pc, bool all)
{
	xol_ref ref;
	xol_verdict v;
	u64 x;
	uint32_t i;

	if (!xol_find(&table, pc, &ref)) {
		fputs("none", stdout);
		return;
	}
	word("ref ", ref.pc);
	word(" ", ref.d);
	word(" ", ref.shape);
	word(" ", ref.len);
	word(" ", ref.plain);
	putchar(' ');
	bytes(xol_bytes(&table, &ref), ref.len);
	if (!all)
		return;
	word(" class ", xol_class(&table, &ref));
	word(" ", xol_alt_len(&table, &ref));
	word(" ", xol_patch(&table, &ref));
	word(" ", xol_reason(&table, &ref));
	word(" ", xol_hazards(&table, &ref));
	if (xol_target(&table, &ref, &x))
		word(" target ", x);
	if (xol_file_offset(&table, &ref, &x))
		word(" file ", x);
	if (xol_func(&table, &ref, &x)[0] != 0) {
		text(" func ", xol_func(&table, &ref, &x));
		word("+", x);
	}
	show_set(" reads", xol_reads, &ref);
	show_set(" writes", xol_writes, &ref);
	show_set(" kills", xol_kills, &ref);
	for (i = 0; xol_verdict_at(&table, &ref, i, &v); i++)
		show_verdict(&v);
	word(" verdicts ", xol_verdicts(&table, &ref));
}

/* The verdict that a command names, or the end: scripts name what there is. */
static xol_verdict named(const u64 *a)
{
	xol_ref ref;
	xol_verdict v;

	if (!xol_find(&table, a[0], &ref) || !xol_verdict_at(&table, &ref, (uint32_t)a[1], &v))
		exit(4);
	return v;
}

static void do_place(const u64 *a)
{
	xol_verdict v = named(a);
	u64 seed = a[5];
	xol_bases at = {a[2], a[3], a[4], &seed, b_reg, b_insn};
	uint8_t *dst = (uint8_t *)malloc((size_t)a[6] + 1);
	xol_miss miss;
	size_t len, i;
	int err;

	if ((mix(seed, 11) & 7) == 0)
		at.insn = NULL;
	memset(dst, 0xcc, (size_t)a[6] + 1);
	err = xol_place(&v, &at, dst, (size_t)a[6], &len, &miss);
	word("place ", (u64)err);
	putchar(' ');
	bytes(dst, len);
	if (err == XOL_E_REACH) {
		word(" over ", (u64)miss.over);
		word(" reloc ", (u64)(int64_t)miss.reloc);
		word(" value ", (u64)miss.value);
	}
	for (i = len; i < a[6] + 1; i++)
		if (dst[i] != 0xcc)
			fputs(" wrote behind its end", stdout);
	free(dst);
}

static void run(const xol_program *p, u64 site, u64 slot, u64 data, u64 seed, u64 pc)
{
	struct machine mach;
	xol_machine m = {&mach, m_reg, m_set, m_load, m_store, m_push, m_pop};
	xol_bases at = {site, slot, data, NULL, NULL, NULL};
	xol_temps temps;
	xol_fault f;
	unsigned i;
	int err;

	mach.seed = seed;
	mach.pc = pc;
	mach.nset = mach.nstored = 0;
	for (i = 0; i < XOL_MAX_TEMPS; i++)
		temps.t[i] = mix(seed ^ 12, i);
	if ((mix(seed ^ 6, 0) & 3) == 0) {
		m.shpush = NULL;
		m.shpop = NULL;
	}
	err = xol_run(p, &m, &at, &temps, table.bits, &f);
	word(" run ", (u64)err);
	if (err == XOL_E_FAULT) {
		word(" fault ", f.addr);
		word("/", f.size);
		word(" ", f.write);
		word(" ", f.shadow);
	}
	for (i = 0; i < XOL_MAX_TEMPS; i++)
		word(" ", temps.t[i]);
}

static void do_run(const u64 *a)
{
	xol_verdict v = named(a);
	xol_program p;

	xol_v_program(&v, XOL_PRE + 8 * (uint32_t)a[2], &p);
	run(&p, a[3], a[4], a[5], a[6], a[7]);
}

static void do_point(const u64 *a)
{
	xol_verdict v = named(a);
	xol_resume r;
	uint32_t reg;

	if (!xol_point(&v, a[5] + a[2], a[5], (uint32_t)a[3], &r)) {
		fputs("no point", stdout);
		return;
	}
	word("point ", r.off);
	word(" ", r.insn);
	word(" ", r.state);
	word(" ", r.back);
	for (reg = 0; reg < 257; reg++)
		if (xol_point_lost(&r, reg))
			word(",", reg);
	run(&r.program, a[4], a[5], a[6], a[7], a[5] + a[2]);
}

static void do_choose(const u64 *a, bool placed)
{
	xol_ref ref;
	xol_verdict v;
	bool ok;

	if (!xol_find(&table, a[0], &ref))
		exit(4);
	if (placed)
		ok = xol_choose(&table, &ref, (uint32_t)a[1], (uint32_t)a[2], a[3], a[4], &v);
	else
		ok = xol_choose_slots(&table, &ref, (uint32_t)a[1], (uint32_t)a[2], a[3] != 0, &v);
	if (!ok)
		fputs("no plan", stdout);
	else
		show_verdict(&v);
}

static void do_regs(const u64 *a)
{
	static const xol_map *(*const maps[])(void) = {
		xol_map_amd64_pt_regs, xol_map_amd64_user_regs, xol_map_amd64_gregs, xol_map_amd64_fpregs, xol_map_i386_pt_regs,
		xol_map_i386_user_regs, xol_map_i386_user_regs64, xol_map_i386_gregs, xol_map_i386_fpxregs, xol_map_i386_fpstate,
		xol_map_arm64_pt_regs, xol_map_arm64_mcontext, xol_map_arm64_fpsimd_context, xol_map_arm64_fpregs,
		xol_map_ppc64_pt_regs, xol_map_ppc64_gregs, xol_map_ppc64_fpregs, xol_map_ppc64_vrregs, xol_map_ppc64_vsx, xol_map_ppc64_tar,
		xol_map_ppc64le_pt_regs, xol_map_ppc64le_gregs, xol_map_ppc64le_fpregs, xol_map_ppc64le_vrregs, xol_map_ppc64le_vsx,
		xol_map_ppc64le_tar,
	};
	xol_regs regs = {{NULL, maps[a[0]]()}, {NULL, NULL}, a[3] != 0, NULL, (uint32_t)a[4]};
	size_t i, size = regs.map[1]->size, n = size + 32 * (size_t)a[4];
	uint8_t *buf = (uint8_t *)malloc(n);
	u64 v;

	for (i = 0; i < n; i++)
		buf[i] = (uint8_t)mix(a[2], i);
	regs.buf[1] = buf;
	if (a[4] != 0)
		regs.wide = buf + size;
	if (xol_regs_get(&regs, (uint32_t)a[1], &v))
		word("get ", v);
	if (xol_regs_set(&regs, (uint32_t)a[1], a[2]))
		fputs(" set", stdout);
	for (i = 0; i < n; i++) {
		if (buf[i] != (uint8_t)mix(a[2], i)) {
			word(" ", i);
			word("=", buf[i]);
		}
	}
	free(buf);
}

int main(void)
{
	static char line[512], obuf[1 << 16];

	setvbuf(stdout, obuf, _IOFBF, sizeof obuf);
	while (fgets(line, sizeof line, stdin) != NULL) {
		char *p = line + strcspn(line, " \n");
		u64 a[8] = {0};
		unsigned n;
		char sep = *p;

		*p = 0;
		for (n = 0; n < 8 && sep == ' '; n++) {
			a[n] = strtoull(p + 1, &p, 16);
			sep = *p;
		}
		if (strcmp(line, "table") == 0)
			do_table(a[0]);
		else if (strcmp(line, "find") == 0)
			do_find(a[0], false);
		else if (strcmp(line, "entry") == 0)
			do_find(a[0], true);
		else if (strcmp(line, "place") == 0)
			do_place(a);
		else if (strcmp(line, "run") == 0)
			do_run(a);
		else if (strcmp(line, "point") == 0)
			do_point(a);
		else if (strcmp(line, "choose") == 0)
			do_choose(a, true);
		else if (strcmp(line, "slots") == 0)
			do_choose(a, false);
		else if (strcmp(line, "regs") == 0)
			do_regs(a);
		else
			return 5;
		putchar('\n');
	}
	free(room);
	return 0;
}
