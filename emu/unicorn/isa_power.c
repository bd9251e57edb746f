// Power, in both byte orders: a processor without address translation. Such a one
// looks every page up in the hash table all the same (virtual real mode, Power
// ISA, Book III, 6.7.3.4), so pages are entered there as they are mapped.

#define _GNU_SOURCE
#include "internal.h"

#include <string.h>
#include <sys/mman.h>

enum {
	partition_table = 0,     // where the emulator's PTCR points
	page_size = 4096,
	log_groups = 14,         // of the hash table
	group = 128, entry = 16, // bytes
};

static const uint64_t hash_table = 0x400000, vsid = 0x1ffffff, addr_bits = (1ull << 40) - 1;

static void put64(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> (56 - 8 * i));
}

static uc_err open_order(xu *x, uint64_t order)
{
	uint8_t process[8];
	uc_err e = uc_open(UC_ARCH_PPC, UC_MODE_PPC64 | UC_MODE_BIG_ENDIAN, &x->uc);
	if (e != UC_ERR_OK)
		return e;
	x->table_size = (size_t)group << log_groups;
	x->table = mmap(NULL, x->table_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (x->table == MAP_FAILED) {
		x->table = NULL;
		return UC_ERR_NOMEM;
	}
	put64(process, hash_table | (log_groups - 11));
	e = uc_mem_map(x->uc, partition_table, page_size, UC_PROT_READ);
	if (e == UC_ERR_OK)
		e = uc_mem_write(x->uc, partition_table, process, sizeof process);
	if (e == UC_ERR_OK)
		e = uc_mem_map_ptr(x->uc, hash_table, x->table_size, UC_PROT_READ | UC_PROT_WRITE, x->table);
	// 64 bits, vector, vector-scalar, floating-point; the order.
	uint64_t msr = 1ull << 63 | 1 << 25 | 1 << 23 | 1 << 13 | order;
	return e == UC_ERR_OK ? uc_reg_write(x->uc, UC_PPC_REG_MSR, &msr) : e;
}

static uc_err open_big(xu *x) { return open_order(x, 0); }

static uc_err open_little(xu *x) { return open_order(x, 1); }

// words_of are the two doublewords of the entry of a page (Book III, figure 30):
// the virtual page is the segment and the upper bits of the address, in segments of
// 1 TiB; referenced, changed, coherent, and read and write allowed. What is not
// allowed is for the memory map of the emulator to say.
static void words_of(uint64_t ea, uint64_t *first, uint64_t *second)
{
	uint64_t va = vsid << 17 | ea >> 23;
	*first = (va << 7 & 0x000fffffffffff80) | 1;
	*second = 1ull << 58 | (ea & ~(uint64_t)(page_size - 1)) | 0x192;
}

static uint8_t *group_of(xu *x, uint64_t ea)
{
	uint64_t hash = (vsid ^ vsid << 25 ^ ea >> 12) & ((1u << log_groups) - 1);
	return x->table + hash * group;
}

static int map(xu *x, uint64_t addr, uint64_t size)
{
	for (uint64_t ea = addr & addr_bits, end = ea + size; ea < end; ea += page_size) {
		uint8_t *g = group_of(x, ea), *free = NULL;
		for (int i = 0; i < group; i += entry)
			if (!(g[i + 7] & 1))
				free = g + i;
		if (!free)
			return 0;
		uint64_t first, second;
		words_of(ea, &first, &second);
		put64(free, first);
		put64(free + 8, second);
	}
	return 1;
}

static void unmap(xu *x, uint64_t addr, uint64_t size)
{
	for (uint64_t ea = addr & addr_bits, end = ea + size; ea < end; ea += page_size) {
		uint8_t *g = group_of(x, ea), old[8];
		uint64_t first, second;
		words_of(ea, &first, &second);
		put64(old, second);
		for (int i = 0; i < group; i += entry)
			if (memcmp(g + i + 8, old, sizeof old) == 0)
				memset(g + i, 0, entry);
	}
}

// Interrupts, by the numbers of the emulator, and special-purpose registers.
enum {
	hypervisor_data = 69, hypervisor_insn = 70, emulation_assist = 96,
	HDSISR = 306, HDAR = 307, SPRG0 = 272, SPRG1 = 273,
};

// fault: an access to a page that the hash table does not have. The emulator's
// memory hook comes first for most of them; what crosses into another page ends
// here.
static int fault(xu *x, uint32_t num)
{
	const uint64_t store = 0x2000000;
	if (num != hypervisor_data && num != hypervisor_insn)
		return 0;
	if (x->access)
		return 1;
	if (!x->state)
		uc_context_save(x->uc, x->out);
	if (num == hypervisor_insn) {
		uint64_t pc = 0;
		uc_reg_read(x->uc, UC_PPC_REG_PC, &pc);
		x->fault = pc - 4;
		x->access = XU_FETCH;
		return 1;
	}
	x->fault = xu_state64(x, x->spr + 8 * HDAR);
	x->access = xu_state64(x, x->spr + 8 * HDSISR) & store ? XU_WRITE : XU_READ;
	return 1;
}

static int invalid(uint32_t num) { return num == emulation_assist; }

// probed finds the special-purpose registers, which are an array, by two of them,
// and takes what lies behind the array and is constant, the emulator's table of
// them, out of what is put back before each run: it is five sixths of it.
static int probed(xu *x)
{
	size_t at[2];
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t n = SPRG0 + i;
		xu_field f = {.try = {0x1234567890abcdef, 0xfedcba0987654321}, .size = 8, .bits = 64,
			.code = {0x7c6003a6 | (n & 31) << 16 | n >> 5 << 11}};  // mtspr n, r3
		if (!xu_find(x, &f, &at[i]))
			return 0;
	}
	if (at[1] - at[0] != 8)
		return 0;
	x->spr = at[0] - 8 * SPRG0;
	size_t behind = x->spr + 8 * 1024, end = x->ranges[0].at + x->ranges[0].size;
	size_t table = 1024 * 56;  // at least
	if (x->state && behind + table < end) {
		x->ranges[0].size = behind - x->ranges[0].at;
		x->ranges[1].at = behind + table;
		x->ranges[1].size = end - behind - table;
		x->nranges = 2;
	}
	return 1;
}

