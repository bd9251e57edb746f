#define _GNU_SOURCE
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unicorn/unicorn.h>

typedef struct {
	uint64_t addr, size;
	uint8_t *live, *base;  // base is NULL for pages that are not watched
} page;

typedef struct {
	uint32_t word, at, size;
} place;

struct xu {
	uc_engine *uc;
	uc_context *in, *out;  // in differs from that of a fresh engine in the words only
	size_t context_size;
	xu_word words[XU_MAX_WORDS];
	uint64_t initial[XU_MAX_WORDS];  // what a fresh engine holds
	uint32_t nwords, pc_word;

	// Where words are: in the context, by the size of the part that they are,
	// and those that only the interface knows.
	place wide[XU_MAX_WORDS], narrow[XU_MAX_WORDS];
	uint32_t api[XU_MAX_WORDS];
	uint32_t nwide, nnarrow, napi;
	page pages[XU_MAX_PAGES];
	uint32_t npages;

	// The run in progress.
	uint64_t lo, hi, last, *trace;
	uint32_t limit, steps;
	uint8_t stopped, access;
	uint16_t exception;
	uint64_t fault;
};

// on_code runs before every instruction and before every round of a repeated
// one. It is installed in every run, so both sides of a comparison have it.
static void on_code(uc_engine *uc, uint64_t pc, uint32_t size, void *arg)
{
	xu *x = arg;
	(void)size;
	if (x->access) {
		// A helper function that faulted lets the rest of the block go on.
	} else if (x->steps >= x->limit) {
		x->stopped = 1 + XU_LIMIT;
	} else if (x->steps > 0 && pc - x->lo >= x->hi - x->lo) {
		x->stopped = 1 + XU_LEFT;
	} else {
		if (x->trace && x->steps < XU_MAX_TRACE)
			x->trace[x->steps] = pc;
		x->steps++;
		x->last = pc;
		return;
	}
	uc_emu_stop(uc);
}

static bool on_fault(uc_engine *uc, uc_mem_type type, uint64_t addr, int size, int64_t value, void *arg)
{
	xu *x = arg;
	(void)uc, (void)size, (void)value;
	if (x->access)
		return false;  // a helper function goes on after its first fault
	x->fault = addr;
	switch (type) {
	case UC_MEM_READ_UNMAPPED:
	case UC_MEM_READ_PROT:
		x->access = XU_READ;
		break;
	case UC_MEM_WRITE_UNMAPPED:
	case UC_MEM_WRITE_PROT:
		x->access = XU_WRITE;
		break;
	default:
		x->access = XU_FETCH;
	}
	return false;
}

static void on_exception(uc_engine *uc, uint32_t num, void *arg)
{
	xu *x = arg;
	x->exception = num;
	x->stopped = 1 + XU_EXCEPTION;
	uc_emu_stop(uc);
}

// locate finds the size bytes of want in the context, -1 unless there is
// exactly one place.
static long locate(const xu *x, const uint8_t *want, size_t size)
{
	const uint8_t *c = (const uint8_t *)x->out;
	long found = -1;
	for (size_t i = 0; i + size <= x->context_size; i++) {
		if (memcmp(c + i, want, size) == 0) {
			if (found >= 0)
				return -1;
			found = (long)i;
		}
	}
	return found;
}

// probe writes a pattern to a register, looks where it appears in a saved
// context, and does it again with another pattern: both must agree.
static long probe(xu *x, const xu_word *w)
{
	uint8_t pattern[16], old[64] = {0};
	long at[2];
	uc_reg_read(x->uc, w->id, old);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 16; i++)
			pattern[i] = (uint8_t)(0x5b + 0x1d * i + 0x63 * round + 7 * w->id);
		if (uc_reg_write(x->uc, w->id, pattern) != UC_ERR_OK || uc_context_save(x->uc, x->out) != UC_ERR_OK)
			return -1;
		at[round] = locate(x, pattern, w->size);
	}
	uc_reg_write(x->uc, w->id, old);
	return at[0] == at[1] ? at[0] : -1;
}

