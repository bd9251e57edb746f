/*
 * An agent that probes every instruction of functions in its own program by a
 * trap, with the code of docs/c.md, and calls them.
 *
 *	agent TABLE                probed(), which is one of each kind of instruction
 *	agent TABLE START END ...  work(), with probes in these ranges of addresses
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef XOL_NO_PROCESS_VM
/* qemu-user does not have these system calls; a pipe reports a bad address, too. */
static long through_pipe(const void *from, void *to, size_t size)
{
	static int fd[2] = {-1, -1};
	uint8_t rest[16];

	if (fd[0] < 0 && pipe(fd) != 0)
		return -1;
	if (write(fd[1], from, size) != (ssize_t)size)
		return -1;
	if (read(fd[0], to, size) == (ssize_t)size)
		return (long)size;
	return read(fd[0], rest, size) < 0 ? -2 : -1; /* what could not be stored is taken out */
}

static long vm_readv(int pid, const struct iovec *mine, int n, const struct iovec *theirs, int m, int flags)
{
	(void)pid, (void)n, (void)m, (void)flags;
	return through_pipe(theirs->iov_base, mine->iov_base, mine->iov_len);
}

static long vm_writev(int pid, const struct iovec *mine, int n, const struct iovec *theirs, int m, int flags)
{
	(void)pid, (void)n, (void)m, (void)flags;
	return through_pipe(mine->iov_base, theirs->iov_base, mine->iov_len);
}
#define process_vm_readv vm_readv
#define process_vm_writev vm_writev
#endif

#include "example.h"
#include "probed.h"

/* How far a trap moves pc, and the trap. */
#if defined(__x86_64__)
enum { TRAP_ADVANCES = 1 };
typedef uint8_t trap_word;
static const trap_word trap = 0xcc;
#elif defined(__aarch64__)
enum { TRAP_ADVANCES = 0 };
typedef uint32_t trap_word;
static const trap_word trap = 0xd4200000;
#else
enum { TRAP_ADVANCES = 0 };
typedef uint32_t trap_word;
static const trap_word trap = 0x7fe00008;
#endif

enum { MAX_PROBES = 1 << 15, SLOT = 256 };

static struct probe probes[MAX_PROBES];
static uint16_t probe_at[1 << 17]; /* by site, the number of the probe plus 1 */
static size_t nprobes, refused, hits, faults;
static uint64_t zero_page[1] = {40};
static uint8_t *slots;

static uint16_t *find(uint64_t site)
{
	size_t i = (size_t)(site * 0x9e3779b97f4a7c15u >> 47);

	while (probe_at[i] != 0 && probes[probe_at[i] - 1].at.site != site)
		i = (i + 1) & ((1u << 17) - 1);
	return &probe_at[i];
}

static void on_trap(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = (ucontext_t *)ctx;
	uint16_t n = *find(get_pc(uc) - TRAP_ADVANCES);

	(void)sig;
	(void)info;
	hits++;
	if (n == 0 || !hit(&probes[n - 1], uc))
		_exit(10);
}

/* What the program's own handler would be: it repairs the register of the
 * faulting instruction, which it must find at its own address. */
static void on_segv(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = (ucontext_t *)ctx;
	uint64_t off = get_pc(uc) - (uintptr_t)slots;

	(void)sig;
	(void)info;
	if (slots != NULL && off / SLOT < nprobes && !leave(&probes[off / SLOT], uc, XOL_WHY_FAULT))
		_exit(13);
	if (get_pc(uc) != (uintptr_t)probed_fault) {
		fprintf(stderr, "fault at %llx, slot %lld\n", (unsigned long long)get_pc(uc), (long long)(off / SLOT));
		_exit(11);
	}
	faults++;
	repair(uc, (uintptr_t)zero_page);
}

/* Prepares probes on all instructions of [from, to). */
static void prepare_range(const xol_table *t, const uint8_t *from, const uint8_t *to)
{
	const uint8_t *pc;
	xol_ref ref;

	for (pc = from; pc < to; pc += ref.len) {
		if (!xol_find(t, (uintptr_t)pc, &ref)) {
			ref.len = 4; /* data */
			continue;
		}
		if (nprobes < MAX_PROBES && prepare(&probes[nprobes], t, 0, pc, slots + SLOT * nprobes, SLOT)) {
			nprobes++;
			*find((uintptr_t)pc) = (uint16_t)nprobes;
		} else {
			refused++;
		}
	}
}

static void write_traps(void)
{
	size_t i;

	for (i = 0; i < nprobes; i++) {
		uint8_t *at = (uint8_t *)(uintptr_t)probes[i].at.site;
		void *page = (void *)((uintptr_t)at & ~(uintptr_t)0xffff);

		if (mprotect(page, 0x20000, PROT_READ | PROT_WRITE | PROT_EXEC) != 0 &&
		    mprotect(page, 0x10000, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
			exit(14);
		*(volatile trap_word *)at = trap;
		__builtin___clear_cache((char *)at, (char *)at + sizeof trap);
	}
}

#include "work.h"

/* The slots are memory of the program, and so in reach of a branch. */
static void make_slots(void)
{
	static uint8_t room[SLOT * MAX_PROBES + 0x10000];

	slots = (uint8_t *)(((uintptr_t)room + 0xffff) & ~(uintptr_t)0xffff);
	if (mprotect(slots, SLOT * MAX_PROBES, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		exit(15);
}

static size_t jumps(void)
{
	size_t i, n = 0;

	for (i = 0; i < nprobes; i++)
		n += xol_v_form(&probes[i].verdict) == XOL_FORM_JUMP;
	return n;
}

static int run_probed(const xol_table *t)
{
	uint64_t one = 1, plain[2], seen[2];

	plain[0] = probed_call(&one);
	plain[1] = probed_call(NULL);
	prepare_range(t, probed_code, probed_end);
	write_traps();
	seen[0] = probed_call(&one);
	seen[1] = probed_call(NULL);
	printf("probes %zu, refused %zu, by jump %zu, hits %zu, faults %zu\n", nprobes, refused, jumps(), hits, faults);
	/* Each call adds 1 to number, which is added to the result. */
	if (seen[0] != plain[0] + 2 || seen[1] != plain[1] + 2) {
		printf("results %llx %llx, with probes %llx %llx\n", (unsigned long long)plain[0], (unsigned long long)plain[1],
		       (unsigned long long)seen[0], (unsigned long long)seen[1]);
		return 22;
	}
	return 0;
}

static int run_work(const xol_table *t, int n, char **range)
{
	static char plain[1 << 16], seen[1 << 16];
	int i;

	work(plain, sizeof plain);
	for (i = 0; i + 1 < n; i += 2)
		prepare_range(t, (const uint8_t *)(uintptr_t)strtoull(range[i], NULL, 16), (const uint8_t *)(uintptr_t)strtoull(range[i + 1], NULL, 16));
	write_traps();
	work(seen, sizeof seen);
	i = (int)hits; /* printf is among what has probes */
	printf("probes %zu, refused %zu, by jump %zu, hits %d, output of %zu bytes\n", nprobes, refused, jumps(), i, strlen(plain));
	if (strcmp(plain, seen) != 0) {
		printf("without probes:\n%s\nwith:\n%s\n", plain, seen);
		return 23;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static uint8_t bytes[16 << 20];
	struct sigaction sa;
	xol_table t;
	size_t n;
	FILE *f = argc >= 2 ? fopen(argv[1], "rb") : NULL;

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
	make_slots();
	return argc == 2 ? run_probed(&t) : run_work(&t, argc - 2, argv + 2);
}
