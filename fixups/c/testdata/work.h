/* Something to do for functions of the C library and of this file, with an output
 * that tells what they did. */

static int by_value(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

__attribute__((noinline)) static uint32_t work_hash(const char *s, size_t n)
{
	uint32_t h = 2166136261u;
	size_t i;

	for (i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * 16777619u;
	return h;
}

__attribute__((noinline)) static double work_series(unsigned n)
{
	double sum = 0;
	unsigned k;

	for (k = 0; k < n; k++)
		sum += (k & 1 ? -1.0 : 1.0) / (2.0 * k + 1.0);
	return 4 * sum;
}

__attribute__((noinline)) static unsigned work_fib(unsigned n)
{
	return n < 2 ? n : work_fib(n - 1) + work_fib(n - 2);
}

__attribute__((noinline)) static const char *work_word(unsigned n)
{
	switch (n % 11) {
	case 0: return "nil";
	case 1: return "one";
	case 2: return work_fib(n % 5) != 0 ? "two" : "2";
	case 3: return "three";
	case 4: return "four";
	case 5: return work_fib(n % 7) != 0 ? "five" : "5";
	case 6: return "six";
	case 7: return "seven";
	case 8: return "eight";
	case 9: return work_fib(3) != 0 ? "nine" : "9";
	default: return "ten";
	}
}

__attribute__((noinline)) static void work(char *out, size_t size)
{
	uint32_t list[64];
	size_t n = 0;
	unsigned i;
	double d;
	char *end;

	for (i = 0; i < 64; i++)
		list[i] = (i * 2654435761u) >> 7;
	qsort(list, 64, sizeof list[0], by_value);
	for (i = 0; i < 64; i += 5)
		n += (size_t)snprintf(out + n, size - n, "%u %#x %-8s|%6.3f %e %g\n", list[i], list[i] * 3, work_word(i), i / 7.0, i * 1e10, 1.0 / (i + 1));
	n += (size_t)snprintf(out + n, size - n, "%.10f %u %ld %lu\n", work_series(50), work_fib(10), strtol("-123456789", NULL, 10), strtoul("0xdeadbeef", NULL, 0));
	d = strtod("3.14159265358979e-2xyz", &end);
	n += (size_t)snprintf(out + n, size - n, "%.17g %s %llx\n", d, end, 0x123456789abcdefull);
	n += (size_t)snprintf(out + n, size - n, "%08x %p %c %5d %-5d| %lld\n", work_hash(out, n), (void *)0x1234, 'q', 42, -42, -(1ll << 40));
}
