/*
 * The half of the agent that runs once, before the program: it reads tables,
 * finds what they are of, fills slots and writes traps. README.md says how it
 * is told what to do.
 *
 * SPDX-License-Identifier: MIT
 */
#include "agent.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096ull
#define GIB (1ull << 30)

/* Names of XOL_REASON_..., for the log. */
static const char *const reasons[] = {
	"none", "unknown", "reserved", "truncated", "vendor", "exclusive", "adjacent", "transaction", "prefix-line",
	"suffix-word", "no-scratch", "no-reach", "not-emulated", "privileged", "shadow-stack", "return-into-patch",
	"jump-into-region", "no-room", "data", "unlinked-field", "foreign-breakpoint", "overlap", "mid-instruction",
	"return-address", "no-stop",
};
enum { REASONS = sizeof reasons / sizeof reasons[0], OTHER = REASONS };

/* An executable segment at run time. */
struct segment {
	uint64_t lo, hi;
	int prot;
};

/* What is only needed while probes are set. */
struct work {
	struct agent_object *o;
	struct segment seg[AGENT_SEGMENTS];
	uint32_t segs;
	uint32_t sites, stale, kept, entries; /* looked at; of other bytes; never probed; system calls */
	uint32_t unplanned[REASONS + 1];
};

static struct work works[AGENT_OBJECTS];
static const char *funcs; /* XOL_FUNCS */

/* XOL_LOG and XOL_COUNTS, absolute; empty: not wanted. */
static char log_path[PATH_MAX], counts_path[PATH_MAX];

/* ---- Log ------------------------------------------------------------------ */

/* A line of text. It is made and written through no function of libc: at exit
 * those have probes, and would be counted. */
struct line {
	char text[512];
	size_t n;
};

static void add(struct line *l, const char *s)
{
	while (*s != 0 && l->n < sizeof l->text - 1) /* put ends the line */
		l->text[l->n++] = *s++;
}

static void add_number(struct line *l, uint64_t v, unsigned base)
{
	char digits[24];
	size_t n = sizeof digits;

	digits[--n] = 0;
	do {
		digits[--n] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v != 0);
	add(l, digits + n);
}

static void add_count(struct line *l, const char *name, uint64_t v)
{
	add(l, " ");
	add(l, name);
	add(l, " ");
	add_number(l, v, 10);
}

static int open_end(const char *path)
{
	if (path[0] == 0)
		return -1;
	return (int)agent_syscall(SYS_open, (uintptr_t)path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644, 0, 0, 0);
}

static void put(int fd, struct line *l)
{
	l->text[l->n++] = '\n';
	if (fd >= 0)
		agent_syscall(SYS_write, (uint64_t)fd, (uintptr_t)l->text, l->n, 0, 0, 0);
	l->n = 0;
}

/* Puts a line to the log, which is not kept open: a program may have its own idea
 * of which descriptors are free. */