static int fail(char *err, size_t n, const char *what, uc_err e)
{
	snprintf(err, n, "%s: %s", what, uc_strerror(e));
	return 0;
}

static int hooks(xu *x, char *err, size_t errlen)
{
	uc_hook h;
	uc_err e = uc_hook_add(x->uc, &h, UC_HOOK_CODE, (void *)on_code, x, 1, 0);
	if (e == UC_ERR_OK)
		e = uc_hook_add(x->uc, &h, UC_HOOK_MEM_UNMAPPED | UC_HOOK_MEM_PROT, (void *)on_fault, x, 1, 0);
	if (e == UC_ERR_OK)
		e = uc_hook_add(x->uc, &h, UC_HOOK_INTR, (void *)on_exception, x, 1, 0);
	return e == UC_ERR_OK ? 1 : fail(err, errlen, "hooks", e);
}

static int find_words(xu *x, char *err, size_t errlen)
{
	for (uint32_t i = 0; i < x->nwords; i++) {
		const xu_word *w = &x->words[i];
		if (w->api || w->fixed) {
			x->api[x->napi++] = i;
			continue;
		}
		long at = probe(x, w);
		if (at < 0) {
			snprintf(err, errlen, "register %d is not found in a saved context", w->id);
			return 0;
		}
		uint32_t left = w->size - 8u * w->part;
		place p = {i, (uint32_t)at + 8u * w->part, left < 8 ? left : 8};
		if (p.size == 8)
			x->wide[x->nwide++] = p;
		else
			x->narrow[x->nnarrow++] = p;
	}
	return 1;
}

// read_words takes the words out of a saved context.
static void read_words(xu *x, uint64_t *out)
{
	const uint8_t *c = (const uint8_t *)x->out;
	for (uint32_t i = 0; i < x->nwide; i++)
		memcpy(&out[x->wide[i].word], c + x->wide[i].at, 8);
	for (uint32_t i = 0; i < x->nnarrow; i++) {
		uint64_t v = 0;
		memcpy(&v, c + x->narrow[i].at, x->narrow[i].size);
		out[x->narrow[i].word] = v;
	}
	for (uint32_t i = 0; i < x->napi; i++) {
		uint64_t v[8] = {0};
		const xu_word *w = &x->words[x->api[i]];
		uc_reg_read(x->uc, w->id, v);
		out[x->api[i]] = v[w->part];
	}
}

// write_words makes the next run start in state in: a fresh context with the
// registers put in, then those that only the interface can set, where they
// differ from what the context holds.
static uc_err write_words(xu *x, const uint64_t *in)
{
	uint8_t *c = (uint8_t *)x->in;
	for (uint32_t i = 0; i < x->nwide; i++)
		memcpy(c + x->wide[i].at, &in[x->wide[i].word], 8);
	for (uint32_t i = 0; i < x->nnarrow; i++)
		memcpy(c + x->narrow[i].at, &in[x->narrow[i].word], x->narrow[i].size);
	uc_err e = uc_context_restore(x->uc, x->in);
	for (uint32_t i = 0; i < x->napi && e == UC_ERR_OK; i++) {
		uint32_t k = x->api[i];
		if (!x->words[k].fixed && in[k] != x->initial[k])
			e = uc_reg_write(x->uc, x->words[k].id, &in[k]);
	}
	return e;
}

xu *xu_open(int bits, const xu_word *words, uint32_t n, uint32_t pc_word, char *err, size_t errlen)
{
	if (n > XU_MAX_WORDS) {
		snprintf(err, errlen, "%u register words", n);
		return NULL;
	}
	xu *x = calloc(1, sizeof *x);
	if (!x)
		return NULL;
	uc_err e = uc_open(UC_ARCH_X86, bits == 64 ? UC_MODE_64 : UC_MODE_32, &x->uc);
	if (e == UC_ERR_OK)
		e = uc_context_alloc(x->uc, &x->in);
	if (e == UC_ERR_OK)
		e = uc_context_alloc(x->uc, &x->out);
	memcpy(x->words, words, n * sizeof *words);
	x->nwords = n;
	x->pc_word = pc_word;
	if (e != UC_ERR_OK) {
		fail(err, errlen, "open", e);
		xu_close(x);
		return NULL;
	}
	x->context_size = uc_context_size(x->uc);
	if (!hooks(x, err, errlen) || !find_words(x, err, errlen)) {
		xu_close(x);
		return NULL;
	}
	uc_context_save(x->uc, x->in);
	uc_context_save(x->uc, x->out);
	read_words(x, x->initial);
	return x;
}

