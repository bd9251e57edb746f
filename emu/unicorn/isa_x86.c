// x86, in 64-bit and in 32-bit mode.

#include "internal.h"

#include <string.h>

static uc_err open64(xu *x) { return uc_open(UC_ARCH_X86, UC_MODE_64, &x->uc); }

static uc_err open32(xu *x) { return uc_open(UC_ARCH_X86, UC_MODE_32, &x->uc); }

// case_code: ADD RAX, imm32 (in 32-bit mode DEC EAX; ADD EAX, imm32) and JMP rel32.
static uint32_t case_code(uint32_t c, uint8_t *site, uint64_t site_addr, uint8_t *slot, uint64_t slot_addr)
{
	uint8_t code[11] = {0x48, 0x05, (uint8_t)c, (uint8_t)(c >> 8), (uint8_t)(c >> 16), 0, 0xe9};
	int32_t rel = (int32_t)(site_addr + 6 - (slot_addr + sizeof code));
	memcpy(code + 7, &rel, 4);
	memcpy(site, code, 6);
	memcpy(slot, code, sizeof code);
	return sizeof code;
}

const xu_isa xu_x86_64 = {.open = open64, .case_code = case_code, .addr_mask = UINT64_MAX};
const xu_isa xu_x86_32 = {.open = open32, .case_code = case_code, .addr_mask = UINT64_MAX};
