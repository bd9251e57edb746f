// Finding out where the emulator keeps what.

#define _GNU_SOURCE
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// Where probing code runs, and its data: in no arena of any target.
enum { probe_code = 0x71000000, probe_data = 0x71001000, probe_size = 0x6000 };

int xu_fail(char *err, size_t n, const char *what, uc_err e)
{
	snprintf(err, n, "%s: %s", what, uc_strerror(e));
	return 0;
}

// xu_put32 writes an instruction in the order of the instruction set.
void xu_put32(int big, uint8_t *b, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		b[i] = (uint8_t)(v >> (big ? 24 - 8 * i : 8 * i));
}

// locate finds the size bytes of want in the saved context, -1 unless there is
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

// give makes a field hold v, in an engine that is otherwise fresh, and saves the
// context.
static uc_err give(xu *x, const xu_field *f, uint64_t v)
{
	uint64_t zero = 0, word = v << f->shift;
	uc_err e = uc_context_restore(x->uc, x->in);
	if (f->id) {
		uint64_t whole = v << f->up | f->base;
		e = uc_reg_write(x->uc, f->id, &whole);
		return e == UC_ERR_OK ? uc_context_save(x->uc, x->out) : e;
	}
	uint8_t code[12];
	uint32_t n = 0;
	for (; n < 3 && f->code[n]; n++)
		xu_put32(x->isa->big, code + 4 * n, f->code[n]);
	// A place that has never held code, before or behind the data.
	uint64_t at = probe_code + x->probed_code;
	x->probed_code += 16;
	if (x->probed_code == probe_data - probe_code)
		x->probed_code += 0x1000;
	if (x->probed_code >= probe_size)
		return UC_ERR_NOMEM;
	if (e == UC_ERR_OK)
		e = uc_mem_write(x->uc, at, code, 4 * n);
	uc_reg_write(x->uc, x->isa->probe[!f->src], &zero);
	uc_reg_write(x->uc, x->isa->probe[f->src], &word);
	if (e == UC_ERR_OK)
		e = uc_emu_start(x->uc, at, at + 4 * n, 0, 0);
	uc_reg_write(x->uc, x->isa->probe[f->src], &zero);
	return e == UC_ERR_OK ? uc_context_save(x->uc, x->out) : e;
}

static int holds(const uint8_t *c, size_t at, uint8_t size, uint64_t v)
{
	uint64_t got = 0;
	memcpy(&got, c + at, size);
	return got == v;
}

// xu_find finds the place of a field: the only one that follows it through both
// values, twice.
int xu_find(xu *x, const xu_field *f, size_t *at)
{
	uint8_t *may = calloc(1, x->context_size);
	size_t n = 0;
	for (int round = 0; may && round < 4; round++) {
		uint64_t v = f->try[round & 1];
		if (give(x, f, v) != UC_ERR_OK) {
			n = 0;
			break;
		}
		const uint8_t *c = (const uint8_t *)x->out;
		n = 0;
		for (size_t i = 0; i + f->size <= x->context_size; i += f->size) { // aligned, as in any structure
			may[i] = (round == 0 || may[i]) && holds(c, i, f->size, v);
			if (may[i])
				n++, *at = i;
		}
	}
	free(may);
	return n == 1;
}

static void put(xu *x, uint32_t word, size_t at, uint8_t size, uint8_t shift, uint8_t bits)
{
	place p = {word, (uint32_t)at, size, shift, bits};
	if (size == 8 && shift == 0 && bits == 64)
		x->wide[x->nwide++] = p;
	else
		x->narrow[x->nnarrow++] = p;
}

static int find_words(xu *x, char *err, size_t errlen)
{
	for (uint32_t i = 0; i < x->nwords; i++) {
		const xu_word *w = &x->words[i];
		for (uint32_t k = 0; k < w->nfields; k++) {
			const xu_field *f = &w->fields[k];
			size_t at;
			if (!xu_find(x, f, &at)) {
				snprintf(err, errlen, "field %u of word %u is not found in the state", k, i);
				return 0;
			}
			put(x, i, at, f->size, f->shift, f->bits);
		}
		if (w->nfields)
			continue;
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
		if (left > 8)
			left = 8;
		put(x, i, (size_t)at + 8 * w->part, (uint8_t)left, 0, (uint8_t)(8 * left));
	}
	return 1;
}

