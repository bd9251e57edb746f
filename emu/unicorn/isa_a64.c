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

const xu_isa xu_a64 = {.open = open, .invalid = invalid, .case_code = case_code, .addr_mask = UINT64_MAX,
	.precise = 1, .probe = {UC_ARM64_REG_X3, UC_ARM64_REG_X4}};