void xu_close(xu *x)
{
	if (!x)
		return;
	if (x->in)
		uc_context_free(x->in);
	if (x->out)
		uc_context_free(x->out);
	if (x->uc)
		uc_close(x->uc);
	for (uint32_t i = 0; i < x->npages; i++) {
		munmap(x->pages[i].live, x->pages[i].size);
		free(x->pages[i].base);
	}
	free(x);
}

// xu_map maps size bytes at addr and returns their live image, NULL if the
// emulator refuses. Watched pages also get a base image.
void *xu_map(xu *x, uint64_t addr, uint64_t size, int prot, int watch, void **base)
{
	page p = {.addr = addr, .size = size};
	*base = NULL;
	if (x->npages == XU_MAX_PAGES)
		return NULL;
	p.live = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p.live == MAP_FAILED)
		return NULL;
	if (watch && (p.base = calloc(1, size)) == NULL) {
		munmap(p.live, size);
		return NULL;
	}
	if (uc_mem_map_ptr(x->uc, addr, size, (uint32_t)prot, p.live) != UC_ERR_OK) {
		munmap(p.live, size);
		free(p.base);
		return NULL;
	}
	// In the order of addresses, so that lines are reported in it.
	uint32_t i = x->npages++;
	for (; i > 0 && x->pages[i - 1].addr > addr; i--)
		x->pages[i] = x->pages[i - 1];
	x->pages[i] = p;
	*base = p.base;
	return p.live;
}

int xu_unmap(xu *x, uint64_t addr)
{
	for (uint32_t i = 0; i < x->npages; i++) {
		page *p = &x->pages[i];
		if (p->addr != addr)
			continue;
		uc_ctl_remove_cache(x->uc, addr, addr + p->size);
		uc_err e = uc_mem_unmap(x->uc, addr, p->size);
		munmap(p->live, p->size);
		free(p->base);
		memmove(p, p + 1, (--x->npages - i) * sizeof *p);
		return (int)e;
	}
	return UC_ERR_ARG;
}

// xu_forget drops the translations of [addr, addr+size). Code that is rewritten
// in place runs as what it was before, without it.
int xu_forget(xu *x, uint64_t addr, uint64_t size)
{
	return (int)uc_ctl_remove_cache(x->uc, addr, addr + size);
}

static page *page_of(xu *x, uint64_t addr)
{
	for (uint32_t i = 0; i < x->npages; i++)
		if (x->pages[i].base && addr - x->pages[i].addr < x->pages[i].size)
			return &x->pages[i];
	return NULL;
}

// take reports the line at live, if it differs from base, and puts it back. n is
// the number of lines so far.
static uint32_t take(uint64_t addr, uint8_t *live, const uint8_t *base, xu_line *out, uint32_t n, uint32_t cap)
{
	if (memcmp(live, base, XU_LINE) == 0)
		return n;
	if (n < cap) {
		out[n].addr = addr;
		memcpy(out[n].data, live, XU_LINE);
	}
	memcpy(live, base, XU_LINE);
	return n + 1;
}

