/*
 * An agent that probes every instruction of a function of its own by a trap,
 * with the code of docs/c.md, and calls it. The test runs it with a table of
 * that function.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "example.h"

extern const uint8_t probed[], probed_end[];
extern uint64_t probed_call(uint64_t *p) __asm__("probed");

__asm__(".text\n"
	".globl probed, probed_end, probed_fault\n"
	".type probed, @function\n"
	"probed:\n"
	"	pushq %rbx\n"
	"	leaq number(%rip), %rbx\n"
	"	callq helper\n"
	"	addq number(%rip), %rax\n"
	"	testq %rdi, %rdi\n"
	"	je 1f\n"
	"	jmpq *target(%rip)\n"
	"	ud2\n"
	"1:	addq $1, (%rbx)\n"
	"probed_fault:\n"
	"	movq (%rdi), %rdx\n"
	"	addq %rdx, %rax\n"
	"	popq %rbx\n"
	"	retq\n"
	"probed_end:\n"
	".size probed, . - probed\n"
	"helper:	movq (%rsp), %rax\n" /* its return address: an address of the site */
	"	retq\n"
	".data\n"
	"number: .quad 0x1234\n"
	"target: .quad 1b\n"
	".text\n");

extern const uint8_t probed_fault[];

static struct probe probes[64];
static size_t nprobes, refused, hits, faults;
static uint64_t zero_page[1] = {41};

static void on_trap(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = (ucontext_t *)ctx;
	size_t i;

	(void)sig;
	(void)info;
	for (i = 0; i < nprobes; i++) {
		if (probes[i].at.site + 1 == (uint64_t)uc->uc_mcontext.gregs[REG_RIP]) {
			hits++;
			if (hit(&probes[i], uc))
				return;
		}
	}
	_exit(10);
}

/* What the program's own handler would be: it repairs the register of the
 * faulting instruction, which it must find at its own address. */
static void on_segv(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = (ucontext_t *)ctx;
	size_t i;

	(void)sig;
	(void)info;
	for (i = 0; i < nprobes; i++)
		if (leave(&probes[i], uc, XOL_WHY_FAULT))
			break;
	if ((uint64_t)uc->uc_mcontext.gregs[REG_RIP] != (uintptr_t)probed_fault)
		_exit(11);
	faults++;
	uc->uc_mcontext.gregs[REG_RDI] = (greg_t)(uintptr_t)zero_page;
}

static void probe_all(const xol_table *t)
{
	void *near_text = (void *)(((uintptr_t)probed & ~(uintptr_t)0xfff) + 0x10000000);
	uint8_t *slots = (uint8_t *)mmap(near_text, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t page = (uintptr_t)probed & ~(uintptr_t)0xfff;
	const uint8_t *pc;
	size_t i;

	xol_ref ref;

	for (pc = probed; pc < probed_end; pc += ref.len) {
		if (!xol_find(t, (uintptr_t)pc, &ref))
			exit(12);
		if (prepare(&probes[nprobes], t, 0, pc, slots + 256 * nprobes, 256))
			nprobes++;
		else
			refused++;
	}
	if (mprotect((void *)page, 0x2000, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		exit(14);
	for (i = 0; i < nprobes; i++)
		*(volatile uint8_t *)(uintptr_t)probes[i].at.site = 0xcc;
}

int main(int argc, char **argv)
{
	static uint8_t bytes[1 << 20];
	struct sigaction sa;
	xol_table t;
	size_t n, i, jumps = 0;
	uint64_t one = 1, plain[2], seen[2];
	FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;

	if (f == NULL)
		return 20;
	n = fread(bytes, 1, sizeof bytes, f);
	fclose(f);
	if (open_table(&t, bytes, n) != 0)
		return 21;
	memset(&sa, 0, sizeof sa);
	sa.sa_flags = SA_SIGINFO;
	sa.sa_sigaction = on_segv;
	sigaction(SIGSEGV, &sa, NULL);
	sa.sa_sigaction = on_trap;
	sigaction(SIGTRAP, &sa, NULL);

	plain[0] = probed_call(&one);
	plain[1] = probed_call(NULL);
	probe_all(&t);
	seen[0] = probed_call(&one);
	seen[1] = probed_call(NULL);
	for (i = 0; i < nprobes; i++)
		jumps += xol_v_form(&probes[i].verdict) == XOL_FORM_JUMP;
	printf("probes %zu, refused %zu, by jump %zu, hits %zu, faults %zu\n", nprobes, refused, jumps, hits, faults);
	/* Each call adds 1 to number, which is added to the result. */
	if (seen[0] != plain[0] + 2 || seen[1] != plain[1] + 2) {
		printf("results %lx %lx, with probes %lx %lx\n", plain[0], plain[1], seen[0], seen[1]);
		return 22;
	}
	return 0;
}
