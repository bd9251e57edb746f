// The comparison in C that the benchmarks hold the one in Go against.

#include "internal.h"

#include <stdlib.h>
#include <string.h>

// xu_driver is what P9 is measured against: the same work as a comparison in
// Go, written in C and called once. Each case adds a number to a register at the
// next place of a ring of sites, with its copy and a branch at the next of a ring
// of slots; s random states; all words and lines compared. It returns how many of
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
		uint32_t size = x->isa->case_code(c, site->live + i, site->addr + i, slot->live + j, slot->addr + j);
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
		xu_run(x, slot->addr + j, slot->addr + j + size, 600, s, m->in, m->out2, m->lines, m->first, m->stops2, m->got2, m->cap, NULL);
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