// case_code: addi r3, r3, imm and b.
static uint32_t code_order(int big, uint32_t c, uint8_t *site, uint64_t site_addr, uint8_t *slot, uint64_t slot_addr)
{
	uint32_t addi = 0x38630000 | (c & 0xffff);
	uint32_t b = 0x48000000 | ((uint32_t)(site_addr - slot_addr) & 0x3fffffc);
	xu_put32(big, site, addi);
	xu_put32(big, slot, addi);
	xu_put32(big, slot + 4, b);
	return 8;
}

static uint32_t code_big(uint32_t c, uint8_t *site, uint64_t site_addr, uint8_t *slot, uint64_t slot_addr)
{
	return code_order(1, c, site, site_addr, slot, slot_addr);
}

static uint32_t code_little(uint32_t c, uint8_t *site, uint64_t site_addr, uint8_t *slot, uint64_t slot_addr)
{
	return code_order(0, c, site, site_addr, slot, slot_addr);
}

const xu_isa xu_power_be = {.open = open_big, .map = map, .unmap = unmap, .fault = fault, .probed = probed,
	.invalid = invalid, .case_code = code_big, .addr_mask = (1ull << 40) - 1, .big = 1, .precise = 1,
	.probe = {UC_PPC_REG_3, UC_PPC_REG_4}};
const xu_isa xu_power_le = {.open = open_little, .map = map, .unmap = unmap, .fault = fault, .probed = probed,
	.invalid = invalid, .case_code = code_little, .addr_mask = (1ull << 40) - 1, .precise = 1,
	.probe = {UC_PPC_REG_3, UC_PPC_REG_4}};
