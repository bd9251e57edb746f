/* Uses the parts of the C library that are written with care for each processor:
 * strings, memory, numbers, sorting. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int less(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
	static char a[4096], b[4096];
	int n[64];
	unsigned seed = 1;
	char text[256];

	(void)argv;

	for (int i = 0; i < 64; i++)
		n[i] = (seed = seed * 1103515245 + 12345) >> 16 & 0x7fff;
	qsort(n, 64, sizeof n[0], less);
	printf("%d %d %d\n", n[0], n[31], n[63]);
	for (size_t size = 1; size < sizeof a; size = size * 3 + 1) {
		memset(a, 'a' + size % 26, size);
		memcpy(b, a, size);
		memmove(b + 1, b, size - 1);
		b[size / 2] = 'X';
		a[size] = 0;
		printf("%zu %d %zu %td %td\n", size, memcmp(a, b, size) > 0, strlen(a), (char *)memchr(b, 'X', size) - b, strrchr(a, a[0]) - a);
	}
	snprintf(text, sizeof text, "%5d|%-8s|%#x|%.10g|%a|%Lf", -42, "left", 255, 1.0 / 3, 0.1, 2.5L);
	printf("%s\n%g %ld %g\n", text, strtod("1.25e-7", NULL), strtol("0x7fff", NULL, 0), pow(sin(argc / 2.0), 2) + exp(argc));
	time_t when = 86400 * 365;
	printf("%s", asctime(gmtime(&when)));
	void *p = malloc(100000);
	p = realloc(p, 300000);
	free(p);
	return 0;
}
