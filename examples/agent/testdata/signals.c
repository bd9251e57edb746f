/*
 * What a program can see of the pc of its own instructions: each line of output
 * must be the same with probes as without.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define REG(uc, r) ((uc)->uc_mcontext.gregs[REG_##r])

extern const char __executable_start[];

/* ---- Faults: the handler prints the pc, and repairs a register. ---- */

static int faults;
static char room[64];

static void on_fault(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	unsigned long pc = (unsigned long)REG(uc, RIP);

	if (++faults > 100)
		_exit(9);
	printf("signal %d code %d at +%#lx", sig, info->si_code, pc - (unsigned long)__executable_start);
	if (sig == SIGILL || sig == SIGFPE)
		printf(", si_addr %s", (unsigned long)info->si_addr == pc ? "there" : "elsewhere");
	else
		printf(", si_addr %p", info->si_addr);
	printf(", rdx %lx\n", (long)REG(uc, RDX));
	if (sig == SIGFPE)
		REG(uc, RCX) = 7;
	else
		REG(uc, RDX) = (greg_t)room;
	if (sig == SIGILL)
		REG(uc, RIP) += 2;
}

/* Instructions that fault until rdx or rcx is right, then go on. */
static long fault_all(void)
{
	long sum = 0, a, p;

	p = 0x10;
	__asm__ volatile("movq (%%rdx), %%rax" : "=a"(a), "+d"(p) : : "memory");
	sum += a;
	p = 0x10;
	__asm__ volatile("addq $5, 8(%%rdx)" : "+d"(p) : : "memory", "cc");
	p = 0x10;
	__asm__ volatile("pushq (%%rdx); popq %0" : "=r"(a), "+d"(p) : : "memory");
	sum += a;
	p = 0x10;
	__asm__ volatile("lock cmpxchgq %%rsi, 16(%%rdx)" : "=a"(a), "+d"(p) : "a"(0), "S"(9) : "memory", "cc");
	a = 100;
	p = 0;
	__asm__ volatile("idivl %%ecx" : "+a"(a), "+c"(p) : "d"(0) : "cc");
	sum += a;
	p = 0x10;
	__asm__ volatile("movdqu (%%rdx), %%xmm1" : "+d"(p) : : "xmm1", "memory");
	__asm__ volatile("leaq room(%%rip), %%rdi; movl $8, %%ecx; rep stosb" : : "a"(1) : "rdi", "rcx", "memory");
	return sum + room[0] + room[8];
}

/* A call through memory that is not there: the fault is at the call. */
static long callee(void) { return 11; }

long (*stepped)(void) = callee;

static long call_through_memory(void)
{
	static long (*fn)(void) = callee;
	long a, p = 0x10;

	memcpy(room, &fn, sizeof fn);
	__asm__ volatile("subq $128, %%rsp; call *(%%rdx); addq $128, %%rsp" : "=a"(a), "+d"(p) : : "memory", "cc", "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11");
	return a;
}

/* ---- A signal at any instruction: what the handler sees is never odd. ---- */

static volatile sig_atomic_t ticks, outside;

static void on_tick(int sig, siginfo_t *info, void *ctx)
{
	unsigned long pc = (unsigned long)REG((ucontext_t *)ctx, RIP);

	(void)sig;
	(void)info;
	ticks++;
	/* In the program or in a library, which are all above it. */
	if (pc < (unsigned long)__executable_start)
		outside++;
}

__attribute__((noinline)) static unsigned work(unsigned n)
{
	unsigned table[16] = {1, 5, 9, 13, 3, 7};
	static unsigned (*volatile step)(unsigned) = NULL;
	unsigned i, x = n;

	for (i = 0; i < 400; i++) {
		table[i % 16] += x;
		x = x * 1103515245 + table[(i * 7) % 16];
		if (step != NULL)
			x = step(x);
	}
	return x;
}

