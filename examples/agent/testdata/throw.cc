// Exceptions through frames whose calls and returns are all probed.
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

struct Loud {
	const char *name;
	~Loud() { std::printf("end of %s\n", name); }
};

__attribute__((noinline)) static int deep(int n)
{
	Loud l{n % 2 ? "odd" : "even"};
	if (n == 0)
		throw std::runtime_error("bottom");
	return deep(n - 1) + 1;
}

struct Base {
	virtual int act(int n) { return n; }
	virtual ~Base() {}
};
struct Derived : Base {
	int act(int n) override { return std::vector<int>(3).at(static_cast<size_t>(n)); }
};

// Thrown by a handler, through the frame of the signal.
static void on_fault(int) { throw std::string("fault"); }

__attribute__((noinline)) static int fault(volatile int *p) { return *p; }

int main()
{
	Derived d;
	Base *b = &d;

	std::signal(SIGSEGV, on_fault);
	for (int i = 0; i < 3; i++) {
		try {
			std::printf("%d\n", deep(3));
		} catch (const std::exception &e) {
			std::printf("caught %s\n", e.what());
		}
		try {
			std::printf("%d\n", b->act(i * 2));
		} catch (const std::out_of_range &) {
			std::printf("out of range\n");
		}
	}
	try {
		std::printf("%d\n", fault(nullptr));
	} catch (const std::string &s) {
		std::printf("caught %s\n", s.c_str());
	}
	return 0;
}