// peek copies memory of this process that may not be there.
static int peek(void *dst, uint64_t addr, size_t n)
{
	struct iovec to = {dst, n}, from = {(void *)(uintptr_t)addr, n};
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)n;
}

// find_state finds the state of the CPU in memory: the engine has a pointer to the
// CPU, whose part it is, and the general registers hold numbers that are nowhere
// else. What it shares with a context is what a context is a copy of; the rest of
// a context are its head and a jump buffer. If it is not found, contexts are used,
// which takes longer.
static void find_state(xu *x)
{
	enum { engine_words = 512, cpu_size = 256 << 10, seen = 64 };
	uint64_t engine[engine_words];
	uint8_t *cpu = malloc(cpu_size), want[seen];
	size_t at = x->wide[0].at, n = 0;
	for (uint32_t i = 0; i < x->nwide; i++) {
		uint64_t v = 0x9e3779b97f4a7c15u * (i + 1);
		memcpy((uint8_t *)x->out + x->wide[i].at, &v, 8);
	}
	memcpy(want, (uint8_t *)x->out + at, seen);
	uc_context_restore(x->uc, x->out);
	memset((uint8_t *)x->out + at, 0, seen);
	for (size_t k = engine_words; k >= 64 && !n; k /= 2)
		n = peek(engine, (uint64_t)(uintptr_t)x->uc, 8 * k) ? k : 0;
	for (size_t i = 0; cpu && i < n && !x->state; i++) {
		size_t size = 0;
		for (size_t k = cpu_size; k >= 4096 && !size && engine[i] % 8 == 0; k /= 2)
			size = peek(cpu, engine[i], k) ? k : 0;
		uint8_t *p = size ? memmem(cpu, size, want, seen) : NULL;
		if (p)
			x->state = (uint8_t *)(uintptr_t)engine[i] + (p - cpu) - at;
	}
	free(cpu);
}

// measure_state finds how much of a context is a copy of the state, by other
// numbers that are written to the state and must be in the next context.
static void measure_state(xu *x)
{
	size_t lo = x->wide[0].at, hi = lo;
	for (uint32_t i = 0; i < x->nwide; i++) {
		uint64_t v = 0xd1342543de82ef95u * (i + 3);
		memcpy(x->state + x->wide[i].at, &v, 8);
	}
	const uint8_t *c = (const uint8_t *)x->out;
	uc_context_save(x->uc, x->out);
	while (lo > 0 && x->state[lo - 1] == c[lo - 1])
		lo--;
	while (hi < x->context_size && x->state[hi] == c[hi])
		hi++;
	x->ranges[0].at = lo, x->ranges[0].size = hi - lo;
	x->nranges = 1;
	for (uint32_t i = 0; i < x->nwide + x->nnarrow; i++) {
		const place *p = i < x->nwide ? &x->wide[i] : &x->narrow[i - x->nwide];
		if (p->at < lo || p->at + p->size > hi)
			x->state = NULL;  // not all words are there
	}
}

static uc_err probe_pages(xu *x, int add)
{
	if (!add) {
		if (x->isa->unmap)
			x->isa->unmap(x, probe_code, probe_size);
		return uc_mem_unmap(x->uc, probe_code, probe_size);
	}
	uc_err e = uc_mem_map(x->uc, probe_code, probe_size, UC_PROT_ALL);
	if (e == UC_ERR_OK && x->isa->map && !x->isa->map(x, probe_code, probe_size))
		e = UC_ERR_NOMEM;
	return e;
}

// xu_probe finds all words, the state, and what of it has to be put back.
int xu_probe(xu *x, char *err, size_t errlen)
{
	uc_err e = probe_pages(x, 1);
	if (e != UC_ERR_OK)
		return xu_fail(err, errlen, "pages for probing", e);
	uc_context_save(x->uc, x->in);
	if (!find_words(x, err, errlen))
		return 0;
	find_state(x);
	if (x->state)
		measure_state(x);
	if (x->isa->probed && !x->isa->probed(x)) {
		snprintf(err, errlen, "the emulator's tables are not where they were expected");
		return 0;
	}
	uc_context_restore(x->uc, x->in);
	e = probe_pages(x, 0);
	return e == UC_ERR_OK ? 1 : xu_fail(err, errlen, "pages for probing", e);
}

uint64_t xu_state64(const xu *x, size_t at)
{
	uint64_t v;
	memcpy(&v, (x->state ? x->state : (const uint8_t *)x->out) + at, 8);
	return v;
}
