/*
 * A witness over the MC disassembler of LLVM's C interface. The library is
 * opened by the name in argv[1], so that no LLVM headers are needed and the
 * newest version at hand can be asked; the interface is the stable one of
 * llvm-c/Disassembler.h.
 */
#include <dlfcn.h>

#include "wire.h"

typedef int opinfo_fn(void *info, uint64_t pc, uint64_t off, uint64_t size, uint64_t more, ...);
typedef const char *symbol_fn(void *info, uint64_t value, uint64_t *type, uint64_t pc, const char **name);

static void *(*create)(const char *triple, const char *cpu, const char *features, void *info, int tag,
		       opinfo_fn *op, symbol_fn *sym);
static size_t (*disassemble)(void *dc, uint8_t *code, uint64_t n, uint64_t pc, char *out, size_t size);

/* What the callbacks saw of the instruction. */
static struct {
	struct answer *a;
	uint64_t off, size; /* of the operand that is asked for */
	int any;            /* the first value that is no branch target is the displacement */
} seen;

/*
 * on_operand is told where an immediate or a displacement is; it knows no symbol.
 * The place of a displacement is wrong behind a REX, VEX or EVEX prefix, so only
 * that of a branch field is passed on.
 */
static int on_operand(void *info, uint64_t pc, uint64_t off, uint64_t size, uint64_t more, ...)
{
	seen.off = off;
	seen.size = size;
	return 0;
}

/* on_value is told its value, and whether it is the target of a branch (type 1). */
static const char *on_value(void *info, uint64_t value, uint64_t *type, uint64_t pc, const char **name)
{
	struct answer *a = seen.a;

	if (*type == 1) {
		a->flags |= IS_REL;
		a->field_off = seen.off;
		a->field_size = seen.size;
		a->target = value;
	} else if (!seen.any) {
		seen.any = 1;
		a->target = value;
	}
	*type = 0;
	*name = NULL;
	return NULL;
}

static void *contexts[2];

/*
 * LLVM reads a lock or repeat prefix that its tables do not know beside the
 * opcode as an instruction of its own, and other prefixes that have no effect. The answer is 2
 * for the former, 1 for the latter, 0 if there is more than prefixes.
 */
static int is_lone_prefix(const char *s)
{
	static const char *names[] = { "lock", "rep", "repne", "xacquire", "xrelease", "data16", "addr16",
				       "addr32", "cs", "ds", "es", "fs", "gs", "ss", "rex64", "notrack" };
	int kind = 0;

	for (;;) {
		size_t n, i;

		s += strspn(s, "\t ");
		n = strcspn(s, "\t ");
		if (!n)
			return kind;
		for (i = 0; i < sizeof names / sizeof *names; i++)
			if (strlen(names[i]) == n && !memcmp(s, names[i], n))
				break;
		if (i == sizeof names / sizeof *names)
			return 0;
		kind = kind == 1 || i > 4 ? 1 : 2;
		s += n;
	}
}

/*
 * read_one disassembles at code. What stands behind a lone lock or repeat prefix
 * is read as part of the instruction; behind others it would be read wrongly, so
 * that is a refusal.
 */
static size_t read_one(void *dc, uint8_t *code, size_t len, uint64_t pc, char *out, size_t size)
{
	size_t skip = 0;

	for (;;) {
		size_t n = disassemble(dc, code + skip, len - skip, pc + skip, out, size);

		switch (n ? is_lone_prefix(out) : 1) {
		case 0:
			seen.a->field_off += seen.a->flags & IS_REL ? skip : 0;
			return skip + n;
		case 1:
			return 0;
		}
		skip += n;
		seen.any = 0;
	}
}

static void answer_one(const struct batch *b, const struct probe *p, struct answer *a,
		       struct regs *r, struct text *t)
{
	char out[128];
	uint8_t code[16];

	(void)r;
	memcpy(code, p->code, sizeof code);
	seen.a = a;
	seen.any = 0;
	a->len = read_one(contexts[p->bits == 64], code, p->len, b->pc, out, sizeof out);
	if (!a->len || a->len > 15) {
		memset(a, 0, sizeof *a);
		return;
	}
	if (strstr(out, "(%rip") || strstr(out, "(%eip"))
		a->flags |= IS_RIP;
	if (strstr(out, "(%eip"))
		a->flags |= IS_EIP;
	if (!(a->flags & (IS_REL | IS_RIP)))
		a->target = 0;
	if (t) {
		const char *s = out;

		while (*s == '\t')
			s++;
		for (size_t i = 0; s[i] && i < sizeof t->s - 1; i++)
			t->s[i] = s[i] == '\t' ? ' ' : s[i];
	}
}

static void *symbol(void *lib, const char *name)
{
	void *f = dlsym(lib, name);

	if (!f) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	return f;
}

int main(int argc, char **argv)
{
	void *lib = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (!lib) {
		fprintf(stderr, "usage: llvm LIBRARY: %s\n", argc == 2 ? dlerror() : "no library");
		return 2;
	}
	((void (*)(void))symbol(lib, "LLVMInitializeX86TargetInfo"))();
	((void (*)(void))symbol(lib, "LLVMInitializeX86TargetMC"))();
	((void (*)(void))symbol(lib, "LLVMInitializeX86Disassembler"))();
	create = symbol(lib, "LLVMCreateDisasmCPUFeatures");
	disassemble = symbol(lib, "LLVMDisasmInstruction");
	contexts[0] = create("i386-unknown-linux-gnu", "", "", NULL, 0, on_operand, on_value);
	contexts[1] = create("x86_64-unknown-linux-gnu", "", "", NULL, 0, on_operand, on_value);
	if (!contexts[0] || !contexts[1]) {
		fprintf(stderr, "no disassembler\n");
		return 2;
	}
	serve();
}