static void storm(void)
{
	struct sigaction sa;
	struct itimerval it = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};
	unsigned x = 1, plain;
	int i;

	for (i = 0; i < 20; i++)
		x = work(x);
	plain = x;
	memset(&sa, 0, sizeof sa);
	sa.sa_sigaction = on_tick;
	sa.sa_flags = SA_SIGINFO | SA_RESTART;
	sigfillset(&sa.sa_mask);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	while (ticks < 2000)
		x = work(x);
	setitimer(ITIMER_REAL, &off, NULL);
	printf("storm: %u, ticks %s, outside %d\n", plain, ticks >= 2000 ? "enough" : "too few", (int)outside);
	(void)x;
}

/* ---- What the program asks of signals, it gets. ---- */

static void on_plain(int sig) { (void)sig; }
static void on_trap(int sig) { printf("own trap, signal %d\n", sig); }

static void actions(void)
{
	struct sigaction sa, old;
	sigset_t all, was;

	signal(SIGUSR1, on_plain);
	printf("SIGUSR1 was %s\n", signal(SIGUSR1, SIG_IGN) == on_plain ? "mine" : "another's");
	printf("SIGUSR1 is %s\n", signal(SIGUSR1, SIG_DFL) == SIG_IGN ? "ignored" : "not");
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = on_trap;
	sigaction(SIGTRAP, &sa, NULL);
	sigaction(SIGTRAP, NULL, &old);
	printf("SIGTRAP is %s, flags %x\n", old.sa_handler == on_trap ? "mine" : "another's", old.sa_flags);
	__asm__ volatile("int3");
	raise(SIGTRAP);
	printf("sigaction(NULL pointer) %d", (int)syscall(SYS_rt_sigaction, SIGUSR2, 8, NULL, 8));
	printf(" errno %d\n", errno);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &was); /* traps come nevertheless */
	printf("blocked: USR1 %d, sum %u\n", sigismember(&was, SIGUSR1), work(3));
	sigprocmask(SIG_SETMASK, &was, &all);
	printf("restored: USR1 was %d TERM was %d\n", sigismember(&all, SIGUSR1), sigismember(&all, SIGTERM));
}

/* A program that steps itself sees each of its instructions once. */
static volatile unsigned long steps, path;

static void on_step(int sig, siginfo_t *info, void *ctx)
{
	(void)sig;
	steps++;
	path = path * 31 + (unsigned long)REG((ucontext_t *)ctx, RIP) - (unsigned long)__executable_start + (unsigned long)info->si_code;
}

