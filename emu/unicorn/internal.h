// What the files of the shim share.

#ifndef XOL_INTERNAL_H
#define XOL_INTERNAL_H

#include "engine.h"

#include <unicorn/unicorn.h>

typedef struct {
	uint64_t addr, size;
	uint8_t *live, *base;  // base is NULL for pages that are not watched
} page;

// Where a word, or bits of one, is in the state.
typedef struct {
	uint32_t word, at;
	uint8_t size, shift, bits;
} place;

// An instruction set, as far as the shim has to know it.
typedef struct {
	uc_err (*open)(xu *x);
	// map and unmap are told of pages; NULL where the emulator needs nothing.
	int (*map)(xu *x, uint64_t addr, uint64_t size);
	void (*unmap)(xu *x, uint64_t addr, uint64_t size);
	// fault says whether exception num is a failed access, which x->access and
	// x->fault then describe.
	int (*fault)(xu *x, uint32_t num);
	// probed finds what fault needs, 0 if it is not there. NULL for nothing.
	int (*probed)(xu *x);
	// case_code writes the instruction of the driver's case c to site and its copy
	// with a branch behind the site to slot; it returns the bytes of the copy.
	uint32_t (*case_code)(uint32_t c, uint8_t *site, uint64_t site_addr, uint8_t *slot, uint64_t slot_addr);
	// invalid says whether exception num is that of an undefined instruction; NULL
	// where the emulator has an error of its own for it.
	int (*invalid)(uint32_t num);
	// after completes the words at the end of a run; NULL for nothing.
	void (*after)(xu *x, uint64_t *out);
	uint64_t addr_mask;  // bits of an address that memory looks at
	uint8_t big;         // instructions and data are big-endian
	uint8_t precise;     // after an exception pc is that of the instruction
	int32_t probe[2];    // the general registers of probing code
} xu_isa;

extern const xu_isa xu_x86_64, xu_x86_32, xu_a64, xu_power_be, xu_power_le;

enum { MAX_PLACES = XU_MAX_WORDS + 64, MAX_RANGES = 4 };

struct xu {
	uc_engine *uc;
	const xu_isa *isa;
	uc_context *in, *out;  // in differs from that of a fresh engine in the words only
	size_t context_size;
	uint8_t *state;        // the state itself, as far as it is in a context, if it was found
	struct { size_t at, size; } ranges[MAX_RANGES];  // of it that runs change
	uint32_t nranges;
	xu_word words[XU_MAX_WORDS];
	uint64_t initial[XU_MAX_WORDS];  // what a fresh engine holds
	uint32_t nwords, pc_word;

	// Where words are: in the state, whole or in part, and those that only the
	// interface knows.
	place wide[MAX_PLACES], narrow[MAX_PLACES];
	uint32_t api[XU_MAX_WORDS];
	uint32_t nwide, nnarrow, napi;
	page pages[XU_MAX_PAGES];
	uint32_t npages;

	uint32_t probed_code;  // bytes of probing code so far

	// The run in progress.
	uint64_t lo, hi, last, *trace;
	uint32_t limit, steps;
	uint8_t stopped, access;
	uint16_t exception;
	uint64_t fault;

	// Of A64.
	uint32_t btype;      // its word

	// Of Power.
	uint8_t *table;      // the hash table
	size_t table_size;
	size_t spr;          // where the special-purpose registers are in the state
};

int xu_probe(xu *x, char *err, size_t errlen);
int xu_fail(char *err, size_t n, const char *what, uc_err e);
void xu_put32(int big, uint8_t *b, uint32_t v);
uint64_t xu_state64(const xu *x, size_t at);
int xu_find(xu *x, const xu_field *f, size_t *at);

#endif
