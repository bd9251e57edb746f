/*
 * A program that probes itself: linked statically, with the agent in it. It
 * computes, sorts, formats and allocates; what it prints does not depend on
 * whether there is a trap on each of its instructions.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
	char text[24];
	unsigned count;
	double weight;
};

static int by_weight(const void *a, const void *b)
{
	const struct word *x = (const struct word *)a, *y = (const struct word *)b;

	return x->weight < y->weight ? -1 : x->weight > y->weight;
}

static unsigned sieve(unsigned n)
{
	unsigned char *gone = (unsigned char *)calloc(n, 1);
	unsigned i, j, primes = 0;

	if (gone == NULL)
		exit(1);
	for (i = 2; i < n; i++) {
		if (gone[i])
			continue;
		primes++;
		for (j = 2 * i; j < n; j += i)
			gone[j] = 1;
	}
	free(gone);
	return primes;
}

static struct word *words(unsigned n)
{
	struct word *w = NULL;
	unsigned i, x = 12345;

	for (i = 0; i < n; i++) {
		w = (struct word *)realloc(w, (i + 1) * sizeof *w);
		if (w == NULL)
			exit(1);
		x = x * 1664525 + 1013904223;
		snprintf(w[i].text, sizeof w[i].text, "w%x-%u", x >> 12, i);
		w[i].count = x % 1000;
		w[i].weight = sqrt((double)w[i].count) / (double)(strlen(w[i].text) + 1);
	}
	qsort(w, n, sizeof *w, by_weight);
	return w;
}

int main(void)
{
	struct word *w = words(60);
	unsigned i, sum = 0;

	for (i = 0; i < 60; i++) {
		sum = sum * 31 + w[i].count;
		if (i % 10 == 0)
			printf("%-16s %4u %8.4f\n", w[i].text, w[i].count, w[i].weight);
	}
	printf("primes %u, sum %u, strstr %s\n", sieve(2000), sum, strstr(w[7].text, "-"));
	free(w);
	return 0;
}