static void step(void)
{
	struct sigaction sa, old;
	long a = 1, *p = &a;

	memset(&sa, 0, sizeof sa);
	sa.sa_sigaction = on_step;
	sa.sa_flags = SA_SIGINFO;
	sigaction(SIGTRAP, &sa, &old);
	__asm__ volatile("subq $128, %%rsp\n"
			 "pushfq; orl $0x100, (%%rsp); popfq\n"
			 "movl $3, %%ecx\n"
			 "1: addq room(%%rip), %1; call 2f; incq (%0); loop 1b; jmp 3f\n"
			 "2: ret\n"
			 "3: call *stepped(%%rip)\n"
			 "leaq room(%%rip), %%rdi; movl $5, %%ecx; xorl %%eax, %%eax; rep stosb\n"
			 "movl $39, %%eax; syscall\n"
			 "pushfq; andl $~0x100, (%%rsp); popfq\n"
			 "addq $128, %%rsp"
			 : "+r"(p), "+r"(a) : : "rcx", "rax", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	sigaction(SIGTRAP, &old, NULL);
	printf("steps %lu, path %lx\n", steps, path);
}

/* A handler that runs while sigsuspend has everything else blocked. */
static void on_suspend(int sig) { printf("suspended, signal %d, %u\n", sig, work(4)); }

static void suspend(void)
{
	sigset_t mask, was;

	signal(SIGUSR2, on_suspend);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigprocmask(SIG_BLOCK, &mask, &was);
	raise(SIGUSR2);
	sigfillset(&mask);
	sigdelset(&mask, SIGUSR2);
	sigsuspend(&mask);
	sigprocmask(SIG_SETMASK, &was, NULL);
}

/* ---- Ways to leave a handler, threads, children. ---- */

static sigjmp_buf out;

static void on_jump(int sig) { siglongjmp(out, sig); }

static void jumps(void)
{
	int i, got;

	for (i = 0; i < 3; i++) {
		signal(SIGSEGV, on_jump);
		got = sigsetjmp(out, 1);
		if (got == 0)
			*(volatile int *)(8L + i) = 1;
		printf("longjmp out of signal %d\n", got);
	}
}

/* A stack that ends: pushes of calls fault, and the handler has a stack of its own. */
static volatile int depth = INT_MAX;

__attribute__((noinline)) static int recurse(int n)
{
	volatile char pad[4096 - 16];

	pad[n % 4000] = (char)n;
	return n == depth ? 0 : recurse(n + 1) + pad[n % 4000];
}

static void overflow(void)
{
	static char stack[65536];
	stack_t ss, old;
	struct sigaction sa;
	int got;

	memset(&ss, 0, sizeof ss);
	ss.ss_sp = stack;
	ss.ss_size = sizeof stack;
	sigaltstack(&ss, &old);
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = on_jump;
	sa.sa_flags = SA_ONSTACK;
	sigaction(SIGSEGV, &sa, NULL);
	got = sigsetjmp(out, 1);
	if (got == 0)
		printf("%d\n", recurse(0));
	printf("end of stack: signal %d\n", got);
	sigaltstack(&old, NULL);
}

static void *thread(void *arg)
{
	unsigned x = (unsigned)(unsigned long)arg;
	int i;

	for (i = 0; i < 8; i++)
		x = work(x);
	return (void *)(unsigned long)x;
}

static void threads(void)
{
	pthread_t t[4];
	unsigned long i, sum = 0;
	void *x;

	for (i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, thread, (void *)(i + 1)) != 0)
			exit(3);
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], &x);
		sum = sum * 31 + (unsigned long)x;
	}
	printf("threads: %lu\n", sum);
}

static void children(void)
{
	int status;
	pid_t pid;
	FILE *p;
	char line[64] = "";

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		printf("child: %u\n", work(5));
		fflush(stdout);
		_exit(7);
	}
	waitpid(pid, &status, 0);
	printf("fork: exit %d\n", WEXITSTATUS(status));
	fflush(stdout);
	pid = vfork();
	if (pid == 0) {
		execl("/bin/echo", "echo", "vfork and exec", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	p = popen("echo popen; exit 3", "r"); /* posix_spawn: all signals blocked */
	if (p == NULL || fgets(line, sizeof line, p) == NULL)
		exit(4);
	printf("%s", line);
	status = pclose(p);
	printf("pclose: exit %d\n", WEXITSTATUS(status));
	fflush(stdout);
	printf("system: exit %d\n", WEXITSTATUS(system("exit 5")));
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		abort();
	waitpid(pid, &status, 0);
	printf("abort: signal %d\n", WTERMSIG(status));
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		signal(SIGTRAP, SIG_DFL);
		__asm__ volatile("int3");
		_exit(0);
	}
	waitpid(pid, &status, 0);
	printf("int3: signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

int main(void)
{
	struct sigaction sa;
	long sum;

	memset(&sa, 0, sizeof sa);
	sa.sa_sigaction = on_fault;
	sa.sa_flags = SA_SIGINFO;
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGFPE, &sa, NULL);
	sigaction(SIGILL, &sa, NULL);
	sum = fault_all();
	printf("sum %ld, faults %d\n", sum, faults);
	printf("call: %ld, faults %d\n", call_through_memory(), faults);
	__asm__ volatile("ud2");
	actions();
	step();
	suspend();
	storm();
	jumps();
	overflow();
	threads();
	children();
	return 0;
}