static void put_log(struct line *l)
{
	int fd = open_end(log_path);

	put(fd, l);
	if (fd >= 0)
		agent_syscall(SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
}

/* The path of a variable, as it is where the program starts. */
static void path_of(const char *variable, char *path)
{
	const char *s = getenv(variable);
	size_t n = 0;

	path[0] = 0;
	if (s == NULL || s[0] == 0)
		return;
	if (s[0] != '/' && getcwd(path, PATH_MAX - 1) != NULL) {
		n = strlen(path);
		path[n++] = '/';
	}
	if (n + strlen(s) < PATH_MAX)
		strcpy(path + n, s);
	else
		path[0] = 0;
}

/* A line about an object, or about the process. */
static struct line line_of(const char *what)
{
	struct line l;

	l.n = 0;
	add(&l, "agent ");
	add_number(&l, (uint64_t)getpid(), 10);
	add(&l, " ");
	add(&l, what);
	return l;
}

static void complain(const char *what, const char *why)
{
	size_t n = strlen(what);
	struct line l = line_of(n > 300 ? what + n - 300 : what); /* the end of a path says more */

	add(&l, ": ");
	add(&l, why);
	put_log(&l);
}

/* ---- Tables and objects --------------------------------------------------- */

/* Reads a file into memory of its own: the table must not change while it is used.
 * A pipe must not make the program wait. */
static void *read_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	uint8_t *data = (uint8_t *)MAP_FAILED;
	size_t n = 0;
	ssize_t got = 1;

	*size = 0;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		*size = (size_t)st.st_size;
		data = (uint8_t *)mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	while (data != MAP_FAILED && n < *size && got > 0) {
		got = read(fd, data + n, *size - n);
		n += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	if (data != MAP_FAILED && (n < *size || mprotect(data, *size, PROT_READ) != 0)) {
		munmap(data, *size);
		return MAP_FAILED;
	}
	return data;
}

static bool read_table(xol_table *t, const char *path)
{
	xol_error err = {0, 0, ""};
	size_t size;
	void *data = read_file(path, &size);

	if (data == MAP_FAILED) {
		complain(path, "cannot be read as a file");
		return false;
	}
	if (xol_check(t, data, size, &err) == XOL_OK && strcmp(xol_arch(t), "amd64") == 0)
		return true;
	complain(path, err.rule[0] != 0 ? err.rule : "not of amd64");
	munmap(data, size);
	return false;
}

/* Whether the notes at p hold the build id, which the table has in hexadecimal. */
static bool has_build_id(const uint8_t *p, uint64_t size, const char *hex)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)(const void *)p;
		uint64_t name = (n->n_namesz + 3) & ~3ull, desc = (n->n_descsz + 3) & ~3ull;
		const uint8_t *id = p + sizeof *n + name;
		char text[2 * 64 + 1] = "";
		uint32_t i;

		if (sizeof *n + name + desc > size)
			return false;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && memcmp(p + sizeof *n, "GNU", 4) == 0 && n->n_descsz <= 64) {
			for (i = 0; i < n->n_descsz; i++)
				snprintf(text + 2 * i, 3, "%02x", id[i]);
			return n->n_descsz > 0 && strcmp(text, hex) == 0;
		}
		p = id + desc;
		size -= sizeof *n + name + desc;
	}
	return false;
}

/* Of a loaded object: is it what the table of ctx is of, and where is it? */
static int match(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct work *w = (struct work *)ctx;
	bool same = false;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_NOTE && has_build_id((const uint8_t *)(info->dlpi_addr + ph->p_vaddr), ph->p_memsz, xol_buildid(&w->o->table)))
			same = true;
	}
	for (i = 0; same && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		struct segment *s = &w->seg[w->segs];

		if (ph->p_type != PT_LOAD || (ph->p_flags & PF_X) == 0 || w->segs == AGENT_SEGMENTS)
			continue;
		s->lo = info->dlpi_addr + ph->p_vaddr;
		s->hi = s->lo + ph->p_filesz;
		s->prot = PROT_EXEC | ((ph->p_flags & PF_R) != 0 ? PROT_READ : 0) | ((ph->p_flags & PF_W) != 0 ? PROT_WRITE : 0);
		w->segs++;
	}
	w->o->bias = info->dlpi_addr;
	return same && w->segs > 0;
}

/* ---- Sites ---------------------------------------------------------------- */

/* Whether name is in the comma-separated list. */
static bool listed(const char *list, const char *name)
{
	size_t n = strlen(name);
	const char *s;

	for (s = list; n > 0 && (s = strstr(s, name)) != NULL; s += n)
		if ((s == list || s[-1] == ',') && (s[n] == 0 || s[n] == ','))
			return true;
	return false;
}

static bool wanted(const xol_table *t, const xol_ref *ref)
{
	uint64_t at;

	return funcs == NULL || listed(funcs, xol_func(t, ref, &at));
}

static bool is_syscall(const xol_table *t, const xol_ref *ref)
{
	const uint8_t *b = xol_bytes(t, ref);

	return ref->len == 2 && b[0] == 0x0f && b[1] == 0x05;
}

/* Bytes that others read: by them unwinders and debuggers know the frame of a
 * signal handler, whose return address they are at. */
