/* A program with traps of its own: breakpoints, a handler for them, and single
 * steps through a function that is probed. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int breaks, steps, raised, inside;
static volatile uintptr_t where[4096];
void stepped(void);
extern char stepped_end[];

static void on_trap(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;
	uintptr_t pc = uc->uc_mcontext.gregs[REG_RIP];

	(void)sig;
	if (si->si_code == SI_KERNEL)
		breaks++;
	else if (si->si_code == TRAP_TRACE) {
		if (pc - (uintptr_t)stepped < (uintptr_t)stepped_end - (uintptr_t)stepped && inside < 4096)
			where[inside++] = pc - (uintptr_t)stepped;
		if ((uintptr_t)si->si_addr != pc)
			printf("si_addr is not pc\n");
		steps++;
	} else
		raised++;
}

/* Calls, branches, a loop, pushed flags, rip-relative data, strings. */
__asm__(".text\n.globl stepped\n.type stepped, @function\nstepped:\n.cfi_startproc\n"
	"push %rbx\n"
	"mov $3, %ecx\n"
	"1: lea (%rcx,%rcx,2), %ebx\n"
	"call 2f\n"
	"loop 1b\n"
	"pushf\n"
	"pop %rax\n"
	"and $0x100, %eax\n"
	"mov %eax, seen_tf(%rip)\n"
	"lea -64(%rsp), %rdi\n"
	"mov $5, %ecx\n"
	"rep stosb\n"
	"pop %rbx\n"
	"ret\n"
	"2: cmpl $0, seen_tf(%rip)\n"
	"jne 3f\n"
	"nop\n"
	"3: ret\n"
	".cfi_endproc\nstepped_end:\n.size stepped, .-stepped\n"
	".data\n.globl seen_tf\nseen_tf: .long 0\n.text\n");
extern int seen_tf;

__attribute__((noinline)) static void trace(int on)
{
	if (on)
		__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushf\n\torl $0x100, (%%rsp)\n\tpopf\n\tcall stepped\n\tpushf\n\tandl $~0x100, (%%rsp)\n\tpopf\n\tlea 128(%%rsp), %%rsp"
				 : : : "rax", "rcx", "rdi", "memory", "cc");
	else
		stepped();
}

__attribute__((noinline)) static int broken(int n)
{
	__asm__ volatile("int3");
	return n * 3 + 1;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	int n = 1;

	sigaction(SIGTRAP, &sa, NULL);
	for (int i = 0; i < 5; i++)
		n = broken(n);
	raise(SIGTRAP);
	trace(0);
	printf("tf unseen: %d\n", seen_tf);
	trace(1);
	printf("tf seen: %d\n", seen_tf != 0);
	seen_tf = 0;
	printf("breaks %d raised %d steps %d n %d:", breaks, raised, steps, n);
	for (int i = 0; i < inside; i++)
		printf(" %d", (int)where[i]);
	printf("\n");
	return 0;
}