// harvest reports the lines that differ from base, in the order of addresses,
// and puts them back. The lines that the state brought along come first: then
// whole pages are nearly always the same. It returns the number of lines, more
// than cap if there is no room for all.
static uint32_t harvest(xu *x, const xu_line *in, uint32_t nin, xu_line *out, uint32_t cap)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < nin; k++) {
		page *p = page_of(x, in[k].addr);
		uint64_t o = in[k].addr - p->addr;
		n = take(in[k].addr, p->live + o, p->base + o, out, n, cap);
	}
	uint32_t known = n;
	for (uint32_t i = 0; i < x->npages; i++) {
		page *p = &x->pages[i];
		if (!p->base || memcmp(p->live, p->base, p->size) == 0)
			continue;
		for (uint64_t o = 0; o < p->size; o += XU_LINE)
			n = take(p->addr + o, p->live + o, p->base + o, out, n, cap);
	}
	if (n == known || n > cap)
		return n;
	for (uint32_t i = 1; i < n; i++) {
		xu_line l = out[i];
		uint32_t k = i;
		for (; k > 0 && out[k - 1].addr > l.addr; k--)
			out[k] = out[k - 1];
		out[k] = l;
	}
	return n;
}

// judge says how a run ended. The pc of a fault is that of the instruction that
// was begun last: inside a helper function (fxsave) the emulator has already
// counted on.
static void judge(xu *x, xu_stop *s, uc_err e, uint64_t *out)
{
	uint64_t pc = out[x->pc_word];
	s->num = 0;
	s->access = 0;
	s->addr = 0;
	s->steps = x->steps;
	if (x->access == XU_FETCH && x->steps > 0 && pc - x->lo >= x->hi - x->lo) {
		// Gone to where no whole instruction can be fetched. In 32-bit mode the
		// emulator does not cut the target of jcc; pc is cut here.
		s->kind = XU_LEFT;
	} else if (x->access) {
		s->kind = XU_FAULT;
		s->access = x->access;
		s->addr = x->fault;
		if (x->access != XU_FETCH)
			out[x->pc_word] = x->last;
	} else if (x->stopped) {
		s->kind = x->stopped - 1;
		s->num = x->exception;
	} else if (e == UC_ERR_INSN_INVALID && x->steps > 0 && pc != x->last && pc - x->lo >= x->hi - x->lo) {
		s->kind = XU_LEFT;  // what lies there is of no interest
	} else if (e == UC_ERR_INSN_INVALID) {
		s->kind = XU_INVALID;
	} else if (e == UC_ERR_OK) {
		s->kind = XU_HALT;
	} else {
		s->kind = XU_ERROR;
		s->num = (uint16_t)e;
	}
}

// xu_run runs n states one after the other and returns how many it has done:
// fewer than n if out_lines is full (then the rest is to be run again) or an
// input line names a page that is not watched.
int xu_run(xu *x, uint64_t lo, uint64_t hi, uint32_t limit, uint32_t n, const uint64_t *in, uint64_t *out,
	const xu_line *in_lines, const uint32_t *in_first, xu_stop *stops, xu_line *out_lines, uint32_t out_cap, uint64_t *trace)
{
	uint32_t used = 0;
	x->lo = lo, x->hi = hi, x->limit = limit, x->trace = trace;
	for (uint32_t i = 0; i < n; i++, in += x->nwords, out += x->nwords) {
		for (uint32_t k = in_first[i]; k < in_first[i + 1]; k++) {
			page *p = page_of(x, in_lines[k].addr);
			if (!p)
				return (int)i;
			memcpy(p->live + (in_lines[k].addr - p->addr), in_lines[k].data, XU_LINE);
		}
		x->steps = 0, x->stopped = 0, x->access = 0, x->exception = 0, x->fault = 0, x->last = 0;
		uc_err e = write_words(x, in);
		if (e == UC_ERR_OK)
			e = uc_emu_start(x->uc, in[x->pc_word], UINT64_MAX - 15, 0, 0);
		uc_context_save(x->uc, x->out);
		read_words(x, out);
		judge(x, &stops[i], e, out);
		uint32_t got = harvest(x, in_lines + in_first[i], in_first[i + 1] - in_first[i], out_lines + used, out_cap - used);
		if (got > out_cap - used)
			return (int)i;
		stops[i].first = used;
		stops[i].lines = got;
		used += got;
	}
	return (int)n;
}

