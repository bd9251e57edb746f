/* Children by every way there is. Probed functions call fork, vfork, clone and
 * exec themselves, so that the children begin in the middle of them. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static int depth;

__attribute__((noinline)) static int work(int n)
{
	unsigned h = n;

	for (int i = 0; i < 50; i++)
		h = h * 33 + (h >> 5) + i % 7;
	return h & 63;
}

__attribute__((noinline)) static int reap(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

__attribute__((noinline)) static pid_t rawfork(void)
{
	long pid;

	__asm__ volatile("syscall" : "=a"(pid) : "a"(SYS_fork) : "rcx", "r11", "memory");
	return pid;
}

/* The child of this vfork begins in the guard tail of the slot of its syscall. */
__attribute__((noinline)) static pid_t rawvfork(int code)
{
	long pid, none;

	__asm__ volatile("syscall\n\ttest %%eax, %%eax\n\tjnz 1f\n\tmov %[nr], %%eax\n\tsyscall\n\thlt\n1:"
			 : "=a"(pid), "=D"(none)
			 : "a"(SYS_vfork), "D"((long)code), [nr] "i"(SYS_exit)
			 : "rcx", "r11", "memory");
	return pid;
}

static int thread(void *arg)
{
	return work((long)arg);
}

/* The flags and rcx that a system call leaves. */
__attribute__((noinline)) static int after_syscall(void)
{
	long rcx, r11, rax, here;

	__asm__ volatile("syscall\n1:\tlea 1b(%%rip), %3" : "=a"(rax), "=c"(rcx), "=&r"(r11), "=r"(here) : "a"(SYS_getppid) : "r11", "memory");
	__asm__ volatile("mov $39, %%eax\n\tsyscall\n\tmov %%r11, %0" : "=r"(r11) : : "rax", "rcx", "r11", "memory");
	return (rcx == here) + 2 * !(r11 & 0x100);
}

int main(int argc, char **argv)
{
	char *self[] = {argv[0], "again", NULL}, *echo[] = {"echo", "spawned", NULL};
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc > 1) {
		printf("again %d\n", work(5));
		return work(6);
	}
	for (depth = 0; depth < 3; depth++) {
		if ((pid = fork()) == 0) {
			printf("fork %d: %d\n", depth, work(depth));
			_exit(work(depth + 1));
		}
		printf("forked %d\n", reap(pid));
		if ((pid = rawfork()) == 0)
			_exit(work(depth + 2));
		printf("raw %d\n", reap(pid));
		printf("vforked %d\n", reap(rawvfork(depth + 7)));
		if ((pid = vfork()) == 0) {
			execv("/proc/self/exe", self);
			_exit(1);
		}
		printf("vfork and exec %d\n", reap(pid));
		pid = clone(thread, stack + sizeof stack, CLONE_VM | SIGCHLD, (void *)(long)depth);
		printf("clone %d\n", reap(pid));
		if (posix_spawnp(&pid, "echo", NULL, NULL, echo, environ) == 0)
			printf("spawn %d\n", reap(pid));
	}
	printf("syscall %d\n", after_syscall());
	execv("/proc/self/exe", self);
	return 1;
}
