#define _GNU_SOURCE
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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
	if (!x->isa->fault || !x->isa->fault(x, num)) {
		x->exception = (uint16_t)num;
		x->stopped = 1 + (x->isa->invalid && x->isa->invalid(num) ? XU_INVALID : XU_EXCEPTION);
	}
	uc_emu_stop(uc);
}

static int hooks(xu *x, char *err, size_t errlen)
{
	uc_hook h;
	uc_err e = uc_hook_add(x->uc, &h, UC_HOOK_CODE, (void *)on_code, x, 1, 0);
	if (e == UC_ERR_OK)
		e = uc_hook_add(x->uc, &h, UC_HOOK_MEM_UNMAPPED | UC_HOOK_MEM_PROT, (void *)on_fault, x, 1, 0);
	if (e == UC_ERR_OK)
		e = uc_hook_add(x->uc, &h, UC_HOOK_INTR, (void *)on_exception, x, 1, 0);
	return e == UC_ERR_OK ? 1 : xu_fail(err, errlen, "hooks", e);
}

// read_words takes the words out of the state.
static void read_words(xu *x, uint64_t *out)
{
	if (!x->state)
		uc_context_save(x->uc, x->out);
	const uint8_t *c = x->state ? x->state : (const uint8_t *)x->out;
	for (uint32_t i = 0; i < x->nwide; i++)
		memcpy(&out[x->wide[i].word], c + x->wide[i].at, 8);
	for (uint32_t i = 0; i < x->nnarrow; i++)
		out[x->narrow[i].word] = 0;
	for (uint32_t i = 0; i < x->nnarrow; i++) {
		const place *p = &x->narrow[i];
		uint64_t v = 0;
		memcpy(&v, c + p->at, p->size);
		out[p->word] |= (v & UINT64_MAX >> (64 - p->bits)) << p->shift;
	}
	for (uint32_t i = 0; i < x->napi; i++) {
		uint64_t v[8] = {0};
		const xu_word *w = &x->words[x->api[i]];
		uc_reg_read(x->uc, w->id, v);
		out[x->api[i]] = v[w->part] & UINT64_MAX >> (w->size < 8 ? 64 - 8 * w->size : 0);
	}
}

// write_words makes the next run start in state in: a fresh state with the
// registers put in, then those that only the interface can set, where they
// differ from what the fresh state holds.
static uc_err write_words(xu *x, const uint64_t *in)
{
	uint8_t *c = (uint8_t *)x->in;
	for (uint32_t i = 0; i < x->nwide; i++)
		memcpy(c + x->wide[i].at, &in[x->wide[i].word], 8);
	for (uint32_t i = 0; i < x->nnarrow; i++) {
		const place *p = &x->narrow[i];
		uint64_t v = in[p->word] >> p->shift & UINT64_MAX >> (64 - p->bits);
		memcpy(c + p->at, &v, p->size);
	}
	uc_err e = UC_ERR_OK;
	if (x->state)
		for (uint32_t i = 0; i < x->nranges; i++)
			memcpy(x->state + x->ranges[i].at, c + x->ranges[i].at, x->ranges[i].size);
	else
		e = uc_context_restore(x->uc, x->in);
	for (uint32_t i = 0; i < x->napi && e == UC_ERR_OK; i++) {
		uint32_t k = x->api[i];
		if (!x->words[k].fixed && in[k] != x->initial[k])
			e = uc_reg_write(x->uc, x->words[k].id, &in[k]);
	}
	return e;
}

static const xu_isa *const isas[] = {&xu_x86_64, &xu_x86_32, &xu_a64, &xu_power_be, &xu_power_le};

xu *xu_open(int isa, const xu_word *words, uint32_t n, uint32_t pc_word, char *err, size_t errlen)
{
	if (n > XU_MAX_WORDS) {
		snprintf(err, errlen, "%u register words", n);
		return NULL;
	}
	xu *x = calloc(1, sizeof *x);
	if (!x)
		return NULL;
	x->isa = isas[isa];
	uc_err e = x->isa->open(x);
	if (e == UC_ERR_OK)
		e = uc_context_alloc(x->uc, &x->in);
	if (e == UC_ERR_OK)
		e = uc_context_alloc(x->uc, &x->out);
	memcpy(x->words, words, n * sizeof *words);
	x->nwords = n;
	x->pc_word = pc_word;
	if (e != UC_ERR_OK) {
		xu_fail(err, errlen, "open", e);
		xu_close(x);
		return NULL;
	}
	x->context_size = uc_context_size(x->uc);
	if (!xu_probe(x, err, errlen) || !hooks(x, err, errlen)) {
		xu_close(x);
		return NULL;
	}
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
	if (x->table)
		munmap(x->table, x->table_size);
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
	uc_err e = uc_mem_map_ptr(x->uc, addr & x->isa->addr_mask, size, (uint32_t)prot, p.live);
	if (e != UC_ERR_OK || (x->isa->map && !x->isa->map(x, addr, size))) {
		if (e == UC_ERR_OK)
			uc_mem_unmap(x->uc, addr & x->isa->addr_mask, size);
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
		if (x->isa->unmap)
			x->isa->unmap(x, addr, p->size);
		uc_err e = uc_mem_unmap(x->uc, addr & x->isa->addr_mask, p->size);
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
	if (x->steps == 0 && x->stopped != 1 + XU_LIMIT) {
		s->kind = XU_ERROR;  // nothing was executed: the emulator is not set up
		s->num = (uint16_t)e;
		return;
	}
	if (x->access == XU_FETCH && x->steps > 0 && x->isa->fault)
		out[x->pc_word] = pc = x->fault;
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
		if (s->kind >= XU_EXCEPTION && x->isa->precise)
			out[x->pc_word] = x->last;
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
		read_words(x, out);
		if (x->isa->after)
			x->isa->after(x, out);
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
