/*
 * The half of the agent that runs in signal handlers: traps of probes, calls of
 * the program about signals, and signals that find a thread in a slot.
 *
 * A probe may be anywhere, so nothing here may call what has probes: this file
 * calls no function of any library, its object file has no undefined symbol
 * (the test looks), and its code is in a section of its own, xol_text, in which
 * no probe is set. It uses no lock, no thread-local storage and no memory that
 * changes but counters and two tables to which entries are only ever added: a
 * child of vfork shares the memory, but not its signal handlers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "agent.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define STR_(x) #x
#define STR(x) STR_(x)

struct agent_object agent_object[AGENT_OBJECTS];
uint32_t agent_objects;
struct agent_counts *agent_counts;
bool agent_stress;

/* ---- System calls --------------------------------------------------------- */

long agent_syscall(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	register uint64_t r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/* Copies between memory of the program and of the agent. A bad address is false
 * and no fault; where the call is forbidden, a bad address is a fault. */
static bool copy(uint64_t theirs, void *mine, uint64_t size, bool write)
{
	struct iovec local = {mine, size}, remote = {(void *)(uintptr_t)theirs, size};
	uint64_t pid = (uint64_t)agent_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	long n = agent_syscall(write ? SYS_process_vm_writev : SYS_process_vm_readv, pid, (uintptr_t)&local, 1, (uintptr_t)&remote, 1, 0);
	volatile uint8_t *p = (volatile uint8_t *)(uintptr_t)theirs;
	uint8_t *m = (uint8_t *)mine;

	if (n != -EPERM && n != -ENOSYS)
		return n == (long)size;
	for (; size > 0; size--, p++, m++) {
		if (write)
			*p = *m;
		else
			*m = *p;
	}
	return true;
}

static void count(uint64_t *n) { __atomic_fetch_add(n, 1, __ATOMIC_RELAXED); }

/* ---- Probes --------------------------------------------------------------- */

/* The last probe of o at or below off: by site, or by slot. They ascend alike. */
static const struct agent_probe *probe_below(const struct agent_object *o, uint64_t off, bool by_slot)
{
	uint32_t lo = 0, hi = o->probes;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if ((by_slot ? o->probe[mid].slot : o->probe[mid].site) <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo == 0 ? NULL : &o->probe[lo - 1];
}

static const struct agent_probe *probe_at(uint64_t pc, const struct agent_object **obj)
{
	uint32_t i;

	for (i = 0; i < agent_objects; i++) {
		const struct agent_object *o = &agent_object[i];
		const struct agent_probe *p;

		if (pc < o->text || pc >= o->text_end)
			continue;
		p = probe_below(o, pc - o->text, false);
		if (p == NULL || p->site != pc - o->text)
			continue; /* there may be another table of the same object */
		*obj = o;
		return p;
	}
	return NULL;
}

static const struct agent_probe *probe_in_slot(uint64_t pc, const struct agent_object **obj)
{
	uint32_t i;

	for (i = 0; i < agent_objects; i++) {
		const struct agent_object *o = &agent_object[i];

		if (pc >= o->slots && pc < o->slots_end) {
			*obj = o;
			return probe_below(o, pc - o->slots, true);
		}
	}
	return NULL;
}

/* ---- Threads in slots ----------------------------------------------------- */

static bool load(void *ctx, uint64_t addr, uint8_t *buf, uint32_t size)
{
	(void)ctx;
	return copy(addr, buf, size, false);
}

static bool store(void *ctx, uint64_t addr, const uint8_t *buf, uint32_t size)
{
	(void)ctx;
	return copy(addr, (void *)(uintptr_t)buf, size, true);
}

static bool run(const xol_program *prog, const xol_bases *at, ucontext_t *uc, uint32_t bits)
{
	xol_regs regs = {{xol_map_amd64_gregs(), NULL}, {uc->uc_mcontext.gregs, NULL}, false, NULL, 0};
	xol_machine m = {&regs, xol_regs_get, xol_regs_set, load, store, NULL, NULL};
	xol_temps temps;

	return xol_run(prog, &m, at, &temps, bits, NULL) == XOL_OK;
}

/*
 * Brings a thread that is in a slot back to where the program knows it. Which
 * plan the slot has is not stored: the choice that placed it is made again.
 */
static void leave_slot(siginfo_t *info, ucontext_t *uc, uint32_t why)
{
	uint64_t pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	const struct agent_object *o = NULL;
	const struct agent_probe *p = probe_in_slot(pc, &o);
	xol_bases at = {0, 0, 0, NULL, NULL, NULL};
	xol_ref ref;
	xol_verdict v;
	xol_resume r;

	if (o == NULL)
		return;
	if (p != NULL) {
		at.site = o->text + p->site;
		at.slot = o->slots + p->slot;
	}
	if (p == NULL || !xol_find(&o->table, at.site - o->bias, &ref) || !agent_choose(&o->table, &ref, at.site, at.slot, &v) ||
	    !xol_point(&v, pc, at.slot, why, &r) || !run(&r.program, &at, uc, o->table.bits)) {
		count(&agent_counts->unresolved);
		return;
	}
	count(r.back ? &agent_counts->back : &agent_counts->forward);
	/* SIGILL, SIGFPE and SIGSYS say where the instruction is, too. */
	if (info->si_code > 0 && (uintptr_t)info->si_addr == pc)
		info->si_addr = (void *)(uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
}

/* ---- Handlers of the program ---------------------------------------------- */

/*
 * Where the program gives the kernel a handler, the kernel gets a stub. Its
 * number says which handler it is for, so what a process has asked for is in
 * the kernel, where it is forked, reset and shared as it should be. The tables
 * only translate numbers.
 */
static uint64_t handlers[AGENT_HANDLERS];
static struct agent_action traps[AGENT_TRAPS]; /* actions for SIGTRAP; 0 is the default one */
static uint32_t trap_state[AGENT_TRAPS] = {2}; /* 0 free, 1 being written, 2 there */

/* Signal stubs and after them those for SIGTRAP, 16 bytes each. */
AGENT_HIDDEN extern const uint8_t agent_stubs[], agent_stubs_end[], agent_restore[];

/*
 * A stub enters agent_entered with its number as the fourth argument, and goes
 * on to the handler that it returns, with the stack and the arguments as the
 * kernel has left them: to unwinders and to the handler the stub was not there.
 * agent_restore has the bytes by which unwinders know a signal frame.
 */
__asm__("	.text\n"
	"	.balign 16\n"
	"agent_stubs:\n"
	"	.set agent_number, 0\n"
	"	.rept " STR(256 + 32) "\n"
	"	.balign 16\n"
	"	movl $agent_number, %ecx\n"
	"	jmp agent_enter\n"
	"	.set agent_number, agent_number + 1\n"
	"	.endr\n"
	"	.balign 16\n"
	"agent_stubs_end:\n"
	"agent_enter:\n"
	"	pushq %rdx\n"
	"	pushq %rsi\n"
	"	pushq %rdi\n"
	"	call agent_entered\n"
	"	popq %rdi\n"
	"	popq %rsi\n"
	"	popq %rdx\n"
	"	testq %rax, %rax\n"
	"	je 1f\n"
	"	movq %rax, %r11\n"
	"	xorl %eax, %eax\n"
	"	jmpq *%r11\n"
	"1:	retq\n"
	"	nop\n"
	"agent_restore:\n"
	"	movq $15, %rax\n"
	"	syscall\n");
_Static_assert(AGENT_HANDLERS == 256 && AGENT_TRAPS == 32, "number of stubs above");

static uint64_t stub(uint32_t number) { return (uintptr_t)agent_stubs + 16 * (uint64_t)number; }

/* The number of the stub at addr, false if it is none. */
static bool stub_number(uint64_t addr, uint32_t *number)
{
	if (addr < (uintptr_t)agent_stubs || addr >= (uintptr_t)agent_stubs_end)
		return false;
	*number = (uint32_t)(addr - (uintptr_t)agent_stubs) / 16;
	return true;
}

/* The number of a handler; false if there are too many. */
static bool handler_number(uint64_t handler, uint32_t *number)
{
	uint32_t i;

	for (i = 0; i < AGENT_HANDLERS; i++) {
		uint64_t free = 0;

		if (__atomic_compare_exchange_n(&handlers[i], &free, handler, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || free == handler) {
			*number = i;
			return true;
		}
	}
	return false;
}

/* The number of an action for SIGTRAP. One that another thread is just writing
 * down is passed over: it may then be there twice, which does no harm. */
static bool trap_number(const struct agent_action *a, uint32_t *number)
{
	uint32_t i;

	for (i = 0; i < AGENT_TRAPS; i++) {
		uint32_t state = 0;
		struct agent_action *t = &traps[i];

		if (__atomic_compare_exchange_n(&trap_state[i], &state, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			*t = *a;
			__atomic_store_n(&trap_state[i], 2, __ATOMIC_RELEASE);
			state = 2;
		}
		if (state == 2 && t->handler == a->handler && t->flags == a->flags && t->restorer == a->restorer && t->mask == a->mask) {
			*number = i;
			return true;
		}
	}
	return false;
}

#define SIG_BIT(sig) ((uint64_t)1 << ((sig) - 1))

enum {
	FLAGS_TRAP = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | 0x04000000 /* SA_RESTORER */
};

/* What the kernel is told instead of a; false if a table is full. */
static bool wrap(uint64_t sig, struct agent_action *a)
{
	uint32_t n;

	if (sig == SIGTRAP) {
		if (!trap_number(a, &n))
			return false;
		a->handler = stub(AGENT_HANDLERS + n);
		/* Nothing interrupts the handler of a probe; a trap in a handler of
		 * the program that is called from it is not held back. */
		a->flags = FLAGS_TRAP | (a->flags & SA_RESTART);
		a->mask = ~SIG_BIT(SIGTRAP);
		a->restorer = (uintptr_t)agent_restore;
		return true;
	}
	if (a->handler == (uintptr_t)SIG_DFL || a->handler == (uintptr_t)SIG_IGN)
		return true;
	if (!handler_number(a->handler, &n))
		return false;
	a->handler = stub(n);
	return true;
}

/* What the program has once given to wrap. */
static void unwrap(struct agent_action *a)
{
	uint32_t n;

	if (!stub_number(a->handler, &n))
		return;
	if (n >= AGENT_HANDLERS)
		*a = traps[n - AGENT_HANDLERS];
	else
		a->handler = handlers[n];
}

long agent_sigaction(uint64_t sig, uint64_t act, uint64_t old, uint64_t size)
{
	struct agent_action to, from;
	long err;

	if (act != 0 && !copy(act, &to, sizeof to, false))
		return -EFAULT;
	if (act != 0 && !wrap(sig, &to))
		return -ENOMEM;
	err = agent_syscall(SYS_rt_sigaction, sig, act != 0 ? (uintptr_t)&to : 0, (uintptr_t)&from, size, 0, 0);
	if (err < 0 || old == 0)
		return err;
	unwrap(&from);
	return copy(old, &from, sizeof from, true) ? 0 : -EFAULT;
}

/* ---- Calls about signals -------------------------------------------------- */

/*
 * rt_sigprocmask changes the mask that the thread gets when the handler
 * returns. SIGTRAP stays out of it: a trap that is blocked kills.
 */
static long sigprocmask_of(ucontext_t *uc, uint64_t how, uint64_t set, uint64_t old, uint64_t size)
{
	uint64_t was = uc->uc_sigmask.__val[0], now;

	if (size != sizeof now)
		return -EINVAL;
	if (set != 0) {
		if (!copy(set, &now, sizeof now, false))
			return -EFAULT;
		if (how == SIG_BLOCK)
			now |= was;
		else if (how == SIG_UNBLOCK)
			now = was & ~now;
		else if (how != SIG_SETMASK)
			return -EINVAL;
		uc->uc_sigmask.__val[0] = now & ~(SIG_BIT(SIGTRAP) | SIG_BIT(SIGKILL) | SIG_BIT(SIGSTOP));
	}
	return old == 0 || copy(old, &was, sizeof was, true) ? 0 : -EFAULT;
}

/* A system call at a site: whether it was made here, as the processor and the
 * kernel would have. All others are made in the slot. */
static bool serve(ucontext_t *uc)
{
	greg_t *g = uc->uc_mcontext.gregs;
	uint64_t a = (uint64_t)g[REG_RDI], b = (uint64_t)g[REG_RSI], c = (uint64_t)g[REG_RDX], d = (uint64_t)g[REG_R10];

	/* The kernel looks at the low half of the numbers. */
	if ((uint32_t)g[REG_RAX] == SYS_rt_sigaction)
		g[REG_RAX] = agent_sigaction((uint32_t)a, b, c, d);
	else if ((uint32_t)g[REG_RAX] == SYS_rt_sigprocmask)
		g[REG_RAX] = sigprocmask_of(uc, (uint32_t)a, b, c, d);
	else
		return false;
	g[REG_RIP] += 1; /* from behind the trap to behind the two bytes of syscall */
	g[REG_RCX] = g[REG_RIP];
	g[REG_R11] = g[REG_EFL];
	count(&agent_counts->served);
	return true;
}

/* ---- Handlers ------------------------------------------------------------- */

/*
 * A program that steps itself sees a trap after each of its instructions, and
 * after each iteration of a string instruction, which is at the start of the
 * slot again. Traps elsewhere in a slot, up to its tail, are not the program's.
 * There is none between a system call and the next instruction, so of that slot
 * the rest is not run.
 */
static bool step_is_ours(siginfo_t *info, ucontext_t *uc)
{
	uint64_t pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	const struct agent_object *o = NULL;
	const struct agent_probe *p = probe_in_slot(pc, &o);

	if (p == NULL || pc == o->slots + p->slot)
		return false;
	if (p->entry != 0)
		leave_slot(info, uc, XOL_WHY_SIGNAL);
	return true;
}

enum { FLAG_TF = 0x100 };

/*
 * With XOL_STRESS slots are stepped through, and at boundaries that a counter picks
 * a thread is taken out as by a signal: what was written below the stack pointer
 * is gone by then, for the frame of this handler lies there.
 */
static void stress(siginfo_t *info, ucontext_t *uc)
{
	static uint32_t turn;
	uint32_t n = __atomic_add_fetch(&turn, 1, __ATOMIC_RELAXED);
	const struct agent_object *o = NULL;

	if (probe_in_slot((uint64_t)uc->uc_mcontext.gregs[REG_RIP], &o) != NULL) {
		if ((n * 2654435761u >> 30) != 0)
			return; /* a step further */
		leave_slot(info, uc, XOL_WHY_SIGNAL);
	}
	uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)FLAG_TF;
}

/* A trap that is no probe's: what the program's own action for it is. */
static uint64_t chain(siginfo_t *info, ucontext_t *uc, uint32_t number)
{
	const struct agent_action *a = &traps[number];
	struct agent_action none = {(uintptr_t)SIG_DFL, 0, 0, 0};
	uint64_t mask;

	if (info->si_code == TRAP_TRACE && step_is_ours(info, uc))
		return 0;
	count(&agent_counts->chained);
	leave_slot(info, uc, XOL_WHY_SIGNAL);
	if (a->handler == (uintptr_t)SIG_IGN && info->si_code <= 0)
		return 0;
	if (a->handler == (uintptr_t)SIG_DFL || a->handler == (uintptr_t)SIG_IGN) {
		uint64_t pid = (uint64_t)agent_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);

		agent_syscall(SYS_rt_sigaction, SIGTRAP, (uintptr_t)&none, 0, 8, 0, 0);
		agent_syscall(SYS_tgkill, pid, (uint64_t)agent_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0), SIGTRAP, 0, 0, 0);
		return 0;
	}
	if ((a->flags & SA_RESETHAND) != 0)
		agent_sigaction(SIGTRAP, (uintptr_t)&none, 0, 8);
	mask = (uc->uc_sigmask.__val[0] | a->mask) & ~SIG_BIT(SIGTRAP);
	agent_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (uintptr_t)&mask, 0, 8, 0, 0);
	return a->handler;
}

static uint64_t trapped(siginfo_t *info, ucontext_t *uc, uint32_t number)
{
	greg_t *pc = &uc->uc_mcontext.gregs[REG_RIP];
	const struct agent_object *o = NULL;
	const struct agent_probe *p = NULL;

	if (agent_stress && info->si_code == TRAP_TRACE) {
		stress(info, uc);
		return 0;
	}
	if (info->si_code == SI_KERNEL) /* int3 */
		p = probe_at((uint64_t)*pc - 1, &o);
	if (p == NULL)
		return chain(info, uc, number);
	count(&agent_counts->hits);
	__atomic_fetch_add(&o->hits[p - o->probe], 1, __ATOMIC_RELAXED);
	if (p->entry != 0 && serve(uc))
		return 0;
	*pc = (greg_t)(o->slots + p->slot);
	if (agent_stress && p->entry == 0)
		uc->uc_mcontext.gregs[REG_EFL] |= FLAG_TF;
	return 0;
}

/* Whether the instruction at pc is what raised the signal. */
static bool is_fault(int sig, const siginfo_t *info)
{
	return info->si_code > 0 && (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE);
}

/* Every signal with a handler comes here first. It returns the handler to go
 * on to, 0 if there is none. */
__attribute__((used)) AGENT_HIDDEN uint64_t agent_entered(int sig, siginfo_t *info, void *ctx, uint32_t number)
{
	static const uint64_t trap = SIG_BIT(SIGTRAP);
	ucontext_t *uc = (ucontext_t *)ctx;

	if (number >= AGENT_HANDLERS)
		return trapped(info, uc, number - AGENT_HANDLERS);
	/* Blocked by the mask of the action, or by that of a call such as
	 * sigsuspend or ppoll. The one to return to does not have it. */
	agent_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (uintptr_t)&trap, 0, 8, 0, 0);
	leave_slot(info, uc, is_fault(sig, info) ? XOL_WHY_FAULT : XOL_WHY_SIGNAL);
	return handlers[number];
}
