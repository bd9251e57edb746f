/* A witness over libZydis: length, branch fields, operands and registers. */
#include <Zydis/Zydis.h>

#include "wire.h"

static ZydisDecoder decoders[2];
static ZydisFormatter formatter;

/* The bits of struct regs. */
enum {
	BIT_GPR = 0, BIT_VEC = 32, BIT_MASK = 64, BIT_TILE = 72, BIT_MMX = 80, BIT_X87 = 88,
	BIT_SEG = 96, BIT_FLAGS = 102
};

static void add(uint64_t *set, int bit)
{
	set[bit >> 6] |= (uint64_t)1 << (bit & 63);
}

/* bit_of returns the bit of a register, -1 for those that are not compared. */
static int bit_of(ZydisMachineMode mode, ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(mode, reg);
	int id;

	if (whole == ZYDIS_REGISTER_NONE)
		whole = reg;
	id = ZydisRegisterGetId(whole);
	switch (ZydisRegisterGetClass(whole)) {
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64:
		return BIT_GPR + id;
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return BIT_VEC + id;
	case ZYDIS_REGCLASS_MASK:
		return BIT_MASK + id;
	case ZYDIS_REGCLASS_TMM:
		return BIT_TILE + id;
	case ZYDIS_REGCLASS_MMX:
		return BIT_MMX + id;
	case ZYDIS_REGCLASS_X87:
		return BIT_X87 + id;
	case ZYDIS_REGCLASS_SEGMENT:
		return BIT_SEG + id;
	default:
		return -1;
	}
}

static int is_vector_prefix(const ZydisDecodedInstruction *in)
{
	return in->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
	       in->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ||
	       in->encoding == ZYDIS_INSTRUCTION_ENCODING_XOP;
}

/*
 * is_whole reports whether a write to reg leaves nothing of the old value: 32
 * bits and more of a general register, a vector register under VEX, EVEX or XOP.
 */
static int is_whole(const ZydisDecodedInstruction *in, ZydisRegister reg)
{
	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_GPR8:
	case ZYDIS_REGCLASS_GPR16:
		return 0;
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return is_vector_prefix(in);
	default:
		return 1;
	}
}

static void add_register(const ZydisDecodedInstruction *in, ZydisRegister reg, ZydisOperandActions act,
			 struct regs *r)
{
	int bit = bit_of(in->machine_mode, reg);

	if (bit < 0)
		return;
	if (act & ZYDIS_OPERAND_ACTION_MASK_READ)
		add(r->read, bit);
	if (act & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		add(r->write, bit);
	if (act & ZYDIS_OPERAND_ACTION_WRITE && is_whole(in, reg))
		add(r->kill, bit);
}

static void add_flags(const ZydisDecodedInstruction *in, struct regs *r)
{
	const ZydisAccessedFlags *f = in->cpu_flags;
	const ZydisAccessedFlagsMask six = ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF |
					   ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF;
	ZydisAccessedFlagsMask all;

	if (!f)
		return;
	all = f->modified | f->set_0 | f->set_1 | f->undefined;
	if (f->tested)
		add(r->read, BIT_FLAGS);
	if (all)
		add(r->write, BIT_FLAGS);
	if ((all & six) == six)
		add(r->kill, BIT_FLAGS);
}

static void fill_regs(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops, struct regs *r)
{
	for (int i = 0; i < in->operand_count; i++) {
		const ZydisDecodedOperand *o = &ops[i];

		if (o->encoding == ZYDIS_OPERAND_ENCODING_MASK && o->reg.value == ZYDIS_REGISTER_K0)
			continue; /* no mask */
		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			add_register(in, o->reg.value, o->actions, r);
		} else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			add_register(in, o->mem.base, ZYDIS_OPERAND_ACTION_READ, r);
			add_register(in, o->mem.index, ZYDIS_OPERAND_ACTION_READ, r);
		}
	}
	add_flags(in, r);
}

static int kind_of(const ZydisDecodedInstruction *in, int relative)
{
	if (in->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED)
		return K_PRIVILEGED;
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return K_COND_BRANCH;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return relative ? K_BRANCH : K_INDIRECT_BRANCH;
	case ZYDIS_CATEGORY_CALL:
		return relative ? K_CALL : K_INDIRECT_CALL;
	case ZYDIS_CATEGORY_RET:
		return K_RETURN;
	case ZYDIS_CATEGORY_INTERRUPT:
		return K_TRAP;
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
		return K_KERNEL_ENTRY;
	default:
		return K_OTHER;
	}
}

static void fill_answer(const struct batch *b, const ZydisDecodedInstruction *in,
			const ZydisDecodedOperand *ops, struct answer *a)
{
	a->len = in->length;
	a->disp_off = in->raw.disp.offset;
	a->disp_size = in->raw.disp.size / 8;
	for (int i = 0; i < in->operand_count; i++) {
		const ZydisDecodedOperand *o = &ops[i];

		if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.is_relative) {
			a->flags |= IS_REL;
			a->field_off = in->raw.imm[0].offset;
			a->field_size = in->raw.imm[0].size / 8;
			ZydisCalcAbsoluteAddress(in, o, b->pc, &a->target);
		}
		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (o->mem.base == ZYDIS_REGISTER_RIP || o->mem.base == ZYDIS_REGISTER_EIP)) {
			a->flags |= IS_RIP;
			if (o->mem.base == ZYDIS_REGISTER_EIP)
				a->flags |= IS_EIP;
			ZydisCalcAbsoluteAddress(in, o, b->pc, &a->target);
		}
	}
	a->kind = kind_of(in, a->flags & IS_REL);
}

static void answer_one(const struct batch *b, const struct probe *p, struct answer *a,
		       struct regs *r, struct text *t)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];

	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoders[p->bits == 64], p->code, p->len, &in, ops)))
		return;
	fill_answer(b, &in, ops, a);
	if (r)
		fill_regs(&in, ops, r);
	if (t)
		ZydisFormatterFormatInstruction(&formatter, &in, ops, in.operand_count_visible, t->s,
						sizeof t->s, b->pc, NULL);
}

int main(void)
{
	ZydisDecoderInit(&decoders[0], ZYDIS_MACHINE_MODE_LONG_COMPAT_32, ZYDIS_STACK_WIDTH_32);
	ZydisDecoderInit(&decoders[1], ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	serve();
}
