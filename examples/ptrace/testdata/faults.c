/* Faults, and what the program's own handler is told of them: where, and at
 * which address. All numbers are relative to the program. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile uintptr_t at, addr, sp;
static volatile int code, tf;
static volatile int number;
static char *none; /* a page without access */
extern char start[], finish[];

static void on_fault(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;

	number = sig;
	at = uc->uc_mcontext.gregs[REG_RIP];
	sp = uc->uc_mcontext.gregs[REG_RSP];
	tf = uc->uc_mcontext.gregs[REG_EFL] >> 8 & 1;
	addr = (uintptr_t)si->si_addr;
	code = si->si_code;
	siglongjmp(back, 1);
}

/* Each function faults at one instruction, whose label says which. */
#define FAULT(name, text) \
	void name(uintptr_t a, uintptr_t b); \
	__asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" text "\nret\n.cfi_endproc\n.size " #name ", .-" #name "\n")

FAULT(load, "nop\nmov (%rdi), %rax");
FAULT(store, "mov %rsi, (%rdi)");
FAULT(pushes, "mov %rsp, %rdx\nmov %rdi, %rsp\npush %rsi\nmov %rdx, %rsp");
FAULT(calls, "mov %rsp, %rdx\nmov %rdi, %rsp\ncall 1f\n1:mov %rdx, %rsp");
FAULT(callmem, "call *(%rdi)");
FAULT(jumpmem, "jmp *(%rdi)");
FAULT(jumpreg, "jmp *%rdi");
FAULT(returns, "mov %rdi, %rsp\nret");
FAULT(divides, "mov $1, %eax\nxor %edx, %edx\nxor %ecx, %ecx\ndiv %ecx");
FAULT(illegal, "nop\nud2");
FAULT(canonical, "movabs $0x8000000000000000, %rax\nmov (%rax), %al");
FAULT(ripstore, "movb $1, start(%rip)");
FAULT(ripxchg, "lock cmpxchg %rsi, start(%rip)");
FAULT(strings, "mov $64, %ecx\nlea -16(%rdi), %rdi\nrep stosb");
FAULT(popmem, "push %rsi\npopq (%rdi)");
FAULT(privileged, "hlt");
FAULT(enters, "mov %rdi, %rbp\nleave");
__asm__(".text\n.globl start\nstart: .quad 0\n");

static void try(const char *name, void (*f)(uintptr_t, uintptr_t), uintptr_t a)
{
	number = 0;
	if (sigsetjmp(back, 1) == 0)
		f(a, 0x1234);
	if (number == 0) {
		printf("%s: no fault\n", name);
		return;
	}
	printf("%s: signal %d code %d tf %d ", name, number, code, tf);
	if (at - (uintptr_t)f < 64)
		printf("at +%d ", (int)(at - (uintptr_t)f));
	else
		printf("elsewhere ");
	if (addr - (uintptr_t)none < 4096)
		printf("none+%d ", (int)(addr - (uintptr_t)none));
	else if (addr - (uintptr_t)f < 64)
		printf("itself+%d ", (int)(addr - (uintptr_t)f));
	else if (addr == (uintptr_t)start)
		printf("start ");
	else
		printf("%#lx ", (long)addr);
	printf("sp %s\n", sp - (uintptr_t)none < 8192 ? "moved" : "kept");
}

#define TRY(f, a) try(#f, f, (uintptr_t)(a))

int main(void)
{
	int sigs[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	static char stack[65536];
	stack_t ss = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	sigaltstack(&ss, NULL);
	for (int i = 0; i < 4; i++)
		sigaction(sigs[i], &sa, NULL);
	none = (char *)mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;
	mprotect(none, 4096, PROT_NONE);
	for (int i = 0; i < 3; i++) {
		TRY(load, none + 8);
		TRY(store, none + 16);
		TRY(pushes, none + 64);
		TRY(calls, none + 72);
		TRY(callmem, none + 24);
		TRY(jumpmem, none + 32);
		TRY(jumpreg, none + 40);
		TRY(jumpreg, 0x8000000000000000);
		TRY(returns, none + 48);
		TRY(divides, 0);
		TRY(illegal, 0);
		TRY(canonical, 0);
		TRY(ripstore, 0);
		TRY(ripxchg, 0);
		TRY(strings, none);
		TRY(popmem, none + 56);
		TRY(privileged, 0);
		TRY(enters, none + 80);
	}
	fflush(stdout);
	/* And one that nobody catches. */
	signal(SIGSEGV, SIG_DFL);
	load((uintptr_t)none, 0);
	return 0;
}
