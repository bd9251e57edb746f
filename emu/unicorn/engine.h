// The shim between package unicorn and libunicorn: one call executes a batch of
// states, so that the cost of crossing from Go to C is paid once a batch.
//
// Registers. The whole state of the CPU is put back before each run: that also
// takes back what an exception leaves behind; without it the second fault of an
// engine is reported as a double fault. Where the state is, and where in it a
// register lies, is found by probing when the engine opens (write through the
// public interface or by an instruction, save, look), never assumed. A run reads
// and writes registers there.
//
// Memory. Watched pages have two host images: live, which the guest uses, and
// base, what it held before the run. After each run every line of 64 bytes that
// differs is reported and put back.

#ifndef XOL_ENGINE_H
#define XOL_ENGINE_H

#include <stddef.h>
#include <stdint.h>

enum {
	XU_LINE = 64,
	XU_MAX_WORDS = 192,
	XU_MAX_PAGES = 64,
	XU_MAX_TRACE = 64,
	XU_MAX_FIELDS = 8,
};

// Instruction sets.
enum { XU_X86_64, XU_X86_32, XU_A64, XU_POWER_BE, XU_POWER_LE };

// How a run ended; the numbers are those of emu.StopKind.
enum { XU_LEFT, XU_LIMIT, XU_FAULT, XU_EXCEPTION, XU_INVALID, XU_HALT, XU_ERROR };

// Direction of a faulting access; the numbers are those of emu.Access.
enum { XU_READ = 1, XU_WRITE, XU_FETCH };

typedef struct {
	uint64_t addr;
	uint8_t data[XU_LINE];
} xu_line;

typedef struct {
	uint64_t addr;          // of the access that faulted
	uint32_t steps;         // instructions begun; a repeated one counts each time
	uint32_t first, lines;  // its part of the batch's lines
	uint16_t num;           // exception number or uc_err
	uint8_t kind, access;
} xu_stop;

// A field of a word that the emulator keeps by itself, size bytes with one number
// in them: bits from shift on of the word. It is found by giving it the values
// in try, through the interface as register id, or, without one, by the
// instructions in code, which take (value << shift) from the general register src
// of the two that the instruction set's probes use.
typedef struct {
	uint64_t try[2];
	uint32_t code[3];
	int32_t id;
	uint8_t size, shift, bits, src;
	uint8_t up;      // register id holds value << up | base
	uint64_t base;
} xu_field;

// A register word: a Unicorn register and which 64-bit part of it, or fields.
typedef struct {
	int32_t id;
	uint8_t size;    // bytes of the whole register
	uint8_t part;
	uint8_t api;     // has side effects or is computed: never through the state
	uint8_t fixed;   // read, never written
	uint8_t nfields;
	xu_field fields[XU_MAX_FIELDS];
} xu_word;

typedef struct xu xu;

xu *xu_open(int isa, const xu_word *words, uint32_t n, uint32_t pc_word, char *err, size_t errlen);
void xu_close(xu *x);
void *xu_map(xu *x, uint64_t addr, uint64_t size, int prot, int watch, void **base);
int xu_unmap(xu *x, uint64_t addr);
int xu_forget(xu *x, uint64_t addr, uint64_t size);
int xu_run(xu *x, uint64_t lo, uint64_t hi, uint32_t limit, uint32_t n, const uint64_t *in, uint64_t *out,
	const xu_line *in_lines, const uint32_t *in_first, xu_stop *stops, xu_line *out_lines, uint32_t out_cap, uint64_t *trace);

// For the benchmark.
typedef struct {
	uint64_t addr, size;
	uint8_t *live;
} xu_ring;

typedef struct {
	uint64_t mask[XU_MAX_WORDS], value[XU_MAX_WORDS], data;  // random bits and others
	uint8_t keep[XU_MAX_WORDS];                               // words that are only value
	uint64_t *in, *out, *out2;
	xu_line *lines, *got, *got2;
	uint32_t *first, cap;
	xu_stop *stops, *stops2;
	uint32_t done, site, slot;   // cases so far, and the next places
} xu_scratch;

xu_scratch *xu_driver_open(xu *x, uint32_t s, uint64_t data);
uint64_t xu_driver(xu *x, const xu_ring *site, const xu_ring *slot, uint32_t cases, uint32_t s, xu_scratch *m);
void xu_driver_close(xu_scratch *m);

#endif
