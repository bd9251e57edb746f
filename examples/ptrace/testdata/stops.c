/* Job control, and an exec by a thread that is not the first. A child stops and
 * continues its parent over and over while the parent's threads work; in the end
 * one of the threads executes the program again, and the others vanish. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char self[4096];
static volatile int done, interrupted;
static volatile sig_atomic_t continued;

static void on_cont(int sig)
{
	(void)sig;
	continued++;
}

__attribute__((noinline)) static unsigned work(unsigned h)
{
	for (int i = 0; i < 2000; i++)
		h = h * 33 + (h >> 7) + i % 3;
	return h;
}

/* Sleeps in steps that a signal ends: each must end with EINTR or be whole. */
__attribute__((noinline)) static void *sleeper(void *arg)
{
	struct timespec ts = {0, 2000000}, left;

	(void)arg;
	while (!done) {
		left = ts;
		while (nanosleep(&left, &left) != 0)
			if (errno != EINTR)
				abort();
	}
	return NULL;
}

static void *executes(void *arg)
{
	char *args[] = {self, "again", NULL};

	(void)arg;
	fflush(stdout);
	execv(self, args);
	abort();
}

static void *waits(void *arg)
{
	pause();
	return arg;
}

static void *quits(void *arg)
{
	syscall(SYS_exit, 0);
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_cont, .sa_flags = SA_RESTART};
	pthread_t t;
	int status;

	(void)argv;
	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
		return 1;
	if (argc > 1) {
		printf("again: pid is tid %d, %x\n", getpid() == gettid(), work(2));
		return 5;
	}
	printf("%x\n", work(1));
	sigaction(SIGCONT, &sa, NULL);
	pthread_create(&t, NULL, sleeper, NULL);
	pid_t parent = getpid(), child = fork();
	if (child == 0) {
		for (int i = 0; i < 30; i++) {
			kill(parent, SIGSTOP);
			usleep(500);
			kill(parent, SIGCONT);
			usleep(500);
		}
		_exit(7);
	}
	while (waitpid(child, &status, WNOHANG) == 0)
		work(3);
	done = 1;
	pthread_join(t, NULL);
	printf("child %d, continued %s\n", WEXITSTATUS(status), continued > 0 ? "often" : "never");
	for (int i = 0; i < 3; i++) {
		pthread_create(&t, NULL, quits, NULL);
		pthread_join(t, NULL);
		pthread_create(&t, NULL, waits, NULL);
	}
	pthread_create(&t, NULL, executes, NULL);
	pthread_exit(NULL);
}
