/*
 * What the two halves of the agent share: install.c, which runs once and may
 * use all of libc, and trap.c, which runs in signal handlers and uses nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef AGENT_H
#define AGENT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <signal.h>
#include <ucontext.h>

#include "xol_linux.h"

#define AGENT_HIDDEN __attribute__((visibility("hidden")))

enum {
	AGENT_OBJECTS = 8,    /* tables in use at a time */
	AGENT_SEGMENTS = 4,   /* executable segments of an object */
	AGENT_HANDLERS = 256, /* different signal handlers of a program */
	AGENT_TRAPS = 32      /* different actions for SIGTRAP */
};

/* One probe: a site and its slot. */
struct agent_probe {
	uint32_t site; /* bytes from agent_object.text */
	uint32_t slot; /* bytes from agent_object.slots */
	uint32_t entry; /* 1: the instruction is syscall */
};

/* A loaded object with a table. Nothing in it changes once probes are there. */
struct agent_object {
	xol_table table;
	uint64_t bias; /* run-time address - address in the table */
	uint64_t text, text_end;
	uint64_t slots, slots_end;
	struct agent_probe *probe; /* ascending by site, and by slot */
	uint32_t probes;
	uint32_t *hits; /* one for each probe; shared with forked children */
};

/* Counters, shared with forked children. */
struct agent_counts {
	uint64_t hits;       /* probes entered */
	uint64_t served;     /* of these, calls about signals, made by the handler */
	uint64_t back;       /* handlers of the program that were shown the site ... */
	uint64_t forward;    /* ... or what follows it, with the thread in a slot */
	uint64_t unresolved; /* threads that no point of their slot's plan fits */
	uint64_t chained;    /* traps that belong to the program */
};

/* What the kernel knows of a signal: struct sigaction of the system call. */
struct agent_action {
	uint64_t handler, flags, restorer, mask;
};

AGENT_HIDDEN extern struct agent_object agent_object[AGENT_OBJECTS];
AGENT_HIDDEN extern uint32_t agent_objects;
AGENT_HIDDEN extern struct agent_counts *agent_counts;
AGENT_HIDDEN extern bool agent_stress; /* XOL_STRESS */

/* The code of the agent, which must have no probe. */
AGENT_HIDDEN extern const uint8_t __start_xol_text[], __stop_xol_text[];

/* Makes a system call; the result is -errno if it fails. */
AGENT_HIDDEN long agent_syscall(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);

/* rt_sigaction as the program should see it. */
AGENT_HIDDEN long agent_sigaction(uint64_t sig, uint64_t act, uint64_t old, uint64_t size);

/* The kind of plan that is used, for install.c and trap.c alike. */
XOL_LEAF bool agent_choose(const xol_table *t, const xol_ref *ref, uint64_t site, uint64_t slot, xol_verdict *v)
{
	return xol_choose(t, ref, 1u << XOL_FORM_JUMP, 0, site, slot, v) && (xol_v_flags(v) & (XOL_PRIVATE | XOL_ALIAS)) == 0;
}

#endif /* AGENT_H */
