/* Threads that add up shared and private numbers while SIGALRM and signals from
 * each other rain on them. What it prints does not depend on timing. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 400 };

static atomic_long shared;
static long locked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t alarms, users, sent;

static void on_signal(int sig)
{
	if (sig == SIGALRM)
		alarms++;
	else
		users++;
}

__attribute__((noinline)) static unsigned mix(unsigned h, const char *s, int n)
{
	char copy[64];
	unsigned sum = 0;

	memcpy(copy, s, n);
	for (int i = 0; i < n; i++)
		sum = sum * 31 + (unsigned char)copy[i];
	return (h ^ sum) * 2654435761u + h / 7 + h % 13;
}

__attribute__((noinline)) static void once(long i, unsigned *h)
{
	char text[64];

	*h = mix(*h, text, snprintf(text, sizeof text, "%ld:%x:%.3f", i, *h, i / 8.0));
	atomic_fetch_add(&shared, i);
	pthread_mutex_lock(&lock);
	locked += i;
	pthread_mutex_unlock(&lock);
}

static void *worker(void *arg)
{
	unsigned h = (unsigned)(long)arg;

	for (long i = 0; i < ROUNDS; i++)
		once(i, &h);
	while (!sent)
		usleep(100);
	return (void *)(long)h;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerval every = {{0, 500}, {0, 500}};
	pthread_t t[THREADS];
	void *h;

	sigaction(SIGALRM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	for (int i = 0; i < 50; i++) {
		pthread_kill(t[i % THREADS], SIGUSR1);
		usleep(200);
	}
	sent = 1;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &h);
		printf("thread %d: %08lx\n", i, (long)h);
	}
	while (alarms == 0)
		;
	memset(&every, 0, sizeof every);
	setitimer(ITIMER_REAL, &every, NULL);
	printf("shared %ld locked %ld users %s\n", (long)shared, locked, users > 0 ? "some" : "none");
	return 0;
}