static bool is_trampoline(const struct segment *s, uint64_t pc)
{
	static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

	if (s->hi - pc >= sizeof sigreturn && memcmp((const void *)pc, sigreturn, sizeof sigreturn) == 0)
		return true;
	return pc - s->lo >= 7 && s->hi - pc >= 2 && memcmp((const void *)(pc - 7), sigreturn, sizeof sigreturn) == 0;
}

/* Why the form that the agent uses is refused. */
static uint32_t refusal(const xol_table *t, const xol_ref *ref)
{
	xol_verdict v;
	uint32_t i;

	if (xol_reason(t, ref) != 0)
		return xol_reason(t, ref);
	for (i = 0; xol_verdict_at(t, ref, i, &v); i++)
		if (xol_v_form(&v) == XOL_FORM_JUMP && xol_v_reason(&v) != 0)
			return xol_v_reason(&v);
	return OTHER;
}

/* The longest code that one of the plans for a site may have; 0 without a plan. */
static uint32_t room_for(const xol_table *t, const xol_ref *ref)
{
	xol_verdict v;
	uint32_t i, n = 0;

	for (i = 0; xol_verdict_at(t, ref, i, &v); i++)
		if (xol_v_form(&v) == XOL_FORM_JUMP && xol_v_reason(&v) == 0 && xol_v_code_len(&v) > n)
			n = xol_v_code_len(&v) + xol_v_slot_align(&v);
	return n;
}

/* What to do at a site. */
enum { SKIP, PROBE };

static int judge(struct work *w, const struct segment *s, const xol_ref *ref)
{
	const xol_table *t = &w->o->table;
	uint64_t pc = ref->pc + w->o->bias;

	if (!wanted(t, ref) && !is_syscall(t, ref))
		return SKIP;
	if (pc >= (uintptr_t)__start_xol_text && pc < (uintptr_t)__stop_xol_text)
		return SKIP;
	w->sites++;
	if (s->hi - pc < ref->len || memcmp((const void *)pc, xol_bytes(t, ref), ref->len) != 0) {
		w->stale++;
		return SKIP;
	}
	if ((xol_patch(t, ref) & XOL_PATCH_TRAP) == 0 || is_trampoline(s, pc)) {
		w->kept++;
		return SKIP;
	}
	if (room_for(t, ref) == 0) {
		w->unplanned[refusal(t, ref)]++;
		return SKIP;
	}
	return PROBE;
}

/* Calls use for each site that is to be probed, in ascending order. */
static void each_site(struct work *w, void (*use)(struct work *, const xol_ref *, uint64_t pc))
{
	uint32_t i;

	w->sites = w->stale = w->kept = 0;
	memset(w->unplanned, 0, sizeof w->unplanned);
	for (i = 0; i < w->segs; i++) {
		const struct segment *s = &w->seg[i];
		uint64_t pc = s->lo;
		xol_ref ref;

		while (pc < s->hi) {
			if (!xol_find(&w->o->table, pc - w->o->bias, &ref)) {
				pc++;
				continue;
			}
			if (judge(w, s, &ref) == PROBE)
				use(w, &ref, pc);
			pc += ref.len;
		}
	}
}

/* ---- Slots ---------------------------------------------------------------- */

static void measure(struct work *w, const xol_ref *ref, uint64_t pc)
{
	(void)pc;
	w->o->probes++;
	w->o->slots_end += room_for(&w->o->table, ref);
}

/* Memory of size bytes that every direct branch of the text reaches, at a
 * distance that leaves the heap behind a program room to grow. 0: none. */
