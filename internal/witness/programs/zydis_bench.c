/*
 * Zydis against the clock. Standard input: u32 number of functions, then for
 * each u32 length and its bytes (host byte order), then one byte a pass:
 * 'm' minimal decode, 'e' full decode and encode of every instruction,
 * 'r' full decode of all and encode of those with a relative operand.
 * Standard output: for each pass u64 nanoseconds of this thread, u64
 * instructions, u64 bytes encoded (so that nothing is optimised away).
 */
#include <Zydis/Zydis.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct func { uint32_t len; uint8_t *code; };
static struct func *funcs;
static uint32_t nfuncs;
static ZydisDecoder minimal, full;

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void need(void *p, size_t n)
{
	if (n != 0 && fread(p, 1, n, stdin) != n)
		exit(1);
}

static uint64_t pass_minimal(void)
{
	uint64_t n = 0;
	ZydisDecodedInstruction in;
	for (uint32_t i = 0; i < nfuncs; i++)
		for (uint32_t at = 0; at < funcs[i].len; at += in.length, n++)
			if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&minimal, NULL, funcs[i].code + at, funcs[i].len - at, &in)))
				break;
	return n;
}

static uint64_t pass_encode(int all, uint64_t *bytes)
{
	uint64_t n = 0;
	ZydisDecodedInstruction in;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	for (uint32_t i = 0; i < nfuncs; i++) {
		for (uint32_t at = 0; at < funcs[i].len; at += in.length, n++) {
			ZydisEncoderRequest req;
			uint8_t out[ZYDIS_MAX_INSTRUCTION_LENGTH];
			ZyanUSize len = sizeof out;
			if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&full, funcs[i].code + at, funcs[i].len - at, &in, ops)))
				break;
			if (!all && !(in.attributes & ZYDIS_ATTRIB_IS_RELATIVE))
				continue;
			if (ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(&in, ops, in.operand_count_visible, &req)) &&
			    ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(&req, out, &len)))
				*bytes += len;
		}
	}
	return n;
}

int main(void)
{
	int c;
	need(&nfuncs, sizeof nfuncs);
	funcs = calloc(nfuncs + 1, sizeof *funcs);
	if (!funcs)
		return 1;
	for (uint32_t i = 0; i < nfuncs; i++) {
		need(&funcs[i].len, sizeof funcs[i].len);
		funcs[i].code = malloc(funcs[i].len + 1);
		if (!funcs[i].code)
			return 1;
		need(funcs[i].code, funcs[i].len);
	}
	ZydisDecoderInit(&full, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	minimal = full;
	ZydisDecoderEnableMode(&minimal, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	while ((c = getchar()) != EOF) {
		uint64_t r[3] = {0, 0, 0}, t = now();
		r[1] = c == 'm' ? pass_minimal() : pass_encode(c == 'e', &r[2]);
		r[0] = now() - t;
		fwrite(r, sizeof r, 1, stdout);
		fflush(stdout);
	}
	return 0;
}