// xu_driver is what P9 is measured against: the same work as a comparison in
// Go, written in C and called once. Each case is ADD RAX, imm32 at the next
// place of a ring of sites and its copy with a JMP rel32 at the next of a ring of
// slots; s random states; all words and lines compared. It returns how many of
// them differ.
uint64_t xu_driver(xu *x, const xu_ring *site, const xu_ring *slot, uint32_t cases, uint32_t s, xu_scratch *m)
{
	uint64_t bad = 0, rnd = 88172645463325252u + m->done;
	uint32_t i = m->site, j = m->slot;
	for (uint32_t end = m->done + cases; m->done < end; m->done++, i += 192, j += 192) {
		uint32_t c = m->done;
		if (i + 192 > site->size)
			i = 0, xu_forget(x, site->addr, site->size);
		if (j + 192 > slot->size)
			j = 0, xu_forget(x, slot->addr, slot->size);
		uint8_t code[11] = {0x48, 0x05, (uint8_t)c, (uint8_t)(c >> 8), (uint8_t)(c >> 16), 0, 0xe9};
		int32_t rel = (int32_t)(site->addr + i + 6 - (slot->addr + j + 11));
		memcpy(code + 7, &rel, 4);
		memcpy(site->live + i, code, 6);
		memcpy(slot->live + j, code, 11);
		for (uint32_t k = 0; k < s; k++) {
			uint64_t *w = m->in + k * x->nwords;
			for (uint32_t q = 0; q < x->nwords; q++) {
				rnd ^= rnd << 13, rnd ^= rnd >> 7, rnd ^= rnd << 17;
				if (!m->keep[q])
					w[q] = (rnd & m->mask[q]) | m->value[q];
				else
					w[q] = m->value[q];
			}
			w[x->pc_word] = site->addr + i;
			m->lines[k].addr = m->data + (rnd >> 8 & 0xf00);
			memset(m->lines[k].data, (int)rnd, XU_LINE);
			m->first[k + 1] = k + 1;
		}
		xu_run(x, site->addr + i, site->addr + i, 1, s, m->in, m->out, m->lines, m->first, m->stops, m->got, m->cap, NULL);
		for (uint32_t k = 0; k < s; k++)
			m->in[k * x->nwords + x->pc_word] = slot->addr + j;
		xu_run(x, slot->addr + j, slot->addr + j + 11, 600, s, m->in, m->out2, m->lines, m->first, m->stops2, m->got2, m->cap, NULL);
		for (uint32_t k = 0; k < s; k++)
			bad += memcmp(m->out + k * x->nwords, m->out2 + k * x->nwords, 8 * x->nwords) != 0 ||
				m->stops[k].lines != m->stops2[k].lines ||
				memcmp(m->got + m->stops[k].first, m->got2 + m->stops2[k].first, m->stops[k].lines * sizeof *m->got) != 0;
	}
	m->site = i, m->slot = j;
	return bad;
}

// xu_driver_open prepares the buffers of xu_driver for s states.
xu_scratch *xu_driver_open(xu *x, uint32_t s, uint64_t data)
{
	xu_scratch *m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	m->in = calloc(s, 8 * x->nwords);
	m->out = calloc(s, 8 * x->nwords);
	m->out2 = calloc(s, 8 * x->nwords);
	m->lines = calloc(s, sizeof *m->lines);
	m->first = calloc(s + 1, sizeof *m->first);
	m->stops = calloc(s, sizeof *m->stops);
	m->stops2 = calloc(s, sizeof *m->stops2);
	m->cap = 128 * s;
	m->got = calloc(m->cap, sizeof *m->got);
	m->got2 = calloc(m->cap, sizeof *m->got2);
	m->data = data;
	return m;
}

void xu_driver_close(xu_scratch *m)
{
	free(m->in), free(m->out), free(m->out2), free(m->lines), free(m->first);
	free(m->stops), free(m->stops2), free(m->got), free(m->got2), free(m);
}