static uint64_t near_memory(const struct agent_object *o, uint64_t size)
{
	uint64_t i, at[2];
	int side;

	for (i = 1; i <= 7; i++) {
		at[0] = o->text - i * GIB / 4 - size;
		at[1] = o->text_end + 7 * GIB / 4 - i * GIB / 4;
		for (side = 0; side < 2; side++) {
			void *p;

			at[side] &= ~(PAGE - 1);
			if (at[side] >= (1ull << 47) || at[side] < 1 << 16)
				continue;
			p = mmap((void *)at[side], size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
			if (p == (void *)at[side])
				return at[side];
			if (p != MAP_FAILED)
				munmap(p, size);
		}
	}
	return 0;
}

static void *shared(uint64_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Fills the slot of a site, which follows that of the site before. */
static void fill(struct work *w, const xol_ref *ref, uint64_t pc)
{
	struct agent_object *o = w->o;
	struct agent_probe *p = &o->probe[o->probes];
	xol_bases at = {pc, o->slots_end, 0, NULL, NULL, NULL};
	xol_verdict v;
	size_t len;

	if (!agent_choose(&o->table, ref, pc, at.slot, &v)) {
		w->unplanned[XOL_REASON_NO_REACH]++;
		return;
	}
	if (xol_place(&v, &at, (uint8_t *)at.slot, room_for(&o->table, ref), &len, NULL) != XOL_OK) {
		w->unplanned[OTHER]++;
		return;
	}
	p->site = (uint32_t)(pc - o->text);
	p->slot = (uint32_t)(at.slot - o->slots);
	p->entry = is_syscall(&o->table, ref);
	w->entries += p->entry;
	o->slots_end += len;
	o->probes++;
}

/* Chooses the sites of an object and fills their slots. */
static bool prepare(struct work *w)
{
	struct agent_object *o = w->o;
	uint64_t size;

	o->text = w->seg[0].lo;
	o->text_end = w->seg[w->segs - 1].hi;
	each_site(w, measure);
	if (o->probes == 0 || o->text_end - o->text > UINT32_MAX) {
		complain(xol_file(&o->table), "no site in its text that can have a probe");
		return false;
	}
	size = (o->slots_end + PAGE - 1) & ~(PAGE - 1);
	o->slots = near_memory(o, size);
	o->probe = (struct agent_probe *)mmap(NULL, o->probes * sizeof *o->probe, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	o->hits = (uint32_t *)shared(o->probes * sizeof *o->hits);
	if (o->slots == 0 || o->probe == MAP_FAILED || o->hits == NULL) {
		complain(xol_file(&o->table), "no memory for slots near its text");
		return false;
	}
	o->probes = 0;
	o->slots_end = o->slots;
	each_site(w, fill);
	if (mprotect((void *)o->slots, size, PROT_READ | PROT_EXEC) == 0)
		return true;
	complain(xol_file(&o->table), "its slots may not be executed");
	return false;
}

/* ---- Traps ---------------------------------------------------------------- */

static void protect(const struct segment *s, int prot)
{
	uint64_t lo = s->lo & ~(PAGE - 1), hi = (s->hi + PAGE - 1) & ~(PAGE - 1);

	agent_syscall(SYS_mprotect, lo, hi - lo, (uint64_t)prot, 0, 0, 0);
}

/* From here on the code of libc may have probes in it. One byte is written to
 * each site: a thread executes either the old instruction or the trap. */
static void patch(struct work *w)
{
	uint32_t i;

	for (i = 0; i < w->segs; i++)
		protect(&w->seg[i], PROT_READ | PROT_WRITE | PROT_EXEC);
	for (i = 0; i < w->o->probes; i++)
		*(volatile uint8_t *)(w->o->text + w->o->probe[i].site) = 0xcc;
	for (i = 0; i < w->segs; i++)
		protect(&w->seg[i], w->seg[i].prot);
}

/* Takes over the handlers that are there, and the action for SIGTRAP. */
static bool take_signals(void)
{
	static const uint64_t trap = 1ull << (SIGTRAP - 1);
	struct agent_action a;
	uint64_t sig;

	for (sig = 1; sig <= 64; sig++) {
		if (agent_syscall(SYS_rt_sigaction, sig, 0, (uintptr_t)&a, 8, 0, 0) < 0)
			continue;
		if (sig != SIGTRAP && (a.handler == (uintptr_t)SIG_DFL || a.handler == (uintptr_t)SIG_IGN))
			continue;
		if (agent_sigaction(sig, (uintptr_t)&a, 0, 8) < 0)
			return false;
	}
	return agent_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (uintptr_t)&trap, 0, 8, 0, 0) == 0;
}

/* ---- Start and end -------------------------------------------------------- */

static void report_object(const struct work *w)
{
	struct line l = line_of(xol_file(&w->o->table));
	uint32_t i;

	add_count(&l, "sites", w->sites);
	add_count(&l, "probes", w->o->probes);
	add_count(&l, "syscalls", w->entries);
	add_count(&l, "stale", w->stale);
	add_count(&l, "kept", w->kept);
	for (i = 0; i < REASONS + 1; i++)
		if (w->unplanned[i] != 0)
			add_count(&l, i == OTHER ? "other" : reasons[i], w->unplanned[i]);
	put_log(&l);
}

/* The next path of a list, which it is taken from; one that is too long is cut,
 * and is that of no file then. */
static bool next_path(const char **list, char *path, size_t room)
{
	size_t n, all;

	*list += strspn(*list, ":");
	n = all = strcspn(*list, ":");
	if (n >= room)
		n = room - 1;
	memcpy(path, *list, n);
	path[n] = 0;
	*list += all;
	return n > 0;
}

static void open_objects(const char *list)
{
	char path[PATH_MAX + 1];

	while (next_path(&list, path, sizeof path)) {
		struct work *w = &works[agent_objects];

		if (agent_objects == AGENT_OBJECTS) {
			complain(path, "too many tables");
			return;
		}
		memset(w, 0, sizeof *w);
		w->o = &agent_object[agent_objects];
		memset(w->o, 0, sizeof *w->o);
		if (!read_table(&w->o->table, path))
			continue;
		if (dl_iterate_phdr(match, w) == 0)
			complain(path, "its build id is that of no loaded object");
		else if (prepare(w)) {
			agent_objects++;
			continue;
		}
		munmap((void *)(uintptr_t)w->o->table.data, w->o->table.size);
	}
}

/* Runs before main and before the constructors of the program. */
__attribute__((constructor)) static void agent_start(void)
{
	const char *tables = getenv("XOL_TABLE");
	uint32_t i, entries = 0;

	if (tables == NULL)
		return;
	funcs = getenv("XOL_FUNCS");
	agent_stress = getenv("XOL_STRESS") != NULL;
	path_of("XOL_LOG", log_path);
	path_of("XOL_COUNTS", counts_path);
	agent_counts = (struct agent_counts *)shared(sizeof *agent_counts);
	if (agent_counts == NULL)
		return;
	open_objects(tables);
	for (i = 0; i < agent_objects; i++)
		entries += works[i].entries;
	/* Through them the agent learns of handlers and masks. */
	if (entries == 0 || !take_signals()) {
		complain("no probes", "no table of a loaded object that makes system calls");
		agent_objects = 0;
		return;
	}
	for (i = 0; i < agent_objects; i++) {
		report_object(&works[i]);
		patch(&works[i]);
	}
}

/* XOL_COUNTS: a line for each probe that was hit. */
static void report_hits(int fd)
{
	uint32_t i, j;

	for (i = 0; i < agent_objects; i++) {
		const struct agent_object *o = &agent_object[i];

		for (j = 0; j < o->probes; j++) {
			struct line l;
			uint64_t at;
			xol_ref ref;

			if (o->hits[j] == 0 || !xol_find(&o->table, o->text + o->probe[j].site - o->bias, &ref))
				continue;
			l.n = 0;
			add_number(&l, o->hits[j], 10);
			add(&l, " 0x");
			add_number(&l, ref.pc, 16);
			add(&l, " ");
			add(&l, xol_func(&o->table, &ref, &at));
			add(&l, "+0x");
			add_number(&l, at, 16);
			put(fd, &l);
		}
	}
}

/* Counts so far; those of a forked child are in those of its parent. */
__attribute__((destructor)) static void agent_end(void)
{
	struct agent_counts c;
	struct line l;
	int fd;

	if (agent_objects == 0)
		return;
	c = *agent_counts;
	l = line_of("end");
	add_count(&l, "hits", c.hits);
	add_count(&l, "served", c.served);
	add_count(&l, "back", c.back);
	add_count(&l, "forward", c.forward);
	add_count(&l, "unresolved", c.unresolved);
	add_count(&l, "chained", c.chained);
	put_log(&l);
	fd = open_end(counts_path);
	if (fd >= 0) {
		agent_syscall(SYS_ftruncate, (uint64_t)fd, 0, 0, 0, 0, 0);
		report_hits(fd);
		agent_syscall(SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
	}
}
