// A64, at exception level 1 and without address translation: every address of 64
// bits is memory's, if there is any. Pointer authentication is off: the emulator has
// it on only in a state that is not secure, where addresses have 44 bits.

#include "internal.h"

static uc_err open(xu *x)
{
	uc_err e = uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &x->uc);
	// The model with LSE, PAuth and the like: the default one lacks them.
	return e == UC_ERR_OK ? uc_ctl_set_cpu_model(x->uc, UC_CPU_ARM64_MAX) : e;
}

// Exceptions, by the numbers of the emulator.
enum { undefined = 1 };

static int invalid(uint32_t num) { return num == undefined; }

static int probed(xu *x)
{
	for (uint32_t i = 0; i < x->nwords; i++)
		if (x->words[i].nfields && x->words[i].fields[0].id == UC_ARM64_REG_PSTATE)
			x->btype = i;
	return 1;
}

// after makes all memory guarded. The emulator has guarded pages where address
// translation says so, and here there is none. The difference is what a branch
// through another register than X16 and X17 leaves in BTYPE: 11, which only BTI j
// accepts, and 01 from memory that is not guarded (DDI 0487, D8.4.5).
static void after(xu *x, uint64_t *out)
{
	uint8_t b[4];
	if (x->btype == 0 || out[x->btype] != 1 || uc_mem_read(x->uc, x->last, b, sizeof b) != UC_ERR_OK)
		return;
	uint32_t w = b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24, n = w >> 5 & 31;
	if (n != 16 && n != 17)
		out[x->btype] = 3;
}

// case_code: ADD X0, X0, #imm12 and B.
static uint32_t case_code(uint32_t c, uint8_t *site, uint64_t site_addr, uint8_t *slot, uint64_t slot_addr)
{
	uint32_t add = 0x91000000 | (c & 0xfff) << 10;
	uint32_t b = 0x14000000 | ((uint32_t)(site_addr - slot_addr) >> 2 & 0x3ffffff);
	xu_put32(0, site, add);
	xu_put32(0, slot, add);
	xu_put32(0, slot + 4, b);
	return 8;
}

const xu_isa xu_a64 = {.open = open, .probed = probed, .after = after, .invalid = invalid, .case_code = case_code, .addr_mask = UINT64_MAX,
	.precise = 1, .probe = {UC_ARM64_REG_X3, UC_ARM64_REG_X4}};
