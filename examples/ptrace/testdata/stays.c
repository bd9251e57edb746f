/* Runs for a while and prints in the end whether anything is left of a tracer:
 * its text, its mappings, its flags, and what the kernel says. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int stop;
static volatile sig_atomic_t ticks;
static int quiet[2];
extern char __executable_start[], etext[];

static void on_signal(int sig)
{
	(void)sig;
	ticks++;
}

/* The same numbers over and over; the result of each round must be the same. */
__attribute__((noinline)) static uint64_t work(uint64_t seed)
{
	char text[64];
	uint64_t h = seed;

	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof text, "%llu %g", (unsigned long long)h, (double)i / 3);
		for (char *p = text; *p; p++)
			h = h * 1099511628211u ^ (unsigned char)*p;
	}
	return h;
}

static void *worker(void *arg)
{
	uint64_t want = work((uintptr_t)arg), wrong = 0, flags;

	while (!stop) {
		wrong += work((uintptr_t)arg) != want;
		__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushf\n\tpop %0\n\tlea 128(%%rsp), %%rsp" : "=r"(flags));
		wrong += flags >> 8 & 1;
	}
	return (void *)(uintptr_t)wrong;
}

/* Waits in the kernel nearly all the time. */
__attribute__((noinline)) static ssize_t waits(int fd, void *b)
{
	ssize_t n = read(fd, b, 1);
	return n;
}

static void *reader(void *arg)
{
	char b;

	(void)arg;
	return (void *)(uintptr_t)(waits(quiet[0], &b) != 1 || b != 'x');
}

static void compare(void)
{
	static char buf[1 << 20];
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096], perm[5], path[4096];
	unsigned long lo, hi, off, differ = 0, foreign = 0;

	while (fgets(line, sizeof line, maps)) {
		path[0] = 0;
		sscanf(line, "%lx-%lx %4s %lx %*s %*s %4095s", &lo, &hi, perm, &off, path);
		if (perm[2] != 'x' || path[0] == '[')
			continue;
		if (path[0] != '/') {
			foreign++;
			continue;
		}
		int fd = open(path, O_RDONLY);
		for (unsigned long at = lo; at < hi; at += sizeof buf) {
			ssize_t n = pread(fd, buf, hi - at < sizeof buf ? hi - at : sizeof buf, off + (at - lo));
			for (ssize_t i = 0; i < n; i++)
				differ += buf[i] != ((char *)at)[i];
		}
		close(fd);
	}
	fclose(maps);
	printf("bytes that differ %lu, mappings that are nobody's %lu\n", differ, foreign);
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerval every = {{0, 3000}, {0, 3000}};
	struct timespec now, end;
	pthread_t t[3];
	void *wrong;
	char line[256];
	long seconds = argc > 1 ? atol(argv[1]) : 1500;

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	if (pipe(quiet) != 0)
		return 1;
	pthread_create(&t[0], NULL, worker, (void *)1);
	pthread_create(&t[1], NULL, worker, (void *)2);
	pthread_create(&t[2], NULL, reader, NULL);
	printf("ready\n");
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds / 1000;
	end.tv_nsec += seconds % 1000 * 1000000;
	do {
		usleep(1000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec * 1000000000 + now.tv_nsec < end.tv_sec * 1000000000 + end.tv_nsec);
	stop = 1;
	if (write(quiet[1], "x", 1) != 1)
		return 1;
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], &wrong);
		printf("thread %d: wrong %ld\n", i, (long)wrong);
	}
	compare();
	FILE *f = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof line, f))
		if (strncmp(line, "TracerPid", 9) == 0)
			printf("%s", line);
	fclose(f);
	return 0;
}
