/*
 * The functions that an agent calls, one symbol each, and what they need from
 * the header. The tests look at this file's stack, size and symbols.
 */
#include "xol_fixups.h"

int check(xol_table *t, const void *data, size_t size, xol_error *err)
{
	return xol_check(t, data, size, err);
}

bool find(const xol_table *t, uint64_t pc, xol_ref *ref)
{
	return xol_find(t, pc, ref);
}

bool choose(const xol_table *t, const xol_ref *ref, uint32_t forms, uint32_t needs, uint64_t site, uint64_t slot, xol_verdict *v)
{
	return xol_choose(t, ref, forms, needs, site, slot, v);
}

int place(const xol_verdict *v, const xol_bases *at, uint8_t *dst, size_t cap, size_t *len, xol_miss *miss)
{
	return xol_place(v, at, dst, cap, len, miss);
}

int run(const xol_program *p, const xol_machine *m, const xol_bases *at, xol_temps *temps, uint32_t bits, xol_fault *fault)
{
	return xol_run(p, m, at, temps, bits, fault);
}

bool point(const xol_verdict *v, uint64_t pc, uint64_t slot, uint32_t why, xol_resume *out)
{
	return xol_point(v, pc, slot, why, out);
}
