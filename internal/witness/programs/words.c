/*
 * A witness for instruction sets of words: LLVM's MC disassembler, opened by the
 * name in argv[1], for the triple, processor and features in argv[2] to argv[4].
 *
 * Asked: a count, then eight bytes of code each. Answered: how many of them are an
 * instruction, 0 if none, and its text in 63 bytes.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 63

static void need(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "words: %s\n", what);
		exit(1);
	}
}

static void *symbol(void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	need(p != NULL, name);
	return p;
}

static void start(void *lib, const char *target, const char *what)
{
	char name[128];
	void (*init)(void);

	snprintf(name, sizeof name, "LLVMInitialize%s%s", target, what);
	*(void **)&init = symbol(lib, name);
	init();
}

int main(int argc, char **argv)
{
	void *(*create)(const char *, const char *, const char *, void *, int, void *, void *);
	size_t (*disassemble)(void *, uint8_t *, uint64_t, uint64_t, char *, size_t);
	const char *target;
	void *lib, *dc;
	uint32_t count;

	need(argc == 5, "usage: words LIBRARY TRIPLE CPU FEATURES");
	lib = dlopen(argv[1], RTLD_NOW);
	need(lib != NULL, dlerror());
	target = strncmp(argv[2], "powerpc", 7) ? "AArch64" : "PowerPC";
	start(lib, target, "TargetInfo");
	start(lib, target, "TargetMC");
	start(lib, target, "Disassembler");
	*(void **)&create = symbol(lib, "LLVMCreateDisasmCPUFeatures");
	*(void **)&disassemble = symbol(lib, "LLVMDisasmInstruction");
	dc = create(argv[2], argv[3], argv[4], NULL, 0, NULL, NULL);
	need(dc != NULL, "no disassembler for this triple");

	while (fread(&count, sizeof count, 1, stdin) == 1) {
		for (; count; count--) {
			uint8_t code[8];
			char answer[1 + TEXT] = { 0 };
			char text[256] = { 0 };

			need(fread(code, sizeof code, 1, stdin) == 1, "input ends within a batch");
			answer[0] = (char)disassemble(dc, code, sizeof code, 0x40001000, text, sizeof text);
			if (answer[0])
				memcpy(answer + 1, text, strnlen(text, TEXT - 1));
			fwrite(answer, sizeof answer, 1, stdout);
		}
		fflush(stdout);
	}
	return 0;
}
